"""What in a question may be the id of a document, session or task.

Candidates are looked up, never guessed: one that no id equals means nothing. So they may be many; but a plain word
counts only after a word that says what it is ("document onboarding"), or in quotation marks.
"""

from __future__ import annotations

import re

_QUOTED = re.compile(
    r"\"([^\"]{1,200})\"|(?<!\w)'([^']{2,200})'(?!\w)|“([^”]{1,200})”|‘([^’]{2,200})’(?!\w)"
    r"|「([^」]{1,200})」|『([^』]{1,200})』|`([^`]{1,200})`"
)
_PIECE = re.compile(r"[^\s\"“”「」『』`<>,;，。；、！？!?（）【】《》]+")
_EDGES = ".:'’()[]{}*"
_JOINED = re.compile(r"\d|\w[-_/.:#@\\+=]\w")
_LABEL = re.compile(
    r"(?:\b(?:document|doc|file|page|note|session|conversation|thread|task|ticket|issue|run)s?|文档|文件|会话|任务|工单)"
    r"(?:[\s-]+id)?[\s:：#=]*([^\s,;，。；、！？!?]+)",
    re.IGNORECASE,
)
_MOST = 200


def named_ids(text: str) -> tuple[str, ...]:
    """Pieces of the text that may be ids, as written and in lower case.

    Example:
        >>> named_ids("what does document Onboarding say of report.pdf?")
        ('Onboarding', 'onboarding', 'report.pdf')
    """
    found = [part.strip() for match in _QUOTED.findall(text) for part in match if part.strip()]
    found += [label.strip(_EDGES) for label in _LABEL.findall(text)]
    pieces = (piece.strip(_EDGES).removesuffix("'s").removesuffix("’s") for piece in _PIECE.findall(text))
    found += [piece for piece in pieces if _JOINED.search(piece)]
    spelled = (form for one in found[:_MOST] if one for form in (one, one.casefold()))
    return tuple(dict.fromkeys(spelled))
