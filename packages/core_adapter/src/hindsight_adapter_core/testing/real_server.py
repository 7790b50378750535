"""A real memory server for the contract, where its package is installed: a process to kill and start again."""

from __future__ import annotations

import importlib
import importlib.util
import json
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..documents import turns_of

__all__ = ["has_server", "said_in", "serving_process"]


def has_server() -> bool:
    """Whether the server's package is installed beside this one, which does not need it."""
    return importlib.util.find_spec("hindsight_server") is not None


@contextmanager
def serving_process() -> Iterator[Any]:
    """A server of its own with an empty data folder: ``url``, ``kill()`` as a crash does it, ``start()`` again."""
    process = importlib.import_module("hindsight_server.testing.process")
    with tempfile.TemporaryDirectory() as folder, process.ServerProcess(Path(folder)) as server:
        yield server


def said_in(url: str, bank_id: str) -> list[tuple[str, str]]:
    """Role and words of each turn in the documents of a bank, as the server at ``url`` has them."""
    documents = f"{url}/v1/default/banks/{urllib.parse.quote(bank_id, safe='')}/documents"
    turns = []
    for one in _asked(documents)["items"]:
        text = _asked(f"{documents}/{urllib.parse.quote(one['id'], safe='')}")["original_text"]
        turns += [(turn.role, turn.text) for turn in turns_of(text)]
    return turns


def _asked(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=30) as answer:  # noqa: S310 - loopback
        return json.load(answer)
