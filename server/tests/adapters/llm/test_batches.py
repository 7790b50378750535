"""Batches of OpenAI's API against a server on loopback."""

from __future__ import annotations

import pytest

from hindsight_server.adapters.llm import Endpoint, make_provider, openai_batch
from hindsight_server.domain.errors import BadModelAnswer, KeyRefused, ModelRefused, ModelUnavailable
from hindsight_server.ports.llm import BatchProvider, ChatRequest, Message, Schema
from hindsight_server.testing.model_batches import Batches
from hindsight_server.testing.model_server import Fail, ModelServer, Say, Script

from .conftest import KEY, opened

PLACE = Schema(name="place", schema={"type": "object", "properties": {"city": {"type": "string"}}})


def asked(text: str) -> ChatRequest:
    return ChatRequest(messages=(Message(role="user", text=text),), schema=PLACE, max_tokens=50)


QUESTIONS = {"one": asked("Where is Ann? 在哪里？\nNow."), "two": asked("Where is Bob?")}


async def test_questions_are_left_and_answered_by_their_ids() -> None:
    batches = Batches(held=True)
    with ModelServer([{"city": "Oslo"}, Say(text="half", finish="length")], batches=batches) as server:
        async with opened("openai", server.url) as provider:
            assert isinstance(provider, BatchProvider)
            batch_id = await provider.submit("job", QUESTIONS)
            assert await provider.poll(batch_id) is None
            batches.held = False
            found = await provider.poll(batch_id)
            assert found is not None
            assert (found["one"].text, found["one"].usage.input_tokens) == ('{"city": "Oslo"}', 10)
            assert found["two"].truncated
            await provider.discard(batch_id)
    first = server.questions[0]
    assert (first.text, first.schema, first.body["max_tokens"]) == (QUESTIONS["one"].messages[0].text, PLACE.schema, 50)
    assert batches.made[0]["endpoint"] == "/v1/chat/completions"
    assert batches.files == {}


async def test_the_same_name_is_left_once() -> None:
    batches = Batches(held=True)
    with ModelServer([], batches=batches) as server:
        async with opened("openai", server.url) as provider:
            assert isinstance(provider, BatchProvider)
            first = await provider.submit("job", QUESTIONS)
            assert await provider.submit("job", QUESTIONS) == first
            assert await provider.submit("other", QUESTIONS) != first
            await provider.discard(first)
            assert batches.made[0]["status"] == "cancelled"
            assert await provider.submit("job", QUESTIONS) != first
    assert len(batches.made) == 3


async def test_rows_that_failed_are_missing() -> None:
    with ModelServer([Fail(500), {"city": "Rome"}], batches=Batches()) as server:
        async with opened("openai", server.url) as provider:
            assert isinstance(provider, BatchProvider)
            found = await provider.poll(await provider.submit("job", QUESTIONS))
            assert found is not None
            assert list(found) == ["two"]


async def test_an_expired_batch_has_the_answers_that_came_in_time() -> None:
    with ModelServer([{"city": "Oslo"}], batches=Batches(ends="expired")) as server:
        async with opened("openai", server.url) as provider:
            assert isinstance(provider, BatchProvider)
            found = await provider.poll(await provider.submit("job", QUESTIONS))
            assert found is not None
            assert list(found) == ["one"]


@pytest.mark.parametrize("ends", ["failed", "cancelled"])
async def test_a_batch_that_came_to_nothing_has_no_answers(ends: str) -> None:
    with ModelServer([], batches=Batches(ends=ends)) as server:
        async with opened("openai", server.url) as provider:
            assert isinstance(provider, BatchProvider)
            assert await provider.poll(await provider.submit("job", QUESTIONS)) == {}


@pytest.mark.parametrize(("status", "error"), [(401, KeyRefused), (403, ModelRefused), (503, ModelUnavailable)])
async def test_failures_are_those_of_single_questions(status: int, error: type[Exception]) -> None:
    with ModelServer([], batches=Batches(refused=status)) as server:
        async with opened("openai", server.url) as provider:
            assert isinstance(provider, BatchProvider)
            with pytest.raises(error) as caught:
                await provider.submit("job", QUESTIONS)
            assert KEY not in str(caught.value)
            assert "Ann" not in str(caught.value)
            with pytest.raises(error):
                await provider.poll("batch_1")
            await provider.discard("batch_1")


@pytest.mark.parametrize(
    ("limit", "told"), [("MOST_BYTES", "a batch with an answer of"), ("_MOST_BYTES", "the answers of a batch in")]
)
async def test_answers_that_are_too_large_are_read_no_further(
    limit: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai_batch, limit, 2 << 20)
    filler = "x" * (1 << 20)
    said = [Say(text=filler * 3)] if limit == "MOST_BYTES" else [Say(text=filler) for _ in QUESTIONS]
    with ModelServer([*said, *said], batches=Batches()) as server:
        async with opened("openai", server.url) as provider:
            assert isinstance(provider, BatchProvider)
            batch_id = await provider.submit("job", QUESTIONS)
            with pytest.raises(BadModelAnswer, match=f"{told} more than 2 MiB"):
                await provider.poll(batch_id)


async def test_answers_that_are_deleted_are_told() -> None:
    batches = Batches()
    with ModelServer([{"city": "Oslo"}, {"city": "Rome"}], batches=batches) as server:
        async with opened("openai", server.url) as provider:
            assert isinstance(provider, BatchProvider)
            batch_id = await provider.submit("job", QUESTIONS)
            assert await provider.poll(batch_id)
            batches.files.clear()
            with pytest.raises(ModelRefused):
                await provider.poll(batch_id)


async def test_a_server_without_batches_refuses_them() -> None:
    script: Script = []
    with ModelServer(script) as server:
        async with opened("openai", server.url) as provider:
            assert isinstance(provider, BatchProvider)
            with pytest.raises(ModelRefused):
                await provider.submit("job", QUESTIONS)


def test_only_openai_has_batches() -> None:
    groq = make_provider(Endpoint(provider="groq", api="openai", model="m", base_url="http://127.0.0.1:9/v1"))
    assert not isinstance(groq, BatchProvider)
