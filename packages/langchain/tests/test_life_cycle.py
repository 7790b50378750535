"""What everything that holds a memory can do with it: say its settings, wait for what is queued, close."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import hindsight_langgraph
from hindsight_adapter_core import DeliveryOptions
from hindsight_adapter_core.testing import FakeHindsight
from hindsight_langchain import (
    HindsightChatMessageHistory,
    HindsightError,
    HindsightRetriever,
    configure,
    create_hindsight_tools,
    create_recall_node,
    create_retain_node,
    memory_instructions,
)

#: Each makes an object from the common options, and is given one to use for a request.
HOLDERS: dict[str, tuple[Callable[..., Any], Callable[[Any], object]]] = {
    "tool": (lambda **o: create_hindsight_tools(**o)[1], lambda tool: tool.invoke({"query": "theme"})),
    "retriever": (HindsightRetriever, lambda retriever: retriever.invoke("theme")),
    "history": (lambda **o: HindsightChatMessageHistory("monday", **o), lambda history: history.messages),
    "recall node": (create_recall_node, lambda node: node.invoke({"messages": [("user", "theme")]})),
    "retain node": (create_retain_node, lambda node: node.invoke({"messages": [("user", "Hello there.")]})),
    "instructions": (memory_instructions, lambda instructions: instructions.sync()),
    "tool of langgraph": (
        lambda **o: hindsight_langgraph.create_hindsight_tools(**o)[1],
        lambda tool: tool.invoke({"query": "theme"}),
    ),
    "node of langgraph": (
        hindsight_langgraph.create_recall_node,
        lambda node: node.invoke({"messages": [("user", "theme")]}),
    ),
}


@pytest.fixture(params=list(HOLDERS))
def holder(request: pytest.FixtureRequest) -> tuple[Callable[..., Any], Callable[[Any], object]]:
    return HOLDERS[request.param]


@pytest.mark.feature("K1")
def test_everything_says_where_its_settings_come_from(holder: tuple[Callable[..., Any], object]) -> None:
    make, _ = holder
    hindsight_langgraph.configure(hindsight_api_url="http://127.0.0.1:9", api_key="hsk_secret", budget="high")
    configure(hindsight_api_url="http://127.0.0.1:9", api_key="hsk_secret", budget="high")
    told = make(bank_id="ada").explain()
    assert told["hindsight_api_url"] == ("http://127.0.0.1:9", "configure()")
    assert told["api_key"] == ("set", "configure()")
    assert told["bank_id"] == ("ada", "argument")
    assert told["budget"] == ("high", "configure()")
    assert told["max_tokens"] == (4096, "default")
    assert "hsk_secret" not in repr(told)


@pytest.mark.feature("K3")
async def test_everything_closes_and_opens_again(
    server: FakeHindsight, holder: tuple[Callable[..., Any], Callable[[Any], object]]
) -> None:
    make, use = holder
    one = make(bank_id="ada", hindsight_api_url=server.url)
    for _ in range(2):
        use(one)
        one.close()
        use(one)
        await one.aclose()
    assert len(server.requests) >= 2


@pytest.mark.feature("K3")
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
async def test_tools_wait_for_what_they_queued(server: FakeHindsight, again: Callable[[Any], Any]) -> None:
    delivery = DeliveryOptions(first_pause=0.01)
    tools = create_hindsight_tools(bank_id="ada", hindsight_api_url=server.url, retain_async=True, delivery=delivery)
    retain, recall, _ = again(tools)
    server.delay("retain", 0.2)
    retain.invoke({"content": "One."})
    assert recall.flush() == 0, "they share a queue"
    await retain.ainvoke({"content": "Two."})
    assert await recall.aflush() == 0
    assert sorted(server.texts("ada")) == ["One.", "Two."]


@pytest.mark.feature("C2")
def test_middleware_says_closes_and_takes_the_options_of_memory(server: FakeHindsight) -> None:
    pytest.importorskip("langchain", reason="middleware is for its agents")
    from hindsight_langchain import HindsightMiddleware, HindsightTaskMiddleware

    for make in (HindsightMiddleware, HindsightTaskMiddleware):
        one: Any = make(bank_id="ada", hindsight_api_url=server.url, budget="low", mission="Track themes")  # type: ignore[operator]
        assert one.explain()["budget"] == ("low", "argument")
        assert one.explain()["mission"] == ("Track themes", "argument")
        assert one.flush() == 0
        one.close()
        with pytest.raises(HindsightError, match=f"{make.__name__} knows no buget"):
            make(bank_id="ada", buget="low")  # type: ignore[operator]
