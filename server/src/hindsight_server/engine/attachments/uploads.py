"""Documents that come as files: kept at once, read and retained by a job each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from mimetypes import MimeTypes
from pathlib import PurePath
from typing import Any

from hindsight_server.domain.attachments import MEDIA_TYPE, from_json, to_json
from hindsight_server.domain.errors import BadRequest, InvalidInput, NotFound
from hindsight_server.domain.identity import made_document_id
from hindsight_server.domain.ids import new_id
from hindsight_server.domain.pictures import false_bytes, picture_type
from hindsight_server.engine.attachments.attaching import Attaching
from hindsight_server.engine.attachments.blocks import describe, plain_filename
from hindsight_server.engine.attachments.reader import is_picture
from hindsight_server.engine.language import CallAbout
from hindsight_server.engine.retain.items import check_bank_id, check_items
from hindsight_server.engine.retain.retainer import Retainer
from hindsight_server.engine.retain.types import ItemInput, RetainLimits
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.records import Operation
from hindsight_server.ports.store import Store

FILE_RETAIN = "file_convert_retain"  # the type of operations and jobs
PARSERS = ("builtin", "markitdown")
"""Names of the one parser that there is; the second is what upstream's clients know its default by."""
_ANY = "application/octet-stream"
_OFFICE = "application/vnd.openxmlformats-officedocument."
_TYPES = {
    ".docx": f"{_OFFICE}wordprocessingml.document",
    ".pptx": f"{_OFFICE}presentationml.presentation",
    ".xlsx": f"{_OFFICE}spreadsheetml.sheet",
    ".md": "text/markdown",
    **dict.fromkeys((".jpg", ".jpeg"), "image/jpeg"),
    **dict.fromkeys((".tif", ".tiff"), "image/tiff"),
    **{f".{kind}": f"image/{kind}" for kind in ("png", "gif", "webp", "bmp", "heic", "avif")},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadLimits:
    """What one request may bring, and what becomes of files.

    Args:
        files: number of files.
        total_bytes: all of them together.
        delete_after_retain: False keeps a file as an attachment of its document.
        enabled: whether files are taken at all.
    """

    files: int = 10
    total_bytes: int = 100 << 20
    delete_after_retain: bool = True
    enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadedFile:
    """A file as it came, and what the caller says of it (fields of `ItemInput`, and ``parser``)."""

    filename: str
    media_type: str
    data: bytes = field(repr=False)
    about: Mapping[str, Any] = field(default_factory=dict)


class Uploads:
    """Use cases on files.

    Args:
        on_job: called after a job was added, so that a worker looks at once.
    """

    def __init__(
        self,
        store: Store,
        attaching: Attaching,
        retainer: Retainer,
        clock: Clock,
        *,
        limits: UploadLimits | None = None,
        on_job: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._keeper = attaching.keeper
        self._reader = attaching.reader
        self._retainer = retainer
        self._clock = clock
        self.limits = limits or UploadLimits()
        self._on_job = on_job

    async def submit(self, bank_id: str, files: Sequence[UploadedFile]) -> list[str]:
        """Add a job for each file, in their order; the operations' ids. The bank is made when it is not there.

        Raises:
            InvalidInput: a file or what is said of it can't be used; then no job was added.
            BadRequest: a parser that there is not, or a document id that is given twice.
        """
        check_bank_id(bank_id)
        self._check_sizes(files)
        jobs = [self._job(bank_id, file, f"files_metadata[{index}]") for index, file in enumerate(files)]
        named = [file.about["document_id"] for file in files if file.about.get("document_id")]
        twice = next((one for one in named if named.count(one) > 1), None)
        if twice is not None:
            raise BadRequest(f"document_id '{twice}' is given to two files; each file is a document of its own.")
        uploads = [(job.payload["blob"], file.data) for job, file in zip(jobs, files, strict=True) if job.payload]
        async with self._keeper.keeping(bank_id, uploads):
            await self._store.ensure_bank(bank_id, self._clock.now())
            for job in jobs:
                await self._store.add_operation(job)
        self._on_job()
        return [job.operation_id for job in jobs]

    async def run_job(self, job: Operation) -> Mapping[str, Any]:
        """Read and retain the file of a job. Doing it twice equals doing it once: its document is replaced."""
        payload = job.payload or {}
        (attachment,) = from_json([payload["attachment"]])
        if not attachment.byte_size:
            raise InvalidInput(f"File '{attachment.filename}' can't be read: it is empty.")
        data = await self._keeper.read(job.bank_id, attachment.digest)
        wrong = false_bytes(attachment.media_type, data) if is_picture(attachment) else None
        if wrong is not None:
            raise InvalidInput(f"File '{attachment.filename}' can't be read: it is {wrong}.")
        await self._tell(job, "reading")
        about = CallAbout(bank_id=job.bank_id, purpose="vision", operation_id=job.operation_id)
        read = await self._reader.read(attachment, data, about, ("", ""))
        if not read.text.strip():
            raise InvalidInput(f"File '{attachment.filename}' can't be read: nothing can be read in it.")
        await self._tell(job, "retaining")
        if await self._store.get_operation(job.bank_id, job.operation_id) is None:
            raise NotFound(f"Operation '{job.operation_id}' is gone; nothing was retained.")
        kept = () if self.limits.delete_after_retain else (attachment,)
        outcome = await self._retainer.retain(
            job.bank_id, [ItemInput(content=read.text, attachments=kept, **payload["item"])]
        )
        if not kept:
            self._keeper.give_up(job.bank_id, attachment.digest)
        spent = about.spent.usage
        return {
            "document_ids": list(outcome.document_ids),
            "filename": attachment.filename,
            "fact_count": outcome.fact_count,
            "no_fact_documents": outcome.no_fact_documents,
            "input_tokens": spent.input_tokens + outcome.input_tokens,
            "output_tokens": spent.output_tokens + outcome.output_tokens,
            **({"warnings": list(read.warnings)} if read.warnings else {}),
        }

    def _check_sizes(self, files: Sequence[UploadedFile]) -> None:
        limits = self.limits
        if not files:
            raise InvalidInput("No file came; send at least one as the field 'files' of the form.", field="files")
        if len(files) > limits.files:
            raise InvalidInput(f"{len(files)} files came; at most {limits.files} fit one request.", field="files")
        if sum(len(file.data) for file in files) > limits.total_bytes:
            raise InvalidInput(
                f"The files are larger than {limits.total_bytes} bytes together. Send them in several requests.",
                field="files",
            )

    def _job(self, bank_id: str, file: UploadedFile, path: str) -> Operation:
        filename = plain_filename(file.filename) or "file"
        attachment = describe(file.data, kind="file", media_type=_media_type(file), filename=filename)
        reason = self._reader.refusal(attachment)
        if reason is not None:
            raise InvalidInput(f"File '{filename}' can't be read: {reason}.", field="files")
        now, operation_id = self._clock.now(), new_id()
        item = _item(file.about, path)
        item.setdefault("timestamp", now.isoformat())
        item["metadata"] = {"filename": filename, **(item.get("metadata") or {})}
        if not item.get("document_id"):
            item["document_id"] = made_document_id(bank_id=bank_id, operation_id=operation_id, item_index=0)
        try:
            check_items([ItemInput(content="x", **item)], (), lambda _: "x", now, RetainLimits())
        except InvalidInput as error:
            told = str(error).replace("items[0]", path)
            raise type(error)(told, field=(error.field or "").replace("items[0]", path)) from None
        return Operation(
            bank_id=bank_id,
            operation_id=operation_id,
            type=FILE_RETAIN,
            status="pending",
            payload={"blob": attachment.digest, "attachment": to_json([attachment])[0], "item": item},
            result={"document_ids": [item["document_id"]], "filename": filename},
            items_count=1,
            created_at=now,
            updated_at=now,
        )

    async def _tell(self, job: Operation, stage: str) -> None:
        now = self._clock.now()
        progress = {"stage": stage, "at": now.isoformat(), "processed": 0, "total": 1}
        await self._store.note_progress(job, progress, now)


def _item(about: Mapping[str, Any], path: str) -> dict[str, Any]:
    given = {name: value for name, value in about.items() if value is not None}
    parsers = given.pop("parser", PARSERS[0])
    for parser in [parsers] if isinstance(parsers, str) else list(parsers):
        if parser not in PARSERS:
            raise BadRequest(f"{path}.parser: there is no parser {parser!r}; leave it out, or give 'builtin'.")
    return given


def _media_type(file: UploadedFile) -> str:
    """By the name where clients send no type, or one for any bytes; a picture's by its bytes."""
    plain = file.media_type.partition(";")[0].strip().lower()
    known = _TYPES.get(PurePath(file.filename).suffix.lower())
    if known is not None and known.startswith("image/") and not plain.startswith("image/"):
        plain = known
    elif plain == _ANY or not MEDIA_TYPE.fullmatch(plain):
        plain = known or _guessed(file.filename)
    return (picture_type(file.data) or plain) if plain.startswith("image/") else plain


def _guessed(filename: str) -> str:
    kind, packed = _types_by_name().guess_type(filename)
    if kind is None or packed or kind.startswith(("audio/", "video/")):
        return _ANY
    return kind


@cache
def _types_by_name() -> MimeTypes:
    """Python's own table, without what else the machine knows."""
    return MimeTypes(filenames=())
