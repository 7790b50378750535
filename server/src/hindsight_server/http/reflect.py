"""Reflect over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Request, Response

from hindsight_server.domain.model import Fact
from hindsight_server.engine.recall.types import Budget
from hindsight_server.engine.reflect.types import ReflectOutcome, ReflectQuery, ToolCall
from hindsight_server.http.parsing import BankId, Body, token_count
from hindsight_server.http.recall import iso
from hindsight_server.http.routes import Handler, answer
from hindsight_server.http.services import services
from hindsight_server.http.tag_groups import tag_filter
from hindsight_server.http.wire import requests as wire
from hindsight_server.http.wire import responses as shapes


async def reflect(
    request: Request, bank_id: BankId, body: Annotated[wire.ReflectRequest, Body(wire.ReflectRequest)]
) -> Response:
    query = ReflectQuery(
        query=body.query,
        context=body.context,
        budget=Budget(body.budget or "low"),
        max_tokens=token_count(body.max_tokens, 4096, "max_tokens"),
        tags=tag_filter(body.tags, body.tags_match, body.tag_groups),
        fact_types=tuple(body.fact_types) if body.fact_types else None,
        response_schema=body.response_schema,
    )
    served = services(request)
    with served.admission.admit():
        outcome = await served.reflector.reflect(bank_id, query)
    return answer(reflect_answer(outcome, body.include or wire.ReflectIncludeOptions()))


def reflect_answer(outcome: ReflectOutcome, include: wire.ReflectIncludeOptions) -> shapes.ReflectResponse:
    """The outcome on the wire; evidence and tool calls only when they were asked for."""
    response: shapes.ReflectResponse = {
        "text": outcome.text,
        "based_on": None,
        "structured_output": dict(outcome.structured_output) if outcome.structured_output is not None else None,
        "structured_output_error": outcome.structured_output_error,
        "usage": {
            "input_tokens": outcome.input_tokens,
            "output_tokens": outcome.output_tokens,
            "total_tokens": outcome.input_tokens + outcome.output_tokens,
        },
        "trace": None,
    }
    if include.facts is not None:
        facts = [_fact(fact) for fact in outcome.based_on]
        response["based_on"] = {"memories": facts, "mental_models": [], "directives": []}
    if include.tool_calls is not None:
        with_output = include.tool_calls.output is not False
        calls = [_tool_call(call, with_output=with_output) for call in outcome.tool_calls]
        response["trace"] = {"tool_calls": calls, "llm_calls": []}
    return response


def _fact(fact: Fact) -> shapes.ReflectFact:
    return {
        "id": fact.fact_id,
        "text": fact.text,
        "type": fact.fact_type.value,
        "context": fact.context,
        "occurred_start": iso(fact.occurred_start),
        "occurred_end": iso(fact.occurred_end),
        "mentioned_at": iso(fact.mentioned_at),
        "document_id": fact.document_id,
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
        "iteration": 0,
    }


HANDLERS = {"reflect": Handler(reflect, shapes.ReflectResponse, wire.ReflectRequest)}
