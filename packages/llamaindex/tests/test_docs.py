"""The Python of docs/frameworks/llamaindex.md runs as it stands, with a scripted model."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from llamaindex_scripted import ScriptedLLM, calling, react

from hindsight_adapter_core.testing import FakeHindsight

pytestmark = [
    # The framework's own: see test_agents.py.
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning"),
]

PAGE = Path(__file__).parents[3] / "docs" / "frameworks" / "llamaindex.md"
SECTIONS = {
    title: code
    for title, body in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)
    for code in re.findall(r"```python\n(.*?)```", body, flags=re.DOTALL)
}
REPLIES: dict[str, list[Any]] = {
    "Quickstart": [react("Noted."), react("Dark.")],
    "One memory for each user": ["Noted.", "I don't know."],
    "Tools only": [calling("retain_memory", content="The user prefers tea."), "Saved."],
    "Memory and tools together": [calling("reflect_on_memory", query="prioritize"), "The release."],
    "Saving and loading": ["Noted.", "Tea."],
}
STORED = {
    "Quickstart": ["I prefer dark mode.", "Noted.", "Which mode do I prefer?", "Dark."],
    "Tools only": ["The user prefers tea."],
    "Memory and tools together": ["What should I prioritize?", "The release."],
    "Saving and loading": ["I prefer tea.", "Noted.", "What do I prefer?", "Tea."],
}


@pytest.mark.parametrize("title", SECTIONS)
def test_every_example(title: str, server: FakeHindsight, monkeypatch: pytest.MonkeyPatch) -> None:
    llm = ScriptedLLM(*REPLIES.get(title, ["Ok."]))
    monkeypatch.setenv("HINDSIGHT_API_URL", server.url)
    openai = ModuleType("llama_index.llms.openai")
    openai.OpenAI = lambda **_: llm  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, openai.__name__, openai)
    exec(compile(SECTIONS[title], f"llamaindex.md: {title}", "exec", dont_inherit=True), {"__name__": "docs"})
    assert server.texts("user-123") == STORED.get(title, [])
    seen = ["\n".join(message.content or "" for message in prompt) for prompt in llm.prompts]
    if title == "Quickstart":
        assert "- I prefer dark mode." in seen[1]
    if title == "One memory for each user":
        assert server.texts("ann")[0] == "My desk is number 12."
        assert "12" not in seen[1]
