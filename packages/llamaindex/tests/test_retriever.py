"""HindsightRetriever through both of its faces, and where the framework takes a retriever."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode
from llamaindex_scripted import ScriptedLLM

from hindsight_adapter_core.testing import FakeHindsight
from hindsight_llamaindex import HindsightError, HindsightRetriever, configure

pytestmark = pytest.mark.feature("L8")

FACT = "Ada prefers a dark theme."
QUESTION = "Which theme does Ada prefer?"
Search = Callable[[HindsightRetriever, str], Awaitable[list[NodeWithScore]]]


@pytest.fixture(params=["sync", "async"])
def search(request: pytest.FixtureRequest) -> Search:
    async def run(retriever: HindsightRetriever, query: str) -> list[NodeWithScore]:
        return retriever.retrieve(query) if request.param == "sync" else await retriever.aretrieve(query)

    return run


def retriever_of(server: FakeHindsight, **options: Any) -> HindsightRetriever:
    return HindsightRetriever(**{"bank_id": "ada", "hindsight_api_url": server.url, **options})


async def test_memories_are_nodes_the_best_first(server: FakeHindsight, search: Search) -> None:
    server.remember("ada", "Ada likes rivers.", FACT, tags=["t"])
    retriever = retriever_of(server, recall_tags=["t"], budget="low", max_tokens=99, recall_types=["world"])
    assert isinstance(retriever, BaseRetriever)
    first, second = await search(retriever, QUESTION)
    assert (first.text, second.text) == (FACT, "Ada likes rivers.")
    assert isinstance(first.node, TextNode)
    assert first.node.node_id == server.banks["ada"].facts[1].id
    assert first.metadata == {"type": "world", "document_id": "given", "tags": ["t"]}
    assert first.node.get_content(MetadataMode.LLM) == f"type: world\n\n{FACT}"
    body = server.requests_for("recall")[0].body
    assert (body["query"], body["budget"], body["max_tokens"], body["types"]) == (QUESTION, "low", 99, ["world"])


async def test_how_many(server: FakeHindsight, search: Search) -> None:
    server.remember("ada", *(f"theme {number}" for number in range(20)))
    assert len(await search(retriever_of(server), "theme")) == 10
    assert len(await search(retriever_of(server, similarity_top_k=3), "theme")) == 3
    assert await search(retriever_of(server), "  ") == []
    assert await search(retriever_of(server, bank_id="unknown"), "theme") == []


async def test_failures(server: FakeHindsight, search: Search, caplog: pytest.LogCaptureFixture) -> None:
    server.fail("recall", status=500, times=2)
    assert await search(retriever_of(server), "theme") == []
    assert "Failed to search memory" in caplog.text
    with pytest.raises(HindsightError, match="Failed to search memory"):
        await search(retriever_of(server, raise_on_error=True), "theme")


async def test_async_leaves_the_loop_free(server: FakeHindsight) -> None:
    server.remember("ada", FACT)
    server.delay("recall", 0.3)
    task = asyncio.ensure_future(retriever_of(server).aretrieve("theme"))
    await asyncio.sleep(0.05)
    assert not task.done()
    assert len(await task) == 1


@pytest.mark.parametrize(
    "again", [copy.deepcopy, copy.copy, lambda one: pickle.loads(pickle.dumps(one))], ids=["deepcopy", "copy", "pickle"]
)
async def test_copies_hold_no_key(server: FakeHindsight, search: Search, again: Any) -> None:
    server.remember("ada", FACT)
    retriever = retriever_of(server, api_key="hsk_very-secret")
    assert [node.text for node in await search(again(retriever), "theme")] == [FACT]
    assert "hsk_very-secret" not in repr(retriever) + str(retriever.explain())


def test_a_query_engine_answers_from_memories(server: FakeHindsight) -> None:
    server.remember("ada", FACT)
    llm = ScriptedLLM("Dark.")
    engine = RetrieverQueryEngine(
        retriever=retriever_of(server), response_synthesizer=get_response_synthesizer(llm=llm)
    )
    response = engine.query(QUESTION)
    assert str(response) == "Dark."
    assert FACT in str(llm.prompts[0])
    assert [node.text for node in response.source_nodes] == [FACT]


def test_a_chat_engine_answers_from_memories(server: FakeHindsight) -> None:
    server.remember("ada", FACT)
    llm = ScriptedLLM("Dark.")
    engine = ContextChatEngine.from_defaults(retriever=retriever_of(server), llm=llm)
    assert str(engine.chat(QUESTION)) == "Dark."
    assert FACT in str(llm.prompts[0])


def test_settings(server: FakeHindsight) -> None:
    configure(hindsight_api_url=server.url, budget="high")
    retriever = HindsightRetriever(bank_id="ada")
    assert retriever.explain()["budget"] == ("high", "configure()")
    assert retriever.explain()["hindsight_api_url"] == (server.url, "configure()")
    for options, named in (
        ({"similarity_top_k": 0}, "similarity_top_k"),
        ({"recall_types": ["opinion"]}, "recall_types"),
        ({"bank_id": None}, "bank"),
    ):
        with pytest.raises(HindsightError, match=named):
            retriever_of(server, **options)
