"""Retain over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from fastapi import Request, Response

from hindsight_server.engine.offload import offloaded
from hindsight_server.engine.retain.types import ItemInput, RetainOutcome
from hindsight_server.http.parsing import BankId, Body
from hindsight_server.http.routes import Handler, answer
from hindsight_server.http.services import services
from hindsight_server.http.wire import requests as wire
from hindsight_server.http.wire.responses import retain as shapes
from hindsight_server.http.wire.responses import shared


class ReceiptedItem(wire.MemoryItem):
    """Our extension of an item: where the caller keeps the proof of what is retained."""

    receipt_uri: str | None = None


class RetainBody(wire.RetainRequest):
    items: list[ReceiptedItem]  # type: ignore[assignment]


class RetainAnswer(shapes.RetainResponse):
    """Ours beside the API's fields, where it was done at once: what came of it.

    `no_fact_documents` counts documents none of whose words are kept as a fact; `dropped_facts` facts of a language
    model that were not kept, by reason; `unsupported_chunks` chunks whose words stay because none of theirs were.
    """

    fact_count: NotRequired[int]
    no_fact_documents: NotRequired[int]
    dropped_facts: NotRequired[dict[str, int]]
    unsupported_chunks: NotRequired[int]


async def retain(request: Request, bank_id: BankId, body: Annotated[RetainBody, Body(RetainBody)]) -> Response:
    served = services(request)
    items = await offloaded(len(body.items), lambda: _item_inputs(body.items))
    outcome = await served.retainer.retain(
        bank_id,
        items,
        document_tags=body.document_tags or (),
        operation_id=body.operation_id,
        run_async=bool(body.async_),
    )
    if not outcome.replayed and not outcome.run_async:
        served.metrics.retained(len(set(outcome.document_ids)), outcome.no_fact_documents)
    return answer(retain_answer(outcome))


def _item_inputs(items: list[ReceiptedItem]) -> list[ItemInput]:
    """The items as the engine takes them. The list is emptied, so that they are freed here and not on the loop."""
    items.reverse()
    made = []
    while items:
        made.append(item_input(items.pop()))
    return made


def item_input(item: wire.MemoryItem) -> ItemInput:
    """An item as the engine takes it; the engine checks it."""
    content: Any = item.content
    if not isinstance(content, str):
        content = [block.model_dump() for block in content]
    return ItemInput(
        content=content,
        timestamp=item.timestamp,
        context=item.context,
        metadata=item.metadata,
        document_id=item.document_id,
        entities=[{"text": entity.text, "type": entity.type} for entity in item.entities] if item.entities else None,
        resolve_entities=item.resolve_entities is not False,
        tags=item.tags,
        update_mode=item.update_mode,
        observation_scopes=item.observation_scopes,
        strategy=item.strategy,
        receipt_uri=item.receipt_uri if isinstance(item, ReceiptedItem) else None,
    )


def retain_answer(outcome: RetainOutcome) -> RetainAnswer:
    """The outcome on the wire; `operation_ids` are the jobs that are left to do.

    `usage` and what came of it are told only of what was done at once.
    """
    used: shared.TokenUsage = {
        "input_tokens": outcome.input_tokens,
        "output_tokens": outcome.output_tokens,
        "total_tokens": outcome.input_tokens + outcome.output_tokens,
    }
    left = outcome.operation_id if outcome.run_async else outcome.repair_operation_id
    told: RetainAnswer = {
        "success": True,
        "bank_id": outcome.bank_id,
        "items_count": outcome.items_count,
        "async": outcome.run_async,
        "operation_id": outcome.operation_id,
        "operation_ids": [left] if left else None,
        "usage": None if outcome.run_async else used,
    }
    if not outcome.run_async:
        told["fact_count"] = outcome.fact_count
        told["no_fact_documents"] = outcome.no_fact_documents
        if outcome.dropped_facts:
            told["dropped_facts"] = dict(outcome.dropped_facts)
        if outcome.unsupported_chunks:
            told["unsupported_chunks"] = outcome.unsupported_chunks
    return told


HANDLERS = {"retain_memories": Handler(retain, RetainAnswer, RetainBody)}
