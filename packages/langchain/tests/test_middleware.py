"""HindsightMiddleware in real agents: what the model sees, what is stored, and what never happens twice."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_scripted import HindsightMiddleware, ScriptedModel, calling, create_agent
from langgraph.checkpoint.memory import InMemorySaver

from hindsight_adapter_core.testing import FakeHindsight
from hindsight_langchain import HindsightError, configure

Runner = Callable[..., Awaitable[Any]]
FACT = "Ada prefers a dark theme."
QUESTION = "Which theme does Ada prefer?"


@tool
def clock() -> str:
    """The time."""
    return "It is noon."


def thread(user: str = "ada", thread_id: str = "t1") -> dict[str, Any]:
    return {"configurable": {"user_id": user, "thread_id": thread_id}}


def elements(server: FakeHindsight, bank: str = "ada") -> list[dict[str, str]]:
    return [element for item in server.items(bank) for element in json.loads(item["content"])]


def words(server: FakeHindsight, bank: str = "ada") -> list[str]:
    return [element["content"] for element in elements(server, bank)]


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"messages": [HumanMessage(text, **more)]}


@pytest.mark.feature("C2")
async def test_remembers_across_conversations(server: FakeHindsight, run: Runner) -> None:
    model = ScriptedModel("Noted.", "Dark.")
    agent = create_agent(model, middleware=[HindsightMiddleware(hindsight_api_url=server.url)])
    await run(agent, said("I prefer a dark theme."), thread(thread_id="t1"))
    result = await run(agent, said("Which theme do I prefer?"), thread(thread_id="t2"))
    system, asked = model.prompts[-1]
    assert isinstance(system, SystemMessage)
    assert "1. I prefer a dark theme." in system.content
    assert asked.content == "Which theme do I prefer?"
    assert [one.type for one in result["messages"]] == ["human", "ai"], "the state holds no memories"
    assert "hindsight_conversation" not in result


@pytest.mark.feature("C2")
async def test_recalls_once_per_user_turn_however_often_the_model_is_called(server: FakeHindsight, run: Runner) -> None:
    server.remember("ada", FACT)
    model = ScriptedModel(calling(("clock", {})), calling(("clock", {})), "Dark.", "Still dark.")
    agent = create_agent(
        model,
        [clock],
        system_prompt="You are terse.",
        middleware=[HindsightMiddleware(hindsight_api_url=server.url)],
        checkpointer=InMemorySaver(),
    )
    await run(agent, said(QUESTION), thread())
    assert [one.body["query"] for one in server.requests_for("recall")] == [QUESTION]
    for prompt in model.prompts:
        assert str(prompt[0].content).startswith("You are terse.\n\n")
        assert FACT in prompt[0].content
        assert sum(isinstance(one, SystemMessage) for one in prompt) == 1
    await run(agent, said("And which theme now?"), thread())
    assert len(server.requests_for("recall")) == 2
    assert "hindsight" not in str(agent.get_state(thread()).values["messages"])


@pytest.mark.feature("C2")
async def test_no_memories_leave_the_request_alone(server: FakeHindsight, run: Runner) -> None:
    model = ScriptedModel("Hello.")
    agent = create_agent(model, middleware=[HindsightMiddleware(bank_id="ada", hindsight_api_url=server.url)])
    await run(agent, said("Hello there."))
    assert [one.type for one in model.prompts[0]] == ["human"]


async def test_parts_of_a_system_prompt_stay_parts(server: FakeHindsight, run: Runner) -> None:
    server.remember("ada", FACT)
    model = ScriptedModel("Dark.")
    parts = [{"type": "text", "text": "Be terse.", "cache_control": {"type": "ephemeral"}}]
    agent = create_agent(
        model,
        system_prompt=SystemMessage(content=parts),  # type: ignore[arg-type]
        middleware=[HindsightMiddleware(bank_id="ada", hindsight_api_url=server.url)],
    )
    await run(agent, said(QUESTION))
    first, block = model.prompts[0][0].content
    assert first == parts[0]
    assert FACT in block["text"]  # type: ignore[index]


@pytest.mark.feature("C2")
async def test_each_turn_is_one_dated_element_appended_to_one_document(server: FakeHindsight, run: Runner) -> None:
    middleware = HindsightMiddleware(hindsight_api_url=server.url, tags=["t"], retain_metadata={"app": "x"})
    replies = [AIMessage("Hi Ada.", name="bot", additional_kwargs={"timestamp": "2026-03-02T08:01:00+00:00"}), "Yes."]
    agent = create_agent(ScriptedModel(*replies), middleware=[middleware], checkpointer=InMemorySaver())
    moment = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
    await run(agent, said("I am Ada.", name="ada_l", additional_kwargs={"timestamp": moment}), thread())
    await run(agent, said("yes"), thread())
    first, second, third, fourth = elements(server)
    assert first.pop("id")
    assert first == {"role": "user", "name": "ada_l", "content": "I am Ada.", "timestamp": moment.isoformat()}
    assert second["role"] == "assistant"
    assert second["name"] == "bot"
    assert second["timestamp"] == "2026-03-02T08:01:00+00:00"
    assert third["content"] == "yes"
    assert datetime.fromisoformat(third["timestamp"]).tzinfo is not None
    assert fourth["content"] == "Yes."
    items = server.items("ada")
    assert {item["document_id"] for item in items} == {"t1"}
    assert {item["update_mode"] for item in items} == {"append"}
    assert items[0]["metadata"] == {"role": "user", "source": "langchain", "app": "x"}
    assert items[0]["tags"] == ["t"]
    assert len({request.body["operation_id"] for request in server.requests_for("retain")}) == 4


@pytest.mark.feature("C2")
async def test_without_a_thread_one_object_and_bank_is_one_conversation(server: FakeHindsight, run: Runner) -> None:
    agent = create_agent(ScriptedModel("Ok."), middleware=[HindsightMiddleware(hindsight_api_url=server.url)])
    history: list[Any] = []
    for number in range(3):
        history.append({"role": "user", "content": f"Message {number}."})
        result = await run(agent, {"messages": history}, {"configurable": {"user_id": "ada"}})
        history = list(result["messages"])
    assert words(server) == ["Message 0.", "Ok.", "Message 1.", "Ok.", "Message 2.", "Ok."]
    assert len({item["document_id"] for item in server.items()}) == 1


async def test_only_the_newest_message_is_passed_each_time(server: FakeHindsight, run: Runner) -> None:
    agent = create_agent(ScriptedModel("Ok."), middleware=[HindsightMiddleware(hindsight_api_url=server.url)])
    for text in ("One.", "Two.", "Two."):
        await run(agent, said(text), thread())
    assert words(server) == ["One.", "Ok.", "Two.", "Ok.", "Two.", "Ok."]
    assert {item["document_id"] for item in server.items()} == {"t1"}


@pytest.mark.feature("C2")
async def test_tool_traffic_summaries_and_heartbeats_are_not_stored(server: FakeHindsight, run: Runner) -> None:
    model = ScriptedModel(calling(("clock", {}), said="Let me look."), "Noon.")
    agent = create_agent(model, [clock], middleware=[HindsightMiddleware(hindsight_api_url=server.url)])
    summary = HumanMessage("Here is a summary.", additional_kwargs={"lc_source": "summarization"})
    image = {"type": "image", "url": "http://h/x.png"}
    question = HumanMessage([{"type": "text", "text": "What time is it?"}, image])  # type: ignore[list-item]
    await run(agent, {"messages": [SystemMessage("Be nice."), summary, question]}, thread())
    await run(agent, said("HEARTBEAT"), thread(thread_id="t2"))
    assert words(server) == ["What time is it?", "Noon.", "Noon."]
    assert [one.body["query"] for one in server.requests_for("recall")] == ["What time is it?"]


@pytest.mark.feature("C2")
async def test_several_messages_before_the_answer_are_one_turn(server: FakeHindsight, run: Runner) -> None:
    agent = create_agent(ScriptedModel("Nice."), middleware=[HindsightMiddleware(hindsight_api_url=server.url)])
    await run(agent, {"messages": [("user", "I moved."), ("user", "To Paris.")]}, thread())
    assert words(server) == ["I moved.", "To Paris.", "Nice."]
    assert [one.body["query"] for one in server.requests_for("recall")] == ["I moved.\nTo Paris."]


@pytest.mark.feature("C2")
async def test_several_processes_share_a_thread_and_store_nothing_twice(server: FakeHindsight, run: Runner) -> None:
    saver = InMemorySaver()

    def process() -> Any:
        middleware = HindsightMiddleware(hindsight_api_url=server.url)
        return create_agent(ScriptedModel("Ok."), middleware=[middleware], checkpointer=saver)

    first, second = process(), process()
    for number, agent in enumerate((first, second, first, second)):
        await run(agent, said(f"Message {number}."), thread())
    assert words(server) == [text for number in range(4) for text in (f"Message {number}.", "Ok.")]


async def test_the_same_words_again_are_stored_again(server: FakeHindsight, run: Runner) -> None:
    middleware = HindsightMiddleware(hindsight_api_url=server.url)
    agent = create_agent(ScriptedModel("Yes."), middleware=[middleware], checkpointer=InMemorySaver())
    for _ in range(3):
        await run(agent, said("Is it on?"), thread())
    assert words(server) == ["Is it on?", "Yes."] * 3
    assert len(server.texts("ada")) == 6, "no operation id was used twice"


async def test_answers_from_a_cache_bring_the_same_id_again(server: FakeHindsight, run: Runner) -> None:
    model = ScriptedModel(AIMessage("Ok.", id="cached"))
    agent = create_agent(model, middleware=[HindsightMiddleware(bank_id="ada", hindsight_api_url=server.url)])
    for text in ("One.", "Two."):
        await run(agent, said(text))
    assert words(server) == ["One.", "Ok.", "Two.", "Ok."]


async def test_summarised_conversations_go_on(server: FakeHindsight, run: Runner) -> None:
    summariser = SummarizationMiddleware(ScriptedModel("They talked."), trigger=("messages", 5), keep=("messages", 2))
    agent = create_agent(
        ScriptedModel("Ok."),
        middleware=[summariser, HindsightMiddleware(hindsight_api_url=server.url)],
        checkpointer=InMemorySaver(),
    )
    for number in range(6):
        await run(agent, said(f"Message {number}."), thread())
    assert words(server) == [text for number in range(6) for text in (f"Message {number}.", "Ok.")]


@pytest.mark.feature("C5")
async def test_failures_end_nothing_and_the_model_and_the_log_are_told(
    server: FakeHindsight, run: Runner, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="hindsight_langchain")
    server.fail("recall", status=400, detail="out of order", times=9)
    server.fail("retain", status=400)
    model = ScriptedModel(calling(("clock", {})), "Hello.", "Hello again.")
    middleware = HindsightMiddleware(hindsight_api_url=server.url)
    agent = create_agent(model, [clock], middleware=[middleware], checkpointer=InMemorySaver())
    result = await run(agent, said("Hello there."), thread())
    assert result["messages"][-1].content == "Hello."
    assert "Failed to search memory: " in model.prompts[0][0].content
    assert "out of order" in model.prompts[1][0].content
    assert len(server.requests_for("recall")) == 1, "an outage is met once a turn"
    assert "Failed to store memory: " in caplog.text
    assert words(server)[:1] == ["Hello there."]
    await run(agent, said("Hello?"), thread())
    assert server.texts("ada") == ["Hello there.", "Hello.", "Hello?", "Hello again."], "the lost turn was made up for"


@pytest.mark.feature("C5")
@pytest.mark.parametrize("operation", ["recall", "retain"])
async def test_raise_on_error(server: FakeHindsight, run: Runner, operation: str) -> None:
    server.fail(operation, status=400)
    middleware = HindsightMiddleware(bank_id="ada", hindsight_api_url=server.url, raise_on_error=True)
    with pytest.raises(HindsightError, match="Failed to"):
        await run(create_agent(ScriptedModel("x"), middleware=[middleware]), said("Hello there."))


@pytest.mark.feature("C5")
async def test_without_a_bank_or_a_key_nothing_is_sent(server: FakeHindsight, run: Runner) -> None:
    model = ScriptedModel("Hello.")
    await run(create_agent(model, middleware=[HindsightMiddleware(hindsight_api_url=server.url)]), said("Hello there."))
    assert "user_id" in model.prompt
    assert server.requests == []
    await run(create_agent(model, middleware=[HindsightMiddleware(bank_id="ada")]), said("Hello there."))
    assert "hindsight serve" in model.prompt


async def test_half_of_it(server: FakeHindsight, run: Runner) -> None:
    server.remember("ada", FACT)
    model = ScriptedModel("Ok.")
    for options, recalls, retains in (({"auto_recall": False}, 0, 2), ({"auto_retain": False}, 1, 2)):
        middleware = HindsightMiddleware(bank_id="ada", hindsight_api_url=server.url, **options)  # type: ignore[arg-type]
        await run(create_agent(model, middleware=[middleware]), said(QUESTION))
        assert (len(server.requests_for("recall")), len(server.requests_for("retain"))) == (recalls, retains)


async def test_the_middleware_brings_tools(server: FakeHindsight, run: Runner) -> None:
    model = ScriptedModel(calling(("retain_memory", {"content": FACT})), "Noted.")
    middleware = HindsightMiddleware(hindsight_api_url=server.url, include_retain=True, auto_retain=False)
    result = await run(create_agent(model, middleware=[middleware]), said("I like it dark."), thread())
    assert isinstance(result["messages"][2], ToolMessage)
    assert server.texts("ada") == [FACT]


async def test_options_are_honoured(server: FakeHindsight, run: Runner) -> None:
    server.remember("ada", *(f"Theme number {number} is dark." for number in range(9)), tags=["t"])
    configure(hindsight_api_url=server.url, budget="high")
    model = ScriptedModel("Ok.")
    middleware = HindsightMiddleware(
        bank_id="ada",
        recall_tags=["t"],
        max_recall_results=2,
        memory_prompt_template='{"a": 1} {memories} {b}',
        retain_document_id="doc",
        mission="Themes",
    )
    await run(create_agent(model, middleware=[middleware]), said("theme"))
    assert model.prompts[0][0].content == '{"a": 1} 1. Theme number 8 is dark.\n2. Theme number 7 is dark. {b}'
    body = server.requests_for("recall")[0].body
    assert (body["budget"], body["tags"]) == ("high", ["t"])
    assert server.items()[0]["document_id"] == "doc"
    assert server.banks["ada"].mission == "Themes"
    with pytest.raises(HindsightError, match="colour"):
        HindsightMiddleware(colour="red")  # type: ignore[call-arg]
    with pytest.raises(HindsightError, match="memory_prompt_template"):
        HindsightMiddleware(memory_prompt_template="nothing")
    for number in (0, -1, 2.5):
        with pytest.raises(HindsightError, match="max_recall_results"):
            HindsightMiddleware(max_recall_results=number)  # type: ignore[arg-type]


async def test_what_the_conversation_holds_is_not_told_again(server: FakeHindsight, run: Runner) -> None:
    middleware = HindsightMiddleware(hindsight_api_url=server.url)
    model = ScriptedModel("Noted.")
    agent = create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())
    await run(agent, said("My theme is dark."), thread())
    server.remember("ada", "The theme of the house is red.")
    await run(agent, said("What is my theme?"), thread())
    assert "house is red" in model.prompts[-1][0].content
    assert "My theme is dark." not in model.prompts[-1][0].content


@pytest.mark.feature("C2")
async def test_through_the_real_server(real_url: str, run: Runner) -> None:
    user = f"middleware-{id(run)}"
    model = ScriptedModel("What a nice name.", "Pico.")
    agent = create_agent(model, middleware=[HindsightMiddleware(hindsight_api_url=real_url)])
    await run(agent, said("My parrot is called Pico."), thread(user, "t1"))
    await run(agent, said("What is my parrot called?"), thread(user, "t2"))
    assert "Pico" in model.prompts[-1][0].content
