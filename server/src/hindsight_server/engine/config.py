"""The settings of a bank: which there are, their defaults, and what they may hold.

Names and defaults are those of the Hindsight 1.1 API. Those that steer a language model which is not there, or what
this server does not have, are kept and given back, and `not_applied` names them, so that nobody is misled.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from hindsight_server.domain.defence.policy import read_policy
from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.labels import check_labels
from hindsight_server.domain.observation_settings import check_default_scopes, check_limits, check_strategies
from hindsight_server.domain.pages.trigger import read_trigger
from hindsight_server.engine import reflect_options
from hindsight_server.engine.mental_models.schedule import check_trigger
from hindsight_server.ports.extractor import ExtractionOptions

CUSTOM = "custom"
EXTRACTION_MODES = ("concise", "verbose", "verbatim", "chunks", CUSTOM)
_WITHOUT_MODEL = tuple(mode for mode in EXTRACTION_MODES if mode != CUSTOM)
_ENVIRONMENT_PREFIX = "HINDSIGHT_API_"
_MIN_CHUNK_SIZE = 200  # characters; below it chunks fall apart into single turns


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One setting: the Python types it takes, its default, bounds for numbers, choices for text."""

    types: tuple[type, ...]
    default: Any = None
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()


def _text() -> ConfigKey:
    return ConfigKey((str,))


def _flag(default: bool) -> ConfigKey:
    return ConfigKey((bool,), default)


def _count(default: int | None, minimum: int = 1) -> ConfigKey:
    return ConfigKey((int,), default, minimum)


def _share(default: float) -> ConfigKey:
    return ConfigKey((int, float), default, 0.0, 1.0)


_TRAIT = ConfigKey((int,), 3, 1, 5)

CONFIG_KEYS: Mapping[str, ConfigKey] = {
    "reflect_mission": _text(),
    "reflect_source_facts_max_tokens": _count(-1, -1),
    "retain_mission": _text(),
    "retain_extraction_mode": ConfigKey((str,), "concise", choices=EXTRACTION_MODES),
    "retain_custom_instructions": _text(),
    "retain_chunk_size": _count(3000, _MIN_CHUNK_SIZE),
    "retain_structured_chunk_size": _count(None, _MIN_CHUNK_SIZE),
    "retain_max_attachments_per_chunk": _count(8, 0),
    "retain_default_strategy": _text(),
    "retain_strategies": ConfigKey((dict,)),
    "retain_chunk_batch_size": _count(100),
    "store_document_text": _flag(True),
    "entity_labels": ConfigKey((list,)),
    "entities_allow_free_form": _flag(True),
    "enable_observations": _flag(True),
    "observations_mission": _text(),
    "max_observations_per_scope": _count(-1, -1),
    "observation_scope_limits": ConfigKey((list,)),
    "consolidation_strategies": ConfigKey((list,)),
    "default_observation_scopes": ConfigKey((str, list)),
    "enable_auto_consolidation": _flag(True),
    "consolidation_use_decision_model": _flag(True),
    "consolidation_llm_parallelism": _count(4),
    "consolidation_max_memories_per_round": _count(100),
    "mental_model_min_refresh_interval_seconds": _count(0, 0),
    "knowledge_page_default_trigger": ConfigKey((dict,)),
    "reflect_default_options": ConfigKey((dict,)),
    "reflect_use_decision_model": _flag(True),
    "mental_model_refresh_use_decision_model": _flag(True),
    "mental_model_delta_use_decision_model": _flag(True),
    "enable_text_search": _flag(True),
    "enable_temporal_retrieval": _flag(True),
    "enable_graph_retrieval": _flag(True),
    "enable_reranking": _flag(True),
    "consolidation_llm_batch_size": _count(8),
    "consolidation_source_facts_max_tokens": _count(4096, -1),
    "consolidation_source_facts_max_tokens_per_observation": _count(256, -1),
    "recall_max_tokens": _count(2048),
    "recall_include_chunks": _flag(True),
    "recall_prefer_observations": _flag(False),
    "recall_chunks_max_tokens": _count(1000),
    "recall_budget_function": ConfigKey((str,), "fixed", choices=("fixed", "adaptive")),
    "recall_budget_fixed_low": _count(100),
    "recall_budget_fixed_mid": _count(300),
    "recall_budget_fixed_high": _count(1000),
    "recall_budget_adaptive_low": _share(0.025),
    "recall_budget_adaptive_mid": _share(0.075),
    "recall_budget_adaptive_high": _share(0.25),
    "recall_budget_min": _count(20),
    "recall_budget_max": _count(2000),
    "disposition_skepticism": _TRAIT,
    "disposition_literalism": _TRAIT,
    "disposition_empathy": _TRAIT,
    "mcp_enabled_tools": ConfigKey((list,)),
    "llm_gemini_safety_settings": ConfigKey((list,)),
    "memory_defense": ConfigKey((dict,)),
    "audit_log_enabled": _flag(False),
}

_APPLIED = frozenset(
    {"mental_model_min_refresh_interval_seconds", "knowledge_page_default_trigger"}
    | {"entity_labels", "entities_allow_free_form"}
    | {"memory_defense", "retain_extraction_mode", "retain_chunk_size", "retain_default_strategy", "retain_strategies"}
    | {"retain_structured_chunk_size", "retain_max_attachments_per_chunk"}
    | {"enable_observations", "enable_auto_consolidation", "default_observation_scopes", "max_observations_per_scope"}
    | {"observation_scope_limits", "consolidation_strategies", "consolidation_max_memories_per_round"}
    | {"consolidation_llm_parallelism", "consolidation_llm_batch_size"}
    | {"enable_text_search", "enable_temporal_retrieval", "enable_graph_retrieval", "enable_reranking"}
    | {name for name in CONFIG_KEYS if name.startswith("recall_")}
)

_READ_BY_MODEL: Mapping[str, frozenset[str]] = {
    "retain": frozenset({"retain_mission", "retain_custom_instructions"}),
    "reflect": frozenset(
        {"reflect_mission", reflect_options.SETTING, "reflect_source_facts_max_tokens"}
        | {name for name in CONFIG_KEYS if name.startswith("disposition_")}
    ),
    "consolidation": frozenset(
        {"observations_mission", "consolidation_source_facts_max_tokens"}
        | {"consolidation_source_facts_max_tokens_per_observation"}
    ),
}
"""What only the language model of a kind of work follows."""


def normalised_key(key: str) -> str:
    """The Python name of a setting, also from its environment form; InvalidInput for a name that is none."""
    name = key.removeprefix(_ENVIRONMENT_PREFIX).lower() if key.startswith(_ENVIRONMENT_PREFIX) else key
    if name not in CONFIG_KEYS:
        raise InvalidInput(
            f"'{key[:80]}' is no bank setting. See 'config' in the answer of GET .../config for all names.",
            field=f"updates.{key[:80]}",
        )
    return name


def checked_updates(updates: Mapping[str, Any], *, has_model: bool = False) -> dict[str, Any]:
    """Settings with Python names and checked values; null stays null (it resets the key).

    Args:
        has_model: whether a language model extracts facts; only it can follow mode ``custom``.

    Raises:
        InvalidInput: an unknown name, or a value that the setting can't hold.
    """
    checked: dict[str, Any] = {}
    for key, value in updates.items():
        name = normalised_key(key)
        if value is not None:
            _check(name, value, has_model=has_model)
        checked[name] = value
    return checked


def resolve(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """All settings: the defaults with a bank's overrides on top."""
    resolved = {name: key.default for name, key in CONFIG_KEYS.items()}
    resolved.update({name: value for name, value in overrides.items() if name in CONFIG_KEYS})
    return resolved


def not_applied(overrides: Mapping[str, Any], models: Collection[str] = ()) -> tuple[str, ...]:
    """Overrides that are kept but change nothing in this server as it runs now.

    Args:
        models: the kinds of work that a language model does, among ``retain``, ``reflect`` and ``consolidation``.
    """
    has_model = "retain" in models
    applied = _APPLIED.union(*(read for work, read in _READ_BY_MODEL.items() if work in models))
    names = set(overrides) - applied
    if not has_model and _is_custom(overrides):
        names.add("retain_extraction_mode")
    if has_model and not _is_custom(overrides):
        names |= {"retain_custom_instructions"} & set(overrides)
    for strategy, settings in (overrides.get("retain_strategies") or {}).items():
        idle = set(settings) - applied
        if not has_model and _is_custom(settings):
            idle.add("retain_extraction_mode")
        if has_model and not _is_custom({**overrides, **settings}):
            idle |= {"retain_custom_instructions"} & set(settings)
        names |= {f"retain_strategies.{strategy}.{name}" for name in idle}
    return tuple(sorted(names))


def _is_custom(settings: Mapping[str, Any]) -> bool:
    return settings.get("retain_extraction_mode") == CUSTOM


def extraction_options(
    config: Mapping[str, Any], strategy: str | None, field: str, reader: Callable[[str], str] = lambda mode: ""
) -> ExtractionOptions:
    """How to extract an item: the bank's settings, overridden by a named strategy (or the bank's default one).

    Args:
        config: resolved settings.
        strategy: the name that the item gave.
        field: where the name stands in the request, for the error.
        reader: the prompt that reads the chunks for facts in a mode; empty for the built-in extractor.

    Raises:
        InvalidInput: the bank has no strategy of that name.
    """
    name = strategy or config["retain_default_strategy"]
    settings = dict(config)
    if name:
        strategies = config["retain_strategies"] or {}
        if name not in strategies:
            known = ", ".join(sorted(strategies)) or "none"
            if strategy:
                raise InvalidInput(f"{field}: the bank has no strategy '{name[:80]}' (it has: {known}).", field=field)
            raise InvalidInput(
                f"{field} is not given, and the bank's setting retain_default_strategy names '{name[:80]}', which it "
                f"does not have (it has: {known}). Name a strategy here, or correct the setting.",
                field=field,
            )
        settings.update(strategies[name])
    labels = settings["entity_labels"]
    mode = settings["retain_extraction_mode"]
    read_by = reader(mode)
    instructions = settings["retain_custom_instructions"] if mode == CUSTOM else None
    return ExtractionOptions(
        mode=mode,
        chunk_size=settings["retain_chunk_size"],
        structured_chunk_size=settings["retain_structured_chunk_size"],
        labels=json.dumps(labels, ensure_ascii=False) if labels else "",
        free_form=settings["entities_allow_free_form"],
        reader=read_by,
        mission=(settings["retain_mission"] or "") if read_by else "",
        instructions=(instructions or "") if read_by else "",
        attachments_per_chunk=settings["retain_max_attachments_per_chunk"],
    )


def _check(name: str, value: Any, *, has_model: bool) -> None:
    key, field = CONFIG_KEYS[name], f"updates.{name}"
    if not _fits(value, key.types):
        wanted = " or ".join(TYPE_NAMES[kind] for kind in key.types)
        raise InvalidInput(f"{name} must be {wanted}.", field=field)
    if name == "retain_extraction_mode" and value not in (EXTRACTION_MODES if has_model else _WITHOUT_MODEL):
        reason = "follows instructions that only a language model can read, and none is configured"
        raise InvalidInput(
            f"retain_extraction_mode 'custom' {reason}. Use one of: {', '.join(_WITHOUT_MODEL)}."
            if value == CUSTOM
            else f"retain_extraction_mode must be one of: {', '.join(EXTRACTION_MODES)}.",
            field=field,
        )
    if key.choices and value not in key.choices:
        raise InvalidInput(f"{name} must be one of: {', '.join(key.choices)}.", field=field)
    low, high = key.minimum, key.maximum
    if (low is not None and value < low) or (high is not None and value > high):
        bounds = f"at least {low:g}" if high is None else f"between {low:g} and {high:g}"
        raise InvalidInput(f"{name} must be {bounds}.", field=field)
    if name == "retain_strategies":
        _check_strategies(value, field, has_model=has_model)
    if name == "entity_labels":
        check_labels(value, field)
    if name in _OBSERVATION_CHECKS:
        _OBSERVATION_CHECKS[name](value, field)
    if name == "memory_defense":
        read_policy(value, field)
    if name == "knowledge_page_default_trigger":
        check_trigger(read_trigger(value, field), field)
    if name == reflect_options.SETTING:
        reflect_options.read_default_options(value, field)


_OBSERVATION_CHECKS: Mapping[str, Callable[[Any, str], None]] = {
    "default_observation_scopes": check_default_scopes,
    "observation_scope_limits": check_limits,
    "consolidation_strategies": check_strategies,
}


def check_default_strategy(config: Mapping[str, Any]) -> None:
    """Raises InvalidInput when the default strategy of a bank's settings, given whole, is none of its strategies."""
    name, strategies = config.get("retain_default_strategy"), config.get("retain_strategies") or {}
    if name and name not in strategies:
        known = ", ".join(sorted(strategies)) or "none"
        raise InvalidInput(
            f"retain_default_strategy: the bank has no strategy '{name[:80]}' (it has: {known}). Give it in "
            "retain_strategies, in the same request or before.",
            field="updates.retain_default_strategy",
        )


def _fits(value: Any, types: tuple[type, ...]) -> bool:
    # In Python a bool is an int; in a setting it is not.
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))


def _check_strategies(strategies: Mapping[str, Any], field: str, *, has_model: bool) -> None:
    for strategy, settings in strategies.items():
        if not isinstance(settings, dict):
            raise InvalidInput(f"{field}.{strategy} must be an object of settings.", field=f"{field}.{strategy}")
        for name, value in _checked_strategy(settings, f"{field}.{strategy}", has_model=has_model).items():
            if not name.startswith("retain_") or name in ("retain_strategies", "retain_default_strategy"):
                raise InvalidInput(f"{field}.{strategy}: '{name}' can't be part of a strategy.", field=field)
            if value is None:
                raise InvalidInput(f"{field}.{strategy}.{name} can't be null; leave it out.", field=field)


def _checked_strategy(settings: Mapping[str, Any], place: str, *, has_model: bool) -> dict[str, Any]:
    try:
        return checked_updates(settings, has_model=has_model)
    except InvalidInput as error:  # the same setting may stand in the bank itself and in several strategies
        within = (error.field or "").removeprefix("updates").lstrip(".")
        raise InvalidInput(f"{place}: {error}", field=f"{place}.{within}") from None


TYPE_NAMES: Mapping[type, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}
