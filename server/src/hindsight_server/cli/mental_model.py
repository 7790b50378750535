"""`hindsight mental-model`: standing answers that the server keeps current."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

import typer

from hindsight_server.cli.state import give_up, say
from hindsight_server.cli.verbs import Bank, Cron, Tags, advise, send, show, trigger_of

app = typer.Typer(help="Standing answers that are kept current.", no_args_is_help=True, rich_markup_mode=None)

ModelId = Annotated[str, typer.Argument(metavar="MODEL", help="Its id.")]
_COLUMNS = ("id", "name", "is_stale", "last_refreshed_at", "last_refresh_failed_at", "tags")


@app.command("list")
def list_models(context: typer.Context, bank: Bank, tag: Tags = None) -> None:
    """List mental models by name, without what they say."""
    wanted = "".join(f"&tags={quote(one, safe='')}" for one in tag or ())
    listed = send(context.obj, bank, "GET", f"mental-models?limit=1000{wanted}")
    show(context.obj, listed, [_row(one) for one in listed["items"]])


@app.command()
def get(context: typer.Context, bank: Bank, model: ModelId) -> None:
    """Show what a mental model says."""
    found = send(context.obj, bank, "GET", _path(model))
    advise(found)
    show(context.obj, found, [_row(found)], text=found["content"] or "No content yet.")
    if found.get("last_refresh_failed_at"):
        say(f"Note: its last refresh failed; `hindsight mental-model history {bank} {model}` says why.")


@app.command()
def create(  # noqa: PLR0913 -- its parameters are the options
    context: typer.Context,
    bank: Bank,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called.")],
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What it answers.")],
    model_id: Annotated[str | None, typer.Option("--id", help="Lower-case letters, digits and hyphens.")] = None,
    tag: Tags = None,
    max_tokens: Annotated[int | None, typer.Option(help="256 to 8192.")] = None,
    delta: Annotated[bool | None, typer.Option("--delta/--full", help="Edit it, or write it anew each time.")] = None,
    auto: Annotated[bool | None, typer.Option("--auto/--manual", help="Refresh after consolidation.")] = None,
    cron: Cron = None,
) -> None:
    """Make a mental model, and have it written. Tags choose the memories that it is written from."""
    body: dict[str, Any] = {"name": name, "source_query": question, "id": model_id, "tags": tag or []}
    body["trigger"] = trigger_of(delta, auto, cron) or {}
    if max_tokens is not None:
        body["max_tokens"] = max_tokens
    made = send(context.obj, bank, "POST", "mental-models", body)
    advise(made)
    show(context.obj, made, [{name: made[name] for name in ("mental_model_id", "operation_id")}])


@app.command()
def update(  # noqa: PLR0913 -- its parameters are the options
    context: typer.Context,
    bank: Bank,
    model: ModelId,
    name: Annotated[str | None, typer.Option(help="A new name.")] = None,
    question: Annotated[str | None, typer.Option(help="Another question: it is answered anew.")] = None,
    tag: Tags = None,
    no_tags: Annotated[bool, typer.Option("--no-tags", help="Use the whole bank.")] = False,
    max_tokens: Annotated[int | None, typer.Option(help="256 to 8192.")] = None,
    delta: Annotated[bool | None, typer.Option("--delta/--full", help="Edit it, or write it anew each time.")] = None,
    auto: Annotated[bool | None, typer.Option("--auto/--manual", help="Refresh after consolidation.")] = None,
    cron: Cron = None,
) -> None:
    """Change a mental model."""
    given = {"name": name, "source_query": question, "max_tokens": max_tokens, "trigger": trigger_of(delta, auto, cron)}
    body: dict[str, Any] = {field: value for field, value in given.items() if value is not None}
    if tag or no_tags:
        body["tags"] = tag or []
    changed = send(context.obj, bank, "PATCH", _path(model), body)
    advise(changed)
    show(context.obj, changed, [_row(changed)])


@app.command()
def refresh(
    context: typer.Context,
    bank: Bank,
    model: ModelId,
    full: Annotated[bool, typer.Option("--full", help="Write it anew, whatever its mode is.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
) -> None:
    """Have a mental model written again."""
    if dry_run and full:
        give_up("--dry-run takes no --full: it shows what the next refresh by the model's own mode would do.", code=2)
    if dry_run:
        told = send(context.obj, bank, "POST", f"{_path(model)}/dry-run-refresh")
        advise(told)
        row = {name: told[name] for name in ("outcome", "effective_mode", "would_persist")}
        show(context.obj, told, [row], text=told["diff"] or no_change(told))
        return
    queued = send(context.obj, bank, "POST", f"{_path(model)}/refresh", {"mode": "full"} if full else None)
    show(context.obj, queued, [queued])


@app.command()
def history(context: typer.Context, bank: Bank, model: ModelId) -> None:
    """List what it said before, the newest first."""
    kept = send(context.obj, bank, "GET", f"{_path(model)}/history")
    columns = ("changed_at", "version", "outcome", "failure_reason", "error", "previous_content")
    show(context.obj, kept, [{name: one[name] for name in columns} for one in kept])


@app.command()
def clear(context: typer.Context, bank: Bank, model: ModelId) -> None:
    """Empty what it says; the next refresh writes it anew."""
    cleared = send(context.obj, bank, "POST", f"{_path(model)}/clear")
    show(context.obj, cleared, [_row(cleared)])


@app.command()
def delete(context: typer.Context, bank: Bank, model: ModelId) -> None:
    """Delete a mental model with its history."""
    done = send(context.obj, bank, "DELETE", _path(model))
    show(context.obj, done, [done])


def no_change(told: dict[str, Any]) -> str:
    """Of a dry run that would write nothing: the outcome, and why each edit was left out."""
    skipped = (told["delta_operations"] or {}).get("skipped") or ()
    reasons = [f"- {one['kind']}: {one['reason']}" for one in skipped]
    return "\n".join([f"No change ({told['outcome']}).", *reasons])


def _path(model: str) -> str:
    return f"mental-models/{quote(model, safe='')}"


def _row(one: dict[str, Any]) -> dict[str, Any]:
    return {name: one[name] for name in _COLUMNS}
