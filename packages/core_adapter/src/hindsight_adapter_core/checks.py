"""Values of settings refused by name."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from .errors import SettingsError

__all__ = ["check_choice", "check_id", "check_positive", "check_tags", "id_text"]

_DOT_SEGMENTS = frozenset({".", ".."})


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a value outside ``choices``; ``None`` passes."""
    if value is not None and value not in choices:
        raise SettingsError(f"{name} must be one of {', '.join(choices)}, not {value!r}")


def check_id(name: str, value: object) -> str:
    """Refuse what can't name a bank or a document: the name is a part of the path of requests.

    An empty part, ``.`` and ``..`` can't be kept by escapes: whoever reads an address takes them for another place
    (RFC 3986, 5.2.4), and the request would be about the documents as a whole, or the bank.

    Args:
        name, value: of the setting.

    Raises:
        SettingsError: naming the value.
    """
    if not isinstance(value, str) or not value.strip():
        raise SettingsError(f"{name} must be a non-empty string, not {value!r}")
    if value in _DOT_SEGMENTS:
        raise SettingsError(
            f"{name} must not be {value!r}, which means another place in an address; put a letter or a digit with it"
        )
    return value


def id_text(value: Any) -> Any:
    """The text of an id that is a number or a UUID, as many applications number their users; anything else as it is.

    Example:
        >>> id_text(42), id_text("ann"), id_text(True)
        ('42', 'ann', True)
    """
    if isinstance(value, UUID) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    return value


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
