"""The telling of webhooks: by a clock that is set, to a caller that answers as it is told."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.domain.errors import BadRequest, DeliveryFailed, InvalidInput
from hindsight_server.domain.webhooks.targets import Allowed
from hindsight_server.domain.webhooks.types import HttpConfig, Webhook
from hindsight_server.engine.retain import ItemInput
from hindsight_server.engine.webhooks import Everywhere, WebhookChange, WebhookOptions, Webhooks
from hindsight_server.engine.webhooks.delivering import RETRY_SECONDS
from hindsight_server.engine.webhooks.webhooks import MOST_WEBHOOKS
from hindsight_server.ports.webhooks import Answer, Call, Delivery

from ..conftest import Engine, SteppingClock, build

pytestmark = pytest.mark.feature("O7")

URL = "https://hooks.example/x"
ALL = ("retain.completed", "consolidation.completed", "memory_defense.triggered")
Answering = Callable[[Call], Awaitable[Answer]]


class ScriptedCaller:
    """Answers as it is told; at first with 200."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.answer: Answering = self.always(200)
        self.closed = False

    @staticmethod
    def always(status: int) -> Answering:
        async def answered(call: Call) -> Answer:
            return Answer(status, f"said {status}" if call.keep_body else None)

        return answered

    async def call(self, call: Call) -> Answer:
        self.calls.append(call)
        return await self.answer(call)

    async def close(self) -> None:
        self.closed = True


@pytest.fixture
def caller() -> ScriptedCaller:
    return ScriptedCaller()


@pytest.fixture
async def webhooks(engine: Engine, caller: ScriptedCaller) -> AsyncIterator[Webhooks]:
    made = make(engine, caller)
    yield made
    await made.stop()


def make(engine: Engine, caller: ScriptedCaller, **options: Any) -> Webhooks:
    return Webhooks(engine.store, engine.clock, lambda: caller, WebhookOptions(**options))


async def add(webhooks: Webhooks, **options: Any) -> Webhook:
    return await webhooks.create("b", WebhookChange(**({"url": URL, "event_types": ALL} | options)))


async def retain(engine: Engine, document_id: str = "d", **options: Any) -> None:
    await engine.retain("b", [ItemInput(content="Ann: I moved to Oslo.", document_id=document_id, **options)])


async def only(webhooks: Webhooks, webhook: Webhook) -> Delivery:
    (delivery,) = await webhooks.deliveries("b", webhook.webhook_id, 10, None)
    return delivery


async def test_six_attempts_are_made_at_their_times(
    engine: Engine, clock: SteppingClock, webhooks: Webhooks, caller: ScriptedCaller
) -> None:
    webhook = await add(webhooks, secret="s")
    await retain(engine)
    caller.answer = caller.always(503)
    for number, seconds in enumerate((*RETRY_SECONDS, None), start=1):
        assert await webhooks.deliver_due() == 1
        kept = await only(webhooks, webhook)
        assert (kept.attempts, kept.last_response_status) == (number, 503)
        assert kept.last_error == "the receiver answered 503"
        if seconds is None:
            break
        assert kept.status == "pending"
        assert kept.next_attempt_at is not None
        assert kept.last_attempt_at is not None
        wait = kept.next_attempt_at - clock.now()
        assert abs(wait - timedelta(seconds=seconds)) < timedelta(seconds=1)
        clock.forward(seconds - 1)
        assert await webhooks.deliver_due() == 0, "not before its time"
        clock.forward(1)
    assert (kept.status, kept.next_attempt_at) == ("failed", None)
    clock.forward(10**6)
    assert await webhooks.deliver_due() == 0
    assert sum(RETRY_SECONDS) == 5 + 300 + 1800 + 7200 + 18000
    sent = [call.headers for call in caller.calls]
    for header in ("X-Hindsight-Event-Id", "X-Hindsight-Delivery-Id", "X-Hindsight-Signature"):
        assert len({headers[header] for headers in sent}) == 1
    assert len({headers["X-Hindsight-Signature-V2"] for headers in sent}) == 6, "each is signed with its time"
    assert len({call.body for call in caller.calls}) == 1


async def test_an_attempt_that_succeeds_later_ends_it(
    engine: Engine, clock: SteppingClock, webhooks: Webhooks, caller: ScriptedCaller
) -> None:
    webhook = await add(webhooks)
    await retain(engine)

    async def away(call: Call) -> Answer:
        raise DeliveryFailed("the connection was refused, or the host can't be reached")

    caller.answer = away
    await webhooks.deliver_due()
    failed = await only(webhooks, webhook)
    assert (failed.status, failed.last_response_status) == ("pending", None)
    assert failed.last_error == "the connection was refused, or the host can't be reached"
    caller.answer = caller.always(204)
    clock.forward(5)
    await webhooks.deliver_due()
    done = await only(webhooks, webhook)
    assert (done.status, done.attempts, done.last_error, done.last_response_status) == ("completed", 2, None, 204)
    assert done.last_response_body is None


@pytest.mark.parametrize("status", [199, 300, 301, 400, 404, 410, 500])
async def test_only_statuses_of_200_to_299_are_success(
    engine: Engine, webhooks: Webhooks, caller: ScriptedCaller, status: int
) -> None:
    webhook = await add(webhooks)
    await retain(engine)
    caller.answer = caller.always(status)
    await webhooks.deliver_due()
    assert (await only(webhooks, webhook)).status == "pending"


async def test_an_address_that_may_not_be_called_is_not_tried_again(
    engine: Engine, webhooks: Webhooks, caller: ScriptedCaller
) -> None:
    webhook = await add(webhooks)
    await retain(engine)

    async def private(call: Call) -> Answer:
        raise DeliveryFailed("the host stands for an address that is not public", lasting=True)

    caller.answer = private
    await webhooks.deliver_due()
    kept = await only(webhooks, webhook)
    assert (kept.status, kept.attempts, kept.next_attempt_at) == ("failed", 1, None)
    assert kept.last_error == "the host stands for an address that is not public"


async def test_a_webhook_is_called_as_it_is_now(
    engine: Engine, clock: SteppingClock, webhooks: Webhooks, caller: ScriptedCaller
) -> None:
    webhook = await add(webhooks, http_config=HttpConfig(params={"a": "1 2"}))
    await retain(engine, "d")
    await webhooks.update("b", webhook.webhook_id, WebhookChange(url="https://new.example/y?z=1"))
    await webhooks.deliver_due()
    assert caller.calls[0].target.host_header == "new.example"
    assert caller.calls[0].target.path == "/y?z=1&a=1+2"
    assert (await only(webhooks, webhook)).url == "https://new.example/y?z=1"
    await retain(engine, "e")
    await webhooks.update("b", webhook.webhook_id, WebhookChange(enabled=False))
    await retain(engine, "f")
    await webhooks.deliver_due()
    last, _ = await webhooks.deliveries("b", webhook.webhook_id, 10, None)
    assert (last.status, last.last_error, len(caller.calls)) == ("failed", "the webhook is switched off", 1)
    narrower = make(engine, caller, allowed=Allowed())
    wider = make(engine, caller, allowed=Allowed(["10.0.0.0/8"]))
    inner = await wider.create("b", WebhookChange(url="http://10.0.0.1/", event_types=ALL))
    await retain(engine, "g")
    await narrower.deliver_due()
    refused = await only(webhooks, inner)
    assert refused.status == "failed"
    assert "HINDSIGHT_API_WEBHOOK_ALLOWED_HOSTS" in (refused.last_error or "")


async def test_tags_are_those_of_the_document_when_it_is_told_of(
    engine: Engine, webhooks: Webhooks, caller: ScriptedCaller
) -> None:
    await add(webhooks)
    await retain(engine, "d", tags=("secretword",))
    await retain(engine, "e", tags=("kept",))
    await engine.documents.delete("b", "d")
    await webhooks.deliver_due()
    told = {
        body["data"]["document_id"]: body["data"]["tags"] for body in (json.loads(one.body) for one in caller.calls)
    }
    assert told == {"d": [], "e": ["kept"]}


async def test_one_receiver_has_four_attempts_at_once_and_leaves_room(
    engine: Engine, webhooks: Webhooks, caller: ScriptedCaller
) -> None:
    """One that answered the latest attempt: before, it has one at a time."""
    hangs, passes, proved = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def called(host: str) -> int:
        return len([one for one in caller.calls if one.target.host == host])

    async def answered(call: Call) -> Answer:
        if call.target.host == "hooks.example":
            if called("hooks.example") == 9:
                passes.set()
        elif call.target.host == "unknown.example" or proved.is_set():
            await hangs.wait()
        else:
            proved.set()
        return Answer(200)

    caller.answer = answered
    await webhooks.start()
    await add(webhooks, url="https://unknown.example/")
    await add(webhooks, url="https://hanging.example/")
    await retain(engine, "first")
    async with asyncio.timeout(10):
        await proved.wait()
    for number in range(9):
        await retain(engine, f"d{number}")
    await add(webhooks)
    for number in range(9):
        await retain(engine, f"e{number}")
    async with asyncio.timeout(10):
        await passes.wait()
    assert (called("hanging.example"), called("unknown.example")) == (1 + 4, 1)
    hangs.set()


async def test_an_attempt_that_the_end_of_the_server_cuts_short_does_not_count(
    engine: Engine, clock: SteppingClock, caller: ScriptedCaller, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hindsight_server.engine.webhooks import delivering

    quick = delivering.JobOptions(slots=4, max_attempts=6, patient_attempts=6, stop_seconds=0.01, poll_seconds=0.01)
    monkeypatch.setattr(delivering, "_OPTIONS", quick)
    begun, never = asyncio.Event(), asyncio.Event()

    async def hanging(call: Call) -> Answer:
        begun.set()
        await never.wait()
        return Answer(200)

    caller.answer = hanging
    first = make(engine, caller)
    await first.start()
    webhook = await add(first)
    await retain(engine)
    async with asyncio.timeout(10):
        await begun.wait()
    await first.stop()
    assert caller.closed
    kept = await only(first, webhook)
    assert (kept.status, kept.attempts, kept.last_attempt_at) == ("pending", 0, None)
    caller.answer = caller.always(200)
    second = make(engine, caller)
    assert await second.deliver_due() == 1
    assert (await only(second, webhook)).status == "completed"
    await second.stop()


async def test_a_webhook_or_bank_that_is_deleted_during_an_attempt_is_no_failure(
    engine: Engine, webhooks: Webhooks, caller: ScriptedCaller, caplog: pytest.LogCaptureFixture
) -> None:
    webhook = await add(webhooks)
    await retain(engine)

    async def deleted(call: Call) -> Answer:
        await webhooks.delete("b", webhook.webhook_id)
        return Answer(500)

    caller.answer = deleted
    await webhooks.deliver_due()
    other = await add(webhooks)
    await retain(engine, "e")

    async def gone(call: Call) -> Answer:
        await engine.banks.delete("b")
        return Answer(200)

    caller.answer = gone
    await webhooks.deliver_due()
    assert other.webhook_id not in caplog.text
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
    assert not await engine.store.any_webhooks()


async def test_the_receiver_of_all_banks_is_told_with_its_secret(engine: Engine, caller: ScriptedCaller) -> None:
    everywhere = Everywhere(url="https://all.example/", secret="hidden", event_types=ALL)
    attempts, came = [], asyncio.Event()

    def attempted(event_type: str, outcome: str) -> None:
        attempts.append((event_type, outcome))
        came.set()

    told = make(engine, caller, everywhere=everywhere, keep_answers=True, on_attempt=attempted)
    await told.start()
    await engine.retain("c", [ItemInput(content="Ann: I moved to Oslo.")])
    async with asyncio.timeout(10):
        await came.wait()
    await told.stop()
    assert attempts == [("retain.completed", "completed")]
    assert caller.calls[0].keep_body
    assert "X-Hindsight-Signature" in caller.calls[0].headers
    await engine.retain("c", [ItemInput(content="Bob: I live in Bergen.")])
    without = make(engine, caller)
    await without.deliver_due()
    assert len(caller.calls) == 1, "the settings name it no more"
    assert "hidden" not in repr(everywhere)


async def test_no_secret_is_in_the_log_or_in_an_error(
    engine: Engine, webhooks: Webhooks, caller: ScriptedCaller, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    config = HttpConfig(headers={"Authorization": "Bearer hidden-1"}, params={"token": "hidden-2"})
    webhook = await add(webhooks, url=f"{URL}/hidden-3", secret="hidden-4", http_config=config)
    await retain(engine)
    caller.answer = caller.always(500)
    await webhooks.deliver_due()
    assert "attempt 1 to tell a webhook of bank 'b' of retain.completed" in caplog.text
    assert "hidden" not in caplog.text
    kept = await only(webhooks, webhook)
    assert "hidden" not in repr(kept) + repr(caller.calls) + str(kept.last_error)
    for given in (WebhookChange(secret="hidden-5" * 200), WebhookChange(url="https://hidden:x@h.example/")):
        with pytest.raises(InvalidInput) as refused:
            await webhooks.update("b", webhook.webhook_id, given)
        assert "hidden" not in str(refused.value)


async def test_a_bank_has_so_many_webhooks(webhooks: Webhooks) -> None:
    for _ in range(MOST_WEBHOOKS):
        await add(webhooks)
    with pytest.raises(BadRequest, match="50 webhooks"):
        await add(webhooks)


async def test_without_webhooks_nothing_is_written_started_or_loaded(
    engine: Engine, webhooks: Webhooks, store: SqliteStore
) -> None:
    await webhooks.start()
    await retain(engine)
    names = {task.get_name() for task in asyncio.all_tasks()}
    assert "jobs" not in names, "no worker of deliveries"
    assert not await store.any_webhooks()
    await add(webhooks)
    assert "jobs" in {task.get_name() for task in asyncio.all_tasks()}


def test_what_delivers_is_not_loaded_with_the_server(tmp_path: Path) -> None:
    probe = f"""
import asyncio, sys
from pathlib import Path
from hindsight_server.bootstrap import build_services
from hindsight_server.settings import Settings

async def main():
    settings = Settings(data_dir=Path({str(tmp_path)!r}), embeddings_provider="hashing")
    async with build_services(settings).running():
        pass

asyncio.run(main())
late = ("hindsight_server.adapters.webhooks", "hindsight_server.engine.webhooks.delivering")
assert not [name for name in sys.modules if name.startswith(late)]
"""
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


async def test_what_was_stored_without_webhooks_is_not_told_later(
    engine: Engine, clock: SteppingClock, webhooks: Webhooks, caller: ScriptedCaller
) -> None:
    await retain(engine)
    await add(webhooks)
    assert await webhooks.deliver_due() == 0
    again = build(engine.store, clock)
    await again.retain("b", [ItemInput(content="Ann: I moved to Oslo.", document_id="d")])
    assert await webhooks.deliver_due() == 1
    assert json.loads(caller.calls[0].body)["data"]["memory_unit_count"] == 1
