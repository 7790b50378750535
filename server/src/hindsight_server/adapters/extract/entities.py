"""Names in a text, by rules: capitals, identifiers, titles in quotes, Chinese names and places."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hindsight_server.adapters.extract.chinese import chinese_names
from hindsight_server.adapters.extract.lowercase import lower_case_names
from hindsight_server.adapters.extract.words import (
    NAME_OPENINGS,
    NO_NAMES,
    NUMBERED,
    ORGANISATION_WORDS,
    PLACE_WORDS,
    TITLES,
    UNITS,
    is_common,
)
from hindsight_server.domain.defence.findings import PLACEHOLDER, blanked
from hindsight_server.domain.model import EntityMention
from hindsight_server.domain.naming import read_name
from hindsight_server.domain.naming.words import ABBREVIATIONS, HAN_PLACES, QUALIFIERS, REGIONS, is_given
from hindsight_server.domain.speakers import ROLES

PLACES = frozenset(HAN_PLACES.values()) | frozenset(ABBREVIATIONS)
_MOST = 24  # names of one fact; a table or a list of parts has no more to say
_LONGEST = 80  # characters of a name

_MARKED = "".join(chr(sign) for sign in (*range(0x100, 0x180), *range(0x1E00, 0x1F00)) if chr(sign).isupper())
_CAPITAL = f"A-Z\u00c0-\u00d6\u00d8-\u00de\u0391-\u03a9\u0410-\u042f{_MARKED}"
_WORD_REST = r"\w*(?:[-&]\w+|['’](?!s\b)\w+)*"
_WORD = rf"[{_CAPITAL}]{_WORD_REST}"
_DOT = (
    r"(?:(?:(?<=\b[A-Z])|(?<=\b(?:[DMJSF]r|[MF]s|[SMLF]t))|(?<=\b(?:Mrs|Rev|Sgt|Col|Gen|Maj|Gov|Sen|Rep|Hon))"
    r"|(?<=\b(?:Prof|Capt))|(?<=\bCmdr))\.)?"
)
_INSTITUTION = (
    "Church|Cathedral|Chapel|Hospital|College|School|University|Park|Square|Bank|Bay|Island|House|Hall|Street|Road"
    "|Hotel|Inn|Pub|Restaurant|Café|Cafe|Diner|Bakery|Gate|Market|Court|Cross|Arms|Head|Day|Point|Creek|Farm|Museum"
)
_OWNED = rf"(?:['’]s?(?= (?:{_INSTITUTION})\b))?"
_VARIANT = re.compile(r"(?: (?:pro|max|mini|plus|ultra|lite|air|se|xl|edge|fold|flip|turbo|beta|alpha)\b)+", re.I)
_REGION = re.compile(r", ((?:North |South |West |New |Rhode |British |Nova )?[A-Z][a-z]+)\b")
_AND_FIRM = re.compile(r" and (?:[A-Z]\w+ )+(?:LLP|LLC|Inc|Ltd|Co|Sons|Partners|Associates|Limited)\b")
_GENERATION = re.compile(r",? (?:the (?:[Ee]lder|[Yy]ounger)|(?:[JS]r|Junior|Senior)\b)")
_LINK = r"(?:of the|of|de la|de|la|van der|van den|van de|van|von|del|di|du|dos|da|ter|ten|bin|ibn)"
_JOINED = r"(?:(?:al|el|as|ad|ar)-|d['’])"
# Begins with a character class, so that the search leaps from capital to capital.
_NAME = re.compile(rf"[{_CAPITAL}](?<![\w@#/._-].){_WORD_REST}(?:{_DOT}{_OWNED}(?: (?:{_LINK}|&))? {_JOINED}?{_WORD})*")
_ONE_SIDE = re.compile(_NAME.pattern.replace("|&", ""))
_CONTRACTED = re.compile(r"\w+['’](?:re|ll|ve|d|m|t)")
_STARTS_SENTENCE = re.compile(r"(?:^|[.!?…:;\n\"“(*•-])[\s\"“'’(*]*$")
_NUMBER_BEHIND = re.compile(r" #?(?!(?:19|20)\d\d\b)\d{1,5}[A-Z]?(?![\w:%€$£]|[.,]\d)(?: ([a-z']+))?")
_WITH_SIGN = re.compile(r"(?<!\S)[^\s\d@#_]*+[\d@#_]\S*")  # a stretch without spaces that may hold a code
_CODE = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}|(?<!\w)[@#][^\W\d]\w{1,40}"
    r"|(?<![A-Za-z0-9_:./-])(?=[\w.-]*\d)(?=[\w.-]*[A-Za-z])[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)+(?![A-Za-z0-9_:-])"
    r"|(?<![A-Za-z0-9_])[A-Z]{2,}\d+(?![A-Za-z0-9_])|(?<![A-Za-z0-9_])v\d+(?:\.\d+)+\b"
)
_MACHINE_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{4,}|[0-9a-f-]{20,}", re.IGNORECASE)  # tells a reader nothing
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|s|am|pm|x|k|m|km|kg|min|year|day|week|month|hour)s?\b.*", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“]([^\"“”\n]{2,60})[\"”]|《([^》\n]{1,60})》|[「『]([^」』\n]{2,40})[」』]")
_KIN = (
    r"friend|brother|sister|wife|husband|son|daughter|cousin|boss|colleague|co-?worker|manager|dentist|doctor|partner"
    r"|neighbou?r|flatmate|roommate|teacher|mentor|girlfriend|boyfriend|fianc[ée]e?|classmate|landlord|nephew|niece"
)
_BEFORE_PERSON = re.compile(rf"\b(?:{_KIN}|named|nicknamed|hugged|married|met with),? $")
_SAYS = (
    r"says?|said|tells?|told|asked|thinks?|wants?|wanted|loves?|likes?|hates?|lives?|lived|teaches|taught|coaches|sings"
    r"|paints?|wrote|writes|cooks?|bakes?|swims?|studies|studied|works|worked|called|texted|emailed|hopes|feels|felt"
    r"|laughed|smiled|married|retired|plays|played|drives|drove|broke|stopped|repaired|fixed|moved|joined|cancelled"
)
_AFTER_PERSON = re.compile(
    rf" (?:{_SAYS})\b|,? who(?:m)?\b|['’]s (?:{_KIN}|mother|father|mom|dad|house|birthday)\b"
    r"|(?:,| is)(?: \w+)? (?:my|our) "
)
_BEFORE_PLACE = re.compile(r"\b(?:in|through|across|near|around|visit(?:ed|ing)?) $")
_FOLLOWS_NAME = re.compile(
    r"(?:(?: ?[^\w\s,.!?;:'’]+)?['’]s|(?: ?[^\w\s,.!?;:'’]+)? (?:is|was|has|had|and|will|got|came|went|just|sent|made"
    r"|found|left|ran|took|gave|knew|saw|spoke|met|brought|bought|sold|paid|kept|lost|won|sat|ate|forgot|began|grew|heard|held"
    r"|lit|led|fled|flew|fought|rode|sang|slept|stole|stood|swore|thought|woke|drank|dug|fed|quit|wept|lent|hid|hung"
    r"|read|knelt|forgave|shook|tore|understood|overheard"
    r"|rang|spent|swam|threw|wore|drew|chose|caught|built|put|can|could|would|should|might|must|never|always|also"
    r"|\w{2,}(?:ed|s)"
    rf"|{_SAYS}))\b|, "
)


class FoundName(NamedTuple):
    """A name, its type, and where it stands first."""

    name: str
    type: str
    start: int
    end: int


def find_names(text: str, *, known: frozenset[str] = frozenset()) -> list[FoundName]:
    """The names in a text, codes first, each once.

    A capital at the start of a sentence counts only for words that are no ordinary opening of one, or are `known`.

    Args:
        text: the words of a fact, without the speaker's label.
        known: lower-case names that are known to be some, the speakers of the item for example.
    """
    found: dict[str, FoundName] = {}
    for name in _candidates(blanked(text), known):
        key = name.name.casefold()
        if key not in found and len(name.name) <= _LONGEST:
            found[key] = name
            if len(found) >= _MOST:
                break
    return list(found.values())


def _candidates(text: str, known: frozenset[str]) -> Iterator[FoundName]:
    taken: list[tuple[int, int]] = []
    yield from _codes(text, taken)
    if '"' in text or not text.isascii():
        for quoted in _QUOTED.finditer(text):
            if (title := _title(quoted)) is not None:
                taken.append(quoted.span())
                yield FoundName(title, "WORK", *quoted.span())
    places = tuple(taken)
    for match in _written(text, taken, known):
        if (found := _name(text, match, known)) is not None:
            yield found
    for name, kind, start, end in lower_case_names(text):
        if not any(first <= start < last for first, last in places):
            yield FoundName(name, kind, start, end)
    if not text.isascii():
        for name, kind, start, end in chinese_names(text):
            yield FoundName(name, kind, start, end)


def _written(text: str, taken: list[tuple[int, int]], known: frozenset[str]) -> Iterator[re.Match[str]]:
    """Runs of words with capitals outside the places that are taken."""
    taken.sort(reverse=True)
    for match in _NAME.finditer(text):
        while taken and taken[-1][1] <= match.start():
            taken.pop()
        if taken and taken[-1][0] <= match.start():
            continue
        if _are_persons(match[0], known):
            yield from _ONE_SIDE.finditer(text, *match.span())
        else:
            yield match


def _are_persons(name: str, known: frozenset[str]) -> bool:
    """Whether "Anna & Ben" are two given names and no firm."""
    sides = name.lower().split(" & ")
    return len(sides) > 1 and all(side in known or is_given(side) for side in sides)


def _codes(text: str, taken: list[tuple[int, int]]) -> Iterator[FoundName]:
    """Identifiers; their places, and those of routing keys, are added to `taken`."""
    for written in _WITH_SIGN.finditer(text):
        if "::" in written[0]:
            taken.append(written.span())
            continue
        for code in _CODE.finditer(text, *written.span()):
            taken.append(code.span())
            if not _ORDINAL.fullmatch(code[0]) and not _MACHINE_ID.fullmatch(code[0]):
                yield FoundName(code[0], "IDENTIFIER", *code.span())


def _title(quoted: re.Match[str]) -> str | None:
    if quoted[1] is None:
        return (quoted[2] or quoted[3]).strip() or None
    words = quoted[1].split()
    capital = words and words[0][0].isupper() and quoted[1][-1] not in ".,!?"
    return " ".join(words) if capital and len(words) <= 6 and any(w.lower() not in NO_NAMES for w in words) else None


def _name(text: str, match: re.Match[str], known: frozenset[str]) -> FoundName | None:
    words = match[0].split()
    first, last = 0, len(words)
    if last > 1:
        opens = opens_sentence(text, match.start())
        while first < last and _is_no_name(words[first]):
            if first + 1 < last and _begins_name(words[first], words[first + 1], known, opens=opens):
                break
            first += 1
        while last > first and _is_no_name(words[last - 1]):
            last -= 1
    elif _is_no_name(words[0]):
        return None
    if first == last:
        return None
    start = match.start() + match[0].index(words[first]) if first else match.start()
    name = " ".join(words[first:last])
    end = start + len(name)
    if last == len(words) and (longer := _longer(text, name, end)) is not None:
        return longer
    numbered = _with_number(text, name, end, known) if last == len(words) and "\n" not in match[0] else None
    if numbered is not None and (last - first > 1 or _may_be_numbered(text, words[first], start)):
        return FoundName(numbered, "CONCEPT", start, start + len(numbered))
    if last - first == 1 and not _may_stand_alone(text, (start, end), name, known, inside=first > 0):
        return None
    return FoundName(name, _kind(text, name, (start, end), known), start, end)


def _longer(text: str, name: str, end: int) -> FoundName | None:
    """The name with what stands behind it and tells it from others: a region, a generation, a partner of the firm."""
    begin = end - len(name)
    region = _REGION.match(text, end)
    if region is not None and region[1].lower() in REGIONS and not is_given(name.lower()):
        return FoundName(text[begin : region.end()], "LOCATION", begin, region.end())
    generation = _GENERATION.match(text, end)
    if generation is not None and " " in name:
        return FoundName(text[begin : generation.end()].replace(",", ""), "PERSON", begin, generation.end())
    firm = _AND_FIRM.match(text, end)
    if firm is not None:
        return FoundName(text[begin : firm.end()], "ORGANIZATION", begin, firm.end())
    return None


def _with_number(text: str, name: str, end: int, known: frozenset[str]) -> str | None:
    """The name with the number behind it, "Terminal 2", unless that counts something."""
    behind = _NUMBER_BEHIND.match(text, end)
    if behind is None or (behind[1] or "") in UNITS or name.lower() in known:
        return None
    numbered = name + (behind[0] if behind[1] is None else behind[0][: -1 - len(behind[1])])
    variant = _VARIANT.match(text, end + len(numbered) - len(name))
    return numbered if variant is None else numbered + variant[0]


def _may_be_numbered(text: str, word: str, start: int) -> bool:
    """Whether a word makes a name with a number: "Buy 3 apples" at the start of a sentence is none."""
    lower = word.lower()
    if lower in NUMBERED:
        return True
    return not is_given(lower) and not (is_common(lower) and opens_sentence(text, start))


def _may_stand_alone(text: str, span: tuple[int, int], word: str, known: frozenset[str], *, inside: bool) -> bool:
    """Whether one word is a name, not capitalised only because it opens a sentence; `inside` a match it opens none."""
    if len(word) < 2:
        return False
    lower = word.lower()
    if inside or lower in known or lower in PLACES or not opens_sentence(text, span[0]):
        return True
    if word.isupper():
        return len(word) <= 6 or not is_common(lower)
    if not is_common(lower):
        return not lower.endswith(("ing", "ness", "tion"))
    return is_given(lower) and may_follow_name(text, span[1])


def may_follow_name(text: str, at: int) -> bool:
    """Whether what stands there is what follows a name: a verb, a possessive, a comma."""
    return _FOLLOWS_NAME.match(text, at) is not None


def opens_sentence(text: str, at: int) -> bool:
    """Whether a sentence begins there."""
    if at > 1 and text[at - 1] == " " and text[at - 2].isalnum():
        return False
    return _STARTS_SENTENCE.search(text, max(0, at - 6), at) is not None


def _begins_name(word: str, following: str, known: frozenset[str], *, opens: bool) -> bool:
    """Whether an ordinary word is part of the name it stands before: "New York", "in Great Britain"."""
    lower = word.lower()
    next_word = following.lower()
    if lower == "sun" and following.istitle():  # Sun Yue; the day stands before no name
        return read_name(f"{lower} {next_word}").sounds != frozenset()
    if lower not in NAME_OPENINGS or next_word in known or _is_no_name(following):
        return False
    return not opens or word == "New" or (lower in QUALIFIERS and not is_given(next_word))


def _is_no_name(word: str) -> bool:
    if word.lower().rstrip(".") in NO_NAMES or word.islower():
        return True
    return ("'" in word or "’" in word) and _CONTRACTED.fullmatch(word) is not None


def _kind(text: str, name: str, span: tuple[int, int], known: frozenset[str]) -> str:
    words = name.lower().split()
    if name.lower() in known or words[0].rstrip(".") in TITLES:
        return "PERSON"
    if not ORGANISATION_WORDS.isdisjoint(words):
        return "ORGANIZATION"
    if words[-1] in PLACE_WORDS:
        return "LOCATION"
    before = text[max(0, span[0] - 14) : span[0]]
    if len(words) <= 3 and (_AFTER_PERSON.match(text, span[1]) or _BEFORE_PERSON.search(before)):
        return "PERSON" if is_given(words[0]) or not is_common(words[-1]) else "CONCEPT"
    return "LOCATION" if len(words) == 1 and _BEFORE_PLACE.search(before) else "CONCEPT"


def speaker_entity(speaker: str | None) -> EntityMention | None:
    """The speaker as a name, unless it is a role or a routing key."""
    if (
        not speaker
        or PLACEHOLDER in speaker
        or speaker.casefold() in ROLES
        or len(speaker) > _LONGEST
        or "::" in speaker
    ):
        return None
    return EntityMention(name=speaker, type="PERSON")
