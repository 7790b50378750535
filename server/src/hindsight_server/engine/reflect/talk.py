"""The conversation with the model, and how much room is left in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hindsight_server.ports.llm import Message


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

    def add(self, *messages: Message) -> None:
        for message in messages:
            self.messages.append(message)
            self.tokens += self._count(message.text) + sum(self._count(asked.raw) for asked in message.tool_requests)
