"""Forgetting facts: what of their documents stays, and that no value holds their words any more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from hindsight_server.domain.errors import BankNotFound, NotFound
from hindsight_server.domain.tags import TagLeaf, TagsMatch
from hindsight_server.ports.forgetting import ForgetWrite
from hindsight_server.ports.records import DocumentFilter, FactFilter
from hindsight_server.ports.store import Store
from hindsight_server.testing.store_contract.builders import NOW, appended, document, fact, later, put, write

Dump = Callable[[], Awaitable[str]]


class ForgetContract:
    async def test_a_fact_goes_with_its_words(self, store: Store, dump: Dump) -> None:
        ids = await put(store, "b", "d", "one apple", "two wolves", "three owls", names=["Zebedee"])
        done = await store.forget(ForgetWrite(bank_id="b", fact_ids=(ids[1], "nowhere")), later(1))
        assert (done.facts, done.documents_changed, done.missing) == (1, ("d",), ("nowhere",))
        assert (await store.get_document("b", "d")).text == "one apple\nthree owls"
        assert [chunk.text for chunk in (await store.list_chunks("b", "d", 9, 0)).items] == ["one apple", "three owls"]
        assert (await store.get_document("b", "d")).content_hash != (document("d", "one apple").content_hash)
        assert "wolves" not in await dump()
        with pytest.raises(NotFound):
            await store.get_fact("b", ids[1])
        assert (await store.list_entities("b", None, 9, 0)).items[0].mention_count == 2

    async def test_its_place_is_cut_and_those_behind_it_move(self, store: Store) -> None:
        text = "aaa bbb ccc ddd"
        spans = [(0, 3), (4, 7), (8, 11), (12, 15)]
        facts = tuple(fact(f"fact {start}", start=start, end=end) for start, end in spans)
        written = document("d", text, facts=facts)
        ids = (await store.retain(write("b", written))).fact_ids
        for fact_id, left in ((ids[1], "aaa ccc ddd"), (ids[3], "aaa ccc"), (ids[2], "aaa")):
            await store.forget(ForgetWrite(bank_id="b", fact_ids=(fact_id,)), later(1))
            assert (await store.get_document("b", "d")).text == left

    async def test_a_document_of_which_nothing_is_left_is_deleted(self, store: Store, dump: Dump) -> None:
        ids = await put(store, "b", "doc-x", "one apple", tags=("fruity",))
        done = await store.forget(ForgetWrite(bank_id="b", fact_ids=ids), later(1))
        assert done.documents_deleted == ("doc-x",)
        held = await dump()
        assert [word for word in ("apple", "doc-x", "fruity") if word in held] == []

    async def test_by_tags_whole_documents_go(self, store: Store) -> None:
        await store.retain(write("b", document("one", "a", tags=("x",)), document("empty", tags=("x",), text="ok")))
        await store.retain(write("b", document("two", "b", tags=("y",)), appended("two", "c", tags=("x",))))
        wanted = ForgetWrite(bank_id="b", tags=TagLeaf(frozenset({"x"}), TagsMatch.ANY_STRICT), dry_run=True)
        dry = await store.forget(wanted, later(1))
        assert (dry.facts, dry.documents_deleted, dry.documents_changed) == (2, ("empty", "one"), ("two",))
        assert (await store.list_documents("b", DocumentFilter(), 9, 0)).total == 3
        done = await store.forget(ForgetWrite(bank_id="b", tags=wanted.tags), later(1))
        assert done == dry
        assert [one.document_id for one in (await store.list_documents("b", DocumentFilter(), 9, 0)).items] == ["two"]
        assert [one.text for one in (await store.list_facts("b", FactFilter(), 9, 0)).items] == ["b"]

    async def test_whole_documents(self, store: Store) -> None:
        await put(store, "b", "one", "a")
        await put(store, "b", "two", "b")
        await put(store, "c", "one", "c")
        done = await store.forget(ForgetWrite(bank_id="b", document_ids=("one", "none")), later(1))
        assert (done.facts, done.documents_deleted, done.missing) == (1, ("one",), ("none",))
        assert (await store.get_document("c", "one")).fact_count == 1
        with pytest.raises(BankNotFound):
            await store.forget(ForgetWrite(bank_id="z", document_ids=("one",)), NOW)

    async def test_readers_see_what_is_gone(self, store: Store) -> None:
        ids = await put(store, "b", "d", "one", "two")
        mark = await store.snapshot("b", 0, 0)
        await store.forget(ForgetWrite(bank_id="b", fact_ids=ids[:1]), later(1))
        seen = await store.snapshot("b", mark.rows[-1].seq, mark.version)
        assert (list(seen.removed), list(seen.rows)) == ([mark.rows[0].seq], [])
