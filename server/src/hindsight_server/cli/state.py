"""What every verb of the command line needs to know."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NoReturn


class Output(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    CSV = "csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The options given before the verb."""

    url: str
    api_key: str | None = field(default=None, repr=False)
    output: Output = Output.TABLE


def give_up(message: str, *, code: int) -> NoReturn:
    """Say why on standard error and end: 1 when the server refused, 2 when it can't be used at all."""
    sys.stderr.write(message.rstrip() + "\n")
    raise SystemExit(code)


def say(message: str) -> None:
    """Progress, on standard error, so that standard output stays parseable."""
    sys.stderr.write(message + "\n")
    sys.stderr.flush()
