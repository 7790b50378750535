"""HindsightChatMessageHistory: words come back as they were said, once, from any process, and clear means gone."""

from __future__ import annotations

import copy
import logging
import pickle
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hindsight_client import Hindsight
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_scripted import ScriptedModel, calling

from hindsight_adapter_core.testing import FakeHindsight
from hindsight_langchain import (
    HindsightChatMessageHistory,
    HindsightError,
    HindsightRetriever,
)

Runner = Callable[..., Awaitable[Any]]
pytestmark = pytest.mark.feature("C3")


def words(messages: list[BaseMessage]) -> list[tuple[str, str]]:
    return [(one.type, str(one.content)) for one in messages]


class Face:
    """One history through its sync or its async methods."""

    def __init__(self, run: Runner, history: HindsightChatMessageHistory) -> None:
        self.sync, self.history = run.face == "sync", history  # type: ignore[attr-defined]

    async def add(self, *messages: BaseMessage) -> None:
        self.history.add_messages(messages) if self.sync else await self.history.aadd_messages(messages)

    async def read(self) -> list[BaseMessage]:
        return self.history.messages if self.sync else await self.history.aget_messages()

    async def clear(self) -> None:
        self.history.clear() if self.sync else await self.history.aclear()


async def test_what_was_said_comes_back_in_another_process(real_url: str, run: Runner) -> None:
    options: dict[str, Any] = {"bank_id": f"history-{run.face}", "hindsight_api_url": real_url}  # type: ignore[attr-defined]
    face = Face(run, HindsightChatMessageHistory("monday", **options))
    assert await face.read() == []
    at = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
    await face.add(
        HumanMessage("I prefer a dark theme.\nAlways {so}.", id="m1", name="ada", additional_kwargs={"timestamp": at}),
        AIMessage('Noted: "dark" [1].', id="m2"),
    )
    await face.add(HumanMessage("谢谢！"))
    again = Face(run, HindsightChatMessageHistory("monday", **options))
    first, second, third = await again.read()
    assert (first.type, first.content, first.id) == ("human", "I prefer a dark theme.\nAlways {so}.", "m1")
    assert (first.name, first.additional_kwargs["timestamp"]) == ("ada", at.isoformat())
    assert (second.type, second.content, second.id) == ("ai", 'Noted: "dark" [1].', "m2")
    assert (third.type, third.content) == ("human", "谢谢！")
    # It is a memory as well, and other sessions are other documents.
    found = await run(HindsightRetriever(**options), "Which theme?")
    assert any("dark theme" in document.page_content for document in found)
    assert not any("m1" in document.page_content for document in found)
    assert await Face(run, HindsightChatMessageHistory("tuesday", **options)).read() == []
    await again.clear()
    await again.clear()
    assert await face.read() == []
    assert await run(HindsightRetriever(**options), "Which theme?") == []
    await face.add(HumanMessage("Anew."))
    assert words(await again.read()) == [("human", "Anew.")]


async def test_only_what_people_said_is_kept(server: FakeHindsight, run: Runner) -> None:
    face = Face(run, HindsightChatMessageHistory("s", bank_id="ada", hindsight_api_url=server.url))
    await face.add(
        SystemMessage("Be brief."),
        HumanMessage([{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": "x"}}]),
        calling(("lookup", {"q": "x"})),
        ToolMessage("found", tool_call_id="call-0"),
        AIMessage("<think>Hm.</think>Seen."),
    )
    assert words(await face.read()) == [("human", "Look"), ("ai", "Seen.")]
    before = len(server.requests_for("retain"))
    await face.add(ToolMessage("found", tool_call_id="call-0"))
    assert len(server.requests_for("retain")) == before


async def test_the_same_words_twice_are_two_messages(server: FakeHindsight, run: Runner) -> None:
    face = Face(run, HindsightChatMessageHistory("s", bank_id="ada", hindsight_api_url=server.url))
    for _ in range(2):
        await face.add(HumanMessage("Go on."), AIMessage("Ok."))
    assert words(await face.read()) == [("human", "Go on."), ("ai", "Ok.")] * 2


@pytest.mark.feature("C5")
async def test_what_could_not_be_stored_goes_with_the_next(
    server: FakeHindsight, run: Runner, caplog: pytest.LogCaptureFixture
) -> None:
    face = Face(run, HindsightChatMessageHistory("s", bank_id="ada", hindsight_api_url=server.url))
    server.fail("retain", status=400, detail="out of order")
    with caplog.at_level(logging.WARNING, "hindsight_langchain"):
        await face.add(HumanMessage("One."), AIMessage("Two."))
    assert "Failed to store the session: " in caplog.text
    assert server.texts("ada") == []
    assert words(await face.read()) == [("human", "One."), ("ai", "Two.")]
    await face.add(HumanMessage("Three."))
    assert server.texts("ada") == ["One.", "Two.", "Three."]
    server.fail("other", status=400, detail="out of order")
    assert words(await face.read()) == [("human", "One."), ("ai", "Two."), ("human", "Three.")]
    assert "Failed to read the session: " in caplog.text
    server.fail("other", status=400, detail="out of order")
    with pytest.raises(HindsightError, match=r"Failed to clear the session: .*out of order"):
        await face.clear()
    strict = HindsightChatMessageHistory("s", bank_id="ada", hindsight_api_url=server.url, raise_on_error=True)
    server.fail("retain", status=400, detail="out of order")
    with pytest.raises(HindsightError, match=r"Failed to store the session: .*out of order"):
        await Face(run, strict).add(HumanMessage("Four."))
    server.fail("other", status=400, detail="out of order")
    with pytest.raises(HindsightError, match=r"Failed to read the session: .*out of order"):
        await Face(run, strict).read()


@pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated")
async def test_with_runnable_with_message_history(real_url: str, run: Runner) -> None:
    bank = f"history-chain-{run.face}"  # type: ignore[attr-defined]
    model = ScriptedModel("Noted.", "Dark.")
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("past"), ("human", "{asked}")])
    chain = RunnableWithMessageHistory(
        prompt | model,
        lambda session_id: HindsightChatMessageHistory(session_id, bank_id=bank, hindsight_api_url=real_url),
        input_messages_key="asked",
        history_messages_key="past",
    )
    config = {"configurable": {"session_id": "monday"}}
    await run(chain, {"asked": "I prefer a dark theme."}, config)
    await run(chain, {"asked": "Which theme do I prefer?"}, config)
    assert words(model.prompts[1]) == [
        ("human", "I prefer a dark theme."),
        ("ai", "Noted."),
        ("human", "Which theme do I prefer?"),
    ]
    stored = HindsightChatMessageHistory("monday", bank_id=bank, hindsight_api_url=real_url).messages
    assert [one.content for one in stored] == [
        "I prefer a dark theme.",
        "Noted.",
        "Which theme do I prefer?",
        "Dark.",
    ]


async def test_an_agent_that_stores_the_same_session_stores_nothing_twice(server: FakeHindsight, run: Runner) -> None:
    create_agent = pytest.importorskip("langchain.agents").create_agent
    from hindsight_langchain import HindsightMiddleware

    options: dict[str, Any] = {"bank_id": "ada", "hindsight_api_url": server.url}
    face = Face(run, HindsightChatMessageHistory("s", **options))
    said = [HumanMessage("One.", id="m1"), AIMessage("Two.", id="m2")]
    await face.add(*said)
    agent = create_agent(ScriptedModel("Four."), middleware=[HindsightMiddleware(**options)])
    await run(agent, {"messages": [*said, HumanMessage("Three.")]}, {"configurable": {"thread_id": "s"}})
    assert [one.content for one in await face.read()] == ["One.", "Two.", "Three.", "Four."]
    assert server.texts("ada") == ["One.", "Two.", "Three.", "Four."]


@pytest.mark.feature("C4")
async def test_the_run_names_the_bank(server: FakeHindsight, run: Runner) -> None:
    async def speak(name: str) -> None:
        def in_run(_: Any) -> None:
            HindsightChatMessageHistory("s", hindsight_api_url=server.url).add_user_message(f"I am {name}.")

        await run(RunnableLambda(in_run), None, {"configurable": {"user_id": name}})

    await speak("ada")
    await speak("bob")
    assert (server.texts("ada"), server.texts("bob")) == (["I am ada."], ["I am bob."])
    nobody = HindsightChatMessageHistory("s", hindsight_api_url=server.url, raise_on_error=True)
    with pytest.raises(HindsightError, match="no memory bank"):
        await Face(run, nobody).add(HumanMessage("Hello."))


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_go_on(server: FakeHindsight, again: Any) -> None:
    history = HindsightChatMessageHistory("s", bank_id="ada", hindsight_api_url=server.url, api_key="hsk_secret-4711")
    server.fail("retain", status=400)
    history.add_user_message("One.")
    assert "hsk_secret-4711" not in repr(pickle.dumps(history)) + repr(history) + repr(vars(history))
    other = again(history)
    other.add_ai_message("Two.")
    assert server.texts("ada") == ["One.", "Two."]


@pytest.mark.parametrize("wrong", ["", "  ", None, 7, ".", ".."])
def test_a_session_needs_a_name(wrong: Any) -> None:
    with pytest.raises(HindsightError, match="session_id"):
        HindsightChatMessageHistory(wrong, bank_id="ada")


def test_a_client_of_the_callers(server: FakeHindsight) -> None:
    with Hindsight(base_url=server.url) as client:
        history = HindsightChatMessageHistory("s", bank_id="ada", client=client)
        history.add_user_message("One.")
        assert words(history.messages) == [("human", "One.")]
