"""The reference pages are complete: every setting, verb, option, operation and status has its entry."""

from __future__ import annotations

import re
from pathlib import Path

import typer.main

from hindsight_server.cli.files import TEXT_SUFFIXES
from hindsight_server.cli.main import app
from hindsight_server.http.app import all_handlers
from hindsight_server.http.errors import STATUSES
from hindsight_server.http.extensions import EXTENSIONS
from hindsight_server.http.recall import TimeFilterBody
from hindsight_server.http.wire.operations import OPERATIONS
from hindsight_server.settings import all_variables

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def page(name: str) -> str:
    return (REFERENCE / name).read_text()


def test_every_setting_has_its_row_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(HINDSIGHT_API_\w+)` \|[^|]*\| ([^|]*) \|", page("settings.md"), re.MULTILINE))
    settings = all_variables()
    assert set(rows) == set(settings)
    for variable, default in settings.items():
        if default is not None:
            assert rows[variable] == f"`{default}`", variable


def test_every_verb_and_option_is_described() -> None:
    text = page("cli.md")
    missing = [name for command in _commands(typer.main.get_command(app)) for name in command if name not in text]
    assert not missing


def _commands(command: object, path: str = "hindsight") -> list[list[str]]:
    options = [name for parameter in getattr(command, "params", []) for name in parameter.opts if name.startswith("-")]
    children = getattr(command, "commands", {})
    found = [[name for name in options if name != "--help"]]
    if not children:
        found.append([f"## `{path}"])
    for name, child in children.items():
        found += _commands(child, f"{path} {name}")
    return found


def test_every_text_kind_is_named() -> None:
    text = page("cli.md")
    assert not [suffix for suffix in TEXT_SUFFIXES if not re.search(re.escape(suffix) + r"[ `\n]", text)]


def test_every_served_operation_has_its_row_with_its_path() -> None:
    rows = set(re.findall(r"^\| `(\w+) (\S+)` \| `(\w+)` \|", page("http.md"), re.MULTILINE))
    served = {
        (method, path.replace("/v1/default/banks/{bank_id}", "b"), operation_id)
        for method, path, operation_id, _ in (*OPERATIONS, *EXTENSIONS)
        if operation_id in all_handlers()
    }
    assert rows == served


def test_every_status_of_an_error_has_its_row() -> None:
    rows = {int(status) for status in re.findall(r"^\| (\d{3}) \|", page("http.md"), re.MULTILINE)}
    assert set(STATUSES.values()) | {401, 403, 405, 408, 410, 413, 415, 501} == rows


def test_every_field_of_the_extension_is_described() -> None:
    assert not [name for name in TimeFilterBody.model_fields if f"`{name}`" not in page("http.md")]
