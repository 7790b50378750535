"""The page of behaviours names tests that there are."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PAGE = ROOT / "docs" / "reference" / "behaviour.md"
_CONTRACT = ROOT / "server" / "src" / "hindsight_server" / "testing" / "store_contract"
_TEST = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def _file(named: str) -> Path:
    return (
        _CONTRACT / named.removeprefix("contract/") if named.startswith("contract/") else ROOT / "server/tests" / named
    )


def _missing(page: str) -> list[str]:
    named = _TEST.findall(page)
    return [
        f"{path}::{test}"
        for path, test in named
        if not _file(path).is_file() or not re.search(rf"def {test}\(", _file(path).read_text())
    ]


def test_every_test_that_the_page_names_is_there() -> None:
    page = _PAGE.read_text()
    assert len(_TEST.findall(page)) > 80
    assert _missing(page) == []
    assert _missing("`engine/test_retain.py::test_that_there_is_not`") != []


def test_every_behaviour_names_a_test() -> None:
    rows = [
        line for line in _PAGE.read_text().splitlines() if line.startswith("| ") and not line.startswith("| behaviour")
    ]
    assert len(rows) > 80
    assert [row for row in rows if not _TEST.search(row)] == []
