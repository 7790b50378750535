"""Recall over HTTP."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal, NotRequired, cast

from fastapi import Request, Response
from pydantic import BaseModel
from typing_extensions import TypedDict

from hindsight_server.domain.errors import BadRequest, InvalidInput
from hindsight_server.domain.model import Fact
from hindsight_server.engine.offload import offloaded
from hindsight_server.engine.recall.types import (
    Budget,
    IncludedChunk,
    IncludedEntity,
    MinScores,
    RecallOutcome,
    RecallQuery,
    ScoredFact,
    SourceFactsOption,
    TimeField,
    TimeFilter,
    TimeWindow,
)
from hindsight_server.http.files import show_on_chunks, show_on_facts
from hindsight_server.http.parsing import BankId, Body, optional_time, token_count
from hindsight_server.http.routes import Handler, answer_last
from hindsight_server.http.services import Services, services
from hindsight_server.http.tag_groups import tag_filter
from hindsight_server.http.wire import requests as wire
from hindsight_server.http.wire.responses import recall as shapes


class Source(TypedDict):
    """One of several memories that say the same; an observation is of no document."""

    id: str
    document_id: str | None
    mentioned_at: str | None


class FoldedResult(shapes.RecallResult):
    """Our extension: a result that stands for several memories which say the same names them all."""

    proof_count: NotRequired[int]
    sources: NotRequired[list[Source]]


class TimeFilterBody(BaseModel):
    """Our extension: leaves out facts of other times, where `temporal_window` only ranks."""

    start: str | None = None
    end: str | None = None
    on: Literal["occurred", "mentioned"] | None = "occurred"


class RecallBody(wire.RecallRequest):
    time_filter: TimeFilterBody | None = None


class RecallAnswer(shapes.RecallResponse):
    """With our extension `truncated`: whether `max_tokens` left out results that the floors let through."""

    results: list[FoldedResult]  # type: ignore[misc]
    truncated: bool


async def recall(request: Request, bank_id: BankId, body: Annotated[RecallBody, Body(RecallBody)]) -> Response:
    served = services(request)
    query = recall_query(body)
    with served.admission.admit():
        outcome = await served.recaller.recall(bank_id, query)
    if outcome.trace.degraded:
        served.metrics.recall_degraded(outcome.trace.degraded)
    answering = partial(recall_answer, outcome, traced=bool(body.trace))
    response = await offloaded(len(outcome.results), answering)
    await _show_attachments(served, bank_id, outcome, response)
    count, held = len(outcome.results), [outcome, response]
    del outcome, answering, response
    return await answer_last(count, held)


async def _show_attachments(served: Services, bank_id: str, outcome: RecallOutcome, response: RecallAnswer) -> None:
    facts = [*response["results"], *(response["source_facts"] or {}).values()]
    await show_on_facts(served, bank_id, cast("list[dict[str, Any]]", facts))
    chunks = [included.chunk for included in outcome.chunks or ()]
    await show_on_chunks(served, bank_id, chunks, cast("dict[str, dict[str, Any]]", response["chunks"] or {}))


def recall_query(body: RecallBody) -> RecallQuery:
    """What the body asks for. Raises InvalidInput."""
    include = body.include or wire.IncludeOptions()
    return RecallQuery(
        query=body.query,
        types=tuple(body.types) if body.types else None,
        budget=Budget(body.budget or "mid"),
        max_tokens=token_count(body.max_tokens, 4096, "max_tokens"),
        query_timestamp=_query_timestamp(body.query_timestamp),
        tags=tag_filter(body.tags, body.tags_match, body.tag_groups),
        temporal_window=_temporal_window(body.temporal_window),
        time_filter=_time_filter(body.time_filter),
        prefer_observations=bool(body.prefer_observations),
        min_scores=MinScores(**body.min_scores.model_dump()) if body.min_scores else MinScores(),
        entities_max_tokens=_budget(include.entities, 500, "include.entities.max_tokens"),
        chunks_max_tokens=_budget(include.chunks, 8192, "include.chunks.max_tokens"),
        source_facts=_source_facts(include.source_facts),
        trace=bool(body.trace),
        left_open=_left_open(body),
    )


def _left_open(body: RecallBody) -> frozenset[str]:
    """What the body does not say, so that the bank's settings may; null for chunks says that none are wanted."""
    include = body.include
    open_ = {name for name in ("max_tokens", "prefer_observations") if getattr(body, name) is None}
    if "max_tokens" not in body.model_fields_set:
        open_.add("max_tokens")
    if include is None or "chunks" not in include.model_fields_set:
        open_.add("chunks")
    elif include.chunks is not None and "max_tokens" not in include.chunks.model_fields_set:
        open_.add("chunks_max_tokens")
    return frozenset(open_)


def _query_timestamp(text: str | None) -> datetime | None:
    """The API answers a bad one with 400, where other bad fields are a 422."""
    try:
        return optional_time(text, "query_timestamp")
    except InvalidInput as error:
        raise BadRequest(str(error)) from None


def _temporal_window(body: wire.TemporalWindow | None) -> TimeWindow | None:
    return None if body is None else _window(body.start.isoformat(), body.end.isoformat(), "temporal_window")


def _time_filter(body: TimeFilterBody | None) -> TimeFilter | None:
    if body is None or (body.start is None and body.end is None):
        return None
    return TimeFilter(window=_window(body.start, body.end, "time_filter"), on=TimeField(body.on or "occurred"))


def _window(start_text: str | None, end_text: str | None, field: str) -> TimeWindow:
    start, end = optional_time(start_text, f"{field}.start"), optional_time(end_text, f"{field}.end")
    if start and end and start > end:
        raise InvalidInput(f"{field}.start lies after {field}.end; exchange them.", field=f"{field}.start")
    return TimeWindow(start=start, end=end)


def _budget(
    options: wire.EntityIncludeOptions | wire.ChunkIncludeOptions | None, default: int, field: str
) -> int | None:
    return None if options is None else token_count(options.max_tokens, default, field)


def _source_facts(options: wire.SourceFactsIncludeOptions | None) -> SourceFactsOption | None:
    if options is None:
        return None
    field = "include.source_facts"
    return SourceFactsOption(
        max_tokens=token_count(options.max_tokens, 4096, f"{field}.max_tokens", least=-1),
        max_tokens_per_observation=token_count(
            options.max_tokens_per_observation, -1, f"{field}.max_tokens_per_observation", least=-1
        ),
    )


def recall_answer(outcome: RecallOutcome, *, traced: bool) -> RecallAnswer:
    """The outcome on the wire."""
    response: RecallAnswer = {
        "results": [_result(scored) for scored in outcome.results],
        "trace": _trace(outcome) if traced or outcome.trace.degraded or outcome.trace.notes else None,
        "entities": None,
        "chunks": None,
        "source_facts": None,
        "source_facts_truncated": outcome.source_facts_truncated,
        "truncated": outcome.truncated,
    }
    if outcome.entities is not None:
        response["entities"] = {included.entity.name: _entity(included) for included in outcome.entities}
    if outcome.chunks is not None:
        response["chunks"] = {included.chunk.chunk_id: _chunk(included) for included in outcome.chunks}
    if outcome.source_facts is not None:
        response["source_facts"] = {fact.fact_id: fact_answer(fact) for fact in outcome.source_facts}
    return response


def _trace(outcome: RecallOutcome) -> dict[str, Any]:
    return {
        **outcome.trace.as_dict(),
        "num_results": len(outcome.results),
        "result_tokens": outcome.result_tokens,
        "listed_tokens": outcome.listed_tokens,
    }


def _result(scored: ScoredFact) -> FoldedResult:
    result, scores = cast(FoldedResult, fact_answer(scored.fact)), scored.scores
    result["scores"] = {
        "final": scores.final,
        "reranker": scores.reranker,
        "semantic": scores.semantic,
        "keyword": scores.keyword,
    }
    if scored.copies:
        result["proof_count"] = scored.proof_count
        result["sources"] = [
            {"id": fact.fact_id, "document_id": fact.document_id or None, "mentioned_at": iso(fact.mentioned_at)}
            for fact in (scored.fact, *scored.copies)
        ]
    return result


def fact_answer(fact: Fact) -> shapes.RecallResult:
    """A fact as recall shows it."""
    return {
        "id": fact.fact_id,
        "text": fact.text,
        "type": fact.fact_type.value,
        "entities": list(fact.entities),
        "context": fact.context,
        "occurred_start": iso(fact.occurred_start),
        "occurred_end": iso(fact.occurred_end),
        "mentioned_at": iso(fact.mentioned_at),
        # Observations are of no document.
        "document_id": fact.document_id or None,
        "metadata": dict(fact.metadata) or None,
        "chunk_id": fact.chunk_id,
        "tags": list(fact.tags),
        "source_fact_ids": list(fact.source_fact_ids) or None,
        "scores": None,
        "attachments": None,
    }


def _entity(included: IncludedEntity) -> shapes.EntityStateResponse:
    entity = included.entity
    return {
        "entity_id": entity.entity_id,
        "canonical_name": entity.name,
        "observations": [{"text": fact.text, "mentioned_at": iso(fact.mentioned_at)} for fact in included.observations],
    }


def _chunk(included: IncludedChunk) -> shapes.ChunkData:
    chunk = included.chunk
    return {
        "id": chunk.chunk_id,
        "text": included.text,
        "chunk_index": chunk.index,
        "truncated": included.truncated,
        "attachments": None,
    }


def iso(value: datetime | None) -> str | None:
    """A time on the wire, ISO 8601 with its offset."""
    return value.isoformat() if value is not None else None


HANDLERS = {"recall_memories": Handler(recall, RecallAnswer, RecallBody)}
