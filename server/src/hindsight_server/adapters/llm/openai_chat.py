"""Any server of OpenAI's chat completions, through aiohttp.

OpenAI's own library takes six times the processor time for a question and over a second to be imported, and nothing of
what it does beyond sending is wanted here.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import ssl
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

import orjson

from hindsight_server.adapters.llm.dialect import Dialect, simpler
from hindsight_server.adapters.llm.endpoint import Endpoint, quiet_libraries
from hindsight_server.adapters.llm.failures import error_text, failure, misunderstood
from hindsight_server.adapters.llm.openai_wire import read_reply, request_body
from hindsight_server.adapters.llm.wire import as_mapping, decoded
from hindsight_server.domain.errors import ModelRefused, ModelTimedOut, ModelUnavailable, QuestionTooLong
from hindsight_server.ports.llm import ChatReply, ChatRequest

if TYPE_CHECKING:
    import aiohttp

_PATH = "/chat/completions"
_MOST_TRIES = 8
_CONNECT_SECONDS = 10.0
_IDLE_SECONDS = 15.0  # that a connection is kept; servers and what stands between close theirs after some more


class OpenAiProvider:
    """One model behind OpenAI's API.

    A server that refuses ``response_format``, a forced tool, ``max_tokens`` or ``temperature`` is asked again without
    it, and remembered.

    Args:
        endpoint: where it is. Of the environment only proxies and ``SSL_CERT_FILE`` are heeded.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        own = endpoint.host == "https://api.openai.com"
        self._dialect = Dialect("max_completion_tokens" if own else "max_tokens")
        self._client: aiohttp.ClientSession | None = None
        self._url = _address(endpoint)
        self._opening = asyncio.Lock()

    @property
    def model(self) -> str:
        return self._endpoint.model

    @property
    def provider(self) -> str:
        return self._endpoint.provider

    async def chat(self, request: ChatRequest) -> ChatReply:
        client = await self._opened()
        return await self._ask(client, request)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def _ask(self, client: aiohttp.ClientSession, request: ChatRequest) -> ChatReply:
        """Put the question, in a simpler manner each time it is not understood."""
        manner, first = self._dialect.manner(request), None
        for _ in range(_MOST_TRIES):
            status, headers, body = await self._post(client, request_body(self.model, request, manner), request)
            if status < 300:
                reply = self._read(body)
                self._dialect.understood(request, manner)
                return reply
            error = failure(self._endpoint, status, headers, body)
            first = first or error
            if not misunderstood(status, body) or isinstance(error, QuestionTooLong):
                raise error
            following = simpler(request, manner, error_text(body))
            if following is None:
                break
            manner = following
        assert first is not None
        raise first

    def _read(self, body: Any) -> ChatReply:
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

    async def _post(
        self, client: aiohttp.ClientSession, body: dict[str, Any], request: ChatRequest
    ) -> tuple[int, dict[str, str], Any]:
        """Status, headers and decoded body. Raises ModelUnavailable when there is no answer."""
        import aiohttp

        limit = aiohttp.ClientTimeout(total=request.timeout_seconds, sock_connect=_CONNECT_SECONDS)
        try:
            async with client.post(self._url, data=_encoded(body), timeout=limit, allow_redirects=False) as answer:
                headers = {name.lower(): value for name, value in answer.headers.items()}
                return answer.status, headers, decoded(await answer.read())
        except TimeoutError:
            raise ModelTimedOut(f"{self._endpoint.name} did not answer in time.") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            cause = type(error).__name__
            raise ModelUnavailable(f"{self._endpoint.name} can't be reached ({cause}).") from None

    async def _opened(self) -> aiohttp.ClientSession:
        if self._client is None:
            async with self._opening:
                if self._client is None:
                    secured = await asyncio.to_thread(_loaded)
                    self._client = self._open(secured)
        return self._client

    def _open(self, secured: ssl.SSLContext) -> aiohttp.ClientSession:
        import aiohttp

        quiet_libraries()
        return aiohttp.ClientSession(
            headers={"content-type": "application/json", "authorization": _authorization(self._endpoint)},
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS, ssl=secured),
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=_proxy(self._url),
        )


def _encoded(body: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:  # half of a character, or a number that is longer than its library takes
        return json.dumps(body).encode()


def _loaded() -> ssl.SSLContext:
    """What takes long the first time: the library, and the certificates, which not every system has."""
    import aiohttp  # noqa: F401
    import certifi

    return ssl.create_default_context(cafile=os.environ.get("SSL_CERT_FILE") or certifi.where())


def _address(endpoint: Endpoint) -> str:
    """Where questions go, with the query of the address; a name and password in it are sent as a header."""
    parts = urlsplit(endpoint.base_url)
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, place, parts.path.rstrip("/") + _PATH, parts.query, ""))


def _authorization(endpoint: Endpoint) -> str:
    parts = urlsplit(endpoint.base_url)
    if parts.username is None:
        return f"Bearer {endpoint.key or 'none'}"
    both = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(both.encode()).decode()}"


def _proxy(address: str) -> str | None:
    """The proxy that the environment names for an address."""
    parts = urlsplit(address)
    if not parts.hostname or proxy_bypass(parts.netloc):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")
