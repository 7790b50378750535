"""`hindsight bank`: banks as archives, copies of them, and what their memory defence decided."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated
from urllib.parse import quote, urlencode

import typer

from hindsight_server.cli.archives import export, finished, show_result
from hindsight_server.cli.state import State, give_up

app = typer.Typer(help="Export, import, copy and watch banks.", no_args_is_help=True, rich_markup_mode=None)


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


@app.command("export")
def export_bank(context: typer.Context, bank: Bank, file: File, data: Data = True, settings: Settings = True) -> None:
    """Write a bank into an archive."""
    query = urlencode({"include_data": data, "include_bank_config": settings})
    export(context.obj, bank, f"transfer/export?{query}", file)


@app.command("import")
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
    show_result(context.obj, finished(context.obj, bank, f"transfer/import?{query}", content))


@app.command("clone")
def clone(
    context: typer.Context,
    bank: Bank,
    target: Annotated[str, typer.Argument(metavar="NEW_BANK", help="The bank to make.")],
    data: Data = True,
    settings: Settings = True,
) -> None:
    """Copy a bank into a new one."""
    query = urlencode({"target_bank_id": target, "include_data": data, "include_bank_config": settings})
    show_result(context.obj, finished(context.obj, bank, f"clone?{query}"))


@app.command("security-events")
def security_events(
    context: typer.Context,
    bank: Bank,
    limit: Annotated[int, typer.Option(min=0, help="How many at most.")] = 20,
) -> None:
    """List what memory defence decided, the newest first."""
    from hindsight_server.cli.api import Api, ApiError
    from hindsight_server.cli.output import show

    state: State = context.obj
    try:
        told = Api(state).get(f"/v1/default/banks/{quote(bank, safe='')}/security-events?limit={limit}")
    except ApiError as error:
        give_up(str(error), code=error.code)
    columns = ("created_at", "action", "detector", "severity", "document_id", "message")
    show(state, told, rows=[{name: event[name] for name in columns} for event in told["items"]])
