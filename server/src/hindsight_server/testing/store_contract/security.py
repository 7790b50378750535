"""What every store does with the decisions of memory defence, and with receipts."""

from __future__ import annotations

from typing import Any

import pytest

from hindsight_server.domain.defence.events import Found, SecurityEvent
from hindsight_server.domain.errors import BankNotFound
from hindsight_server.domain.ids import new_id
from hindsight_server.ports.records import DocumentFilter
from hindsight_server.ports.security import MOST_EVENTS, EventFilter
from hindsight_server.ports.store import Store
from hindsight_server.testing.store_contract.builders import NOW, appended, document, later, operation, write


def event(**options: Any) -> SecurityEvent:
    """A decision; `options` are its fields."""
    values = {"detector": "sensitive_data", "action": "block", "severity": "high", "source": "retain", "message": "m"}
    return SecurityEvent(event_id=new_id(), created_at=options.pop("created_at", NOW), **(values | options))


async def _details(store: Store, bank_id: str, **wanted: Any) -> list[str]:
    page = await store.list_security_events(bank_id, EventFilter(**wanted), 100, 0)
    return [one.message for one in page.items]


class SecurityContract:
    """Events: kept, listed, bounded, gone with their bank; receipts: kept with their document."""

    async def test_an_event_is_given_back_as_it_was(self, store: Store) -> None:
        given = event(
            found=(Found("email", "content", 2, (0, 17)), Found("phone", "tags", 1)),
            item_index=3,
            document_id="d",
            memory_id="f",
            operation_id="o",
            receipt_uri="https://example.org/r",
        )
        await store.add_security_events("a", [given, event()], NOW)
        page = await store.list_security_events("a", EventFilter(), 100, 0)
        assert page.items[1] == given
        assert page.total == 2
        assert (await store.get_bank("a")).fact_count == 0

    async def test_events_are_listed_newest_first_in_pages_and_by_filter(self, store: Store) -> None:
        for number in range(5):
            kind = "size_anomaly" if number % 2 else "sensitive_data"
            made = event(message=str(number), created_at=later(number), detector=kind, document_id=f"d{number}")
            await store.add_security_events("a", [made], later(number))
        assert await _details(store, "a") == ["4", "3", "2", "1", "0"]
        page = await store.list_security_events("a", EventFilter(), 2, 1)
        assert ([one.message for one in page.items], page.total) == (["3", "2"], 5)
        assert await _details(store, "a", detector="size_anomaly") == ["3", "1"]
        assert await _details(store, "a", document_id="d2") == ["2"]
        assert await _details(store, "a", start=later(1), end=later(3)) == ["3", "2", "1"]
        assert await _details(store, "a", action="redact") == []
        assert await _details(store, "a", severity="high", detector="size_anomaly", start=later(3)) == ["3"]

    async def test_only_so_many_events_are_kept(self, store: Store) -> None:
        await store.add_security_events("a", [event(message="old")], NOW)
        await store.add_security_events("a", [event(message="new") for _ in range(MOST_EVENTS)], NOW)
        page = await store.list_security_events("a", EventFilter(), MOST_EVENTS, MOST_EVENTS - 1)
        assert (page.total, [one.message for one in page.items]) == (MOST_EVENTS, ["new"])

    async def test_events_of_a_retain_come_with_it_once(self, store: Store) -> None:
        job = operation("a", "o", status="completed")
        for _ in range(2):
            await store.retain(write("a", document("d", "one"), operation=job, security_events=(event(message="x"),)))
        assert await _details(store, "a") == ["x"]

    async def test_events_go_with_their_bank_and_are_apart(self, store: Store) -> None:
        await store.add_security_events("a", [event()], NOW)
        await store.ensure_bank("b", NOW)
        assert await _details(store, "b") == []
        await store.delete_bank("a")
        with pytest.raises(BankNotFound):
            await _details(store, "a")
        await store.ensure_bank("a", NOW)
        assert await _details(store, "a") == []

    async def test_tags_of_documents(self, store: Store) -> None:
        await store.retain(write("a", document("d", "one", tags=("t", "u")), document("e", "two")))
        assert await store.document_tags("a", ["d", "e", "f"]) == {"d": ("t", "u"), "e": ()}
        assert await store.document_tags("nobody", ["d"]) == {}

    async def test_a_document_keeps_its_latest_receipt(self, store: Store) -> None:
        await store.retain(write("a", document("d", "one", receipt_uri="urn:1"), document("e", "two")))
        assert await self._receipts(store) == {"d": "urn:1", "e": None}
        await store.retain(write("a", appended("d", "more")))
        assert (await store.get_document("a", "d")).receipt_uri == "urn:1"
        await store.retain(write("a", appended("d", "and more", receipt_uri="urn:2")))
        assert await self._receipts(store) == {"d": "urn:2", "e": None}
        await store.retain(write("a", document("d", "anew")))
        assert await self._receipts(store) == {"d": None, "e": None}
        await store.retain(write("a", document("e", "anew", receipt_uri="urn:3")))
        await store.delete_document("a", "e", NOW)
        await store.retain(write("a", appended("e", "again")))
        assert await self._receipts(store) == {"d": None, "e": None}

    async def _receipts(self, store: Store) -> dict[str, str | None]:
        listed = await store.list_documents("a", DocumentFilter(), 10, 0)
        for found in listed.items:
            assert (await store.get_document("a", found.document_id)).receipt_uri == found.receipt_uri
        return {found.document_id: found.receipt_uri for found in listed.items}
