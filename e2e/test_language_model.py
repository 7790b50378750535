"""A memory with a language model behind it, from the words to a page that keeps itself current, over the wire."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hindsight_client import Hindsight

from hindsight_server.testing.model_server import Fail, ModelServer, Question, Reply, Say
from hindsight_server.testing.process import ServerProcess

BANK = "ann"
FACTS = {
    "Oslo": "Ann moved to Oslo.",
    "Bergen": "Ann moved to Bergen.",
}


def _facts(question: Question) -> Reply:
    said = [what for place, what in FACTS.items() if f"moved to {place}" in question.text]
    return {"facts": [{"what": what, "line": 1, "entities": [{"name": "Ann", "type": "PERSON"}]} for what in said]}


def _observations(question: Question) -> Reply:
    found = re.search(r"(F\d+): .*?(Ann moved to.*?)\.", question.text)
    assert found, question.text
    label, quote = found.groups()
    source = {"fact": label, "quote": quote}
    if "O1:" in question.text:
        text = "Ann moved to Oslo, and later to Bergen."
        return {"actions": [{"action": "contradict", "observation": "O1", "text": text, "sources": [source]}]}
    return {"actions": [{"action": "create", "observation": None, "text": quote + ".", "sources": [source]}]}


def _reflect(question: Question) -> Reply:
    if question.tool_choice not in (None, "auto", "required"):
        return Say(tools=((question.tool_choice, {"query": "Where does Ann live?"}),))
    given = [message["content"] for message in question.body["messages"] if message["role"] == "tool"]
    cited = re.findall(r"\bm\d+\b", " ".join(map(str, given)))
    return Say(tools=(("done", {"answer": "Ann lives in Bergen.", "memory_ids": cited, "found": True}),))


def answer(question: Question) -> Reply:
    """What a good small model would say, kind of question by kind."""
    if question.tools:
        return _reflect(question)
    properties = (question.schema or {}).get("properties", {})
    if "facts" in properties:
        return _facts(question)
    if "actions" in properties:
        return _observations(question)
    if "edits" in properties:
        return {"edits": []}
    if "city" in properties:
        return {"city": "Bergen"}
    return "Ann lives in Bergen."


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("with-a-model")
    with ModelServer(answer) as model, ServerProcess(folder, environment=model.environment()) as server:
        yield server.url


@pytest.fixture
def client(url: str) -> Iterator[Hindsight]:
    with Hindsight(base_url=url, timeout=30.0) as connected:
        yield connected


def _wait(until: Callable[[], Any], what: str) -> Any:
    for _ in range(150):
        found = until()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{what} did not come within 15 s")


def _texts(client: Hindsight, kind: str) -> list[str]:
    return [
        item["text"] if isinstance(item, dict) else item.text for item in client.list_memories(BANK, type=kind).items
    ]


@pytest.mark.feature("R7")
def test_words_become_facts_observations_and_a_page(client: Hindsight) -> None:
    client.create_bank(BANK)
    made = client.create_mental_model(
        BANK, name="Home", id="home", source_query="Where does Ann live?", trigger={"refresh_after_consolidation": True}
    )
    assert made.mental_model_id == "home"
    for place, day in (("Oslo", "2024-03-01"), ("Bergen", "2025-05-01")):
        said = f"Ann: I moved to {place} this week."
        client.retain_batch(BANK, [{"content": said, "timestamp": f"{day}T10:00:00Z"}], retain_async=True)
        fact = FACTS[place]
        _wait(lambda fact=fact: any(fact in text for text in _texts(client, "world")), fact)
        _wait(lambda place=place: any(place in text for text in _texts(client, "observation")), f"observation, {place}")
    observations = _texts(client, "observation")
    assert observations == ["Ann moved to Oslo, and later to Bergen."]
    page = _wait(
        lambda: (found := client.get_mental_model(BANK, "home")) and "Bergen" in (found.content or "") and found, "page"
    )
    assert page.content.strip() == "Ann lives in Bergen."


@pytest.mark.feature("F1")
def test_an_answer_with_its_evidence_and_in_a_wanted_shape(client: Hindsight) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    found = client.reflect(
        BANK, "Where does Ann live?", budget="mid", response_schema=schema, include_facts=True, include_tool_calls=True
    )
    assert found.text == "Ann lives in Bergen."
    assert found.structured_output == {"city": "Bergen"}
    assert any("Bergen" in memory.text for memory in found.based_on.memories)
    assert [call.tool for call in found.trace.tool_calls][-1] in ("recall", "done")
    assert found.usage.input_tokens > 0


@pytest.mark.feature("R7")
def test_case_a34_a_model_that_is_away_loses_no_words(tmp_path: Path) -> None:
    with ModelServer(lambda _: Fail(500)) as model:
        environment = model.environment(LLM_MAX_RETRIES="0")
        with (
            ServerProcess(tmp_path, environment=environment) as server,
            Hindsight(base_url=server.url, timeout=30.0) as client,
        ):
            client.retain(BANK, "Ann: I moved to Tromsø.")
            found = client.recall(BANK, "Where did Ann move?").results
    assert [result.text for result in found] == ["Ann: I moved to Tromsø."]
