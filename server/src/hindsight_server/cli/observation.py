"""`hindsight observation`: having a bank's memories consolidated, again too, and clearing what came of it."""

from __future__ import annotations

from shlex import quote as quoted
from typing import Annotated

import typer

from hindsight_server.cli.state import give_up, say
from hindsight_server.cli.verbs import Bank, send, show

app = typer.Typer(help="Consolidate memories into observations.", no_args_is_help=True, rich_markup_mode=None)


@app.command()
def consolidate(context: typer.Context, bank: Bank) -> None:
    """Have the memories that wait for it consolidated now."""
    asked = send(context.obj, bank, "POST", "consolidate")
    show(context.obj, asked, [{name: asked[name] for name in ("operation_id", "deduplicated")}])
    say(f"Note: `hindsight operation show {quoted(bank)} {asked['operation_id']}` tells what becomes of it.")


@app.command()
def recover(context: typer.Context, bank: Bank) -> None:
    """Have memories whose consolidation failed wait for it again."""
    done = send(context.obj, bank, "POST", "consolidation/recover")
    show(context.obj, done, [{"retried_count": done["retried_count"]}])


@app.command()
def clear(
    context: typer.Context,
    bank: Bank,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without, only tell what would be lost.")] = False,
) -> None:
    """Delete all observations of a bank; the memories that they rest on stay, and wait for consolidation again."""
    if not yes:
        held = send(context.obj, bank, "GET", "stats")["nodes_by_fact_type"].get("observation", 0)
        give_up(
            f"Nothing is deleted yet. The observations ({held}) of {bank!r} would be deleted with their history.\n"
            f"Say `hindsight observation clear {quoted(bank)} --yes` to delete them.",
            code=2,
        )
    done = send(context.obj, bank, "DELETE", "observations")
    show(context.obj, done, [{name: done[name] for name in ("deleted_count", "message")}])
