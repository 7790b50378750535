"""A hundred turns, and a server that is killed in the middle, on the real server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from llamaindex_scripted import FunctionAgent, ScriptedLLM

from hindsight_adapter_core import DeliveryOptions
from hindsight_adapter_core.testing import FakeHindsight
from hindsight_llamaindex import HindsightMemory
from hindsight_server.testing.process import ServerProcess

pytestmark = pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")


async def talk(memory: HindsightMemory, numbers: range) -> list[str]:
    agent = FunctionAgent(tools=[], llm=ScriptedLLM(*(f"Answer {number}." for number in numbers)))
    return [str(await agent.run(f"Question {number}?", memory=memory)) for number in numbers]


def expected(count: int) -> list[str]:
    return [text for number in range(count) for text in (f"Question {number}?", f"Answer {number}.")]


@pytest.mark.feature("L6")
async def test_a_hundred_turns_send_each_word_once(server: FakeHindsight) -> None:
    memory = HindsightMemory.from_url(server.url, "ada")
    await talk(memory, range(100))
    sizes = [len(json.dumps(request.body)) for request in server.requests_for("retain")]
    assert len(sizes) == 200
    assert max(sizes) - min(sizes) <= 30, "no write grows with the conversation"
    assert server.texts("ada") == expected(100)


@pytest.mark.feature("L10")
async def test_a_killed_server_loses_nothing_and_gets_what_was_queued_once(tmp_path: Path) -> None:
    process = ServerProcess(tmp_path)
    process.start()
    try:
        options: dict[str, Any] = {"delivery": DeliveryOptions(first_pause=0.1, longest_pause=0.3)}
        memory = HindsightMemory.from_url(process.url, "ada", **options)
        answers = await talk(memory, range(3))
        process.kill()
        answers += await talk(memory, range(3, 5))
        process.start()
        answers += await talk(memory, range(5, 7))
        assert await memory.aflush(30) == 0
        assert answers == [f"Answer {number}." for number in range(7)]
        document = memory.to_dict()["conversation"]["document_id"]
        text = await memory._operations.documents.atext(document)
        assert [one["content"] for one in json.loads(text or "[]")] == expected(7)
    finally:
        process.stop()
