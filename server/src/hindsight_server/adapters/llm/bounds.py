"""How large an answer may be: what a model or a stranger at its address sends must not fill the server's memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from types import ModuleType
from typing import Any

from hindsight_server.adapters.llm.endpoint import Endpoint
from hindsight_server.domain.errors import BadModelAnswer

MOST_BYTES = 8 << 20
"""Bytes of an answer, unpacked. The longest answers that models write have some 128,000 tokens: half a megabyte of
text, and with its reasoning and all of JSON's escapes (six bytes for a letter) still less than this."""


def answer_limit(endpoint: Endpoint, http: ModuleType, path: str) -> Callable[[Any], Awaitable[None]]:
    """A hook for the responses of a client: reading an answer ends with an error where it becomes too large.

    Args:
        http: httpx, or httpx2, which has the same parts; the client's own.
        path: how the paths end whose answers are limited. The files of a batch hold the answers of many questions.

    Raises:
        BadModelAnswer: from reading the response, as the cause of the library's error.
    """

    stream: Any = http.AsyncByteStream

    class Limited(stream):  # type: ignore[misc]  # which library it is of is known at run time only
        def __init__(self, whole: Any) -> None:
            self._whole = whole

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for part in self._whole.aiter_bytes():
                size += len(part)
                if size > MOST_BYTES:
                    raise BadModelAnswer(f"{endpoint.name} sent an answer of more than {MOST_BYTES >> 20} MiB.")
                yield part

        async def aclose(self) -> None:
            await self._whole.aclose()

    async def limit(response: Any) -> None:
        if response.request.url.path.endswith(path) and not _is_short(response.headers):
            whole = http.Response(response.status_code, headers=response.headers, stream=response.stream)
            response.stream = Limited(whole)
            response.headers.pop("content-encoding", None)  # it is unpacked already, so that the bytes that count do

    return limit


def _is_short(headers: Mapping[str, str]) -> bool:
    """Whether an answer tells beforehand that it is within the limit; more than it tells is not read."""
    length = headers.get("content-length", "")
    packed = "content-encoding" in headers or "transfer-encoding" in headers
    return not packed and length.isdecimal() and len(length) < 10 and int(length) <= MOST_BYTES
