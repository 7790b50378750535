"""Which of the ranked facts make the answer: score floors, observations that speak for their sources, token budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hindsight_server.domain.model import Fact
from hindsight_server.engine.offload import offloaded
from hindsight_server.engine.recall.arms import floor_of
from hindsight_server.engine.recall.cache import BankMoved, ViewCache
from hindsight_server.engine.recall.fill import fitting, list_tokens
from hindsight_server.engine.recall.folding import fold
from hindsight_server.engine.recall.reranking import Ranked
from hindsight_server.engine.recall.run import Run
from hindsight_server.engine.recall.types import LeftOut
from hindsight_server.engine.recall.view import FACT_TYPES, BoolArray, Float64Array, Int8Array, Int32Array

_OBSERVATION = FACT_TYPES.index("observation")
_LINE = 8  # tokens of a short fact as a line of a list
_LINES = 20  # that are as much work to fit as an item
_ROUNDS = 8  # of making room, taking what came free, and looking again


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The answer, by places in the ranking.

    Args:
        places: ascending, so that the best are first.
        facts: at those places.
        left_out: for each reason, the places that are not in the answer because of it.
        copies: for each place in the answer that stands for others too, the places of these.
        tokens: what the facts take as a numbered list, at most.
    """

    places: Int32Array
    facts: list[Fact]
    left_out: Mapping[LeftOut, Int32Array]
    copies: Mapping[int, Int32Array]
    tokens: int

    @property
    def truncated(self) -> bool:
        """Whether the token budget left out any."""
        return len(self.left_out[LeftOut.BUDGET]) > 0


class Selector:
    """Selects for one recall after another.

    Args:
        cache: reads the facts.
    """

    def __init__(self, cache: ViewCache) -> None:
        self._cache = cache

    async def select(self, run: Run, ranked: Ranked) -> Selection:
        """Fill the token budget in rank order. Raises BankMoved when facts went away meanwhile, at the first try."""
        view, budget = run.scope.view, run.query.max_tokens
        below_final, below_reranker = _below_floors(run, ranked)
        folded = fold(view.fold[ranked.rows], np.flatnonzero(~(below_final | below_reranker)).astype(np.int32))
        allowed = left = folded.places
        sizes = view.tokens[ranked.rows].astype(np.float64)
        superseding = run.query.prefer_observations and _is_mixed(view.fact_type[ranked.rows[left]])
        superseded: set[int] = set()
        facts: dict[int, Fact] = {}
        longer: dict[int, int] = {}
        for _ in range(_ROUNDS):
            taken = left[await _fitting(sizes[left], budget)]
            facts = await self.read(run, ranked, taken)
            if _lengthened(sizes, longer, facts):
                continue
            gone = _covered(facts) if superseding else set()
            if not gone:
                break
            superseded |= gone
            left = left[~np.isin(left, list(gone))]
        else:
            places = np.array([place for place in facts if place not in superseded], np.int32)
            facts = {place: facts[place] for place in places[fitting(sizes[places].tolist(), budget)].tolist()}
        chosen = np.array(list(facts), np.int32)
        dropped = np.array(sorted(superseded), np.int32)
        return Selection(
            places=chosen,
            facts=list(facts.values()),
            left_out={
                LeftOut.FLOOR_FINAL: np.flatnonzero(below_final).astype(np.int32),
                LeftOut.FLOOR_RERANKER: np.flatnonzero(below_reranker & ~below_final).astype(np.int32),
                LeftOut.SUPERSEDED: dropped,
                LeftOut.FOLDED: folded.dropped,
                LeftOut.BUDGET: np.setdiff1d(allowed, np.concatenate([chosen, dropped]), assume_unique=True),
            },
            copies={place: copies for place, copies in folded.copies.items() if place in facts},
            tokens=list_tokens(sizes[chosen].tolist()),
        )

    async def read(self, run: Run, ranked: Ranked, places: Int32Array) -> dict[int, Fact]:
        """The facts at the places, without those that are gone. Raises BankMoved as `select` does."""
        view = run.scope.view
        seqs = view.seq[ranked.rows[places]].tolist()
        found = await self._cache.facts(run.bank_id, run.warm, view, seqs)
        if len(found) < len(seqs) and not run.repeated:
            raise BankMoved
        return {place: found[seq] for place, seq in zip(places.tolist(), seqs, strict=True) if seq in found}


async def _fitting(sizes: Float64Array, budget: int) -> list[int]:
    most = min(len(sizes), budget // _LINE)
    return await offloaded(most // _LINES, lambda: fitting(sizes.tolist(), budget))


def _below_floors(run: Run, ranked: Ranked) -> tuple[BoolArray, BoolArray]:
    """Which places lie below the final floor, and which below the one of the reranker."""
    floors, nothing = run.query.min_scores, np.zeros(len(ranked.rows), np.bool_)
    final = nothing if floors.final is None else ~(ranked.final >= floor_of(floors.final))
    if floors.reranker is None or floors.reranker <= 0:
        return final, nothing
    # A result that was not compared can't be shown to clear the floor.
    compared = np.full(len(ranked.rows), np.nan) if ranked.reranker is None else ranked.reranker
    return final, ~(compared >= floor_of(floors.reranker))


def _is_mixed(fact_types: Int8Array) -> bool:
    observations = int(np.count_nonzero(fact_types == _OBSERVATION))
    return 0 < observations < len(fact_types)


def _lengthened(sizes: Float64Array, known: dict[int, int], facts: Mapping[int, Fact]) -> bool:
    """Add what indented lines take to the sizes of the facts that have any; whether there were new ones.

    A line inside a list is indented, so that line ends that counted as one token are one each.
    """
    before = len(known)
    for place, fact in facts.items():
        if "\n" in fact.text and place not in known:
            known[place] = fact.text.count("\n")
            sizes[place] += known[place]
    return len(known) > before


def _covered(facts: Mapping[int, Fact]) -> set[int]:
    """Places of facts that an observation among them was drawn from."""
    sources = {source for fact in facts.values() for source in fact.source_fact_ids}
    return {place for place, fact in facts.items() if fact.fact_id in sources}
