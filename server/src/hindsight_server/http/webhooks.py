"""Webhooks over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Request, Response
from pydantic import BaseModel, Field

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.webhooks.types import MASK, HttpConfig, Webhook, shown_pairs
from hindsight_server.engine.webhooks import WebhookChange
from hindsight_server.http.parsing import BankId, Body, PageNumber
from hindsight_server.http.recall import iso
from hindsight_server.http.routes import Handler, answer
from hindsight_server.http.services import services
from hindsight_server.http.wire import requests as wire
from hindsight_server.http.wire.responses import shared
from hindsight_server.http.wire.responses import webhooks as shapes
from hindsight_server.ports.webhooks import Delivery

WebhookId = Annotated[str, Path()]
_CREATED = 201


class WebhooksQuery(BaseModel):
    """The page of a listing."""

    limit: Annotated[int, Field(ge=0, le=1000)] = 100
    offset: PageNumber = 0


class DeliveriesQuery(BaseModel):
    """The page of a listing; `cursor` is the `next_cursor` of the page before."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    cursor: str | None = None


async def create_webhook(
    request: Request, bank_id: BankId, body: Annotated[wire.CreateWebhookRequest, Body(wire.CreateWebhookRequest)]
) -> Response:
    made = await services(request).webhooks.create(bank_id, _given(body))
    return answer(_webhook(bank_id, made), _CREATED)


async def list_webhooks(request: Request, bank_id: BankId, query: Annotated[WebhooksQuery, Query()]) -> Response:
    page = await services(request).webhooks.list(bank_id, query.limit, query.offset)
    listed: shapes.WebhookListResponse = {
        "items": [_webhook(bank_id, one) for one in page.items],
        "total": page.total,
        "limit": page.limit,
        "offset": page.offset,
    }
    return answer(listed)


async def update_webhook(
    request: Request,
    bank_id: BankId,
    webhook_id: WebhookId,
    body: Annotated[wire.UpdateWebhookRequest, Body(wire.UpdateWebhookRequest)],
) -> Response:
    changed = await services(request).webhooks.update(bank_id, webhook_id, _given(body))
    return answer(_webhook(bank_id, changed))


async def delete_webhook(request: Request, bank_id: BankId, webhook_id: WebhookId) -> Response:
    await services(request).webhooks.delete(bank_id, webhook_id)
    deleted: shared.DeleteResponse = {"success": True, "message": "Webhook deleted.", "deleted_count": 1}
    return answer(deleted)


async def list_webhook_deliveries(
    request: Request, bank_id: BankId, webhook_id: WebhookId, query: Annotated[DeliveriesQuery, Query()]
) -> Response:
    found = await services(request).webhooks.deliveries(bank_id, webhook_id, query.limit + 1, _before(query.cursor))
    page = found[: query.limit]
    listed: shapes.WebhookDeliveryListResponse = {
        "items": [_delivery(one) for one in page],
        "next_cursor": _cursor(page[-1]) if len(found) > len(page) else None,
    }
    return answer(listed)


def _given(body: wire.CreateWebhookRequest | wire.UpdateWebhookRequest) -> WebhookChange:
    return WebhookChange(
        url=body.url,
        secret=body.secret,
        clears_secret="secret" in body.model_fields_set and body.secret is None,
        event_types=body.event_types,
        enabled=body.enabled,
        http_config=None if body.http_config is None else _config(body.http_config),
    )


def _config(given: wire.WebhookHttpConfig) -> HttpConfig:
    usual = HttpConfig()
    return HttpConfig(
        method=usual.method if given.method is None else given.method,
        timeout_seconds=usual.timeout_seconds if given.timeout_seconds is None else given.timeout_seconds,
        headers=_texts(given.headers),
        params=_texts(given.params),
    )


def _texts(given: dict[str, str | bool | int | float | None] | None) -> dict[str, str]:
    """The values as texts, truths as JSON has them; null ones count as not given."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in (given or {}).items()
        if value is not None
    }


def _webhook(bank_id: str, one: Webhook) -> shapes.WebhookResponse:
    return {
        "id": one.webhook_id,
        "bank_id": bank_id,
        "url": one.url,
        "secret": None if one.secret is None else MASK,
        "event_types": list(one.event_types),
        "enabled": one.enabled,
        "http_config": {
            "method": one.http_config.method,
            "timeout_seconds": one.http_config.timeout_seconds,
            "headers": shown_pairs(one.http_config.headers),
            "params": shown_pairs(one.http_config.params),
        },
        "created_at": iso(one.created_at),
        "updated_at": iso(one.updated_at),
    }


def _delivery(one: Delivery) -> shapes.WebhookDeliveryResponse:
    return {
        "id": one.delivery_id,
        "event_id": one.event_id,
        "webhook_id": one.webhook_id,
        "url": one.url,
        "event_type": one.event_type,
        "status": one.status,
        "attempts": one.attempts,
        "next_retry_at": iso(one.next_attempt_at),
        "last_error": one.last_error,
        "last_response_status": one.last_response_status,
        "last_response_body": one.last_response_body,
        "last_attempt_at": iso(one.last_attempt_at),
        "created_at": iso(one.created_at),
        "updated_at": iso(one.updated_at),
    }


def _cursor(last: Delivery) -> str:
    """When the last one of a page was made, and its number, since several are made at the same time."""
    return f"{last.created_at.isoformat()}~{last.number}"


def _before(cursor: str | None) -> int | None:
    if not cursor:
        return None
    number = cursor.rpartition("~")[2]
    if not (number.isascii() and number.isdigit() and len(number) < 19):
        raise InvalidInput("cursor must be the next_cursor of the page before.", field="cursor")
    return int(number)


HANDLERS = {
    "create_webhook": Handler(create_webhook, shapes.WebhookResponse, wire.CreateWebhookRequest),
    "list_webhooks": Handler(list_webhooks, shapes.WebhookListResponse),
    "update_webhook": Handler(update_webhook, shapes.WebhookResponse, wire.UpdateWebhookRequest),
    "delete_webhook": Handler(delete_webhook),
    "list_webhook_deliveries": Handler(list_webhook_deliveries, shapes.WebhookDeliveryListResponse),
}
