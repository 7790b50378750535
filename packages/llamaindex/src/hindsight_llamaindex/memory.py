"""``HindsightMemory``: what is said is stored, and what was said before comes back, without the agent's doing."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from hindsight_adapter_core import (
    BridgeError,
    HindsightError,
    RecallOutcome,
    fill_template,
    get_bridge,
    memory_lines,
)

from .agents import caller_takes_system_message
from .construction import DEFAULT_SYSTEM_PROMPT, MemoryBase
from .messages import with_memories

__all__ = ["DEFAULT_SYSTEM_PROMPT", "HindsightMemory"]

logger = logging.getLogger("hindsight_llamaindex")


class HindsightMemory(MemoryBase):
    """A LlamaIndex memory with a local buffer for this conversation and a Hindsight bank for all of them.

    Pass it as ``agent.run(..., memory=memory)``. What users write and what the assistant finally answers is stored,
    turn by turn, in one document of the bank; before the model is called, memories that fit the last user message are
    put in front of it; they are searched for while the message is being stored. One object is one conversation: make
    a new one for the next. The memory never makes an agent fail: when the server cannot be reached, a warning is
    logged and the agent goes on without memories. A turn that could not be stored is tried again in the background
    until it is, also after the memory was dumped and restored.

    Recalled memories come as a leading system message. Agents that throw such a message away (``ReActAgent`` and
    ``CodeActAgent`` without a ``system_prompt``) get the same text at the head of the last user message instead.
    Memories that the buffer holds word for word are left out.

    Use :meth:`from_client`, :meth:`from_url` or :meth:`from_defaults`. Fields can't be changed afterwards, and dumps
    (``to_dict``, pickle, ``Context.to_dict``) hold no API key: a restored memory finds its client by the dumped
    address, ``configure()`` and ``HINDSIGHT_API_KEY``. A copy shares the client and goes on in the same document;
    so does one that is restored while this one, or another copy of it, lives in the same process.

    Args:
        client: a client of yours; without one it is built from ``hindsight_api_url`` and ``api_key``.
        mission: what the bank is for; given one, the bank is created before its first use.
        hindsight_api_url: server address.
        api_key: bearer key.
        deadlines: time limits in seconds; default retain 15, recall 10, bank creation 15.
        retain_async: store every turn in the background; the agent never waits for a write.
        delivery: bounds and pauses of the background queue.
        **fields: the fields of this class.

    Raises:
        SettingsError: an argument is out of its range, or unknown.
    """

    @classmethod
    def class_name(cls) -> str:
        """``"HindsightMemory"``."""
        return "HindsightMemory"

    # -- reading -----------------------------------------------------------------------------------------------

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """The buffer with the memories that fit ``input``, or else the last user message.

        A query is searched for once in each user turn. When nothing is found, or there is nothing to search for, the
        buffer comes alone.
        """
        leading = not caller_takes_system_message()
        query, texts = self._session.lookup(input)
        if texts is None:
            try:
                outcome = get_bridge().run(lambda: self._recall(query))
            except HindsightError as error:
                outcome = _recall_failed(error)
            texts = self._session.note_recalled(query, outcome)
        return self._with(texts, leading)

    async def aget(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """Async twin of :meth:`get`."""
        leading = not caller_takes_system_message()
        query, texts = self._session.lookup(input)
        if texts is None:
            try:
                outcome = await self._recall(query)
            except HindsightError as error:
                outcome = _recall_failed(error)
            texts = self._session.note_recalled(query, outcome)
        return self._with(texts, leading)

    async def _recall(self, query: str) -> RecallOutcome:
        ahead = self._session.take_ahead(query)
        if ahead is not None:
            return await asyncio.wrap_future(ahead)
        return await self._operations.arecall(query, bank_id=self.bank_id)

    def _search_ahead(self, messages: Sequence[ChatMessage]) -> None:
        """Search while the question is being stored: an agent that has put it asks for memories next."""
        if len(messages) != 1 or messages[0].role != MessageRole.USER:
            return
        query, texts = self._session.lookup(None)
        if query and texts is None:
            bank_id, operations, bridge = self.bank_id, self._operations, get_bridge()
            with contextlib.suppress(BridgeError):  # the process ends; who asks is told
                self._session.search_ahead(
                    query, lambda: bridge.submit(lambda: operations.arecall(query, bank_id=bank_id))
                )

    def _with(self, texts: tuple[str, ...], leading: bool) -> list[ChatMessage]:
        block = fill_template(self.system_prompt, memory_lines(texts, style="bullets")) if texts else None
        return with_memories(block, self._session.messages, leading=leading)

    def get_all(self) -> list[ChatMessage]:
        """The buffer, without memories."""
        return self._session.messages

    async def aget_all(self) -> list[ChatMessage]:
        """Async twin of :meth:`get_all`."""
        return self._session.messages

    # -- writing -----------------------------------------------------------------------------------------------

    def put(self, message: ChatMessage) -> None:
        """Append a message to the buffer, and store it in the bank if it is a genuine turn."""
        self.put_messages([message])

    async def aput(self, message: ChatMessage) -> None:
        """Async twin of :meth:`put`."""
        await self.aput_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Append messages, and store the genuine turns among them in order."""
        self._session.add(messages)
        self._search_ahead(messages)
        self._store()

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Async twin of :meth:`put_messages`."""
        self._session.add(messages)
        self._search_ahead(messages)
        await self._astore()

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace the buffer, and store the turns that it did not hold before."""
        self._session.replace(messages)
        self._store()

    async def aset(self, messages: list[ChatMessage]) -> None:
        """Async twin of :meth:`set`."""
        self._session.replace(messages)
        await self._astore()

    def reset(self) -> None:
        """Empty the buffer. What is stored in the bank stays."""
        self._session.clear()
        self._sync_fields()

    async def areset(self) -> None:
        """Async twin of :meth:`reset`."""
        self.reset()

    def _store(self) -> None:
        self._session.outbox.send(self._operations, self.bank_id)
        self._sync_fields()

    async def _astore(self) -> None:
        await self._session.outbox.asend(self._operations, self.bank_id)
        self._sync_fields()

    def flush(self, timeout: float = 10.0) -> int:
        """Wait until every turn of this conversation is stored, at most ``timeout`` seconds.

        Those that copies of this memory took count as well, in this process: a ``Context`` works on copies.

        Turns wait while the server is down, and with ``retain_async``. The end of the process waits for them as well.

        Returns:
            How many turns still wait.
        """
        document_id = self._session.log.document_id
        self._family.send(document_id)
        self._operations.flush(timeout)
        self._sync_fields()
        return self._family.waiting(document_id)

    async def aflush(self, timeout: float = 10.0) -> int:
        """Async twin of :meth:`flush`."""
        document_id = self._session.log.document_id
        await self._family.asend(document_id)
        await self._operations.aflush(timeout)
        self._sync_fields()
        return self._family.waiting(document_id)


def _recall_failed(error: HindsightError) -> RecallOutcome:
    logger.warning("%s; this turn goes on without memories", error)
    return RecallOutcome()
