"""What the verbs share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import quote

import typer

from hindsight_server.cli.state import State, give_up, say

Bank = Annotated[str, typer.Argument(metavar="BANK", help="The memory bank.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="May be repeated.")]
Cron = Annotated[
    str | None, typer.Option("--cron", help="Refresh by schedule (UTC), for example '0 3 * * *'; '' for none.")
]


BANKS = "/v1/default/banks"


def bank_path(bank: str) -> str:
    """The path of a bank on the server."""
    return f"{BANKS}/{quote(bank, safe='')}"


def send(state: State, bank: str, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """A call below a bank; the decoded answer. Ends the command with the reason when it fails."""
    return call(state, method, f"{bank_path(bank)}/{path}", body)


def call(state: State, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """A call of any path; otherwise as `send`."""
    from hindsight_server.cli.api import Api, ApiError

    try:
        return Api(state).send(method, path, body)
    except ApiError as error:
        give_up(str(error), code=error.code)


def show(state: State, answer: Any, rows: Sequence[Mapping[str, Any]], *, text: str | None = None) -> None:
    """Print an answer; as a table, `text` stands for it where that is given."""
    from hindsight_server.cli.output import show as printed

    printed(state, answer, rows=rows, text=text)


def advise(answer: Mapping[str, Any]) -> None:
    """Say on the error stream what the server warns of."""
    for warning in answer.get("warnings") or ():
        say(f"Note: {warning}")


def trigger_of(delta: bool | None, auto: bool | None, cron: str | None) -> dict[str, Any] | None:
    """The fields of a trigger that were given, None when none was.

    A blank schedule, or `auto` False without one, takes the schedule off.
    """
    given: dict[str, Any] = {}
    if delta is not None:
        given["mode"] = "delta" if delta else "full"
    if auto is not None:
        given["refresh_after_consolidation"] = auto
    if cron is not None or auto is False:
        given["refresh_cron"] = (cron or "").strip() or None
    return given or None
