"""Graph nodes that recall before an agent speaks and store after it has spoken, for a ``StateGraph`` of your own."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig

from hindsight_adapter_core import (
    Connected,
    Deadlines,
    DeliveryOptions,
    Flushed,
    HindsightError,
    MemoryOptions,
    RecallOutcome,
    check_positive,
    check_template,
    open_memory,
)

from ._client import PACKAGE
from .conversation import DEFAULT_MEMORY_PROMPT, Conversations, Moment
from .failures import failure_note, told, told_of_turn
from .messages import anything_said, messages_in, with_leading_memories, without_memories
from .run_context import BankChoice, BankId, RunContext, static_bank

__all__ = ["MemoryNode", "RecallNode", "RetainNode", "create_recall_node", "create_retain_node"]

Update = dict[str, Any]


class MemoryNode(Connected, Runnable[Any, Update]):
    """A node in sync and async form. Calling it gives a coroutine, as an async node function does."""

    def __call__(self, state: Any, config: RunnableConfig | None = None) -> Coroutine[Any, Any, Update]:
        """``await node(state, config)``: the same as :meth:`ainvoke`."""
        return self.ainvoke(state, config)


class RecallNode(MemoryNode):
    """Puts memories that fit the last user turn into the state. Made by :func:`create_recall_node`."""

    name = "recall_node"

    def __init__(self, conversations: Conversations, *, max_results: int, output_key: str | None) -> None:
        self._conversations = conversations
        self._operations = conversations.operations
        self._max_results = max_results
        self._output_key = output_key

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        """The state update for ``input``, the graph's state."""
        messages = messages_in(input)
        try:
            moment = self._conversations.moment(messages, RunContext.current(config))
            block = self._conversations.recalled(moment)
            if block is None:
                block = self._found(moment, self._operations.recall(moment.query, bank_id=moment.bank_id))
        except HindsightError as error:
            block = self._failed(error)
        return self._update(messages, block)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        """Async twin of :meth:`invoke`."""
        messages = messages_in(input)
        try:
            moment = self._conversations.moment(messages, RunContext.current(config))
            block = self._conversations.recalled(moment)
            if block is None:
                block = self._found(moment, await self._operations.arecall(moment.query, bank_id=moment.bank_id))
        except HindsightError as error:
            block = self._failed(error)
        return self._update(messages, block)

    def _found(self, moment: Moment, outcome: RecallOutcome) -> str:
        return self._conversations.keep(moment, self._conversations.block(moment, outcome, limit=self._max_results))

    def _failed(self, error: HindsightError) -> str:
        failure = told("recall", error, self._operations)
        if self._operations.raise_on_error:
            raise failure from error
        return failure_note(failure)

    def _update(self, messages: Sequence[BaseMessage], block: str) -> Update:
        if self._output_key is not None:
            return {self._output_key: block or None}
        return {"messages": with_leading_memories(messages, block) if block else without_memories(messages)}


class RetainNode(Flushed, MemoryNode):
    """Stores what is new in the conversation. Made by :func:`create_retain_node`."""

    name = "retain_node"

    def __init__(self, conversations: Conversations, *, roles: frozenset[str]) -> None:
        self._conversations = conversations
        self._operations = conversations.operations
        self._roles = roles

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        """The state update for ``input``, the graph's state: at most, that recalled memories are taken out."""
        messages = messages_in(input)
        try:
            if anything_said(messages):
                self._conversations.store(self._conversations.moment(messages, RunContext.current(config)), self._roles)
        except HindsightError as error:
            self._failed(error)
        return self._update(messages)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        """Async twin of :meth:`invoke`."""
        messages = messages_in(input)
        try:
            if anything_said(messages):
                moment = self._conversations.moment(messages, RunContext.current(config))
                await self._conversations.astore(moment, self._roles)
        except HindsightError as error:
            self._failed(error)
        return self._update(messages)

    def _failed(self, error: HindsightError) -> None:
        failure = told_of_turn(error, self._operations)
        if self._operations.raise_on_error:
            raise failure from error

    def _update(self, messages: Sequence[BaseMessage]) -> Update:
        # Once the answer is given, recalled memories have done their work and need not be kept by a checkpointer.
        answered = bool(messages) and isinstance(messages[-1], AIMessage) and not messages[-1].tool_calls
        return {"messages": without_memories(messages) if answered else []}


def create_recall_node(  # noqa: PLR0913 - the documented signature
    *,
    bank_id: BankId = None,
    client: Any = None,
    hindsight_api_url: str | None = None,
    api_key: str | None = None,
    budget: str | None = None,
    max_tokens: int | None = None,
    max_results: int = 10,
    tags: list[str] | None = None,
    tags_match: str | None = None,
    recall_types: list[str] | None = None,
    recall_include_entities: bool = False,
    bank_id_from_config: str = "user_id",
    output_key: str | None = None,
    memory_prompt_template: str = DEFAULT_MEMORY_PROMPT,
    tag_groups: list[dict[str, Any]] | None = None,
    min_scores: dict[str, float] | None = None,
    deadlines: Deadlines | None = None,
    raise_on_error: bool = False,
) -> RecallNode:
    """A graph node that recalls what fits the last user turn, once per turn, in sync and async graphs.

    The memories come as one system message in front of the conversation, which replaces the one of the turn before;
    :func:`create_retain_node` takes it out again when the answer is given. That needs the ``add_messages`` reducer of
    ``MessagesState``. With ``output_key`` the text goes under that key of the state instead, ``None`` when there is
    none, and messages are left alone.

    A recall that fails ends nothing: the model reads, in place of memories, why there are none.

    Args:
        bank_id, client, hindsight_api_url, api_key, budget, max_tokens, recall_types, recall_include_entities,
        bank_id_from_config, tag_groups, min_scores, deadlines, raise_on_error: as for
            :func:`create_hindsight_tools`.
        max_results: how many memories at most.
        tags: tags that the recall filters by; default the ``recall_tags`` of ``configure()``.
        tags_match: ``any``, ``all``, ``any_strict``, ``all_strict`` or ``exact``; default ``any``.
        output_key: a key of the state for the text, instead of a message.
        memory_prompt_template: text around the memories; must hold ``{memories}``, other braces are plain text.

    Raises:
        SettingsError: an argument is out of its range.
    """
    options = MemoryOptions(
        bank_id=static_bank(bank_id),
        hindsight_api_url=hindsight_api_url,
        budget=budget,
        max_tokens=max_tokens,
        recall_tags=tags,
        recall_tags_match=tags_match,
        recall_types=recall_types,
        recall_include_entities=recall_include_entities,
        tag_groups=tag_groups,
        min_scores=min_scores,
        deadlines=deadlines,
    )
    check_template(memory_prompt_template)
    check_positive("max_results", max_results)
    operations = open_memory(PACKAGE, options, client=client, api_key=api_key, raise_on_error=raise_on_error)
    bank = BankChoice.make(bank_id, bank_id_from_config, operations)
    conversations = Conversations(operations, bank, memory_prompt_template)
    return RecallNode(conversations, max_results=max_results, output_key=output_key)


def create_retain_node(  # noqa: PLR0913 - the documented signature
    *,
    bank_id: BankId = None,
    client: Any = None,
    hindsight_api_url: str | None = None,
    api_key: str | None = None,
    tags: list[str] | None = None,
    metadata: dict[str, str] | None = None,
    document_id: str | None = None,
    bank_id_from_config: str = "user_id",
    retain_human: bool = True,
    retain_ai: bool = True,
    context: str | None = None,
    mission: str | None = None,
    source_tag: bool = False,
    retain_async: bool = False,
    memory_prompt_template: str = DEFAULT_MEMORY_PROMPT,
    deadlines: Deadlines | None = None,
    delivery: DeliveryOptions | None = None,
    raise_on_error: bool = False,
) -> RetainNode:
    """A graph node that stores what is new in the conversation, in sync and async graphs.

    What users wrote and what the assistant answered in the end is appended, turn by turn, to one document of the
    conversation: ``document_id``, else the run's ``thread_id``, else one document for all that passes through the
    node in a bank. Tool traffic, system messages and recalled memories are not stored, and nothing is stored twice,
    however often the same history comes by. A write that fails is logged, and the turn is offered again the next time.

    Args:
        bank_id, client, hindsight_api_url, api_key, tags, bank_id_from_config, mission, source_tag, retain_async,
        deadlines, delivery, raise_on_error: as for :func:`create_hindsight_tools`.
        metadata: metadata put on everything stored.
        document_id: the document to append to.
        retain_human: store what users wrote.
        retain_ai: store what the assistant answered.
        context: label of where the text comes from; default ``langchain``.
        memory_prompt_template: the template of the recall node, whose filled blocks are never stored.

    Raises:
        SettingsError: an argument is out of its range.
    """
    options = MemoryOptions(
        bank_id=static_bank(bank_id),
        hindsight_api_url=hindsight_api_url,
        tags=tags,
        retain_metadata=metadata,
        retain_document_id=document_id,
        retain_context=context,
        mission=mission,
        source_tag=source_tag,
        retain_async=retain_async,
        deadlines=deadlines,
        delivery=delivery,
    )
    operations = open_memory(PACKAGE, options, client=client, api_key=api_key, raise_on_error=raise_on_error)
    bank = BankChoice.make(bank_id, bank_id_from_config, operations)
    conversations = Conversations(operations, bank, check_template(memory_prompt_template))
    wanted = {"user": retain_human, "assistant": retain_ai}
    return RetainNode(conversations, roles=frozenset(role for role, kept in wanted.items() if kept))
