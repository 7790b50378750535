"""Who is told of every bank, and which hosts webhooks may reach, read from the environment with the other settings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.webhooks.targets import Allowed, read_target
from hindsight_server.domain.webhooks.types import CONSOLIDATION_COMPLETED, check_event_types, check_secret
from hindsight_server.model_settings import PREFIX, SettingsError, switch


def _suffix(name: str) -> dict[str, str]:
    return {"suffix": name}


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    """Webhooks.

    Args:
        url: is told of the events of every bank; None for nobody.
        secret: what its signatures are made with.
        event_types: what it is told of, with commas between.
        allowed_hosts: names, addresses or networks that webhooks may reach although they are not public, with commas
            between or as a JSON list.
        expose_response_body: keep the beginning of what receivers answer, and show it with the deliveries.
    """

    url: str | None = field(default=None, repr=False, metadata=_suffix("WEBHOOK_URL"))
    secret: str | None = field(default=None, repr=False, metadata=_suffix("WEBHOOK_SECRET"))
    event_types: str = field(default=CONSOLIDATION_COMPLETED, metadata=_suffix("WEBHOOK_EVENT_TYPES"))
    allowed_hosts: str = field(default="[]", metadata=_suffix("WEBHOOK_ALLOWED_HOSTS"))
    expose_response_body: bool = field(default=False, metadata=_suffix("WEBHOOK_EXPOSE_RESPONSE_BODY"))

    def __post_init__(self) -> None:
        allowed = self.allowed()
        try:
            check_event_types(self.types())
        except InvalidInput as problem:
            raise SettingsError(f"{PREFIX}WEBHOOK_EVENT_TYPES can't be used: {problem}") from None
        try:
            check_secret(self.secret)
        except InvalidInput as problem:
            raise SettingsError(f"{PREFIX}WEBHOOK_SECRET can't be used: {problem}") from None
        if self.url is None:
            return
        try:
            read_target(self.url, allowed)
        except InvalidInput as problem:
            raise SettingsError(f"{PREFIX}WEBHOOK_URL can't be used: {problem}") from None

    def types(self) -> tuple[str, ...]:
        """What the receiver of all banks is told of."""
        return tuple(_listed("WEBHOOK_EVENT_TYPES", self.event_types))

    def allowed(self) -> Allowed:
        """What may be reached although it is not public."""
        try:
            return Allowed(_listed("WEBHOOK_ALLOWED_HOSTS", self.allowed_hosts))
        except ValueError as problem:
            raise SettingsError(f"{PREFIX}WEBHOOK_ALLOWED_HOSTS can't be used: {problem}.") from None

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> WebhookSettings:
        """Raises SettingsError."""
        values: dict[str, Any] = {}
        for setting in fields(cls):
            variable = PREFIX + setting.metadata["suffix"]
            text = environ.get(variable, "").strip()
            if text:
                values[setting.name] = switch(variable, text) if isinstance(setting.default, bool) else text
        return cls(**values)


def webhook_variables() -> Iterator[tuple[str, Any]]:
    """Every environment variable of this module with its default."""
    for setting in fields(WebhookSettings):
        yield PREFIX + setting.metadata["suffix"], setting.default


def _listed(suffix: str, text: str) -> list[str]:
    if not text.startswith("["):
        return [part for part in map(str.strip, text.split(",")) if part]
    try:
        parts = json.loads(text)
    except ValueError:
        parts = None
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise SettingsError(f"{PREFIX}{suffix} must be a JSON list of texts, or texts with commas between.")
    return [part.strip() for part in parts if part.strip()]
