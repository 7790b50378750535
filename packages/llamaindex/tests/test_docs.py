"""The Python of docs/frameworks/llamaindex.md runs as it stands, with a scripted model."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from llamaindex_scripted import ScriptedLLM, calling, react

from hindsight_adapter_core.testing import FakeHindsight
from hindsight_adapter_core.testing.pages import blocks_of_page, run_block, sections_of_page
from hindsight_llamaindex import reset_config

pytestmark = [
    # The framework's own: see test_agents.py.
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning"),
]

PAGE = Path(__file__).parents[3] / "docs" / "frameworks" / "llamaindex.md"
README = Path(__file__).parents[1] / "README.md"
SECTIONS = sections_of_page(PAGE)
REPLIES: dict[str, list[Any]] = {
    "Quickstart": [react("Noted."), react("Dark.")],
    "One memory for each user": ["Noted.", "I don't know."],
    "Tools only": [calling("retain_memory", content="The user prefers tea."), "Saved."],
    "Memory and tools together": [calling("reflect_on_memory", query="prioritize"), "The release."],
    "Saving and loading": ["Noted.", "Tea."],
    "Remembering tasks": [calling("deploy", service="flask v2.3"), "It is up on port 8001."],
}
STORED = {
    "Quickstart": ["I prefer dark mode.", "Noted.", "Which mode do I prefer?", "Dark."],
    "Tools only": ["The user prefers tea."],
    "Memory and tools together": ["What should I prioritize?", "The release."],
    "Saving and loading": ["I prefer tea.", "Noted.", "What do I prefer?", "Tea."],
}


def reader(server: FakeHindsight, patch: pytest.MonkeyPatch, *replies: Any, forever: bool = False) -> ScriptedLLM:
    """The reader's set-up: an address, and a model in the place of OpenAI's."""
    llm = ScriptedLLM(*replies, forever=forever)
    patch.setenv("HINDSIGHT_API_URL", server.url)
    openai = ModuleType("llama_index.llms.openai")
    openai.OpenAI = lambda **_: llm  # type: ignore[attr-defined]
    patch.setitem(sys.modules, openai.__name__, openai)
    return llm


@pytest.mark.parametrize("title", SECTIONS)
def test_every_example(
    title: str, server: FakeHindsight, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    llm = reader(server, monkeypatch, *REPLIES.get(title, ["Ok."]))
    (code,) = SECTIONS[title]
    run_block(code, f"llamaindex.md: {title}")
    assert server.texts("user-123") == STORED.get(title, [])
    seen = ["\n".join(message.content or "" for message in prompt) for prompt in llm.prompts]
    if title == "Quickstart":
        assert "- I prefer dark mode." in seen[1]
    if title == "Remembering tasks":
        assert "flask v2.3 is up on port 8001" in server.texts("tasks")
        assert capsys.readouterr().out.splitlines()[1:]
    if title == "One memory for each user":
        assert server.texts("ann")[0] == "My desk is number 12."
        assert "number 12" not in seen[1]


async def test_the_fastapi_application_serves_users_at_once(
    server: FakeHindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm = reader(server, monkeypatch, "Noted.", forever=True)
    names = run_block(SECTIONS["Many users in FastAPI"][0], "llamaindex.md: FastAPI")
    app, users = names["app"], [f"web-{number}" for number in range(8)]
    transport = httpx.ASGITransport(app=app)
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, base_url="http://app") as web:

        async def say(user: str, conversation: str, text: str) -> str:
            body = {"text": text, "conversation": conversation}
            answer = await web.post("/chat", json=body, headers={"X-Authenticated-User": user})
            assert answer.status_code == 200
            return str(answer.json()["answer"])

        await asyncio.gather(*(say(user, "one", f"My secret word is {user}-word.") for user in users))
        for memory in names["conversations"].values():
            assert await memory.aflush() == 0
        server.delay("retain", 0.3, times=16)
        before = len(llm.prompts)
        assert await asyncio.gather(*(say(user, "two", "What is my secret word?") for user in users)) == ["Noted."] * 8
        assert (await web.post("/chat", json={"text": "x", "conversation": "y"})).status_code == 422
        blank = {"X-Authenticated-User": " "}
        assert (await web.post("/chat", json={"text": "x", "conversation": "y"}, headers=blank)).status_code == 400
    prompts = ["\n".join(message.content or "" for message in prompt) for prompt in llm.prompts[before:]]
    assert {word for prompt in prompts for word in re.findall(r"(web-\d)-word", prompt)} == set(users)
    assert all(len(set(re.findall(r"web-\d", prompt))) == 1 for prompt in prompts), "one user's memories in each"
    # Leaving the application waited for what was being stored.
    for user in users:
        said = [f"My secret word is {user}-word.", "Noted.", "What is my secret word?", "Noted."]
        assert server.texts(user) == said


def test_the_readme(server: FakeHindsight, monkeypatch: pytest.MonkeyPatch) -> None:
    llm = reader(server, monkeypatch, react("Noted."), react("Dark."))
    memory, tools, settings = blocks_of_page(README)
    run_block(memory, "README.md")
    assert server.texts("user-123")[0] == "Remember that I prefer dark mode"
    assert "- Remember that I prefer dark mode" in "\n".join(message.content or "" for message in llm.prompts[1])
    names = run_block(tools, "README.md")
    assert [tool.metadata.name for tool in names["tools"]] == ["recall_memory", "reflect_on_memory"]
    try:
        run_block(settings, "README.md")
    finally:
        reset_config()
