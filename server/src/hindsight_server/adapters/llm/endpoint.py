"""Where a model is asked, and what of it may be shown."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

# They write addresses (with the keys in them) and, at level debug, whole questions.
_TALKATIVE = ("openai", "anthropic", "httpx", "httpx2", "httpcore", "httpcore2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One model at one address.

    Args:
        provider: the provider's name, for messages and the request log.
        api: which of the two wire formats it speaks.
        base_url: its address; a query and a password in it are sent along, and shown nowhere.
        key: sent as the format has it; None for servers that ask for none.
    """

    provider: str
    api: Literal["openai", "anthropic"]
    model: str
    base_url: str = field(repr=False)
    key: str | None = field(default=None, repr=False)

    @property
    def host(self) -> str:
        """Scheme, host and port of the address."""
        parts = urlsplit(self.base_url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        return f"{parts.scheme}://{host}:{parts.port}" if parts.port else f"{parts.scheme}://{host}"

    @property
    def name(self) -> str:
        """The model and its address, for messages; with the path, since a missing ``/v1`` is a common mistake."""
        return f"Model '{self.model}' of {self.provider} at {self.path_url}"

    @property
    def path_url(self) -> str:
        """The address without its query and its password."""
        parts = urlsplit(self.base_url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    @property
    def login(self) -> tuple[str, str] | None:
        """Name and password of the address; they are sent in the place of the key."""
        parts = urlsplit(self.base_url)
        return (unquote(parts.username or ""), unquote(parts.password or "")) if "@" in parts.netloc else None

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.base_url).query))

    @property
    def secrets(self) -> tuple[str, ...]:
        """All that is sent along to be let in: the key, and what stands in the address."""
        return tuple(secret for secret in (self.key, *(self.login or ()), *self.query.values()) if secret)


def quiet_libraries() -> None:
    """Keep questions and addresses out of the log. Called when a library is first used, not on import."""
    for name in _TALKATIVE:
        logger = logging.getLogger(name)
        logger.setLevel(max(logger.level, logging.WARNING))
