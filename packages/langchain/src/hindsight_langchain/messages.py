"""LangChain messages as the turns that are stored, and recalled memories among messages."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    convert_to_messages,
)

from hindsight_adapter_core import Turn, clean_turn, stated_time

__all__ = [
    "MEMORY_MESSAGE_ID",
    "Said",
    "anything_said",
    "is_memory_message",
    "messages_in",
    "query_of",
    "said_in",
    "text_of",
    "with_leading_memories",
    "with_memories_appended",
    "without_memories",
]

logger = logging.getLogger("hindsight_langchain")

#: The id of the message that holds recalled memories in a graph's state.
MEMORY_MESSAGE_ID = "hindsight_memory_context"
#: What LangGraph's message reducer takes for "forget every message so far".
_REMOVE_ALL = "__remove_all__"
_ROLES = {"human": "user", "user": "user", "ai": "assistant", "assistant": "assistant"}


def messages_in(state: Any) -> list[BaseMessage]:
    """The messages of a graph's state (a mapping or an object) as message objects.

    Dicts, ``(role, text)`` pairs and plain strings are converted; what is none of these is left out. A state without
    messages has none.
    """
    held = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
    if held is None:
        return []
    if isinstance(held, str | Mapping | BaseMessage) or not isinstance(held, Iterable):
        held = [held]
    messages: list[BaseMessage] = []
    for one in held:
        try:
            messages += convert_to_messages([one])
        except (ValueError, TypeError, NotImplementedError, KeyError):
            logger.debug("a message of type %s is no message to LangChain; left out", type(one).__name__)
    return messages


def text_of(message: BaseMessage) -> str:
    """The words of a message: its text, or its text parts joined with spaces."""
    content = message.content
    if isinstance(content, str):
        return content
    parts = (part if isinstance(part, str) else _block_text(part) for part in content)
    return " ".join(part for part in parts if part)


def _block_text(block: Mapping[str, Any]) -> str:
    text = block.get("text") if block.get("type", "text") == "text" else None
    return text if isinstance(text, str) else ""


def is_memory_message(message: BaseMessage) -> bool:
    """True for the message that a recall node put into the state."""
    return message.id == MEMORY_MESSAGE_ID


@dataclass(frozen=True, kw_only=True)
class Said:
    """A genuine turn, and the id of its message if it has one."""

    turn: Turn
    message_id: str | None


def said_in(messages: Sequence[BaseMessage], templates: Sequence[str] = ()) -> list[Said]:
    """The genuine turns among ``messages``: what users wrote and what the assistant answered in the end.

    Left out are system and tool messages, assistant messages that call a tool, messages that a harness made (marked
    by ``lc_source``, such as summaries), reasoning, heartbeats, and memory blocks filled from ``templates``. A
    message's own ``name`` and ``timestamp`` (ISO text or ``datetime``, in ``additional_kwargs``) are carried.
    """
    cleaned = ((clean_turn(_turn(one), templates), one.id) for one in messages if _is_genuine(one))
    return [Said(turn=turn, message_id=message_id) for turn, message_id in cleaned if turn is not None]


def anything_said(messages: Sequence[BaseMessage]) -> bool:
    """True when a user or the assistant spoke; their words are not looked at."""
    return any(map(_is_genuine, messages))


def _is_genuine(message: BaseMessage) -> bool:
    if is_memory_message(message) or message.additional_kwargs.get("lc_source"):
        return False
    if isinstance(message, AIMessage):
        return not (message.tool_calls or message.invalid_tool_calls or message.additional_kwargs.get("tool_calls"))
    return isinstance(message, HumanMessage | ChatMessage)


def _turn(message: BaseMessage) -> Turn:
    role = message.role if isinstance(message, ChatMessage) else message.type
    name = message.name or message.additional_kwargs.get("name")
    return Turn(
        # A chunk's type is its class name.
        role="assistant" if isinstance(message, AIMessage) else _ROLES.get(role, role),
        text=text_of(message),
        name=name if isinstance(name, str) and name.strip() else None,
        timestamp=stated_time(message.additional_kwargs.get("timestamp")),
        message_id=message.id,
    )


def query_of(turns: Sequence[Turn]) -> str:
    """What to search for: the words of the last user turn, or of the user turns that end together with it."""
    said: list[str] = []
    for turn in reversed(turns):
        if turn.role == "user":
            said.append(turn.text)
        elif said:
            break
    return "\n".join(reversed(said))


def with_leading_memories(messages: Sequence[BaseMessage], block: str) -> list[BaseMessage]:
    """A state update that puts ``block`` in front of the conversation and takes an earlier block away.

    Replacing a message by its id would leave it where the earlier block stood, among older turns, and a new one would
    come after the user's message, where some model services refuse it. So the messages are put in order anew.
    """
    memory = SystemMessage(content=block, id=MEMORY_MESSAGE_ID)
    rest = [one for one in messages if not is_memory_message(one)]
    leading = next((at for at, one in enumerate(rest) if not isinstance(one, SystemMessage)), len(rest))
    ordered: list[BaseMessage] = [*rest[:leading], memory, *rest[leading:]]
    if ordered == list(messages):
        return []
    return [RemoveMessage(id=_REMOVE_ALL), *ordered] if rest else ordered


def lines_of_memories(messages: Iterable[BaseMessage]) -> list[str]:
    """The lines of the memory block among ``messages``, if there is one."""
    return [line for one in messages if is_memory_message(one) for line in text_of(one).splitlines() if line.strip()]


def without_memories(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """A state update that takes the block of an earlier recall away, if there is one."""
    return [RemoveMessage(id=MEMORY_MESSAGE_ID)] if any(map(is_memory_message, messages)) else []


def with_memories_appended(system: SystemMessage | None, block: str) -> SystemMessage:
    """The system message of a request with ``block`` after its own words, which stay as they are.

    Message parts stay parts, so that a prompt cache of theirs still works.
    """
    if system is None:
        return SystemMessage(content=block)
    content: Any = system.content
    if isinstance(content, str):
        content = f"{content}\n\n{block}" if content.strip() else block
    else:
        content = [*content, {"type": "text", "text": block}]
    return system.model_copy(update={"content": content})
