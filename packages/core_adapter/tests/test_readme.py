"""The README's Python, run as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from hindsight_adapter_core.testing import FakeHindsight
from hindsight_adapter_core.testing.pages import blocks_of_page, run_block

README = Path(__file__).parents[1] / "README.md"
DOCS = Path(__file__).parents[3] / "docs"


def test_the_readme(server: FakeHindsight, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HINDSIGHT_API_URL", server.url)
    # The package of the reader, as the words below the block say.
    (tmp_path / "my_adapter").mkdir()
    client = "from hindsight_adapter_core import lazy_client_class\n\n__getattr__ = lazy_client_class(__name__)\n"
    (tmp_path / "my_adapter" / "_client.py").write_text(client)
    monkeypatch.syspath_prepend(tmp_path)
    (code,) = blocks_of_page(README)
    run_block(code, "README.md")
    assert server.texts("user-123") == ["I prefer dark mode"]
    assert [request.operation for request in server.requests] == ["retain", "recall"]


@pytest.mark.feature("K9")
def test_the_page_about_task_memory(
    server: FakeHindsight, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HINDSIGHT_API_URL", server.url)
    (code,) = blocks_of_page(DOCS / "explanation" / "task_memory.md")
    names = run_block(code, "task_memory.md")
    assert names["task"].closed
    assert "nginx" in capsys.readouterr().out
