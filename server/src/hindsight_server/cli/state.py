"""What every verb of the command line needs to know."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NoReturn

# C0 but tab and line feed, DEL, and C1: a terminal obeys them.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Output(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    CSV = "csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The options given before the verb."""

    url: str = field(repr=False)
    api_key: str | None = field(default=None, repr=False)
    output: Output = Output.TABLE


def give_up(message: str, *, code: int) -> NoReturn:
    """Say why on standard error and end: 1 when the server refused, 2 when it can't be used at all."""
    sys.stderr.write(printable(message.rstrip()) + "\n")
    raise SystemExit(code)


def say(message: str) -> None:
    """Progress, on standard error, so that standard output stays parseable."""
    sys.stderr.write(printable(message) + "\n")
    sys.stderr.flush()


def printable(text: str) -> str:
    """The text for a terminal: what would move its cursor or change its state is shown escaped, lines and tabs stay.

    Example:
        >>> printable("red: \\x1b[31m")
        'red: \\\\x1b[31m'
    """
    return _CONTROL.sub(lambda found: f"\\x{ord(found.group()):02x}", text.replace("\r\n", "\n"))
