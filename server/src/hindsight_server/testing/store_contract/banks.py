"""What every store does with banks."""

from __future__ import annotations

import pytest

from hindsight_server.domain.errors import BankNotFound
from hindsight_server.ports.records import BankChange, DocumentFilter, FactFilter
from hindsight_server.ports.store import Store
from hindsight_server.testing.store_contract.builders import NOW, document, later, operation, put, write

ODD_BANK_IDS = ["a/b", "with space", "emoji 🧠", "..", "%2F", "'; DROP TABLE banks; --", "漢字", "a" * 300]


class BankContract:
    """Banks: made, changed, listed, counted, kept apart, deleted."""

    async def test_a_bank_is_made_once(self, store: Store) -> None:
        await store.ensure_bank("a", NOW)
        await store.save_bank("a", BankChange(name="Ann", mission="remember", config={"x": 1, "y": [2]}), later(1))
        await store.ensure_bank("a", later(2))
        bank = await store.get_bank("a")
        assert (bank.name, bank.mission, bank.config) == ("Ann", "remember", {"x": 1, "y": [2]})
        assert (bank.skepticism, bank.literalism, bank.empathy, bank.fact_count) == (3, 3, 3, 0)
        assert (bank.created_at, bank.updated_at, bank.last_write_at) == (NOW, later(1), None)

    async def test_config_is_merged_and_none_removes_a_key(self, store: Store) -> None:
        await store.save_bank("a", BankChange(config={"x": 1, "y": 2}), NOW)
        merged = await store.save_bank("a", BankChange(config={"x": None, "z": 3}, empathy=5), NOW)
        assert (merged.config, merged.empathy) == ({"y": 2, "z": 3}, 5)
        replaced = await store.save_bank("a", BankChange(config={"w": 1}, replace_config=True), NOW)
        assert replaced.config == {"w": 1}

    async def test_reads_of_an_unknown_bank_say_so(self, store: Store) -> None:
        for read in (
            store.get_bank("nobody"),
            store.bank_stats("nobody"),
            store.delete_bank("nobody"),
            store.get_fact("nobody", "f"),
            store.facts("nobody", [1]),
            store.list_facts("nobody", FactFilter(), 10, 0),
            store.get_document("nobody", "d"),
            store.document_parts("nobody", "d"),
            store.list_documents("nobody", DocumentFilter(), 10, 0),
            store.list_chunks("nobody", "d", 10, 0),
            store.list_entities("nobody", None, 10, 0),
            store.list_tags("nobody", None, 10, 0),
            store.snapshot("nobody", 0, 0),
            store.postings("nobody", {"x": 0}),
            store.list_operations("nobody", None, None, 10, 0),
            store.get_operation("nobody", "o"),
            store.clear_facts("nobody", None, NOW),
            store.delete_document("nobody", "d", NOW),
            store.add_operation(operation("nobody", "o")),
        ):
            with pytest.raises(BankNotFound):
                await read
        assert await store.document_state("nobody", "d") is None
        assert (await store.list_banks(None, 10, 0)).total == 0

    async def test_the_bank_that_was_written_last_comes_first(self, store: Store) -> None:
        for hours, name in enumerate(("old", "new", "middle")):
            await store.ensure_bank(name, later(hours))
        await store.retain(write("old", document("d", "one"), now=later(5)))
        assert [bank.bank_id for bank in (await store.list_banks(None, 9, 0)).items] == ["old", "middle", "new"]

    async def test_banks_of_one_time_are_listed_by_id_with_a_true_total(self, store: Store) -> None:
        for name in ("c", "a", "e", "b", "d"):
            await store.ensure_bank(name, NOW)
        page = await store.list_banks(None, 2, 1)
        assert ([bank.bank_id for bank in page.items], page.total, page.limit, page.offset) == (["b", "c"], 5, 2, 1)
        assert (await store.list_banks(None, 0, 0)).total == 5
        assert (await store.list_banks(None, 10, 7)).items == ()

    async def test_banks_are_found_by_id_or_name_whatever_the_case(self, store: Store) -> None:
        await store.save_bank("one", BankChange(name="STRASSE Ärger"), NOW)
        await store.ensure_bank("two", NOW)
        assert [bank.bank_id for bank in (await store.list_banks("straße", 10, 0)).items] == ["one"]
        assert [bank.bank_id for bank in (await store.list_banks("TW", 10, 0)).items] == ["two"]
        assert (await store.list_banks("%", 10, 0)).total == 0

    async def test_counts(self, store: Store) -> None:
        await put(store, "a", "d1", "one", "two", names=["Ann", "Bo"])
        await put(store, "a", "d2", "three")
        await store.add_operation(operation("a", "o1"))
        stats = await store.bank_stats("a")
        assert (stats.facts_by_type, stats.documents, stats.entity_links) == ({"world": 3}, 2, 4)
        assert (stats.operations_by_status, stats.last_write_at) == ({"pending": 1}, NOW)
        bank = await store.get_bank("a")
        assert (bank.fact_count, bank.last_write_at, bank.last_document_at) == (3, NOW, NOW)

    @pytest.mark.parametrize("bank_id", ODD_BANK_IDS)
    async def test_any_text_names_a_bank(self, store: Store, bank_id: str) -> None:
        (fact_id,) = await put(store, bank_id, "d/1 ✓", "words here")
        assert (await store.get_fact(bank_id, fact_id)).text == "words here"
        chunk = (await store.list_chunks(bank_id, "d/1 ✓", 10, 0)).items[0]
        assert await store.get_chunk(chunk.chunk_id) == chunk
        assert chunk.bank_id == bank_id
        assert await store.delete_bank(bank_id) == 1

    async def test_banks_are_apart(self, store: Store) -> None:
        await put(store, "a", "d", "secret of ann", names=["Ann"], tags=("t",))
        await put(store, "b", "d", "bo", names=["Bo"])
        assert [fact.text for fact in (await store.list_facts("b", FactFilter(), 10, 0)).items] == ["bo"]
        assert (await store.postings("b", {"secret": 0}))["secret"][0].size == 0
        assert [entity.name for entity in (await store.list_entities("b", None, 10, 0)).items] == ["Bo"]
        assert await store.find_entities("b", ["Ann"]) == []
        assert (await store.list_tags("b", None, 10, 0)).total == 0
        seq = (await store.snapshot("a", 0, 0)).rows[0].seq
        assert len(await store.token_vectors("a", "test-8", [seq])) == 1
        await store.delete_document("b", "d", NOW)
        assert (await store.list_facts("a", FactFilter(), 10, 0)).total == 1

    async def test_deleting_a_bank_leaves_others_alone(self, store: Store) -> None:
        await put(store, "a", "d", "one", "two", names=["Ann"])
        await put(store, "b", "d", "three")
        await store.add_operation(operation("a", "o"))
        assert await store.delete_bank("a") == 2
        with pytest.raises(BankNotFound):
            await store.list_facts("a", FactFilter(), 10, 0)
        assert [bank.bank_id for bank in (await store.list_banks(None, 10, 0)).items] == ["b"]
        assert (await store.list_facts("b", FactFilter(), 10, 0)).total == 1

    async def test_a_bank_made_anew_is_empty_and_old_marks_are_seen_through(self, store: Store) -> None:
        await put(store, "a", "d", "one", "two", "three", names=["Ann"])
        mark = await store.snapshot("a", 0, 0)
        last = mark.rows[-1].seq
        await store.delete_bank("a")
        for number in range(5):
            await put(store, "a", f"new {number}", f"new {number}")
        seen = await store.snapshot("a", last, mark.version)
        assert seen.rebuild
        assert (len(seen.rows), seen.rows[0].document_id) == (5, "new 0")
        assert seen.version > mark.version
        assert (await store.list_entities("a", None, 10, 0)).total == 0
