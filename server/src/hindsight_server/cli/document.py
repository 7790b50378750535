"""`hindsight document`: documents as archives."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import typer

from hindsight_server.cli.archives import export

app = typer.Typer(help="Export documents.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def group() -> None:
    """Export documents."""


@app.command("export")
def export_documents(
    context: typer.Context,
    bank: Annotated[str, typer.Argument(metavar="BANK", help="The memory bank.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The archive.")],
    documents: Annotated[list[str] | None, typer.Option("--document", help="Only this one; may be repeated.")] = None,
) -> None:
    """Write documents, with their memories, into an archive."""
    query = urlencode([("document_id", one) for one in documents or ()])
    export(context.obj, bank, f"document-transfer/export?{query}", file)
