"""The texts inside a JSON document, so that one can be changed and all the rest stays as it was written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

# A text, a number, or the sign that makes the text before it a name. In valid JSON this reads every one of them.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|-?\d[\d.eE+-]*+|:|[{}\[\],]', re.DOTALL)

Change = Callable[[str, str], str]
"""Gives the new text for a text and the name that it stands under (blank for none)."""


def is_json(text: str) -> bool:
    """Whether a text is a JSON object or array, or lines of which each is one."""
    stripped = text.strip()
    if not stripped.startswith(("{", "[")):
        return False
    if _is_value(stripped):
        return True
    lines = [line.strip() for line in stripped.split("\n") if line.strip()]
    return len(lines) > 1 and all(line[0] in "{[" and _is_value(line) for line in lines)


def changed_json(text: str, change: Change) -> str:
    """A JSON document (`is_json`) with its texts, names and numbers changed; it stays JSON, and equal where nothing is.

    A number that changes becomes a text.

    Example:
        >>> changed_json('[{"text": "call me", "n": 1}]', lambda value, name: value.upper() if name else value)
        '[{"text": "CALL ME", "n": 1}]'
    """
    pieces: list[str] = []
    position = 0
    name = ""
    names = [""]  # of what is open: the values of a list stand under its name, those of an object under their own
    tokens = list(_TOKEN.finditer(text))
    for index, match in enumerate(tokens):
        piece = match.group()
        if piece[0] in ":{}[],":
            if piece in "{[":
                names.append(name if piece == "[" else "")
            elif piece in "}]":
                names.pop()
            name = name if piece == ":" else names[-1]
            continue
        plain = json.loads(piece) if piece[0] == '"' else piece
        is_name = index + 1 < len(tokens) and tokens[index + 1].group() == ":"
        new = change(plain, "" if is_name else name)
        if is_name:
            name = plain
        if new != plain:
            pieces += [text[position : match.start()], _written(new)]
            position = match.end()
    return "".join([*pieces, text[position:]])


def _written(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can stand for
        return json.dumps(text)
    return json.dumps(text, ensure_ascii=False)


def _is_value(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
