"""Without a language model: repeats are folded, and a newer value of a plain attribute supersedes the older one.

Only what can be told from the words alone, by a closed list of phrases about whoever speaks ("I live in Oslo", "my
email is ..."), is drawn; anything else is left to the facts themselves. A single fact never makes an observation, since
it would only say it again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from hindsight_server.domain.model import Fact, FactState, FactType
from hindsight_server.domain.observation_scopes import scopes_of
from hindsight_server.domain.observation_texts import plain_words
from hindsight_server.engine.consolidate.folding import fold_of
from hindsight_server.engine.consolidate.types import Action, Candidate, Kind, Look, Proposal
from hindsight_server.engine.indexing import Indexer
from hindsight_server.ports.observations import Source, WaitingFact
from hindsight_server.ports.records import Int64Array
from hindsight_server.ports.store import Store

_MOST_READ = 50  # facts that hold the same words, the newest
_FEWEST_WORDS = 4  # of a repeat that is worth keeping
_FEWEST_DIGITS = 3  # of a phone number
_NO_PLACES = frozenset(("free", "myself", "fun", "money", "nothing", "night", "fear", "hope", "peace"))
_SHORT = r"\b(?:St|Mt|Ft|Dr|Sr|Jr|Mr|Ms)"
# A dot within a value: of an address on the web, a number, "St. Louis", "D.C. now". After one letter and before a
# capital ("Block C. It is cold.") nobody can tell whether the sentence ends.
# What is asked of it is asked before it, in one go: alternatives that match the same dot double the work at each dot.
_DOT = rf"(?-i:(?=\.[a-z0-9]|(?<={_SHORT})\.\s|(?<=\b[A-Za-z])\.(?:[A-Za-z]\.|\s+[a-z]))\.)"
_STOP = rf"(?-i:(?<!{_SHORT})(?<!\b[A-Za-z])\.(?=\s|$)|\.\s*$)"
_GOES_ON = r"\b(?:now|currently|these days|since|with|and|but|because|for)\b"
_END = rf"(?=\s*(?:[!;,。！；，]|{_STOP}|$|{_GOES_ON}))"
_VALUE = rf"(?P<value>(?:[^.!?;,。！？；，\n]|{_DOT}){{1,60}}?)"
# Firms are called "Marks and Spencer", and an address has its town behind a comma.
_FIRM_END = rf"(?=\s*(?:[!;,。！；，]|{_STOP}|$|(?!and\s+(?-i:[A-HJ-Z]|I[a-z])){_GOES_ON}))"
_TOWN = r"(?-i:,(?=\s*[A-Z0-9]))"
_ADDRESS = rf"(?P<value>(?:[^.!?;,。！？；，\n]|{_DOT}|{_TOWN}){{1,90}}?)"
_ADDRESS_END = rf"(?=\s*(?:[!;。！；，]|(?!{_TOWN}),|{_STOP}|$|{_GOES_ON}))"


@dataclass(frozen=True, slots=True)
class _Pattern:
    """An attribute: a word that all who speak of it use, how the first person says it, and how an observation does."""

    key: str
    said: re.Pattern[str]
    told: str


def _english(key: str, said: str, told: str, value: str = _VALUE, end: str = _END) -> _Pattern:
    return _Pattern(key, re.compile(rf"^{said}\s+{value}{end}", re.IGNORECASE), told)


_NOW = r"(?:now\s+|currently\s+)?"
_PATTERNS = (
    _english("live", rf"I\s+{_NOW}live\s+in", "lives in {}"),
    _english("work", rf"I\s+{_NOW}work\s+(?:at|for)", "works at {}", end=_FIRM_END),
    _english("email", r"my\s+(?:new\s+)?email(?:\s+address)?\s+is", "has the email address {}"),
    _english("phone", r"my\s+(?:new\s+)?phone(?:\s+number)?\s+is", "has the phone number {}"),
    _english("address", r"my\s+(?:new\s+)?address\s+is", "has the address {}", _ADDRESS, _ADDRESS_END),
    _english("title", r"my\s+(?:new\s+)?job\s+title\s+is", "has the job title {}"),
    _Pattern("住在", re.compile(r"^我(?:现在)?住在(?P<value>[^，。！？；,.\n]{1,30})"), "住在{}"),
    _Pattern("邮箱", re.compile(r"^我的(?:新)?邮箱(?:地址)?是(?P<value>[^，。！？；,\s]{1,60})"), "邮箱是{}"),
    _Pattern("电话", re.compile(r"^我的(?:新)?电话(?:号码)?是(?P<value>[^，。！？；,\s]{1,30})"), "电话是{}"),
)
_HYPOTHETICAL = re.compile(
    r"\b(?:if|would|might|used to|wish|maybe|perhaps|not|n't|never)\b|如果|可能|也许|曾经|不", re.I
)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a fact says of its speaker."""

    speaker: str
    attribute: str
    value: str
    told: str


def claim_of(fact: Fact) -> Claim | None:
    """The attribute that a fact gives its speaker; None when it gives none for sure.

    Example:
        "Ann: I live in Oslo now." gives Ann the home Oslo.
    """
    if not fact.speaker or fact.role == "assistant" or not fact.text.startswith(fact.speaker):
        return None
    said = fact.text[len(fact.speaker) :].lstrip(" :：")
    if said.endswith(("?", "？")) or _HYPOTHETICAL.search(said):
        return None
    for pattern in _PATTERNS:
        match = pattern.said.match(said)
        if match is not None and _is_value(pattern.key, match["value"]):
            return Claim(fact.speaker, pattern.key, match["value"].strip(), pattern.told)
    return None


def _is_value(key: str, value: str) -> bool:
    """Whether words can be a value: "my phone is broken" tells no number, "I work for free" no firm."""
    if key in ("email", "邮箱"):
        return "@" in value
    if key in ("phone", "电话"):
        return sum(char.isdigit() for char in value) >= _FEWEST_DIGITS
    return value.strip().casefold() not in _NO_PLACES


class BuiltinJudge:
    """Says what facts repeat or supersede, by rules."""

    def __init__(self, store: Store, indexer: Indexer) -> None:
        self._store = store
        self._indexer = indexer

    async def propose(self, look: Look, notes: Sequence[str] = ()) -> Proposal:
        """`notes` change nothing: the rules would say the same again."""
        actions: list[Action] = []
        further: dict[str, Fact] = {}
        taken: set[str] = set()
        for waiting in look.facts:
            if waiting.fact.fact_id in taken:
                continue
            akin = await self._akin(look, waiting)
            action = _superseding(look, waiting.fact, akin) or _repeating(look, waiting.fact, akin)
            if action is None:
                continue
            taken |= {source.fact_id for source in action.sources}
            further |= {fact.fact_id: fact for fact in akin}
            actions.append(action)
        return Proposal(actions=_once_each(actions), further=tuple(further.values()))

    async def _akin(self, look: Look, waiting: WaitingFact) -> list[Fact]:
        """Valid facts of the scope, from the oldest, that hold the words by which a repeat or a claim is known."""
        claim = claim_of(waiting.fact)
        if claim is not None:
            asked = replace(waiting.fact, text=f"{claim.speaker}: {claim.attribute}", mentioned_at=None)
        elif len(plain_words(waiting.fact.text).split()) >= _FEWEST_WORDS and not waiting.fact.text.endswith(
            ("?", "？")
        ):
            asked = replace(waiting.fact, mentioned_at=None)
        else:
            return []
        terms = self._indexer.words(asked).terms
        found = await self._store.postings(look.bank_id, dict.fromkeys(terms, 0))
        seqs = _common([seqs for seqs, _ in found.values()])
        facts = await self._store.facts(look.bank_id, seqs[-_MOST_READ:].tolist())
        specs = await self._store.scope_specs(look.bank_id, [fact.seq for fact in facts])
        return sorted((fact for fact in facts if _belongs(look, specs.get(fact.seq), fact)), key=_when)


def _common(columns: Sequence[Int64Array]) -> Int64Array:
    if not columns:
        return np.empty(0, np.int64)
    common = columns[0]
    for column in columns[1:]:
        common = np.intersect1d(common, column, assume_unique=True)
    return common


def _belongs(look: Look, given: object | None, fact: Fact) -> bool:
    """Whether the scope looked at is one of a fact whose own document was given these scopes."""
    spec = look.usual_scopes if given is None else given
    return (
        fact.fact_type is not FactType.OBSERVATION
        and fact.state is FactState.VALID
        and look.scope in scopes_of(spec, fact.tags)
    )


def _repeating(look: Look, fact: Fact, akin: Iterable[Fact]) -> Action | None:
    """An observation of what several documents say in the same words; recall shows it and its facts as one."""
    number = fold_of(fact)
    same = [other for other in akin if fold_of(other) == number]
    if len({other.document_id for other in same}) < 2:
        return None
    sources = tuple(Source(fact_id=other.fact_id, quote=other.text) for other in same)
    held = _candidate(look, lambda one: plain_words(one.observation.fact.text) == plain_words(same[0].text))
    text = same[0].text if held is None else held.observation.fact.text
    return _action(look, held, Kind.UPDATE, text, sources, number)


def _superseding(look: Look, fact: Fact, akin: Iterable[Fact]) -> Action | None:
    """An observation of the newest value and those before it."""
    claim = claim_of(fact)
    if claim is None:
        return None
    claims = [(other, made) for other in akin if (made := claim_of(other)) and _is_same(made, claim)]
    values = list(dict.fromkeys(plain_words(made.value) for _, made in claims))
    if len(values) < 2 or any(other.mentioned_at is None for other, _ in claims):
        return None
    newest, now = claims[-1]
    # Back to the last other value: somebody who moves away and returns has lived there since the return.
    others = [at for at, (_, made) in enumerate(claims) if plain_words(made.value) != plain_words(now.value)]
    (_, before), (since, _) = claims[others[-1]], claims[others[-1] + 1]
    text = _told(newest.speaker or "", now, before, since.mentioned_at)
    sources = tuple(Source(fact_id=other.fact_id, quote=other.text) for other, _ in claims)
    known = {other.fact_id for other, _ in claims}
    held = _candidate(look, lambda one: any(source.fact_id in known for source in one.observation.sources))
    # A fact from before what is known only adds to the history.
    is_news = held is None or newest.fact_id not in {source.fact_id for source in held.observation.sources}
    return _action(look, held, Kind.CONTRADICT if is_news else Kind.UPDATE, text, sources, 0)


def _is_same(one: Claim, other: Claim) -> bool:
    return (one.speaker.casefold(), one.attribute) == (other.speaker.casefold(), other.attribute)


def _told(speaker: str, now: Claim, before: Claim, since: datetime | None) -> str:
    assert since is not None
    if now.told.startswith("{") or not now.told.isascii():
        day = f"{since.year}年{since.month}月{since.day}日"
        return f"{speaker}{now.told.format(now.value)}（{day}起；之前是{before.value}）"
    return f"{speaker} {now.told.format(now.value)} (since {since.date().isoformat()}; before that {before.value})."


def _action(
    look: Look, held: Candidate | None, kind: Kind, text: str, sources: tuple[Source, ...], fold: int
) -> Action | None:
    given = {waiting.fact.fact_id for waiting in look.facts}
    if held is None:
        return Action(kind=Kind.CREATE, text=text, sources=sources, fold=fold)
    rests_on = {source.fact_id for source in held.observation.sources}
    new = tuple(source for source in sources if source.fact_id not in rests_on)
    if not any(source.fact_id in given for source in new):
        return None
    return Action(kind=kind, observation_id=held.observation_id, text=text, sources=new, fold=fold)


def _candidate(look: Look, fits: Callable[[Candidate], bool]) -> Candidate | None:
    return next((candidate for candidate in look.candidates if fits(candidate)), None)


def _once_each(actions: Iterable[Action]) -> tuple[Action, ...]:
    """One action for an observation or a text; the later ones have all the sources."""
    kept: dict[object, Action] = {}
    merged: defaultdict[object, dict[str, Source]] = defaultdict(dict)
    for action in actions:
        key = action.observation_id or plain_words(action.text)
        merged[key] |= {source.fact_id: source for source in action.sources}
        kept[key] = action
    return tuple(replace(action, sources=tuple(merged[key].values())) for key, action in kept.items())


def _when(fact: Fact) -> tuple[float, int]:
    said = fact.mentioned_at
    return (said.timestamp() if said is not None else float("-inf"), fact.seq)
