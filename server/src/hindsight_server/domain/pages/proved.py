"""A page without the sentences that say a name or a number which nothing holds that its writer read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from hindsight_server.domain.pages.grounds import Grounds
from hindsight_server.domain.pages.text import PageText, joined, settled

_PREFIX = re.compile(r"[ \t]*(?:>[ \t]*)*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?(?:\[[ xX]\][ \t]+)?")
# Runs are taken whole, and from their beginnings only: models that loop write very long ones.
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"”’)\]*]*+[ \t]++(?=[\"“(\[*]*[^\W\da-z_])|[。！？]+")
_LONGEST_WORD = 12  # that is looked at: no abbreviation is longer
_LAST_WORD = re.compile(r"[^\W\d_]+\Z")
_ABBREVIATED_TEXT = "dr mr mrs ms st vs no prof jr sr approx ca inc ltd co corp dept fig vol"
_ABBREVIATED = frozenset(_ABBREVIATED_TEXT.split())
_LETTER = re.compile(r"[^\W\d_]")
_SIGN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_WORD = re.compile(r"[^\W\d_]+")
_ENGLISH_TEXT = "the and is are was has of to in with for from her his she he they that on at by as it"
_ENGLISH = frozenset(_ENGLISH_TEXT.split())
_OTHER_TEXT = """
der die das und ist nicht mit ein eine einen von zu im den dem sich auch auf für sie wird hat war bei
le la les des du une est et dans pour avec qui sur elle il aux au ses son sa
el los las una del con por que su sus es en para muy y o
il lo gli della che per non sono nel di e un
os uma não com para seu sua em do da
het een van niet met voor haar zijn op te och att som på för det av är og til ikke jest nie się w z na do
"""
_OTHER = frozenset(_OTHER_TEXT.split()) - _ENGLISH - {"a", "do", "no", "we"}


@dataclass(frozen=True, slots=True)
class Proved:
    """What is left of a page, and why each sentence or heading that is missing is."""

    page: PageText
    left_out: tuple[str, ...] = ()


def proved(page: PageText, grounds: Grounds) -> Proved:
    """The page as far as the grounds hold its names and numbers.

    A sentence is left out by itself, a row of a table as a whole; a heading goes without its section, whose words
    become a part of the one before.
    """
    told: list[str] = []

    def held(text: str, heading: str = "") -> bool:
        missing = grounds.missing(text, heading)
        if missing is not None:
            told.append(missing)
        return missing is None

    sections = []
    for section in page.sections:
        lines = [_line(line, held) for line in section.text.split("\n")]
        text = settled("\n".join(line for line in lines if line is not None))
        if section.text and not text:
            continue
        heading = section.heading if not section.heading or held("", section.heading) else ""
        sections.append(replace(section, heading=heading, text=text))
    return Proved(
        joined(replace(page, sections=tuple(one for one in sections if one.heading or one.text))), tuple(told)
    )


def is_english(text: str) -> bool:
    """Whether a page is English, as far as its script and commonest words tell; Chinese and the like count as it.

    In other languages nouns have capitals, or names endings, so that no code here tells an invented name.
    """
    letters = _LETTER.findall(_SIGN.sub("", text))
    if sum(not letter.isascii() for letter in letters) > len(letters) * 0.3:
        return False
    words = [word.lower() for word in _WORD.findall(text)]
    return sum(word in _OTHER for word in words) <= sum(word in _ENGLISH for word in words)


def _line(line: str, held: Callable[[str], bool]) -> str | None:
    """What is left of a line; None when nothing is."""
    if not line.strip() or line.lstrip().startswith("|"):
        return line if held(line) else None
    match = _PREFIX.match(line)
    prefix = match[0] if match else ""
    kept = [one for one in _sentences(line[len(prefix) :]) if held(one)]
    return prefix + "".join(kept).rstrip() if kept else None


def _sentences(words: str) -> Iterable[str]:
    begun = 0
    for match in _END.finditer(words):
        before = _LAST_WORD.search(words, max(begun, match.start() - _LONGEST_WORD), match.start())
        if before and match[0][0] == "." and (len(before[0]) == 1 or before[0].lower() in _ABBREVIATED):
            continue
        yield words[begun : match.end()]
        begun = match.end()
    if begun < len(words) or not words:
        yield words[begun:]
