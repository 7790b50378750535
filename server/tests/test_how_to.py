"""The Python of docs/how-to runs as it stands, against a real server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_adapter_core.testing.pages import blocks_of_page, run_block

PAGES = Path(__file__).parents[2] / "docs" / "how-to"


@pytest.fixture(autouse=True)
def loop() -> Iterator[None]:
    """That of the client's blocking methods, which it would never close."""
    made = asyncio.new_event_loop()
    asyncio.set_event_loop(made)
    yield
    made.close()


def test_the_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], server_url: str
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "docs"}
    for number, code in enumerate(blocks_of_page(PAGES / "client.md"), start=1):
        assert "http://127.0.0.1:8888" in code or "base_url" not in code
        run_block(code.replace("http://127.0.0.1:8888", server_url), f"client.md: block {number}", names)
    told = capsys.readouterr().out
    assert "Alice joined the garden club in March 2024. alice ['work']" in told
    assert "422" in told
    assert "people.csv completed" in told
    assert "empty.pdf failed File 'empty.pdf' can't be read: it is empty." in told
    assert told.rstrip().endswith("name = Carla; city = Lima")


def test_tests_without_a_models_cost() -> None:
    names: dict[str, object] = {"__name__": "docs"}
    for number, code in enumerate(blocks_of_page(PAGES / "test_without_a_model.md"), start=1):
        run_block(code, f"test_without_a_model.md: block {number}", names)
