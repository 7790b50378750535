"""How the parts of a document make one text."""

from __future__ import annotations

import json
from collections.abc import Sequence


def join_parts(parts: Sequence[str]) -> str:
    """The text of a document whose parts were appended one after another.

    JSON arrays become one array, and an object that follows one becomes its element; anything else is joined by a
    newline. The words are kept as they were written.

    Example:
        >>> join_parts(['[{"text": "a"}]', '[{"text": "b"}]'])
        '[{"text": "a"}, {"text": "b"}]'
        >>> join_parts(['[{"text": "a"}]', '{"text": "b"}'])
        '[{"text": "a"}, {"text": "b"}]'
        >>> join_parts(["a", "b"])
        'a\\nb'
    """
    if not parts:
        return ""
    if len(parts) == 1 or _kind(parts[0]) is not list:
        return "\n".join(parts)
    elements = [_elements(parts[0])]
    at = 1
    while at < len(parts) and _kind(parts[at]) is not None:
        elements.append(_elements(parts[at]))
        at += 1
    if at == 1:
        return "\n".join(parts)
    array = "[" + ", ".join(inner for inner in elements if inner) + "]"
    # What was once joined as text is no array any more.
    return "\n".join([array, *parts[at:]])


def _elements(text: str) -> str:
    stripped = text.strip()
    return stripped[1:-1].strip() if stripped[0] == "[" else stripped


def _kind(text: str) -> type | None:
    """Whether a text is a JSON array (list) or object (dict)."""
    stripped = text.strip()
    if (stripped[:1], stripped[-1:]) not in (("[", "]"), ("{", "}")):
        return None
    try:
        return type(json.loads(stripped))
    except (ValueError, RecursionError):
        return None
