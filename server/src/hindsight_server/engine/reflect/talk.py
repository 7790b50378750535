"""The conversation with the model, and how much room is left in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from hindsight_server.ports.llm import Message

_LONGEST = 40_000  # characters of the model's own text, or of the arguments of one call
_CUT = "{}"


class Talk:
    """Messages in order.

    Args:
        first: the instructions and the question.
        count_tokens: counts the tokens of a text.
        most: tokens that the conversation may grow to.
    """

    def __init__(self, first: Iterable[Message], count_tokens: Callable[[str], int], most: int) -> None:
        self._count = count_tokens
        self._most = most
        self.messages: list[Message] = []
        self._counted = self._tokens = 0
        self._bytes = 0
        self.add(*first)

    @property
    def full(self) -> bool:
        """Whether it has grown beyond what the model is asked to read."""
        # A token takes at least a byte, so a short conversation needs no exact count.
        return self._bytes > self._most and self._total() > self._most

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
            self._bytes += sum(len(text.encode("utf-8", "surrogatepass")) for text in _texts(message))

    def _total(self) -> int:
        for message in self.messages[self._counted :]:
            self._tokens += sum(map(self._count, _texts(message)))
        self._counted = len(self.messages)
        return self._tokens


def _texts(message: Message) -> Iterable[str]:
    yield message.text
    yield from (asked.raw for asked in message.tool_requests)
