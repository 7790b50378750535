"""Archives and templates over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any, BinaryIO
from urllib.parse import quote

from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.engine.transfer.templates import manifest_schema
from hindsight_server.engine.transfer.types import ExportInput, ImportInput
from hindsight_server.http.parsing import BankId, Body
from hindsight_server.http.routes import Handler, answer
from hindsight_server.http.services import services
from hindsight_server.ports.records import Operation

Ids = Annotated[list[str] | None, Query()]
_PIECE = 1 << 16


class TemplateBody(BaseModel):
    """A manifest; what it may hold is checked where it is applied."""

    version: Any = None
    bank: Any = None
    mental_models: Any = None
    directives: Any = None


async def export_documents(
    request: Request,
    bank_id: BankId,
    document_id: Ids = None,
    include_observations: bool = False,
    include_knowledge_base: bool = False,
) -> Response:
    await _without_body(request)
    wanted = ExportInput(
        document_ids=_ids(document_id),
        include_config=False,
        include_observations=include_observations,
        include_pages=include_knowledge_base,
    )
    return _submitted(await services(request).transfers.export(bank_id, wanted))


async def import_documents(request: Request, bank_id: BankId, on_conflict: str = "skip") -> Response:
    wanted = ImportInput(mode="merge", conflict=on_conflict, include_config=False)
    return _submitted(await services(request).transfers.import_archive(bank_id, await _upload(request), wanted))


async def export_bank(
    request: Request,
    bank_id: BankId,
    include_data: bool = True,
    include_bank_config: bool = True,
    include_history: bool = False,
    document_id: Ids = None,
) -> Response:
    ids = _ids(document_id)
    wanted = ExportInput(
        document_ids=ids,
        include_data=include_data,
        include_config=include_bank_config,
        include_pages=include_data and ids is None,
    )
    return _submitted(await services(request).transfers.export(bank_id, wanted))


class ImportQuery(BaseModel):
    """How an archive is taken in. There is no history to take over in this version."""

    mode: str = "restore"
    target_bank_id: str | None = None
    document_conflict: str = "skip"
    include_data: bool | None = None
    include_bank_config: bool | None = None
    include_history: bool | None = None


async def import_bank(request: Request, bank_id: BankId, query: Annotated[ImportQuery, Query()]) -> Response:
    wanted = ImportInput(
        mode=query.mode,
        target_bank_id=query.target_bank_id or None,
        conflict=query.document_conflict,
        include_data=query.include_data is not False,
        include_config=query.include_bank_config is not False,
    )
    return _submitted(await services(request).transfers.import_archive(bank_id, await _upload(request), wanted))


async def clone_bank(
    request: Request,
    bank_id: BankId,
    target_bank_id: str,
    include_data: bool = True,
    include_bank_config: bool = True,
    include_history: bool = False,
) -> Response:
    wanted = ExportInput(include_data=include_data, include_config=include_bank_config, include_pages=include_data)
    return _submitted(await services(request).transfers.clone(bank_id, target_bank_id, wanted))


async def download_file(request: Request, key: str) -> Response:
    file, size = await services(request).transfers.open_export(key)
    name = f"export-{key[-8:]}.zip"
    headers = {
        "content-length": str(size),
        "content-disposition": f"attachment; filename*=UTF-8''{quote(name)}",
        "cache-control": "no-store",
    }
    return StreamingResponse(_pieces(file), media_type="application/zip", headers=headers)


async def export_template(request: Request, bank_id: BankId) -> Response:
    return answer(await services(request).templates.export(bank_id))


async def import_template(
    request: Request, bank_id: BankId, body: Annotated[TemplateBody, Body(TemplateBody)], dry_run: bool = False
) -> Response:
    done = await services(request).templates.apply(bank_id, body.model_dump(), dry_run=dry_run)
    return answer(asdict(done))


async def template_schema(request: Request) -> Response:
    return answer(manifest_schema())


async def _without_body(request: Request) -> None:
    """Raises InvalidInput for a body: whoever writes ids there would get all documents."""
    if (await request.body()).strip() not in (b"", b"{}", b"null"):
        raise InvalidInput(
            "This call takes no body. Name documents by the query parameter document_id, given once for each.",
            field="document_id",
        )


async def _upload(request: Request) -> bytes:
    """The bytes of the form's field `file`. Raises InvalidInput."""
    try:
        async with request.form(max_files=1, max_fields=20) as form:
            file = form.get("file")
            if isinstance(file, UploadFile):
                return await file.read()
    except HTTPException as error:
        raise InvalidInput(f"The form can't be read: {error.detail}", field="file") from None
    raise InvalidInput("Send the archive as the field 'file' of a multipart form.", field="file")


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while piece := file.read(_PIECE):
            yield piece


def _ids(given: list[str] | None) -> tuple[str, ...] | None:
    return tuple(dict.fromkeys(given)) if given else None


def _submitted(operation: Operation) -> Response:
    return answer({"operation_id": operation.operation_id, "status": operation.status}, 202)


HANDLERS = {
    "export_documents": Handler(export_documents),
    "import_documents": Handler(import_documents),
    "export_bank_transfer": Handler(export_bank),
    "import_bank_transfer": Handler(import_bank),
    "clone_bank": Handler(clone_bank),
    "download_file": Handler(download_file),
    "export_bank_template": Handler(export_template),
    "import_bank_template": Handler(import_template, body=TemplateBody),
    "get_bank_template_schema": Handler(template_schema),
}
