"""`hindsight document`: documents as archives, and files as documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import typer

from hindsight_server.cli.archives import export
from hindsight_server.cli.state import give_up
from hindsight_server.cli.verbs import Bank

app = typer.Typer(help="Upload and export documents.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def group() -> None:
    """Upload and export documents."""


@app.command("export")
def export_documents(
    context: typer.Context,
    bank: Bank,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The archive.")],
    documents: Annotated[list[str] | None, typer.Option("--document", help="Only this one; may be repeated.")] = None,
) -> None:
    """Write documents, with their memories, into an archive."""
    query = urlencode([("document_id", one) for one in documents or ()])
    export(context.obj, bank, f"document-transfer/export?{query}", file)


@app.command("upload")
def upload_files(
    context: typer.Context,
    bank: Bank,
    paths: Annotated[list[Path], typer.Argument(metavar="PATHS...", help="Files and directories.")],
    about: Annotated[str | None, typer.Option("--context", help="What the files are about.")] = None,
    tags: Annotated[str | None, typer.Option(help="Tags, several by commas.")] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the files are retained.")] = True,
) -> None:
    """Upload files (PDF, DOCX, PPTX, XLSX, HTML, text kinds, images); each becomes a document whose id is its path."""
    from hindsight_server.cli.files import collect
    from hindsight_server.cli.output import show
    from hindsight_server.cli.uploads import Given, upload

    found = [candidate.path for candidate in collect(paths)]
    missing = next((path for path in found if not path.is_file()), None)
    if missing is not None:
        give_up(f"There is no file {missing}.", code=2)
    if not found:
        give_up("There is no file to upload.", code=1)
    given = Given(about, [tag.strip() for tag in tags.split(",") if tag.strip()] if tags else None)
    rows = upload(context.obj, bank, found, given, wait=wait)
    show(context.obj, {"bank_id": bank, "files": rows}, rows=rows)
    failed = sum(row["status"] in ("refused", "failed", "cancelled", "not_found") for row in rows)
    if failed:
        give_up(f"{failed} of {len(rows)} files were not retained.", code=1)
