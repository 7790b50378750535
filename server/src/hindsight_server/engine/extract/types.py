"""What a distilled item consists of."""

from __future__ import annotations

from dataclasses import dataclass, field

from hindsight_server.domain.model import Extraction
from hindsight_server.ports.llm import Usage

_FAILURES_IN_A_ROW = 8


@dataclass(frozen=True, slots=True)
class Dropped:
    """A fact of the model, or a part of one, that was not kept.

    Args:
        reason: ``name``, ``number``, ``date``, ``words``, ``speaker``, ``turned``, ``hedged``, ``orders``, ``empty``,
            ``repeated`` or ``too_many``; with ``part_`` before it when only a part of the fact was left out.
        text: what the model wrote.
    """

    reason: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ChunkFailure:
    """A chunk that the model could not be used for. `passes`: a later try may succeed."""

    chunk_index: int
    error: str
    passes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Distilled:
    """An item's extraction after a model has read its chunks.

    Args:
        extraction: the model's facts; the built-in extractor's for what the model gave nothing that could be kept.
        unsupported: chunks of which the model gave facts, but none that could be kept; their words stay instead.
    """

    extraction: Extraction
    dropped: tuple[Dropped, ...] = ()
    failures: tuple[ChunkFailure, ...] = ()
    unsupported: frozenset[int] = frozenset()
    usage: Usage = field(default_factory=Usage)

    @property
    def failed_chunks(self) -> frozenset[int]:
        return frozenset(failure.chunk_index for failure in self.failures)


@dataclass(slots=True)
class Outage:
    """Whether the model has gone away: then the rest is not asked, instead of waiting for one time-out after another.

    One is shared by all that is asked in one piece of work.
    """

    failures: int = 0

    @property
    def lasts(self) -> bool:
        return self.failures >= _FAILURES_IN_A_ROW
