"""OpenAI's batches: a file of questions that is answered within a day, at a lower price.

Source of the formats: "Batch API" in OpenAI's API reference.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final

from hindsight_server.adapters.llm.bounds import MOST_BYTES
from hindsight_server.adapters.llm.failures import failure, late, unreachable
from hindsight_server.adapters.llm.openai_chat import OpenAiProvider
from hindsight_server.adapters.llm.openai_wire import read_reply, request_body
from hindsight_server.adapters.llm.wire import as_mapping, as_text, decoded
from hindsight_server.domain.errors import BadModelAnswer, ModelError
from hindsight_server.ports.llm import ChatReply, ChatRequest

if TYPE_CHECKING:
    import openai
    from openai.types import Batch

_MOST_QUESTIONS = 50_000
_GIVEN_UP = frozenset({"failed", "expired", "cancelling", "cancelled"})
_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_MOST_BYTES = 200 << 20
"""Of the answers to a batch, unpacked: as much as its questions may have, which hold all that is to be answered."""
_URL: Final = "/v1/chat/completions"
_SECONDS = 300.0  # for a file of 200 MB, the most that is taken
_KEPT_SECONDS = 3 * 86_400  # then files go by themselves, when nobody is left to delete them
_LISTED = 100


class OpenAiBatchProvider(OpenAiProvider):
    """A model behind OpenAI's API that can be left questions, too."""

    async def submit(self, name: str, requests: Mapping[str, ChatRequest]) -> str:
        client = await self._opened()
        with self._translated():
            known = await client.batches.list(limit=_LISTED, timeout=_SECONDS)
            for batch in known.data or ():
                if (batch.metadata or {}).get("name") == name and batch.status not in _GIVEN_UP:
                    return batch.id
            lines = [self._line(custom_id, asked) for custom_id, asked in islice(requests.items(), _MOST_QUESTIONS)]
            sent = await client.files.create(
                file=("questions.jsonl", "\n".join(lines).encode()),
                purpose="batch",
                expires_after={"anchor": "created_at", "seconds": _KEPT_SECONDS},
                timeout=_SECONDS,
            )
            made = await client.batches.create(
                input_file_id=sent.id,
                endpoint=_URL,
                completion_window="24h",
                metadata={"name": name},
                output_expires_after={"anchor": "created_at", "seconds": _KEPT_SECONDS},
                timeout=_SECONDS,
            )
        if not isinstance(made.id, str):
            raise BadModelAnswer(f"{self._endpoint.name} made no batch.")
        return made.id

    async def poll(self, batch_id: str) -> Mapping[str, ChatReply] | None:
        client = await self._opened()
        with self._translated():
            batch = await client.batches.retrieve(batch_id, timeout=_SECONDS)
            if batch.status not in _ENDED:
                return None
            if batch.output_file_id is None:
                return {}
            answers: dict[str, ChatReply] = {}
            async for line in self._lines(client, batch.output_file_id):
                answers.update(self._read_line(line))
            return answers

    async def discard(self, batch_id: str) -> None:
        client = await self._opened()
        with contextlib.suppress(ModelError), self._translated():
            batch = await client.batches.retrieve(batch_id, timeout=_SECONDS)
            if batch.status not in _ENDED:
                with contextlib.suppress(ModelError), self._translated():
                    batch = await client.batches.cancel(batch_id, timeout=_SECONDS)
            for file_id in _files(batch):
                with contextlib.suppress(ModelError), self._translated():
                    await client.files.delete(file_id, timeout=_SECONDS)

    def _line(self, custom_id: str, asked: ChatRequest) -> str:
        body = request_body(self.model, asked, self._dialect.manner(asked))
        return json.dumps({"custom_id": custom_id, "method": "POST", "url": _URL, "body": body}, ensure_ascii=False)

    async def _lines(self, client: openai.AsyncOpenAI, file_id: str) -> AsyncIterator[bytes]:
        """The answers of a file as they come. Raises BadModelAnswer where one of them or all become too large."""
        size, begun = 0, b""
        async with client.files.with_streaming_response.content(file_id, timeout=_SECONDS) as answered:
            async for part in answered.iter_bytes():
                size += len(part)
                *lines, begun = (begun + part).split(b"\n")
                longest, name = max(map(len, (*lines, begun))), self._endpoint.name
                if longest > MOST_BYTES:
                    raise BadModelAnswer(f"{name} sent a batch with an answer of more than {MOST_BYTES >> 20} MiB.")
                if size > _MOST_BYTES:
                    raise BadModelAnswer(f"{name} sent the answers of a batch in more than {_MOST_BYTES >> 20} MiB.")
                for line in lines:
                    yield line
        yield begun

    def _read_line(self, line: bytes) -> Iterator[tuple[str, ChatReply]]:
        """The id of a question with its answer; nothing when that can't be used."""
        row = as_mapping(decoded(line))
        answer = as_mapping(row.get("response"))
        if answer.get("status_code") == 200:
            with contextlib.suppress(BadModelAnswer):
                yield as_text(row.get("custom_id")), read_reply(answer.get("body"), self._endpoint.name)

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        """The library's errors as those of the port."""
        import httpx
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            answer = error.response
            raise failure(self._endpoint, answer.status_code, dict(answer.headers), decoded(answer.content)) from None
        except openai.APITimeoutError:
            raise late(self._endpoint) from None
        except (openai.APIConnectionError, httpx.HTTPError) as error:
            raise unreachable(self._endpoint, error) from None


def _files(batch: Batch) -> list[str]:
    found = (batch.input_file_id, batch.output_file_id, batch.error_file_id)
    return [file_id for file_id in found if file_id]
