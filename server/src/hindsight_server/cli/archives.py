"""What the verbs on archives share: jobs are submitted, waited for, and their files fetched."""

from __future__ import annotations

import contextlib
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hindsight_server.cli.state import State, give_up, say
from hindsight_server.cli.verbs import bank_path

if TYPE_CHECKING:
    from hindsight_server.cli.api import Api

_POLL_SECONDS = 0.2


def export(state: State, bank: str, path: str, file: Path) -> None:
    """Have an archive written and fetch it into a file. Ends the command when that fails."""
    from hindsight_server.cli.api import Api, ApiError

    result = finished(state, bank, path)
    try:
        with Api(state).open(result["download_url"]) as source, file.open("wb") as target:
            with contextlib.suppress(ConnectionError, TimeoutError):
                shutil.copyfileobj(source, target)
            size = target.tell()
    except ApiError as error:
        give_up(str(error), code=error.code)
    except OSError as error:
        give_up(f"{file} can't be written: {error.strerror}", code=2)
    if size != result["byte_size"]:
        give_up(f"{file} is not whole: {size} of {result['byte_size']} bytes came. Export it again.", code=2)
    row = {name: result[name] for name in ("documents_exported", "facts_exported", "byte_size")}
    show_result(state, {"file": str(file), **row})


def finished(state: State, bank: str, path: str, upload: bytes | None = None) -> dict[str, Any]:
    """Submit a job and wait for it; its result. Ends the command when it fails."""
    from hindsight_server.cli.api import Api, ApiError

    api, below = Api(state), f"{bank_path(bank)}/"
    try:
        submitted = api.send("POST", below + path) if upload is None else api.upload(below + path, upload)
        return _wait(api, f"{below}operations/{submitted['operation_id']}")
    except ApiError as error:
        give_up(str(error), code=error.code)


def _wait(api: Api, path: str) -> dict[str, Any]:
    told = ""
    while True:
        status = api.get(path)
        if status["status"] == "completed":
            result: dict[str, Any] = status["result_metadata"] or {}
            return result
        if status["status"] not in ("pending", "processing"):
            give_up(f"It {status['status']}: {status.get('error_message') or 'no reason was given'}", code=1)
        if status["status"] != told:
            told = status["status"]
            say(told)
        time.sleep(_POLL_SECONDS)


def show_result(state: State, result: dict[str, Any]) -> None:
    """Print what a job did."""
    from hindsight_server.cli.output import show

    show(state, result, rows=[result])
