"""``HindsightMemoryBlock``: a bank as a block of LlamaIndex's own ``Memory``."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.memory.memory import BaseMemoryBlock

from hindsight_adapter_core import (
    Connected,
    Deadlines,
    DeliveryOptions,
    HindsightError,
    MemoryOperations,
    SettingsError,
    Turn,
    memory_lines,
    open_memory,
    turns_of,
)

from ._client import PACKAGE
from .conversations import Conversation, Conversations, last_question, split_unanswered
from .fields import BankFields, options_among, resolved_fields
from .session import Session

__all__ = ["HindsightMemoryBlock"]

logger = logging.getLogger("hindsight_llamaindex")

#: Characters of a token, in the framework's hint of how much to cut.
_TOKEN = 4


class HindsightMemoryBlock(Connected, BankFields, BaseMemoryBlock[str]):
    """A block of ``llama_index.core.memory.Memory`` that remembers over conversations.

    ``Memory`` keeps a conversation, this block what lasts: turns are stored in the bank, in one document named after
    the memory's ``session_id``, and memories that fit the last user message are shown to the model. An exchange is
    stored once it was answered, and at the latest when ``Memory`` moves it out of its short-term store; each turn once.
    What is still in the short-term store is not recalled. A block belongs to one bank: make one for each user.

    The block never makes an agent fail: without a server it recalls nothing, and turns are stored later.

    Agents without a ``system_prompt`` throw a leading system message away; give ``Memory`` ``insert_method="user"``
    for them, or use :class:`HindsightMemory`, which sees to it.

    Args:
        bank_id: the memory bank; ``None`` takes ``HINDSIGHT_BANK_ID``.
        client: a client of yours; it wins over address and key, and stays yours to close.
        hindsight_api_url: server address; default ``configure()``, ``HINDSIGHT_API_URL``, the vendor's cloud.
        api_key: bearer key; default ``configure()``, ``HINDSIGHT_API_KEY``.
        deadlines: time limits in seconds; default retain 15, recall 10, bank creation 15.
        delivery: bounds and pauses of the background queue.
        **fields: the fields of this class. ``accept_short_term_memory=False`` makes a block that only recalls;
            ``priority`` 1 or more lets ``Memory`` shorten what it recalled.

    Raises:
        SettingsError: an argument is out of its range, or unknown.
        MissingBankError: no bank is named.

    Example:
        >>> from llama_index.core.memory import Memory
        >>> block = HindsightMemoryBlock(bank_id="ada", hindsight_api_url="http://localhost:8888")
        >>> memory = Memory.from_defaults(session_id="monday", memory_blocks=[block], insert_method="user")
    """

    name: str = Field(default="hindsight_memories", description="The tag around the memories in the prompt.")
    description: str | None = Field(default="What is known from earlier conversations.", description="Of the block.")

    _operations: MemoryOperations = PrivateAttr()
    _conversations: Conversations = PrivateAttr()

    def __init__(
        self,
        *,
        client: Any = None,
        hindsight_api_url: str | None = None,
        api_key: str | None = None,
        deadlines: Deadlines | None = None,
        delivery: DeliveryOptions | None = None,
        **fields: Any,
    ) -> None:
        unknown = sorted(set(fields) - set(type(self).model_fields))
        if unknown:
            raise SettingsError(f"HindsightMemoryBlock knows no {', '.join(unknown)}")
        options = options_among(fields, hindsight_api_url=hindsight_api_url, deadlines=deadlines, delivery=delivery)
        operations = open_memory(PACKAGE, options, client=client, api_key=api_key)
        super().__init__(**resolved_fields(operations), **fields)
        self._operations = operations
        self._conversations = Conversations()

    async def _aget(
        self, messages: list[ChatMessage] | None = None, session_id: str | None = None, **block_kwargs: Any
    ) -> str:
        said, asked = split_unanswered(messages or [])
        conversation = self._conversations.get(session_id)
        if self.accept_short_term_memory and said:
            session = await self._session(conversation)
            session.follow(said)
            await session.outbox.asend(self._operations, self.bank_id)
        texts = await self._recall(conversation, [*said, *asked])
        return memory_lines(texts, style="bullets") if texts else ""

    async def _recall(self, conversation: Conversation, messages: Sequence[ChatMessage]) -> tuple[str, ...]:
        query = last_question(messages)
        turn = sum(message.role == MessageRole.USER for message in messages)
        if not query:
            return ()
        if conversation.recalled is None or conversation.recalled[:2] != (query, turn):
            try:
                outcome = await self._operations.arecall(query)
            except HindsightError as error:
                logger.warning("%s; this turn goes on without memories", error)
                texts: tuple[str, ...] = ()
            else:
                texts = conversation.unsaid(outcome, messages)
                conversation.show(texts)
            conversation.recalled = (query, turn, texts)
        return conversation.recalled[2]

    async def _aput(self, messages: list[ChatMessage]) -> None:
        if not messages:
            return
        conversation = self._conversations.get(messages[-1].additional_kwargs.get("session_id"))
        session = await self._session(conversation)
        session.follow(messages, dismissed=True)
        await session.outbox.asend(self._operations, self.bank_id)

    async def _session(self, conversation: Conversation) -> Session:
        if conversation.session is None:
            known = await self._stored_turns(conversation.document_id)
            conversation.begin(known, template=f"<{self.name}>\n{{memories}}\n</{self.name}>")
        assert conversation.session is not None
        return conversation.session

    async def _stored_turns(self, document_id: str | None) -> list[Turn]:
        """What an earlier process stored of the conversation."""
        if document_id is None:
            return []
        try:
            return turns_of(await self._operations.documents.atext(document_id))
        except HindsightError as error:
            logger.debug("%s; only the last exchange counts as new", error)
            return []

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The memories without the last ones, about ``tokens_to_truncate`` shorter; ``None`` when none is left."""
        allowed, kept = len(content) - tokens_to_truncate * _TOKEN, content
        while len(kept) > allowed:
            kept, more, _ = kept.rpartition("\n- ")
            if not more:
                return None
        return kept

    def flush(self, timeout: float = 10.0) -> int:
        """Wait until every turn is stored, at most ``timeout`` seconds; returns how many still wait."""
        for outbox in self._conversations.outboxes():
            outbox.send(self._operations, self.bank_id)
        self._operations.flush(timeout)
        return sum(map(len, self._conversations.outboxes()))

    async def aflush(self, timeout: float = 10.0) -> int:
        """Async twin of :meth:`flush`."""
        for outbox in self._conversations.outboxes():
            await outbox.asend(self._operations, self.bank_id)
        await self._operations.aflush(timeout)
        return sum(map(len, self._conversations.outboxes()))
