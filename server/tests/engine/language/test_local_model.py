"""A small real model on a real server: what we send is understood, and what comes back can be read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from hindsight_server.adapters.llm import Endpoint, make_provider
from hindsight_server.engine.language import CallAbout, LanguageModel
from hindsight_server.engine.language.contract import State, check_model
from hindsight_server.ports.llm import Message, Schema
from hindsight_server.testing.local_model import MODEL, LocalModel

pytestmark = pytest.mark.slow
ABOUT = CallAbout(bank_id="ann", purpose="retain")


@pytest.fixture(scope="module")
def local() -> Iterator[LocalModel]:
    with LocalModel(context_tokens=1024) as started:
        yield started


@pytest.fixture
async def model(local: LocalModel) -> AsyncIterator[LanguageModel]:
    endpoint = Endpoint(provider="llamacpp", api="openai", model=MODEL, base_url=local.url)
    opened = LanguageModel(make_provider(endpoint))
    yield opened
    await opened.close()


async def test_it_answers_in_prose_and_its_tokens_are_counted(model: LanguageModel) -> None:
    answer = await model.complete([Message(role="user", text="Say hello.")], about=ABOUT, max_tokens=30)
    assert answer.text
    assert answer.usage.input_tokens > 0
    assert 0 < answer.usage.output_tokens <= 30


async def test_a_limit_of_tokens_cuts_it_off(model: LanguageModel) -> None:
    asked = [Message(role="user", text="Tell a very long story about the sea.")]
    assert (await model.complete(asked, about=ABOUT, max_tokens=5)).truncated


async def test_it_answers_by_a_schema(model: LanguageModel) -> None:
    place = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 20}}, "required": ["city"]}
    asked = [Message(role="user", text="Ann lives in Oslo. Which city is it?")]
    found = await model.structured(asked, Schema(name="place", schema=place), about=ABOUT, max_tokens=60)
    assert isinstance(found.value["city"], str)


async def test_the_doctor_tells_what_it_can_do(model: LanguageModel) -> None:
    found = {finding.check: finding.state async for finding in check_model(model)}
    assert found["completion"] is State.WORKS
    assert found["structured output"] is not State.FAILS
    assert found["image"] is State.FAILS
