"""What every store does with webhooks, and with what is to be told to them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from hindsight_server.domain.errors import BankNotFound, NotFound
from hindsight_server.domain.model import FactState
from hindsight_server.domain.webhooks.types import EVENT_TYPES, HttpConfig, Webhook
from hindsight_server.ports.observations import CONSOLIDATION
from hindsight_server.ports.store import Store
from hindsight_server.ports.webhooks import Attempt, Delivery, Receiver
from hindsight_server.testing.store_contract.builders import NOW, document, later, operation, put, write
from hindsight_server.testing.store_contract.security import event

LEASE = 30.0
SECRET = "what signatures are made with"  # noqa: S105 -- of a test
_RETAIN = EVENT_TYPES[0]


def webhook(webhook_id: str, **options: Any) -> Webhook:
    """A webhook that wants everything; `options` are its fields."""
    values: dict[str, Any] = {"url": "https://hooks.example/x", "event_types": EVENT_TYPES, "created_at": NOW}
    return Webhook(webhook_id=webhook_id, **({"updated_at": NOW} | values | options))


async def listen(store: Store, bank_id: str = "b", webhook_id: str = "w", **options: Any) -> None:
    """Keep a webhook."""
    assert await store.save_webhook(bank_id, webhook(webhook_id, **options), NOW, most=9)


async def told(store: Store, bank_id: str = "b", webhook_id: str = "w") -> list[Delivery]:
    """What is written down for a webhook, the oldest first."""
    return (await store.list_deliveries(bank_id, webhook_id, 1000))[::-1]


async def claimed(store: Store, seconds: float = 0.0, *busy: str) -> Delivery:
    """The next delivery at that time after NOW."""
    delivery = await store.claim_delivery(later(seconds), LEASE, busy)
    assert delivery is not None
    return delivery


class WebhookContract:
    """Webhooks: kept, changed, listed, bounded, apart by bank, gone with it."""

    async def test_a_webhook_is_given_back_as_it_was(self, store: Store) -> None:
        config = HttpConfig(method="GET", timeout_seconds=3, headers={"X-A": "1"}, params={"q": "ü"})
        given = webhook("w", secret=SECRET, enabled=False, http_config=config, event_types=(_RETAIN,))
        assert await store.save_webhook("b", given, NOW, most=9)
        assert await store.webhook("b", "w") == given
        changed = replace(given, secret=None, enabled=True, updated_at=later(5))
        assert await store.save_webhook("b", changed, later(5), most=0)
        assert (await store.list_webhooks("b", 10, 0)).items == (changed,)

    async def test_webhooks_are_listed_from_the_oldest_and_are_so_many(self, store: Store) -> None:
        for number in range(3):
            assert await store.save_webhook("b", webhook(f"w{number}", created_at=later(-number)), NOW, most=3)
        assert not await store.save_webhook("b", webhook("more"), NOW, most=3)
        page = await store.list_webhooks("b", 2, 1)
        assert ([one.webhook_id for one in page.items], page.total) == (["w1", "w0"], 3)
        assert not await store.save_webhook("new", webhook("w"), NOW, most=0)
        with pytest.raises(BankNotFound):
            await store.list_webhooks("new", 2, 0)

    async def test_webhooks_of_banks_are_apart_and_go_with_their_bank(self, store: Store) -> None:
        await listen(store, "a")
        await listen(store, "b")
        await put(store, "a", "d", "one")
        await put(store, "b", "d", "one")
        await store.delete_bank("a")
        with pytest.raises(BankNotFound):
            await store.webhook("a", "w")
        await store.ensure_bank("a", NOW)
        with pytest.raises(NotFound):
            await store.list_deliveries("a", "w", 10)
        assert len(await told(store, "b")) == 1
        assert (await claimed(store)).bank_id == "b"
        assert await store.claim_delivery(NOW, LEASE, ()) is None

    async def test_a_webhook_is_deleted_once_with_its_deliveries(self, store: Store) -> None:
        await listen(store)
        await put(store, "b", "d", "one")
        held = await claimed(store)
        assert await store.delete_webhook("b", "w")
        assert not await store.delete_webhook("b", "w")
        await store.finish_delivery(held, Attempt(status="completed"), NOW)
        assert not await store.any_webhooks()
        with pytest.raises(BankNotFound):
            await store.delete_webhook("nobody", "w")


class TellingContract:
    """Events: written down in the transaction of what they tell of, for each webhook that wants them."""

    async def test_a_retain_tells_of_each_document_with_its_memories(self, store: Store) -> None:
        await listen(store)
        await listen(store, webhook_id="other", event_types=EVENT_TYPES[1:])
        await listen(store, webhook_id="off", enabled=False)
        documents = (document("d", "one", "two"), document("e", text="hm"), document("d", "three"))
        stored = replace(operation("b", "o", status="completed"), completed_at=NOW)
        await store.retain(write("b", *documents, operation=stored))
        deliveries = await told(store)
        assert [one.payload["data"] for one in deliveries] == [
            {"document_id": "d", "memory_unit_count": 1},
            {"document_id": "e", "memory_unit_count": 0},
        ]
        first = deliveries[0]
        assert dict(first.payload) == {
            "event": "retain.completed",
            "event_id": first.event_id,
            "bank_id": "b",
            "operation_id": "o",
            "status": "completed",
            "timestamp": NOW.isoformat(),
            "data": first.payload["data"],
        }
        assert (first.status, first.attempts, first.next_attempt_at, first.created_at) == ("pending", 0, NOW, NOW)
        await store.retain(write("b", *documents, operation=stored))
        assert len(await told(store)) == 2, "a replay tells nothing"
        assert await told(store, webhook_id="other") == []
        assert await told(store, webhook_id="off") == []

    async def test_an_asynchronous_retain_tells_when_it_is_done(self, store: Store) -> None:
        await listen(store)
        pending = document("d", "one", state=FactState.PENDING)
        await store.retain(write("b", pending, document("e"), operation=operation("b", "o", payload={})))
        assert await told(store) == []
        job = await store.claim_operation(["retain"], NOW, LEASE)
        assert job is not None
        await store.retain(write("b", document("d", "one"), operation=job, finishes="o", goes_on=True))
        assert [one.payload["data"]["document_id"] for one in await told(store)] == ["d"]
        await store.retain(write("b", document("e"), operation=replace(job, result={}), finishes="o"))
        deliveries = await told(store)
        assert [one.payload["data"]["document_id"] for one in deliveries] == ["d", "e"]
        assert {one.payload["operation_id"] for one in deliveries} == {"o"}
        await store.finish_operation(job, "completed", NOW)
        assert len(await told(store)) == 2

    async def test_a_job_that_fails_tells_of_what_it_has_not_done(self, store: Store) -> None:
        await listen(store)
        documents = [document(name, "one", state=FactState.PENDING) for name in "de"]
        await store.retain(write("b", *documents, operation=operation("b", "o", payload={})))
        job = await store.claim_operation(["retain"], NOW, LEASE)
        assert job is not None
        await store.retain(write("b", document("d", "one"), operation=job, finishes="o", goes_on=True))
        await store.finish_operation(job, "pending", NOW, retry_at=later(1))
        again = await store.claim_operation(["retain"], later(1), LEASE)
        assert again is not None
        await store.finish_operation(again, "failed", NOW, error="no")
        await store.finish_operation(again, "failed", NOW, error="no")
        assert [(one.payload["data"]["document_id"], one.payload["status"]) for one in await told(store)] == [
            ("d", "completed"),
            ("e", "failed"),
        ]

    async def test_the_end_of_a_consolidation_is_told(self, store: Store) -> None:
        await listen(store)
        for at, ends in ((0, True), (60, False)):
            await store.request_consolidation("b", {}, later(at))
            job = await store.claim_operation([CONSOLIDATION], later(at), LEASE)
            assert job is not None
            if ends:
                assert await store.end_consolidation(job, {"observations_created": 2, "actions_refused": 1}, NOW)
            else:
                await store.finish_operation(job, "failed", NOW, error="words of a model")
        done, failed = await told(store)
        assert (done.event_type, done.payload["data"]) == ("consolidation.completed", {"observations_created": 2})
        assert (failed.payload["status"], failed.payload["data"]) == ("failed", {})

    async def test_decisions_of_memory_defence_are_told_under_their_ids(self, store: Store) -> None:
        await listen(store)
        refused, redacted = event(message="refused"), event(action="redact", document_id="d", item_index=0)
        await store.add_security_events("b", [refused], NOW)
        await store.retain(write("b", document("d", "one"), security_events=(redacted,)))
        first, second, third = await told(store)
        assert (first.event_id, second.event_id) == (refused.event_id, redacted.event_id)
        decided = {"detector": "sensitive_data", "action": "redact", "severity": "high", "source": "retain"}
        assert second.payload["data"] == {**decided, "document_id": "d", "item_index": 0}
        assert third.event_type == "retain.completed"

    async def test_the_receiver_of_all_banks_is_told_of_what_it_wants(self, store: Store) -> None:
        store.tell_everywhere(Receiver("https://all.example/", frozenset({_RETAIN})))
        await listen(store)
        await put(store, "b", "d", "one")
        await store.add_security_events("c", [event()], NOW)
        first = await claimed(store)
        second = await claimed(store)
        assert {(one.bank_id, one.webhook_id, one.url) for one in (first, second)} == {
            ("b", "w", "https://hooks.example/x"),
            ("b", None, "https://all.example/"),
        }
        assert first.event_id == second.event_id
        assert first.delivery_id != second.delivery_id
        assert await store.claim_delivery(NOW, LEASE, ()) is None
        store.tell_everywhere(None)
        await put(store, "c", "d", "one")
        assert await store.claim_delivery(NOW, LEASE, ()) is None

    async def test_no_word_is_kept_for_telling(self, store: Store, dump: Callable[[], Awaitable[str]]) -> None:
        await listen(store)
        await put(store, "b", "d", "the xylophone", names=["Xylophone"], tags=("xylophone",), context="xylophone")
        await store.finish_delivery(await claimed(store), Attempt(status="failed", response_body="xylophone"), NOW)
        await store.delete_document("b", "d", NOW)
        await store.forget_answers("b")
        assert "ylophone" not in await dump()
        assert len(await told(store)) == 1


class DeliveryContract:
    """Deliveries: claimed with a lease, tried again, ended, listed."""

    async def test_a_delivery_is_claimed_by_one_until_its_lease_ends(self, store: Store) -> None:
        await listen(store)
        await put(store, "b", "d", "one")
        first = await claimed(store)
        assert (first.status, first.attempts) == ("processing", 1)
        assert await store.claim_delivery(later(LEASE - 1), LEASE, ()) is None
        assert await store.renew_delivery(first, later(LEASE - 1), LEASE)
        assert await store.claim_delivery(later(LEASE + 1), LEASE, ()) is None
        second = await claimed(store, 2 * LEASE)
        assert (second.delivery_id, second.attempts) == (first.delivery_id, 2)
        assert not await store.renew_delivery(first, later(2 * LEASE), LEASE)
        await store.finish_delivery(first, Attempt(status="completed"), later(2 * LEASE))
        assert (await told(store))[0].status == "processing"

    async def test_an_attempt_that_failed_is_made_again_at_its_time(self, store: Store) -> None:
        await listen(store)
        await put(store, "b", "d", "one")
        failed = Attempt(status="pending", error="no", response_status=500, retry_at=later(60))
        moved = replace(await claimed(store), url="https://new.example/")
        await store.finish_delivery(moved, failed, later(1))
        kept = (await told(store))[0]
        assert (kept.status, kept.attempts, kept.next_attempt_at, kept.url) == ("pending", 1, later(60), moved.url)
        assert (kept.last_error, kept.last_response_status, kept.last_attempt_at) == ("no", 500, later(1))
        assert await store.claim_delivery(later(59), LEASE, ()) is None
        again = await claimed(store, 60)
        await store.finish_delivery(again, Attempt(status="pending", counts=False), later(61))
        given_back = (await told(store))[0]
        assert (given_back.attempts, given_back.last_attempt_at) == (1, later(1))
        done = Attempt(status="completed", response_status=204, response_body="ok")
        await store.finish_delivery(await claimed(store, 62), done, later(63))
        ended = (await told(store))[0]
        assert (ended.status, ended.attempts, ended.last_error, ended.next_attempt_at) == ("completed", 2, None, None)
        assert (ended.last_response_status, ended.last_response_body, ended.updated_at) == (204, "ok", later(63))
        assert await store.claim_delivery(later(9999), LEASE, ()) is None

    async def test_busy_webhooks_are_left_alone(self, store: Store) -> None:
        store.tell_everywhere(Receiver("https://all.example/", frozenset({_RETAIN})))
        await listen(store, webhook_id="w")
        await listen(store, webhook_id="x")
        await put(store, "b", "d", "one")
        assert (await claimed(store, 0, "w", "")).webhook_id == "x"
        assert (await claimed(store, 0, "w")).webhook_id is None
        assert await store.claim_delivery(NOW, LEASE, ("w",)) is None

    async def test_deliveries_are_listed_from_the_newest_in_pages(self, store: Store) -> None:
        await listen(store)
        await listen(store, webhook_id="x")
        await store.retain(write("b", *(document(f"d{number}", "one") for number in range(5))))
        first = await store.list_deliveries("b", "w", 3)
        rest = await store.list_deliveries("b", "w", 3, first[-1].number)
        assert [one.payload["data"]["document_id"] for one in [*first, *rest]] == ["d4", "d3", "d2", "d1", "d0"]
        with pytest.raises(NotFound):
            await store.list_deliveries("b", "nobody", 3)

    async def test_so_many_are_kept(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.keep(monkeypatch, ended=2, waiting=4)
        await listen(store)
        for number in range(4):
            await put(store, "b", f"d{number}", "one")
        for _ in range(3):
            await store.finish_delivery(await claimed(store), Attempt(status="completed"), NOW)
        await put(store, "b", "d4", "one")
        kept = await told(store)
        assert [one.payload["data"]["document_id"] for one in kept] == ["d3", "d4"] or len(kept) == 2
        for number in range(5, 9):
            await put(store, "b", f"d{number}", "one")
        assert [one.payload["data"]["document_id"] for one in await told(store)] == ["d5", "d6", "d7", "d8"]

    async def test_what_a_former_owner_was_at_is_free(
        self, store: Store, reopen: Callable[[], Awaitable[Store]]
    ) -> None:
        await listen(store)
        await put(store, "b", "d", "one")
        held = await claimed(store)
        assert await store.any_webhooks()
        store = await reopen()
        again = await claimed(store)
        assert (again.delivery_id, again.attempts) == (held.delivery_id, 2)

    def keep(self, monkeypatch: pytest.MonkeyPatch, *, ended: int, waiting: int) -> None:
        """Have the store keep so few; a store that takes the limits from elsewhere overrides it."""
        monkeypatch.setattr("hindsight_server.adapters.sqlite.deliveries.MOST_DELIVERIES", ended)
        monkeypatch.setattr("hindsight_server.adapters.sqlite.deliveries.MOST_WAITING", waiting)
