"""The SQL of this store: named, literal statements in the `.sql` files of the folder `sql`.

A block starts with ``-- name: xyz`` and ends at the next one. A statement is asked for as ``file.xyz``.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)


@cache
def sql(name: str) -> str:
    """The statement of that name, for example ``sql("banks.read")``. Raises KeyError for one that does not exist."""
    file_name, _, statement = name.partition(".")
    return statements(file_name)[statement]


@cache
def statements(file_name: str) -> dict[str, str]:
    """All statements of one file, by name, without comments. Raises ValueError when two have the same name."""
    text = (files(__package__) / "sql" / f"{file_name}.sql").read_text(encoding="utf-8")
    pieces = _NAME.split(text)
    found: dict[str, str] = {}
    for name, body in zip(pieces[1::2], pieces[2::2], strict=True):
        if name in found:
            raise ValueError(f"{file_name}.sql has two statements named {name}.")
        lines = [line for line in body.splitlines() if not line.lstrip().startswith("--")]
        found[name] = "\n".join(lines).strip()
    return found
