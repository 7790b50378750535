"""`hindsight directive`: rules that reflect follows."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

import typer

from hindsight_server.cli.state import State
from hindsight_server.cli.verbs import Bank, send, show

app = typer.Typer(help="See and change the rules that reflect follows.", no_args_is_help=True, rich_markup_mode=None)

DirectiveId = Annotated[str, typer.Argument(metavar="DIRECTIVE", help="Its id.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="Only for requests with this tag; may be repeated.")]


@app.command("list")
def list_directives(
    context: typer.Context,
    bank: Bank,
    tag: Tags = None,
    every: Annotated[bool, typer.Option("--all", help="Those that are not active, too.")] = False,
) -> None:
    """List directives in the order in which they are told."""
    wanted = "".join(f"&tags={quote(one, safe='')}" for one in tag or ())
    listed = send(context.obj, bank, "GET", f"directives?limit=1000&active_only={'false' if every else 'true'}{wanted}")
    _show(context.obj, listed, listed["items"])


@app.command()
def create(
    context: typer.Context,
    bank: Bank,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called.")],
    content: Annotated[str, typer.Argument(metavar="RULE", help="The rule itself.")],
    priority: Annotated[int, typer.Option(help="A higher one is told first.")] = 0,
    tag: Tags = None,
) -> None:
    """Add a directive."""
    body = {"name": name, "content": content, "priority": priority, "tags": tag or []}
    made = send(context.obj, bank, "POST", "directives", body)
    _show(context.obj, made, [made])


@app.command()
def update(  # noqa: PLR0913 -- its parameters are the options
    context: typer.Context,
    bank: Bank,
    directive: DirectiveId,
    name: Annotated[str | None, typer.Option(help="A new name.")] = None,
    content: Annotated[str | None, typer.Option(help="A new rule.")] = None,
    priority: Annotated[int | None, typer.Option(help="A new priority.")] = None,
    active: Annotated[bool | None, typer.Option("--active/--inactive", help="Whether it is told at all.")] = None,
) -> None:
    """Change a directive."""
    given = {"name": name, "content": content, "priority": priority, "is_active": active}
    body = {field: value for field, value in given.items() if value is not None}
    changed = send(context.obj, bank, "PATCH", f"directives/{quote(directive, safe='')}", body)
    _show(context.obj, changed, [changed])


@app.command()
def delete(context: typer.Context, bank: Bank, directive: DirectiveId) -> None:
    """Delete a directive."""
    deleted = send(context.obj, bank, "DELETE", f"directives/{quote(directive, safe='')}")
    _show(context.obj, deleted, [deleted])


def _show(state: State, answer: Any, rows: list[dict[str, Any]]) -> None:
    fields = ("id", "priority", "is_active", "tags", "name", "content")
    show(state, answer, rows=[{field: row[field] for field in fields if field in row} or row for row in rows])
