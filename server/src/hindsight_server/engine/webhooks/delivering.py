"""The worker of deliveries: the runner of jobs, over the queue of what is to be told.

Deliveries have a queue and slots of their own: a receiver that never answers takes no slot from retain, and however
much waits for it, no job is looked for among it.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from hindsight_server import __version__
from hindsight_server.domain.errors import DeliveryFailed, InvalidInput, NotFound
from hindsight_server.domain.webhooks.signing import event_headers
from hindsight_server.domain.webhooks.targets import Target, read_target
from hindsight_server.domain.webhooks.types import RETAIN_COMPLETED, Webhook
from hindsight_server.engine.jobs import JobOptions, JobRunner, JobWaits
from hindsight_server.engine.webhooks.slots import PROMPT_SECONDS, SLOTS, Slots
from hindsight_server.engine.webhooks.webhooks import WebhookOptions
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.records import Operation
from hindsight_server.ports.store import Store
from hindsight_server.ports.webhooks import Answer, Attempt, Call, Caller, Delivery

WEBHOOK_DELIVERY = "webhook_delivery"
RETRY_SECONDS = (5.0, 300.0, 1800.0, 7200.0, 18000.0)
"""After how long a failed attempt is made again: there are six, over seven and a half hours."""
MOST_ATTEMPTS = len(RETRY_SECONDS) + 1

_OPTIONS = JobOptions(slots=SLOTS, max_attempts=MOST_ATTEMPTS, patient_attempts=MOST_ATTEMPTS, stop_seconds=2.0)

_log = logging.getLogger(__name__)


class Deliverer:
    """Hands deliveries out as jobs and does them."""

    def __init__(self, store: Store, clock: Clock, caller: Caller, options: WebhookOptions) -> None:
        self._store = store
        self._clock = clock
        self._caller = caller
        self._options = options
        self._held: dict[str, Delivery] = {}
        self._slots = Slots()

    def worker(self) -> JobRunner:
        """What makes the attempts when they are due."""
        return JobRunner(self, self._clock, handlers={WEBHOOK_DELIVERY: self.deliver}, options=_OPTIONS)

    # the queue of the worker

    async def claim_operation(self, types: Sequence[str], now: datetime, lease_seconds: float) -> Operation | None:
        delivery = await self._store.claim_delivery(now, lease_seconds, self._slots.busy())
        if delivery is None:
            return None
        self._held[delivery.delivery_id] = delivery
        self._slots.take(delivery.delivery_id, delivery.webhook_id or "")
        return Operation(
            bank_id=delivery.bank_id,
            operation_id=delivery.delivery_id,
            type=WEBHOOK_DELIVERY,
            status="processing",
            attempts=delivery.attempts,
        )

    async def renew_operation(self, operation: Operation, now: datetime, lease_seconds: float) -> bool:
        delivery = self._held.get(operation.operation_id)
        return delivery is not None and await self._store.renew_delivery(delivery, now, lease_seconds)

    async def get_operation(self, bank_id: str, operation_id: str) -> Operation | None:
        """None: nothing is told of a delivery before its attempt is over."""
        return None

    async def finish_operation(
        self,
        operation: Operation,
        status: str,
        now: datetime,
        *,
        result: Mapping[str, Any] | None = None,
        error: str | None = None,
        retry_at: datetime | None = None,
    ) -> None:
        self._slots.free(operation.operation_id)
        delivery = self._held.pop(operation.operation_id, None)
        if delivery is None:
            return
        told = result or {}
        attempt = Attempt(
            status="failed" if "gave_up" in told else status,
            error=error or told.get("error"),
            response_status=told.get("response_status"),
            response_body=told.get("response_body"),
            retry_at=retry_at,
            # Handed back without a time: the server ends, which is no fault of the receiver.
            counts=status != "pending" or retry_at is not None,
        )
        await self._store.finish_delivery(delivery, attempt, now)

    # an attempt

    async def deliver(self, job: Operation) -> Mapping[str, Any]:
        """Make an attempt; what came of it, ``gave_up`` in it when it failed for good.

        Raises:
            JobWaits: it failed; there is another one later.
        """
        delivery = self._held[job.operation_id]
        try:
            told = await self._attempt(delivery)
            self._options.on_attempt(delivery.event_type, "completed")
            return told
        except NotFound:
            del self._held[job.operation_id]  # with its webhook or bank
            return {}
        except DeliveryFailed as problem:
            return self._failed(delivery, problem)
        finally:
            self._slots.free(job.operation_id)

    def _failed(self, delivery: Delivery, problem: DeliveryFailed) -> Mapping[str, Any]:
        told: dict[str, Any] = {"error": str(problem)}
        if isinstance(problem, _Answered):
            told |= _told(problem.answer)
        gives_up = problem.lasting or delivery.attempts >= MOST_ATTEMPTS
        self._options.on_attempt(delivery.event_type, "failed" if gives_up else "retried")
        _log.log(
            logging.WARNING if gives_up else logging.INFO,
            "attempt %d to tell a webhook of bank %r of %s (%s) failed, %s: %s",
            delivery.attempts,
            delivery.bank_id,
            delivery.event_type,
            delivery.delivery_id,
            "for good" if gives_up else "to be made again",
            problem,
        )
        if gives_up:
            return {**told, "gave_up": True}
        raise JobWaits(result=told, seconds=RETRY_SECONDS[delivery.attempts - 1])

    async def _attempt(self, delivery: Delivery) -> Mapping[str, Any]:
        webhook = await self._receiver(delivery)
        self._held[delivery.delivery_id] = replace(delivery, url=webhook.url)
        if not webhook.enabled:
            raise DeliveryFailed("the webhook is switched off", lasting=True)
        body = json.dumps(await self._payload(delivery), ensure_ascii=False, separators=(",", ":")).encode()
        answer = await self._timed(delivery, self._call(delivery, webhook, body))
        if not 200 <= answer.status < 300:
            raise _Answered(answer)
        return _told(answer)

    async def _timed(self, delivery: Delivery, call: Call) -> Answer:
        """See `Caller.call`. How long it took decides on the receiver's next slot."""
        began = time.monotonic()
        try:
            return await self._caller.call(call)
        finally:
            prompt = time.monotonic() - began < min(PROMPT_SECONDS, call.timeout_seconds / 2)
            self._slots.free(delivery.delivery_id, prompt=prompt)

    async def _receiver(self, delivery: Delivery) -> Webhook:
        """The webhook as it is now. Raises NotFound, DeliveryFailed."""
        if delivery.webhook_id is not None:
            return await self._store.webhook(delivery.bank_id, delivery.webhook_id)
        everywhere = self._options.everywhere
        if everywhere is None:
            raise DeliveryFailed("the settings name no receiver of all banks any more", lasting=True)
        return Webhook(
            webhook_id="",
            url=everywhere.url,
            secret=everywhere.secret,
            created_at=delivery.created_at,
            updated_at=delivery.created_at,
        )

    async def _payload(self, delivery: Delivery) -> dict[str, Any]:
        """What is told. Tags are words of the user: they are looked up, so that no forgotten one is kept or sent."""
        payload = dict(delivery.payload)
        data = payload["data"]
        if delivery.event_type == RETAIN_COMPLETED:
            tags = await self._store.document_tags(delivery.bank_id, [data["document_id"]])
            payload["data"] = {**data, "tags": list(tags.get(data["document_id"], ()))}
        return payload

    def _call(self, delivery: Delivery, webhook: Webhook, body: bytes) -> Call:
        config = webhook.http_config
        signed = event_headers(
            body,
            event_type=delivery.event_type,
            event_id=delivery.event_id,
            delivery_id=delivery.delivery_id,
            secret=webhook.secret,
            unix_time=int(self._clock.now().timestamp()),
        )
        ours = {"Content-Type": "application/json"}
        if "user-agent" not in map(str.lower, config.headers):
            ours["User-Agent"] = f"hindsight-server/{__version__}"
        return Call(
            target=self._target(webhook),
            method=config.method,
            headers={**config.headers, **ours, **signed},
            body=body,
            timeout_seconds=config.timeout_seconds,
            keep_body=self._options.keep_answers,
        )

    def _target(self, webhook: Webhook) -> Target:
        """Raises DeliveryFailed for a URL that the settings allow no more."""
        try:
            target = read_target(webhook.url, self._options.allowed)
        except InvalidInput as problem:
            raise DeliveryFailed(str(problem), lasting=True) from None
        if not webhook.http_config.params:
            return target
        joint = "&" if "?" in target.path else "?"
        return replace(target, path=f"{target.path}{joint}{urlencode(dict(webhook.http_config.params))}")


class _Answered(DeliveryFailed):
    """The receiver answered, but did not take it."""

    def __init__(self, answer: Answer) -> None:
        redirects = "; redirects are not followed" if 300 <= answer.status < 400 else ""
        super().__init__(f"the receiver answered {answer.status}{redirects}")
        self.answer = answer


def _told(answer: Answer) -> dict[str, Any]:
    return {"response_status": answer.status, "response_body": answer.body}
