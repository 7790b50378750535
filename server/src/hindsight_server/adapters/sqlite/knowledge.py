"""The tree of knowledge pages."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import apsw

from hindsight_server.adapters.sqlite.banks import ensure_bank, require_bank
from hindsight_server.adapters.sqlite.queries import all_rows, one_row
from hindsight_server.adapters.sqlite.session import micros_of
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import moment
from hindsight_server.domain.errors import Conflict, InvalidInput, NotFound
from hindsight_server.ports.mental_models import MOST_LEVELS, KnowledgeNode


def list_nodes(connection: apsw.Connection, bank_id: str) -> list[KnowledgeNode]:
    return [_node(row) for row in all_rows(connection, "mental_models.nodes", (bank_id,))]


def add_node(connection: apsw.Connection, bank_id: str, node: KnowledgeNode) -> None:
    ensure_bank(connection, bank_id, node.created_at)
    _check_place(connection, bank_id, node.node_id, node.name, node.parent_id)
    if one_row(connection, "mental_models.node", (bank_id, node.node_id)) is not None:
        raise Conflict(f"Bank '{bank_id}' has a node '{node.node_id}' already; use another id.")
    _check_depth(connection, bank_id, node.parent_id, 1)
    times = (micros_of(node.created_at), micros_of(node.updated_at))
    row = (bank_id, node.node_id, node.kind, node.name, node.parent_id, int(node.managed), *times)
    connection.execute(sql("mental_models.insert_node"), row)


def change_node(
    connection: apsw.Connection, bank_id: str, node_id: str, name: str, parent_id: str | None, now: datetime
) -> None:
    require_bank(connection, bank_id)
    if parent_id is not None and parent_id in {one for one, _ in below(connection, bank_id, node_id)}:
        raise InvalidInput("A folder can't be moved into itself or into a folder below it.", field="parent_id")
    _check_place(connection, bank_id, node_id, name, parent_id)
    if parent_id is not None:
        _check_depth(connection, bank_id, parent_id, _levels(connection, bank_id, node_id))
    connection.execute(sql("mental_models.change_node"), (name, parent_id, micros_of(now), bank_id, node_id))


def below(connection: apsw.Connection, bank_id: str, node_id: str) -> list[tuple[str, str]]:
    """A node and all below it, each with its kind. Raises NotFound."""
    require_bank(connection, bank_id)
    found = all_rows(connection, "mental_models.below", {"bank_id": bank_id, "node_id": node_id})
    if not found:
        raise _no_node(bank_id, node_id)
    return [(one, kind) for one, kind in found]


def _check_place(connection: apsw.Connection, bank_id: str, node_id: str, name: str, parent_id: str | None) -> None:
    if parent_id is not None:
        row = one_row(connection, "mental_models.node", (bank_id, parent_id))
        if row is None:
            raise _no_node(bank_id, parent_id)
        if row[1] != "folder":
            raise InvalidInput(f"'{parent_id}' is a page; only folders hold others.", field="parent_id")
    taken = one_row(connection, "mental_models.node_of_name", (bank_id, parent_id, name))
    if taken is not None and taken[0] != node_id:
        raise Conflict(f"There is a page or folder named '{name[:80]}' in that folder already; use another name.")


def _check_depth(connection: apsw.Connection, bank_id: str, parent_id: str | None, levels: int) -> None:
    """Raises InvalidInput when so many levels don't fit below a folder."""
    while parent_id is not None:
        levels += 1
        if levels > MOST_LEVELS:
            raise InvalidInput(f"Folders may be nested {MOST_LEVELS} deep; choose one further up.", field="parent_id")
        row = one_row(connection, "mental_models.node", (bank_id, parent_id))
        parent_id = None if row is None else row[3]


def _levels(connection: apsw.Connection, bank_id: str, node_id: str) -> int:
    """How many levels a node and what is below it take."""
    children: dict[str | None, list[str]] = {}
    for node in list_nodes(connection, bank_id):
        children.setdefault(node.parent_id, []).append(node.node_id)
    levels, level = 0, [node_id]
    while level:
        levels += 1
        level = [inner for one in level for inner in children.get(one, ())]
    return levels


def _no_node(bank_id: str, node_id: str) -> NotFound:
    return NotFound(f"Page or folder '{node_id}' not found in bank '{bank_id}'.")


def _node(row: tuple[Any, ...]) -> KnowledgeNode:
    return KnowledgeNode(
        node_id=row[0],
        kind=row[1],
        name=row[2],
        parent_id=row[3],
        managed=bool(row[4]),
        created_at=moment(row[5]),
        updated_at=moment(row[6]),
    )
