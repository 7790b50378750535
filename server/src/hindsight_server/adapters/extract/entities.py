"""Names in a text, by rules: capitals, identifiers, titles in quotes, Chinese names and places."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hindsight_server.adapters.extract.words import NAME_OPENINGS, NO_NAMES, ORGANISATION_WORDS, PLACE_WORDS, TITLES
from hindsight_server.domain.model import EntityMention
from hindsight_server.domain.speakers import ROLES, SURNAMES

_MOST = 24  # names of one fact; a table or a list of parts has no more to say
_LONGEST = 80  # characters of a name

_CAPITAL = "A-Z\u00c0-\u00d6\u00d8-\u00de\u0391-\u03a9\u0410-\u042f"
_WORD_REST = r"\w*(?:[-&]\w+|['’](?!s\b)\w+)*"
_WORD = rf"[{_CAPITAL}]{_WORD_REST}"
_DOT = r"(?:(?:(?<=\b[A-Z])|(?<=\b[DM][rs])|(?<=\bSt)|(?<=\bMrs)|(?<=\bProf))\.)?"
_LINK = r"(?:of the|of|de la|de|la|van der|van|von|del|di|du|bin)"
# Begins with a character class, so that the search leaps from capital to capital.
_NAME = re.compile(rf"[{_CAPITAL}](?<![\w@#/._-].){_WORD_REST}(?:{_DOT}(?: {_LINK})? {_WORD})*")
_CONTRACTED = re.compile(r"\w+['’](?:re|ll|ve|d|m|t)")
_STARTS_SENTENCE = re.compile(r"(?:^|[.!?…:;\n\"“(*•-])[\s\"“'’(*]*$")
_WITH_SIGN = re.compile(r"(?<!\S)[^\s\d@#_]*+[\d@#_]\S*")  # a stretch without spaces that may hold a code
_CODE = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}|(?<!\w)[@#][^\W\d]\w{1,40}"
    r"|(?<![\w./-])(?=[\w.-]*\d)(?=[\w.-]*[A-Za-z])[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)+(?![\w-])"
    r"|\b[A-Z]{2,}\d+\b|\bv\d+(?:\.\d+)+\b"
)
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|s|am|pm|x|k|m|km|kg|min|year|day|week|month|hour)s?\b.*", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“]([^\"“”\n]{2,60})[\"”]|《([^》\n]{1,60})》|[「『]([^」』\n]{2,40})[」』]")


def find_entities(text: str, *, known: frozenset[str] = frozenset()) -> list[EntityMention]:
    """The names in a text, in order, each once.

    A capital at the start of a sentence counts only for words that are no ordinary opening of one, or are `known`.

    Args:
        text: the words of a fact, without the speaker's label.
        known: lower-case names that are known to be some, the speakers of the item for example.
    """
    found: dict[str, EntityMention] = {}
    for name, kind in _candidates(text, known):
        key = name.casefold()
        if key not in found and len(name) <= _LONGEST:
            found[key] = EntityMention(name=name, type=kind)
            if len(found) >= _MOST:
                break
    return list(found.values())


def _candidates(text: str, known: frozenset[str]) -> Iterator[tuple[str, str]]:
    taken: list[tuple[int, int]] = []
    for written in _WITH_SIGN.finditer(text):
        for code in _CODE.finditer(text, *written.span()):
            if not _ORDINAL.fullmatch(code[0]):
                taken.append(code.span())
                yield code[0], "IDENTIFIER"
    if '"' in text or not text.isascii():
        for quoted in _QUOTED.finditer(text):
            if (title := _title(quoted)) is not None:
                taken.append(quoted.span())
                yield title, "WORK"
    taken.sort(reverse=True)
    for match in _NAME.finditer(text):
        while taken and taken[-1][1] <= match.start():
            taken.pop()
        if taken and taken[-1][0] <= match.start():
            continue
        if (name := _name(text, match, known)) is not None:
            yield name, _kind(name, known)
    if not text.isascii():
        yield from _chinese(text)


def _title(quoted: re.Match[str]) -> str | None:
    if quoted[1] is None:
        return (quoted[2] or quoted[3]).strip() or None
    words = quoted[1].split()
    capital = words and words[0][0].isupper() and quoted[1][-1] not in ".,!?"
    return " ".join(words) if capital and len(words) <= 6 and any(w.lower() not in NO_NAMES for w in words) else None


def _name(text: str, match: re.Match[str], known: frozenset[str]) -> str | None:
    words = match[0].split()
    if len(words) == 1:
        return None if _is_no_name(words[0]) else _single(text, match, words[0], known)
    opens = _opens_sentence(text, match.start())
    first, last = 0, len(words)
    while first < last and _is_no_name(words[first]):
        if first + 1 < last and _begins_name(words[first], words[first + 1], known, opens=opens):
            break
        first += 1
    while last > first and _is_no_name(words[last - 1]):
        last -= 1
    if last - first == 1:
        return _single(text, match, words[first], known, inside=first > 0)
    return " ".join(words[first:last]) or None


def _single(text: str, match: re.Match[str], word: str, known: frozenset[str], *, inside: bool = False) -> str | None:
    """The word, unless it is capitalised only because it opens a sentence; `inside` a match it opens none."""
    if len(word) < 2:
        return None
    doubtful = not inside and word.lower() not in known and _opens_sentence(text, match.start())
    return None if doubtful and not _may_open(word, match, text) else word


def _opens_sentence(text: str, at: int) -> bool:
    if at > 1 and text[at - 1] == " " and text[at - 2].isalnum():
        return False
    return _STARTS_SENTENCE.search(text, max(0, at - 6), at) is not None


def _begins_name(word: str, following: str, known: frozenset[str], *, opens: bool) -> bool:
    """Whether an ordinary word is part of the name it stands before: "New York", "in Great Britain"."""
    may_begin = word.lower() in NAME_OPENINGS and (not opens or word == "New")
    return may_begin and following.lower() not in known and not _is_no_name(following)


def _is_no_name(word: str) -> bool:
    if word.lower().rstrip(".") in NO_NAMES or word.islower():
        return True
    return ("'" in word or "’" in word) and _CONTRACTED.fullmatch(word) is not None


_FOLLOWS_NAME = re.compile(
    r"(?:['’]s| (?:is|was|has|had|and|said|says|told|went|will|loves|likes|lives|works|got|came|just))\b|, "
)


def _may_open(word: str, match: re.Match[str], text: str) -> bool:
    """Whether a capitalised word that opens a sentence reads as a name."""
    if word.isupper() and len(word) > 2:
        return len(word) <= 6
    if word.lower().endswith(("ing", "ly", "ed", "ful", "ness", "tion")):
        return False
    return _FOLLOWS_NAME.match(text, match.end()) is not None


def _kind(name: str, known: frozenset[str]) -> str:
    words = name.lower().split()
    if name.lower() in known or words[0].rstrip(".") in TITLES:
        return "PERSON"
    if not ORGANISATION_WORDS.isdisjoint(words):
        return "ORGANIZATION"
    return "LOCATION" if words[-1] in PLACE_WORDS else "CONCEPT"


_SURNAME = "".join(sorted(SURNAMES))
_NOT_GIVEN = (
    "的了是在有和就不都也很到说要去你会着没看好过给跟与把被让吗呢吧啊天年月日号点个们这那什么怎先后上下里外前时候家人"
)
_ZH_PERSON = re.compile(
    rf"(?:(?<=^)|(?<=[，。、！？；：\s“”（和跟与叫给找问见]))"
    rf"([{_SURNAME}][^\W\d_a-zA-Z{_NOT_GIVEN}]{{1,2}}?|[老小阿][{_SURNAME}])"
    r"(?=说|去|来|在|是|的|和|跟|与|也|有|要|想|会|喜欢|告诉|今天|昨天|明天|先生|女士|老师|经理|总|[，。、！？；：\s”）]|$)"
)
_ZH_PLACE = re.compile(
    r"(北京|上海|广州|深圳|杭州|南京|成都|重庆|武汉|西安|苏州|天津|青岛|厦门|长沙|昆明|大连|香港|澳门|台北|东京|大阪|首尔|纽约|伦敦|巴黎|新加坡"
    r"|中国|美国|日本|韩国|英国|法国|德国|加拿大|澳大利亚|云南|四川|广东|浙江|江苏|西藏|新疆|海南)"
    r"|(?<=[在去到从])([\u4e00-\u9fff]{2,4}?(?:市|省|大学|公司|医院|机场|公园))"
)


def _chinese(text: str) -> Iterator[tuple[str, str]]:
    for person in _ZH_PERSON.finditer(text):
        yield person[1], "PERSON"
    for place in _ZH_PLACE.finditer(text):
        yield place[1] or place[2], "LOCATION"


def speaker_entity(speaker: str | None) -> EntityMention | None:
    """The speaker as a name, unless it is a role."""
    if not speaker or speaker.casefold() in ROLES or len(speaker) > _LONGEST:
        return None
    return EntityMention(name=speaker, type="PERSON")
