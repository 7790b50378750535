"""Whether the models of a server answer at all: one short question each."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Literal

from hindsight_server.domain.errors import KeyRefused, ModelError, ModelRefused, ModelTimedOut, ModelUnavailable
from hindsight_server.engine.language.model import LanguageModel
from hindsight_server.engine.language.types import CallAbout, Models
from hindsight_server.ports.llm import Message

Operation = Literal["retain", "consolidation", "reflect"]
Status = Literal["connected", "not_configured", "auth_failed", "unreachable", "timeout"]
OPERATIONS: tuple[Operation, ...] = ("retain", "consolidation", "reflect")
_SECONDS = 30.0
# Models that think first need room for it before the first word.
_TOKENS = 1024
_QUESTION = Message(role="user", text="Answer with the word OK.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Whether the model of one kind of work answered, and after how long. Nothing here says which model it is."""

    operation: Operation
    status: Status
    latency_ms: float | None = None


async def probe_all(models: Models, bank_id: str) -> tuple[Probe, ...]:
    """Ask each model once; kinds of work with the same model share the answer."""
    of_work = {operation: getattr(models, operation) for operation in OPERATIONS}
    asked = {id(model): model for model in of_work.values() if model is not None}
    results = await asyncio.gather(*(_probe(model, bank_id) for model in asked.values()))
    by_model = dict(zip(asked, results, strict=True))
    none: tuple[Status, float | None] = ("not_configured", None)
    found = {operation: by_model.get(id(model), none) for operation, model in of_work.items()}
    return tuple(
        Probe(operation=operation, status=status, latency_ms=latency) for operation, (status, latency) in found.items()
    )


async def _probe(model: LanguageModel, bank_id: str) -> tuple[Status, float | None]:
    about = CallAbout(bank_id=bank_id, purpose="health", within_seconds=_SECONDS)
    began = time.perf_counter()
    try:
        await model.complete([_QUESTION], about=about, max_tokens=_TOKENS)
    except KeyRefused:
        return "auth_failed", None
    except ModelTimedOut:
        return "timeout", None
    except (ModelRefused, ModelUnavailable):
        return "unreachable", None
    except ModelError:
        pass  # it answered, if nothing useful: it is there
    return "connected", round((time.perf_counter() - began) * 1000, 1)
