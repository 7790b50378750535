"""How the parts of a document make one text."""

from __future__ import annotations

import json
from collections.abc import Sequence


def join_parts(parts: Sequence[str]) -> str:
    """The text of a document whose parts were appended one after another.

    Two JSON arrays become one array; anything else is joined by a newline. The words are kept as they were written.

    Example:
        >>> join_parts(['[{"text": "a"}]', '[{"text": "b"}]'])
        '[{"text": "a"}, {"text": "b"}]'
        >>> join_parts(["a", "b"])
        'a\\nb'
    """
    if not parts:
        return ""
    arrays = [_is_array(part) for part in parts]
    groups: list[list[str]] = [[parts[0]]]
    for position in range(1, len(parts)):
        # What was once joined as text is no array any more.
        if arrays[position] and arrays[position - 1] and len(groups) == 1:
            groups[0].append(parts[position])
        else:
            groups.append([parts[position]])
    return "\n".join(_join_arrays(group) for group in groups)


def _join_arrays(texts: list[str]) -> str:
    if len(texts) == 1:
        return texts[0]
    inner = (text.strip()[1:-1].strip() for text in texts)
    return "[" + ", ".join(elements for elements in inner if elements) + "]"


def _is_array(text: str) -> bool:
    stripped = text.strip()
    if not (stripped.startswith("[") and stripped.endswith("]")):
        return False
    try:
        return isinstance(json.loads(stripped), list)
    except ValueError:
        return False
