"""The graph of memories, and the preview of an extraction, over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request, Response
from pydantic import BaseModel

from hindsight_server.domain.model import Extraction, Fact
from hindsight_server.engine.attachments.blocks import AttachmentLimits, content_length, read_blocks
from hindsight_server.engine.extract import Distilled
from hindsight_server.engine.graph import Graph, Link
from hindsight_server.engine.offload import offloaded
from hindsight_server.engine.retain.types import ItemInput
from hindsight_server.http.ignored import note_ignored
from hindsight_server.http.memories import Match
from hindsight_server.http.parsing import BankId, Body, PageNumber
from hindsight_server.http.recall import iso
from hindsight_server.http.routes import Handler, answer
from hindsight_server.http.services import services
from hindsight_server.http.tag_groups import tag_filter
from hindsight_server.http.wire import requests as wire
from hindsight_server.http.wire.responses import graph as shapes
from hindsight_server.ports.records import FactFilter

_LABEL_CHARS = 60
_BLOCK_CHARS = 20_000  # of a content that are as much work as an item
_NODE_COLOURS = {"world": "#4c78a8", "experience": "#f58518", "observation": "#54a24b"}
_EDGE_LOOKS = {
    "entity": ("#72b7b2", "solid"),
    "temporal": ("#bab0ac", "dashed"),
    "semantic": ("#b279a2", "dotted"),
    "caused_by": ("#e45756", "solid"),
}
_OVERRIDES = (
    "retain_mission",
    "retain_extraction_mode",
    "retain_custom_instructions",
    "retain_chunk_size",
    "entity_labels",
    "entities_allow_free_form",
)
_NEVER_READ = ("agent_name", "retain_extract_causal_links", "llm_output_language")
_UNREAD = (*_NEVER_READ, "retain_mission", "retain_custom_instructions")
"""What is not followed, without a language model; named in the header of ignored fields."""


class GraphQuery(BaseModel):
    type: str | None = None
    limit: PageNumber = 1000
    q: str | None = None
    tags: list[str] | None = None
    tags_match: Match = "all_strict"
    document_id: str | None = None
    chunk_id: str | None = None


async def get_graph(request: Request, bank_id: BankId, query: Annotated[GraphQuery, Query()]) -> Response:
    wanted = FactFilter(
        fact_type=query.type or None,
        query=query.q or None,
        document_id=query.document_id or None,
        tags=tag_filter(query.tags, query.tags_match),
    )
    graph = await services(request).graphs.of(bank_id, wanted, query.limit, query.chunk_id or None)
    count, held = len(graph.facts) + len(graph.links), [graph]
    del graph
    return await offloaded(count, lambda: answer(graph_answer(held.pop())))


def graph_answer(graph: Graph) -> shapes.GraphDataResponse:
    """A graph on the wire."""
    return {
        "nodes": [{"data": _node(fact)} for fact in graph.facts],
        "edges": [{"data": _edge(link)} for link in graph.links],
        "table_rows": [_row(fact) for fact in graph.facts],
        "total_units": graph.total,
        "limit": graph.limit,
    }


def _node(fact: Fact) -> shapes.MemoryGraphNodeData:
    label = fact.text if len(fact.text) <= _LABEL_CHARS else fact.text[: _LABEL_CHARS - 1].rstrip() + "…"
    return {
        "id": fact.fact_id,
        "label": label,
        "text": fact.text,
        "date": iso(fact.occurred_start or fact.mentioned_at) or "",
        "context": fact.context or "",
        "entities": ", ".join(fact.entities) or "None",
        "color": _NODE_COLOURS[fact.fact_type.value],
    }


def _edge(link: Link) -> shapes.MemoryGraphEdgeData:
    colour, style = _EDGE_LOOKS[link.kind]
    return {
        "id": f"{link.source}-{link.target}-{link.kind}",
        "source": link.source,
        "target": link.target,
        "linkType": link.kind,
        "weight": link.weight,
        "entityName": link.entity,
        "color": colour,
        "lineStyle": style,
    }


def _row(fact: Fact) -> shapes.MemoryGraphTableRow:
    return {
        "id": fact.fact_id,
        "text": fact.text,
        "context": fact.context or "N/A",
        "occurred_start": iso(fact.occurred_start),
        "occurred_end": iso(fact.occurred_end),
        "mentioned_at": iso(fact.mentioned_at),
        "date": iso(fact.occurred_start or fact.mentioned_at),
        "entities": ", ".join(fact.entities) or "None",
        "document_id": fact.document_id or None,
        "chunk_id": fact.chunk_id,
        "fact_type": fact.fact_type.value,
        "tags": list(fact.tags),
        "created_at": iso(fact.created_at),
        "proof_count": fact.proof_count,
    }


async def dry_run_extract(
    request: Request,
    bank_id: BankId,
    body: Annotated[wire.DryRunExtractRequest, Body(wire.DryRunExtractRequest)],
) -> Response:
    content: Any = body.content
    if not isinstance(content, str):
        content = [block.model_dump() for block in content]
    item = ItemInput(
        content=content, context=body.context or None, timestamp=body.timestamp, strategy=body.strategy or None
    )
    given = body.model_dump(include=set(_OVERRIDES), exclude_none=True)
    served = services(request)
    unread = _UNREAD if served.models.retain is None else _NEVER_READ
    note_ignored(request.scope, [name for name in unread if getattr(body, name) is not None])
    distilled = await served.previewer.extract(bank_id, item, given)
    shown = extraction_answer(distilled)
    blocks = await offloaded(content_length(content) // _BLOCK_CHARS, lambda: _blocks(content))
    for fact, extracted in zip(shown["facts"], distilled.extraction.facts, strict=True):
        fact["attachments"] = [blocks[one] for one in extracted.attachments if one in blocks]
    return answer(shown)


def _blocks(content: str | list[dict[str, Any]]) -> dict[str, shapes.ExtractedFactAttachment]:
    """For the id of each attachment in a content, its first block."""
    found: dict[str, shapes.ExtractedFactAttachment] = {}
    for index, block in enumerate([] if isinstance(content, str) else content):
        if block["type"] != "text":
            read = read_blocks([block], "content", AttachmentLimits(bytes_each=2**40))
            kind, media_type = block["type"], read.attachments[0].media_type
            found.setdefault(
                read.attachments[0].attachment_id, {"block_index": index, "type": kind, "media_type": media_type}
            )
    return found


def extraction_answer(distilled: Distilled) -> dict[str, Any]:
    """An extraction on the wire.

    `dropped_facts` and `failed_chunks` are ours: what a language model wrote that the text does not bear out, and the
    chunks that it could not be used for.
    """
    shown: dict[str, Any] = {**_extraction(distilled.extraction)}
    if distilled.dropped:
        shown["dropped_facts"] = [{"text": one.text, "reason": one.reason} for one in distilled.dropped]
    if distilled.failures:
        shown["failed_chunks"] = [{"index": one.chunk_index, "error": one.error} for one in distilled.failures]
    return shown


def _extraction(extraction: Extraction) -> shapes.DryRunExtractionResult:
    counts = [0] * len(extraction.chunks)
    for fact in extraction.facts:
        counts[fact.chunk_index] += 1
    return {
        "facts": [
            {
                "text": fact.text,
                "fact_type": fact.fact_type.value,
                "occurred_start": iso(fact.occurred.start) if fact.occurred else None,
                "occurred_end": iso(fact.occurred.end) if fact.occurred else None,
                "entities": [entity.name for entity in fact.entities],
                "chunk_index": fact.chunk_index,
                "attachments": [],
            }
            for fact in extraction.facts
        ],
        "chunks": [
            {"text": chunk.text, "fact_count": count} for chunk, count in zip(extraction.chunks, counts, strict=True)
        ],
        "usage": {
            "input_tokens": extraction.input_tokens,
            "output_tokens": extraction.output_tokens,
            "total_tokens": extraction.input_tokens + extraction.output_tokens,
        },
    }


HANDLERS = {
    "get_graph": Handler(get_graph, shapes.GraphDataResponse),
    "dry_run_extract_memories": Handler(dry_run_extract, shapes.DryRunExtractionResult, wire.DryRunExtractRequest),
}
