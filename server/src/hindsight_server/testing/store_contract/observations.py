"""What every store does with observations: what they rest on takes them with it, and nothing waits unseen."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from hindsight_server.domain.errors import BankNotFound, Conflict, NotFound, StaleFacts
from hindsight_server.domain.model import FactState, FactType
from hindsight_server.domain.observation_scopes import Scope, scopes_of
from hindsight_server.domain.tags import TagLeaf, TagsMatch
from hindsight_server.ports.forgetting import ForgetWrite
from hindsight_server.ports.observations import (
    CONSOLIDATION,
    MOST_VERSIONS,
    ConsolidationWrite,
    ObservationVersion,
    ObservationWrite,
    Source,
)
from hindsight_server.ports.records import DocumentFilter, FactChange, FactFilter, Operation
from hindsight_server.ports.store import Store
from hindsight_server.testing.store_contract.builders import NOW, document, encoding_of, fact, later, put, write

Dump = Callable[[], Coroutine[Any, Any, str]]


async def job(store: Store, bank_id: str = "b", payload: Mapping[str, Any] | None = None) -> Operation:
    """A consolidation job, claimed."""
    asked = await store.request_consolidation(bank_id, payload or {}, NOW)
    assert asked is not None
    claimed = await store.claim_operation([CONSOLIDATION], later(1), 30.0)
    assert claimed is not None
    return claimed


async def look(
    store: Store,
    operation: Operation,
    fact_ids: Sequence[str],
    *writes: ObservationWrite,
    scope: Scope = (),
    **options: Any,
) -> None:
    """Write what a look at some facts brought, as they are now."""
    seen = {one.fact_id: one.seq for one in await store.facts_by_id(operation.bank_id, fact_ids)}
    values: dict[str, Any] = {"scopes": dict.fromkeys(seen, (scope,)), "seen": seen, "now": later(5)} | options
    bank_id = operation.bank_id
    await store.consolidate(
        ConsolidationWrite(bank_id=bank_id, operation=operation, scope=scope, writes=writes, **values)
    )


def draws(text: str, *fact_ids: str, **options: Any) -> ObservationWrite:
    """A new observation; `options` are those of `ObservationWrite`, and `names` and `observation_id`."""
    made = fact(text, names=options.pop("names", ()), fact_type=FactType.OBSERVATION)
    made = replace(made, fact_id=options.pop("observation_id", made.fact_id))
    sources = tuple(Source(fact_id=fact_id) for fact_id in fact_ids)
    return ObservationWrite(fact=made, sources=sources, action=options.pop("action", "created"), **options)


async def waiting(store: Store, bank_id: str = "b") -> list[str]:
    """The texts of facts that wait."""
    return [one.fact.text for one in await store.waiting_facts(bank_id, 0, 100)]


async def texts(store: Store, bank_id: str = "b") -> list[str]:
    """The texts of all observations."""
    found = await store.list_facts(bank_id, FactFilter(fact_type="observation"), 100, 0)
    return sorted(one.text for one in found.items)


class ObservationContract:
    """Observations as facts, and what becomes of them."""

    async def test_an_observation_is_a_fact_without_a_document(self, store: Store) -> None:
        one, two = await put(store, "b", "d", "Ann likes tea", "Ann drinks tea", tags=("u:ann", "t"))
        made = draws("Ann likes tea very much", one, two, names=("Ann",))
        scope = ("t", "u:ann")
        await look(store, await job(store), [one, two], made, scope=scope)
        found = await store.get_fact("b", made.fact.fact_id)
        assert (found.fact_type, found.document_id, found.chunk_id) == (FactType.OBSERVATION, "", None)
        assert (found.source_fact_ids, found.proof_count, found.tags) == ((one, two), 2, scope)
        assert (found.entities, found.created_at, found.state) == (("Ann",), later(5), FactState.VALID)
        (held,) = await store.observations("b", [made.fact.fact_id, "nobody"])
        assert (held.scope, held.version, held.fact) == (scope, 1, found)
        assert held.sources == (Source(fact_id=one), Source(fact_id=two))
        assert await store.observations_in("b", scope) == {found.fact_id: found.seq}
        assert await store.observations_in("b", ()) == {}
        snapshot = await store.snapshot("b", 0, 0)
        row = next(row for row in snapshot.rows if row.fact_type == "observation")
        assert (row.seq, row.proof_count, row.tags, row.document_id) == (found.seq, 2, scope, "")
        assert found.seq in snapshot.vectors[encoding_of("x").space][0]
        assert found.seq in (await store.postings("b", {"much": 0}))["much"][0]

    async def test_its_document_is_never_shown(self, store: Store) -> None:
        (one,) = await put(store, "b", "d", "one")
        made = draws("one, then", one)
        await look(store, await job(store), [one], made)
        assert [found.document_id for found in (await store.list_documents("b", DocumentFilter(), 9, 0)).items] == ["d"]
        stats = await store.bank_stats("b")
        assert (stats.documents, stats.facts_by_type) == (1, {"world": 1, "observation": 1})
        taken: list[Any] = []
        await store.read_transfer("b", None, taken.append)
        assert "" not in [getattr(record, "document_id", "d") for record in taken]
        with pytest.raises(NotFound):
            await store.get_document("b", "")
        with pytest.raises(NotFound):
            await store.delete_document("b", "", NOW)
        gone = await store.forget(ForgetWrite(bank_id="b", document_ids=("",)), NOW)
        assert (gone.missing, await texts(store)) == (("",), ["one, then"])

    async def test_versions_are_told_newest_first_and_bounded(self, store: Store) -> None:
        assert MOST_VERSIONS == 50
        ids = await put(store, "b", "d", *(f"fact {number}" for number in range(MOST_VERSIONS + 3)))
        operation = await job(store)
        made = draws("version 1", ids[0])
        await look(store, operation, ids[:1], made)
        key = made.fact.fact_id
        created = (await store.get_fact("b", key)).created_at
        for version in range(2, MOST_VERSIONS + 4):
            action = "contradicted" if version == 3 else "updated"
            changed = draws(
                f"version {version}", ids[version - 1], observation_id=key, expected=version - 1, action=action
            )
            await look(store, operation, ids[version - 1 : version], changed, now=later(version))
        history = await store.observation_history("b", key)
        assert [one.version for one in history] == list(range(MOST_VERSIONS + 3, 2, -1))
        assert history[-1] == ObservationVersion(
            version=3, action="contradicted", text="version 3", changed_at=later(3), fact_ids=(ids[2],)
        )
        found = await store.get_fact("b", key)
        assert (found.text, found.proof_count, found.created_at) == (f"version {MOST_VERSIONS + 3}", len(ids), created)
        assert await store.observation_history("b", ids[0]) == []
        with pytest.raises(NotFound):
            await store.observation_history("b", "nobody")

    async def test_a_changed_observation_is_told_as_removed_and_added(self, store: Store) -> None:
        one, two = await put(store, "b", "d", "one", "two")
        operation = await job(store)
        made = draws("first", one)
        await look(store, operation, [one], made)
        before = await store.get_fact("b", made.fact.fact_id)
        mark = await store.snapshot("b", 0, 0)
        await look(store, operation, [two], draws("second", two, observation_id=before.fact_id, expected=1))
        after = await store.snapshot("b", before.seq, mark.version)
        assert (after.removed.tolist(), [row.proof_count for row in after.rows]) == ([before.seq], [2])
        assert (await store.postings("b", {"first": 0, "second": 0}))["first"][0].tolist() == []
        assert (await store.get_bank("b")).fact_count == 3

    @pytest.mark.parametrize("by", ["forget", "edit", "invalidate", "replace", "document", "retag"])
    async def test_what_it_rests_on_takes_it_along(self, store: Store, dump: Dump, by: str) -> None:
        (one,) = await put(store, "b", "d", "the quixotherm is blue", tags=("t",))
        (two,) = await put(store, "b", "e", "the sky is blue", tags=("t",))
        (other,) = await put(store, "b", "f", "grass is green", tags=("t",))
        operation = await job(store)
        made = draws("the quixotherm and the sky are zworbly blue", one, two)
        await look(store, operation, [one], made, scope=("t",))
        later_text = draws("the sky is blue", two, observation_id=made.fact.fact_id, expected=1, action="updated")
        await look(store, operation, [two, other], later_text, draws("grass", other), scope=("t",))
        assert await waiting(store) == []
        assert await store.end_consolidation(operation, {}, NOW)
        if by == "forget":
            await store.forget(ForgetWrite(bank_id="b", fact_ids=(one,)), NOW)
        elif by == "document":
            await store.delete_document("b", "d", NOW)
        elif by == "replace":
            await put(store, "b", "d", "the sea is blue", tags=("t",))
        elif by == "retag":
            await store.update_document("b", "d", ("u",), NOW)
        else:
            edit = FactChange(text="it is red") if by == "edit" else FactChange(state=FactState.INVALIDATED)
            await store.update_fact("b", one, edit, NOW)
        assert await texts(store) == ["grass"]
        assert await store.observations("b", [made.fact.fact_id]) == []
        left = {
            "edit": ["it is red"],
            "replace": ["the sea is blue"],
            "retag": ["the quixotherm is blue"],
        }.get(by, [])
        assert sorted(await waiting(store)) == sorted(["the sky is blue", *left])
        assert (await store.consolidation_counts("b")).pending == 1 + len(left)
        held = await dump()
        assert "zworbly" not in held
        # The document of a fact that is corrected or retired keeps its text.
        assert ("quixotherm" in held) is (by in ("edit", "invalidate", "retag"))

    async def test_a_restored_fact_waits_again(self, store: Store) -> None:
        (one,) = await put(store, "b", "d", "one")
        operation = await job(store)
        await look(store, operation, [one], draws("first", one))
        assert await store.end_consolidation(operation, {}, NOW)
        await store.update_fact("b", one, FactChange(state=FactState.INVALIDATED), NOW)
        assert (await waiting(store), await texts(store)) == ([], [])
        await store.update_fact("b", one, FactChange(state=FactState.VALID), NOW)
        assert await waiting(store) == ["one"]

    async def test_an_observation_can_be_forgotten_and_cleared(self, store: Store) -> None:
        one, two = await put(store, "b", "d", "one", "two", tags=("t",))
        operation = await job(store)
        made = draws("first", one)
        await look(store, operation, [one, two], made, draws("second", two), scope=("t",))
        gone = await store.forget(ForgetWrite(bank_id="b", fact_ids=(made.fact.fact_id,)), NOW)
        assert (gone.facts, gone.documents_changed, gone.documents_deleted) == (1, (), ())
        assert (await texts(store), await waiting(store)) == (["second"], [])
        assert await store.clear_facts("b", "observation", NOW) == 1
        assert (await texts(store), await waiting(store)) == ([], [])
        tagged = TagLeaf(frozenset({"t"}), TagsMatch.ANY_STRICT)
        gone = await store.forget(ForgetWrite(bank_id="b", tags=tagged), NOW)
        assert (gone.facts, gone.documents_deleted) == (2, ("d",))

    async def test_scopes_that_stay_keep_their_observations(self, store: Store) -> None:
        (one,) = await put(store, "b", "d", "one", tags=("t",), observation_scopes="per_tag")
        operation = await job(store)
        await look(store, operation, [one], draws("first", one), scope=("t",))
        await store.update_document("b", "d", None, NOW, observation_scopes="combined")
        assert (await texts(store), await waiting(store)) == (["first"], [])
        await store.update_document("b", "d", None, NOW, observation_scopes="shared")
        assert (await texts(store), await waiting(store)) == ([], ["one"])

    async def test_scopes_are_counted(self, store: Store) -> None:
        one, two = await put(store, "b", "d", "one", "two")
        operation = await job(store)
        every: dict[str, Any] = {"scopes": dict.fromkeys((one, two), ((), ("a",), ("b",)))}
        await look(store, operation, [one, two], draws("1", one), **every)
        await look(store, operation, [one, two], draws("2", one), draws("3", two), scope=("b",), **every)
        await look(store, operation, [one, two], draws("4", one), scope=("a",), **every)
        page = await store.observation_scopes("b", 2, 0)
        assert (page.items, page.total) == (((("b",), 2), ((), 1)), 3)
        assert (await store.observation_scopes("b", 2, 2)).items == ((("a",), 1),)

    async def test_clearing_lets_everything_wait(self, store: Store) -> None:
        one, two = await put(store, "b", "d", "one", "two")
        operation = await job(store)
        await look(store, operation, [one, two], draws("first", one), draws("second", one, two))
        assert await store.end_consolidation(operation, {}, NOW)
        assert await store.clear_observations_of("b", two, NOW) == 1
        assert (await texts(store), sorted(await waiting(store))) == (["first"], ["one", "two"])
        assert await store.clear_observations("b", NOW) == 1
        assert (await texts(store), await waiting(store)) == ([], ["one", "two"])
        with pytest.raises(NotFound):
            await store.clear_observations_of("b", "nobody", NOW)

    async def test_everything_goes_with_the_bank(self, store: Store) -> None:
        (one,) = await put(store, "b", "d", "one")
        await look(store, await job(store), [one], draws("first", one))
        assert await store.delete_bank("b") == 2
        with pytest.raises(BankNotFound):
            await store.consolidation_counts("b")
        await put(store, "b", "d", "two")
        assert (await waiting(store), await texts(store)) == (["two"], [])


class ConsolidationContract:
    """Work: jobs that join, facts that wait, writes that are refused."""

    async def test_one_job_for_a_bank_that_others_join(self, store: Store) -> None:
        with pytest.raises(BankNotFound):
            await store.request_consolidation("b", {}, NOW)
        await store.ensure_bank("b", NOW)
        assert await store.request_consolidation("b", {}, NOW, needed=True) is None
        await put(store, "b", "d", "one")
        first = await store.request_consolidation("b", {"scopes": [["t"]]}, NOW, needed=True)
        second = await store.request_consolidation("b", {"scopes": [["u"]]}, NOW)
        assert first is not None
        assert second is not None
        assert (first[1], second[1], first[0].operation_id) == (False, True, second[0].operation_id)
        claimed = await store.claim_operation([CONSOLIDATION], NOW, 30.0)
        assert claimed is not None
        assert claimed.payload == {"scopes": [["t"], ["u"]]}
        await put(store, "other", "d", "one")
        elsewhere = await store.request_consolidation("other", {}, NOW)
        assert elsewhere is not None
        assert not elsewhere[1]

    async def test_a_running_job_that_was_joined_looks_again(self, store: Store) -> None:
        await put(store, "b", "d", "one")
        operation = await job(store, payload={"scopes": [["t"]]})
        joined = await store.request_consolidation("b", {}, NOW)
        assert joined is not None
        assert joined[1]
        assert not await store.end_consolidation(operation, {}, NOW)
        held = await store.get_operation("b", operation.operation_id)
        assert held is not None
        assert (held.status, held.payload) == ("processing", {})
        assert not await store.end_consolidation(operation, {}, NOW)
        ids = [one.fact.fact_id for one in await store.waiting_facts("b", 0, 9)]
        await look(store, operation, ids)
        assert await store.end_consolidation(operation, {"facts": 1}, later(9))
        done = await store.get_operation("b", operation.operation_id)
        assert done is not None
        assert (done.status, done.result) == ("completed", {"facts": 1})
        assert await store.consolidation_counts("b") == replace(
            await store.consolidation_counts("b"), pending=0, failed=0, last_at=later(9)
        )

    async def test_a_job_for_some_scopes_ends_although_others_wait(self, store: Store) -> None:
        await put(store, "b", "d", "one")
        assert await store.end_consolidation(await job(store, payload={"scopes": [["t"]]}), {}, NOW)
        assert await waiting(store) == ["one"]

    async def test_a_fact_waits_until_all_of_its_scopes_are_done(self, store: Store) -> None:
        (one,) = await put(store, "b", "d", "one", tags=("t", "u"), observation_scopes="per_tag")
        (found,) = await store.waiting_facts("b", 0, 9)
        assert (found.spec, found.passed, found.fact.text) == ("per_tag", frozenset(), "one")
        assert await store.scope_specs("b", [found.fact.seq, 99]) == {found.fact.seq: "per_tag"}
        operation = await job(store)
        scopes = {"scopes": {one: scopes_of("per_tag", ("t", "u"))}}
        await look(store, operation, [one], scope=("t",), **scopes)
        (found,) = await store.waiting_facts("b", 0, 9)
        assert found.passed == frozenset({("t",)})
        assert await store.consolidation_states("b", [one]) == {}
        await look(store, operation, [one], scope=("u",), failed=frozenset({one}), **scopes)
        state = (await store.consolidation_states("b", [one, "nobody"]))[one]
        assert (state.failed, state.done_at) == (True, later(5))
        counts = await store.consolidation_counts("b")
        assert (counts.pending, counts.failed) == (0, 1)
        assert await store.recover_consolidation("b") == 1
        (found,) = await store.waiting_facts("b", 0, 9)
        assert found.passed == frozenset({("t",)})
        assert await store.recover_consolidation("b") == 0

    async def test_only_valid_facts_wait_by_number(self, store: Store) -> None:
        ids = await put(store, "b", "d", "one", "two", "three", "four")
        await put(store, "b", "e", "not extracted yet", state=FactState.PENDING)
        await store.update_fact("b", ids[1], FactChange(state=FactState.INVALIDATED), NOW)
        found = await store.waiting_facts("b", 0, 2)
        assert [one.fact.text for one in found] == ["one", "three"]
        assert [one.fact.text for one in await store.waiting_facts("b", found[-1].fact.seq, 2)] == ["four"]
        assert (await store.consolidation_counts("b")).pending == 3
        assert await store.banks_waiting() == ["b"]
        await job(store)
        assert await store.banks_waiting() == []

    async def test_nothing_is_written_of_what_changed_meanwhile(self, store: Store) -> None:
        one, two = await put(store, "b", "d", "one", "two")
        operation = await job(store)
        seen = {fact.fact_id: fact.seq for fact in await store.facts_by_id("b", [one])}
        await store.update_fact("b", one, FactChange(text="another"), NOW)
        with pytest.raises(StaleFacts):
            await look(store, operation, [one], draws("first", one), seen=seen, scopes={one: ((),)})
        await look(store, operation, [one], draws("first", one))
        with pytest.raises(StaleFacts):
            await look(store, operation, [one], draws("first", one))
        for further in ({one: seen[one]}, {"nobody": 1}):
            with pytest.raises(StaleFacts):
                await look(store, operation, [two], draws("both", one, two), further=further)
        (key,) = await store.observations_in("b", ())
        for refused in (draws("x", two, observation_id=key, expected=7), draws("x", two, observation_id=key)):
            with pytest.raises(StaleFacts):
                await look(store, operation, [two], refused)
        with pytest.raises(StaleFacts):
            await look(store, operation, [two], removed={key: 1})
        assert (await texts(store), await waiting(store)) == (["first"], ["two"])
        kept = draws("second", one)
        await look(store, operation, [two], kept, removed={key: 1})
        assert await texts(store) == ["second"]

    async def test_nothing_is_written_by_a_job_that_lost_its_turn(self, store: Store) -> None:
        (one,) = await put(store, "b", "d", "one")
        operation = await job(store)
        again = await store.claim_operation([CONSOLIDATION], later(100), 30.0)
        assert again is not None
        assert again.attempts == 2
        with pytest.raises(Conflict):
            await look(store, operation, [one], draws("first", one))
        with pytest.raises(Conflict):
            await store.end_consolidation(operation, {}, NOW)
        await store.cancel_operation("b", operation.operation_id, NOW)
        with pytest.raises(Conflict):
            await look(store, again, [one], draws("first", one))
        assert (await texts(store), await waiting(store)) == ([], ["one"])
        await store.retain(write("b", document("e", "two")))
        assert len(await waiting(store)) == 2
