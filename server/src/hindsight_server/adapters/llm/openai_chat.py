"""Any server of OpenAI's chat completions, through the openai library."""

from __future__ import annotations

import inspect
import itertools
from functools import cache
from typing import TYPE_CHECKING, Any

import orjson

from hindsight_server.adapters.llm.bounds import answer_limit
from hindsight_server.adapters.llm.dialect import Dialect, Manner
from hindsight_server.adapters.llm.endpoint import Endpoint, quiet_libraries
from hindsight_server.adapters.llm.failures import failure, late, unreachable
from hindsight_server.adapters.llm.library import Answered, LibraryProvider
from hindsight_server.adapters.llm.openai_wire import read_reply, request_body
from hindsight_server.adapters.llm.wire import as_mapping, decoded
from hindsight_server.domain.errors import ModelRefused
from hindsight_server.domain.ids import new_id
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
        self._url = endpoint.path_url.removesuffix("/") + _PATH  # whole, so that the library has nothing to join
        self._run, self._numbers = new_id(), itertools.count()

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

        options: openai.RequestOptions = {
            "timeout": httpx.Timeout(request.timeout_seconds, connect=_CONNECT_SECONDS),
            # All that is not given the library makes or copies for each question, at length.
            "idempotency_key": f"{self._run}-{next(self._numbers)}",
            "headers": {},
            "max_retries": 0,
        }
        body = _written(request_body(self.model, request, manner))
        try:
            answer = await client.post(self._url, cast_to=httpx.Response, options=options, **body)
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


def _written(body: dict[str, Any]) -> dict[str, Any]:
    """How the library is given a body: as JSON, where it takes that."""
    if _takes_content():
        try:
            return {"content": orjson.dumps(body)}
        except TypeError:  # a caller's schema may hold numbers of any size
            pass
    return {"body": body}


@cache
def _takes_content() -> bool:
    """Whether the library takes a body that is written already; openai 2.0 does not."""
    import openai

    return "content" in inspect.signature(openai.AsyncOpenAI.post).parameters


def _http_client(endpoint: Endpoint) -> httpx.AsyncClient:
    """The library's client over aiohttp, which takes half the processor time of its usual one, or less: that one looks
    at every open connection for each question."""
    import openai

    try:
        return _client_of(openai.DefaultAioHttpClient, endpoint)
    except RuntimeError:  # openai was installed without its extra of that name
        return _client_of(openai.DefaultAsyncHttpxClient, endpoint)


def _client_of(kind: type[httpx.AsyncClient], endpoint: Endpoint) -> httpx.AsyncClient:
    """A client that looks for cookies only in answers that set one; it would take long over each of the others."""
    import httpx

    class Cookies(httpx.Cookies):
        def extract_cookies(self, response: httpx.Response) -> None:
            if "set-cookie" in response.headers:
                super().extract_cookies(response)

    class Client(kind):  # type: ignore[misc, valid-type]
        cookies = Cookies()

    hooks: dict[str, Any] = {"response": [answer_limit(endpoint, httpx, _PATH)]}
    return Client(follow_redirects=False, auth=endpoint.login, event_hooks=hooks)
