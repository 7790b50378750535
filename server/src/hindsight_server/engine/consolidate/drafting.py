"""From actions to what is written: complete observations, and no two of a scope that say the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from hindsight_server.domain.grounding import fold
from hindsight_server.domain.ids import new_id
from hindsight_server.domain.model import EntityMention, ExtractedFact, Fact, FactType, Interval
from hindsight_server.domain.observation_texts import plain_words, says_the_same
from hindsight_server.engine.consolidate.folding import fold_with
from hindsight_server.engine.consolidate.types import Action, Kind, Look
from hindsight_server.engine.indexing import Indexer
from hindsight_server.ports.embedder import Encoding
from hindsight_server.ports.observations import Observation, ObservationWrite, Source
from hindsight_server.ports.records import FactWrite, Float32Array
from hindsight_server.ports.store import Store

_WORDS = {Kind.CREATE: "created", Kind.UPDATE: "updated", Kind.CONTRADICT: "contradicted"}
SUPPORTED = "supported"


@dataclass(slots=True)
class _Draft:
    """An observation on its way; `before` is what it was, None for a new one."""

    text: str
    action: str
    sources: dict[str, Source]
    encoding: Encoding | None
    before: Observation | None = None
    fold: int = 0

    def support(self, sources: Iterable[Source]) -> None:
        for source in sources:
            self.sources.setdefault(source.fact_id, source)


@dataclass(frozen=True, slots=True)
class Drafts:
    """What is to be written and removed."""

    writes: tuple[ObservationWrite, ...] = ()
    removed: dict[str, int] = field(default_factory=dict)


class Drafter:
    """Makes writes of actions.

    Args:
        near: cosine from which on two observations that agree in names, numbers and negation are one.
    """

    def __init__(self, store: Store, indexer: Indexer, near: float) -> None:
        self._store = store
        self._indexer = indexer
        self._near = near

    async def draft(self, look: Look, accepted: Sequence[Action], further: Sequence[Fact] = ()) -> Drafts:
        """The writes of accepted actions. A new observation that says what one of the scope says supports that one."""
        held = {candidate.observation_id: candidate.observation for candidate in look.candidates}
        removed = {
            action.observation_id: held[action.observation_id].version
            for action in accepted
            if action.kind is Kind.DELETE and action.observation_id is not None
        }
        wanted = [action for action in accepted if action.kind is not Kind.DELETE]
        encodings = await self._indexer.encode([action.text for action in wanted])
        drafts: list[_Draft] = []
        creates: list[_Draft] = []
        for action, encoding in zip(wanted, encodings, strict=True):
            sources = {source.fact_id: source for source in action.sources}
            draft = _Draft(action.text, _WORDS[action.kind], sources, encoding, fold=action.fold)
            if action.observation_id is not None:
                draft.before = held[action.observation_id]
                drafts.append(draft)
            else:
                creates.append(draft)
        for draft in creates:
            await self._place(look, draft, drafts, removed)
        facts = {waiting.fact.fact_id: waiting.fact for waiting in look.facts}
        facts |= {fact.fact_id: fact for fact in further}
        return Drafts(tuple(self._write(draft, facts) for draft in drafts), removed)

    async def _place(self, look: Look, draft: _Draft, drafts: list[_Draft], removed: dict[str, int]) -> None:
        for other in drafts:
            if self._is_near(draft, other) and says_the_same(draft.text, other.text):
                other.support(draft.sources.values())
                return
        taken = {other.before.fact.fact_id for other in drafts if other.before is not None}
        found = await self._stored_like(look, draft, taken | removed.keys())
        if found is not None:
            encoding = (await self._indexer.encode([found.fact.text]))[0]
            draft = _Draft(found.fact.text, SUPPORTED, draft.sources, encoding, found, draft.fold)
        drafts.append(draft)

    def _is_near(self, one: _Draft, other: _Draft) -> bool:
        if plain_words(one.text) == plain_words(other.text):
            return True
        if one.encoding is None or other.encoding is None or one.encoding.space != other.encoding.space:
            return False
        return _cosine(one.encoding.vector, other.encoding.vector) >= self._near

    async def _stored_like(self, look: Look, draft: _Draft, taken: set[str]) -> Observation | None:
        """The observation of the scope that says the same and is nearest; None when there is none."""
        seqs = await self._store.observations_in(look.bank_id, look.scope)
        ids = {seq: observation_id for observation_id, seq in seqs.items() if observation_id not in taken}
        if not ids:
            return None
        near = {
            candidate.observation_id
            for candidate in look.candidates
            if plain_words(candidate.observation.fact.text) == plain_words(draft.text)
        }
        if draft.encoding is not None:
            vectors = await self._store.vectors(look.bank_id, list(ids))
            numbers, matrix = vectors.get(draft.encoding.space, (np.empty(0, np.int64), np.empty((0, 0), np.float32)))
            for seq, row in zip(numbers.tolist(), matrix, strict=True):
                if _cosine(draft.encoding.vector, row) >= self._near:
                    near.add(ids[seq])
        for observation in await self._store.observations(look.bank_id, sorted(near.intersection(ids.values()))):
            if says_the_same(draft.text, observation.fact.text):
                return observation
        return None

    def _write(self, draft: _Draft, facts: dict[str, Fact]) -> ObservationWrite:
        before = draft.before
        rests_on = [facts[fact_id] for fact_id in draft.sources if fact_id in facts]
        told = [*([] if before is None else [before.fact]), *rests_on]
        extracted = ExtractedFact(
            text=draft.text,
            fact_type=FactType.OBSERVATION,
            chunk_index=0,
            turn_index=0,
            occurred=_span(told),
            mentioned_at=max((fact.mentioned_at for fact in told if fact.mentioned_at), default=None),
            entities=_entities(draft.text, told),
        )
        words = self._indexer.words(extracted)
        return ObservationWrite(
            fact=FactWrite(
                fact_id=new_id() if before is None else before.fact.fact_id,
                extracted=extracted,
                terms=words.terms,
                length=words.length,
                tokens=words.tokens,
                encoding=draft.encoding,
                # A model that says a fact again would fill recall with it twice.
                fold=draft.fold or fold_with(draft.text, rests_on),
            ),
            sources=tuple(draft.sources.values()),
            action=draft.action,
            expected=None if before is None else before.version,
        )


def _cosine(one: Float32Array, other: Float32Array) -> float:
    length = float(np.linalg.norm(one)) * float(np.linalg.norm(other))
    return float(np.dot(one, other)) / length if length else 0.0


def _span(facts: Sequence[Fact]) -> Interval | None:
    """From the first to the last time that the facts speak of."""
    starts = [fact.occurred_start for fact in facts if fact.occurred_start is not None]
    ends = [fact.occurred_end for fact in facts if fact.occurred_end is not None]
    return Interval(start=min(starts), end=max([*ends, min(starts)])) if starts and ends else None


def _entities(text: str, facts: Sequence[Fact]) -> tuple[EntityMention, ...]:
    """The names of the facts that the text mentions."""
    folded = fold(text)
    names = dict.fromkeys(name for fact in facts for name in fact.entities)
    return tuple(EntityMention(name=name) for name in names if fold(name) in folded)
