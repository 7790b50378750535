"""How a memory is made, dumped and copied: its fields, its factories, its client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import BaseModel, Field, PrivateAttr, model_serializer
from llama_index.core.memory.types import BaseMemory

from hindsight_adapter_core import (
    Connected,
    ConversationLog,
    Deadlines,
    DeliveryOptions,
    MemoryOperations,
    SerializationError,
    SettingsError,
    check_positive,
    check_template,
    id_text,
    open_memory,
)

from ._client import PACKAGE
from .defaults import DEFAULT_BUDGET, DEFAULT_CONTEXT, DEFAULT_MAX_TOKENS, DEFAULT_TAGS_MATCH
from .family import Family
from .fields import BankFields, options_among, resolved_fields
from .session import Session

__all__ = ["DEFAULT_SYSTEM_PROMPT", "MemoryBase"]

DEFAULT_SYSTEM_PROMPT = (
    "Below are relevant memories from previous conversations:\n\n{memories}\n\n"
    "Use these memories to provide more personalized and contextual responses."
)


class MemoryBase(Connected, BankFields, BaseMemory):
    """Fields and factories of :class:`hindsight_llamaindex.HindsightMemory`, which describes them."""

    system_prompt: str = Field(default=DEFAULT_SYSTEM_PROMPT, frozen=True, description="Template with {memories}.")
    chat_history_limit: int = Field(default=100, frozen=True, description="Messages kept in the local buffer.")
    chat_history: list[ChatMessage] = Field(default_factory=list, description="Set by dumps: the local buffer.")
    conversation: dict[str, Any] | None = Field(default=None, description="Set by dumps: what is stored already.")

    family: str | None = Field(default=None, repr=False, description="Set by dumps: whose copy this is.")

    _operations: MemoryOperations = PrivateAttr()
    _family: Family = PrivateAttr()
    _session: Session = PrivateAttr()

    def __init__(
        self,
        client: Any = None,
        mission: str | None = None,
        *,
        hindsight_api_url: str | None = None,
        api_key: str | None = None,
        deadlines: Deadlines | None = None,
        delivery: DeliveryOptions | None = None,
        **fields: Any,
    ) -> None:
        fields.pop("class_name", None)
        unknown = sorted(set(fields) - set(type(self).model_fields))
        if unknown:
            raise SettingsError(f"HindsightMemory knows no {', '.join(unknown)}")
        options = options_among(
            fields, hindsight_api_url=hindsight_api_url, mission=mission, deadlines=deadlines, delivery=delivery
        )
        given = client is not None or api_key is not None or delivery is not None
        family = None if given else Family.find(fields.get("family"), hindsight_api_url)
        operations = family.open(options) if family else open_memory(PACKAGE, options, client=client, api_key=api_key)
        super().__init__(**resolved_fields(operations), **fields)
        check_template(self.system_prompt, name="system_prompt")
        check_positive("chat_history_limit", self.chat_history_limit)
        self._operations = operations
        self._family = family or Family(operations)
        self._session = self._begin(self.chat_history, self.conversation)
        self._sync_fields()

    def _begin(self, messages: Sequence[ChatMessage] = (), known: dict[str, Any] | None = None) -> Session:
        session = Session(
            self._operations.new_log() if known is None else ConversationLog.from_dict(known),
            limit=self.chat_history_limit,
            template=self.system_prompt,
            messages=messages,
            complete=known is None or bool(known.get("complete")),
            waiting=(known or {}).get("waiting") or (),
        )
        self._family.add(session.outbox, self._operations, self.bank_id)
        return session

    @classmethod
    def from_client(  # noqa: PLR0913 - the documented signature
        cls,
        client: Any,
        bank_id: str | int,
        *,
        mission: str | None = None,
        context: str = DEFAULT_CONTEXT,
        budget: str = DEFAULT_BUDGET,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        tags: list[str] | None = None,
        recall_tags: list[str] | None = None,
        recall_tags_match: str = DEFAULT_TAGS_MATCH,
        system_prompt: str = DEFAULT_SYSTEM_PROMPT,
        chat_history_limit: int = 100,
    ) -> Self:
        """A memory over a client of yours, which stays yours to close.

        What is left at its default is taken from ``configure()``, if that was called.

        Args:
            client: a ``hindsight_client.Hindsight``, or anything with its methods.
            bank_id: the memory bank.
            mission: what the bank is for; given one, the bank is created before its first use.
            context: label of where stored text comes from.
            budget: search depth: ``low``, ``mid`` or ``high``.
            max_tokens: upper bound of a recall, in tokens.
            tags: tags put on everything stored.
            recall_tags: tags that recall filters by.
            recall_tags_match: ``any``, ``all``, ``any_strict``, ``all_strict`` or ``exact``.
            system_prompt: template around the memories; must hold ``{memories}``, other braces are plain text.
            chat_history_limit: how many messages the local buffer keeps; the oldest are dropped.

        Raises:
            SettingsError: an argument is out of its range.
        """
        return cls(
            client=client,
            bank_id=bank_id,
            mission=mission,
            context=context,
            budget=budget,
            max_tokens=max_tokens,
            tags=tags,
            recall_tags=recall_tags,
            recall_tags_match=recall_tags_match,
            system_prompt=system_prompt,
            chat_history_limit=chat_history_limit,
        )

    @classmethod
    def from_url(
        cls, hindsight_api_url: str, bank_id: str | int, *, api_key: str | None = None, **options: Any
    ) -> Self:
        """A memory over the server at ``hindsight_api_url``.

        Args:
            hindsight_api_url: server address.
            bank_id: the memory bank.
            api_key: bearer key; default ``configure()``, ``HINDSIGHT_API_KEY``.
            **options: the keyword arguments of :meth:`from_client`.

        Example:
            >>> memory = HindsightMemory.from_url("http://localhost:8888", "user-123", budget="low")
            >>> memory.budget
            'low'
        """
        return cls.from_defaults(bank_id, hindsight_api_url=hindsight_api_url, api_key=api_key, **options)

    @classmethod
    def from_defaults(  # noqa: PLR0913 - the documented signature
        cls,
        bank_id: str | int | None = None,
        *,
        client: Any = None,
        hindsight_api_url: str | None = None,
        api_key: str | None = None,
        mission: str | None = None,
        context: str = DEFAULT_CONTEXT,
        budget: str = DEFAULT_BUDGET,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        tags: list[str] | None = None,
        recall_tags: list[str] | None = None,
        recall_tags_match: str = DEFAULT_TAGS_MATCH,
        system_prompt: str = DEFAULT_SYSTEM_PROMPT,
        chat_history_limit: int = 100,
        **options: Any,
    ) -> Self:
        """A memory whose client is found as for the tools: ``configure()``, environment, the vendor's cloud.

        Args:
            bank_id: the memory bank; default ``HINDSIGHT_BANK_ID``.
            client: a client of yours; it wins over address and key.
            hindsight_api_url: server address.
            api_key: bearer key.
            mission, context, budget, max_tokens, tags, recall_tags, recall_tags_match, system_prompt,
                chat_history_limit: as in :meth:`from_client`.
            **options: ``chat_history`` (messages to begin with, which are not stored again), ``deadlines`` (time limits
                in seconds), ``retain_async=True`` (store in the background, so that the agent never waits for a write),
                ``delivery`` (bounds and pauses of the background queue), and ``retain_metadata``, ``source_tag``,
                ``recall_types``, ``tag_groups`` and ``min_scores`` as for :class:`HindsightToolSpec`.

        Raises:
            MissingBankError: no bank is named.
            SettingsError: an argument is out of its range, or unknown.
        """
        return cls(
            client=client,
            hindsight_api_url=hindsight_api_url,
            api_key=api_key,
            bank_id=bank_id,
            mission=mission,
            context=context,
            budget=budget,
            max_tokens=max_tokens,
            tags=tags,
            recall_tags=recall_tags,
            recall_tags_match=recall_tags_match,
            system_prompt=system_prompt,
            chat_history_limit=chat_history_limit,
            **options,
        )

    def _sync_fields(self) -> None:
        # Dumps and pickles are made of fields.
        self.chat_history = self._session.messages
        self.conversation = self._session.to_dict()
        self.family = self._family.name

    @model_serializer(mode="wrap")
    def custom_model_dump(self, handler: Any, info: Any) -> dict[str, Any]:
        """How the framework dumps its components; what waits to be stored may have changed since the last call."""
        self._sync_fields()
        return {**handler(self), "class_name": self.class_name()}

    def __getstate__(self) -> dict[Any, Any]:
        if self._operations.handle.url is None:
            raise SerializationError(
                "client: this memory cannot be pickled, for its client shows no base_url to reconnect to; "
                "build it with from_url instead"
            )
        self._sync_fields()
        # Fields say everything; what is private is built again from them. None of them holds a key.
        return {**BaseModel.__getstate__(self), "__pydantic_private__": None}

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy that shares the client and goes on by itself in the same document, with the same messages.

        Args:
            update: at most ``bank_id``. A copy for another bank is a new conversation, so that nobody's words come
                before another one's eyes.
            deep: makes no difference.

        Raises:
            SettingsError: ``update`` holds anything else; make a new memory instead.
        """
        changes = {name: id_text(value) for name, value in (update or {}).items()}
        if unknown := sorted(set(changes) - {"bank_id"}):
            raise SettingsError(f"a copy cannot change {', '.join(unknown)}; make a new memory instead")
        twin = self.__copy__()
        if changes.get("bank_id", self.bank_id) != self.bank_id:
            twin.__dict__["bank_id"] = changes["bank_id"]  # the field itself is frozen
            twin._session = twin._begin()
            twin._sync_fields()
        return twin

    def __copy__(self) -> Self:
        twin = super().__copy__()
        twin._session = self._session.copy()
        twin._family.add(twin._session.outbox, twin._operations, twin.bank_id)
        twin._sync_fields()
        return twin

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self.__copy__()
