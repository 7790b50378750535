"""What the providers share that speak through a maker's library: how it is opened, and how a question is put."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from hindsight_server.adapters.llm.dialect import Dialect, Manner
from hindsight_server.adapters.llm.endpoint import Endpoint
from hindsight_server.adapters.llm.failures import FAILED_ANSWERS, error_codes, error_text, failure, misunderstood
from hindsight_server.domain.errors import QuestionTooLong
from hindsight_server.ports.llm import ChatReply, ChatRequest

_MOST_TRIES = 8


class Closable(Protocol):
    async def close(self) -> None: ...


class Answered(NamedTuple):
    """What came on the wire. `body` is the decoded JSON; None when it is none."""

    status: int
    headers: Mapping[str, str]
    body: Any


Client = TypeVar("Client", bound=Closable)


class LibraryProvider(ABC, Generic[Client]):
    """One model at an endpoint. The library and its client are loaded at the first need, in a thread: it takes long.

    Args:
        endpoint: where it is. None of the library's own environment variables is heeded: their key belongs elsewhere.
        dialect: how a question is put, and what is left out of one that is not understood.
    """

    def __init__(self, endpoint: Endpoint, dialect: Dialect) -> None:
        self._endpoint = endpoint
        self._dialect = dialect
        self._client: Client | None = None
        self._opening = asyncio.Lock()

    @property
    def model(self) -> str:
        return self._endpoint.model

    @property
    def provider(self) -> str:
        return self._endpoint.provider

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Put the question, in a simpler manner each time it is not understood."""
        client = await self._opened()
        manner, first, learns = self._dialect.manner(request), None, True
        for _ in range(_MOST_TRIES):
            status, headers, body = await self._post(client, request, manner)
            if status < 300:
                reply = self._read(body, request)
                if learns:
                    self._dialect.understood(request, manner)
                return reply
            error = failure(self._endpoint, status, headers, body)
            first = first or error
            learns = learns and FAILED_ANSWERS.isdisjoint(error_codes(body))
            if not misunderstood(status, body) or isinstance(error, QuestionTooLong):
                raise error
            following = self._dialect.simpler(request, manner, error_text(body))
            if following is None:
                break
            manner = following
        assert first is not None
        raise first

    async def prepare(self) -> None:
        await self._opened()

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def _opened(self) -> Client:
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(self._open)
            return self._client

    @abstractmethod
    def _open(self) -> Client:
        """Import the library and make its client; nothing is sent."""

    @abstractmethod
    async def _post(self, client: Client, request: ChatRequest, manner: Manner) -> Answered:
        """Send a question. Raises ModelUnavailable when there is no answer, BadModelAnswer for one without end."""

    @abstractmethod
    def _read(self, body: Any, request: ChatRequest) -> ChatReply:
        """The reply in the body of an answer. Raises ModelError."""
