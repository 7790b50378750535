"""Mental models: made, changed, refreshed, deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import apsw

from hindsight_server.adapters.sqlite import knowledge
from hindsight_server.adapters.sqlite.banks import ensure_bank, require_bank
from hindsight_server.adapters.sqlite.facts_read import read_facts
from hindsight_server.adapters.sqlite.forgetting_rows import ForgettingRows
from hindsight_server.adapters.sqlite.mental_model_rows import (
    get_model,
    insert_model,
    list_models,
    no_model,
    write_content,
    write_definition,
    write_index,
)
from hindsight_server.adapters.sqlite.operations import (
    Outcome,
    cancel_operation,
    finish_operation,
    get_operation,
    insert_operation,
)
from hindsight_server.adapters.sqlite.queries import all_rows, column, one_row, scalar
from hindsight_server.adapters.sqlite.session import micros_of
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.tags import matching_fact_tag_sets
from hindsight_server.adapters.sqlite.values import from_micros, moment, to_json, to_micros
from hindsight_server.domain.errors import Conflict
from hindsight_server.domain.model import Fact
from hindsight_server.domain.pages.text import rendered
from hindsight_server.domain.pages.trigger import sources_of
from hindsight_server.domain.tags import TagFilter
from hindsight_server.ports.mental_models import (
    MOST_VERSIONS,
    KnowledgeNode,
    MemoryScope,
    MentalModel,
    MentalModelChange,
    PageContent,
    PageVersion,
    RefreshWrite,
    ScopeMark,
)
from hindsight_server.ports.records import Operation

_COUNTED = 1000


class MentalModelRows(ForgettingRows):
    """The part of the store that is `MentalModelStore`."""

    async def add_mental_model(
        self, model: MentalModel, *, node: KnowledgeNode | None = None, refresh: Operation | None = None
    ) -> None:
        await self._write(add_model, model, node, refresh)

    async def get_mental_model(self, bank_id: str, mental_model_id: str) -> MentalModel:
        return await self._read(_get, bank_id, mental_model_id)

    async def list_mental_models(self, bank_id: str) -> list[MentalModel]:
        return await self._read_bank(list_models, bank_id)

    async def scheduled_mental_models(self) -> list[MentalModel]:
        return await self._read(scheduled_models)

    async def change_mental_model(
        self, bank_id: str, mental_model_id: str, change: MentalModelChange, now: datetime
    ) -> MentalModel:
        work = self._forget if change.clear or change.unseen else self._write
        return await work(change_model, bank_id, mental_model_id, change, now)

    async def delete_mental_model(self, bank_id: str, mental_model_id: str, now: datetime) -> None:
        await self._forget(delete_model, bank_id, mental_model_id, now)

    async def mental_model_history(self, bank_id: str, mental_model_id: str) -> list[PageVersion]:
        return await self._read(history, bank_id, mental_model_id)

    async def queue_refresh(self, bank_id: str, mental_model_id: str, asked: Operation) -> Operation:
        return await self._write(queue_refresh, bank_id, mental_model_id, asked)

    async def scope_mark(self, bank_id: str, scope: MemoryScope) -> ScopeMark:
        return await self._read_bank(scope_mark, bank_id, scope)

    async def scope_news(self, bank_id: str, wanted: Sequence[tuple[int, MemoryScope]]) -> list[bool]:
        return await self._read_bank(scope_news, bank_id, wanted)

    async def facts_after(self, bank_id: str, seq: int, scope: MemoryScope, limit: int) -> list[Fact]:
        return await self._read_bank(facts_after, bank_id, seq, scope, limit)

    async def save_refresh(self, write: RefreshWrite) -> MentalModel:
        return await self._write(save_refresh, write)

    async def list_knowledge_nodes(self, bank_id: str) -> list[KnowledgeNode]:
        return await self._read_bank(knowledge.list_nodes, bank_id)

    async def add_knowledge_node(self, bank_id: str, node: KnowledgeNode) -> None:
        await self._write(knowledge.add_node, bank_id, node)

    async def change_knowledge_node(
        self, bank_id: str, node_id: str, name: str, parent_id: str | None, now: datetime
    ) -> None:
        await self._write(knowledge.change_node, bank_id, node_id, name, parent_id, now)

    async def delete_knowledge_node(self, bank_id: str, node_id: str, now: datetime) -> int:
        return await self._forget(_delete_node, bank_id, node_id, now)


def add_model(
    connection: apsw.Connection, model: MentalModel, node: KnowledgeNode | None, refresh: Operation | None
) -> None:
    ensure_bank(connection, model.bank_id, model.created_at)
    key = (model.bank_id, model.mental_model_id)
    if one_row(connection, "mental_models.exists", key) is not None:
        raise Conflict(f"Bank '{model.bank_id}' has a mental model '{model.mental_model_id}' already; use another id.")
    if node is not None:
        knowledge.add_node(connection, model.bank_id, node)
    insert_model(connection, model)
    if refresh is not None:
        insert_operation(connection, refresh, model.created_at)
        connection.execute(sql("mental_models.set_refresh"), (refresh.operation_id, *key))


def scheduled_models(connection: apsw.Connection) -> list[MentalModel]:
    return [get_model(connection, *key) for key in all_rows(connection, "mental_models.scheduled")]


def change_model(
    connection: apsw.Connection, bank_id: str, mental_model_id: str, change: MentalModelChange, now: datetime
) -> MentalModel:
    model = _get(connection, bank_id, mental_model_id)
    named = {
        name: getattr(change, name)
        for name in ("name", "source_query", "tags", "max_tokens", "trigger", "scheduled_at", "full_scheduled_at")
        if getattr(change, name) is not None
    }
    model = replace(model, **named, updated_at=now)
    write_definition(connection, model)
    if change.unseen:
        connection.execute(sql("mental_models.unseen"), (bank_id, mental_model_id))
    clear = change.clear or (change.unseen and change.stays != model.version)
    if clear:
        _keep_version(connection, model, "cleared", now)
        emptied = replace(model, version=model.version + 1)
        write_content(connection, emptied, PageContent(), cut=None)
        connection.execute(sql("mental_models.cleared"), (bank_id, mental_model_id))
    if change.index is not None and (clear or change.indexed == model.content.text):
        write_index(connection, model, change.index)
    row = one_row(connection, "mental_models.node", (bank_id, mental_model_id)) if model.is_page else None
    if row is not None:
        place = (change.name or row[2], change.parent_id if change.moves else row[3])
        if place != (row[2], row[3]):
            knowledge.change_node(connection, bank_id, mental_model_id, *place, now)
    return get_model(connection, bank_id, mental_model_id)


def delete_model(connection: apsw.Connection, bank_id: str, mental_model_id: str, now: datetime) -> None:
    """Its place in the tree goes with it."""
    model = _get(connection, bank_id, mental_model_id)
    if model.refresh_id is not None:
        cancel_operation(connection, bank_id, model.refresh_id, now)
    connection.execute(sql("mental_models.delete"), (bank_id, mental_model_id))
    connection.execute(sql("mental_models.delete_node"), (bank_id, mental_model_id))


def history(connection: apsw.Connection, bank_id: str, mental_model_id: str) -> list[PageVersion]:
    _get(connection, bank_id, mental_model_id)
    return [
        PageVersion(
            version=version,
            changed_at=moment(changed_at),
            outcome=outcome,
            previous_content=content,
            failure=failure,
            error=error,
        )
        for version, changed_at, outcome, content, failure, error in all_rows(
            connection, "mental_models.history", (bank_id, mental_model_id)
        )
    ]


def queue_refresh(connection: apsw.Connection, bank_id: str, mental_model_id: str, asked: Operation) -> Operation:
    require_bank(connection, bank_id)
    key = (bank_id, mental_model_id)
    if one_row(connection, "mental_models.exists", key) is None:
        raise no_model(*key)
    waiting = one_row(connection, "mental_models.waiting_refresh", key)
    if waiting is None:
        added = insert_operation(connection, asked, asked.created_at or _now_of(asked))
        connection.execute(sql("mental_models.set_refresh"), (asked.operation_id, *key))
        return added
    connection.execute(
        sql("mental_models.hasten_refresh"),
        {
            "bank_id": bank_id,
            "operation_id": waiting[0],
            "full": bool((asked.payload or {}).get("full")),
            "at": to_micros(asked.next_attempt_at),
            "now": to_micros(asked.created_at),
        },
    )
    joined = get_operation(connection, bank_id, waiting[0])
    assert joined is not None
    return joined


def scope_mark(connection: apsw.Connection, bank_id: str, scope: MemoryScope) -> ScopeMark:
    last_seq, bank_facts = all_rows(connection, "mental_models.last_seq", (bank_id,))[0]
    found = all_rows(
        connection,
        "mental_models.newest_in_scope",
        _scope(bank_id, 0, scope, (_COUNTED, _tag_sets(connection, bank_id, scope))),
    )[0]
    return ScopeMark(
        last_seq=last_seq,
        newest_at=from_micros(found[1]),
        facts=found[2],
        bank_facts=bank_facts,
        withdrawals=scalar(connection, "mental_models.last_withdrawal", (bank_id,)),
    )


def scope_news(connection: apsw.Connection, bank_id: str, wanted: Sequence[tuple[int, MemoryScope]]) -> list[bool]:
    last_seq = all_rows(connection, "mental_models.last_seq", (bank_id,))[0][0]
    tag_sets: dict[TagFilter, str] = {}
    found = []
    for seq, scope in wanted:
        if seq < last_seq and scope.tags is not None and scope.tags not in tag_sets:
            tag_sets[scope.tags] = matching_fact_tag_sets(connection, bank_id, scope.tags)
        known = tag_sets.get(scope.tags) if scope.tags is not None else None
        found.append(
            seq < last_seq
            and one_row(connection, "mental_models.seqs_after", _scope(bank_id, seq, scope, (1, known))) is not None
        )
    return found


def facts_after(connection: apsw.Connection, bank_id: str, seq: int, scope: MemoryScope, limit: int) -> list[Fact]:
    wanted = _scope(bank_id, seq, scope, (limit, _tag_sets(connection, bank_id, scope)))
    seqs = column(connection, "mental_models.seqs_after", wanted)
    return read_facts(connection, bank_id, seqs)


def save_refresh(connection: apsw.Connection, write: RefreshWrite) -> MentalModel:
    model = replace(_get(connection, write.bank_id, write.mental_model_id), updated_at=write.now)
    if write.finishes is not None and not _is_ours(connection, write.finishes):
        raise Conflict(f"Refresh '{write.finishes.operation_id}' was cancelled or is done by another worker.")
    if write.failure is not None:
        _failed(connection, model, write)
    else:
        _refreshed(connection, model, write)
    if write.finishes is not None:
        status = "completed" if write.failure is None else "failed"
        outcome = Outcome(status, dict(write.result), write.error if write.failure else None)
        finish_operation(connection, write.finishes, outcome, write.now)
    return get_model(connection, write.bank_id, write.mental_model_id)


def _refreshed(connection: apsw.Connection, model: MentalModel, write: RefreshWrite) -> None:
    key = (write.bank_id, write.mental_model_id)
    if write.base_sources not in (None, sources_of(model.tags, model.trigger)):
        raise Conflict("The page is to be written from other memories by now; the refresh is begun again.")
    if write.content is not None:
        if model.version != write.base_version:
            raise Conflict("The page was written or cleared meanwhile; the refresh is begun again.")
        _check_sources(connection, write, write.content)
        if rendered(write.content.text) == rendered(model.content.text):
            # The same words from newer evidence: no new version.
            connection.execute(sql("mental_models.drop_sources"), (*key, model.version))
            write_content(connection, model, write.content, cut=None)
        else:
            _keep_version(connection, model, write.outcome, write.now)
            write_content(connection, replace(model, version=model.version + 1), write.content, cut=None)
    if write.index is not None:
        write_index(connection, model, write.index)
    # Nothing was left, and there is nothing to write from: that is as new as it can be.
    is_settled = write.content is None and write.mark.facts == 0 and model.content.text.is_empty
    connection.execute(
        sql("mental_models.refreshed"),
        {
            "settled": is_settled,
            "bank_id": write.bank_id,
            "mental_model_id": write.mental_model_id,
            "seen_seq": write.mark.last_seq,
            "newest_at": to_micros(write.mark.newest_at),
            "full": write.full,
            "now": micros_of(write.now),
        },
    )


def _failed(connection: apsw.Connection, model: MentalModel, write: RefreshWrite) -> None:
    key: dict[str, Any] = {"bank_id": write.bank_id, "mental_model_id": write.mental_model_id}
    # Failures in a row are one entry, so that they don't push contents out.
    connection.execute(sql("mental_models.drop_failures"), key)
    _add_history(
        connection,
        model,
        PageVersion(
            version=model.version,
            changed_at=write.now,
            outcome=write.outcome,
            failure=write.failure,
            error=write.error,
        ),
    )
    values = {"failed_seq": write.mark.last_seq, "now": micros_of(write.now)}
    connection.execute(sql("mental_models.failed"), key | values)


def _check_sources(connection: apsw.Connection, write: RefreshWrite, content: PageContent) -> None:
    """Raises Conflict when a memory that the writer was shown is gone, was edited or got other tags meanwhile."""
    first = scalar(connection, "mental_models.first_withdrawal", (write.bank_id,))
    wanted = {
        "bank_id": write.bank_id,
        "number": write.mark.withdrawals,
        "fact_ids": to_json([*content.seen_ids, *content.fact_ids]),
    }
    overrun = first > write.mark.withdrawals + 1
    if overrun or one_row(connection, "mental_models.withdrawn_since", wanted) is not None:
        raise Conflict("A memory that the refresh read was deleted, edited or retagged meanwhile; it is begun again.")


def _keep_version(connection: apsw.Connection, model: MentalModel, outcome: str, now: datetime) -> None:
    """What the model says now, into its history; nothing when it says nothing."""
    words = rendered(model.content.text)
    if words:
        kept = PageVersion(version=model.version, changed_at=now, outcome=outcome, previous_content=words)
        _add_history(connection, model, kept)
    else:
        key = (model.bank_id, model.mental_model_id, model.version)
        connection.execute(sql("mental_models.drop_sources"), key)


def _add_history(connection: apsw.Connection, model: MentalModel, entry: PageVersion) -> None:
    key = (model.bank_id, model.mental_model_id)
    number = scalar(connection, "mental_models.next_history", key)
    connection.execute(
        sql("mental_models.add_history"),
        (
            *(*key, number, entry.version, micros_of(entry.changed_at), entry.outcome, entry.failure, entry.error),
            entry.previous_content,
        ),
    )
    for old, version, failure in all_rows(connection, "mental_models.old_history", (*key, MOST_VERSIONS)):
        connection.execute(sql("mental_models.drop_history"), (*key, old))
        if failure is None:
            connection.execute(sql("mental_models.drop_sources"), (*key, version))


def _is_ours(connection: apsw.Connection, job: Operation) -> bool:
    row = one_row(connection, "mental_models.operation_state", (job.bank_id, job.operation_id))
    return job.lease is not None and row == ("processing", job.lease)


def _tag_sets(connection: apsw.Connection, bank_id: str, scope: MemoryScope) -> str | None:
    return None if scope.tags is None else matching_fact_tag_sets(connection, bank_id, scope.tags)


def _scope(bank_id: str, seq: int, scope: MemoryScope, limits: tuple[int, str | None]) -> dict[str, str | int | None]:
    """`limits` are the number of rows and the tag sets that pass."""
    return {
        "bank_id": bank_id,
        "seq": seq,
        "types": None if scope.fact_types is None else to_json(list(scope.fact_types)),
        "tag_sets": limits[1],
        "limit": limits[0],
    }


def _get(connection: apsw.Connection, bank_id: str, mental_model_id: str) -> MentalModel:
    require_bank(connection, bank_id)
    return get_model(connection, bank_id, mental_model_id)


def _delete_node(connection: apsw.Connection, bank_id: str, node_id: str, now: datetime) -> int:
    below = knowledge.below(connection, bank_id, node_id)
    for one, kind in below:
        if kind == "page" and one_row(connection, "mental_models.exists", (bank_id, one)) is not None:
            delete_model(connection, bank_id, one, now)
    connection.execute(sql("mental_models.delete_node"), (bank_id, node_id))
    return len(below)


def _now_of(asked: Operation) -> datetime:
    assert asked.updated_at is not None, "an operation that is asked for has its times"
    return asked.updated_at
