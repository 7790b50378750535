"""What the providers share that speak through a maker's library."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar

from hindsight_server.adapters.llm.endpoint import Endpoint


class Closable(Protocol):
    async def close(self) -> None: ...


Client = TypeVar("Client", bound=Closable)


class LibraryProvider(ABC, Generic[Client]):
    """One model at an endpoint. The library and its client are loaded at the first need, in a thread: it takes long.

    Args:
        endpoint: where it is. None of the library's own environment variables is heeded: their key belongs elsewhere.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client: Client | None = None
        self._opening = asyncio.Lock()

    @property
    def model(self) -> str:
        return self._endpoint.model

    @property
    def provider(self) -> str:
        return self._endpoint.provider

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
