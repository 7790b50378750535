"""What is to be told to webhooks: written down, claimed with a lease, ended."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import apsw

from hindsight_server.adapters.sqlite.queries import all_rows, one_row, scalar
from hindsight_server.adapters.sqlite.session import micros_of
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import from_json, from_micros, moment, to_json
from hindsight_server.domain.ids import new_id
from hindsight_server.domain.webhooks.events import WebhookEvent
from hindsight_server.ports.webhooks import MOST_DELIVERIES, MOST_WAITING, Attempt, Delivery, Receiver


@dataclass(frozen=True, slots=True)
class Teller:
    """Writes events of a bank down for everybody who listens, inside the transaction of what they tell of."""

    connection: apsw.Connection
    bank_id: str
    now: datetime
    everywhere: Receiver | None

    def tell(self, event_type: str, events: Callable[[], Iterable[WebhookEvent]]) -> None:
        """`events` is called only when somebody wants events of the type."""
        receivers = self._listening(event_type)
        if not receivers:
            return
        bank_id, at = self.bank_id, micros_of(self.now)
        first = scalar(self.connection, "webhooks.next_number", (bank_id,))
        addressed = [(event, to_json(event.payload()), receiver) for event in events() for receiver in receivers]
        rows = [
            (bank_id, first + index, new_id(), webhook_id, event.event_id, event_type, url, payload, at, at, at)
            for index, (event, payload, (webhook_id, url)) in enumerate(addressed)
        ]
        self.connection.executemany(sql("webhooks.insert_delivery"), rows)
        last = first + len(rows) - 1
        self.connection.execute(sql("webhooks.forget_ended"), (bank_id, last - MOST_DELIVERIES))
        self.connection.execute(sql("webhooks.forget_old"), (bank_id, last - MOST_WAITING))

    def _listening(self, event_type: str) -> list[tuple[str | None, str]]:
        receivers: list[tuple[str | None, str]] = [
            (webhook_id, url)
            for webhook_id, url, event_types in all_rows(self.connection, "webhooks.listening", (self.bank_id,))
            if event_type in from_json(event_types)
        ]
        if self.everywhere is not None and event_type in self.everywhere.event_types:
            receivers.append((None, self.everywhere.url))
        return receivers


def claim_delivery(
    connection: apsw.Connection, now: datetime, lease_seconds: float, busy: Collection[str]
) -> Delivery | None:
    found = next_delivery(connection, now, busy)
    if found is None:
        return None
    values = {
        "bank_id": found[0],
        "number": found[1],
        "now": micros_of(now),
        "until": micros_of(now + timedelta(seconds=lease_seconds)),
    }
    connection.execute(sql("webhooks.claim"), values)
    row = one_row(connection, "webhooks.delivery", found)
    assert row is not None
    return read_delivery(row)


def finish_delivery(connection: apsw.Connection, delivery: Delivery, attempt: Attempt, now: datetime) -> None:
    due_at = None
    if attempt.status == "pending":
        due_at = micros_of(attempt.retry_at or now)
    connection.execute(
        sql("webhooks.finish"),
        {
            **_held(delivery),
            "status": attempt.status,
            "given_back": int(not attempt.counts),
            "due_at": due_at,
            "url": delivery.url,
            "error": attempt.error,
            "response_status": attempt.response_status,
            "response_body": attempt.response_body,
            "now": micros_of(now),
        },
    )


def renew_delivery(connection: apsw.Connection, delivery: Delivery, now: datetime, lease_seconds: float) -> bool:
    until = micros_of(now + timedelta(seconds=lease_seconds))
    connection.execute(sql("webhooks.renew"), {**_held(delivery), "until": until})
    return bool(connection.changes())


def release_deliveries(connection: apsw.Connection) -> None:
    """Make what was on its way pending again. The attempts that were begun stay counted."""
    connection.execute(sql("webhooks.release"))


def next_delivery(connection: apsw.Connection, now: datetime, busy: Collection[str]) -> tuple[Any, ...] | None:
    """The bank and number of what is due for longest. Who is busy may have much waiting: it is not gone through."""
    at = micros_of(now)
    found = one_row(connection, "webhooks.next", (at,))
    if found is None or found[2] not in busy:
        return found and found[:2]
    receiver = one_row(connection, "webhooks.next_receiver", {"now": at, "busy": to_json(list(busy))})
    if receiver is None:
        return None
    return one_row(connection, "webhooks.next_of", {"now": at, "receiver": receiver[0]})


def _held(delivery: Delivery) -> Mapping[str, Any]:
    """What tells that a delivery is still in the hands of who claimed it."""
    return {
        "bank_id": delivery.bank_id,
        "number": delivery.number,
        "delivery_id": delivery.delivery_id,
        "attempts": delivery.attempts,
    }


def read_delivery(row: Sequence[Any]) -> Delivery:
    bank_id, number, delivery_id, webhook_id, event_id, event_type, url, payload, status, attempts, due_at, *rest = row
    error, response_status, response_body, last_attempt_at, created_at, updated_at = rest
    return Delivery(
        bank_id=bank_id,
        number=number,
        delivery_id=delivery_id,
        webhook_id=webhook_id,
        event_id=event_id,
        event_type=event_type,
        url=url,
        payload=from_json(payload),
        status=status,
        attempts=attempts,
        next_attempt_at=from_micros(due_at) if status == "pending" else None,
        last_error=error,
        last_response_status=response_status,
        last_response_body=response_body,
        last_attempt_at=from_micros(last_attempt_at),
        created_at=moment(created_at),
        updated_at=moment(updated_at),
    )
