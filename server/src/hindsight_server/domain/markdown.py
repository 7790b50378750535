"""The little of Markdown that decides where a text may be cut."""

from __future__ import annotations

import re
from bisect import bisect_right

Span = tuple[int, int]

_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+[^\n]*")
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})([^\n]*)", re.MULTILINE)


def is_heading(text: str) -> bool:
    """Whether a text is headings and nothing else.

    Example:
        >>> is_heading("# Title"), is_heading("# Title\\nwords"), is_heading("#launch")
        (True, False, False)
    """
    if "#" not in text[:1]:
        return False
    return all(_HEADING.fullmatch(line) for line in text.splitlines() if line.strip())


def fences(text: str, start: int, end: int) -> list[Span]:
    """The fenced code blocks of ``text[start:end]``, both fences included; one that is never closed goes to the end."""
    if "```" not in text and "~~~" not in text:
        return []
    found: list[Span] = []
    begin, opened = -1, ""
    for fence in _FENCE.finditer(text, start, end):
        if begin < 0:
            if "`" not in fence[2]:  # else it is code inside a line
                begin, opened = fence.start(), fence[1]
        elif fence[1].startswith(opened) and not fence[2].strip():
            found.append((begin, fence.end()))
            begin = -1
    if begin >= 0:
        found.append((begin, end))
    return found


def comments(text: str) -> list[Span]:
    """The HTML comments of a text, which nobody sees who reads it; those in fenced code or after a backtick are shown.

    Example:
        >>> comments("a <!-- b --> c")
        [(2, 12)]
    """
    if "<!--" not in text:
        return []
    code = fences(text, 0, len(text))
    found: list[Span] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        at = end + 3
        before = bisect_right(code, (start, len(text))) - 1
        in_code = before >= 0 and start < code[before][1]
        if not in_code and text[start - 1 : start] != "`":
            found.append((start, at))
    return found
