"""A webhook and what is checked of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from hindsight_server.domain.errors import InvalidInput

RETAIN_COMPLETED = "retain.completed"
CONSOLIDATION_COMPLETED = "consolidation.completed"
DEFENSE_TRIGGERED = "memory_defense.triggered"
EVENT_TYPES = (RETAIN_COMPLETED, CONSOLIDATION_COMPLETED, DEFENSE_TRIGGERED)

MASK = "********"
"""Stands in answers for what is secret. Given back in a change, it leaves the secret as it is."""

_METHODS = ("GET", "POST")
_LONGEST_TIMEOUT = 120  # seconds
_MOST_PAIRS = 32
_LONGEST_VALUE = 4096  # characters
_LONGEST_SECRET = 512  # characters
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")  # RFC 9110, section 5.6.2
_OURS = frozenset(
    (
        *("host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection"),
        *("keep-alive", "te", "trailer", "upgrade", "expect", "proxy-connection", "x-hub-signature-256"),
    )
)
_OUR_PREFIX = "x-hindsight-"
_SECRET_NAME = re.compile(
    r"auth|cookie|token|secret|passw|pwd|key|credential|signature|session|bearer|jwt|^(?:sig|code|pass|pin)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpConfig:
    """How a webhook is called.

    Args:
        method: ``POST`` or ``GET``; both carry the event as their body.
        timeout_seconds: for a whole attempt, from looking the name up to the answer.
        headers: sent beside ours.
        params: added to the query of the URL.
    """

    method: str = "POST"
    timeout_seconds: int = 30
    headers: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """Somebody who is told of events of a bank.

    Args:
        secret: what signatures are made with; None for none.
        event_types: of `EVENT_TYPES`.
        enabled: one that is not is told nothing, and what it was still to be told fails.
    """

    webhook_id: str
    url: str = field(repr=False)
    secret: str | None = field(default=None, repr=False)
    event_types: tuple[str, ...] = (CONSOLIDATION_COMPLETED,)
    enabled: bool = True
    http_config: HttpConfig = field(default_factory=HttpConfig, repr=False)
    created_at: datetime
    updated_at: datetime


def check_event_types(names: Sequence[str]) -> tuple[str, ...]:
    """The types without repetitions. Raises InvalidInput."""
    for index, name in enumerate(names):
        if name not in EVENT_TYPES:
            raise InvalidInput(
                f"There is no event of this type; there are {', '.join(EVENT_TYPES)}.", field=f"event_types[{index}]"
            )
    if not names:
        raise InvalidInput("event_types is empty; to be told nothing, set enabled to false.", field="event_types")
    return tuple(dict.fromkeys(names))


def check_secret(secret: str | None) -> str | None:
    """The secret; None for a blank one. Raises InvalidInput, which does not repeat it."""
    if secret is None or not secret.strip():
        return None
    if len(secret) > _LONGEST_SECRET or secret == MASK:
        raise InvalidInput(f"secret must have at most {_LONGEST_SECRET} characters, and not be {MASK}.", field="secret")
    try:
        secret.encode()
    except UnicodeEncodeError:
        raise InvalidInput("secret holds what is no text.", field="secret") from None
    return secret


def check_config(config: HttpConfig) -> HttpConfig:
    """The same, checked. Raises InvalidInput, which does not repeat values."""
    method = config.method.upper()
    if method not in _METHODS:
        raise InvalidInput("method must be POST or GET.", field="http_config.method")
    if not 1 <= config.timeout_seconds <= _LONGEST_TIMEOUT:
        raise InvalidInput(
            f"timeout_seconds must lie between 1 and {_LONGEST_TIMEOUT}.", field="http_config.timeout_seconds"
        )
    for name in ("headers", "params"):
        pairs = getattr(config, name)
        if len(pairs) > _MOST_PAIRS or any(len(key) + len(value) > _LONGEST_VALUE for key, value in pairs.items()):
            raise InvalidInput(
                f"{name} must be at most {_MOST_PAIRS}, each of at most {_LONGEST_VALUE} characters.",
                field=f"http_config.{name}",
            )
    for name, value in config.headers.items():
        _check_header(name, value)
    return HttpConfig(
        method=method,
        timeout_seconds=config.timeout_seconds,
        headers=dict(config.headers),
        params=dict(config.params),
    )


def _check_header(name: str, value: str) -> None:
    if not _TOKEN.fullmatch(name) or name.lower() in _OURS or name.lower().startswith(_OUR_PREFIX):
        raise InvalidInput(
            f"{name[:50]!r} can't be set: it is no name of a header, or one that the server sets itself.",
            field="http_config.headers",
        )
    if not (value.isascii() and value.isprintable()):
        raise InvalidInput(
            f"The value of the header {name} holds what is no printable ASCII.", field="http_config.headers"
        )


def shown_pairs(pairs: Mapping[str, str]) -> dict[str, str]:
    """Headers or parameters with the values hidden of those that, by their names, let somebody in."""
    return {name: MASK if _SECRET_NAME.search(name) else value for name, value in pairs.items()}


def unmasked(given: HttpConfig, held: HttpConfig) -> HttpConfig:
    """What was given, with the values put back that had been shown as `MASK`."""
    return HttpConfig(
        method=given.method,
        timeout_seconds=given.timeout_seconds,
        headers=_put_back(given.headers, held.headers),
        params=_put_back(given.params, held.params),
    )


def _put_back(given: Mapping[str, str], held: Mapping[str, str]) -> dict[str, str]:
    return {name: held.get(name, value) if value == MASK else value for name, value in given.items()}
