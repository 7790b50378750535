"""What speaks to a provider of language models: one question, one answer.

An adapter only translates. Retries, limits, the reading of structured answers and the request log are done once, for
all providers, by `engine.language`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A picture in a message. `media_type` is for example ``image/png``."""

    media_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """A tool that the model wants to have called.

    Args:
        arguments: what it gives the tool; None when `raw` is no JSON object.
        raw: the arguments as the model wrote them.
    """

    request_id: str
    name: str
    arguments: Mapping[str, Any] | None
    raw: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation. A ``tool`` message answers the request of `tool_request_id`."""

    role: Role
    text: str = ""
    images: tuple[Image, ...] = ()
    tool_requests: tuple[ToolRequest, ...] = ()
    tool_request_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that is offered to the model. `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The JSON schema that an answer must follow, and a name for it (letters, digits, underscores).

    `accepted` is what an answer is checked against instead, where one that falls short of the schema can still be used.
    A schema that is `from_caller` may take long to check, and is checked in a thread.
    """

    name: str
    schema: Mapping[str, Any]
    accepted: Mapping[str, Any] | None = None
    from_caller: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One question to a provider.

    Args:
        tools: tools that may be called; with `schema` none.
        tool_choice: ``auto``, ``required``, or the name of the one tool to call.
        schema: the shape of a structured answer, enforced where the provider can.
        max_tokens: tokens of the answer at most.
        timeout_seconds: when to give the question up; the caller cancels it then, whatever the provider does.
    """

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    schema: Schema | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    timeout_seconds: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the provider counted them; 0 where it does not tell.

    Args:
        input_tokens: of the question, `cached_tokens` among them.
        output_tokens: of the answer, `thought_tokens` among them.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    thought_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            thought_tokens=self.thought_tokens + other.thought_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """One answer. `truncated`: the model was cut off by the limit of tokens. Reasoning fields are never in `text`."""

    text: str = ""
    tool_requests: tuple[ToolRequest, ...] = ()
    truncated: bool = False
    usage: Usage = field(default_factory=Usage)


class ChatProvider(Protocol):
    """One model at one provider.

    Raises of `chat`: ModelUnavailable when a later try may succeed (rate limit, overload, time-out, connection), with
    the provider's `retry_after`; ModelRefused when it will not (bad key, unknown model, request not understood), and
    of it QuestionTooLong; BadModelAnswer when what came is no answer at all. None holds the key or the text of the
    question.
    """

    @property
    def model(self) -> str:
        """The model's name, as the provider knows it."""
        ...

    @property
    def provider(self) -> str:
        """The provider's name, for the request log."""
        ...

    async def chat(self, request: ChatRequest) -> ChatReply: ...

    async def prepare(self) -> None:
        """Load what the first question needs; nothing is sent."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class BatchProvider(Protocol):
    """What a provider of models has besides, when many questions can be left with it to be answered within a day.

    Both methods that ask raise as `ChatProvider.chat` does.
    """

    async def submit(self, name: str, requests: Mapping[str, ChatRequest]) -> str:
        """Leave questions, by ids of at most 64 characters; the batch's id.

        A batch of the same name that is there already, and was not given up, is taken instead: whoever does not know
        whether an earlier call came through can call again. Questions that are too many for a batch are left out.
        """
        ...

    async def poll(self, batch_id: str) -> Mapping[str, ChatReply] | None:
        """The answers of a batch by the ids of their questions; None while it is worked on.

        A question without an answer failed, or the batch ended before its turn came.
        """
        ...

    async def discard(self, batch_id: str) -> None:
        """End a batch and delete what was sent and answered, as far as that is possible. Raises nothing for it."""
        ...
