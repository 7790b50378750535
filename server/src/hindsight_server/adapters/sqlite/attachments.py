"""Attachments of documents and facts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import apsw

from hindsight_server.adapters.sqlite.access import FolderAccess
from hindsight_server.adapters.sqlite.queries import all_rows, column, one_row, scalar
from hindsight_server.adapters.sqlite.session import BankSession
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import from_json, to_json
from hindsight_server.domain import attachments as domain
from hindsight_server.domain.attachments import ID_DIGITS, Attachment, ids_in
from hindsight_server.domain.errors import Conflict, NotFound
from hindsight_server.domain.ids import content_hash
from hindsight_server.domain.model import UpdateMode
from hindsight_server.ports.attachments import ReleasedBlob
from hindsight_server.ports.records import DocumentWrite

_Found = dict[str, tuple[Attachment, ...]]


class AttachmentRows(FolderAccess):
    """The part of the store that is `AttachmentStore`."""

    async def get_attachment(self, bank_id: str, attachment_id: str) -> Attachment:
        return await self._read(get_attachment, bank_id, attachment_id)

    async def document_attachments(
        self, bank_id: str, document_ids: Sequence[str]
    ) -> Mapping[str, tuple[Attachment, ...]]:
        return await self._read(of_documents, bank_id, document_ids)

    async def fact_attachments(self, bank_id: str, fact_ids: Sequence[str]) -> Mapping[str, tuple[Attachment, ...]]:
        return await self._read(of_facts, bank_id, fact_ids)

    async def released_blobs(self, limit: int) -> list[ReleasedBlob]:
        rows = await self._read(all_rows, "attachments.released", (limit,))
        return [ReleasedBlob(*row) for row in rows]

    async def blob_in_use(self, bank_id: str, digest: str) -> bool:
        values = {"bank_id": bank_id, "digest": digest, "attachment_id": digest[:ID_DIGITS]}
        return bool(await self._read(scalar, "attachments.in_use", values))

    async def drop_released(self, bank_id: str, digest: str) -> None:
        await self._write(_run, "attachments.drop_released", (bank_id, digest))


def get_attachment(connection: apsw.Connection, bank_id: str, attachment_id: str) -> Attachment:
    row = one_row(connection, "attachments.get", (bank_id, attachment_id))
    if row is None:
        raise NotFound(f"Attachment '{attachment_id}' not found in bank '{bank_id}'.")
    return _attachment(row)


def of_documents(connection: apsw.Connection, bank_id: str, document_ids: Sequence[str]) -> _Found:
    wanted = {"bank_id": bank_id, "document_ids": to_json(list(dict.fromkeys(document_ids)))}
    return _grouped(all_rows(connection, "attachments.of_documents", wanted))


def of_facts(connection: apsw.Connection, bank_id: str, fact_ids: Sequence[str]) -> _Found:
    asked = {"bank_id": bank_id, "fact_ids": to_json(list(dict.fromkeys(fact_ids)))}
    sources = {fact_id: from_json(held) for fact_id, held in all_rows(connection, "attachments.sources", asked)}
    every = dict.fromkeys([*fact_ids, *(source for held in sources.values() for source in held)])
    wanted = {"bank_id": bank_id, "fact_ids": to_json(list(every))}
    found = _grouped(all_rows(connection, "attachments.of_facts", wanted))
    for fact_id, held in sources.items():
        below = {one.attachment_id: one for source in held for one in found.get(source, ())}
        if below:
            found[fact_id] = tuple(below.values())
    return {fact_id: found[fact_id] for fact_id in fact_ids if fact_id in found}


def write_attachments(
    connection: apsw.Connection, bank_id: str, documents: Sequence[DocumentWrite], *, begin: bool = True
) -> None:
    """Keep the attachments of documents, and which facts were drawn from them. Comes behind documents and facts.

    Raises Conflict when two attachments that differ share an id.

    Args:
        begin: False when the documents are not replaced, whatever their modes say. One that begins anew loses the
            attachments that it does not hold any more.
    """
    kept: defaultdict[str, list[Attachment]] = defaultdict(list)
    for document in documents:
        kept[document.document_id] += document.attachments
    for document_id, attachments in kept.items():
        if attachments:
            hold(connection, bank_id, document_id, attachments)
    if begin:
        replaced = {document.document_id for document in documents if document.mode is UpdateMode.REPLACE}
        # By far the most have none: a statement without a list takes a third of the time.
        connection.executemany(sql("attachments.drop_all"), [(bank_id, one) for one in replaced if not kept[one]])
        rows = [
            {"bank_id": bank_id, "document_id": one, "kept": to_json([held.attachment_id for held in kept[one]])}
            for one in replaced
            if kept[one]
        ]
        connection.executemany(sql("attachments.drop_others"), rows)
    for document in documents:
        for fact in document.facts:
            if fact.extracted.attachments:
                draw(connection, bank_id, fact.fact_id, fact.extracted.attachments)


def hold(connection: apsw.Connection, bank_id: str, document_id: str, attachments: Iterable[Attachment]) -> None:
    """Let a document, which is there, hold attachments."""
    for one in attachments:
        row = one_row(connection, "attachments.digest", (bank_id, one.attachment_id))
        if row is None:
            values = (bank_id, one.attachment_id, one.digest, one.byte_size)
            connection.execute(sql("attachments.insert"), values)
        elif row[0] != one.digest:
            raise Conflict(f"Attachment '{one.attachment_id}' is another one in this bank already.")
        key = {"bank_id": bank_id, "document_id": document_id, "attachment_id": one.attachment_id}
        place = one_row(connection, "attachments.next_place", key)
        assert place is not None
        declared = (one.kind, one.media_type, one.filename)
        connection.execute(sql("attachments.hold"), (bank_id, document_id, one.attachment_id, *place, *declared))


def restore_attachments(
    connection: apsw.Connection, bank_id: str, document_id: str, sources: Iterable[Mapping[str, Any]]
) -> None:
    """Keep the attachments of an imported document, as its parts name them."""
    for source in sources:
        hold(connection, bank_id, document_id, domain.from_json(source.get("attachments", ())))


def drawn_in(connection: apsw.Connection, bank_id: str) -> dict[str, tuple[str, ...]]:
    """The ids of the attachments that each fact of a bank was drawn from, where there are any."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for fact_id, attachment_id in connection.execute(sql("attachments.drawn"), (bank_id,)):
        found[fact_id].append(attachment_id)
    return {fact_id: tuple(held) for fact_id, held in found.items()}


def draw(connection: apsw.Connection, bank_id: str, fact_id: str, attachment_ids: Iterable[str]) -> None:
    """Note which attachments a fact, which is there, was drawn from."""
    rows = [
        {"bank_id": bank_id, "fact_id": fact_id, "attachment_id": one, "position": position}
        for position, one in enumerate(attachment_ids)
    ]
    connection.executemany(sql("attachments.draw"), rows)


def forget_drawn(connection: apsw.Connection, bank_id: str, document_id: str, seqs: Iterable[int]) -> None:
    """Take from a document what facts that are about to be forgotten were drawn from: it still shows them."""
    values = {"bank_id": bank_id, "document_id": document_id, "seqs": to_json(sorted(seqs))}
    dropped = column(connection, "attachments.forget_drawn", values)
    if dropped:
        connection.execute(sql("attachments.forget_in_sources"), values | {"dropped": to_json(dropped)})


def waited_text(document: DocumentWrite) -> str:
    """The text under which a part waits for its job."""
    return document.text if document.waited_text is None else document.waited_text


def rewrite_text(session: BankSession, document: DocumentWrite, part: int) -> None:
    """Give a part the text with what a job read from its attachments, when that is another one."""
    if waited_text(document) == document.text:
        return
    connection, key = session.connection, (session.bank_id, document.document_id)
    connection.execute(sql("forgetting.set_part"), (document.text, *key, part))
    left = {one.attachment_id for one in document.attachments}
    dropped = [(*key, one) for one in ids_in(waited_text(document)) if one not in left]
    if dropped:
        connection.executemany(sql("attachments.drop"), dropped)
        connection.execute(sql("attachments.set_source"), (to_json(dict(document.source)), *key, part))
    texts = [text for _, text, _ in all_rows(connection, "forgetting.parts", key)]
    digest = document.content_hash if len(texts) == 1 else content_hash("\0".join(texts))
    connection.execute(sql("forgetting.changed_document"), (digest, sum(map(len, texts)), session.now, *key))


def _run(connection: apsw.Connection, statement: str, values: tuple[str, str]) -> None:
    connection.execute(sql(statement), values)


def _grouped(rows: Iterable[tuple[Any, ...]]) -> _Found:
    found: defaultdict[str, list[Attachment]] = defaultdict(list)
    for owner, *row in rows:
        found[owner].append(_attachment(row))
    return {owner: tuple(held) for owner, held in found.items()}


def _attachment(row: Sequence[Any]) -> Attachment:
    return domain.from_json([row])[0]
