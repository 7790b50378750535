"""What differs between the LlamaIndex versions that this package serves."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from llama_index.core.base.llms.types import ChatMessage

__all__ = ["AGENTS_KEEP_THE_QUESTION", "blocks_of", "copied", "put_in_front"]

#: Agents from before workflows put the user's message into the memory when they have answered it, and ask the memory
#: at every step before.
AGENTS_KEEP_THE_QUESTION = find_spec("llama_index.core.agent.workflow") is None

#: Before 0.12 a message holds one text and no blocks.
_HAS_BLOCKS = "blocks" in ChatMessage.model_fields

if TYPE_CHECKING or _HAS_BLOCKS:
    from llama_index.core.base.llms.types import TextBlock


def blocks_of(message: ChatMessage) -> list[Any]:
    """The content blocks of a message; none where there are no such things."""
    return list(message.blocks) if _HAS_BLOCKS else []


def copied(message: ChatMessage) -> ChatMessage:
    """A copy that an agent may write into."""
    if not _HAS_BLOCKS:
        return message.model_copy(deep=True)
    return message.model_copy(update={"blocks": [block.model_copy() for block in message.blocks]})


def put_in_front(text: str, message: ChatMessage) -> None:
    """Put a text at the head of the message."""
    # Some model classes join blocks without any space between.
    if _HAS_BLOCKS:
        message.blocks = [TextBlock(text=f"{text}\n\n"), *message.blocks]
    else:
        message.content = f"{text}\n\n{message.content or ''}"
