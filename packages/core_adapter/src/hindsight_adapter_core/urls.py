"""Server addresses that may carry a user name, a password or a key in the query, and must not show them."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

__all__ = ["discreet_url", "names_user", "safe_url"]

_USER = re.compile(r"https?://[^/?#@]+@", re.IGNORECASE)


def names_user(url: str) -> bool:
    """True when the address holds a user name or a password.

    Example:
        >>> names_user("https://ada:secret@example.org")
        True
    """
    return _USER.match(url) is not None


def safe_url(url: str) -> str:
    """The address without user name and password, without what its query says, and without a fragment.

    Example:
        >>> safe_url("https://ada:secret@example.org/?token=abc&x")
        'https://example.org/?token=***&***'
    """
    if not _may_tell(url):
        return url
    parts = urlsplit(url)
    query = "&".join(f"{name}=***" if equals else "***" for name, equals, _ in _pairs(parts.query))
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=query, fragment=""))


def _pairs(query: str) -> list[tuple[str, str, str]]:
    return [pair.partition("=") for pair in query.split("&") if pair]


def _may_tell(url: str) -> bool:
    return any(mark in url for mark in "@?#")


class _DiscreetUrl(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return repr(safe_url(self))


def discreet_url(url: str) -> str:
    """The same address; one with credentials is shown without them in every ``repr``, of dataclasses too."""
    return _DiscreetUrl(url) if _may_tell(url) else url
