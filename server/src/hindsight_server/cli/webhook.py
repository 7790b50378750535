"""`hindsight webhook`: who is told of what happens in a bank."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

import typer

from hindsight_server.cli.state import State, give_up
from hindsight_server.cli.verbs import Bank, send, show

app = typer.Typer(help="See and change who is told of events.", no_args_is_help=True, rich_markup_mode=None)

WebhookId = Annotated[str, typer.Argument(metavar="WEBHOOK", help="Its id.")]
Events = Annotated[
    list[str] | None,
    typer.Option(
        "--event",
        help="retain.completed, consolidation.completed (the default) or memory_defense.triggered; may be repeated.",
    ),
]
Secret = Annotated[
    str | None,
    typer.Option(
        envvar="HINDSIGHT_WEBHOOK_SECRET",
        show_envvar=True,
        help="What signatures are made with. Others may see a command's arguments: prefer the variable.",
    ),
]


@app.command("list")
def list_webhooks(context: typer.Context, bank: Bank) -> None:
    """List webhooks, the oldest first. Secrets are not shown."""
    listed = send(context.obj, bank, "GET", "webhooks?limit=1000")
    _show(context.obj, listed, listed["items"])


@app.command()
def create(  # noqa: PLR0913 -- its parameters are the options
    context: typer.Context,
    bank: Bank,
    url: Annotated[str, typer.Argument(metavar="URL", help="Where events are sent.")],
    event: Events = None,
    secret: Secret = None,
    header: Annotated[
        list[str] | None, typer.Option("--header", help="'Name: value', sent with each event; may be repeated.")
    ] = None,
    timeout: Annotated[int, typer.Option(help="Seconds that an attempt may take.")] = 30,
    disabled: Annotated[bool, typer.Option("--disabled", help="Tell it nothing yet.")] = False,
) -> None:
    """Register a webhook."""
    config = {"timeout_seconds": timeout, "headers": dict(map(_pair, header or ()))}
    body: dict[str, Any] = {"url": url, "secret": secret, "enabled": not disabled, "http_config": config}
    if event:
        body["event_types"] = event
    made = send(context.obj, bank, "POST", "webhooks", body)
    _show(context.obj, made, [made])


@app.command()
def update(  # noqa: PLR0913 -- its parameters are the options
    context: typer.Context,
    bank: Bank,
    webhook: WebhookId,
    url: Annotated[str | None, typer.Option(help="Another address.")] = None,
    event: Events = None,
    secret: Secret = None,
    enabled: Annotated[bool | None, typer.Option("--enable/--disable", help="Whether it is told anything.")] = None,
) -> None:
    """Change a webhook."""
    given = {"url": url, "event_types": event or None, "secret": secret, "enabled": enabled}
    body = {field: value for field, value in given.items() if value is not None}
    changed = send(context.obj, bank, "PATCH", f"webhooks/{quote(webhook, safe='')}", body)
    _show(context.obj, changed, [changed])


@app.command()
def delete(context: typer.Context, bank: Bank, webhook: WebhookId) -> None:
    """Delete a webhook, with what is still to be told to it."""
    deleted = send(context.obj, bank, "DELETE", f"webhooks/{quote(webhook, safe='')}")
    _show(context.obj, deleted, [deleted])


@app.command()
def deliveries(
    context: typer.Context,
    bank: Bank,
    webhook: WebhookId,
    limit: Annotated[int, typer.Option(help="How many, at most.", min=1)] = 50,
) -> None:
    """List what was told to a webhook and what is still to be, the newest first."""
    items: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        wanted = f"?limit={min(200, limit - len(items))}" + (f"&cursor={quote(cursor, safe='')}" if cursor else "")
        page = send(context.obj, bank, "GET", f"webhooks/{quote(webhook, safe='')}/deliveries{wanted}")
        items += page["items"]
        cursor = page["next_cursor"]
        if cursor is None or len(items) >= limit:
            break
    fields = ("created_at", "event_type", "status", "attempts", "last_response_status", "last_error", "next_retry_at")
    show(
        context.obj,
        {"items": items, "next_cursor": cursor},
        rows=[{name: row[name] for name in fields} for row in items],
    )


def _pair(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        give_up("--header must be written as 'Name: value'.", code=2)
    return name.strip(), value.strip()


def _show(state: State, answer: Any, rows: list[dict[str, Any]]) -> None:
    fields = ("id", "enabled", "event_types", "url", "secret")
    show(state, answer, rows=[{field: row[field] for field in fields if field in row} or row for row in rows])
