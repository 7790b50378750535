"""What consolidation works with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from hindsight_server.domain.grounding import Ordinary
from hindsight_server.domain.model import Fact
from hindsight_server.domain.observation_scopes import Scope
from hindsight_server.engine.language import Spent
from hindsight_server.ports.observations import Observation, Source, WaitingFact
from hindsight_server.ports.records import Operation


def no_ordinary(word: str) -> bool:
    """No word is known to be ordinary."""
    return False


class Kind(StrEnum):
    """What is to become of an observation."""

    CREATE = "create"
    UPDATE = "update"
    CONTRADICT = "contradict"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing to do.

    Args:
        observation_id: the observation it is about; None for a new one.
        text: what it is to say.
        sources: facts that it rests on from now on, besides those it rests on already.
        fold: number that tells its copies among facts (`domain.identity.fold_number`); 0 for none.
    """

    kind: Kind
    observation_id: str | None = None
    text: str = ""
    sources: tuple[Source, ...] = ()
    fold: int = 0


class Reason(NamedTuple):
    """Why an action is not done: the name under which such refusals are counted, and the words for the model."""

    name: str
    told: str


UNKNOWN_ACTION = Reason("action", "its action is none of create, update, contradict, delete")
FOREIGN_FACT = Reason("fact", "it names a fact that was not given")
FOREIGN_OBSERVATION = Reason("observation", "it names an observation that was not given")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """An action that is not done, and why; with the facts that it named."""

    why: Reason
    fact_ids: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An observation of the scope that the facts may bear on, with the facts it rests on."""

    observation: Observation
    facts: tuple[Fact, ...]

    @property
    def observation_id(self) -> str:
        return self.observation.fact.fact_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Facts of one scope that are looked at together.

    Args:
        candidates: observations that they may bear on, likeliest first.
        settings: those that hold in the scope.
        usual_scopes: the bank's scopes of facts whose document names none (`domain.observation_scopes.scopes_of`).
        room: how many observations more the scope may hold; None for any number.
        spent: what each answer of a model has used is added to.
    """

    operation: Operation
    scope: Scope
    facts: Sequence[WaitingFact]
    candidates: Sequence[Candidate]
    settings: Mapping[str, Any] = field(default_factory=dict)
    usual_scopes: object | None = None
    room: int | None = None
    spent: Spent = field(default_factory=Spent, compare=False)

    @property
    def bank_id(self) -> str:
        return self.operation.bank_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What somebody who looked wants to have done.

    Args:
        further: facts beside the given ones that the actions rest on; only the built-in way has any.
        refused: what could not even be read as an action.
    """

    actions: tuple[Action, ...]
    further: tuple[Fact, ...] = ()
    refused: tuple[Refused, ...] = ()


class Judge(Protocol):
    """Looks at facts and says what they change. Raises ModelError."""

    async def propose(self, look: Look, notes: Sequence[str] = ()) -> Proposal:
        """`notes` say what was wrong with an earlier proposal for the same look."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidatorOptions:
    """How consolidation is run.

    Args:
        defaults: settings of banks that set none themselves, where the server was given any.
        ordinary: which words are no names though they begin a sentence with a capital.
        candidates: observations that are shown with a batch of facts, at most.
        stale_tries: looks at the same facts when others change them meanwhile.
        sweep_seconds: how often to look for banks whose facts wait without a job, after a crash or an outage.
        failed_seconds: how long to leave a bank alone whose job failed for good.
        near: cosine from which on two observations that agree in names, numbers and negation are one. Upstream's value.
    """

    defaults: Mapping[str, Any] = field(default_factory=dict)
    ordinary: Ordinary = no_ordinary
    candidates: int = 20
    stale_tries: int = 5
    sweep_seconds: float = 300.0
    failed_seconds: float = 900.0
    near: float = 0.97
