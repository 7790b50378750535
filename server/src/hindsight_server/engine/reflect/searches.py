"""Carrying out what a model asks for inside reflect."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hindsight_server.domain import attachments
from hindsight_server.domain.errors import HindsightServerError, InvalidInput, NotFound, ReflectFailed
from hindsight_server.domain.model import Fact
from hindsight_server.engine.language.prompts import data_block
from hindsight_server.engine.recall.types import (
    RecallOutcome,
    RecallQuery,
    ScoredFact,
    SourceFactsOption,
)
from hindsight_server.engine.reflect import tools
from hindsight_server.engine.reflect.evidence import Evidence, lines, shown_fact, shown_mental_model
from hindsight_server.engine.reflect.sources import MentalModelScope, MentalModelSource, MentalModelText
from hindsight_server.engine.reflect.types import ReflectQuery
from hindsight_server.ports.store import Store

_log = logging.getLogger(__name__)

_FEWEST_TOKENS, _MOST_TOKENS = 200, 16_000
_MENTAL_MODELS, _MOST_MENTAL_MODELS = 5, 20
_GLANCE = 1500  # characters of a mental model in a search
_LONGEST_SOURCE = 30_000  # characters of the documents of one call
_MOST_EXPANDED = 10
_MOST_PASSAGES = 8
_CHARACTERS_A_TOKEN = 4  # about; passages need no exact count


class Recaller(Protocol):
    """What finds memories; `engine.recall.Recaller` is one."""

    async def recall(self, bank_id: str, query: RecallQuery) -> RecallOutcome:
        """The memories that answer a query, best first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """Limits of the searches, from the bank's settings.

    Args:
        recall_tokens: tokens of memories, where the model names no number.
        chunk_tokens: tokens of the passages that memories come from; 0 shows none.
        source_tokens: tokens of the memories that observations rest on; 0 shows none.
    """

    recall_tokens: int = 2048
    chunk_tokens: int = 1000
    source_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a tool brought.

    Args:
        text: for the model; everything from memory stands in a block of data.
        output: the same with real ids, for the trace.
        count: how many things were found.
        incomplete: parts of the search that failed.
        releases: whether a standing answer was found that is fresh and usable.
    """

    text: str
    output: Mapping[str, Any]
    count: int = 0
    incomplete: tuple[str, ...] = ()
    releases: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchScope:
    """Where one reflect may look. What the model asks for never widens it."""

    bank_id: str
    asked: ReflectQuery
    mental_models: MentalModelScope
    settings: SearchSettings = field(default_factory=SearchSettings)

    @property
    def raw_types(self) -> tuple[str, ...]:
        """The types that `recall` finds."""
        return tuple(kind for kind in self.asked.fact_types or ("world", "experience") if kind != "observation")


class Searches:
    """Runs tools in a scope and keeps what they find as evidence.

    All failures of a source are raised as ReflectFailed: an answer around a search that failed could not be told from
    one after a search that found nothing.
    """

    def __init__(
        self, store: Store, recaller: Recaller, mental_models: MentalModelSource | None, scope: SearchScope
    ) -> None:
        self._store = store
        self._recaller = recaller
        self._mental_models = mental_models
        self._scope = scope
        self.evidence = Evidence()

    async def run(self, name: str, arguments: Mapping[str, Any]) -> Found:
        """One call. Raises ReflectFailed; InvalidInput for a filter of the request that recall refuses."""
        try:
            return await self._run(name, arguments)
        except InvalidInput as refusal:
            if refusal.field != "query":
                raise
            return Found(text=f"Not searched: {refusal}", output={"error": str(refusal)})
        except HindsightServerError:
            raise
        except Exception as error:  # the boundary of a tool: its failure is told, not passed off as "nothing found"
            _log.exception("%s failed inside reflect, bank %r", name, self._scope.bank_id)
            raise ReflectFailed(f"The memories could not be searched ({name}: {type(error).__name__}).") from error

    async def _run(self, name: str, arguments: Mapping[str, Any]) -> Found:
        if name == tools.SEARCH_MENTAL_MODELS:
            return await self._search_mental_models(arguments)
        if name == tools.READ_MENTAL_MODELS:
            return await self._read_mental_models(arguments["ids"])
        if name == tools.EXPAND:
            return await self._expand(arguments["memory_ids"], whole=arguments.get("depth") == "document")
        return await self._recall(name, arguments)

    async def _recall(self, name: str, arguments: Mapping[str, Any]) -> Found:
        asked, settings = self._scope.asked, self._scope.settings
        observations = name == tools.SEARCH_OBSERVATIONS
        usual = asked.observation_tokens if observations else settings.recall_tokens
        sources = settings.source_tokens if observations else 0
        outcome = await self._recaller.recall(
            self._scope.bank_id,
            RecallQuery(
                query=arguments["query"],
                types=("observation",) if observations else self._scope.raw_types,
                budget=asked.budget,
                max_tokens=_within(arguments.get("max_tokens"), usual),
                query_timestamp=asked.query_timestamp,
                tags=asked.tags,
                source_facts=SourceFactsOption(max_tokens=sources) if sources else None,
            ),
        )
        rows = [self._shown(hit, entities=observations and asked.observation_entities) for hit in outcome.results]
        parts = [data_block("memories", lines(rows))] if rows else ["Nothing was found."]
        if outcome.source_facts:
            supporting = [shown_fact(self.evidence.name(fact), fact) for fact in outcome.source_facts]
            parts.append("Memories that the observations rest on:\n" + data_block("memories", lines(supporting)))
        passages = "" if observations else await self._passages(outcome.results)
        if passages:
            parts.append("Where they stand:\n" + data_block("passages", passages))
        if outcome.trace.degraded:
            missing = ", ".join(outcome.trace.degraded)
            parts.append(f"Part of the search was not available ({missing}): do not say that something is not there.")
        return Found(
            text="\n".join(parts),
            output={"memories": [{"id": hit.fact.fact_id, "text": hit.fact.text} for hit in outcome.results]},
            count=len(rows),
            incomplete=outcome.trace.degraded,
        )

    async def _passages(self, results: Sequence[ScoredFact]) -> str:
        """Where the best results stand, as far as that says more than they do and the bank's settings allow.

        A passage may hold words under other tags, so none is shown where the request filters by tags.
        """
        left = self._scope.settings.chunk_tokens * _CHARACTERS_A_TOKEN
        if self._scope.asked.tags is not None or not left:
            return ""
        ids = list(dict.fromkeys(hit.fact.chunk_id for hit in results if hit.fact.chunk_id))[:_MOST_PASSAGES]
        told = {" ".join(hit.fact.text.split()) for hit in results}
        shown: list[str] = []
        for chunk in await self._store.chunks(self._scope.bank_id, ids) if ids else ():
            if " ".join(chunk.text.split()) in told:
                continue
            if len(chunk.text) > left:
                break
            shown.append(_readable(chunk.text))
            left -= len(chunk.text)
        return "\n---\n".join(shown)

    def _shown(self, hit: ScoredFact, *, entities: bool) -> dict[str, Any]:
        name = self.evidence.name(hit.fact)
        return shown_fact(name, hit.fact, entities=entities, proof_count=hit.proof_count)

    async def _search_mental_models(self, arguments: Mapping[str, Any]) -> Found:
        if self._mental_models is None:
            return Found(text="Nothing was found.", output={"mental_models": []})
        wanted = max(1, min(arguments.get("max_results") or _MENTAL_MODELS, _MOST_MENTAL_MODELS))
        found = await self._mental_models.search_mental_models(
            self._scope.bank_id, arguments["query"], self._scope.mental_models, wanted
        )
        return self._texts(found, _GLANCE)

    async def _read_mental_models(self, ids: Sequence[str]) -> Found:
        if self._mental_models is None:
            return Found(text="Nothing was found.", output={"mental_models": []})
        found = await self._mental_models.read_mental_models(self._scope.bank_id, ids, self._scope.mental_models)
        return self._texts(found, None)

    def _texts(self, found: Sequence[MentalModelText], longest: int | None) -> Found:
        usable = [one for one in found if one.text.strip()]
        for one in usable:
            self.evidence.add_mental_model(one)
        rows = [shown_mental_model(one, longest) for one in usable]
        return Found(
            text=data_block("standing_answers", lines(rows)) if rows else "Nothing was found.",
            output={
                "mental_models": [{"id": one.mental_model_id, "name": one.name, "fresh": one.fresh} for one in usable]
            },
            count=len(usable),
            releases=any(one.fresh for one in usable),
        )

    async def _expand(self, names: Sequence[str], *, whole: bool) -> Found:
        known = {name: fact for name in names[:_MOST_EXPANDED] if (fact := self.evidence.fact(name)) is not None}
        unknown = [name for name in names[:_MOST_EXPANDED] if name not in known]
        texts = await (self._documents(known) if whole else self._chunks(known))
        parts = [data_block("passages", text) for text in texts] or ["Nothing was found."]
        if unknown:
            parts.append(f"No search has found: {', '.join(name[:40] for name in unknown)}.")
        return Found(text="\n".join(parts), output={"passages": texts, "unknown": unknown}, count=len(texts))

    async def _chunks(self, known: Mapping[str, Fact]) -> list[str]:
        wanted = list(dict.fromkeys(fact.chunk_id for fact in known.values() if fact.chunk_id))
        return [_readable(chunk.text) for chunk in await self._store.chunks(self._scope.bank_id, wanted)]

    async def _documents(self, known: Mapping[str, Fact]) -> list[str]:
        wanted = list(dict.fromkeys(fact.document_id for fact in known.values() if fact.document_id))
        texts = await asyncio.gather(*map(self._document, wanted))
        shown: list[str] = []
        left = _LONGEST_SOURCE
        for text in filter(None, texts):
            shown.append(text[:left])
            left -= len(shown[-1])
            if left <= 0:
                break
        return shown

    async def _document(self, document_id: str) -> str | None:
        try:
            return _readable((await self._store.get_document(self._scope.bank_id, document_id)).text or "")
        except NotFound:  # deleted since the search
            return None


def _readable(text: str) -> str:
    """A stored text without the tokens of its attachments, which tell a model nothing and may end up in its answer."""
    return attachments.shown(text, {})


def _within(asked: int | None, usual: int) -> int:
    return usual if asked is None else max(_FEWEST_TOKENS, min(asked, _MOST_TOKENS))
