"""Both providers against a server on loopback."""

from __future__ import annotations

import pytest

from hindsight_server.adapters.llm import Endpoint, make_provider
from hindsight_server.ports.llm import ChatProvider, ChatRequest, Image, Message, Schema, Tool
from hindsight_server.testing.model_server import ModelServer, Reply, Say

ASKED = (Message(role="system", text="Be brief."), Message(role="user", text="Where does Ann live?"))
PLACE = Schema(name="place", schema={"type": "object", "properties": {"city": {"type": "string"}}})
RECALL = Tool(name="recall", description="Searches.", parameters={"type": "object", "properties": {}})
APIS = ("openai", "anthropic")


def provider_of(server: ModelServer, api: str, *, key: str | None = "sk-test-0123456789") -> ChatProvider:
    assert api in ("openai", "anthropic")
    wire = "anthropic" if api == "anthropic" else "openai"
    return make_provider(Endpoint(provider=api, api=wire, model="scripted", base_url=server.url, key=key))


async def ask(api: str, replies: list[Reply], request: ChatRequest) -> tuple[object, ModelServer]:
    with ModelServer(replies) as server:
        provider = provider_of(server, api)
        try:
            return await provider.chat(request), server
        finally:
            await provider.close()


@pytest.mark.parametrize("api", APIS)
async def test_a_question_and_its_answer(api: str) -> None:
    reply, server = await ask(api, [Say(text="Oslo.", reasoning="Rome?")], ChatRequest(messages=ASKED))
    assert reply.text == "Oslo."
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (10, 5)
    (question,) = server.questions
    assert (question.system, question.text) == ("Be brief.", "Where does Ann live?")
    assert question.body["model"] == "scripted"
