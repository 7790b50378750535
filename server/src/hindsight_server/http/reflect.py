"""Reflect over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, cast

from fastapi import Request, Response

from hindsight_server.domain.model import Fact
from hindsight_server.engine.recall.types import Budget
from hindsight_server.engine.reflect.sources import MentalModelText
from hindsight_server.engine.reflect.types import ReflectOutcome, ReflectQuery, ToolCall
from hindsight_server.http.files import show_on_facts
from hindsight_server.http.parsing import BankId, Body, token_count
from hindsight_server.http.recall import iso
from hindsight_server.http.routes import Handler, answer
from hindsight_server.http.services import services
from hindsight_server.http.tag_groups import tag_filter
from hindsight_server.http.wire import requests as wire
from hindsight_server.http.wire.responses import reflect as shapes
from hindsight_server.http.wire.responses import shared
from hindsight_server.ports.llm import Usage


async def reflect(
    request: Request, bank_id: BankId, body: Annotated[wire.ReflectRequest, Body(wire.ReflectRequest)]
) -> Response:
    served = services(request)
    with served.reflect_admission.admit():
        outcome = await served.reflector.reflect(bank_id, _query(body))
    served.metrics.reflected(outcome)
    response = reflect_answer(outcome, body.include or wire.ReflectIncludeOptions())
    if response["based_on"] is not None:
        memories = cast("list[dict[str, Any]]", response["based_on"].get("memories") or [])
        await show_on_facts(served, bank_id, memories)
    return answer(response)


def _query(body: wire.ReflectRequest) -> ReflectQuery:
    return ReflectQuery(
        query=body.query,
        context=body.context,
        budget=Budget(body.budget or "low"),
        max_tokens=token_count(body.max_tokens, 4096, "max_tokens"),
        tags=tag_filter(body.tags, body.tags_match, body.tag_groups),
        fact_types=tuple(body.fact_types) if body.fact_types else None,
        response_schema=body.response_schema,
        every_directive=bool(body.apply_all_directives),
        exclude_mental_models=bool(body.exclude_mental_models),
        excluded_mental_models=frozenset(body.exclude_mental_model_ids or ()),
        observation_tokens=body.reflect_search_observations_max_tokens or 5000,
        observation_entities=body.reflect_search_observations_include_entities is not False,
        left_open=frozenset(name for name in type(body).model_fields if getattr(body, name) is None)
        | (type(body).model_fields.keys() - body.model_fields_set),
    )


def reflect_answer(outcome: ReflectOutcome, include: wire.ReflectIncludeOptions) -> shapes.ReflectResponse:
    """The outcome on the wire; evidence and tool calls only when they were asked for."""
    response: shapes.ReflectResponse = {
        "text": outcome.text,
        "based_on": None,
        "structured_output": dict(outcome.structured_output) if outcome.structured_output is not None else None,
        "structured_output_error": outcome.structured_output_error,
        "usage": _usage(outcome.usage),
        "trace": None,
    }
    if include.facts is not None:
        response["based_on"] = {
            "memories": [_fact(fact) for fact in outcome.based_on],
            "mental_models": [_mental_model(one) for one in outcome.mental_models],
            "directives": [
                {"id": one.directive_id, "name": one.name, "content": one.content} for one in outcome.directives
            ],
        }
    if include.tool_calls is not None:
        with_output = include.tool_calls.output is not False
        calls = [_tool_call(call, with_output=with_output) for call in outcome.tool_calls]
        response["trace"] = {
            "tool_calls": calls,
            "llm_calls": [
                {"scope": call.scope, "duration_ms": round(call.duration_seconds * 1000)}
                for call in outcome.model_calls
            ],
        }
    return response


def _usage(usage: Usage) -> shared.TokenUsage:
    visible = usage.output_tokens - usage.thought_tokens
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": visible,
        "total_tokens": usage.input_tokens + visible,
        "cached_tokens": usage.cached_tokens,
        "thoughts_tokens": usage.thought_tokens,
    }


def _mental_model(one: MentalModelText) -> shapes.ReflectMentalModel:
    return {"id": one.mental_model_id, "text": one.text, "context": one.question or None}


def _fact(fact: Fact) -> shapes.ReflectFact:
    return {
        "id": fact.fact_id,
        "text": fact.text,
        "type": fact.fact_type.value,
        "context": fact.context,
        "occurred_start": iso(fact.occurred_start),
        "occurred_end": iso(fact.occurred_end),
        "mentioned_at": iso(fact.mentioned_at),
        "document_id": fact.document_id or None,
        "chunk_id": fact.chunk_id,
        "tags": list(fact.tags),
        "metadata": dict(fact.metadata) or None,
        "attachments": None,
    }


def _tool_call(call: ToolCall, *, with_output: bool) -> shapes.ReflectToolCall:
    return {
        "tool": call.tool,
        "input": dict(call.input),
        "output": dict(call.output) if with_output else None,
        "duration_ms": round(call.duration_seconds * 1000),
        "iteration": call.iteration,
    }


HANDLERS = {"reflect": Handler(reflect, shapes.ReflectResponse, wire.ReflectRequest)}
