"""The conversation with the model, and how much room is left in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from hindsight_server.ports.llm import Message

_LONGEST = 40_000  # characters of the model's own text, or of the arguments of one call
_CUT = "{}"


class Talk:
    """Messages in order, their tokens counted as they come.

    Args:
        first: the instructions and the question.
        count_tokens: counts the tokens of a text.
        most: tokens that the conversation may grow to.
    """

    def __init__(self, first: Iterable[Message], count_tokens: Callable[[str], int], most: int) -> None:
        self._count = count_tokens
        self._most = most
        self.messages: list[Message] = []
        self.tokens = 0
        self.add(*first)

    @property
    def full(self) -> bool:
        """Whether it has grown beyond what the model is asked to read."""
        return self.tokens > self._most

    def add_turn(self, message: Message) -> None:
        """The model's own turn; what it wrote beyond all measure is not shown to it again."""
        asked = tuple(
            replace(request, arguments={}, raw=_CUT) if len(request.raw) > _LONGEST else request
            for request in message.tool_requests
        )
        text = message.text if len(message.text) <= _LONGEST else message.text[:_LONGEST] + " …"
        self.add(replace(message, text=text, tool_requests=asked))

    def add(self, *messages: Message) -> None:
        for message in messages:
            self.messages.append(message)
            self.tokens += self._count(message.text) + sum(self._count(asked.raw) for asked in message.tool_requests)
