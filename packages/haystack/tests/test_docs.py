"""The code blocks of the page for users, run one after the other with a scripted model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest
from scripted import HAYSTACK_3, ReadingChatGenerator, trust_this_module

from hindsight_adapter_core.testing.pages import blocks_of_page, run_block, sections_of_page
from hindsight_haystack import reset_config

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "frameworks" / "haystack.md"
README = ROOT / "packages" / "haystack" / "README.md"
#: What only Haystack 3 can do.
NEEDS_3 = {
    "Memory in a plain agent.run()",
    "One memory per user",
    "Automatic memory and tools together",
    "In a pipeline",  # the agent here has no tools
    "Serving many users with FastAPI",
    "Answering without waiting for the store",
    "Remembering tasks",
    "Moving from the earlier package",  # Haystack 2.12 writes tools in another shape
}


@pytest.fixture
def environment(memory_server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The reader's set-up: an address, and a model that reads its prompt instead of the paid one."""
    import haystack.components.generators.chat as chat

    monkeypatch.setenv("HINDSIGHT_API_URL", memory_server)
    # A saved pipeline names the class itself, which is then made, and never called.
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    monkeypatch.setattr(chat, "OpenAIChatGenerator", ReadingChatGenerator)
    for bank_id in ("user-123", "ann", "bob"):
        gone = httpx.delete(f"{memory_server}/v1/default/banks/{bank_id}")
        assert gone.status_code in (200, 404)
    trust_this_module()
    return memory_server


def run_section(title: str) -> tuple[dict[str, Any], str]:
    """The names that a section leaves, and what it printed. It may use the imports of the sections before it."""
    page = sections_of_page(PAGE)
    imports = "\n".join(
        line
        for earlier in list(page)[: list(page).index(title)]
        for block in page[earlier]
        for line in block.splitlines()
        if re.match(r"(from|import) ", line)
    )
    names: dict[str, Any] = {"__name__": "docs"}
    printed = StringIO()
    with redirect_stdout(printed):
        for code in (imports, *page[title]):
            run_block(code, f"{PAGE.name}: {title}", names)
    return names, printed.getvalue()


#: What each section must have printed.
PRINTED = {
    "Quickstart": ["dark mode"],
    "Memory in a plain agent.run()": ["platform 6"],
    "One memory per user": ["red", "desk 12"],
    "Tools only": ["4417"],
    "Automatic memory and tools together": ["Bergen"],
    "In a pipeline": ["Miso", "The spare key is with Ida."],
    "Answering without waiting for the store": ["0 writes are waiting"],
    "Remembering tasks": ["flask v2.3"],
    "Saving and loading": ["Noted"],
    "Testing without a server": [],
    "Moving from the earlier package": ["recall_memory"],
    "Serving many users with FastAPI": [],
}


def test_every_section_is_run() -> None:
    assert set(sections_of_page(PAGE)) == set(PRINTED)


@pytest.mark.feature("H8")
@pytest.mark.parametrize("title", list(PRINTED))
def test_a_section_runs_as_printed(environment: str, title: str) -> None:
    if not HAYSTACK_3 and title in NEEDS_3:
        pytest.skip("Haystack 3 only")
    if title == "Saving and loading" and version("haystack-ai").startswith("2.12."):
        pytest.skip("the agent has no outputs in Haystack 2.12")
    names, printed = run_section(title)
    for expected in PRINTED[title]:
        assert expected in printed
    check: Callable[[dict[str, Any], str], None] | None = CHECKS.get(title)
    if check is not None:
        check(names, printed)


def _one_memory_per_user(names: dict[str, Any], printed: str) -> None:
    assert "blue" not in printed


def _saving(names: dict[str, Any], printed: str) -> None:
    assert "MY_MEMORY_KEY" in names["text"]
    assert "http://" not in names["text"]


CHECKS = {"One memory per user": _one_memory_per_user, "Saving and loading": _saving}


def test_the_section_on_testing_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "HINDSIGHT_API_URL", "HINDSIGHT_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (code,) = sections_of_page(PAGE)["Testing without a server"]
    run_block(code, f"{PAGE.name}: alone")


@pytest.mark.skipif(not HAYSTACK_3, reason="Haystack 3 only")
async def test_the_fastapi_application_serves_users_at_once(environment: str) -> None:
    names, _ = run_section("Serving many users with FastAPI")
    app, users = names["app"], [f"web-{number}" for number in range(8)]
    transport = httpx.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://app") as client,
    ):

        async def say(user: str, text: str, conversation_id: str) -> str:
            answer = await client.post(
                "/chat",
                json={"text": text, "conversation_id": conversation_id},
                headers={"X-Authenticated-User": user},
            )
            assert answer.status_code == 200
            return str(answer.json()["answer"])

        assert (await client.post("/chat", json={"text": "x", "conversation_id": "y"})).status_code == 422
        await asyncio.gather(*(say(user, f"My secret word is {user}-word.", "one") for user in users))
        assert await names["memory"].flush_async() == 0
        told = await asyncio.gather(*(say(user, "What is my secret word?", "two") for user in users))
        for user, answer in zip(users, told, strict=True):
            assert f"{user}-word" in answer
            assert set(re.findall(r"web-\d", answer)) == {user}
    assert await names["memory"].flush_async(0) == 0, "leaving the application waits for the queue"
    async with httpx.AsyncClient(base_url=environment) as memory_server:
        for user in users:
            found = await memory_server.get(f"/v1/default/banks/{user}/documents/two")
            assert "What is my secret word?" in found.json()["original_text"]


@pytest.mark.skipif(not HAYSTACK_3, reason="Haystack 3 only")
def test_the_readme(environment: str) -> None:
    names: dict[str, Any] = {"__name__": "docs"}
    try:
        for code in blocks_of_page(README):
            run_block(code, "README.md", names)
    finally:
        reset_config()
    stored = names["store"].search_memories(query="dark mode", top_k=10)
    assert any("I prefer dark mode" in message.text for message in stored)
