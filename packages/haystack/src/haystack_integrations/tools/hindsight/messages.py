"""Chat messages as turns, and the memory block in and out of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from haystack.dataclasses import ChatMessage, ChatRole

from hindsight_adapter_core import RecallOutcome, Turn, fill_template, memory_lines, stated_time

__all__ = ["DEFAULT_MEMORY_PROMPT", "inject", "last_user_text", "memory_block", "restore", "turns_of"]

DEFAULT_MEMORY_PROMPT = (
    "Below are relevant memories from previous conversations:\n"
    "{memories}\n"
    "Use these memories to provide more personalized and contextual responses."
)

#: Key in a message's ``meta`` that marks an injected block and keeps the text that was there before (or ``None``).
_MARK = "hindsight_memory_base"


def memory_block(found: RecallOutcome, template: str, limit: int) -> str | None:
    """The filled template with at most ``limit`` memories, or ``None`` when there are none."""
    texts = found.texts[:limit]
    return fill_template(template, memory_lines(texts)) if texts else None


def message_text(message: ChatMessage) -> str:
    """All text parts of a message, one per line."""
    return "\n".join(text for text in message.texts if text)


def last_user_text(messages: Sequence[ChatMessage]) -> str | None:
    """The text of the last user message, or ``None`` when there is none or it is blank."""
    for message in reversed(messages):
        if message.is_from(ChatRole.USER):
            return message_text(message).strip() or None
    return None


def turns_of(messages: Sequence[ChatMessage]) -> list[Turn]:
    """The utterances among ``messages``: user texts, and assistant texts that do not lead to a tool call.

    A message's own name, and the time of its ``meta["timestamp"]``, are carried.
    """
    return [
        Turn(
            role=message.role.value,
            text=text,
            name=message.name,
            timestamp=stated_time(message.meta.get("timestamp")),
        )
        for message in messages
        if (message.is_from(ChatRole.USER) or (message.is_from(ChatRole.ASSISTANT) and not message.tool_calls))
        and (text := message_text(message)).strip()
    ]


def inject(
    messages: Sequence[ChatMessage], block: str | None, *, own_prompt: int, base: str | None = None
) -> list[ChatMessage]:
    """``messages`` with the block appended to the system prompt, after a blank line.

    The block becomes message text after any template was rendered, so nothing in it is interpreted.

    Args:
        messages: the conversation, the agent's own system prompt first.
        block: the text; ``None`` only replaces the prompt.
        own_prompt: 1 when the first message is the agent's system prompt, else 0.
        base: replaces the agent's own prompt when not ``None``.
    """
    own, rest = messages[:own_prompt], list(messages[own_prompt:])
    before = base if base is not None else (message_text(own[0]) if own else None)
    meta: dict[str, Any] = dict(own[0].meta) if own and base is None else {}
    if block is None:
        return [ChatMessage.from_system(before, meta=meta), *rest] if before else rest
    text = f"{before}\n\n{block}" if before else block
    return [ChatMessage.from_system(text, meta={**meta, _MARK: before}), *rest]


def restore(
    messages: Sequence[ChatMessage], *, prompt: str | None = None, base: str | None = None
) -> list[ChatMessage]:
    """``messages`` without injected blocks, so that they neither pile up in a history nor are stored.

    Args:
        messages: what a run left.
        prompt: a whole system prompt, block included, that was passed to the agent; put back to ``base``.
        base: what the prompt was without the block.
    """
    clean = []
    for message in messages:
        meta = {key: value for key, value in message.meta.items() if key != _MARK}
        if _MARK in message.meta:
            before = message.meta[_MARK]
        elif prompt is not None and message.is_from(ChatRole.SYSTEM) and message.text == prompt:
            before = base
        else:
            clean.append(message)
            continue
        if before is not None:
            clean.append(ChatMessage.from_system(before, meta=meta))
    return clean
