"""`hindsight entity`: the people, places and things of a bank, and what you say of their names."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

import typer

from hindsight_server.cli.state import State, give_up
from hindsight_server.cli.verbs import Bank, send, show

app = typer.Typer(help="See entities, and correct which names are one.", no_args_is_help=True, rich_markup_mode=None)

Entity = Annotated[str, typer.Argument(metavar="ENTITY", help="Its id, or one of its names.")]
_PAGE = 500


@app.command("list")
def list_entities(
    context: typer.Context,
    bank: Bank,
    limit: Annotated[int, typer.Option(help="How many at most.")] = 100,
    ambiguous: Annotated[bool, typer.Option("--ambiguous", help="Only names that could be several.")] = False,
) -> None:
    """List entities, the most mentioned first."""
    answer = send(context.obj, bank, "GET", f"entities?limit={limit}")
    items = [item for item in answer["items"] if item["ambiguous"] or not ambiguous]
    show(context.obj, {**answer, "items": items}, [_row(item) for item in items])


@app.command()
def get(context: typer.Context, bank: Bank, entity: Entity) -> None:
    """Show an entity with the newest memories that name it."""
    found = send(context.obj, bank, "GET", f"entities/{_id(context.obj, bank, entity)}")
    show(
        context.obj,
        found,
        [{"mentioned_at": fact["mentioned_at"], "text": fact["text"]} for fact in found["observations"]],
    )


@app.command()
def merge(
    context: typer.Context,
    bank: Bank,
    entity: Entity,
    others: Annotated[list[str], typer.Argument(metavar="OTHERS...", help="The entities that are the same.")],
) -> None:
    """Say that entities are one."""
    state: State = context.obj
    body = {"entity_ids": [_id(state, bank, other) for other in others]}
    merged = send(state, bank, "POST", f"entities/{_id(state, bank, entity)}/merge", body)
    show(state, merged, [_row(merged)])


@app.command()
def split(
    context: typer.Context,
    bank: Bank,
    entity: Entity,
    names: Annotated[list[str], typer.Argument(metavar="NAMES...", help="The names that are not the entity's.")],
) -> None:
    """Say that names are not an entity's; a name that you added is removed. `merge` takes it back."""
    answer = send(context.obj, bank, "POST", f"entities/{_id(context.obj, bank, entity)}/split", {"names": names})
    show(context.obj, answer, [_row(item) for item in answer["items"]])


@app.command()
def alias(
    context: typer.Context,
    bank: Bank,
    entity: Entity,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The further name.")],
) -> None:
    """Give an entity a further name."""
    named = send(context.obj, bank, "POST", f"entities/{_id(context.obj, bank, entity)}/aliases", {"name": name})
    show(context.obj, named, [_row(named)])


@app.command()
def rename(
    context: typer.Context,
    bank: Bank,
    entity: Entity,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name that it is to go by.")],
) -> None:
    """Have an entity go by another name; the old one stays an alias."""
    body = {"canonical_name": name}
    named = send(context.obj, bank, "PATCH", f"entities/{_id(context.obj, bank, entity)}", body)
    show(context.obj, named, [_row(named)])


def _row(item: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": item["id"],
        "mentions": item["mention_count"],
        "type": item["metadata"]["type"],
        "ambiguous": "yes" if item["ambiguous"] else "",
        "name": item["canonical_name"],
        "aliases": item["aliases"],
    }


def _id(state: State, bank: str, entity: str) -> str:
    """The id of the entity with this id or name; ends with a reason when there is none."""
    wanted, offset = entity.casefold(), 0
    while True:
        page = send(state, bank, "GET", f"entities?limit={_PAGE}&offset={offset}")
        for item in page["items"]:
            names = [item["canonical_name"], *item["aliases"]]
            if item["id"] == entity or wanted in map(str.casefold, names):
                return quote(item["id"], safe="")
        offset += _PAGE
        if offset >= page["total"]:
            give_up(f"No entity of bank '{bank}' has the id or name '{entity}'.", code=1)
