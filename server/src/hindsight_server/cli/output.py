"""Printing answers as a table, JSON, YAML or CSV."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from hindsight_server.cli.state import Output, State, give_up, printable

Row = Mapping[str, Any]
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]*")
_CONTROL = re.compile("[\x7f-\x9f]")
_YAML_WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))


def tolerate_any_output() -> None:
    """Let nothing that is printed fail: what a terminal can't show is escaped, a closed one gets nothing."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 -- as long as the process lives
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def show(state: State, answer: Any, *, rows: Sequence[Row], text: str | None = None) -> None:
    """Print an answer on standard output.

    Args:
        answer: everything, for JSON and YAML.
        rows: the part that fits a table, for CSV and the table.
        text: printed in place of the table.
    """
    try:
        sys.stdout.write(_rendered(state.output, answer, rows, text))
        sys.stdout.flush()
    except BrokenPipeError:
        raise  # whoever reads has enough; the framework ends quietly
    except OSError as error:
        give_up(f"The output can't be written: {error.strerror or error}.", code=1)


def _rendered(output: Output, answer: Any, rows: Sequence[Row], text: str | None) -> str:
    if output is Output.JSON:
        return _escaped(json.dumps(answer, ensure_ascii=False, indent=2)) + "\n"
    if output is Output.YAML:
        return _escaped("\n".join(_yaml(answer, 0))) + "\n"
    if output is Output.CSV:
        return _csv(rows)
    return printable(table(rows) if text is None else text.rstrip()) + "\n"


def _escaped(text: str) -> str:
    """JSON or YAML without the control characters that JSON does not demand to be escaped, and YAML does not take."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def table(rows: Sequence[Row]) -> str:
    """Rows under their column names; the last column takes the width that is left and is never cut."""
    if not rows:
        return "(nothing)"
    names = list(rows[0])
    cells = [names, *([_cell(row.get(name)) for name in names] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(names))]
    limit = max(20, shutil.get_terminal_size((120, 20)).columns // 2)
    widths = [min(width, limit) for width in widths]
    lines = []
    for line in cells:
        head = [cell[:width].ljust(width) for cell, width in zip(line[:-1], widths, strict=False)]
        lines.append("  ".join([*head, line[-1]]).rstrip())
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return " ".join(str(value).split())


def _csv(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(list(rows[0]))
    for row in rows:
        writer.writerow([_csv_cell(value) for value in row.values()])
    return written.getvalue()


def _csv_cell(value: Any) -> str:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else str(value)


def _yaml(value: Any, depth: int) -> list[str]:
    """YAML block style; every text is double-quoted as in JSON, which YAML reads the same."""
    pad = "  " * depth
    if isinstance(value, dict) and value:
        lines = []
        for key, part in value.items():
            name = key if _PLAIN.fullmatch(key) and key.lower() not in _YAML_WORDS else json.dumps(key)
            nested = isinstance(part, dict | list) and part
            lines += [f"{pad}{name}:", *_yaml(part, depth + 1)] if nested else [f"{pad}{name}: {_scalar(part)}"]
        return lines
    if isinstance(value, list) and value:
        lines = []
        for part in value:
            first, *rest = _yaml(part, depth + 1)
            lines += [f"{pad}- {first.strip()}", *rest]
        return lines
    return [pad + _scalar(value)]


def _scalar(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
