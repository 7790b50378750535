"""A provider of each wire format against a scripted server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

import pytest

from hindsight_server.adapters.llm import Endpoint, make_provider
from hindsight_server.ports.llm import ChatProvider, ChatReply, ChatRequest
from hindsight_server.testing.model_server import ModelServer, Script

Api = Literal["openai", "anthropic"]
KEY = "sk-test-0123456789"


@asynccontextmanager
async def opened(api: Api, url: str, *, key: str | None = KEY) -> AsyncIterator[ChatProvider]:
    provider = make_provider(Endpoint(provider=api, api=api, model="scripted", base_url=url, key=key))
    try:
        yield provider
    finally:
        await provider.close()


@pytest.fixture(params=["openai", "anthropic"])
def api(request: pytest.FixtureRequest) -> Api:
    return request.param  # type: ignore[no-any-return]


async def asked(api: Api, script: Script, request: ChatRequest) -> tuple[ChatReply, ModelServer]:
    """The answer of one question, and the server that was asked."""
    with ModelServer(script) as server:
        async with opened(api, server.url) as provider:
            return await provider.chat(request), server
