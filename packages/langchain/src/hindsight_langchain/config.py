"""``configure()``: connection and defaults for everything in this package."""

from __future__ import annotations

from dataclasses import dataclass

from hindsight_adapter_core import (
    DEFAULT_HINDSIGHT_API_URL,
    HINDSIGHT_API_KEY_ENV,
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
    "HOLDER",
    "HindsightLangChainConfig",
    "configure",
    "get_config",
    "reset_config",
]


@dataclass(frozen=True)
class HindsightLangChainConfig(AdapterConfig):
    """What ``configure()`` stored. See :class:`hindsight_adapter_core.settings.AdapterConfig` for the fields."""

    context: str | None = "langchain"


HOLDER: ConfigHolder[HindsightLangChainConfig] = ConfigHolder("hindsight_langchain", HindsightLangChainConfig)


def configure(  # noqa: PLR0913 - the documented signature
    hindsight_api_url: str | None = None,
    api_key: str | None = None,
    budget: str = default_text("mid"),
    max_tokens: int = default_number(4096),
    tags: list[str] | None = None,
    recall_tags: list[str] | None = None,
    recall_tags_match: str = default_text("any"),
    context: str = default_text("langchain"),
    mission: str | None = None,
    verbose: bool = False,
    *,
    deadlines: Deadlines | None = None,
) -> HindsightLangChainConfig:
    """Set connection and defaults for what is built from now on. Replaces an earlier configuration.

    An argument given to a tool factory, a node, a retriever or the middleware wins over what is set here; what is set
    here wins over the environment and the defaults.

    Args:
        hindsight_api_url: server address; without one ``HINDSIGHT_API_URL``, else the vendor's cloud.
        api_key: bearer key; without one ``HINDSIGHT_API_KEY``.
        budget: search depth: ``low``, ``mid`` or ``high``.
        max_tokens: upper bound of what a recall returns, in tokens.
        tags: tags put on everything stored.
        recall_tags: tags that recall and reflect filter by.
        recall_tags_match: ``any``, ``all``, ``any_strict``, ``all_strict`` or ``exact``.
        context: label of where stored text comes from.
        mission: what the bank is for; given one, the bank is created before its first use.
        verbose: log this package's steps at debug level.
        deadlines: time limits in seconds; by default retain 15, recall 10, reflect 30, bank creation 15.

    Returns:
        The new configuration.

    Raises:
        SettingsError: a value is out of its range.

    Example:
        >>> configure(hindsight_api_url="http://localhost:8888", budget="high").budget
        'high'
        >>> reset_config()
    """
    return HOLDER.configure(
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


def get_config() -> HindsightLangChainConfig | None:
    """The configuration, or ``None`` before ``configure()`` and after ``reset_config()``."""
    return HOLDER.get_config()


def reset_config() -> None:
    """Forget the configuration."""
    HOLDER.reset_config()
