"""Any server of OpenAI's chat completions, through the openai library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hindsight_server.adapters.llm.bounds import answer_limit
from hindsight_server.adapters.llm.dialect import Dialect, Manner
from hindsight_server.adapters.llm.endpoint import Endpoint, quiet_libraries
from hindsight_server.adapters.llm.failures import failure, late, unreachable
from hindsight_server.adapters.llm.library import Answered, LibraryProvider
from hindsight_server.adapters.llm.openai_wire import read_reply, request_body
from hindsight_server.adapters.llm.wire import as_mapping, decoded
from hindsight_server.domain.errors import ModelRefused
from hindsight_server.ports.llm import ChatReply, ChatRequest

if TYPE_CHECKING:
    import httpx
    import openai

_PATH = "/chat/completions"
_LIMITS = ("max_tokens", "max_completion_tokens")
_CONNECT_SECONDS = 10.0


class OpenAiProvider(LibraryProvider["openai.AsyncOpenAI"]):
    """One model behind OpenAI's API.

    A server that refuses ``response_format``, a forced tool, ``max_tokens`` or ``temperature`` is asked again without
    it, and remembered.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        own = endpoint.host == "https://api.openai.com"
        super().__init__(endpoint, Dialect(limits=_LIMITS[::-1] if own else _LIMITS))

    def _read(self, body: Any, request: ChatRequest) -> ChatReply:
        if not isinstance(body, dict):
            raise ModelRefused(
                f"{self._endpoint.name} answers with something else than OpenAI's API; "
                "check the address (it mostly ends in /v1)."
            )
        error = body.get("error")
        if error and not body.get("choices"):
            code = as_mapping(error).get("code")
            status = code if isinstance(code, int) and 400 <= code < 600 else 502
            raise failure(self._endpoint, status, {}, body)
        return read_reply(body, self._endpoint.name)

    async def _post(self, client: openai.AsyncOpenAI, request: ChatRequest, manner: Manner) -> Answered:
        import httpx
        import openai

        limit = httpx.Timeout(request.timeout_seconds, connect=_CONNECT_SECONDS)
        body = request_body(self.model, request, manner)
        try:
            answer = await client.post(_PATH, cast_to=httpx.Response, body=body, options={"timeout": limit})
        except openai.APIStatusError as error:
            answer = error.response
        except openai.APITimeoutError as error:
            # Over aiohttp a connection that breaks, or can't be made, comes as one that is late.
            if not _timed_out(error):
                raise unreachable(self._endpoint, error.__cause__ or error) from None
            raise late(self._endpoint) from None
        except (openai.APIConnectionError, httpx.HTTPError) as error:
            raise unreachable(self._endpoint, error) from None
        return Answered(answer.status_code, answer.headers, decoded(answer.content))

    def _open(self) -> openai.AsyncOpenAI:
        import openai

        quiet_libraries()
        client = openai.AsyncOpenAI(
            api_key=self._endpoint.key or "none",
            base_url=self._endpoint.path_url,
            default_query=self._endpoint.query,
            max_retries=0,  # they are counted and logged by the engine
            http_client=_http_client(self._endpoint),
        )
        client.organization = client.project = None
        client._custom_headers = {}
        return client


def _timed_out(error: BaseException | None) -> bool:
    """Whether an error came of a limit of time."""
    while error is not None and not isinstance(error, TimeoutError):
        error = error.__cause__
    return error is not None


def _http_client(endpoint: Endpoint) -> httpx.AsyncClient:
    """The library's client over aiohttp, which takes half the processor time of its usual one, or less: that one looks
    at every open connection for each question."""
    import httpx
    import openai

    hooks: dict[str, Any] = {"response": [answer_limit(endpoint, httpx, _PATH)]}
    try:
        return openai.DefaultAioHttpClient(follow_redirects=False, auth=endpoint.login, event_hooks=hooks)
    except RuntimeError:  # openai was installed without its extra of that name
        return openai.DefaultAsyncHttpxClient(follow_redirects=False, auth=endpoint.login, event_hooks=hooks)
