"""Anthropic's messages, through the anthropic library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hindsight_server.adapters.llm.anthropic_wire import read_reply, request_body
from hindsight_server.adapters.llm.bounds import answer_limit
from hindsight_server.adapters.llm.dialect import Dialect, Manner
from hindsight_server.adapters.llm.endpoint import Endpoint, quiet_libraries
from hindsight_server.adapters.llm.failures import late, unreachable
from hindsight_server.adapters.llm.library import Answered, LibraryProvider
from hindsight_server.adapters.llm.wire import decoded
from hindsight_server.domain.errors import ModelRefused
from hindsight_server.ports.llm import ChatReply, ChatRequest

if TYPE_CHECKING:
    import anthropic

_PATH = "/v1/messages"
_CONNECT_SECONDS = 10.0


class AnthropicProvider(LibraryProvider["anthropic.AsyncAnthropic"]):
    """One model behind Anthropic's API.

    A model that refuses ``temperature`` or a forced tool is asked again without it, and remembered.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint, Dialect(schemas=("tool", "prompt")))

    def _read(self, body: Any, request: ChatRequest) -> ChatReply:
        if not isinstance(body, dict):
            raise ModelRefused(f"{self._endpoint.name} answers with something else than Anthropic's API.")
        return read_reply(body, request, self._endpoint.name)

    async def _post(self, client: anthropic.AsyncAnthropic, request: ChatRequest, manner: Manner) -> Answered:
        import anthropic
        import httpx2

        limit = anthropic.Timeout(request.timeout_seconds, connect=_CONNECT_SECONDS)
        body = request_body(self.model, request, manner)
        try:
            answer = await client.post(_PATH, cast_to=httpx2.Response, body=body, options={"timeout": limit})
        except anthropic.APIStatusError as error:
            answer = error.response
        except anthropic.APITimeoutError:
            raise late(self._endpoint) from None
        except (anthropic.APIConnectionError, httpx2.HTTPError) as error:
            raise unreachable(self._endpoint, error) from None
        return Answered(answer.status_code, answer.headers, decoded(answer.content))

    def _open(self) -> anthropic.AsyncAnthropic:
        import anthropic
        import httpx2

        quiet_libraries()
        client = anthropic.AsyncAnthropic(
            api_key=self._endpoint.key or "none",
            base_url=self._endpoint.path_url.removesuffix("/v1"),
            default_query=self._endpoint.query,
            max_retries=0,  # they are counted and logged by the engine
            http_client=anthropic.DefaultAsyncHttpxClient(
                follow_redirects=False,
                auth=self._endpoint.login,
                event_hooks={"response": [answer_limit(self._endpoint, httpx2, _PATH)]},
            ),
        )
        client._custom_headers = {}
        return client
