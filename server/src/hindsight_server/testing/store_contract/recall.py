"""What every store gives to recall: snapshots, postings, vectors."""

from __future__ import annotations

import math

import numpy as np

from hindsight_server.domain.model import FactState, Interval
from hindsight_server.ports.embedder import Encoding
from hindsight_server.ports.records import (
    FLAG_PENDING,
    FLAG_QUESTION,
    FLAG_TIME_EXPRESSION,
    BankChange,
    FactChange,
    FactRow,
)
from hindsight_server.ports.store import Store
from hindsight_server.testing.store_contract.builders import (
    DIMENSION,
    NOW,
    SPACE,
    document,
    encoding_of,
    fact,
    later,
    put,
    terms_of,
    write,
)


class RecallContract:
    """Snapshots tell all that changed since a mark; postings and vectors follow them."""

    async def test_a_row_holds_what_ranking_needs(self, store: Store) -> None:
        asked = fact(
            "When?",
            speaker="Ann",
            role="user",
            session="s1",
            names=["Oslo", "Ann"],
            is_question=True,
            has_time_expression=True,
            mentioned_at=later(0.25),
            occurred=Interval(start=later(-60), end=later(60)),
        )
        part = document("d", "When?", facts=(asked,), tags=("t", "u"), context="chat")
        await store.retain(write("b", part))
        (row,) = (await store.snapshot("b", 0, 0)).rows
        ann, oslo = sorted(await store.find_entities("b", ["oslo", "ANN"]), key=lambda entity: entity.name)
        assert row == FactRow(
            seq=row.seq,
            fact_type="world",
            document_id="d",
            turn_index=0,
            context="chat",
            session="s1",
            speaker="Ann",
            role="user",
            mentioned_at=NOW.timestamp() + 0.25,
            occurred_start=NOW.timestamp() - 60,
            occurred_end=NOW.timestamp() + 60,
            length=1,
            tokens=1,
            flags=FLAG_QUESTION | FLAG_TIME_EXPRESSION,
            proof_count=1,
            tags=("t", "u"),
            entities=(oslo.number, ann.number),
        )

    async def test_what_tells_copies_goes_when_the_words_or_times_are_corrected(self, store: Store) -> None:
        changes = [FactChange(tags=("t",)), FactChange(text="y", terms={"y": 1}), FactChange(occurred_start=NOW)]
        for number, change in enumerate(changes, start=1):
            part = document(f"d{number}", "x", facts=(fact("x", fold=-number),))
            (fact_id,) = (await store.retain(write("b", part))).fact_ids
            await store.update_fact("b", fact_id, change, NOW)
        kept = [row.fold for row in (await store.snapshot("b", 0, 0)).rows]
        assert kept == [-1, 0, 0]

    async def test_vectors_of_some_facts(self, store: Store) -> None:
        await put(store, "b", "d", "one", "two", "three")
        await put(store, "c", "d", "other")
        seqs = [row.seq for row in (await store.snapshot("b", 0, 0)).rows]
        found = await store.vectors("b", [seqs[2], seqs[0], 10**9])
        assert list(found) == [SPACE]
        assert found[SPACE][0].tolist() == [seqs[0], seqs[2]]
        assert np.array_equal(found[SPACE][1], [encoding_of("one").vector, encoding_of("three").vector])
        assert await store.vectors("b", []) == {}

    async def test_missing_times_are_not_a_number(self, store: Store) -> None:
        await store.retain(write("b", document("d", "x", facts=(fact("x", mentioned_at=None),))))
        (row,) = (await store.snapshot("b", 0, 0)).rows
        assert math.isnan(row.mentioned_at)
        assert math.isnan(row.occurred_start)
        assert math.isnan(row.occurred_end)

    async def test_nothing_new(self, store: Store) -> None:
        await put(store, "b", "d", "one")
        first = await store.snapshot("b", 0, 0)
        again = await store.snapshot("b", first.rows[-1].seq, first.version)
        assert (again.version, len(again.rows), dict(again.vectors), again.removed.size, again.rebuild) == (
            first.version,
            0,
            {},
            0,
            False,
        )

    async def test_settings_of_the_bank_come_along(self, store: Store) -> None:
        await put(store, "b", "d", "one")
        first = await store.snapshot("b", 0, 0)
        assert first.config == {}
        await store.save_bank("b", BankChange(config={"x": 1}), later(1))
        again = await store.snapshot("b", first.rows[-1].seq, first.version)
        assert (again.config, len(again.rows)) == ({"x": 1}, 0)

    async def test_only_what_is_new(self, store: Store) -> None:
        await put(store, "b", "d1", "one")
        first = await store.snapshot("b", 0, 0)
        await put(store, "b", "d2", "two", "three")
        second = await store.snapshot("b", first.rows[-1].seq, first.version)
        assert second.version > first.version
        assert [row.turn_index for row in second.rows] == [0, 1]
        assert all(row.seq > first.rows[-1].seq for row in second.rows)
        seqs, matrix = second.vectors[SPACE]
        assert seqs.tolist() == [row.seq for row in second.rows]
        assert matrix.dtype == np.float32
        np.testing.assert_allclose(matrix[1], encoding_of("three").vector, atol=1e-3)

    async def test_a_change_is_a_removal_and_a_new_number(self, store: Store) -> None:
        kept, changed = await put(store, "b", "d", "one", "two")
        first = await store.snapshot("b", 0, 0)
        before = await store.get_fact("b", changed)
        await store.update_fact("b", changed, FactChange(tags=("new",)), NOW)
        second = await store.snapshot("b", first.rows[-1].seq, first.version)
        assert second.removed.tolist() == [before.seq]
        assert [row.tags for row in second.rows] == [("new",)]
        seqs, matrix = second.vectors[SPACE]
        assert seqs.tolist() == [second.rows[0].seq]
        np.testing.assert_allclose(matrix[0], encoding_of("two").vector, atol=1e-3)
        assert (await store.get_fact("b", kept)).seq == first.rows[0].seq

    async def test_invalidated_facts_are_gone_and_come_back(self, store: Store) -> None:
        (fact_id,) = await put(store, "b", "d", "one")
        first = await store.snapshot("b", 0, 0)
        mark = first.rows[-1].seq
        await store.update_fact("b", fact_id, FactChange(state=FactState.INVALIDATED), NOW)
        second = await store.snapshot("b", mark, first.version)
        assert (second.removed.tolist(), list(second.rows), dict(second.vectors)) == ([mark], [], {})
        assert (await store.snapshot("b", 0, 0)).vectors == {}
        assert (await store.postings("b", {"one": 0}))["one"][0].size == 0
        await store.update_fact("b", fact_id, FactChange(state=FactState.VALID), NOW)
        third = await store.snapshot("b", mark, second.version)
        assert (len(third.rows), third.removed.size) == (1, 0)
        assert third.vectors[SPACE][0].tolist() == [third.rows[0].seq]
        assert (await store.postings("b", {"one": mark}))["one"][0].tolist() == [third.rows[0].seq]
        assert len(await store.token_vectors("b", SPACE, [third.rows[0].seq])) == 1

    async def test_pending_facts_are_marked(self, store: Store) -> None:
        await put(store, "b", "d", "one", state=FactState.PENDING)
        (row,) = (await store.snapshot("b", 0, 0)).rows
        assert row.flags == FLAG_PENDING

    async def test_numbers_of_deleted_facts_are_never_used_again(self, store: Store) -> None:
        await put(store, "b", "d", "one", "two")
        highest = (await store.snapshot("b", 0, 0)).rows[-1].seq
        await store.delete_document("b", "d", NOW)
        await put(store, "b", "d", "three")
        assert (await store.snapshot("b", 0, 0)).rows[0].seq > highest

    async def test_postings_ascend_and_count(self, store: Store) -> None:
        texts = [f"word and word {number}" for number in range(300)]
        await put(store, "b", "d", *texts)
        await put(store, "b", "e", "word")
        rows = (await store.snapshot("b", 0, 0)).rows
        found = await store.postings("b", {"word": 0, "7": 0, "nothing": 0})
        assert found["word"][0].tolist() == [row.seq for row in rows]
        assert found["word"][1].tolist() == [2] * 300 + [1]
        assert found["7"][0].tolist() == [rows[7].seq]
        assert (found["nothing"][0].size, str(found["nothing"][0].dtype)) == (0, "int64")
        assert found["word"][1].dtype == np.int32
        after = await store.postings("b", {"word": rows[250].seq})
        assert after["word"][0].tolist() == [row.seq for row in rows[251:]]

    async def test_postings_of_a_term_grow(self, store: Store) -> None:
        for count in (1, 90, 200, 3, 100):
            await put(store, "b", f"d{count}", *(f"word {number}" for number in range(count)))
        rows = (await store.snapshot("b", 0, 0)).rows
        assert (await store.postings("b", {"word": 0}))["word"][0].tolist() == [row.seq for row in rows]
        assert (await store.postings("b", {"89": 0}))["89"][0].size == 3

    async def test_postings_follow_deletions(self, store: Store) -> None:
        for number in range(120):
            await put(store, "b", f"d{number}", *(f"word {number} {turn}" for turn in range(3)))
        for number in range(0, 120, 2):
            await store.delete_document("b", f"d{number}", NOW)
        rows = (await store.snapshot("b", 0, 0)).rows
        assert len(rows) == 180
        assert (await store.postings("b", {"word": 0}))["word"][0].tolist() == [row.seq for row in rows]
        assert (await store.postings("b", {"118": 0}))["118"][0].size == 0

    async def test_odd_terms(self, store: Store) -> None:
        odd = {"": 1, "it's": 2, "漢字": 3, "e\u0301": 1, "x" * 500: 1, "🙂": 70_000}
        base = fact("odd")
        written = type(base)(
            fact_id=base.fact_id, extracted=base.extracted, terms=odd, length=8, tokens=1, encoding=None
        )
        await store.retain(write("b", document("d", "odd", facts=(written,))))
        found = await store.postings("b", dict.fromkeys(odd, 0))
        assert {term: counts.tolist()[0] for term, (_, counts) in found.items()} == odd | {"🙂": found["🙂"][1][0]}
        assert found["🙂"][1][0] > 60_000

    async def test_a_fact_has_vectors_in_further_spaces(self, store: Store) -> None:
        await put(store, "b", "d", "one", "two")
        before = await store.snapshot("b", 0, 0)
        first, second = (row.seq for row in before.rows)
        further = Encoding("other-4", np.array([1, 0, 0, 0], np.float32))
        own = Encoding(SPACE, np.ones(DIMENSION, np.float32))
        assert await store.add_vectors("b", {second: further, 999: further, first: own}) == 1
        whole = await store.snapshot("b", 0, 0)
        assert whole.version == before.version
        assert whole.vectors["other-4"][0].tolist() == [second]
        np.testing.assert_array_equal(whole.vectors["other-4"][1], further.vector[None])
        np.testing.assert_array_equal(whole.vectors[SPACE][1], before.vectors[SPACE][1])
        assert set(await store.vectors("b", [second])) == {SPACE, "other-4"}
        other = Encoding("other-4", np.array([0, 1, 0, 0], np.float32))
        assert await store.add_vectors("b", {first: other, second: other}) == 2
        assert (await store.snapshot("b", 0, 0)).vectors["other-4"][1].tolist() == [[0, 1, 0, 0]] * 2
        assert await store.add_vectors("b", {}) == 0

    async def test_further_vectors_go_where_their_fact_goes(self, store: Store) -> None:
        await put(store, "b", "kept", "one")
        await put(store, "b", "edited", "two")
        await put(store, "b", "gone", "three")
        further = Encoding("other-4", np.array([1, 0, 0, 0], np.float32))
        rows = (await store.snapshot("b", 0, 0)).rows
        await store.add_vectors("b", {row.seq: further for row in rows})
        await store.update_document("b", "kept", ("tag",), later(1))
        (edited,) = [one for one in await store.facts("b", [row.seq for row in rows]) if one.text == "two"]
        words = FactChange(text="deux", terms=terms_of("deux"), length=1, tokens=1, encoding=encoding_of("deux"))
        await store.update_fact("b", edited.fact_id, words, later(2))
        await store.delete_document("b", "gone", later(3))
        (after,) = [row.seq for row in (await store.snapshot("b", 0, 0)).rows if row.document_id == "kept"]
        assert (await store.snapshot("b", 0, 0)).vectors["other-4"][0].tolist() == [after]
        assert await store.add_vectors("b", {row.seq: further for row in rows}) == 0
        assert set(await store.vectors("b", [row.seq for row in rows])) == set()
        await store.delete_bank("b")
        await put(store, "b", "d", "four")
        assert set((await store.snapshot("b", 0, 0)).vectors) == {SPACE}

    async def test_token_vectors(self, store: Store) -> None:
        await put(store, "b", "d", "one two", "three")
        await store.retain(write("b", document("e", "bare", facts=(fact("bare", state=FactState.PENDING),))))
        first, second, bare = (row.seq for row in (await store.snapshot("b", 0, 0)).rows)
        found = await store.token_vectors("b", SPACE, [second, bare, first, 999])
        assert set(found) == {first, second}
        tokens = encoding_of("one two").tokens
        assert tokens is not None
        np.testing.assert_array_equal(found[first], tokens.vectors)
        assert (str(found[first].dtype), found[first].shape) == ("int8", (len(terms_of("one two")), 4))
        assert await store.token_vectors("b", "another space", [first]) == {}
        assert await store.token_vectors("b", SPACE, []) == {}
