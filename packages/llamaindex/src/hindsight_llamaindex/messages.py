"""LlamaIndex chat messages as the turns that are stored, and recalled memories among chat messages."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from hindsight_adapter_core import Turn, clean_turn, stated_time

from .compat import blocks_of, copied, put_in_front

__all__ = ["stored_turns", "trimmed", "with_memories"]

_ASSISTANT_ROLES = frozenset({MessageRole.ASSISTANT, MessageRole.CHATBOT, MessageRole.MODEL})
_TOOL_ROLES = frozenset({MessageRole.TOOL, MessageRole.FUNCTION})
#: How ``CodeActAgent`` reports the output of code, under the role of the user.
_CODE_RESULT = "Result of executing the code given:"


def stored_turns(messages: Sequence[ChatMessage], template: str) -> list[Turn]:
    """The genuine turns among ``messages``: what users wrote and what the assistant answered in the end.

    Left out are system and tool messages, the output of code, assistant messages that call a tool, reasoning without
    an answer, and memory blocks filled from ``template``. A message's own ``name`` and ``timestamp`` (ISO text or
    ``datetime``) in ``additional_kwargs`` are carried.
    """
    turns = []
    for position, message in enumerate(messages, start=1):
        interim = _calls_tool(message) or any(map(_reports_tool, messages[position : position + 1]))
        if _reports_tool(message) or (interim and message.role != MessageRole.USER):
            continue
        turn = clean_turn(_turn(message), [template])
        if turn is not None:
            turns.append(turn)
    return turns


def _turn(message: ChatMessage) -> Turn:
    role = "assistant" if message.role in _ASSISTANT_ROLES else message.role.value
    name = message.additional_kwargs.get("name")
    return Turn(
        role=role,
        text=message.content or "",
        name=name if isinstance(name, str) and name.strip() else None,
        timestamp=stated_time(message.additional_kwargs.get("timestamp")),
    )


def _calls_tool(message: ChatMessage) -> bool:
    if message.additional_kwargs.get("tool_calls"):
        return True
    return any(getattr(block, "block_type", None) == "tool_call" for block in blocks_of(message))


def _reports_tool(message: ChatMessage) -> bool:
    if message.role in _TOOL_ROLES:
        return True
    return message.role == MessageRole.USER and (message.content or "").startswith(_CODE_RESULT)


def trimmed(messages: list[ChatMessage], limit: int) -> list[ChatMessage]:
    """The newest ``limit`` messages, without tool output at the head.

    Tool output whose call was cut off means nothing to a model, and some services refuse it.
    """
    if len(messages) <= limit:
        return messages
    start = len(messages) - limit
    while start < len(messages) and messages[start].role in _TOOL_ROLES:
        start += 1
    return messages[start:]


def with_memories(block: str | None, history: Sequence[ChatMessage], *, leading: bool) -> list[ChatMessage]:
    """Copies of ``history`` with the memory block, if there is one.

    Copies, because agents write into the messages they are given.

    Args:
        block: the filled template.
        history: the conversation.
        leading: put the block first, as a system message; else at the head of the last user message, for callers
            that take a leading system message for their own. Without a user message it goes first all the same.
    """
    messages = [copied(message) for message in history]
    if block is None:
        return messages
    if not leading:
        for message in reversed(messages):
            if message.role == MessageRole.USER:
                put_in_front(block, message)
                return messages
    return [ChatMessage(role=MessageRole.SYSTEM, content=block), *messages]
