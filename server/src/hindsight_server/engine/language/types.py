"""What a language model is asked for and what it gives."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from hindsight_server.ports.llm import ChatReply, ChatRequest, Message, ToolRequest, Usage

if TYPE_CHECKING:
    from hindsight_server.engine.language.model import LanguageModel


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Limits of one model.

    Args:
        max_concurrent: questions at the same time; more wait.
        max_retries: further tries after a failure that may pass.
        timeout_seconds: of one try.
        max_tokens: tokens of an answer at most; a caller may name a lower limit.
        temperature: None leaves it to the provider.
        backoff_seconds: wait before the second try, doubled before each further one, where the provider names no wait.
        longest_wait_seconds: a provider that asks for more is not waited for: the question fails at once.
    """

    max_concurrent: int = 32
    max_retries: int = 3
    timeout_seconds: float = 120.0
    max_tokens: int | None = None
    temperature: float | None = None
    backoff_seconds: float = 0.5
    longest_wait_seconds: float = 60.0


@dataclass(slots=True)
class Spent:
    """What questions have used so far, also those whose answers were no good or were asked for again."""

    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAbout:
    """What a question is asked for; kept in the request log.

    Args:
        purpose: ``retain``, ``reflect``, ``consolidation``, ``mental_model`` or ``vision``.
        operation_id: the operation that it belongs to, if any.
        scope: which of the questions of that work it is, for example ``extract_facts`` or ``agent_2``.
        run_id: the same for all questions of one run; the operation's id when there is none.
        document_id: the document that it is about, if it is one.
        within_seconds: how long the caller waits for an answer, all tries together; None is as long as they take.
        since: when the caller began, in seconds since the epoch. What is forgotten later may still be in its questions,
            however long they wait to be asked.
        spent: what each answer has used is added to.
    """

    bank_id: str
    purpose: str
    operation_id: str | None = None
    scope: str | None = None
    run_id: str | None = None
    document_id: str | None = None
    within_seconds: float | None = None
    since: float = field(default_factory=time.time, compare=False)
    spent: Spent = field(default_factory=Spent, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try of one question.

    Args:
        began: seconds since the epoch; `ended` likewise.
        reply: what came, or None, and then `error` says why. It holds neither key nor question.
    """

    about: CallAbout
    provider: str
    model: str
    began: float
    ended: float
    request: ChatRequest = field(repr=False)
    reply: ChatReply | None = field(default=None, repr=False)
    error: str | None = None


Recorder = Callable[[Attempt], None]
"""Told of every try. It must not raise or wait."""


def no_record(attempt: Attempt) -> None:
    """Keeps nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Text, without any reasoning. `truncated`: cut off by the limit of tokens."""

    text: str
    usage: Usage = field(default_factory=Usage)
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Structured:
    """A JSON object that follows the wanted schema. `repaired`: it took a second question to get it."""

    value: Mapping[str, Any]
    usage: Usage = field(default_factory=Usage)
    repaired: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTurn:
    """One turn of a model that has tools: the requests, or prose when there are none.

    `message` is the turn as it goes into the conversation.
    """

    text: str
    requests: tuple[ToolRequest, ...]
    message: Message
    usage: Usage = field(default_factory=Usage)
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The model of each kind of work; None where there is none, and the built-in way is taken.

    Args:
        retain: extracts facts.
        reflect: answers questions, writes mental models.
        consolidation: keeps observations.
        vision: reads pictures.
    """

    retain: LanguageModel | None = None
    reflect: LanguageModel | None = None
    consolidation: LanguageModel | None = None
    vision: LanguageModel | None = None

    @property
    def work(self) -> frozenset[str]:
        """The kinds of work that have a model."""
        return frozenset(one.name for one in fields(self) if getattr(self, one.name) is not None)

    def every(self) -> list[LanguageModel]:
        """Each model once, whatever it does."""
        models = (self.retain, self.reflect, self.consolidation, self.vision)
        return list({id(model): model for model in models if model is not None}.values())

    async def prepare(self) -> None:
        """Load what first questions need; nothing is sent, and nothing is loaded where there is no model."""
        for model in self.every():
            await model.prepare()

    async def close(self) -> None:
        """Close every model; one that does several kinds of work once."""
        for model in self.every():
            await model.close()
