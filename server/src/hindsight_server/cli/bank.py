"""`hindsight bank`: which there are, what they hold, their archives and copies, and their memory defence."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from shlex import quote as quoted
from typing import Annotated, Any
from urllib.parse import urlencode

import typer

from hindsight_server.cli.archives import export, finished, show_result
from hindsight_server.cli.state import State, give_up, say
from hindsight_server.cli.verbs import BANKS, Bank, bank_path, call, send, show

app = typer.Typer(
    help="List, watch, copy, export, import and delete banks.", no_args_is_help=True, rich_markup_mode=None
)


class Mode(StrEnum):
    RESTORE = "restore"
    MERGE = "merge"


class Conflict(StrEnum):
    SKIP = "skip"
    REPLACE = "replace"
    NEW_ID = "new-id"


File = Annotated[Path, typer.Argument(metavar="FILE", help="The archive.")]
Data = Annotated[bool, typer.Option("--data/--no-data", help="Documents and memories.")]
Settings = Annotated[bool, typer.Option("--settings/--no-settings", help="The bank's own settings.")]


@app.command("list")
def list_banks(
    context: typer.Context,
    query: Annotated[str | None, typer.Option(help="Only banks whose id or name holds this.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many at most.")] = 100,
) -> None:
    """List banks, the most recently written first."""
    wanted = urlencode({"q": query or "", "limit": limit})
    listed = call(context.obj, "GET", f"{BANKS}?{wanted}")
    columns = ("bank_id", "name", "fact_count", "created_at", "last_write_at")
    show(context.obj, listed, [{name: bank[name] for name in columns} for bank in listed["banks"]])
    if len(listed["banks"]) < listed["total"]:
        say(f"Note: there are {listed['total']}; `--limit {listed['total']}` shows all of them.")


@app.command()
def stats(context: typer.Context, bank: Bank) -> None:
    """Count what a bank holds and what is still to be done for it."""
    counted = _stats(context.obj, bank)
    row = {"documents": counted["total_documents"], "memories": counted["total_nodes"]}
    row |= {name: counted["nodes_by_fact_type"].get(name, 0) for name in ("world", "experience", "observation")}
    jobs = ("pending_operations", "failed_operations")
    waiting = ("pending_consolidation", "failed_consolidation")
    row |= {name: counted[name] for name in (*jobs, *waiting, "last_memory_write_at")}
    width = max(map(len, row))
    text = "\n".join(f"{name.ljust(width)}  {'never' if value is None else value}" for name, value in row.items())
    show(context.obj, counted, [row], text=text)
    if counted["pending_operations"] or counted["failed_operations"]:
        say(f"Note: `hindsight operation list {quoted(bank)}` tells which operations wait or failed, and why.")
    if counted["failed_consolidation"]:
        say(f"Note: `hindsight observation recover {quoted(bank)}` lets memories that failed wait for it again.")


@app.command()
def delete(
    context: typer.Context,
    bank: Bank,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without, only tell what would be lost.")] = False,
) -> None:
    """Delete a bank with everything in it, for good."""
    if not yes:
        held = _stats(context.obj, bank)
        give_up(
            f"Nothing is deleted yet. With {bank!r} its documents ({held['total_documents']}) and memories "
            f"({held['total_nodes']}) would be lost for good.\n"
            f"Say `hindsight bank delete {quoted(bank)} --yes` to delete them; `hindsight bank export` keeps a copy.",
            code=2,
        )
    done = call(context.obj, "DELETE", bank_path(bank))
    show(context.obj, done, [{name: done[name] for name in ("deleted_count", "message")}])


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
    told = send(context.obj, bank, "GET", f"security-events?limit={limit}")
    columns = ("created_at", "action", "detector", "severity", "document_id", "message")
    show(context.obj, told, [{name: event[name] for name in columns} for event in told["items"]])


def _stats(state: State, bank: str) -> Any:
    return send(state, bank, "GET", "stats")
