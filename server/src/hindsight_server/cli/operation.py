"""`hindsight operation`: work that a bank was asked for, what became of it, and doing it again."""

from __future__ import annotations

from enum import StrEnum
from shlex import quote as quoted
from typing import Annotated, Any
from urllib.parse import quote, urlencode

import typer

from hindsight_server.cli.state import give_up, say
from hindsight_server.cli.verbs import Bank, send, show

app = typer.Typer(help="See jobs, and have them done again.", no_args_is_help=True, rich_markup_mode=None)

OperationId = Annotated[str, typer.Argument(metavar="OPERATION", help="Its id.")]
_COLUMNS = ("operation_id", "operation_type", "status", "retry_count", "next_retry_at", "created_at", "error_message")
_AGAIN = ("failed", "cancelled")


class Status(StrEnum):
    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


@app.command("list")
def list_operations(
    context: typer.Context,
    bank: Bank,
    status: Annotated[Status | None, typer.Option(help="Only those that are so.")] = None,
    operation_type: Annotated[str | None, typer.Option("--type", help="Only those of a type, like retain.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many at most.")] = 20,
    offset: Annotated[int, typer.Option(min=0, help="How many of the newest to leave out.")] = 0,
) -> None:
    """List operations, the newest first."""
    given = {"status": status.value if status else None, "type": operation_type, "limit": limit, "offset": offset}
    query = urlencode({name: value for name, value in given.items() if value is not None})
    listed = send(context.obj, bank, "GET", f"operations?{query}")
    rows = listed["operations"]
    show(context.obj, listed, [{name: one[name] for name in _COLUMNS} for one in rows])
    if offset + len(rows) < listed["total"]:
        say(f"Note: there are {listed['total']}; `--offset {offset + len(rows)}` shows the next ones.")


@app.command("show")
def show_operation(context: typer.Context, bank: Bank, operation: OperationId) -> None:
    """Show what became of an operation."""
    found = send(context.obj, bank, "GET", _path(operation))
    if found["status"] == "not_found":
        give_up(
            f"Operation '{operation}' not found. `hindsight operation list {quoted(bank)}` shows those of the bank.",
            code=1,
        )
    row = {name: found[name] for name in _COLUMNS[:-1]} | {"completed_at": found["completed_at"]}
    told = (found["progress"] or {}) | (found["result_metadata"] or {})
    row |= {name: value for name, value in told.items() if name not in row}
    row["error_message"] = found["error_message"]
    show(context.obj, found, [row], text=_lines(row))
    if found["status"] in _AGAIN or (found["status"] == "pending" and found["next_retry_at"]):
        say(f"Note: `hindsight operation retry {quoted(bank)} {quoted(operation)}` has it done now.")


@app.command()
def retry(context: typer.Context, bank: Bank, operation: OperationId) -> None:
    """Have an operation that failed, was cancelled or waits for its next try done now."""
    done = send(context.obj, bank, "POST", f"{_path(operation)}/retry")
    show(context.obj, done, [{name: done[name] for name in ("operation_id", "message")}])


@app.command()
def cancel(context: typer.Context, bank: Bank, operation: OperationId) -> None:
    """Stop an operation that waits or is being done; what it stored already stays."""
    done = send(context.obj, bank, "DELETE", _path(operation))
    show(context.obj, done, [{name: done[name] for name in ("operation_id", "message")}])


def _path(operation: str) -> str:
    return f"operations/{quote(operation, safe='')}"


def _lines(row: dict[str, Any]) -> str:
    """One field a line; those that say nothing are left out."""
    told = {name: value for name, value in row.items() if value not in (None, [], {})}
    width = max(map(len, told))
    return "\n".join(f"{name.ljust(width)}  {_told(value)}" for name, value in told.items())


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {part}" for name, part in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
