"""Attachments and uploads over HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from hindsight_server.domain.attachments import Attachment
from hindsight_server.domain.errors import InvalidInput, NotFound
from hindsight_server.engine.attachments.uploads import PARSERS, UploadedFile
from hindsight_server.http.ignored import note_ignored, unknown_fields
from hindsight_server.http.parsing import BankId, loads, validate
from hindsight_server.http.routes import Handler, answer
from hindsight_server.http.services import Services, services
from hindsight_server.http.wire import requests as wire
from hindsight_server.http.wire.responses import files as shapes
from hindsight_server.http.wire.responses import shared
from hindsight_server.ports.records import Chunk


class FileMetadata(BaseModel):
    """What is said of one file; the fields are those of an item. `parser` is tried in its order when it is a list."""

    model_config = ConfigDict(extra="forbid")

    context: str | None = None
    document_id: str | None = None
    tags: list[str] | None = None
    metadata: dict[str, str] | None = None
    timestamp: str | None = None
    strategy: str | None = None
    observation_scopes: str | list[list[str]] | None = None
    entities: list[wire.EntityInput] | None = None
    resolve_entities: bool = True
    parser: str | list[str] | None = None


class FileRetainRequest(BaseModel):
    """What comes beside the files, as JSON in the form's field ``request``.

    Args:
        files_metadata: one for each file, in their order, or none at all.
        parser: for files that name none themselves.
        document_tags: tags of every file.
    """

    files_metadata: list[FileMetadata | None] | None = None
    parser: str | list[str] | None = None
    document_tags: list[str] | None = None


async def retain_files(request: Request, bank_id: BankId) -> Response:
    served = services(request)
    if not served.uploads.limits.enabled:
        raise NotFound("The upload of files is switched off on this server (HINDSIGHT_API_ENABLE_FILE_UPLOAD_API).")
    files, about = await _form(request, served.uploads.limits.files)
    operation_ids = await served.uploads.submit(bank_id, _described(files, about))
    told: shapes.FileRetainResponse = {"operation_ids": operation_ids}
    return answer(told)


async def get_attachment(request: Request, bank_id: BankId, attachment_id: str) -> Response:
    attachment, data = await services(request).attached.open(bank_id, attachment_id)
    name = attachment.filename or attachment.attachment_id
    # A page that somebody retained must not run in the name of this server.
    headers = {
        "content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        "x-content-type-options": "nosniff",
        "content-security-policy": "default-src 'none'; sandbox",
        "cache-control": "private, no-store",
        "content-type": attachment.media_type,
    }
    return Response(data, headers=headers)


async def show_on_facts(served: Services, bank_id: str, shown: Iterable[MutableMapping[str, Any]]) -> None:
    """Tell of facts on the wire which attachments they were drawn from."""
    listed = {fact["id"]: fact for fact in shown}
    for fact_id, found in (await served.attached.of_facts(bank_id, list(listed))).items():
        listed[fact_id]["attachments"] = attachments_answer(bank_id, found)


async def show_on_chunks(
    served: Services, bank_id: str, chunks: Sequence[Chunk], shown: Mapping[str, MutableMapping[str, Any]]
) -> None:
    """Tell of chunks on the wire, by their ids, which attachments their texts hold."""
    for chunk_id, found in (await served.attached.of_chunks(bank_id, chunks)).items():
        shown[chunk_id]["attachments"] = attachments_answer(bank_id, found)


async def show_on_document(served: Services, bank_id: str, document_id: str, shown: MutableMapping[str, Any]) -> None:
    """Tell of a document on the wire which attachments it holds."""
    found = await served.attached.of_document(bank_id, document_id)
    if found:
        shown["attachments"] = attachments_answer(bank_id, found)


def attachments_answer(bank_id: str, attachments: Sequence[Attachment]) -> list[shared.ChunkAttachment]:
    """Attachments on the wire, with where their bytes are fetched."""
    return [
        {
            "id": one.attachment_id,
            "hash": one.digest,
            "kind": one.kind,
            "media_type": one.media_type,
            "byte_size": one.byte_size,
            "filename": one.filename,
            "url": f"/v1/default/banks/{quote(bank_id, safe='')}/attachments/{one.attachment_id}",
        }
        for one in attachments
    ]


async def _form(request: Request, most: int) -> tuple[list[UploadedFile], FileRetainRequest]:
    """The files of the form and what is said of them. Raises InvalidInput."""
    try:
        async with request.form(max_files=most + 1, max_fields=20, max_part_size=4 << 20) as form:
            files = [
                UploadedFile(filename=part.filename or "", media_type=part.content_type or "", data=await part.read())
                for part in form.getlist("files")
                if isinstance(part, UploadFile)
            ]
            said = form.get("request")
            text = (await said.read()).decode() if isinstance(said, UploadFile) else said or "{}"
    except HTTPException as error:
        raise InvalidInput(f"The form can't be read: {error.detail}", field="files") from None
    except UnicodeDecodeError:
        raise InvalidInput("request must be JSON in UTF-8.", field="request") from None
    value = loads(text.encode())
    note_ignored(request.scope, unknown_fields(FileRetainRequest, value))
    return files, validate(FileRetainRequest, value)


def _described(files: Sequence[UploadedFile], about: FileRetainRequest) -> list[UploadedFile]:
    metadata = about.files_metadata or [None] * len(files)
    if len(metadata) != len(files):
        raise InvalidInput(
            f"files_metadata has {len(metadata)} entries for {len(files)} files; give one for each, or none at all.",
            field="files_metadata",
        )
    described = []
    for file, given in zip(files, metadata, strict=True):
        said = (given or FileMetadata()).model_dump(exclude_none=True)
        said.setdefault("parser", about.parser or PARSERS[0])
        if about.document_tags:
            said["tags"] = [*said.get("tags", ()), *about.document_tags]
        described.append(replace(file, about=said))
    return described


HANDLERS = {
    "file_retain": Handler(retain_files, shapes.FileRetainResponse),
    "get_bank_attachment": Handler(get_attachment),
}
