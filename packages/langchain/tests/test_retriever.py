"""HindsightRetriever: LangChain's own suite on a real server, metadata, limits, failures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import create_retriever_tool
from langchain_tests.integration_tests import RetrieversIntegrationTests

from hindsight_adapter_core.testing import FakeHindsight
from hindsight_langchain import HindsightError, HindsightRetriever, create_hindsight_tools

Runner = Callable[..., Awaitable[Any]]
FACT = "Ada prefers a dark theme."


@pytest.fixture(autouse=True, scope="class")
def filled(request: pytest.FixtureRequest, real_url: str) -> None:
    if request.cls is None:
        return
    request.cls.url = real_url
    retain, *_ = create_hindsight_tools(bank_id="retriever", hindsight_api_url=real_url)
    for colour in ("red", "green", "blue", "black", "white"):
        retain.invoke({"content": f"The colour of Ada's {colour} bicycle is {colour}."})


@pytest.mark.feature("C3")
class TestStandard(RetrieversIntegrationTests):
    url = ""

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return HindsightRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"bank_id": "retriever", "hindsight_api_url": self.url}

    @property
    def retriever_query_example(self) -> str:
        return "Which colours do Ada's bicycles have?"


@pytest.mark.feature("C3")
async def test_documents_carry_what_is_known_of_a_memory(real_url: str, run: Runner) -> None:
    bank = f"retriever-{id(run)}"
    retain, *_ = create_hindsight_tools(
        bank_id=bank, hindsight_api_url=real_url, tags=["t"], retain_document_id="doc", retain_metadata={"a": "b"}
    )
    retain.invoke({"content": FACT})
    (document,) = await run(HindsightRetriever(bank_id=bank, hindsight_api_url=real_url, recall_tags=["t"]), "theme")
    assert isinstance(document, Document)
    assert "dark theme" in document.page_content
    assert document.metadata["id"] == document.id
    assert document.metadata["type"] in ("world", "experience")
    assert document.metadata["document_id"] == "doc"
    assert document.metadata["tags"] == ["t"]
    assert document.metadata["mentioned_at"]
    assert isinstance(document.metadata["score"], float)
    assert document.metadata["metadata"]["a"] == "b"


async def test_arguments_reach_the_server(server: FakeHindsight, run: Runner) -> None:
    server.remember("ada", *(f"Theme {number}." for number in range(9)), tags=["t"])
    retriever = HindsightRetriever(
        bank_id="ada",
        hindsight_api_url=server.url,
        k=4,
        budget="low",
        max_tokens=50,
        recall_types=["world"],
        recall_tags=["t"],
        recall_tags_match="all",
        tags=["a label of traces"],
    )
    assert len(await run(retriever, "theme")) == 4
    assert len(await run(retriever, "theme", None, k=2)) == 2
    body = server.requests_for("recall")[0].body
    assert (body["budget"], body["max_tokens"], body["types"]) == ("low", 50, ["world"])
    assert (body["tags"], body["tags_match"]) == (["t"], "all")
    assert await run(retriever, "  ") == []
    for wrong in (0, -1, "3", True):
        with pytest.raises(HindsightError, match="k must be"):
            HindsightRetriever(bank_id="ada", k=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="colour"):
        HindsightRetriever(bank_id="ada", colour="red")


@pytest.mark.feature("C5")
async def test_a_failing_search(server: FakeHindsight, run: Runner) -> None:
    server.fail("recall", status=400, detail="out of order", times=3)
    retriever = HindsightRetriever(bank_id="ada", hindsight_api_url=server.url)
    (document,) = await run(retriever, "theme")
    assert document.page_content.startswith("Failed to search memory: ")
    assert document.metadata == {"type": "error"}
    told = await run(create_retriever_tool(retriever, "memory", "Memories."), {"query": "theme"})
    assert "out of order" in told
    strict = HindsightRetriever(bank_id="ada", hindsight_api_url=server.url, raise_on_error=True)
    with pytest.raises(HindsightError, match="Failed to search memory: "):
        await run(strict, "theme")


async def test_in_a_chain_the_config_names_the_bank(server: FakeHindsight, run: Runner) -> None:
    server.remember("ada", FACT)
    server.remember("bob", "Bob prefers a light theme.")
    chain = HindsightRetriever(hindsight_api_url=server.url) | (lambda documents: documents[0].page_content)
    for bank, word in (("ada", "dark"), ("bob", "light")):
        assert word in await run(chain, "theme", {"configurable": {"user_id": bank}})
    assert "user_id" in await run(chain, "theme")
