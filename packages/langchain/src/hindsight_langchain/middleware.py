"""``HindsightMiddleware``: an agent that remembers by itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NotRequired, TypedDict, Unpack

from langchain.agents.middleware.types import AgentMiddleware, AgentState, ModelRequest, ModelResponse, PrivateStateAttr
from langgraph.runtime import Runtime

from hindsight_adapter_core import (
    Deadlines,
    DeliveryOptions,
    Flushed,
    HindsightError,
    MemoryOptions,
    OperationError,
    RecallOutcome,
    SettingsError,
    check_positive,
    check_template,
    open_memory,
    select_tools,
)

from ._client import PACKAGE
from .conversation import DEFAULT_MEMORY_PROMPT, Conversations, Moment
from .failures import failure_note, told, told_of_turn
from .messages import anything_said, messages_in, with_memories_appended
from .run_context import BankChoice, BankId, RunContext, static_bank
from .tools import MemoryCall

__all__ = ["HindsightMiddleware", "MemoryState", "MiddlewareOptions"]

#: The entry of the agent's state in which the conversation's record is kept.
_KEPT = "hindsight_conversation"
_STORED = frozenset({"user", "assistant"})


class MemoryState(AgentState[Any]):
    """The agent's state with one private entry: what of the conversation is stored. It holds none of its words."""

    hindsight_conversation: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]


class MiddlewareOptions(TypedDict, total=False):
    """Further options of the middleware; each as for :func:`create_hindsight_tools`."""

    hindsight_api_url: str | None
    budget: str | None
    max_tokens: int | None
    tags: list[str] | None
    recall_tags: list[str] | None
    recall_tags_match: str | None
    retain_metadata: dict[str, str] | None
    retain_document_id: str | None
    retain_context: str | None
    recall_types: list[str] | None
    recall_include_entities: bool
    reflect_context: str | None
    reflect_max_tokens: int | None
    reflect_response_schema: dict[str, Any] | None
    reflect_tags: list[str] | None
    reflect_tags_match: str | None
    mission: str | None
    source_tag: bool
    retain_async: bool
    tag_groups: list[dict[str, Any]] | None
    min_scores: dict[str, float] | None
    deadlines: Deadlines | None
    delivery: DeliveryOptions | None


def checked_options(owner: str, bank_id: str | None, options: MiddlewareOptions) -> MemoryOptions:
    """The options of ``owner``'s memory.

    Raises:
        SettingsError: one is unknown, or out of its range.
    """
    unknown = sorted(set(options) - set(MiddlewareOptions.__annotations__))
    if unknown:
        raise SettingsError(f"{owner} knows no {', '.join(unknown)}")
    return MemoryOptions(bank_id=bank_id, **options)


class HindsightMiddleware(Flushed, AgentMiddleware[MemoryState, Any]):
    """Memory for agents made with ``langchain.agents.create_agent``, sync and async.

    Once per user turn it searches the bank for what the user wrote and shows the model what it found, at the end of
    the system message of the request; the agent's state and its checkpoints never hold it. Once per run, after the
    agent, what the user wrote and what the assistant answered is appended to the conversation's document, turn by
    turn. The conversation is the run's ``thread_id``; without one, all that passes through this object in one bank is
    one conversation.

    A memory call that fails ends nothing. After a failed search the model reads, in place of memories, why there are
    none; a failed write is logged, and the turn is offered again at the end of the conversation's next run. Without a
    checkpointer it waits in this object until then (:mod:`~hindsight_langchain.unstored`).

    Args:
        bank_id: the memory bank, or a function from :class:`RunContext` to one, called anew in each run. By default
            the bank is what the run says under ``bank_id_from_config``, else ``HINDSIGHT_BANK_ID``.
        client: a client of yours; it wins over address and key, and stays yours to close.
        api_key: bearer key; default ``configure()``, ``HINDSIGHT_API_KEY``.
        auto_recall: search before the model is called.
        auto_retain: store after the agent.
        max_recall_results: how many memories the model is shown at most.
        memory_prompt_template: text around them; must hold ``{memories}``, other braces are plain text.
        bank_id_from_config: where a run names its bank: a key of ``config["configurable"]`` or of the run's context.
        include_retain, include_recall, include_reflect: also give the agent these memory tools.
        raise_on_error: raise :class:`HindsightError` instead, which ends the run.
        **options: see :class:`MiddlewareOptions`.

    Raises:
        SettingsError: an argument is out of its range.

    Example:
        >>> from langchain.agents import create_agent
        >>> memory = HindsightMiddleware(hindsight_api_url="http://localhost:8888")
        >>> agent = create_agent("openai:gpt-5.5", middleware=[memory])               # doctest: +SKIP
        >>> agent.invoke(                                                             # doctest: +SKIP
        ...     {"messages": [("user", "I prefer dark mode.")]},
        ...     {"configurable": {"user_id": "ada", "thread_id": "1"}},
        ... )
    """

    state_schema = MemoryState

    def __init__(  # noqa: PLR0913 - the documented signature
        self,
        *,
        bank_id: BankId = None,
        client: Any = None,
        api_key: str | None = None,
        auto_recall: bool = True,
        auto_retain: bool = True,
        max_recall_results: int = 10,
        memory_prompt_template: str = DEFAULT_MEMORY_PROMPT,
        bank_id_from_config: str = "user_id",
        include_retain: bool = False,
        include_recall: bool = False,
        include_reflect: bool = False,
        raise_on_error: bool = False,
        **options: Unpack[MiddlewareOptions],
    ) -> None:
        super().__init__()
        check_template(memory_prompt_template)
        check_positive("max_recall_results", max_recall_results, instead="to recall nothing, set auto_recall=False")
        self._operations = open_memory(
            PACKAGE,
            checked_options("HindsightMiddleware", static_bank(bank_id), options),
            client=client,
            api_key=api_key,
            raise_on_error=raise_on_error,
        )
        bank = BankChoice.make(bank_id, bank_id_from_config, self._operations)
        self._conversations = Conversations(self._operations, bank, memory_prompt_template)
        self._auto_recall, self._auto_retain = auto_recall, auto_retain
        self._max_results = max_recall_results
        chosen = select_tools(
            include_retain=include_retain, include_recall=include_recall, include_reflect=include_reflect
        )
        self.tools = [MemoryCall(spec, self._operations, bank).as_tool() for spec in chosen]

    # -- recall, before the model --------------------------------------------------------------------------------

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with the memories that fit the user turn."""
        try:
            moment = self._moment(request)
            block = self._conversations.recalled(moment) if moment else ""
            if moment and block is None:
                block = self._found(moment, self._operations.recall(moment.query, bank_id=moment.bank_id))
        except HindsightError as error:
            block = self._recall_failed(request, error)
        return handler(_with(request, block))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Async twin of :meth:`wrap_model_call`."""
        try:
            moment = self._moment(request)
            block = self._conversations.recalled(moment) if moment else ""
            if moment and block is None:
                block = self._found(moment, await self._operations.arecall(moment.query, bank_id=moment.bank_id))
        except HindsightError as error:
            block = self._recall_failed(request, error)
        return await handler(_with(request, block))

    def _moment(self, request: ModelRequest[Any]) -> Moment | None:
        if not self._auto_recall:
            return None
        state: Any = request.state
        return self._conversations.moment(request.messages, RunContext.current(), state.get(_KEPT))

    def _found(self, moment: Moment, outcome: RecallOutcome) -> str:
        return self._conversations.keep(moment, self._conversations.block(moment, outcome, limit=self._max_results))

    def _recall_failed(self, request: ModelRequest[Any], error: HindsightError) -> str:
        failure = told("recall", error, self._operations)
        if self._operations.raise_on_error:
            raise failure from error
        block = failure_note(failure)
        if isinstance(error, OperationError) and (moment := self._moment(request)):
            # One outage must not cost its deadline at every model call of the turn.
            self._conversations.keep(moment, block)
        return block

    # -- retain, after the agent ---------------------------------------------------------------------------------

    def after_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Store what the run said."""
        moment = self._finished(state)
        if moment is None:
            return None
        try:
            self._conversations.store(moment, _STORED)
        except HindsightError as error:
            self._retain_failed(error)
        return {_KEPT: moment.conversation.to_dict()}

    async def aafter_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Async twin of :meth:`after_agent`."""
        moment = self._finished(state)
        if moment is None:
            return None
        try:
            await self._conversations.astore(moment, _STORED)
        except HindsightError as error:
            self._retain_failed(error)
        return {_KEPT: moment.conversation.to_dict()}

    def _finished(self, state: Any) -> Moment | None:
        """The conversation at the end of the run, if there is something to store."""
        messages = messages_in(state)
        if not anything_said(messages):
            return None
        try:
            moment = self._conversations.moment(messages, RunContext.current(), state.get(_KEPT))
        except HindsightError as error:
            if self._auto_retain:
                self._retain_failed(error)
            return None
        self._conversations.forget(moment)
        return moment if self._auto_retain else None

    def _retain_failed(self, error: HindsightError) -> None:
        failure = told_of_turn(error, self._operations)
        if self._operations.raise_on_error:
            raise failure from error


def _with(request: ModelRequest[Any], block: str | None) -> ModelRequest[Any]:
    if not block:
        return request
    return request.override(system_message=with_memories_appended(request.system_message, block))
