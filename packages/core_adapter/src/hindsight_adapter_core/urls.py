"""Server addresses that may carry a user name and a password, and must not show them."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

__all__ = ["discreet_url", "safe_url"]


def safe_url(url: str) -> str:
    """The address without user name and password."""
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return url
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


class _DiscreetUrl(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return repr(safe_url(self))


def discreet_url(url: str) -> str:
    """The same address; one with credentials is shown without them in every ``repr``, of dataclasses too."""
    return _DiscreetUrl(url) if "@" in url else url
