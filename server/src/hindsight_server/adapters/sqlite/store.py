"""The store over one SQLite database in one folder."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

from hindsight_server.adapters.sqlite import (
    banks,
    curation,
    documents,
    entities,
    facts_read,
    facts_write,
    naming_verbs,
    operations,
    postings,
    snapshots,
    tags,
    telling,
)
from hindsight_server.adapters.sqlite.attachments import AttachmentRows
from hindsight_server.adapters.sqlite.causes import CauseRows
from hindsight_server.adapters.sqlite.directives import DirectiveRows
from hindsight_server.adapters.sqlite.images import Images
from hindsight_server.adapters.sqlite.llm_log import LlmLogRows
from hindsight_server.adapters.sqlite.mental_models import MentalModelRows
from hindsight_server.adapters.sqlite.observations import ObservationRows
from hindsight_server.adapters.sqlite.opened import OpenedFolder
from hindsight_server.adapters.sqlite.security import SecurityRows
from hindsight_server.adapters.sqlite.webhooks import WebhookRows
from hindsight_server.domain.defence.events import SecurityEvent
from hindsight_server.domain.errors import NotFound
from hindsight_server.domain.ids import bank_of_chunk
from hindsight_server.domain.model import Fact
from hindsight_server.domain.tags import TagFilter
from hindsight_server.ports.embedder import Encoding, Int8Array
from hindsight_server.ports.entities import Entity, EntityGraph, NameGroups
from hindsight_server.ports.records import (
    Bank,
    BankChange,
    BankImage,
    BankStats,
    Chunk,
    Document,
    DocumentFilter,
    DocumentPart,
    DocumentState,
    FactFilter,
    Float32Array,
    Int32Array,
    Int64Array,
    Operation,
    Page,
    RetainResult,
    RetainWrite,
    Snapshot,
)


class SqliteStore(
    AttachmentRows,
    CauseRows,
    MentalModelRows,
    ObservationRows,
    LlmLogRows,
    SecurityRows,
    DirectiveRows,
    WebhookRows,
):
    """`Store` in a data folder: ``memory.db`` (with SQLite's own files beside it) and a lock file.

    Writes run one after another on one thread and are on the disk when they return; reads run on a few others, each in
    a read transaction of its own. The folder is made when it is not there, and belongs to one process at a time.

    Args:
        folder: the data folder.
        readers: number of reading threads.

    Example:
        >>> store = SqliteStore(Path("data"))
        >>> await store.open()
        >>> await store.ensure_bank("alice", datetime.now(UTC))
        >>> await store.close()
    """

    def __init__(self, folder: Path, *, readers: int = 4) -> None:
        self._folder = folder
        self._readers = readers
        self._images = Images(folder)

    async def open(self) -> None:
        if self._opened is None:
            with ThreadPoolExecutor(1, thread_name_prefix="hindsight-store-open") as executor:
                opening = executor.submit(OpenedFolder, self._folder, readers=self._readers)
                self._opened = await asyncio.wrap_future(opening)
                await asyncio.wrap_future(executor.submit(self._images.clear_unfinished))

    async def close(self) -> None:
        await self._stop_cleaning()
        opened, self._opened = self._opened, None
        if opened is not None:
            with ThreadPoolExecutor(1, thread_name_prefix="hindsight-store-close") as executor:
                await asyncio.wrap_future(executor.submit(opened.close))

    async def ping(self) -> None:
        await self._read(lambda connection: connection.execute("SELECT 1").fetchone())

    # banks

    async def ensure_bank(self, bank_id: str, now: datetime) -> None:
        await self._write(banks.ensure_bank, bank_id, now)

    async def save_bank(self, bank_id: str, change: BankChange, now: datetime) -> Bank:
        return await self._write(banks.save_bank, bank_id, change, now)

    async def get_bank(self, bank_id: str) -> Bank:
        return await self._glance(banks.get_bank, bank_id)

    async def list_banks(self, query: str | None, limit: int, offset: int) -> Page[Bank]:
        return await self._read(banks.list_banks, query, limit, offset)

    async def delete_bank(self, bank_id: str) -> int:
        return await self._forget(banks.delete_bank, bank_id)

    async def bank_stats(self, bank_id: str) -> BankStats:
        return await self._read(banks.bank_stats, bank_id)

    # writing

    async def retain(self, write: RetainWrite) -> RetainResult:
        return await self._write(telling.retain, write, self._everywhere)

    async def document_state(self, bank_id: str, document_id: str) -> DocumentState | None:
        return await self._read(documents.document_state, bank_id, document_id)

    async def document_states(self, bank_id: str, document_ids: Sequence[str]) -> Mapping[str, DocumentState]:
        return await self._read(documents.document_states, bank_id, document_ids)

    async def waiting_parts(self, bank_id: str, operation_id: str) -> list[tuple[str, DocumentPart]]:
        return await self._read(documents.waiting_parts, bank_id, operation_id)

    async def parts_before(
        self, bank_id: str, document_id: str, operation_id: str | None, limit: int
    ) -> list[DocumentPart]:
        return await self._read(documents.parts_before, bank_id, document_id, operation_id, limit)

    async def document_parts(self, bank_id: str, document_id: str) -> list[DocumentPart]:
        return await self._read_bank(documents.document_parts, bank_id, document_id)

    async def update_document(
        self,
        bank_id: str,
        document_id: str,
        tags: tuple[str, ...] | None,
        now: datetime,
        *,
        observation_scopes: object | None = None,
    ) -> int:
        change = curation.DocumentChange(tags, observation_scopes)
        return await self._write(curation.update_document, bank_id, document_id, change, now)

    async def unencoded_facts(self, after: tuple[str, int], limit: int) -> list[tuple[str, Fact]]:
        return await self._read(facts_read.unencoded_facts, after, limit)

    async def add_encodings(self, bank_id: str, encodings: Mapping[int, Encoding], now: datetime) -> int:
        return await self._write(facts_write.add_encodings, bank_id, encodings, now)

    # reading

    async def get_fact(self, bank_id: str, fact_id: str) -> Fact:
        return await self._read_bank(facts_read.get_fact, bank_id, fact_id)

    async def facts_by_id(self, bank_id: str, fact_ids: Sequence[str]) -> list[Fact]:
        return await self._read_bank(facts_read.facts_by_id, bank_id, fact_ids)

    async def facts(self, bank_id: str, seqs: Sequence[int]) -> list[Fact]:
        return await self._read_keys(len(seqs), facts_read.read_facts, bank_id, seqs)

    async def list_facts(self, bank_id: str, wanted: FactFilter, limit: int, offset: int) -> Page[Fact]:
        return await self._read_bank(facts_read.list_facts, bank_id, wanted, limit, offset)

    async def get_document(self, bank_id: str, document_id: str) -> Document:
        return await self._read_bank(documents.get_document, bank_id, document_id)

    async def list_documents(self, bank_id: str, wanted: DocumentFilter, limit: int, offset: int) -> Page[Document]:
        return await self._read_bank(documents.list_documents, bank_id, wanted, limit, offset)

    async def get_chunk(self, chunk_id: str) -> Chunk:
        found = await self._read(documents.get_chunks, bank_of_chunk(chunk_id), [chunk_id])
        if not found:
            raise NotFound(f"Chunk '{chunk_id}' not found.")
        return found[0]

    async def chunks(self, bank_id: str, chunk_ids: Sequence[str]) -> list[Chunk]:
        return await self._read_bank(documents.get_chunks, bank_id, chunk_ids)

    async def list_chunks(self, bank_id: str, document_id: str, limit: int, offset: int) -> Page[Chunk]:
        return await self._read_bank(documents.list_chunks, bank_id, document_id, limit, offset)

    async def list_entities(self, bank_id: str, tags: TagFilter | None, limit: int, offset: int) -> Page[Entity]:
        return await self._read_bank(entities.list_entities, bank_id, tags, limit, offset)

    async def get_entity(self, bank_id: str, entity_id: str, tags: TagFilter | None = None) -> Entity:
        return await self._read_bank(entities.get_entity, bank_id, entity_id, tags)

    async def find_entities(self, bank_id: str, names: Sequence[str]) -> list[Entity]:
        return await self._read_bank(entities.find_entities, bank_id, names)

    async def entities(self, bank_id: str, numbers: Sequence[int]) -> list[Entity]:
        return await self._read_bank(entities.entities_by_number, bank_id, numbers)

    async def names_as_written(self, bank_id: str, numbers: Sequence[int]) -> Mapping[int, str]:
        return await self._read_bank(entities.names_as_written, bank_id, numbers)

    async def entity_graph(self, bank_id: str, tags: TagFilter | None, limit: int, min_count: int) -> EntityGraph:
        return await self._read_bank(entities.entity_graph, bank_id, tags, limit, min_count)

    async def merge_entities(self, bank_id: str, entity_ids: Sequence[str], now: datetime) -> Entity:
        return await self._write(naming_verbs.merge_entities, bank_id, entity_ids, now)

    async def split_entity(self, bank_id: str, entity_id: str, names: Sequence[str], now: datetime) -> list[Entity]:
        return await self._write(naming_verbs.split_entity, bank_id, entity_id, names, now)

    async def name_entity(self, bank_id: str, entity_id: str, name: str, now: datetime, *, shown: bool) -> Entity:
        return await self._write(naming_verbs.name_entity, bank_id, entity_id, name, now, shown=shown)

    async def list_tags(self, bank_id: str, query: str | None, limit: int, offset: int) -> Page[tuple[str, int]]:
        return await self._read_bank(tags.list_tags, bank_id, query, limit, offset)

    # recall

    async def name_groups(self, bank_id: str, names: Sequence[str], after_version: int) -> NameGroups:
        return await self._read_recalled(len(names), entities.name_groups, bank_id, names, after_version)

    async def snapshot(self, bank_id: str, after_seq: int, after_version: int, *, limit: int | None = None) -> Snapshot:
        news = await self._glance(snapshots.read_news, bank_id, after_seq, after_version) if limit is None else None
        if news is not None:
            return news
        return await self._read(snapshots.read_snapshot, bank_id, after_seq, after_version, limit=limit)

    async def save_image(self, bank_id: str, image: BankImage) -> bool:
        path = await asyncio.to_thread(self._images.write, bank_id, image)
        return await self._write(self._images.keep, bank_id, image.version, path)

    async def load_image(self, bank_id: str) -> BankImage | None:
        return await asyncio.to_thread(self._images.load, bank_id)

    async def postings(self, bank_id: str, terms: Mapping[str, int]) -> Mapping[str, tuple[Int64Array, Int32Array]]:
        return await self._read_recalled(len(terms), postings.read_postings, bank_id, terms)

    async def vectors(self, bank_id: str, seqs: Sequence[int]) -> Mapping[str, tuple[Int64Array, Float32Array]]:
        return await self._read(snapshots.read_vectors, bank_id, seqs)

    async def add_vectors(self, bank_id: str, vectors: Mapping[int, Encoding]) -> int:
        return await self._write(facts_write.add_vectors, bank_id, vectors)

    async def token_vectors(self, bank_id: str, space: str, seqs: Sequence[int]) -> Mapping[int, Int8Array]:
        return await self._read_keys(len(seqs), snapshots.read_token_vectors, bank_id, space, seqs)

    # what webhooks are told of

    async def add_security_events(self, bank_id: str, events: Sequence[SecurityEvent], now: datetime) -> None:
        await self._write(telling.add_security_events, bank_id, events, now, self._everywhere)

    async def end_consolidation(self, operation: Operation, result: Mapping[str, Any], now: datetime) -> bool:
        return await self._write(telling.end_consolidation, operation, result, now, self._everywhere)

    # operations

    async def add_operation(self, operation: Operation) -> Operation:
        return await self._write(operations.add_operation, operation)

    async def get_operation(self, bank_id: str, operation_id: str) -> Operation | None:
        return await self._read_bank(operations.get_operation, bank_id, operation_id)

    async def list_operations(
        self, bank_id: str, status: str | None, type_: str | None, limit: int, offset: int
    ) -> Page[Operation]:
        return await self._read_bank(operations.list_operations, bank_id, (status, type_), limit, offset)

    async def claim_operation(self, types: Sequence[str], now: datetime, lease_seconds: float) -> Operation | None:
        return await self._write(operations.claim_operation, types, now, lease_seconds)

    async def finish_operation(
        self,
        operation: Operation,
        status: str,
        now: datetime,
        *,
        result: Mapping[str, Any] | None = None,
        error: str | None = None,
        retry_at: datetime | None = None,
    ) -> None:
        outcome = operations.Outcome(status, result, error, retry_at)
        await self._write(telling.finish_operation, operation, outcome, now, self._everywhere)

    async def renew_operation(self, operation: Operation, now: datetime, lease_seconds: float) -> bool:
        return await self._write(operations.renew_operation, operation, now, lease_seconds)

    async def requeue_operation(self, bank_id: str, operation_id: str, now: datetime) -> bool:
        return await self._write(operations.requeue_operation, bank_id, operation_id, now)

    async def cancel_operation(self, bank_id: str, operation_id: str, now: datetime) -> bool:
        return await self._write(operations.cancel_operation, bank_id, operation_id, now)

    async def delete_operation(self, bank_id: str, operation_id: str) -> bool:
        return await self._write(operations.delete_operation, bank_id, operation_id)
