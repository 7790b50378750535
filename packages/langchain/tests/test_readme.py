"""The README's Python runs as it stands, against a real server, with a scripted model in the place of OpenAI's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_scripted import ScriptedModel, calling

from hindsight_adapter_core.testing.pages import blocks_of_page, run_block

README = Path(__file__).parents[1] / "README.md"
SNIPPETS = blocks_of_page(README)


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch, real_url: str) -> Any:
    """``play(snippet, *replies)`` runs a snippet and gives back the model it used."""
    monkeypatch.setenv("HINDSIGHT_API_URL", real_url)

    def run(snippet: str, *replies: Any) -> ScriptedModel:
        model = ScriptedModel(*replies or ("Ok.",))
        monkeypatch.setattr("langchain.agents.factory.init_chat_model", lambda *_, **__: model)
        monkeypatch.setattr("langchain.chat_models.init_chat_model", lambda *_, **__: model)
        run_block(snippet, "README.md")
        return model

    return run


def test_all_snippets(play: Any, capsys: pytest.CaptureFixture[str]) -> None:
    middleware, tools, nodes, retriever, session = SNIPPETS
    model = play(middleware, "Noted.", "Dark mode.")
    assert "I prefer dark mode." in model.prompt
    assert "Dark mode." in capsys.readouterr().out
    play(tools, calling(("retain_memory", {"content": "The user prefers dark mode."})), "Noted.")
    model = play(nodes, "Dark mode.")
    assert "dark mode" in model.prompts[0][0].content
    play(retriever)
    assert "dark mode" in capsys.readouterr().out
    play(session)
    assert "HumanMessage(content='I prefer dark mode.'" in capsys.readouterr().out
