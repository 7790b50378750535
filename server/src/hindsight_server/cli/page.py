"""`hindsight page`: knowledge pages, mental models in a tree of folders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlencode

import typer

from hindsight_server.cli.state import give_up
from hindsight_server.cli.verbs import Bank, Cron, Tags, advise, send, show, trigger_of

app = typer.Typer(help="Knowledge pages in a tree of folders.", no_args_is_help=True, rich_markup_mode=None)

NodeId = Annotated[str, typer.Argument(metavar="ID", help="The id of a page or folder.")]
Folder = Annotated[str | None, typer.Option("--folder", help="The id of the folder that it is in.")]


@app.command()
def tree(context: typer.Context, bank: Bank, tag: Tags = None) -> None:
    """Show folders and pages."""
    told = send(context.obj, bank, "GET", f"knowledge-base/tree?{urlencode([('tags', one) for one in tag or ()])}")
    show(context.obj, told, _rows(told["roots"], 0))


@app.command()
def folder(
    context: typer.Context,
    bank: Bank,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called.")],
    parent: Folder = None,
) -> None:
    """Add a folder."""
    made = send(context.obj, bank, "POST", "knowledge-base/folders", {"name": name, "parent_id": parent})
    show(context.obj, made, _rows([made], 0))


@app.command()
def create(  # noqa: PLR0913 -- its parameters are the options
    context: typer.Context,
    bank: Bank,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called.")],
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What it answers.")],
    parent: Folder = None,
    tag: Tags = None,
    max_tokens: Annotated[int | None, typer.Option(help="256 to 8192.")] = None,
    delta: Annotated[bool | None, typer.Option("--delta/--full", help="Edit it, or write it anew each time.")] = None,
    auto: Annotated[bool | None, typer.Option("--auto/--manual", help="Refresh after consolidation.")] = None,
    cron: Cron = None,
) -> None:
    """Add a page, and have it written. Tags choose the memories that it is written from."""
    body: dict[str, Any] = {"name": name, "source_query": question, "parent_id": parent, "tags": tag}
    body |= {"max_tokens": max_tokens, "trigger": trigger_of(delta, auto, cron)}
    made = send(context.obj, bank, "POST", "knowledge-base/pages", body)
    advise(made)
    show(context.obj, made, [{name: made[name] for name in ("page_id", "operation_id")}])


@app.command()
def get(context: typer.Context, bank: Bank, page: NodeId) -> None:
    """Print a page as Markdown."""
    found = send(context.obj, bank, "GET", f"knowledge-base/pages/{quote(page, safe='')}")
    show(context.obj, found, [found], text=found["markdown"].rstrip("\n"))


@app.command()
def search(
    context: typer.Context,
    bank: Bank,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")],
    limit: Annotated[int, typer.Option(min=1, max=50, help="How many at most.")] = 10,
    tag: Tags = None,
) -> None:
    """Search in pages."""
    asked = urlencode([("q", query), ("limit", limit), *(("tags", one) for one in tag or ())])
    told = send(context.obj, bank, "GET", f"knowledge-base/search?{asked}")
    columns = ("id", "name", "score", "snippet")
    show(context.obj, told, [{name: one[name] for name in columns} for one in told["results"]])


@app.command()
def move(
    context: typer.Context,
    bank: Bank,
    node: NodeId,
    name: Annotated[str | None, typer.Option(help="A new name.")] = None,
    parent: Folder = None,
    root: Annotated[bool, typer.Option("--root", help="Out of all folders.")] = False,
) -> None:
    """Name a page or folder, or put it into another folder."""
    body: dict[str, Any] = {} if name is None else {"name": name}
    if parent is not None or root:
        body["parent_id"] = None if root else parent
    if not body:
        give_up("Say what to change: --name, --folder or --root.", code=2)
    changed = send(context.obj, bank, "PATCH", f"knowledge-base/nodes/{quote(node, safe='')}", body)
    show(context.obj, changed, _rows([changed], 0))


@app.command()
def delete(context: typer.Context, bank: Bank, node: NodeId) -> None:
    """Delete a page, or a folder with all in it."""
    done = send(context.obj, bank, "DELETE", f"knowledge-base/nodes/{quote(node, safe='')}")
    show(context.obj, done, [done])


@app.command()
def export(
    context: typer.Context,
    bank: Bank,
    target: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the files go; it is made when needed.")],
) -> None:
    """Write all pages as Markdown files."""
    told = send(context.obj, bank, "GET", "knowledge-base/export")
    written = []
    for file in told["files"]:
        path = (target / file["path"]).resolve()
        if not path.is_relative_to(target.resolve()):
            give_up(f"The server names a file outside of the folder: {file['path']!r}.", code=1)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file["content"], encoding="utf-8")
        except OSError as error:
            give_up(f"{path} can't be written: {error.strerror}", code=2)
        written.append({"path": file["path"], "characters": len(file["content"])})
    show(context.obj, {"files": written}, written)


def _rows(nodes: list[dict[str, Any]], depth: int) -> list[dict[str, Any]]:
    rows = []
    for node in nodes:
        shown = {"name": f"{'  ' * depth}{node['name']}{'/' if node['kind'] == 'folder' else ''}", "id": node["id"]}
        stale = {True: "yes", False: "", None: ""}[node["is_stale"]]
        rows.append({**shown, "stale": stale, "timestamp": node["timestamp"], "tags": node["tags"]})
        rows += _rows(node["children"], depth + 1)
    return rows
