"""The consolidation job with a model that does as it should, and what happens around it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.adapters.text import Analyzer
from hindsight_server.domain.errors import BadRequest, BankNotFound, ModelRefused, ModelUnavailable
from hindsight_server.domain.model import FactState
from hindsight_server.engine.banks import BankInput
from hindsight_server.engine.memories import ForgetInput, MemoryPatch
from hindsight_server.engine.recall.recaller import Recaller
from hindsight_server.engine.recall.types import RecallQuery
from hindsight_server.ports.llm import ChatReply, ChatRequest
from hindsight_server.ports.observations import Source
from hindsight_server.ports.records import FactFilter

from ..conftest import SteppingClock
from .conftest import Shown, World, action, make_world

OSLO = "Ann: I live in Oslo."
BERGEN = "Ann: I live in Bergen now."


def one_each(shown: Shown) -> list[dict[str, Any]]:
    """An observation for each fact, with the same words."""
    return [action("create", said, label) for label, said in shown.facts.items()]


@pytest.mark.feature("F6")
async def test_facts_become_an_observation_with_proof_quotes_names_and_times(world: World) -> None:
    ids = await world.retain("b", OSLO, "Ann: My flat in Oslo is by the harbour.", timestamp="2024-05-07T10:00:00Z")
    world.answer(
        lambda shown: [
            action("create", "Ann lives in Oslo, in a flat by the harbour.", *shown.facts, quote="by the harbour")
        ]
    )
    await world.run("b")
    (found,) = await world.held("b")
    assert found.fact.text == "Ann lives in Oslo, in a flat by the harbour."
    assert (found.fact.proof_count, found.fact.source_fact_ids) == (2, tuple(ids))
    assert found.sources == (Source(fact_id=ids[0]), Source(fact_id=ids[1], quote="by the harbour"))
    assert found.fact.mentioned_at == datetime(2024, 5, 7, 10, tzinfo=UTC)
    assert {"Ann", "Oslo"} <= set(found.fact.entities)
    assert await world.counts("b") == (0, 0)
    done = await world.last("b")
    assert (done.status, done.result["observations_created"], done.result["facts_looked_at"]) == ("completed", 1, 2)
    assert done.result["input_tokens"] > 0
    states = await world.observations.states("b", ids)
    assert [states[fact_id].failed for fact_id in ids] == [False, False]


@pytest.mark.feature("F6")
async def test_an_observation_is_refined_and_contradicted_and_keeps_its_history(world: World) -> None:
    await world.retain("b", OSLO, timestamp="2023-03-01T10:00:00Z")
    world.answer(lambda shown: [action("create", "Ann lives in Oslo.", "F1")])
    await world.run("b")
    await world.retain("b", "Ann: Oslo is where I have my flat.", timestamp="2023-04-01T10:00:00Z")
    world.answer(
        lambda shown: [action("update", "Ann lives in Oslo, in a flat.", "F1", about=shown.observation("Oslo"))]
    )
    await world.run("b")
    await world.retain("b", BERGEN, timestamp="2024-05-07T10:00:00Z")
    told = "Ann lived in Oslo, in a flat; since May 2024 she lives in Bergen."
    world.answer(lambda shown: [action("contradict", told, "F1", about=shown.observation("Oslo"))])
    await world.run("b")
    (found,) = await world.held("b")
    assert (found.fact.text, found.fact.proof_count, found.version) == (told, 3, 3)
    changes = await world.observations.history("b", found.fact.fact_id)
    assert [(one.version.action, one.version.text, one.previous_text) for one in changes] == [
        ("contradicted", told, "Ann lives in Oslo, in a flat."),
        ("updated", "Ann lives in Oslo, in a flat.", "Ann lives in Oslo."),
        ("created", "Ann lives in Oslo.", None),
    ]
    assert [[fact.text for fact in one.facts] for one in changes][::-1] == [
        [OSLO],
        ["Ann: Oslo is where I have my flat."],
        [BERGEN],
    ]
    page = await world.engine.memories.list("b", FactFilter(fact_type="observation"))
    assert [fact.text for fact in page.items] == [told]


async def test_facts_come_in_batches_and_each_batch_sees_what_the_one_before_wrote(world: World) -> None:
    await world.retain("b", *(f"Ann: I own {number} boats in harbour {number}." for number in range(20)))
    seen: list[tuple[int, int]] = []

    def answer(shown: Shown) -> list[dict[str, Any]]:
        seen.append((len(shown.facts), len(shown.observations)))
        return one_each(shown)

    world.answer(answer)
    await world.run("b")
    assert seen == [(8, 0), (8, 8), (4, 16)]
    assert len(await world.held("b")) == 20


async def test_a_round_takes_so_many_memories_and_scopes_are_gone_through_side_by_side(world: World) -> None:
    config = {"consolidation_max_memories_per_round": 2, "default_observation_scopes": "per_tag"}
    await world.engine.banks.put("b", BankInput(config=config))
    world.provider._seconds = 0.01
    seen: list[int] = []
    at_once: list[int] = []

    def answer(shown: Shown) -> list[dict[str, Any]]:
        seen.append(len(shown.facts))
        at_once.append(len(world.provider.requests) - len(at_once))
        return one_each(shown)

    world.answer(answer)
    for parallel, most in ((4, 3), (1, 1)):
        await world.engine.banks.update_config("b", {"consolidation_llm_parallelism": parallel})
        await world.retain("b", *(f"Ann: I own {number} boats." for number in range(5)), tags=["x", "y", "z"])
        seen.clear()
        at_once.clear()
        world.provider.requests.clear()
        await world.run("b")
        assert seen == [2, 2, 2, 2, 2, 2, 1, 1, 1]
        assert max(at_once) == most


async def test_a_batch_is_shown_no_more_observations_than_the_nearest(opened: Any, clock: SteppingClock) -> None:
    world = make_world(opened, clock, candidates=2)
    await world.retain("b", "Ann: I play the violin.", "Ann: I grow tomatoes.", "Ann: I drive a lorry.")
    world.answer(one_each)
    await world.run("b")
    await world.retain("b", "Ann: I play the violin with Bob.")
    shown: list[Shown] = []
    world.answer(lambda given: shown.append(given) or [])
    await world.run("b")
    assert len(shown[0].observations) == 2
    assert shown[0].observation("violin") == "O1"


@pytest.mark.feature("F6")
async def test_what_says_the_same_becomes_one_observation(world: World) -> None:
    await world.retain("b", "Ann: I drink green tea each morning.")
    world.answer(lambda shown: [action("create", "Ann drinks green tea each morning.", "F1")])
    await world.run("b")
    await world.retain("b", "Ann: I drink green tea each morning!", "Ann: I do not drink green tea each morning.")

    def answer(shown: Shown) -> list[dict[str, Any]]:
        return [
            action("create", "Ann drinks green tea, each morning", shown.fact("!")),
            action("create", "Ann does not drink green tea each morning.", shown.fact("do not")),
        ]

    world.answer(answer)
    await world.run("b")
    held = {one.fact.text: one for one in await world.held("b")}
    assert set(held) == {"Ann drinks green tea each morning.", "Ann does not drink green tea each morning."}
    folded = held["Ann drinks green tea each morning."]
    assert folded.fact.proof_count == 2
    assert (await world.observations.history("b", folded.fact.fact_id))[0].version.action == "supported"


@pytest.mark.feature("F6")
@pytest.mark.parametrize("at_once", [False, True])
async def test_other_words_are_one_observation_where_they_are_near_and_nothing_tells_them_apart(
    world: World, at_once: bool
) -> None:
    day = "before she walks along the harbour of the old town to the office of the shipping company by the sea"
    tea = f"Ann drinks a large cup of green tea with honey each morning in the small kitchen by the window {day}."
    same = tea.replace(" each morning", "").replace("Ann drinks", "Ann each morning drinks")
    denied = tea.replace("walks along", "walks not along")
    clocks = "Ann repairs clocks."

    def answer(shown: Shown) -> list[dict[str, Any]]:
        return [action("create", said.removeprefix("Bob: "), label) for label, said in shown.facts.items()]

    world.answer(answer)
    told = [f"Bob: {said}" for said in (tea, same, denied, clocks)]
    for said in (told,) if at_once else (told[:1], told[1:]):
        await world.retain("b", *said)
        await world.run("b")
    held = {one.fact.text: one.fact.proof_count for one in await world.held("b")}
    assert held == {tea: 2, denied: 1, clocks: 1}


@pytest.mark.feature("F6")
async def test_an_observation_that_only_repeats_its_fact_is_recalled_with_it_as_one(
    world: World, opened: SqliteStore
) -> None:
    said = "Ann: I know C++ and play the oboe."
    await world.retain("b", said)
    await world.retain("b", "Ann: I know C, too, and the oboe.")
    world.answer(lambda shown: [action("create", said.replace("C++", "C"), shown.fact("C++"))])
    await world.run("b")
    await world.retain("c", said)
    world.answer(one_each)
    await world.run("c")
    recaller = Recaller(opened, HashingEmbedder(), Analyzer(), world.clock)
    shown_once = (await recaller.recall("c", RecallQuery(query="oboe"))).results
    assert [result.fact.text for result in shown_once] == [said]
    assert len((await recaller.recall("b", RecallQuery(query="oboe"))).results) == 3
    await recaller.close()


async def test_two_of_one_answer_become_one_too(world: World) -> None:
    await world.retain("b", "Ann: I like tea.", "Ann: Tea is what I like.")
    world.answer(lambda shown: [action("create", "Ann likes tea.", "F1"), action("create", "Ann likes tea", "F2")])
    await world.run("b")
    (found,) = await world.held("b")
    assert found.fact.proof_count == 2


@pytest.mark.feature("F6")
async def test_a_deleted_fact_takes_its_observation_and_the_rest_is_looked_at_again(world: World) -> None:
    ids = await world.retain("b", OSLO, "Ann: My flat in Oslo is by the harbour.")
    world.answer(lambda shown: [action("create", "Ann lives in Oslo by the harbour.", *shown.facts)])
    await world.run("b")
    await world.engine.memories.forget("b", ForgetInput(ids=[ids[1]]))
    await world.consolidator.changed("b")
    assert await world.texts("b") == []
    assert await world.counts("b") == (1, 0)
    world.answer(lambda shown: [action("create", "Ann lives in Oslo.", *shown.facts)])
    await world.run()
    assert (await world.texts("b"), await world.counts("b")) == (["Ann lives in Oslo."], (0, 0))


async def test_a_retired_fact_supports_nothing_until_it_is_back(world: World) -> None:
    (fact_id,) = await world.retain("b", OSLO)
    world.answer(one_each)
    await world.run("b")
    await world.engine.memories.update("b", fact_id, MemoryPatch(state=FactState.INVALIDATED))
    await world.run("b")
    assert (await world.texts("b"), await world.counts("b")) == ([], (0, 0))
    await world.engine.memories.update("b", fact_id, MemoryPatch(state=FactState.VALID))
    await world.run("b")
    assert await world.texts("b") == [OSLO]


async def test_only_a_full_scope_takes_no_more_and_its_facts_do_not_fail(world: World) -> None:
    await world.engine.banks.put("b", BankInput(config={"max_observations_per_scope": 1}))
    await world.retain("b", "Ann: I play the violin.", "Ann: I grow tomatoes.")
    world.answer(one_each)
    await world.run("b")
    assert await world.texts("b") == ["Ann: I play the violin."]
    assert await world.counts("b") == (0, 0)
    assert "At most 1 of them" in world.provider.requests[0].messages[0].text


async def test_the_mission_of_the_scope_stands_in_the_prompt(world: World) -> None:
    strategies = [{"scopes": [{"tags": ["team:*"]}], "observations_mission": "Only agreements of the team."}]
    config = {"observations_mission": "Only travels.", "consolidation_strategies": strategies}
    await world.engine.banks.put("b", BankInput(config=config))
    await world.retain("b", "Ann: I went to Lima.", tags=["user:ann"])
    await world.retain("b", "Ann: We agreed on Fridays.", tags=["team:x"])
    await world.run("b")
    told = [request.messages[0].text for request in world.provider.requests]
    assert sorted(("Only travels." in one, "Only agreements of the team." in one) for one in told) == [
        (False, True),
        (True, False),
    ]


# jobs


async def test_retain_asks_for_a_job_only_where_somebody_wants_it(world: World, opened: Any) -> None:
    await world.engine.banks.put("off", BankInput(config={"enable_observations": False}))
    await world.engine.banks.put("byhand", BankInput(config={"enable_auto_consolidation": False}))
    for bank_id in ("on", "off", "byhand"):
        await world.retain(bank_id, OSLO)
        await world.consolidator.changed(bank_id)
    asked = {bank_id: await opened.list_operations(bank_id, None, "consolidation", 9, 0) for bank_id in ("on", "off")}
    assert (asked["on"].total, asked["off"].total) == (1, 0)
    assert await world.counts("byhand") == (1, 0)
    assert await world.counts("off") == (0, 0)
    with pytest.raises(BadRequest, match="enable_observations"):
        await world.consolidator.trigger("off")
    with pytest.raises(BankNotFound):
        await world.consolidator.trigger("nobody")
    await world.consolidator.changed("nobody")
    await world.consolidator.changed("on")
    assert (await opened.list_operations("on", None, "consolidation", 9, 0)).total == 1


async def test_requests_join_the_job_there_is(world: World) -> None:
    await world.retain("b", OSLO)
    first, joined = await world.consolidator.trigger("b")
    again = await world.consolidator.trigger("b")
    assert (joined, again) == (False, (first, True))
    world.answer(one_each)
    await world.run()
    assert (await world.consolidator.trigger("b"))[1] is False


async def test_facts_that_come_while_a_job_runs_are_taken_by_it(world: World) -> None:
    await world.retain("b", OSLO)
    world.answer(one_each)
    operation_id, _ = await world.consolidator.trigger("b")
    job = await world.engine.store.claim_operation(["consolidation"], world.clock.now(), 30.0)
    assert job is not None
    chat = world.provider.chat

    async def chat_while_others_retain(request: Any) -> Any:
        if len(world.provider.requests) == 0:
            await world.retain("b", BERGEN)
            assert await world.consolidator.trigger("b") == (operation_id, True)
        return await chat(request)

    world.provider.chat = chat_while_others_retain  # type: ignore[method-assign]
    result = await world.consolidator.run_job(job)
    assert result["facts_looked_at"] == 2
    assert (await world.last("b")).status == "completed"
    assert await world.counts("b") == (0, 0)


async def test_a_request_for_some_scopes_takes_their_facts_alone(world: World) -> None:
    await world.retain("b", OSLO, tags=["user:ann", "x"])
    await world.retain("b", "Bob: I live in Rome.", tags=["user:bob"])
    world.answer(one_each)
    await world.consolidator.trigger("b", [["user:ann"], ["nobody"]])
    await world.run()
    assert await world.texts("b", ("user:ann", "x")) == [OSLO]
    assert await world.counts("b") == (1, 0)


# failures


@pytest.mark.parametrize("problem", [ModelUnavailable("rate limit"), ModelRefused("bad key")])
async def test_an_outage_leaves_facts_waiting_and_heals(world: World, problem: Exception) -> None:
    await world.retain("b", OSLO, "Ann: I like tea.")
    world.answer(lambda shown: problem)
    await world.run("b")
    job = await world.last("b")
    assert (job.status, job.attempts, job.error) == ("pending", 1, str(problem))
    for _ in range(2):
        world.clock.forward(1000)
        await world.run()
    failed = await world.last("b")
    assert (failed.status, await world.counts("b")) == ("failed", (2, 0))
    world.answer(one_each)
    await world.consolidator.sweep()
    await world.run()
    assert (await world.last("b")).status == "failed", "a bank whose job failed is left alone for a while"
    world.clock.forward(1000)
    await world.consolidator.sweep()
    await world.run()
    healed = await world.last("b")
    assert (healed.operation_id, healed.status) == (failed.operation_id, "completed")
    assert await world.counts("b") == (0, 0)
    assert len(await world.texts("b")) == 2


async def test_what_was_done_before_an_outage_stays_done(world: World) -> None:
    await world.retain("b", *(f"Ann: I own {number} boats in harbour {number}." for number in range(10)))
    world.answer(lambda shown: one_each(shown) if len(shown.facts) == 8 else ModelUnavailable("away"))
    await world.run("b")
    assert await world.counts("b") == (2, 0)
    world.answer(one_each)
    world.clock.forward(1000)
    await world.run()
    assert (len(await world.texts("b")), await world.counts("b")) == (10, (0, 0))


async def test_facts_that_no_job_will_take_get_one(world: World) -> None:
    await world.retain("b", OSLO)
    await world.retain("other", OSLO)
    await world.consolidator.trigger("other")
    await world.consolidator.sweep()
    world.answer(one_each)
    await world.run()
    assert (await world.texts("b"), await world.texts("other")) == ([OSLO], [OSLO])


async def test_facts_that_no_answer_fits_are_marked_and_can_be_recovered(world: World) -> None:
    ids = await world.retain("b", OSLO, "Ann: I like tea.", "Ann: I own a boat.", "Ann: I play chess.")

    def answer(shown: Shown) -> Any:
        return "I'd rather not." if any("boat" in said for said in shown.facts.values()) else one_each(shown)

    world.answer(answer)
    await world.run("b")
    assert await world.counts("b") == (0, 1)
    assert len(await world.texts("b")) == 3
    states = await world.observations.states("b", ids)
    assert [states[fact_id].failed for fact_id in ids] == [False, False, True, False]
    await world.run("b")
    assert await world.counts("b") == (0, 1)
    world.answer(one_each)
    assert await world.observations.recover("b") == 1
    assert await world.counts("b") == (1, 0)
    await world.run()
    assert (len(await world.texts("b")), await world.counts("b")) == (4, (0, 0))
    assert await world.observations.recover("b") == 0


# clearing


@pytest.mark.feature("F6")
async def test_clearing_makes_everything_anew(world: World) -> None:
    ids = await world.retain("b", OSLO, "Ann: I like tea.")
    world.answer(one_each)
    await world.run("b")
    assert await world.observations.clear_of("b", ids[0]) == 1
    assert await world.texts("b") == ["Ann: I like tea."]
    await world.run()
    assert len(await world.texts("b")) == 2
    assert await world.observations.clear("b") == 2
    assert (await world.texts("b"), await world.counts("b")) == ([], (2, 0))
    await world.run()
    assert (len(await world.texts("b")), await world.counts("b")) == (2, (0, 0))


async def test_the_clock_of_the_last_run_is_told(world: World) -> None:
    await world.retain("b", OSLO)
    assert (await world.observations.counts("b")).last_at is None
    await world.run("b")
    last = (await world.observations.counts("b")).last_at
    assert last is not None
    assert last <= world.clock.now()


async def test_what_is_noticed_is_asked_for_once(world: World) -> None:
    await world.retain("b", OSLO)
    await world.retain("other", OSLO)
    for bank_id in ("b", "other", "b", "nobody"):
        await world.consolidator.notice(bank_id)
    assert world.consolidator._noticing is not None
    await world.consolidator._noticing
    world.answer(one_each)
    await world.run()
    assert (await world.texts("b"), await world.texts("other")) == ([OSLO], [OSLO])
    await world.consolidator.start()
    await world.consolidator.notice("b")
    await world.consolidator.stop()


async def test_what_is_forgotten_while_batches_wait_is_not_shown_to_the_model(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.engine.banks.put("b", BankInput(config={"consolidation_llm_batch_size": 1}))
    ids = await world.retain("b", OSLO, "Ann: I keep a quokka at home.", "Ann: I play the oboe.")
    ask = world.provider.chat

    async def forgetting(request: ChatRequest) -> ChatReply:
        if not world.provider.requests:
            await world.engine.memories.forget("b", ForgetInput(ids=[ids[1]]))
        return await ask(request)

    monkeypatch.setattr(world.provider, "chat", forgetting)
    world.answer(one_each)
    await world.run("b")
    assert not any("quokka" in request.messages[1].text for request in world.provider.requests)
    assert sorted(await world.texts("b")) == [OSLO, "Ann: I play the oboe."]
    assert await world.counts("b") == (0, 0)


async def test_a_bank_that_is_deleted_during_a_sweep_keeps_no_other_waiting(
    world: World, opened: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.retain("b", OSLO)

    async def waiting() -> list[str]:
        return ["deleted", "b"]

    monkeypatch.setattr(opened, "banks_waiting", waiting)
    await world.consolidator.sweep()
    assert (await world.last("b")).status == "pending"


async def test_how_far_a_job_is_has_the_shape_of_every_progress(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[Any] = []

    async def note(operation: object, progress: object, now: object) -> None:
        noted.append(progress)

    monkeypatch.setattr(world.engine.store, "note_progress", note)
    await world.retain("b", "Ann likes tea.")
    world.answer(lambda shown: [action("create", "Ann likes tea.", "F1")])
    await world.run("b")
    (told,) = noted
    assert datetime.fromisoformat(told["at"]).tzinfo is not None
    assert (told["stage"], told["processed"], told["detail"]["observations_created"]) == ("consolidating", 1, 1)
