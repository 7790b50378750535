"""Process-wide defaults of the Haystack package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hindsight_adapter_core import (
    DEFAULT_HINDSIGHT_API_URL,
    HINDSIGHT_API_KEY_ENV,
    HINDSIGHT_API_URL_ENV,
    HINDSIGHT_BANK_ID_ENV,
    AdapterConfig,
    ConfigHolder,
    Deadlines,
    default_number,
    default_text,
    given,
)

__all__ = [
    "DEFAULT_HINDSIGHT_API_URL",
    "HINDSIGHT_API_KEY_ENV",
    "HINDSIGHT_API_URL_ENV",
    "HINDSIGHT_BANK_ID_ENV",
    "HindsightHaystackConfig",
    "configure",
    "explain",
    "get_config",
    "reset_config",
]


@dataclass(frozen=True)
class HindsightHaystackConfig(AdapterConfig):
    """What :func:`configure` holds; see :class:`hindsight_adapter_core.AdapterConfig` for the fields."""

    context: str | None = "haystack"


CONFIG: ConfigHolder[HindsightHaystackConfig] = ConfigHolder("hindsight_haystack", HindsightHaystackConfig)


def configure(  # noqa: PLR0913 - the documented signature
    hindsight_api_url: str | None = None,
    api_key: str | None = None,
    budget: str = default_text("mid"),
    max_tokens: int = default_number(4096),
    tags: list[str] | None = None,
    recall_tags: list[str] | None = None,
    recall_tags_match: str = default_text("any"),
    context: str = default_text("haystack"),
    mission: str | None = None,
    verbose: bool = False,
    *,
    deadlines: Deadlines | None = None,
) -> HindsightHaystackConfig:
    """Set the defaults of every tool, wrapper and hook that is built afterwards.

    Arguments given there win over these, and these over the environment.

    Args:
        hindsight_api_url: server address; default ``HINDSIGHT_API_URL``, else the vendor's cloud.
        api_key: bearer key; default ``HINDSIGHT_API_KEY``.
        budget: search depth, ``low``, ``mid`` or ``high``.
        max_tokens: upper bound of a recall answer, in tokens.
        tags: put on everything stored.
        recall_tags: filter of recall and reflect.
        recall_tags_match: ``any``, ``all``, ``any_strict``, ``all_strict`` or ``exact``.
        context: label of where stored text comes from.
        mission: what the bank is for; given one, the bank is created before its first use.
        verbose: log this package's steps at debug level.
        deadlines: time limits per operation, in seconds.

    Returns:
        The configuration now in force.

    Raises:
        SettingsError: a value is out of its range.

    Example:
        >>> configure(hindsight_api_url="http://localhost:8888", budget="low").budget
        'low'
        >>> reset_config()
    """
    return CONFIG.configure(
        hindsight_api_url=hindsight_api_url,
        api_key=api_key,
        budget=given(budget),
        max_tokens=given(max_tokens),
        tags=tags,
        recall_tags=recall_tags,
        recall_tags_match=given(recall_tags_match),
        context=given(context),
        mission=mission,
        verbose=verbose or None,
        deadlines=deadlines,
    )


def get_config() -> HindsightHaystackConfig | None:
    """The configuration, or ``None`` before :func:`configure` and after :func:`reset_config`."""
    return CONFIG.get_config()


def reset_config() -> None:
    """Forget the configuration."""
    CONFIG.reset_config()


def explain(**arguments: Any) -> dict[str, tuple[Any, str]]:
    """Every setting that tools built with these arguments would use, and where it comes from.

    Example:
        >>> explain(bank_id="user-123", budget="high")["budget"]
        ('high', 'argument')
    """
    from hindsight_adapter_core import MemoryOptions, resolve_connection, resolve_settings

    connection = resolve_connection(arguments.get("hindsight_api_url"), arguments.pop("api_key", None), get_config())
    settings = resolve_settings(MemoryOptions(**arguments), get_config(), default_context="haystack")
    return {
        **settings.explain(),
        "hindsight_api_url": (connection.url, connection.url_origin),
        "api_key": ("set" if connection.api_key else "not set", connection.key_origin or "default"),
    }
