"""The memory store: chat messages in, memories as chat messages out."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from haystack.core.serialization import default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret

from haystack_integrations.tools.hindsight.conversations import Conversations
from haystack_integrations.tools.hindsight.factory import memory_from
from haystack_integrations.tools.hindsight.saving import PROGRAM_ORIGINS, dump_key, load_key
from haystack_integrations.tools.hindsight.scope import RunScope, ScopedMemories
from hindsight_adapter_core import (
    HINDSIGHT_API_KEY_ENV,
    MemoryOperations,
    MemoryOptions,
    Origin,
    RecalledMemory,
    RecallOutcome,
    SettingsError,
    check_positive,
    dump_options,
    explain_memory,
    load_options,
    resolve_connection,
)
from hindsight_adapter_core.locks import open_in_child
from hindsight_haystack.config import get_config

from .filters import parse_filters

__all__ = ["HindsightMemoryStore"]

_KEY_FROM_ENVIRONMENT = Secret.from_env_var(HINDSIGHT_API_KEY_ENV, strict=False)

#: What of a memory goes into a message's meta; what the server left out does not.
_META = (
    "id",
    "type",
    "score",
    "mentioned_at",
    "occurred_start",
    "occurred_end",
    "document_id",
    "context",
    "tags",
    "entities",
)


class HindsightMemoryStore:
    """Memories of chat messages in a Hindsight server.

    The client is built at the first use, or by :meth:`warm_up`; nothing is sent before the first operation. Methods
    raise on failure; see the retriever and the writer for components that go on without.

    Args:
        api_key: bearer key; by default ``configure()`` or ``HINDSIGHT_API_KEY``. A key that was given as text is not
            dumped, a ``Secret`` is dumped by the name of its variable.
        bank_id: the bank of calls that name none, default ``HINDSIGHT_BANK_ID``.
        hindsight_api_url: server address, default ``configure()`` or ``HINDSIGHT_API_URL``.
        client: a ``hindsight_client.Hindsight`` of yours instead of key and address; it stays yours to close.
        **options: the other memory options of :func:`haystack_integrations.tools.hindsight.create_hindsight_tools`.

    Raises:
        SettingsError: an unknown option, or a value out of its range.

    Example::

        store = HindsightMemoryStore(hindsight_api_url="http://localhost:8888")
        store.add_memories(messages=[ChatMessage.from_user("I prefer dark mode")], bank_id="user-123")
        store.search_memories(query="Which mode?", bank_id="user-123")[0].text
    """

    def __init__(
        self,
        *,
        api_key: Secret | str | None = _KEY_FROM_ENVIRONMENT,
        bank_id: str | None = None,
        hindsight_api_url: str | None = None,
        client: Any = None,
        **options: Any,
    ) -> None:
        unknown = sorted(set(options) - {field.name for field in fields(MemoryOptions)})
        if unknown:
            raise SettingsError(f"HindsightMemoryStore knows no option {', '.join(unknown)}")
        self._options = MemoryOptions(bank_id=bank_id, hindsight_api_url=hindsight_api_url, **options)
        self._api_key = api_key
        self._client = client
        self._lock = open_in_child()
        self._memories: ScopedMemories | None = None
        self._conversations: Conversations | None = None

    # -- life cycle --------------------------------------------------------------------------------------------

    def warm_up(self) -> None:
        """Build the client. Done by itself at the first use; sends nothing.

        Raises:
            ValueError: the variable of a strict ``Secret`` is not set.
        """
        self._open()

    @property
    def memory(self) -> MemoryOperations:
        """The memory below, for what this class has no method for (``memory.reflect(...)``)."""
        return self._open()[0].memory

    def explain(self) -> dict[str, tuple[Any, Origin]]:
        """Every setting with where its value came from, e.g. ``{"budget": ("high", "configure()")}``."""
        return explain_memory(self.memory)

    def flush(self, timeout: float = 10.0) -> int:
        """Wait for what is stored in the background (``retain_async=True``), at most ``timeout`` seconds.

        Returns:
            How many writes still wait.
        """
        return self._memories.memory.flush(timeout) if self._memories is not None else 0

    async def flush_async(self, timeout: float = 10.0) -> int:
        """Async twin of :meth:`flush`."""
        return await self._memories.memory.aflush(timeout) if self._memories is not None else 0

    def close(self) -> None:
        """Release the HTTP session; it opens again at the next call."""
        if self._memories is not None:
            self._memories.memory.close()

    async def close_async(self) -> None:
        """Async twin of :meth:`close`."""
        if self._memories is not None:
            await self._memories.memory.aclose()

    # -- memories ----------------------------------------------------------------------------------------------

    def add_memories(
        self,
        *,
        messages: list[ChatMessage],
        bank_id: str | None = None,
        tags: list[str] | None = None,
        conversation_id: str | None = None,
        only_new: bool = False,
    ) -> int:
        """Store what users and the assistant say in ``messages``, each message a turn of one conversation's document.

        System and tool messages, tool calls and reasoning are left out. A message keeps its name, and its time when
        ``meta["timestamp"]`` states one.

        Args:
            messages: what to store.
            bank_id: instead of the store's bank.
            tags: added to the store's tags.
            conversation_id: the document that the turns are appended to; by default everything that one store
                object puts into one bank is one conversation.
            only_new: ``messages`` may hold turns that were stored before by this object: add only what comes after
                them, and with nothing stored yet the last user message and what follows.

        Returns:
            How many turns were stored (or queued, with ``retain_async=True``).

        Raises:
            OperationError: a write failed; the turns before it are stored.
            MissingBankError: no bank is known.
            MissingCredentialsError: nothing was sent for want of a key.
        """
        scope = RunScope(bank_id=bank_id, tags=tags, conversation_id=conversation_id)
        return self._open()[1].store(messages, scope, only_new=only_new)

    async def add_memories_async(
        self,
        *,
        messages: list[ChatMessage],
        bank_id: str | None = None,
        tags: list[str] | None = None,
        conversation_id: str | None = None,
        only_new: bool = False,
    ) -> int:
        """Async twin of :meth:`add_memories`."""
        scope = RunScope(bank_id=bank_id, tags=tags, conversation_id=conversation_id)
        return await self._open()[1].store_async(messages, scope, only_new=only_new)

    def search_memories(
        self,
        *,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int = 5,
        bank_id: str | None = None,
        tags: list[str] | None = None,
        include_memory_metadata: bool = True,
    ) -> list[ChatMessage]:
        """Search the bank; a blank query and an unknown bank find nothing.

        Args:
            query: what to look for.
            filters: Haystack's filter syntax, over ``tags`` and ``type`` (``world``, ``experience``, ``observation``).
            top_k: how many memories at most.
            bank_id: instead of the store's bank.
            tags: instead of the store's ``recall_tags``.
            include_memory_metadata: put id, type, score, dates, tags and so on of each memory into its message's
                ``meta["retrieved_memory_metadata"]``.

        Returns:
            System messages, the best first. The text is the memory as it was stored: words of a user. Show it to a
            model as data (the retriever's ``prompt`` does), not as an instruction. ``meta`` is the metadata that was
            stored with it (``role``, ``source``, yours).

        Raises:
            OperationError: the search failed.
            SettingsError: a filter that cannot be applied, ``top_k`` below 1, or no bank.
        """
        memory, bank = self._search(filters, top_k, bank_id, tags)
        return _messages(memory.recall(query, bank_id=bank), top_k, include_memory_metadata)

    async def search_memories_async(
        self,
        *,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int = 5,
        bank_id: str | None = None,
        tags: list[str] | None = None,
        include_memory_metadata: bool = True,
    ) -> list[ChatMessage]:
        """Async twin of :meth:`search_memories`."""
        memory, bank = self._search(filters, top_k, bank_id, tags)
        return _messages(await memory.arecall(query, bank_id=bank), top_k, include_memory_metadata)

    def _search(
        self, filters: Mapping[str, Any] | None, top_k: int, bank_id: str | None, tags: Sequence[str] | None
    ) -> tuple[MemoryOperations, str | None]:
        check_positive("top_k", top_k)
        scope, asked = RunScope(bank_id=bank_id, tags=tags), parse_filters(filters)
        memories = self._open()[0]
        found = memories.tagged(scope.tag_names())
        if asked.tag_groups or asked.types is not None:
            found = ScopedMemories(found).filtered(tag_groups=asked.tag_groups, types=asked.types)
        return found, scope.bank()

    def _open(self) -> tuple[ScopedMemories, Conversations]:
        with self._lock:
            if self._memories is None or self._conversations is None:
                arguments = {**vars(self._options), "api_key": self._api_key, "client": self._client}
                self._memories = ScopedMemories(memory_from(arguments))
                self._conversations = Conversations(self._memories)
            return self._memories, self._conversations

    # -- saving ------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """As plain data, without the key."""
        options = {
            name: value
            for name, value in dump_options(self._options, hindsight_api_url=self._address()).items()
            if value is not None and value is not False
        }
        key = dump_key(self._api_key)
        dumped: dict[str, Any] = default_to_dict(self, **options, **({"api_key": key} if key else {}))
        return dumped

    def _address(self) -> str | None:
        if self._client is not None:
            return self.memory.handle.url
        connection = resolve_connection(None, None, get_config())
        return connection.url if connection.url_origin in PROGRAM_ORIGINS else None

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> HindsightMemoryStore:
        """The inverse of :meth:`to_dict`; the key is read from the environment."""
        parameters = dict(data.get("init_parameters") or {})
        key = parameters.pop("api_key", None)
        arguments = vars(load_options(parameters))
        if key is not None:
            arguments = {**arguments, "api_key": load_key(key)}
        loaded: HindsightMemoryStore = default_from_dict(cls, {**data, "init_parameters": arguments})
        return loaded

    def __deepcopy__(self, memo: dict[int, Any]) -> HindsightMemoryStore:
        options = copy.deepcopy(self._options, memo)
        return type(self)(api_key=self._api_key, client=self._client, **vars(options))

    def __reduce__(self) -> tuple[object, ...]:
        # Neither a key nor a live client goes into a pickle; the address does.
        return HindsightMemoryStore.from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        return f"HindsightMemoryStore(bank_id={self._options.bank_id!r})"


def _messages(found: RecallOutcome, top_k: int, with_details: bool) -> list[ChatMessage]:
    memories = [memory for memory in found if memory.text.strip()][:top_k]
    return [ChatMessage.from_system(memory.text, meta=_meta(memory, with_details)) for memory in memories]


def _meta(memory: RecalledMemory, with_details: bool) -> dict[str, Any]:
    if not with_details:
        return dict(memory.metadata)
    details = {name: getattr(memory, name) for name in _META}
    kept = {name: list(value) if isinstance(value, tuple) else value for name, value in details.items()}
    return {
        **memory.metadata,
        "retrieved_memory_metadata": {name: value for name, value in kept.items() if value is not None and value != []},
    }
