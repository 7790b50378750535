"""Webhooks: kept, listed, deleted; and the verbs of deliveries."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import apsw

from hindsight_server.adapters.sqlite import deliveries
from hindsight_server.adapters.sqlite.banks import ensure_bank, require_bank
from hindsight_server.adapters.sqlite.forgetting_rows import ForgettingRows
from hindsight_server.adapters.sqlite.queries import all_rows, one_row, scalar
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import from_json, moment, to_json, to_micros
from hindsight_server.domain.errors import NotFound
from hindsight_server.domain.webhooks.types import HttpConfig, Webhook
from hindsight_server.ports.records import Page
from hindsight_server.ports.webhooks import Attempt, Delivery, Receiver


class WebhookRows(ForgettingRows):
    """The part of the store that is `WebhookStore`, but for the writes that tell (`telling`)."""

    _everywhere: Receiver | None = None

    def tell_everywhere(self, receiver: Receiver | None) -> None:
        self._everywhere = receiver

    async def save_webhook(self, bank_id: str, webhook: Webhook, now: datetime, *, most: int) -> bool:
        return await self._write(save_webhook, bank_id, webhook, now, most)

    async def webhook(self, bank_id: str, webhook_id: str) -> Webhook:
        return await self._read_bank(read_webhook, bank_id, webhook_id)

    async def list_webhooks(self, bank_id: str, limit: int, offset: int) -> Page[Webhook]:
        return await self._read_bank(list_webhooks, bank_id, limit, offset)

    async def delete_webhook(self, bank_id: str, webhook_id: str) -> bool:
        return await self._write(delete_webhook, bank_id, webhook_id)

    async def list_deliveries(
        self, bank_id: str, webhook_id: str, limit: int, before: int | None = None
    ) -> list[Delivery]:
        return await self._read_bank(list_deliveries, bank_id, webhook_id, limit, before)

    async def forget_answers(self, bank_id: str) -> None:
        if await self._read(one_row, "webhooks.answered", (bank_id,)) is not None:
            await self._forget(_forget_answers, bank_id)

    async def any_webhooks(self) -> bool:
        return bool(await self._read(scalar, "webhooks.any"))

    async def claim_delivery(self, now: datetime, lease_seconds: float, busy: Collection[str]) -> Delivery | None:
        # Looked for first by a reader, so that nothing is written while nothing is due.
        if await self._read(deliveries.next_delivery, now, busy) is None:
            return None
        return await self._write(deliveries.claim_delivery, now, lease_seconds, busy)

    async def finish_delivery(self, delivery: Delivery, attempt: Attempt, now: datetime) -> None:
        await self._write(deliveries.finish_delivery, delivery, attempt, now)

    async def renew_delivery(self, delivery: Delivery, now: datetime, lease_seconds: float) -> bool:
        return await self._write(deliveries.renew_delivery, delivery, now, lease_seconds)


def save_webhook(connection: apsw.Connection, bank_id: str, webhook: Webhook, now: datetime, most: int) -> bool:
    known = one_row(connection, "webhooks.read", (bank_id, webhook.webhook_id)) is not None
    if not known and scalar(connection, "webhooks.count", (bank_id,)) >= most:
        return False
    ensure_bank(connection, bank_id, now)
    config = webhook.http_config
    connection.execute(
        sql("webhooks.save"),
        {
            "bank_id": bank_id,
            "webhook_id": webhook.webhook_id,
            "url": webhook.url,
            "secret": webhook.secret,
            "event_types": to_json(list(webhook.event_types)),
            "enabled": int(webhook.enabled),
            "http_config": to_json(
                {
                    "method": config.method,
                    "timeout_seconds": config.timeout_seconds,
                    "headers": dict(config.headers),
                    "params": dict(config.params),
                }
            ),
            "created_at": to_micros(webhook.created_at),
            "updated_at": to_micros(webhook.updated_at),
        },
    )
    return True


def read_webhook(connection: apsw.Connection, bank_id: str, webhook_id: str) -> Webhook:
    row = one_row(connection, "webhooks.read", (bank_id, webhook_id))
    if row is None:
        raise NotFound(f"Webhook '{webhook_id}' not found.")
    return _webhook(row)


def list_webhooks(connection: apsw.Connection, bank_id: str, limit: int, offset: int) -> Page[Webhook]:
    total = scalar(connection, "webhooks.count", (bank_id,))
    rows = all_rows(connection, "webhooks.list", {"bank_id": bank_id, "limit": limit, "offset": offset})
    return Page(tuple(_webhook(row) for row in rows), total, limit, offset)


def delete_webhook(connection: apsw.Connection, bank_id: str, webhook_id: str) -> bool:
    require_bank(connection, bank_id)
    connection.execute(sql("webhooks.delete"), (bank_id, webhook_id))
    return bool(connection.changes())


def list_deliveries(
    connection: apsw.Connection, bank_id: str, webhook_id: str, limit: int, before: int | None
) -> list[Delivery]:
    read_webhook(connection, bank_id, webhook_id)
    below = 2**63 - 1 if before is None else before
    wanted = {"bank_id": bank_id, "webhook_id": webhook_id, "limit": limit, "before": below}
    return [deliveries.read_delivery(row) for row in all_rows(connection, "webhooks.deliveries", wanted)]


def _forget_answers(connection: apsw.Connection, bank_id: str) -> None:
    connection.execute(sql("webhooks.forget_answers"), (bank_id,))


def _webhook(row: Sequence[Any]) -> Webhook:
    webhook_id, url, secret, event_types, enabled, http_config, created_at, updated_at = row
    return Webhook(
        webhook_id=webhook_id,
        url=url,
        secret=secret,
        event_types=tuple(from_json(event_types)),
        enabled=bool(enabled),
        http_config=HttpConfig(**from_json(http_config)),
        created_at=moment(created_at),
        updated_at=moment(updated_at),
    )
