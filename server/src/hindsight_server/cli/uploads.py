"""Uploading files, a batch at a time, and waiting for what becomes of them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hindsight_server.cli.state import State, give_up, say
from hindsight_server.cli.verbs import bank_path

if TYPE_CHECKING:
    from hindsight_server.cli.api import Api

_FILES_AT_ONCE = 10
_BYTES_AT_ONCE = 100 << 20
_POLL_SECONDS = 0.3
_OVER = ("completed", "failed", "cancelled", "not_found")


@dataclass(frozen=True, slots=True)
class Given:
    """What is said of every file."""

    context: str | None
    tags: list[str] | None


def upload(state: State, bank: str, paths: Sequence[Path], given: Given, *, wait: bool) -> list[dict[str, Any]]:
    """Upload files and tell of each; a row for each file. Ends the command when the server can't be used."""
    from hindsight_server.cli.api import Api, ApiError

    api, below = Api(state), f"{bank_path(bank)}/"
    rows: list[dict[str, Any]] = []
    try:
        for batch in _batches(paths):
            rows += _send(api, below, batch, given)
        if wait:
            _wait(api, below, rows)
    except ApiError as error:
        give_up(str(error), code=error.code)
    except OSError as error:
        give_up(f"{error.filename} can't be read: {error.strerror}", code=2)
    return rows


def _send(api: Api, below: str, batch: Sequence[Path], given: Given) -> list[dict[str, Any]]:
    """Upload files in one request; when it is refused, each alone, so that one file keeps no other out."""
    from hindsight_server.cli.api import ApiError

    about = [{"document_id": path.as_posix(), "context": given.context, "tags": given.tags} for path in batch]
    files = [(path.name, path.read_bytes()) for path in batch]
    try:
        answer = api.upload_files(f"{below}files/retain", files, json.dumps({"files_metadata": about}))
    except ApiError as error:
        if error.code != 1:
            raise
        if len(batch) > 1:
            return [row for path in batch for row in _send(api, below, [path], given)]
        return [_row(batch[0], "refused", error=str(error))]
    return [_row(path, "pending", operation_id=one) for path, one in zip(batch, answer["operation_ids"], strict=True)]


def _wait(api: Api, below: str, rows: Sequence[dict[str, Any]]) -> None:
    open_rows = [row for row in rows if row["operation_id"]]
    done = 0
    while open_rows:
        for row in list(open_rows):
            known = api.get(f"{below}operations/{row['operation_id']}")
            stage = known["status"]
            if stage == "processing" and known.get("progress"):
                stage = known["progress"]["stage"]
            if stage != row["status"]:
                row["status"] = stage
                row["error"] = known.get("error_message") if stage == "failed" else None
                done += stage in _OVER
                reason = f" ({row['error']})" if row["error"] else ""
                say(f"[{done}/{len(rows)}] {row['file']}: {stage}{reason}")
            if stage in _OVER:
                open_rows.remove(row)
        if open_rows:
            time.sleep(_POLL_SECONDS)


def _row(path: Path, status: str, *, operation_id: str | None = None, error: str | None = None) -> dict[str, Any]:
    if error:
        say(f"{path}: {status} ({error})")
    return {"file": str(path), "status": status, "operation_id": operation_id, "error": error}


def _batches(paths: Sequence[Path]) -> Iterator[list[Path]]:
    batch: list[Path] = []
    size = 0
    for path in paths:
        here = path.stat().st_size
        if batch and (len(batch) == _FILES_AT_ONCE or size + here > _BYTES_AT_ONCE):
            yield batch
            batch, size = [], 0
        batch.append(path)
        size += here
    if batch:
        yield batch
