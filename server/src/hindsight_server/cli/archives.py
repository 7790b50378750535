"""`hindsight bank ...` and `hindsight document ...`: archives from the command line."""

from __future__ import annotations

import shutil
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote, urlencode

import typer

from hindsight_server.cli.state import State, give_up, say

if TYPE_CHECKING:
    from hindsight_server.cli.api import Api

bank_app = typer.Typer(help="Export, import and copy banks.", no_args_is_help=True, rich_markup_mode=None)
document_app = typer.Typer(help="Export documents.", no_args_is_help=True, rich_markup_mode=None)

_POLL_SECONDS = 0.2


class Mode(StrEnum):
    RESTORE = "restore"
    MERGE = "merge"


class Conflict(StrEnum):
    SKIP = "skip"
    REPLACE = "replace"
    NEW_ID = "new-id"


Bank = Annotated[str, typer.Argument(metavar="BANK", help="The memory bank.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="The archive.")]
Data = Annotated[bool, typer.Option("--data/--no-data", help="Documents and memories.")]
Settings = Annotated[bool, typer.Option("--settings/--no-settings", help="The bank's own settings.")]
Documents = Annotated[list[str] | None, typer.Option("--document", help="Only this document; may be repeated.")]


@bank_app.command("export")
def export_bank(context: typer.Context, bank: Bank, file: File, data: Data = True, settings: Settings = True) -> None:
    """Write a bank into an archive."""
    query = urlencode({"include_data": data, "include_bank_config": settings})
    _export(context.obj, bank, f"transfer/export?{query}", file)


@document_app.command("export")
def export_documents(context: typer.Context, bank: Bank, file: File, documents: Documents = None) -> None:
    """Write documents, with their memories, into an archive."""
    query = urlencode([("document_id", one) for one in documents or ()])
    _export(context.obj, bank, f"document-transfer/export?{query}", file)


@bank_app.command("import")
def import_bank(  # noqa: PLR0913 -- its parameters are the options
    context: typer.Context,
    bank: Bank,
    file: File,
    mode: Annotated[Mode, typer.Option(help="restore into an empty bank, or merge into this one.")] = Mode.RESTORE,
    on_conflict: Annotated[Conflict, typer.Option(help="A merge's documents whose id is taken.")] = Conflict.SKIP,
    data: Data = True,
    settings: Settings = True,
) -> None:
    """Take an archive into a bank."""
    try:
        content = file.read_bytes()
    except OSError as error:
        give_up(f"{file} can't be read: {error.strerror}", code=2)
    query = urlencode(
        {
            "mode": mode.value,
            "target_bank_id": bank,
            "document_conflict": on_conflict.value,
            "include_data": data,
            "include_bank_config": settings,
        }
    )
    _show(context.obj, _finished(context.obj, bank, f"transfer/import?{query}", content))


@bank_app.command("clone")
def clone(
    context: typer.Context,
    bank: Bank,
    target: Annotated[str, typer.Argument(metavar="NEW_BANK", help="The bank to make.")],
    data: Data = True,
    settings: Settings = True,
) -> None:
    """Copy a bank into a new one."""
    query = urlencode({"target_bank_id": target, "include_data": data, "include_bank_config": settings})
    _show(context.obj, _finished(context.obj, bank, f"clone?{query}"))


def _export(state: State, bank: str, path: str, file: Path) -> None:
    from hindsight_server.cli.api import Api, ApiError

    result = _finished(state, bank, path)
    try:
        with Api(state).open(result["download_url"]) as source, file.open("wb") as target:
            shutil.copyfileobj(source, target)
    except ApiError as error:
        give_up(str(error), code=error.code)
    except OSError as error:
        give_up(f"{file} can't be written: {error.strerror}", code=2)
    row = {name: result[name] for name in ("documents_exported", "facts_exported", "byte_size")}
    _show(state, {"file": str(file), **row})


def _finished(state: State, bank: str, path: str, upload: bytes | None = None) -> dict[str, Any]:
    """Submit a job and wait for it; its result. Ends the command when it fails."""
    from hindsight_server.cli.api import Api, ApiError

    api, below = Api(state), f"/v1/default/banks/{quote(bank, safe='')}/"
    try:
        submitted = api.send("POST", below + path) if upload is None else api.upload(below + path, upload)
        return _wait(api, f"{below}operations/{submitted['operation_id']}")
    except ApiError as error:
        give_up(str(error), code=error.code)


def _wait(api: Api, path: str) -> dict[str, Any]:
    told = ""
    while True:
        status = api.get(path)
        if status["status"] == "completed":
            result: dict[str, Any] = status["result_metadata"] or {}
            return result
        if status["status"] not in ("pending", "processing"):
            give_up(f"It {status['status']}: {status.get('error_message') or 'no reason was given'}", code=1)
        if status["status"] != told:
            told = status["status"]
            say(told)
        time.sleep(_POLL_SECONDS)


def _show(state: State, result: dict[str, Any]) -> None:
    from hindsight_server.cli.output import show

    show(state, result, rows=[result])
