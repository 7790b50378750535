"""Mental models and the tree of pages, as they leave a bank and enter another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import apsw

from hindsight_server.adapters.sqlite.knowledge import add_node, list_nodes
from hindsight_server.adapters.sqlite.mental_model_rows import (
    get_model,
    insert_model,
    list_models,
    write_content,
    write_index,
)
from hindsight_server.adapters.sqlite.operations import insert_operation
from hindsight_server.adapters.sqlite.queries import one_row
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import to_micros
from hindsight_server.domain.errors import Conflict, InvalidInput, NotFound
from hindsight_server.domain.ids import new_id
from hindsight_server.domain.pages.text import PageText, page_from_json, page_json
from hindsight_server.domain.pages.trigger import read_trigger
from hindsight_server.ports.mental_models import (
    REFRESH,
    KnowledgeNode,
    MentalModel,
    PageContent,
    PageIndex,
    refresh_payload,
)
from hindsight_server.ports.records import Operation
from hindsight_server.ports.transfer import TransferModel, TransferNode, TransferRecord, TransferWrite


def read_models(connection: apsw.Connection, bank_id: str, take: Callable[[TransferRecord], None]) -> None:
    """Hand over the mental models of a bank, and the tree with folders before what is in them."""
    for model in list_models(connection, bank_id):
        content = model.content
        take(
            TransferModel(
                mental_model_id=model.mental_model_id,
                name=model.name,
                source_query=model.source_query,
                tags=model.tags,
                max_tokens=model.max_tokens,
                trigger=model.trigger.as_json(),
                is_page=model.is_page,
                created_at=model.created_at,
                page=page_json(content.text),
                fact_ids=content.fact_ids,
                seen_ids=content.seen_ids,
                section_terms={name: tuple(terms) for name, terms in content.section_terms.items()},
                terms=model.index.terms,
                answered_query=content.answered_query,
                structured_output=content.structured_output,
                last_refreshed_at=model.last_refreshed_at,
                last_memory_seen_at=model.last_memory_seen_at,
                last_full_refreshed_at=model.last_full_refreshed_at,
            )
        )
    for node in _downwards(list_nodes(connection, bank_id)):
        take(
            TransferNode(
                node_id=node.node_id,
                kind=node.kind,
                name=node.name,
                parent_id=node.parent_id,
                managed=node.managed,
                created_at=node.created_at,
                updated_at=node.updated_at,
            )
        )


def write_models(connection: apsw.Connection, write: TransferWrite) -> int:
    """Store mental models and the tree; the number of models. Raises InvalidInput for a tree that is none."""
    made = set()
    for given in write.models:
        if one_row(connection, "mental_models.exists", (write.bank_id, given.mental_model_id)) is None:
            _write_model(connection, write, given)
            made.add(given.mental_model_id)
    for node in write.nodes:
        if one_row(connection, "mental_models.node", (write.bank_id, node.node_id)) is not None:
            continue
        if node.kind == "page" and node.node_id not in made:
            continue
        _write_node(connection, write, node)
    return len(made)


def _write_model(connection: apsw.Connection, write: TransferWrite, given: TransferModel) -> None:
    model = MentalModel(
        bank_id=write.bank_id,
        mental_model_id=given.mental_model_id,
        name=given.name,
        source_query=given.source_query,
        tags=given.tags,
        max_tokens=given.max_tokens,
        trigger=read_trigger(given.trigger, "file"),
        is_page=given.is_page,
        created_at=given.created_at,
        updated_at=write.now,
    )
    insert_model(connection, model)
    page = _page(given)
    if not page.sections:
        _queue_refresh(connection, write, model)
        return
    connection.execute(
        sql("mental_models.restore"),
        {
            "bank_id": write.bank_id,
            "mental_model_id": given.mental_model_id,
            "refreshed_at": to_micros(given.last_refreshed_at),
            "seen_at": to_micros(given.last_memory_seen_at),
            "full_at": to_micros(given.last_full_refreshed_at),
        },
    )
    content = PageContent(
        text=page,
        fact_ids=given.fact_ids,
        seen_ids=given.seen_ids,
        section_terms=given.section_terms,
        answered_query=given.answered_query,
        structured_output=given.structured_output,
    )
    held = replace(get_model(connection, write.bank_id, given.mental_model_id), updated_at=write.now)
    write_content(connection, held, content, cut=None)
    write_index(connection, held, PageIndex(terms=given.terms))


def _page(given: TransferModel) -> PageText:
    try:
        return page_from_json(given.page) if given.page else PageText()
    except (KeyError, TypeError, ValueError):
        raise InvalidInput(
            f"The archive can't be imported: mental model '{given.mental_model_id[:80]}' has no readable sections.",
            field="file",
        ) from None


def _queue_refresh(connection: apsw.Connection, write: TransferWrite, model: MentalModel) -> None:
    asked = Operation(
        bank_id=write.bank_id,
        operation_id=new_id(),
        type=REFRESH,
        status="pending",
        payload=refresh_payload(model.mental_model_id),
        items_count=1,
        created_at=write.now,
        updated_at=write.now,
    )
    insert_operation(connection, asked, write.now)
    key = (asked.operation_id, write.bank_id, model.mental_model_id)
    connection.execute(sql("mental_models.set_refresh"), key)


def _write_node(connection: apsw.Connection, write: TransferWrite, given: TransferNode) -> None:
    node = KnowledgeNode(
        node_id=given.node_id,
        kind=given.kind,
        name=given.name,
        parent_id=given.parent_id,
        managed=given.managed,
        created_at=given.created_at,
        updated_at=given.updated_at,
    )
    try:
        add_node(connection, write.bank_id, node)
    except Conflict:
        # In a merge: another one has the name there. It keeps it, and this one is told apart by its id.
        add_node(connection, write.bank_id, replace(node, name=f"{node.name} ({node.node_id})"))
    except NotFound as problem:
        raise InvalidInput(f"The archive can't be imported: {problem}", field="file") from problem


def _downwards(nodes: Iterable[KnowledgeNode]) -> list[KnowledgeNode]:
    below: dict[str | None, list[KnowledgeNode]] = {}
    for node in nodes:
        below.setdefault(node.parent_id, []).append(node)
    found, level = [], below.get(None, [])
    while level:
        found += level
        level = [inner for node in level for inner in below.get(node.node_id, ())]
    return found
