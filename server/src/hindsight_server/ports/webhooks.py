"""What keeps webhooks and what is still to be told to them, and what tells it. `WebhookStore` is part of `Store`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from hindsight_server.domain.webhooks.targets import Target
from hindsight_server.domain.webhooks.types import Webhook
from hindsight_server.ports.records import Page

MOST_DELIVERIES = 10_000
"""Deliveries that have ended are kept of a bank; the oldest go first."""
MOST_WAITING = 100_000
"""Deliveries of a bank altogether: older ones are given up, so that a receiver that never answers fills no disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One event on its way to one receiver.

    Args:
        number: its place among those of its bank.
        webhook_id: None for the receiver of all banks.
        url: where the latest attempt went, or the first one is to go.
        payload: the event as it is sent.
        status: ``pending``, ``processing``, ``completed`` or ``failed``.
        attempts: that were begun.
        next_attempt_at: of a pending one.
    """

    bank_id: str
    number: int
    delivery_id: str
    webhook_id: str | None
    event_id: str
    event_type: str
    url: str = field(repr=False)
    payload: Mapping[str, Any]
    status: str = "pending"
    attempts: int = 0
    next_attempt_at: datetime | None = None
    last_error: str | None = None
    last_response_status: int | None = None
    last_response_body: str | None = field(default=None, repr=False)
    last_attempt_at: datetime | None = None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """How an attempt ended.

    Args:
        status: what the delivery is from now on.
        retry_at: of a pending one; None is at once.
        counts: False gives the attempt back, since it was cut short by the server itself.
    """

    status: str
    error: str | None = None
    response_status: int | None = None
    response_body: str | None = None
    retry_at: datetime | None = None
    counts: bool = True


@dataclass(frozen=True, slots=True)
class Receiver:
    """Who is told of the events of all banks."""

    url: str = field(repr=False)
    event_types: frozenset[str]


class WebhookStore(Protocol):
    """An event is written down for each webhook of its bank that wants it, in the transaction of what it tells of:
    ``retain.completed`` with the facts of a document, ``consolidation.completed`` with the end of the job,
    ``memory_defense.triggered`` with the decision. A bank without webhooks costs one look.
    """

    def tell_everywhere(self, receiver: Receiver | None) -> None:
        """From now on, write events of every bank down for this receiver too."""
        ...

    async def save_webhook(self, bank_id: str, webhook: Webhook, now: datetime, *, most: int) -> bool:
        """Keep a webhook, in place of the one with its id if there is one; creates the bank when needed.

        False, with nothing kept, when it would be one more than `most`.
        """
        ...

    async def webhook(self, bank_id: str, webhook_id: str) -> Webhook:
        """Raises BankNotFound; NotFound when the bank has no such webhook."""
        ...

    async def list_webhooks(self, bank_id: str, limit: int, offset: int) -> Page[Webhook]:
        """The oldest first. Raises BankNotFound."""
        ...

    async def delete_webhook(self, bank_id: str, webhook_id: str) -> bool:
        """With all its deliveries. False when there is none. Raises BankNotFound."""
        ...

    async def list_deliveries(
        self, bank_id: str, webhook_id: str, limit: int, before: int | None = None
    ) -> list[Delivery]:
        """The newest first, those with a number below `before`. Raises BankNotFound, NotFound."""
        ...

    async def forget_answers(self, bank_id: str) -> None:
        """Keep nothing of what receivers answered."""
        ...

    async def any_webhooks(self) -> bool:
        """Whether a bank has a webhook, or something is still to be told."""
        ...

    async def claim_delivery(self, now: datetime, lease_seconds: float, busy: Collection[str]) -> Delivery | None:
        """Take the delivery that is due for longest, or one whose lease has run out; it is `processing` from then on,
        with one attempt more.

        Args:
            busy: ids of webhooks to leave alone; an empty one is the receiver of all banks.
        """
        ...

    async def finish_delivery(self, delivery: Delivery, attempt: Attempt, now: datetime) -> None:
        """Changes nothing when it was claimed again, or is gone."""
        ...

    async def renew_delivery(self, delivery: Delivery, now: datetime, lease_seconds: float) -> bool:
        """Lengthen the lease; False when it is gone or taken by another."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request to a receiver.

    Args:
        timeout_seconds: for all of it.
        keep_body: hand the beginning of the answer's body back.
    """

    target: Target
    method: str = "POST"
    headers: Mapping[str, str] = field(repr=False)
    body: bytes
    timeout_seconds: float
    keep_body: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What a receiver answered; `body` is None unless it was asked for."""

    status: int
    body: str | None = field(default=None, repr=False)


class Caller(Protocol):
    async def call(self, call: Call) -> Answer:
        """Make a request; redirects are not followed.

        Raises:
            DeliveryFailed: there was no answer. Its text names no address, path or header.
        """
        ...

    async def close(self) -> None: ...
