"""The memory tools: what they answer, and agents with the real tool node."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langchain_scripted import ScriptedModel, calling, create_agent

from hindsight_adapter_core.testing import FakeHindsight
from hindsight_langchain import HindsightError, configure, create_hindsight_tools

Runner = Callable[..., Awaitable[Any]]
FACT = "Ada prefers a dark theme."


def message(tool: BaseTool, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": "1", "name": tool.name, "args": arguments}


@pytest.mark.feature("C1")
async def test_answers_are_text_for_the_model_and_data_for_the_program(server: FakeHindsight, run: Runner) -> None:
    retain, recall, reflect = create_hindsight_tools(bank_id="ada", hindsight_api_url=server.url, tags=["t"])
    stored = await run(retain, message(retain, content=FACT))
    assert stored.content == "Memory stored successfully."
    assert stored.artifact["document_id"] == server.items()[0]["document_id"]
    found = await run(recall, message(recall, query="dark theme"))
    assert found.content == f"1. {FACT}"
    (memory,) = found.artifact["memories"]
    assert {"id", "type", "occurred_start", "mentioned_at", "score", "tags", "document_id"} <= set(memory)
    assert memory["text"] == FACT
    assert memory["tags"] == ["t"]
    assert memory["document_id"] == stored.artifact["document_id"]
    assert found.artifact["bank_id"] == "ada"
    json.dumps([stored.artifact, found.artifact])
    answer = await run(reflect, message(reflect, query="theme"))
    assert "dark" in answer.content
    assert answer.artifact["text"] == answer.content
    assert await run(recall, "dark theme") == f"1. {FACT}", "a plain string is the query"


@pytest.mark.feature("C1")
async def test_structured_reflect(server: FakeHindsight, run: Runner) -> None:
    server.remember("ada", FACT)
    server.reflect_output = {"theme": "dark"}
    (reflect,) = create_hindsight_tools(
        bank_id="ada",
        hindsight_api_url=server.url,
        reflect_response_schema={"type": "object"},
        include_retain=False,
        include_recall=False,
    )
    answer = await run(reflect, message(reflect, query="theme"))
    assert json.loads(answer.content) == {"theme": "dark"} == answer.artifact["structured_output"]


@pytest.mark.feature("C1")
def test_the_model_sees_one_described_argument_and_nothing_injected() -> None:
    for tool, argument in zip(create_hindsight_tools(bank_id="a"), ("content", "query", "query"), strict=True):
        assert list(tool.args) == [argument]
        assert tool.args[argument]["description"]
        schema = tool.tool_call_schema.model_json_schema()  # type: ignore[union-attr]
        assert list(schema["properties"]) == [argument]
        assert schema["required"] == [argument]


def test_a_choice_of_tools() -> None:
    def names(**options: bool) -> list[str]:
        return [tool.name for tool in create_hindsight_tools(bank_id="a", **options)]

    assert names() == ["retain_memory", "recall_memory", "reflect_on_memory"]
    assert names(include_retain=False) == ["recall_memory", "reflect_on_memory"]
    assert names(include_retain=False, include_recall=False, include_reflect=False) == []


@pytest.mark.feature("C5")
@pytest.mark.parametrize(
    ("operation", "tool", "argument", "sentence"),
    [
        ("retain", "retain_memory", "content", "Failed to store memory: "),
        ("recall", "recall_memory", "query", "Failed to search memory: "),
        ("reflect", "reflect_on_memory", "query", "Failed to reflect on memory: "),
    ],
)
async def test_a_failing_call_is_told_to_the_model_and_the_run_goes_on(
    server: FakeHindsight, run: Runner, operation: str, tool: str, argument: str, sentence: str
) -> None:
    server.fail(operation, status=400, detail="no such luck")
    model = ScriptedModel(calling((tool, {argument: "theme"})), "I could not do that.")
    agent = create_agent(model, create_hindsight_tools(bank_id="ada", hindsight_api_url=server.url))
    result = await run(agent, {"messages": [("user", "Hello")]})
    assert result["messages"][-1].content == "I could not do that."
    told = model.prompts[-1][-1]
    assert isinstance(told, ToolMessage)
    assert told.status == "error"
    assert str(told.content).startswith(sentence)
    assert "no such luck" in told.content


@pytest.mark.feature("C5")
async def test_two_calls_at_once_of_which_one_fails(server: FakeHindsight, run: Runner) -> None:
    server.remember("ada", FACT)
    server.fail("retain", status=400)
    both = calling(("retain_memory", {"content": "x"}), ("recall_memory", {"query": "theme"}))
    model = ScriptedModel(both, "Done.")
    agent = create_agent(model, create_hindsight_tools(bank_id="ada", hindsight_api_url=server.url))
    await run(agent, {"messages": [("user", "Hello")]})
    assert [one.status for one in model.prompts[-1] if isinstance(one, ToolMessage)] == ["error", "success"]
    assert f"1. {FACT}" in model.prompt


@pytest.mark.feature("C5")
async def test_raise_on_error_ends_the_run(server: FakeHindsight, run: Runner) -> None:
    server.fail("recall", status=400)
    tools = create_hindsight_tools(bank_id="ada", hindsight_api_url=server.url, raise_on_error=True)
    agent = create_agent(ScriptedModel(calling(("recall_memory", {"query": "theme"})), "Never said."), tools)
    with pytest.raises(HindsightError, match="Failed to search memory: "):
        await run(agent, {"messages": [("user", "Hello")]})


@pytest.mark.feature("C5")
async def test_wrong_arguments_are_told_to_the_model(server: FakeHindsight, run: Runner) -> None:
    model = ScriptedModel(calling(("recall_memory", {"question": 1})), "Sorry.")
    agent = create_agent(model, create_hindsight_tools(bank_id="ada", hindsight_api_url=server.url))
    await run(agent, {"messages": [("user", "Hello")]})
    assert model.prompts[-1][-1].status == "error"  # type: ignore[attr-defined]
    assert server.requests == []


async def test_configure_is_honoured_and_arguments_win(server: FakeHindsight, run: Runner) -> None:
    configure(hindsight_api_url=server.url, budget="high", max_tokens=99, tags=["c"], recall_tags=["c"], context="mine")
    retain, recall, _ = create_hindsight_tools(bank_id="ada", budget="low")
    await run(retain, {"content": FACT})
    await run(recall, {"query": "theme"})
    (item,) = server.items()
    assert (item["tags"], item["context"]) == (["c"], "mine")
    body = server.requests_for("recall")[0].body
    assert (body["budget"], body["max_tokens"], body["tags"]) == ("low", 99, ["c"])
    assert "hindsight-langchain/" in server.requests[-1].headers["User-Agent"]


def test_bad_arguments_name_themselves() -> None:
    for field, value in (("budget", "huge"), ("bank_id", " "), ("max_tokens", 0), ("tags", "not a list")):
        with pytest.raises(HindsightError, match=field):
            create_hindsight_tools(**{"bank_id": "a", field: value})  # type: ignore[arg-type]


@pytest.mark.feature("C1")
async def test_through_the_real_server(real_url: str, run: Runner) -> None:
    bank = f"tools-{run.__qualname__}-{id(run)}"
    tools = create_hindsight_tools(bank_id=bank, hindsight_api_url=real_url)
    model = ScriptedModel(
        calling(("retain_memory", {"content": "Ada's parrot is called Pico."})),
        "Noted.",
        calling(("recall_memory", {"query": "What is Ada's parrot called?"})),
        "Pico.",
    )
    agent = create_agent(model, tools)
    await run(agent, {"messages": [("user", "My parrot is called Pico.")]})
    result = await run(agent, {"messages": [("user", "What is my parrot called?")]})
    found = result["messages"][-2]
    assert "Pico" in found.content
    (memory, *_) = found.artifact["memories"]
    assert memory["id"]
    assert memory["mentioned_at"]
    assert memory["score"] is not None


@pytest.mark.feature("C1")
async def test_stored_in_the_background(server: FakeHindsight, run: Runner) -> None:
    retain, recall, _ = create_hindsight_tools(bank_id="ada", hindsight_api_url=server.url, retain_async=True)
    server.fail("retain", status=503, times=2)
    assert await run(retain, {"content": FACT}) == "Memory accepted; it is being stored in the background."
    for _ in range(100):
        if server.texts("ada"):
            break
        await asyncio.sleep(0.05)
    assert server.texts("ada") == [FACT]
    assert FACT in await run(recall, {"query": "theme"})
