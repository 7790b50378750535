"""The Python of docs/frameworks/langchain.md runs as it stands, on a real server, with a scripted model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage
from langchain_scripted import ScriptedModel, calling

from hindsight_adapter_core.testing.pages import run_block, sections_of_page
from hindsight_langchain import HindsightChatMessageHistory, HindsightRetriever, reset_config

PAGE = Path(__file__).parents[3] / "docs" / "frameworks" / "langchain.md"
SECTIONS = sections_of_page(PAGE)


class Player:
    """Runs a block with a model in the place of OpenAI's, and keeps that model and the block's names."""

    def __init__(self, patch: pytest.MonkeyPatch, url: str) -> None:
        self.url, self.model, self.names = url, ScriptedModel("Ok."), {}
        self._patch = patch

    def __call__(self, title: str, *replies: Any, block: int = 0) -> dict[str, Any]:
        code = SECTIONS[title][block]
        self.model = ScriptedModel(*replies or ("Ok.",))
        for place in ("langchain.agents.factory", "langchain.chat_models"):
            self._patch.setattr(f"{place}.init_chat_model", lambda *_, **__: self.model)
        self.names: dict[str, Any] = run_block(code, f"langchain.md: {title}")
        return self.names

    def memories(self, bank: str, query: str) -> str:
        found = HindsightRetriever(bank_id=bank, hindsight_api_url=self.url, raise_on_error=True).invoke(query)
        return "\n".join(one.page_content for one in found)

    def document(self, bank: str, session: str) -> list[str]:
        history = HindsightChatMessageHistory(session, bank_id=bank, hindsight_api_url=self.url, raise_on_error=True)
        return [str(one.content) for one in history.messages]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch, real_url: str) -> Player:
    monkeypatch.setenv("HINDSIGHT_API_URL", real_url)
    return Player(monkeypatch, real_url)


def test_quickstart(play: Player, capsys: pytest.CaptureFixture[str]) -> None:
    play("Quickstart", "Noted.", "Dark mode.")
    assert "I prefer dark mode." in play.model.prompt
    assert "Dark mode." in capsys.readouterr().out
    assert play.document("quickstart", "tuesday") == ["Which mode do I prefer?", "Dark mode."]


def test_memory_per_user(play: Player) -> None:
    play("Memory per user")
    assert "vegan" in play.model.prompt
    assert "nuts" not in play.model.prompt
    assert "nuts" in play.memories("ada", "allergic")
    play("Memory per user", block=1)
    assert "Tom" in play.memories("ada", "cat called")
    assert "Friday" in play.memories("team-blue", "release")
    assert "Friday" not in play.memories("ada", "release")


def test_tools_only(play: Player, capsys: pytest.CaptureFixture[str]) -> None:
    play("Tools only: the agent decides", calling(("retain_memory", {"content": "My sister is called Eva."})), "Noted.")
    printed = capsys.readouterr().out
    assert "Memory stored successfully." in printed
    assert "document_id" in printed
    assert "Eva" in play.memories("tools-only", "sister")


def test_a_graph(play: Player) -> None:
    play("Automatic, in a graph of your own", "Noted.", "In Lisbon.")
    assert "I live in Lisbon." in play.model.prompt
    assert play.document("graph-user", "2") == ["Where do I live?", "In Lisbon."]


def test_a_graph_whose_checkpoints_hold_no_memories(play: Player) -> None:
    names = play("Automatic, in a graph of your own", "Noted.", "In Porto.", block=1)
    assert "I live in Porto." in play.model.prompt
    assert play.document("untracked-user", "2") == ["Where do I live?", "In Porto."]
    saved = [entry for entry in names["saver"].list({"configurable": {"thread_id": "2"}})]
    assert saved
    assert "earlier conversations" not in repr(saved) + repr(names["saver"].storage) + repr(names["saver"].writes)


def test_both(play: Player, capsys: pytest.CaptureFixture[str]) -> None:
    play("Both: automatic, and tools for the rest", calling(("recall_memory", {"query": "train"})), "Have a good trip.")
    assert "Have a good trip." in capsys.readouterr().out
    assert len(play.model.prompts) == 2
    assert "train" in play.memories("both", "train")


async def test_many_users(play: Player) -> None:
    names = play("Many users, in FastAPI", lambda messages: AIMessage(f"Heard: {messages[-1].content}"))
    app, users = names["app"], [f"web-{number}" for number in range(8)]
    transport = httpx.ASGITransport(app=app)
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, base_url="http://test") as web:

        async def say(user: str, text: str, conversation: str) -> str:
            body = {"text": text, "conversation": conversation}
            return str((await web.post("/chat", json=body, headers={"x-user": user})).json()["answer"])

        said = await asyncio.gather(*(say(user, f"My secret word is {user}-word.", "1") for user in users))
        assert said == [f"Heard: My secret word is {user}-word." for user in users]
        await names["memory"].aflush()
        before = len(play.model.prompts)
        await asyncio.gather(*(say(user, "What is my secret word?", "2") for user in users))
    assert await names["memory"].aflush(0) == 0, "leaving the application waits for the queue"
    prompts = ["\n".join(str(one.content) for one in prompt) for prompt in play.model.prompts[before:]]
    assert {word for prompt in prompts for word in re.findall(r"(web-\d)-word", prompt)} == set(users)
    for prompt in prompts:
        assert len(set(re.findall(r"web-\d", prompt))) == 1, "each request holds one user's memories"
    assert all(play.document(user, f"{user}-2")[0] == "What is my secret word?" for user in users)


def test_tasks(play: Player, capsys: pytest.CaptureFixture[str]) -> None:
    play("Remembering tasks", calling(("deploy", {"service": "flask v2.3"})), "It is up on port 8001.")
    assert len(play.model.prompts) == 2
    assert "flask" in capsys.readouterr().out


def test_checkpoints(play: Player, capsys: pytest.CaptureFixture[str]) -> None:
    names = play("Saving and loading: checkpoints", "Noted.", "On its way.")
    messages = ["My order is number 4417.", "Noted.", "Where is it?", "On its way."]
    assert str(messages) in capsys.readouterr().out
    assert play.document("carla", "support-17") == messages
    assert "earlier conversations" not in repr(names["saver"].storage) + repr(names["saver"].blobs)


def test_a_session(play: Player, capsys: pytest.CaptureFixture[str]) -> None:
    play("The messages of a session")
    assert "['My flight is LH 441.', 'Noted.']" in capsys.readouterr().out
    assert play.document("archive", "session-1") == []


def test_retriever_and_prompts(play: Player, capsys: pytest.CaptureFixture[str]) -> None:
    play("Retriever, and prompts that carry memories")
    printed = capsys.readouterr().out
    assert printed.count("Middlemarch") == 2
    assert "You are a librarian.\n\nRelevant memories:\n1. " in printed


def test_settings_queue_and_end(play: Player, capsys: pytest.CaptureFixture[str]) -> None:
    play("Looking at it, waiting for it, closing it")
    assert capsys.readouterr().out == "('mid', 'default')\n0 writes are waiting\n"
    assert "Emma" in play.memories("shelf", "read Emma")


def test_tests_without_a_server(play: Player) -> None:
    names = play("Tests of your application, without a server")
    tests: list[Callable[[], None]] = [value for name, value in names.items() if name.startswith("test_")]
    assert len(tests) == 2
    for test in tests:
        test()


def test_moving(play: Player, capsys: pytest.CaptureFixture[str]) -> None:
    import hindsight_langgraph

    try:
        play("Moving from hindsight-langgraph")
    finally:
        hindsight_langgraph.reset_config()
        reset_config()
    printed = capsys.readouterr().out
    assert "['hindsight_retain', 'hindsight_recall', 'hindsight_reflect']" in printed
    assert "stamps" in printed


def test_every_block_has_a_test() -> None:
    calls = re.findall(
        r'^\s+(?:names = )?play\(\s*"(.*?)"(?:.*?block=(\d))?.*$', Path(__file__).read_text(), re.MULTILINE
    )
    written = {(title, block) for title, blocks in SECTIONS.items() for block in range(len(blocks))}
    assert {(title, int(block or 0)) for title, block in calls} == written
