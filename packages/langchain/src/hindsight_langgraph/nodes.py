"""The nodes of hindsight-langgraph: a fixed heading, the newest messages only, errors in its own words."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from hindsight_adapter_core import (
    HindsightError,
    MemoryOperations,
    MemoryOptions,
    MissingBankError,
    RecallOutcome,
    check_positive,
    default_number,
    default_text,
    given,
    memory_lines,
    memory_texts,
    open_memory,
    strip_quoted,
)
from hindsight_langchain.failures import failure_note, reworded, told
from hindsight_langchain.messages import (
    MEMORY_MESSAGE_ID,
    is_memory_message,
    lines_of_memories,
    messages_in,
    text_of,
    with_leading_memories,
    without_memories,
)
from hindsight_langchain.nodes import MemoryNode, Update
from hindsight_langchain.run_context import BankChoice, RunContext

from ._client import PACKAGE

__all__ = ["create_recall_node", "create_retain_node"]

logger = logging.getLogger("hindsight_langgraph")

_BUDGET, _TAGS_MATCH, _MAX_TOKENS = default_text("mid"), default_text("any"), default_number(4096)
_HEADING = "Relevant memories about this user:\n"


class _RecallNode(MemoryNode):
    name = "recall_node"

    def __init__(
        self, operations: MemoryOperations, bank: BankChoice, *, max_results: int, output_key: str | None
    ) -> None:
        self._operations, self._bank = operations, bank
        self._max_results, self._output_key = max_results, output_key

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        messages = messages_in(input)
        query = _newest(messages, HumanMessage)
        try:
            bank = _bank_of(self._bank, config)
            if not (query and bank):
                return self._update(messages, "")
            outcome = self._operations.recall(query, bank_id=bank)
        except HindsightError as error:
            return self._failed(messages, error)
        return self._found(messages, outcome)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        messages = messages_in(input)
        query = _newest(messages, HumanMessage)
        try:
            bank = _bank_of(self._bank, config)
            if not (query and bank):
                return self._update(messages, "")
            outcome = await self._operations.arecall(query, bank_id=bank)
        except HindsightError as error:
            return self._failed(messages, error)
        return self._found(messages, outcome)

    def _found(self, messages: Sequence[BaseMessage], outcome: RecallOutcome) -> Update:
        texts = memory_texts(outcome.memories, limit=self._max_results)
        return self._update(messages, _HEADING + memory_lines(texts) if texts else "")

    def _failed(self, messages: Sequence[BaseMessage], error: HindsightError) -> Update:
        failure = told("recall", error, self._operations)
        if self._operations.raise_on_error:
            raise reworded("Recall node failed: ", failure) from error
        return self._update(messages, failure_note(failure))

    def _update(self, messages: Sequence[BaseMessage], block: str) -> Update:
        if self._output_key is not None:
            return {self._output_key: block or None}
        if not block:
            return {"messages": without_memories(messages)}
        if any(map(is_memory_message, messages)):
            return {"messages": with_leading_memories(messages, block)}
        return {"messages": [SystemMessage(content=block, id=MEMORY_MESSAGE_ID)]}


class _RetainNode(MemoryNode):
    name = "retain_node"

    def __init__(self, operations: MemoryOperations, bank: BankChoice, *, kinds: tuple[type[BaseMessage], ...]) -> None:
        self._operations, self._bank, self._kinds = operations, bank, kinds

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        content = self._content(input)
        try:
            if content and (bank := _bank_of(self._bank, config)):
                self._operations.retain(content, bank_id=bank)
        except HindsightError as error:
            self._failed(error)
        return {"messages": []}

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        content = self._content(input)
        try:
            if content and (bank := _bank_of(self._bank, config)):
                await self._operations.aretain(content, bank_id=bank)
        except HindsightError as error:
            self._failed(error)
        return {"messages": []}

    def _content(self, state: Any) -> str:
        messages = messages_in(state)
        shown = lines_of_memories(messages)
        said = (strip_quoted(_newest(messages, kind), shown if kind is AIMessage else ()) for kind in self._kinds)
        return "\n\n".join(text for text in said if text)

    def _failed(self, error: HindsightError) -> None:
        failure = told("retain", error, self._operations)
        if self._operations.raise_on_error:
            raise reworded("Retain node failed: ", failure) from error


def _newest(messages: Sequence[BaseMessage], kind: type[BaseMessage]) -> str:
    return next((text for one in reversed(messages) if isinstance(one, kind) and (text := text_of(one).strip())), "")


def _bank_of(choice: BankChoice, config: RunnableConfig | None) -> str | None:
    try:
        return choice.of(RunContext.current(config))
    except MissingBankError as error:
        logger.warning("%s; the node does nothing", error)
        return None


def create_recall_node(  # noqa: PLR0913 - the documented signature
    *,
    bank_id: str | None = None,
    client: Any = None,
    hindsight_api_url: str | None = None,
    api_key: str | None = None,
    budget: str = _BUDGET,
    max_tokens: int = _MAX_TOKENS,
    max_results: int = 10,
    tags: list[str] | None = None,
    tags_match: str = _TAGS_MATCH,
    recall_types: list[str] | None = None,
    recall_include_entities: bool = False,
    bank_id_from_config: str = "user_id",
    output_key: str | None = None,
    raise_on_error: bool = False,
) -> MemoryNode:
    """A node that recalls for the newest user message and puts a system message, or ``output_key``, into the state.

    :func:`hindsight_langchain.create_recall_node` puts the message in front of the conversation from the first turn
    on, takes it out again, and asks once per user turn. Here the first one comes after the user's message, as it does
    in hindsight-langgraph; later ones move to the front. A failing recall is logged and told to the model; with
    ``raise_on_error=True`` it raises ``HindsightError("Recall node failed: ...")``.

    Args:
        bank_id, client, hindsight_api_url, api_key, recall_types, recall_include_entities, bank_id_from_config: as
            for :func:`hindsight_langchain.create_hindsight_tools`.
        budget, max_tokens: search depth and bound of the answer; left alone, what ``configure()`` says.
        max_results: how many memories at most.
        tags, tags_match: tags to filter by; left alone, the ``recall_tags`` of ``configure()``.
        output_key: a key of the state for the text, instead of a message.
        raise_on_error: end the run when the recall fails.

    Raises:
        SettingsError: an argument is out of its range.
    """
    options = MemoryOptions(
        bank_id=bank_id,
        hindsight_api_url=hindsight_api_url,
        budget=given(budget),
        max_tokens=given(max_tokens),
        recall_tags=tags,
        recall_tags_match=given(tags_match),
        recall_types=recall_types,
        recall_include_entities=recall_include_entities,
    )
    check_positive("max_results", max_results)
    operations = open_memory(PACKAGE, options, client=client, api_key=api_key, raise_on_error=raise_on_error)
    bank = BankChoice.make(bank_id, bank_id_from_config, operations)
    return _RecallNode(operations, bank, max_results=max_results, output_key=output_key)


def create_retain_node(  # noqa: PLR0913 - the documented signature
    *,
    bank_id: str | None = None,
    client: Any = None,
    hindsight_api_url: str | None = None,
    api_key: str | None = None,
    tags: list[str] | None = None,
    metadata: dict[str, str] | None = None,
    document_id: str | None = None,
    bank_id_from_config: str = "user_id",
    retain_human: bool = True,
    retain_ai: bool = False,
    raise_on_error: bool = False,
) -> MemoryNode:
    """A node that stores the newest user message, and with ``retain_ai`` the newest answer, as one text.

    :func:`hindsight_langchain.create_retain_node` stores every new turn, each with its role and time, and nothing
    twice. A failing write is logged; with ``raise_on_error=True`` it raises ``HindsightError("Retain node failed:
    ...")``.

    Args:
        bank_id, client, hindsight_api_url, api_key, tags, bank_id_from_config: as for
            :func:`hindsight_langchain.create_hindsight_tools`.
        metadata: metadata put on everything stored.
        document_id: document to store into; by default each write makes its own.
        retain_human, retain_ai: whose newest message to store.
        raise_on_error: end the run when the write fails.

    Raises:
        SettingsError: an argument is out of its range.
    """
    options = MemoryOptions(
        bank_id=bank_id,
        hindsight_api_url=hindsight_api_url,
        tags=tags,
        retain_metadata=metadata,
        retain_document_id=document_id,
    )
    operations = open_memory(PACKAGE, options, client=client, api_key=api_key, raise_on_error=raise_on_error)
    bank = BankChoice.make(bank_id, bank_id_from_config, operations)
    wanted: dict[type[BaseMessage], bool] = {HumanMessage: retain_human, AIMessage: retain_ai}
    return _RetainNode(operations, bank, kinds=tuple(kind for kind, kept in wanted.items() if kept))
