"""``configure()``: connection and defaults for everything in this package."""

from __future__ import annotations

from dataclasses import dataclass

from hindsight_adapter_core import (
    DEFAULT_HINDSIGHT_API_URL,
    HINDSIGHT_API_KEY_ENV,
    AdapterConfig,
    ConfigHolder,
    default_number,
    default_text,
    given,
)

__all__ = [
    "DEFAULT_HINDSIGHT_API_URL",
    "HINDSIGHT_API_KEY_ENV",
    "HOLDER",
    "HindsightLangGraphConfig",
    "configure",
    "get_config",
    "reset_config",
]


@dataclass(frozen=True)
class HindsightLangGraphConfig(AdapterConfig):
    """What ``configure()`` stored. See :class:`hindsight_adapter_core.settings.AdapterConfig` for the fields."""


HOLDER: ConfigHolder[HindsightLangGraphConfig] = ConfigHolder("hindsight_langgraph", HindsightLangGraphConfig)


def configure(  # noqa: PLR0913 - the documented signature
    hindsight_api_url: str | None = None,
    api_key: str | None = None,
    budget: str = default_text("mid"),
    max_tokens: int = default_number(4096),
    tags: list[str] | None = None,
    recall_tags: list[str] | None = None,
    recall_tags_match: str = default_text("any"),
    verbose: bool = False,
) -> HindsightLangGraphConfig:
    """Set connection and defaults; as :func:`hindsight_langchain.configure`, which is independent of this one.

    Raises:
        SettingsError: a value is out of its range.
    """
    return HOLDER.configure(
        hindsight_api_url=hindsight_api_url,
        api_key=api_key,
        budget=given(budget),
        max_tokens=given(max_tokens),
        tags=tags,
        recall_tags=recall_tags,
        recall_tags_match=given(recall_tags_match),
        verbose=verbose or None,
    )


def get_config() -> HindsightLangGraphConfig | None:
    """The configuration, or ``None`` before ``configure()`` and after ``reset_config()``."""
    return HOLDER.get_config()


def reset_config() -> None:
    """Forget the configuration."""
    HOLDER.reset_config()
