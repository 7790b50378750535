"""What a text says of the names in it: "Theodora, whom everybody calls Teddy"; "International Cocoa Desk (ICD)"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from hindsight_server.adapters.extract.entities import FoundName
from hindsight_server.domain.model import EntityMention, NameLink
from hindsight_server.domain.names import normal_name
from hindsight_server.domain.naming import NameForm, could_be, read_name

_CAPITAL = "A-Z\u00c0-\u00d6\u00d8-\u00de"
_ALIAS = rf"[\"“‘']?(?P<alias>[{_CAPITAL}][\w.'’-]*(?: [{_CAPITAL}][\w.'’-]*){{0,3}})"
_CALLED = re.compile(
    r"(?i:\b(?:(?:was |is |been |now )*(?:renamed|rebranded)(?: to| as)?|(?:is |was )?(?:now|later) called"
    r"|changed (?:his|her|its|their) name to|(?:also|better|otherwise|formerly) known as"
    r"|known as|a\.?k\.?a\.?|goes by|nicknamed|nickname is"
    r"|(?:every(?:body|one)|friends|people|we|they|colleagues|family)(?: all| just| usually)?"
    rf" calls?(?: him| her| them| it)?|or (?:just|simply))(?: as)? (?:the )?){_ALIAS}"
)
_CALLING = (
    "call",
    "known as",
    "aka",
    "a.k.a",
    "goes by",
    "nick",
    "or just",
    "or simply",
    "abbreviated",
    "renamed",
    "rebranded",
    "name to",
)  # cheap to look for
_TO_FRIENDS = re.compile(
    rf", (?:or )?{_ALIAS} (?:to (?:(?:his|her|their|my|our|most|all|the) )*"
    r"(?:friends|family)"
    r"|for short)\b"
)
_CALL_ME = re.compile(rf"\b(?:call me|I go by|(?:people|friends|everyone|everybody) calls? me) {_ALIAS}")
_I_AM = re.compile(
    rf"\b(?:I['’]m|I am|[Mm]y (?:full )?name is|[Mm]y name['’]s) {_ALIAS}"
    r"|我(?:是|叫|的名字是)(?P<han>[\u4e00-\u9fff]{2,4})"
)
_ACRONYM = re.compile(r" ?[(（](?:or )?(?P<alias>[A-Z][A-Z&.]{1,9})[)）]")
_QUOTED_NICK = re.compile(
    rf"\b(?P<first>[{_CAPITAL}]\w+) [\"“‘'(](?P<alias>[{_CAPITAL}]\w+)[\"”’')] (?P<last>[{_CAPITAL}]\w+)"
)
_BORN = re.compile(rf",? \(?(?:née|nee|né) (?P<family>[{_CAPITAL}][\w'’-]+)")
_NICK_OPENS = (' "', " “", " ‘", " '", " (")
_HAN = "\u4e00-\u9fff"
_HAN_CALLED = re.compile(
    r"(?:(?:大家|我们|我們|同事|朋友|同学|同學|人家|都|也)*(?:叫|喊|称呼|稱呼)(?:他|她|它)(?:为|為|作|做)?|又名|又叫|也叫"
    r"|别名|別名|人称|人稱|外号|外號|绰号|小名|简称|簡稱|英文名(?:是|叫)?|网名|笔名)"
    rf"[“「\"：: ]?(?P<alias>[{_HAN}]{{2,8}}|[A-Za-z][\w .-]{{1,30}})"
)
_SELF = ("call", "name", "go by", "I'm ", "I’m ", "I am ", "我")
_SENTENCE = re.compile(r"[.!?。！？\n](?:\s|$|(?<=[。！？\n]))")
_REACH = 80  # characters before "known as" in which the name is looked for


def find_links(
    text: str, names: Sequence[FoundName], speaker: str | None
) -> tuple[list[NameLink], list[EntityMention]]:
    """What the text says of names, and the names among them that `names` lacks.

    Two related names in one sentence ("Alice and Alice Chen") are told apart, and so is a speaker from a fuller name
    that is spoken of, unless the text says that they are one.
    """
    links = [*_stated(text, names), *_of_speaker(text, speaker)]
    said = {frozenset((normal_name(link.one), normal_name(link.other))) for link in links}
    for link in _apart(text, names, speaker):
        if frozenset((normal_name(link.one), normal_name(link.other))) not in said:
            links.append(link)
    if not links:
        return [], []
    held = {normal_name(found.name) for found in names} | ({normal_name(speaker)} if speaker else set())
    missing = dict.fromkeys(name for link in links for name in (link.one, link.other) if normal_name(name) not in held)
    return links, [EntityMention(name=name) for name in missing]


def _stated(text: str, names: Sequence[FoundName]) -> Iterator[NameLink]:
    patterns = [_CALLED] if _has_one(text, _CALLING) else []
    patterns += [_TO_FRIENDS] if names and (" friends" in text or " for short" in text or " family" in text) else []
    for pattern in patterns if text.isascii() else [*patterns, _HAN_CALLED]:
        for said in pattern.finditer(text):
            whole = _name_before(text, names, said.start())
            if whole is not None:
                yield from _same(whole.name, said["alias"])
    for found in names if "(" in text or "（" in text else ():
        short = _ACRONYM.match(text, found.end)
        if short is not None and _abbreviates(short["alias"], found.name):
            yield from _same(found.name, short["alias"])
    for said in _BORN.finditer(text) if "né" in text or " nee " in text else ():
        whole = _name_before(text, names, said.start())
        if whole is not None and " " in whole.name:
            yield from _same(whole.name, f"{whole.name.split()[0]} {said['family']}")
    for said in _QUOTED_NICK.finditer(text) if names and _has_one(text, _NICK_OPENS) else ():
        yield from _same(f"{said['first']} {said['last']}", said["alias"])


def _has_one(text: str, words: tuple[str, ...]) -> bool:
    return any(map(text.__contains__, words))


def _of_speaker(text: str, speaker: str | None) -> Iterator[NameLink]:
    if speaker is None or not _has_one(text, _SELF):
        return
    for said in _CALL_ME.finditer(text):
        yield from _same(speaker, said["alias"])
    for said in _I_AM.finditer(text):
        name = said["alias"] or said["han"]
        if _are_related(read_name(normal_name(speaker)), read_name(normal_name(name))):
            yield from _same(speaker, name)


def _same(one: str, other: str) -> Iterator[NameLink]:
    other = other.strip().rstrip(".,'’")
    if other and normal_name(one) != normal_name(other):
        yield NameLink(one=one, other=other, same=True)


def _name_before(text: str, names: Sequence[FoundName], at: int) -> FoundName | None:
    """The first name of the sentence that leads up to a place."""
    begin = max([0, at - _REACH, *(end.end() for end in _SENTENCE.finditer(text, max(0, at - _REACH), at))])
    before = [found for found in names if begin <= found.start and found.end <= at]
    return min(before, key=lambda found: found.start, default=None)


def _abbreviates(short: str, name: str) -> bool:
    """Whether the letters are the initials of the words, small words aside."""
    letters = short.replace(".", "").replace("&", "")
    words = re.findall(r"\w+", name)
    initials = "".join(word[0] for word in words).upper()
    capitals = "".join(word[0] for word in words if word[0].isupper())
    return len(words) > 1 and letters in (initials, capitals)


def _apart(text: str, names: Sequence[FoundName], speaker: str | None) -> Iterator[NameLink]:
    if not names or (len(names) == 1 and speaker is None):
        return
    forms = [(found, read_name(normal_name(found.name))) for found in names]
    own = read_name(normal_name(speaker)) if speaker is not None else None
    keys = [key for form in (*(form for _, form in forms), *((own,) if own else ())) for key in form.keys]
    if len(set(keys)) == len(keys):
        return
    for (one, first), (other, second) in combinations(forms, 2):
        if _share_key(first, second) and _are_related(first, second):
            start, end = min(one.end, other.end), max(one.start, other.start)
            if start <= end and _SENTENCE.search(text, start, end) is None:
                yield NameLink(one=one.name, other=other.name, same=False)
    if speaker is None or own is None:
        return
    for found, form in forms:
        if form.fold != own.fold and _share_key(own, form) and _are_related(own, form):
            yield NameLink(one=speaker, other=found.name, same=False)


def _share_key(one: NameForm, other: NameForm) -> bool:
    return not set(one.keys).isdisjoint(other.keys)


def _are_related(one: NameForm, other: NameForm) -> bool:
    """Whether the rules would take one for the other, if something spoke for it."""
    if one.fold == other.fold:
        return False
    pairs = ((one, other), (other, one))
    return any(could_be(less, more, person=True, known_person=True) is not None for less, more in pairs)
