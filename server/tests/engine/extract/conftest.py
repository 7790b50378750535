"""The engine with a scripted model that reads items for facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from hindsight_server.adapters.extract import opens_sentences
from hindsight_server.engine.extract.distiller import Aliases, Distiller
from hindsight_server.engine.language import LanguageModel, ModelOptions
from hindsight_server.ports.llm import ChatRequest
from hindsight_server.testing.scripted_model import Reply, ScriptedProvider

from ..conftest import Engine

Script = Iterable[Reply] | Callable[[ChatRequest], Reply]


@dataclass(frozen=True)
class Reading:
    """An engine whose items are read by a script."""

    engine: Engine
    provider: ScriptedProvider


def distiller(provider: ScriptedProvider, *, aliases: Aliases | None = None, **options: Any) -> Distiller:
    limits = ModelOptions(**{"max_retries": 0, "backoff_seconds": 0.0, **options})
    return Distiller(LanguageModel(provider, limits), ordinary=opens_sentences, aliases=aliases)


@pytest.fixture
def reading(engine: Engine) -> Callable[..., Reading]:
    """Makes the engine read with a script."""

    def read(script: Script, seconds: float = 0.0, **options: Any) -> Reading:
        provider = ScriptedProvider(script, seconds=seconds)
        engine.retainer.read_with(distiller(provider, **options))
        return Reading(engine, provider)

    return read


def fact(what: str, line: int = 1, **parts: Any) -> dict[str, Any]:
    """A fact as a model writes it."""
    return {"what": what, "line": line, **parts}


def facts(*given: dict[str, Any]) -> dict[str, Any]:
    return {"facts": list(given)}
