"""Exports, imports and clones: asked for at once, done by a job."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from datetime import timedelta
from functools import partial
from typing import Any, BinaryIO

from hindsight_server.domain.defence.events import SecurityEvent
from hindsight_server.domain.errors import BankNotFound, Conflict, HindsightServerError, InvalidInput
from hindsight_server.domain.ids import new_id
from hindsight_server.engine import config as settings
from hindsight_server.engine.defence.importing import ImportDefender, Incoming
from hindsight_server.engine.directives import storable
from hindsight_server.engine.indexing import Indexer
from hindsight_server.engine.retain.items import check_bank_id
from hindsight_server.engine.transfer.archive import Archive, ArchiveWriter, read_archive
from hindsight_server.engine.transfer.bytes import AttachmentBytes
from hindsight_server.engine.transfer.indexing import ready_facts
from hindsight_server.engine.transfer.observations import brought_observations, chosen_memory
from hindsight_server.engine.transfer.pages import brought_models
from hindsight_server.engine.transfer.types import ExportInput, ImportInput, TransferLimits
from hindsight_server.ports.archives import ArchiveKind, Archives, StoredArchive
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.records import DocumentFilter, Operation
from hindsight_server.ports.store import Store
from hindsight_server.ports.transfer import (
    ReadyFact,
    ReadyObservation,
    TransferBank,
    TransferCounts,
    TransferDocument,
    TransferFact,
    TransferModel,
    TransferNames,
    TransferNode,
    TransferRecord,
    TransferWrite,
)

EXPORT, IMPORT, CLONE = "bank_export", "bank_import", "bank_clone"
_SECRET = re.compile(r"api_?key|secret|passw|credential|authorization|(?:access|auth|bearer)_?token|private_?key", re.I)

_log = logging.getLogger(__name__)


class Transfers:
    """Use cases on archives. Exports and clones raise BankNotFound for an unknown bank.

    Args:
        on_job: called after a job was added, so that a worker looks at once.
    """

    def __init__(
        self,
        store: Store,
        archives: Archives,
        indexer: Indexer,
        clock: Clock,
        *,
        limits: TransferLimits | None = None,
        on_job: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._archives = archives
        self._indexer = indexer
        self._clock = clock
        self._limits = limits or TransferLimits()
        self._on_job = on_job
        self._defender: ImportDefender | None = None
        self._bytes = AttachmentBytes()

    def carry(self, bytes_: AttachmentBytes) -> None:
        """Take the bytes of attachments along from now on."""
        self._bytes = bytes_

    def defend(self, defender: ImportDefender) -> None:
        """Have what archives bring go through memory defence from now on."""
        self._defender = defender

    async def export(self, bank_id: str, wanted: ExportInput) -> Operation:
        """Add a job that writes an archive. Raises NotFound for a document that is not there."""
        for document_id in wanted.document_ids or ():
            await self._store.get_document(bank_id, document_id)
        await self._store.get_bank(bank_id)
        return await self._add(bank_id, EXPORT, {"wanted": asdict(wanted)})

    async def import_archive(self, bank_id: str, data: bytes, wanted: ImportInput) -> Operation:
        """Add a job that takes an archive in; it is recorded with `bank_id`, which is made when it is not there.

        Raises:
            InvalidInput: the archive can't be read, or its own bank's id can't be one.
            Conflict: the bank to restore into holds something.
        """
        check_bank_id(bank_id)
        if len(data) > self._limits.archive_bytes:
            raise InvalidInput(
                f"The archive is larger than {self._limits.archive_bytes} bytes. Export fewer documents at a time, by "
                "document_id, and merge their archives.",
                field="file",
            )
        stored = await asyncio.to_thread(self._keep, bank_id, ArchiveKind.UPLOAD, lambda file: _write(file, data))
        try:
            archive = await asyncio.to_thread(self._read, stored.key)
            target = _target(bank_id, archive, wanted)
            if wanted.mode == "restore":
                await self._check_empty(target)
            await self._store.ensure_bank(bank_id, self._clock.now())
            payload = {"key": stored.key, "target": target, "wanted": asdict(wanted)}
            return await self._add(bank_id, IMPORT, payload)
        except BaseException:
            await asyncio.to_thread(self._archives.delete, stored.key, ArchiveKind.UPLOAD)
            raise

    async def clone(self, bank_id: str, target_bank_id: str, wanted: ExportInput) -> Operation:
        """Add a job that copies a bank into a new one. Raises Conflict when that is there already."""
        check_bank_id(target_bank_id)
        await self._store.get_bank(bank_id)
        await self._check_empty(target_bank_id, "a clone needs a new one; name another target_bank_id")
        return await self._add(bank_id, CLONE, {"target": target_bank_id, "wanted": asdict(wanted)})

    async def open_export(self, key: str) -> tuple[BinaryIO, int]:
        """An export and its size. Raises NotFound."""
        return await asyncio.to_thread(self._archives.open, key, ArchiveKind.EXPORT, self._clock.now())

    async def withdraw(self, bank_id: str) -> int:
        """Delete a bank's exports, since something of what they hold was forgotten; the number deleted."""
        return await asyncio.to_thread(self._archives.withdraw, bank_id)

    async def sweep(self) -> int:
        """Delete archives that have expired; the number deleted."""
        return await asyncio.to_thread(self._archives.sweep, self._clock.now())

    async def run_export(self, job: Operation) -> Mapping[str, Any]:
        """Write the archive of a job."""
        await self.sweep()
        wanted = _export_input(job.payload or {})
        await self._tell(job, "writing", 0, 1)
        expires = self._clock.now() + timedelta(hours=self._limits.keep_hours)
        stored, counts = await self._write_archive(job.bank_id, wanted, ArchiveKind.EXPORT)
        return {
            "storage_key": stored.key,
            "download_url": f"/v1/default/files/download/{stored.key}",
            "byte_size": stored.byte_size,
            "filename": _filename(job.bank_id),
            "expires_at": expires.isoformat(),
            "documents_exported": counts["documents"],
            "facts_exported": counts["facts"],
            "observations_exported": counts["observations"],
        }

    async def run_import(self, job: Operation) -> Mapping[str, Any]:
        """Take the archive of a job in. Doing it twice equals doing it once."""
        payload = job.payload or {}
        wanted = ImportInput(**payload["wanted"])
        with _archive_at_fault():
            result = await self._take_in(job, payload["key"], payload["target"], wanted)
        await asyncio.to_thread(self._archives.delete, payload["key"], ArchiveKind.UPLOAD)
        return result

    async def run_clone(self, job: Operation) -> Mapping[str, Any]:
        """Copy the bank of a job, as it is at one moment."""
        payload = job.payload or {}
        given = _export_input(payload)
        stored, _ = await self._write_archive(job.bank_id, given, ArchiveKind.UPLOAD)
        try:
            return await self._take_in(job, stored.key, payload["target"], ImportInput(mode="restore"))
        finally:
            await asyncio.to_thread(self._archives.delete, stored.key, ArchiveKind.UPLOAD)

    async def _take_in(self, job: Operation, key: str, target: str, wanted: ImportInput) -> Mapping[str, Any]:
        archive = await asyncio.to_thread(self._read, key)
        try:
            async with self._bytes.keeping(archive, target, lambda: self._open(key)):
                return await self._stored(job, archive, target, wanted)
        except Conflict as problem:
            held = await self._store.get_operation(job.bank_id, job.operation_id)
            if held is None or held.status != "processing":
                raise
            # The bank was filled meanwhile: that is so at the next try, too.
            raise InvalidInput(str(problem), field="target_bank_id") from problem

    async def _stored(self, job: Operation, archive: Archive, target: str, wanted: ImportInput) -> Mapping[str, Any]:
        fresh = wanted.mode == "restore"
        incoming, events = await self._incoming(job, archive, target, wanted)
        facts, observations = brought_observations(archive, incoming.facts, incoming.observations)
        ready, unencoded = await self._ready(job, [*facts, *(one.fact for one in observations)])
        await self._tell(job, "storing", len(ready), len(ready))
        bank = _known_settings(archive.bank) if fresh and wanted.include_config and archive.bank else None

        def result(counts: TransferCounts) -> Mapping[str, Any]:
            applied = bank is not None
            return {"bank_id": target, "config_applied": applied, "unencoded_count": unencoded} | asdict(counts)

        write = TransferWrite(
            bank_id=target,
            now=self._clock.now(),
            documents=incoming.documents,
            facts=ready[: len(facts)],
            observations=tuple(map(ReadyObservation, observations, ready[len(facts) :])),
            names=incoming.names if fresh else TransferNames(),
            models=brought_models(archive, incoming.facts, observations, keep_words=fresh)
            if wanted.include_data
            else (),
            nodes=tuple(archive.nodes) if wanted.include_data else (),
            bank=bank,
            fresh=fresh,
            conflict=wanted.conflict,
            finishes=job,
            result=result,
        )
        counts = await self._store.write_transfer(write)
        if counts is None:
            return job.result or {}
        if self._defender is not None:
            await self._defender.keep(target, events)
        return result(counts)

    async def _incoming(
        self, job: Operation, archive: Archive, target: str, wanted: ImportInput
    ) -> tuple[Incoming, tuple[SecurityEvent, ...]]:
        """What the archive brings into the bank, behind its memory defence, and what that decided."""
        if not wanted.include_data:
            return Incoming(documents=(), facts=(), names=TransferNames()), ()
        brought = _everything(archive)
        if self._defender is None:
            return brought, ()
        replaces = wanted.conflict == "replace"
        return await self._defender.screen(target, brought, replaces=replaces, operation_id=job.operation_id)

    async def _tell(self, job: Operation, stage: str, processed: int, total: int) -> None:
        now = self._clock.now()
        progress = {"stage": stage, "at": now.isoformat(), "processed": processed, "total": total}
        await self._store.note_progress(job, progress, now)

    async def _ready(self, job: Operation, facts: list[TransferFact]) -> tuple[tuple[ReadyFact, ...], int]:
        """The facts with their words and vectors, and the number of those that get theirs later."""
        tell = partial(self._tell, job, "encoding")
        return await ready_facts(self._indexer, facts, self._limits.encode_at_once, tell)

    async def _write_archive(
        self, bank_id: str, wanted: ExportInput, kind: ArchiveKind
    ) -> tuple[StoredArchive, dict[str, int]]:
        loop = asyncio.get_running_loop()
        counts: dict[str, int] = {}

        def write(file: BinaryIO) -> None:
            writer = ArchiveWriter(file, source_bank=bank_id, made_at=self._clock.now())
            digests: dict[str, None] = {}
            take = _chosen(wanted, self._bytes.noting(writer.add, digests))
            ids = wanted.document_ids if wanted.include_data else ()
            reading = self._store.read_transfer(bank_id, ids, take)
            asyncio.run_coroutine_threadsafe(reading, loop).result()
            self._bytes.write(writer, bank_id, digests, loop)
            writer.close()
            counts.update(writer.counts)

        stored = await asyncio.to_thread(self._keep, bank_id, kind, write)
        return stored, counts

    def _keep(self, bank_id: str, kind: ArchiveKind, write: Callable[[BinaryIO], None]) -> StoredArchive:
        expires = self._clock.now() + timedelta(hours=self._limits.keep_hours)
        return self._archives.put(bank_id, kind, expires, write)

    def _read(self, key: str) -> Archive:
        with self._open(key) as file:
            return read_archive(file, self._limits)

    def _open(self, key: str) -> BinaryIO:
        file, _ = self._archives.open(key, ArchiveKind.UPLOAD, self._clock.now())
        return file

    async def _check_empty(self, bank_id: str, remedy: str = "name another target_bank_id, or use mode=merge") -> None:
        try:
            held = await self._store.list_documents(bank_id, DocumentFilter(), 1, 0)
        except BankNotFound:
            return
        if held.total:
            raise Conflict(f"Bank '{bank_id}' holds something already; {remedy}.")

    async def _add(self, bank_id: str, type_: str, payload: dict[str, Any]) -> Operation:
        now = self._clock.now()
        operation = Operation(
            bank_id=bank_id,
            operation_id=new_id(),
            type=type_,
            status="pending",
            payload=payload,
            items_count=1,
            created_at=now,
            updated_at=now,
        )
        added = await self._store.add_operation(operation)
        self._on_job()
        return added


@contextlib.contextmanager
def _archive_at_fault() -> Iterator[None]:
    """Raises InvalidInput for what no check foresaw: it lies in the archive, and the next try would find it again."""
    try:
        yield
    except HindsightServerError:
        raise
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
        _log.exception("an archive could not be taken in")
        raise InvalidInput(f"The archive can't be imported: {type(error).__name__}.", field="file") from error


def _write(file: BinaryIO, data: bytes) -> None:
    file.write(data)


def _everything(archive: Archive) -> Incoming:
    return Incoming(
        documents=tuple(archive.documents),
        facts=tuple(archive.facts),
        names=archive.names,
        observations=tuple(archive.observations),
    )


def _target(bank_id: str, archive: Archive, wanted: ImportInput) -> str:
    if wanted.mode == "merge":
        return bank_id
    named = wanted.target_bank_id or archive.manifest.get("source_bank")
    return check_bank_id(named if isinstance(named, str) else bank_id)


def _export_input(payload: Mapping[str, Any]) -> ExportInput:
    given = dict(payload["wanted"])
    ids = given["document_ids"]
    return ExportInput(**{**given, "document_ids": None if ids is None else tuple(ids)})


def _chosen(wanted: ExportInput, add: Callable[[TransferRecord], None]) -> Callable[[TransferRecord], None]:
    """Takes what the archive is to carry."""

    def take(record: TransferRecord) -> None:
        if isinstance(record, TransferBank):
            if wanted.include_config and wanted.document_ids is None:
                add(replace(record, config=without_secrets(record.config)))
        elif isinstance(record, TransferDocument | TransferNames):
            if wanted.include_data:
                add(record)
        elif isinstance(record, TransferModel | TransferNode):
            if wanted.include_pages:
                add(record)
        elif wanted.include_data and (memory := chosen_memory(record, observations=wanted.include_observations)):
            add(memory)

    return take


def without_secrets(value: Any) -> Any:
    """Settings without anything that is named like a key or a password."""
    if isinstance(value, Mapping):
        return {key: _harmless(key, inner) for key, inner in value.items() if not _SECRET.search(str(key))}
    return [without_secrets(inner) for inner in value] if isinstance(value, list | tuple) else value


def _harmless(key: str, value: Any) -> Any:
    if key == "response_schema":
        return value  # it names what an answer is to have, and holds no values
    if key == "retain_strategies" and isinstance(value, Mapping):
        return {name: without_secrets(of) for name, of in value.items()}  # users give them their names
    return without_secrets(value)


def _known_settings(bank: TransferBank) -> TransferBank:
    """Settings that this server has, checked. Raises InvalidInput for a value that can't be one."""
    known = {name: value for name, value in bank.config.items() if name in settings.CONFIG_KEYS}
    dropped = sorted(set(bank.config) - set(known))
    if dropped:
        _log.warning("settings of an archive that this server does not have are left out: %s", ", ".join(dropped))
    rules = tuple(rule for rule in map(storable, bank.directives) if rule is not None)
    if len(rules) < len(bank.directives):
        _log.warning("import leaves out %d directives that can't be kept", len(bank.directives) - len(rules))
    return replace(bank, config=settings.checked_updates(known, has_model=True), directives=rules)


def _filename(bank_id: str) -> str:
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', bank_id)[:80] or 'bank'}.zip"
