"""Values of settings refused by name."""

from __future__ import annotations

from .errors import SettingsError

__all__ = ["check_choice", "check_positive", "check_tags"]


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a value outside ``choices``; ``None`` passes."""
    if value is not None and value not in choices:
        raise SettingsError(f"{name} must be one of {', '.join(choices)}, not {value!r}")


def check_positive(name: str, value: object, *, instead: str = "") -> None:
    """Refuse anything but a positive whole number; ``None`` passes.

    Args:
        name, value: of the setting.
        instead: what to do for what 0 seems to ask for, as the end of the sentence.

    Raises:
        SettingsError: naming the value.
    """
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value <= 0):
        raise SettingsError(f"{name} must be a positive whole number, not {value!r}{instead and '; '}{instead}")


def check_tags(name: str, value: object) -> list[str]:
    """Refuse anything but a list of non-empty strings; returns a copy. ``None`` passes as an empty list."""
    if value is None:
        return []
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise SettingsError(f"{name} must be a list of strings, not {value!r}")
    if not all(isinstance(tag, str) and tag for tag in value):
        raise SettingsError(f"{name} must hold non-empty strings only")
    return list(value)
