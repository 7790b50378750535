"""The directives of banks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import apsw

from hindsight_server.adapters.sqlite.access import FolderAccess
from hindsight_server.adapters.sqlite.banks import ensure_bank, require_bank
from hindsight_server.adapters.sqlite.queries import all_rows, one_row
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import from_json, moment, to_json, to_micros
from hindsight_server.domain.directives import Directive
from hindsight_server.domain.errors import NotFound


class DirectiveRows(FolderAccess):
    """The part of the store that is `DirectiveStore`."""

    async def save_directive(self, bank_id: str, directive: Directive, now: datetime) -> None:
        await self._write(save_directive, bank_id, directive, now)

    async def directives(self, bank_id: str, *, active_only: bool = False) -> Sequence[Directive]:
        return await self._read_bank(read_directives, bank_id, active_only)

    async def directive(self, bank_id: str, directive_id: str) -> Directive:
        return await self._read_bank(read_directive, bank_id, directive_id)

    async def delete_directive(self, bank_id: str, directive_id: str) -> bool:
        return await self._write(delete_directive, bank_id, directive_id)


def save_directive(connection: apsw.Connection, bank_id: str, directive: Directive, now: datetime) -> None:
    ensure_bank(connection, bank_id, now)
    connection.execute(
        sql("directives.save"),
        {
            "bank_id": bank_id,
            "directive_id": directive.directive_id,
            "name": directive.name,
            "content": directive.content,
            "priority": directive.priority,
            "is_active": int(directive.is_active),
            "tags": to_json(list(directive.tags)),
            "created_at": to_micros(directive.created_at),
            "updated_at": to_micros(directive.updated_at),
        },
    )


def read_directives(connection: apsw.Connection, bank_id: str, active_only: bool) -> list[Directive]:
    rows = all_rows(connection, "directives.list", {"bank_id": bank_id, "active_only": int(active_only)})
    return [_directive(row) for row in rows]


def read_directive(connection: apsw.Connection, bank_id: str, directive_id: str) -> Directive:
    row = one_row(connection, "directives.read", (bank_id, directive_id))
    if row is None:
        raise NotFound(f"Directive '{directive_id}' not found.")
    return _directive(row)


def delete_directive(connection: apsw.Connection, bank_id: str, directive_id: str) -> bool:
    require_bank(connection, bank_id)
    connection.execute(sql("directives.delete"), (bank_id, directive_id))
    return bool(connection.changes())


def _directive(row: tuple[Any, ...]) -> Directive:
    directive_id, name, content, priority, is_active, tags, created_at, updated_at = row
    return Directive(
        directive_id=directive_id,
        name=name,
        content=content,
        priority=priority,
        is_active=bool(is_active),
        tags=tuple(from_json(tags)),
        created_at=moment(created_at),
        updated_at=moment(updated_at),
    )
