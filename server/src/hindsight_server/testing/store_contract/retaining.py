"""What every store does with a retain."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from hindsight_server.domain.errors import Conflict, NotFound, StaleDocument
from hindsight_server.domain.ids import content_hash
from hindsight_server.domain.model import FactState, FactType
from hindsight_server.ports.records import DocumentPart, FactChange, FactFilter, RetainResult, RetainWrite
from hindsight_server.ports.store import Store
from hindsight_server.testing.store_contract.builders import (
    NOW,
    appended,
    document,
    fact,
    later,
    operation,
    put,
    write,
)


async def texts_of(store: Store, bank_id: str = "b", **wanted: object) -> list[str]:
    """The texts of all facts, oldest first."""
    page = await store.list_facts(bank_id, FactFilter(**wanted), 1000, 0)  # type: ignore[arg-type]
    return [found.text for found in reversed(page.items)]


class RetainContract:
    """Replacing and appending; all or nothing."""

    async def test_a_fact_is_read_back_as_it_was_stored(self, store: Store) -> None:
        text = 'Zoë said: "naïve — 漢字 🧠"\tand\u2028more'
        said = fact(text, speaker="Zoë", role="user", names=["Zoë  B.", "Oslo", "zoë b."])
        part = document("d 1", text, facts=(said,), context="chat", metadata={"k": "v", "é": "ü"}, tags=("t", "a"))
        result = await store.retain(write("b", part))
        assert result == RetainResult(fact_ids=(said.fact_id,))
        found = await store.get_fact("b", said.fact_id)
        assert (found.text, found.speaker, found.role, found.context) == (text, "Zoë", "user", "chat")
        assert (found.metadata, found.tags, found.entities) == ({"k": "v", "é": "ü"}, ("t", "a"), ("Zoë B.", "Oslo"))
        assert (found.document_id, found.turn_index, found.mentioned_at, found.created_at) == ("d 1", 0, NOW, NOW)
        assert (found.state, found.proof_count, found.source_fact_ids) == (FactState.VALID, 1, ())
        assert found.chunk_id is not None
        assert (await store.get_chunk(found.chunk_id)).text == text

    async def test_replacing_drops_what_was_there(self, store: Store) -> None:
        await put(store, "b", "d", "one", "two", tags=("old",))
        created = (await store.get_document("b", "d")).created_at
        await store.retain(write("b", document("d", "three", tags=("new",)), now=later(5)))
        found = await store.get_document("b", "d")
        assert (await texts_of(store), found.text, found.tags) == (["three"], "three", ("new",))
        assert (found.created_at, found.updated_at) == (created, later(5))
        assert (found.turn_count, found.fact_count, found.text_length) == (1, 1, 5)
        assert (await store.list_chunks("b", "d", 10, 0)).total == 1

    @pytest.mark.feature("R4")
    async def test_replacing_keeps_the_facts_of_kept_chunks(self, store: Store) -> None:
        one, _two, three = await put(store, "b", "d", "one", "two", "three")
        await store.retain(write("b", document("d", "one", "new", "three", keep=["one", "three"])))
        chunks = (await store.list_chunks("b", "d", 10, 0)).items
        assert [(chunk.index, chunk.text) for chunk in chunks] == [(0, "one"), (1, "new"), (2, "three")]
        assert sorted(await texts_of(store)) == ["new", "one", "three"]
        assert (await store.get_fact("b", one)).chunk_id == chunks[0].chunk_id
        assert (await store.get_fact("b", three)).turn_index == 2

    async def test_kept_chunks_move_to_their_new_places(self, store: Store) -> None:
        one, two = await put(store, "b", "d", "one", "two")
        await store.retain(write("b", document("d", "zero", "two", "one", keep=["one", "two"])))
        assert [chunk.text for chunk in (await store.list_chunks("b", "d", 10, 0)).items] == ["zero", "two", "one"]
        assert (await store.get_fact("b", one)).turn_index == 2
        assert (await store.get_fact("b", two)).turn_index == 1
        rows = (await store.snapshot("b", 0, 0)).rows
        assert sorted(row.turn_index for row in rows) == [0, 1, 2]

    async def test_equal_chunks_are_told_apart(self, store: Store) -> None:
        await put(store, "b", "d", "same", "same", "same")
        chunks = (await store.list_chunks("b", "d", 10, 0)).items
        assert len({chunk.chunk_id for chunk in chunks}) == 3
        await store.retain(write("b", document("d", "same", "other", keep=["same"])))
        assert sorted(await texts_of(store)) == ["other", "same"]
        await store.retain(write("b", appended("d", "same")))
        assert sorted(await texts_of(store)) == ["other", "same", "same"]

    async def test_facts_that_stay_follow_the_documents_tags(self, store: Store) -> None:
        (one,) = await put(store, "b", "d", "one", tags=("old",), context="then", metadata={"a": "1"})
        part = document("d", "one", keep=["one"], tags=("new",), context="now", metadata={"b": "2"})
        await store.retain(write("b", part))
        found = await store.get_fact("b", one)
        assert (found.tags, found.context, found.metadata) == (("new",), "now", {"b": "2"})

    @pytest.mark.feature("R4")
    async def test_a_replacement_by_the_same_changes_nothing(self, store: Store) -> None:
        parts = [document("d", "one", "two", tags=("t",)), appended("d", "three", context="chat")]
        ids = (await store.retain(write("b", *parts))).fact_ids
        before = (await store.get_document("b", "d"), await store.snapshot("b", 0, 0))
        kept = [document("d", "one", "two", keep=["one", "two"], tags=("t",))]
        kept.append(appended("d", "three", keep=["three"], context="chat"))
        await store.retain(write("b", *kept, now=later(60)))
        after = (await store.get_document("b", "d"), await store.snapshot("b", 0, 0))
        assert after[0] == before[0]
        assert (after[1].version, after[1].rows) == (before[1].version, before[1].rows)
        assert [(await store.get_fact("b", one)).created_at for one in ids] == [NOW] * 3
        # With another tag it is not the same.
        await store.retain(write("b", replace(kept[0], tags=("u",)), kept[1], now=later(60)))
        changed = await store.get_document("b", "d")
        assert (changed.tags, changed.updated_at) == (("u",), later(60))
        assert (await store.get_fact("b", ids[0])).tags == ("u",)

    @pytest.mark.feature("R4")
    async def test_chunks_are_kept_across_the_parts_of_a_document(self, store: Store) -> None:
        one, _two, three = await put(store, "b", "d", "one", "two", "three")
        parts = [document("d", "three", "new", keep=["three"]), appended("d", "one", keep=["one"])]
        await store.retain(write("b", *parts, now=later(60)))
        assert [chunk.text for chunk in (await store.list_chunks("b", "d", 10, 0)).items] == ["three", "new", "one"]
        turns = [(await store.get_fact("b", fact_id)).turn_index for fact_id in (three, one)]
        assert turns == [0, 2]
        assert sorted(await texts_of(store)) == ["new", "one", "three"]

    async def test_the_parts_of_a_job_wait_in_their_documents(self, store: Store) -> None:
        parts = [document(name, f"{name} text", source={"n": name}, state=FactState.PENDING) for name in ("y", "x")]
        parts.append(appended("y", "more", state=FactState.PENDING))
        await store.retain(write("b", *parts, operation=operation("b", "o")))
        await store.retain(write("b", document("z", "other", state=FactState.PENDING), operation=operation("b", "p")))
        waiting = await store.waiting_parts("b", "o")
        assert [(name, part.text) for name, part in waiting] == [("x", "x text"), ("y", "y text"), ("y", "more")]
        assert waiting[0][1] == DocumentPart(text="x text", source={"n": "x"})
        await store.delete_document("b", "y", NOW)
        assert [name for name, _ in await store.waiting_parts("b", "o")] == ["x"]
        await store.retain(write("b", document("x", "x text"), finishes="o"))
        assert await store.waiting_parts("b", "o") == []

    async def test_the_parts_before_an_appended_one(self, store: Store) -> None:
        assert await store.parts_before("b", "d", None, 2) == []
        await put(store, "b", "d", "one")
        await store.retain(write("b", appended("d", "two"), appended("d", "three", source={"n": 3})))
        waits = appended("d", "four", state=FactState.PENDING)
        await store.retain(write("b", waits, operation=operation("b", "o")))
        await store.retain(write("b", appended("d", "five")))
        before = await store.parts_before("b", "d", "o", 2)
        assert before == [DocumentPart(text="two"), DocumentPart(text="three", source={"n": 3})]
        assert [part.text for part in await store.parts_before("b", "d", None, 2)] == ["four", "five"]

    async def test_corrections_survive_when_nothing_changed(self, store: Store) -> None:
        (one,) = await put(store, "b", "d", "one", tags=("t",))
        await store.update_fact("b", one, FactChange(tags=("mine",), text="corrected", terms={"corrected": 1}), NOW)
        await store.retain(write("b", document("d", "one", keep=["one"], tags=("t",))))
        found = await store.get_fact("b", one)
        assert (found.text, found.tags) == ("corrected", ("mine",))

    async def test_a_chunk_to_keep_that_is_gone_is_stale(self, store: Store) -> None:
        with pytest.raises(StaleDocument):
            await store.retain(write("b", document("d", "one", keep=["one"])))
        await put(store, "b", "d", "one")
        await put(store, "b", "p", "waits", state=FactState.PENDING)
        with pytest.raises(StaleDocument):
            await store.retain(write("b", document("p", "waits", keep=["waits"])))
        await store.delete_document("b", "p", NOW)
        part = document("d", "one", "gone", keep=["one", "gone"])
        with pytest.raises(StaleDocument):
            await store.retain(write("b", document("other", "x"), part))
        assert await texts_of(store) == ["one"]
        assert await store.document_state("b", "other") is None

    async def test_an_expected_hash_is_looked_at(self, store: Store) -> None:
        await put(store, "b", "d", "one")
        await store.retain(write("b", document("d", "two", expected_hash=content_hash("one"))))
        with pytest.raises(StaleDocument):
            await store.retain(write("b", document("d", "three", expected_hash=content_hash("one"))))
        with pytest.raises(StaleDocument):
            await store.retain(write("b", document("none", "three", expected_hash=content_hash("one"))))
        assert await texts_of(store) == ["two"]

    async def test_state_for_the_next_writer(self, store: Store) -> None:
        await put(store, "b", "d", "one", "two")
        state = await store.document_state("b", "d")
        assert state is not None
        assert state.chunk_hashes == (content_hash("one"), content_hash("two"))
        assert (state.content_hash, state.turn_count) == (content_hash("one\ntwo"), 2)
        assert await store.document_states("b", ["d", "none"]) == {"d": state}

    async def test_chunks_without_their_facts_are_not_to_be_kept(self, store: Store) -> None:
        await put(store, "b", "d", "one", "two")
        await put(store, "b", "p", "three", state=FactState.PENDING)
        await store.clear_facts("b", None, NOW)
        for document_id in ("d", "p"):
            state = await store.document_state("b", document_id)
            assert state is not None
            assert (state.chunk_hashes, state.content_hash) == ((), "")

    @pytest.mark.feature("R4")
    async def test_appending_continues(self, store: Store) -> None:
        await store.retain(write("b", appended("d", "one", "two", tags=("a",), metadata={"x": "1"}, context="c")))
        await store.retain(
            write("b", appended("d", "three", tags=("b", "a"), metadata={"y": "2"}, source={"n": 1}), now=later(9))
        )
        found = await store.get_document("b", "d")
        assert (found.text, found.turn_count, found.fact_count) == ("one\ntwo\nthree", 3, 3)
        assert (found.tags, found.metadata, found.context) == (("a", "b"), {"x": "1", "y": "2"}, "c")
        assert (found.created_at, found.updated_at) == (NOW, later(9))
        newest = (await store.list_facts("b", FactFilter(), 1, 0)).items[0]
        assert (newest.text, newest.turn_index, newest.tags, newest.metadata) == ("three", 2, ("b", "a"), {"y": "2"})
        chunks = (await store.list_chunks("b", "d", 2, 1)).items
        assert [(chunk.index, chunk.text) for chunk in chunks] == [(1, "two"), (2, "three")]
        assert await store.chunks("b", [chunks[1].chunk_id, "b.none"]) == [chunks[1]]
        assert await store.document_parts("b", "d") == [
            DocumentPart(text="one\ntwo"),
            DocumentPart(text="three", source={"n": 1}),
        ]

    async def test_appended_json_arrays_become_one(self, store: Store) -> None:
        parts = ['[{"text": "a"}]', "[]", ' [{"text": "b"}, {"text": "]"}]\n']
        for part in parts:
            await store.retain(write("b", appended("d", "x", text=part)))
        text = (await store.get_document("b", "d")).text
        assert text is not None
        assert json.loads(text) == [{"text": "a"}, {"text": "b"}, {"text": "]"}]

    async def test_parts_of_one_write_are_applied_in_order(self, store: Store) -> None:
        await put(store, "b", "d", "old")
        await store.retain(write("b", document("d", "one"), appended("d", "two"), appended("d", "three")))
        assert (await store.get_document("b", "d")).text == "one\ntwo\nthree"
        assert await texts_of(store) == ["one", "two", "three"]
        await store.retain(write("b", document("d", "one"), document("d", "two", names=["Ann"])))
        assert await texts_of(store) == ["two"]

    @pytest.mark.feature("R4")
    async def test_concurrent_appends_lose_nothing(self, store: Store) -> None:
        words = [f"word{number}" for number in range(40)]
        await asyncio.gather(*(store.retain(write("b", appended("d", word))) for word in words))
        found = await store.get_document("b", "d")
        assert found.text is not None
        assert sorted(found.text.split("\n")) == sorted(words)
        facts = (await store.list_facts("b", FactFilter(), 100, 0)).items
        assert sorted(kept.turn_index for kept in facts) == list(range(40))
        assert found.turn_count == 40

    async def test_a_document_without_facts(self, store: Store) -> None:
        await store.retain(write("b", document("d", "ok", facts=())))
        assert (await store.get_document("b", "d")).fact_count == 0
        state = await store.document_state("b", "d")
        assert state is not None
        assert state.chunk_hashes == (content_hash("ok"),)


class FinishContract:
    """A job replaces what its request left pending, and nothing else."""

    async def pending(self, store: Store, *parts: tuple[str, ...]) -> None:
        documents = [
            (document if not index else appended)("d", *texts, state=FactState.PENDING)
            for index, texts in enumerate(parts)
        ]
        await store.retain(write("b", *documents, operation=operation("b", "job", payload={"texts": "one"})))

    async def test_pending_facts_are_replaced(self, store: Store) -> None:
        await self.pending(store, ("one", "two"))
        assert await texts_of(store, state="pending") == ["one", "two"]
        done = replace(operation("b", "job"), result={"facts": 2})
        part = document("d", "one", "two", facts=(fact("One!"), fact("Two!", chunk=1, turn=1)))
        result = await store.retain(write("b", part, finishes="job", operation=done, now=later(3)))
        assert await texts_of(store) == ["One!", "Two!"]
        assert await texts_of(store, state="pending") == []
        assert result.operation is not None
        assert (result.operation.status, result.operation.result) == ("completed", {"facts": 2})
        assert (result.operation.completed_at, result.operation.payload) == (later(3), None)
        state = await store.document_state("b", "d")
        assert state is not None
        assert len(state.chunk_hashes) == 2

    async def test_finishing_twice_is_finishing_once(self, store: Store) -> None:
        await self.pending(store, ("one",))
        await store.retain(write("b", document("d", "one"), finishes="job"))
        again = await store.retain(write("b", document("d", "one"), finishes="job"))
        assert again.replayed
        assert await texts_of(store) == ["one"]

    async def test_what_was_appended_meanwhile_stays_behind(self, store: Store) -> None:
        await self.pending(store, ("one",), ("two", "three"))
        await store.retain(write("b", appended("d", "four")))
        await store.retain(write("b", document("d", "one"), appended("d", "two", "three"), finishes="job"))
        facts = (await store.list_facts("b", FactFilter(state="valid"), 10, 0)).items
        assert sorted((kept.turn_index, kept.text) for kept in facts) == [
            (0, "one"),
            (1, "two"),
            (2, "three"),
            (3, "four"),
        ]
        assert (await store.get_document("b", "d")).text == "one\ntwo\nthree\nfour"
        chunks = (await store.list_chunks("b", "d", 10, 0)).items
        assert [chunk.text for chunk in chunks] == ["one", "two", "three", "four"]

    async def test_parts_without_facts_keep_their_place(self, store: Store) -> None:
        parts = (document("d", "ok", facts=()), appended("d", "two", state=FactState.PENDING))
        await store.retain(write("b", *parts, operation=operation("b", "job")))
        await store.retain(write("b", document("d", "ok", facts=()), appended("d", "two"), finishes="job"))
        assert await texts_of(store, state="valid") == ["two"]

    async def test_a_document_replaced_or_deleted_meanwhile_is_left_alone(self, store: Store) -> None:
        await self.pending(store, ("one",))
        await put(store, "b", "d", "newer")
        await store.retain(write("b", document("d", "one"), finishes="job"))
        assert await texts_of(store) == ["newer"]
        pending = (document("gone", "x", state=FactState.PENDING), document("stays", "y", state=FactState.PENDING))
        await store.retain(write("b", *pending, operation=operation("b", "job 2")))
        await store.delete_document("b", "gone", NOW)
        both, left = (document("gone", "x"), document("stays", "y")), "job 2"
        done = await store.retain(write("b", *both, finishes=left, result=lambda passed: {"passed": sorted(passed)}))
        assert done.operation is not None
        assert done.operation.result == {"passed": ["gone"]}
        assert await texts_of(store) == ["newer", "y"]

    async def test_clearing_a_bank_cancels_what_would_fill_it_again(self, store: Store) -> None:
        await self.pending(store, ("one",), ("ok",))
        again = operation("b", "again", payload={"reprocess": "d"}, fingerprint="g")
        await store.add_operation(again)
        await store.clear_facts("b", FactType.OBSERVATION.value, NOW)
        assert await store.waiting_parts("b", "job")
        await store.clear_facts("b", None, NOW)
        late = write("b", document("d", "one"), appended("d", "ok"))
        for job in ("job", "again"):
            with pytest.raises(Conflict):
                await store.retain(replace(late, finishes="job") if job == "job" else replace(late, job="again"))
            assert not await store.requeue_operation("b", job, NOW)
            known = await store.get_operation("b", job)
            assert known is not None
            assert (known.status, known.payload) == ("cancelled", None)
        assert await texts_of(store) == []
        assert (await store.get_document("b", "d")).text == "one\nok"
        state = await store.document_state("b", "d")
        assert state is not None
        assert state.chunk_hashes == ()

    async def test_tags_given_while_a_job_reads_hold(self, store: Store) -> None:
        ann: dict[str, Any] = {"tags": ("user:ann",), "source": {"tags": ["user:ann"]}}
        job = operation("b", "job", payload={"texts": "one"})
        await store.retain(write("b", document("d", "one", state=FactState.PENDING, **ann), operation=job))
        await store.update_document("b", "d", ("user:bob",), NOW)
        await store.retain(write("b", document("d", "one", **ann), finishes="job"))
        (found,) = (await store.list_facts("b", FactFilter(), 10, 0)).items
        assert (found.state, found.tags) == (FactState.VALID, ("user:bob",))
        assert (await store.get_document("b", "d")).tags == ("user:bob",)
        assert [part.source["tags"] for part in await store.document_parts("b", "d")] == [["user:bob"]]

    async def test_tags_and_scopes_given_while_a_document_is_read_again_hold(self, store: Store) -> None:
        ann: dict[str, Any] = {"tags": ("user:ann",), "source": {"tags": ["user:ann"]}}
        cal: dict[str, Any] = {"tags": ("user:cal",), "source": {"tags": ["user:cal"]}}
        await store.retain(write("b", document("d", "one", **ann), appended("d", "two", **cal)))
        before = (await store.get_document("b", "d")).content_hash

        def again() -> RetainWrite:
            return write("b", document("d", "One", expected_hash=before, **ann), appended("d", "Two", **cal))

        await store.update_document("b", "d", None, NOW, observation_scopes="per_tag")
        await store.retain(again())
        facts = (await store.list_facts("b", FactFilter(), 10, 0)).items
        assert {fact.text: fact.tags for fact in facts} == {"One": ("user:ann",), "Two": ("user:cal",)}
        assert (await store.get_document("b", "d")).observation_scopes == "per_tag"
        before = (await store.get_document("b", "d")).content_hash
        await store.update_document("b", "d", ("user:bob",), NOW)
        await store.retain(again())
        facts = (await store.list_facts("b", FactFilter(), 10, 0)).items
        assert [fact.tags for fact in facts] == [("user:bob",)] * 2
        assert (await store.get_document("b", "d")).tags == ("user:bob",)
        assert [part.source["tags"] for part in await store.document_parts("b", "d")] == [["user:bob"]] * 2

    async def test_a_job_that_is_gone_or_cancelled_writes_nothing(self, store: Store) -> None:
        await self.pending(store, ("one",))
        await store.cancel_operation("b", "job", NOW)
        with pytest.raises(Conflict):
            await store.retain(write("b", document("d", "late"), finishes="job"))
        assert await texts_of(store, state="pending") == ["one"]
        await store.delete_bank("b")
        with pytest.raises(NotFound):
            await store.retain(write("b", document("d", "late"), finishes="job"))
        assert (await store.list_banks(None, 10, 0)).total == 0
