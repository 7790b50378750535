"""The language models of the settings, and the log of what they are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hindsight_server.model_settings import LanguageSettings, ModelSettings
from hindsight_server.settings import Settings, SettingsError

if TYPE_CHECKING:
    from hindsight_server.engine.language import Models
    from hindsight_server.engine.language.log import RequestLog
    from hindsight_server.engine.language.types import Recorder
    from hindsight_server.http.metrics import Metrics
    from hindsight_server.ports.clock import Clock
    from hindsight_server.ports.llm import ChatProvider
    from hindsight_server.ports.store import Store


def make_request_log(settings: Settings, store: Store, clock: Clock, metrics: Metrics) -> RequestLog:
    """The log, which also counts for the metrics."""
    from hindsight_server.engine.language.log import LogOptions, RequestLog

    options = LogOptions(
        enabled=settings.llm_trace_enabled,
        texts=settings.llm_trace_texts,
        max_chars=settings.llm_trace_max_chars,
        retention_days=settings.llm_trace_retention_days,
    )
    return RequestLog(store, clock, options, count=metrics.language.count)


def build_models(wanted: LanguageSettings, record: Recorder | None = None) -> Models:
    """The language models of the settings. Kinds of work with the same settings share one, and its limits.

    Args:
        record: told of every try.

    Raises:
        SettingsError: the library of a provider is not installed.
    """
    from hindsight_server.engine.language import LanguageModel, ModelOptions, Models
    from hindsight_server.engine.language.types import no_record

    made: dict[ModelSettings, LanguageModel] = {}

    def model(settings: ModelSettings) -> LanguageModel | None:
        if settings.configured and settings not in made:
            options = ModelOptions(
                max_concurrent=settings.max_concurrent,
                max_retries=settings.max_retries,
                timeout_seconds=settings.timeout_seconds,
                max_tokens=settings.max_tokens,
            )
            made[settings] = LanguageModel(_provider(settings), options, record or no_record)
        return made.get(settings)

    return Models(
        retain=model(wanted.retain),
        reflect=model(wanted.reflect),
        consolidation=model(wanted.consolidation),
        vision=model(wanted.vision),
    )


def check_models(wanted: LanguageSettings) -> None:
    """Raise SettingsError when the library of a provider is not installed; none is imported."""
    from hindsight_server.extras import lacking_for_model

    for model in (wanted.retain, wanted.reflect, wanted.consolidation, wanted.vision):
        lacking = lacking_for_model(model.known.api, model.provider) if model.configured else None
        if lacking is not None:
            raise SettingsError(lacking)


def _provider(settings: ModelSettings) -> ChatProvider:
    from hindsight_server.adapters.llm import Endpoint, make_provider
    from hindsight_server.domain.errors import ModelRefused

    assert settings.model is not None
    endpoint = Endpoint(
        provider=settings.provider,
        api=settings.known.api,
        model=settings.model,
        base_url=settings.address,
        key=settings.api_key,
    )
    try:
        return make_provider(endpoint)
    except ModelRefused as problem:
        raise SettingsError(str(problem)) from problem
