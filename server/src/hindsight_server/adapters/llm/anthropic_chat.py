"""Anthropic's messages, through the anthropic library."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from hindsight_server.adapters.llm.anthropic_wire import read_reply, request_body
from hindsight_server.adapters.llm.endpoint import Endpoint, quiet_libraries
from hindsight_server.adapters.llm.failures import failure
from hindsight_server.adapters.llm.wire import decoded
from hindsight_server.domain.errors import ModelRefused, ModelTimedOut, ModelUnavailable
from hindsight_server.ports.llm import ChatReply, ChatRequest

if TYPE_CHECKING:
    import anthropic

_PATH = "/v1/messages"
_CONNECT_SECONDS = 10.0


class AnthropicProvider:
    """One model behind Anthropic's API.

    Args:
        endpoint: where it is. None of the library's own environment variables is heeded: their key belongs elsewhere.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client: anthropic.AsyncAnthropic | None = None
        self._opening = asyncio.Lock()

    @property
    def model(self) -> str:
        return self._endpoint.model

    @property
    def provider(self) -> str:
        return self._endpoint.provider

    async def chat(self, request: ChatRequest) -> ChatReply:
        client = await self._opened()
        status, headers, body = await self._post(client, request)
        if status >= 300:
            raise failure(self._endpoint, status, headers, body)
        if not isinstance(body, dict):
            raise ModelRefused(f"{self._endpoint.name} answers with something else than Anthropic's API.")
        return read_reply(body, request, self._endpoint.name)

    async def prepare(self) -> None:
        await self._opened()

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def _post(self, client: anthropic.AsyncAnthropic, request: ChatRequest) -> tuple[int, dict[str, str], Any]:
        """Status, headers and decoded body. Raises ModelUnavailable when there is no answer."""
        import anthropic
        import httpx2

        limit = anthropic.Timeout(request.timeout_seconds, connect=_CONNECT_SECONDS)
        body = request_body(self.model, request)
        try:
            answer = await client.post(_PATH, cast_to=httpx2.Response, body=body, options={"timeout": limit})
        except anthropic.APIStatusError as error:
            answer = error.response
        except anthropic.APITimeoutError:
            raise ModelTimedOut(f"{self._endpoint.name} did not answer in time.") from None
        except (anthropic.APIConnectionError, httpx2.HTTPError) as error:
            cause = type(error.__cause__ or error).__name__
            raise ModelUnavailable(f"{self._endpoint.name} can't be reached ({cause}).") from None
        return answer.status_code, dict(answer.headers), decoded(answer.content)

    async def _opened(self) -> anthropic.AsyncAnthropic:
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(self._open)
            return self._client

    def _open(self) -> anthropic.AsyncAnthropic:
        import anthropic

        quiet_libraries()
        return anthropic.AsyncAnthropic(
            api_key=self._endpoint.key or "none",
            base_url=self._endpoint.path_url.removesuffix("/v1"),
            default_query=self._endpoint.query,
            max_retries=0,  # they are counted and logged by the engine
            http_client=anthropic.DefaultAsyncHttpxClient(follow_redirects=False),
        )
