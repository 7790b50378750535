"""The loop: what is searched before an answer, what an answer rests on, and where it ends."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from hindsight_server.domain.errors import ModelRefused, ModelUnavailable, ReflectFailed, ReflectTimedOut
from hindsight_server.engine.recall.types import Budget
from hindsight_server.engine.reflect import ReflectOptions
from hindsight_server.engine.retain import ItemInput
from hindsight_server.testing.scripted_model import ScriptedProvider, tool_call

from .conftest import QUESTION, Desk, Shelf, calls, done, mental_model, recall, told

pytestmark = pytest.mark.feature("F1")


async def test_the_answer_rests_on_what_was_found_and_cited(desk: Desk) -> None:
    outcome = await desk.ask([recall(), done("Luna.", "m1")])
    assert outcome.text == "Luna."
    assert [fact.text for fact in outcome.based_on] == ["Ann: I adopted a dog yesterday, her name is Luna."]
    assert desk.choices == ["recall", "required"]
    assert desk.tools == {"recall", "expand", "done"}


async def test_the_first_calls_go_from_what_is_known_best_to_what_is_known_at_all(desk: Desk) -> None:
    desk.shelf = Shelf(mental_model(fresh=False))
    script = [tool_call("search_mental_models", query="dog"), recall(), done("Luna.", "m1")]
    await desk.ask(script)
    assert desk.choices == ["search_mental_models", "recall", "required"]


@pytest.mark.parametrize(("budget", "next_choice"), [("low", "required"), ("mid", "required"), ("high", "recall")])
async def test_a_fresh_mental_model_releases_the_rest_below_the_highest_budget(
    desk: Desk, budget: str, next_choice: str
) -> None:
    desk.shelf = Shelf(mental_model())
    script = [tool_call("search_mental_models", query="dog"), recall(), done("Luna.", mental_model_ids=["dogs"])]
    outcome = await desk.ask(script, budget=Budget(budget))
    assert desk.choices[:2] == ["search_mental_models", next_choice]
    assert [one.mental_model_id for one in outcome.mental_models] == ["dogs"]


@pytest.mark.parametrize("model", [mental_model(fresh=False), mental_model(text="  ")])
async def test_a_stale_or_empty_mental_model_releases_nothing(desk: Desk, model: Any) -> None:
    desk.shelf = Shelf(model)
    await desk.ask([tool_call("search_mental_models", query="dog"), recall(), done("Luna.", "m1")])
    assert desk.choices[1] == "recall"


@pytest.mark.feature("F2")
async def test_nothing_found_is_said_only_after_recall(desk: Desk) -> None:
    desk.shelf = Shelf(mental_model("cats", "Nobody has a cat."))
    script = [
        tool_call("search_mental_models", query="dog"),
        done("I found no information about that.", mental_model_ids=["cats"]),
        recall(),
        done("Luna.", "m1"),
    ]
    outcome = await desk.ask(script)
    assert outcome.text == "Luna."
    assert desk.choices == ["search_mental_models", "required", "recall", "required"]


@pytest.mark.feature("F2")
async def test_an_answer_that_cites_nothing_needs_recall_too(desk: Desk) -> None:
    desk.shelf = Shelf(mental_model("cats", "Nobody has a cat."))
    script = [tool_call("search_mental_models", query="dog"), done("Rien du tout."), recall(), done("Luna.", "m1")]
    await desk.ask(script)
    assert desk.choices[2] == "recall"


@pytest.mark.feature("F2")
async def test_an_answer_before_any_search_is_refused(desk: Desk) -> None:
    outcome = await desk.ask([done("Rex."), recall(), done("Luna.", "m1")])
    assert outcome.text == "Luna."
    assert told(desk.provider.requests[1]).startswith("Not yet: call recall first")
    assert outcome.tool_calls[0].output["refused"]


@pytest.mark.feature("F2")
async def test_one_that_answers_too_early_again_is_searched_for(desk: Desk) -> None:
    outcome = await desk.ask([done("Rex."), done("Rex."), done("Luna.", "m1")])
    assert outcome.text == "Luna."
    assert "her name is Luna" in told(desk.provider.requests[2])
    assert [call.tool for call in outcome.tool_calls] == ["done", "done", "recall", "done"]


@pytest.mark.parametrize(("budget", "turns"), [("low", 5), ("mid", 10), ("high", 20)])
async def test_the_budget_bounds_the_turns_and_the_last_one_has_to_answer(desk: Desk, budget: str, turns: int) -> None:
    asked = 0

    def script(request: Any) -> Any:
        nonlocal asked
        asked += 1
        return done("Luna.", "m1") if request.tool_choice == "done" else recall(f"dog {asked}")

    outcome = await desk.ask(script, budget=Budget(budget))
    assert outcome.text == "Luna."
    assert desk.choices[-1] == "done"
    assert len(desk.choices) == turns
    assert [tool.name for tool in desk.provider.requests[-1].tools] == ["done"]


async def test_a_model_that_will_not_answer_at_its_last_turn_is_answered_for_from_the_evidence(desk: Desk) -> None:
    def script(request: Any) -> Any:
        return recall(f"dog {len(desk.provider.requests)}") if request.tools else "She is called Luna [m1]."

    outcome = await desk.ask(script)
    assert outcome.text == "She is called Luna."
    assert [fact.text for fact in outcome.based_on] == ["Ann: I adopted a dog yesterday, her name is Luna."]
    assert outcome.model_calls[-1].scope == "final"


async def test_several_calls_of_a_turn_are_all_carried_out(desk: Desk) -> None:
    several = calls(("recall", {"query": "dog"}), ("recall", {"query": "Oslo"}))
    outcome = await desk.ask([several, done("Luna.", "m1")])
    assert {query.query for query in desk.recaller.asked} == {"dog", "Oslo"}
    replies = [message for message in desk.provider.requests[1].messages if message.role == "tool"]
    assert [reply.tool_request_id for reply in replies] == ["call_0", "call_1"]
    assert outcome.tool_calls[0].iteration == outcome.tool_calls[1].iteration == 1


async def test_what_stands_around_a_memory_can_be_read(desk: Desk) -> None:
    expand = tool_call("expand", memory_ids=["m1", "m77"], depth="document")
    await desk.ask([recall("Luna"), expand, done("Luna.", "m1")])
    assert "harbour museum" in told(desk.provider.requests[2])
    assert "No search has found: m77" in told(desk.provider.requests[2])


async def test_documents_are_shown_up_to_a_measure(desk: Desk) -> None:
    for name in ("Rex", "Ivo"):
        await desk.retain(f"{name} is a cat. " + "He sleeps on the sofa all day long. " * 700)
    await desk.ask([recall("Rex Ivo cat sofa", max_tokens=16_000), _expand_all(), done("Luna.", "m1")])
    assert 29_000 < len(told(desk.provider.requests[2])) < 32_000


def _expand_all() -> Any:
    return tool_call("expand", memory_ids=[f"m{n}" for n in range(1, 400)], depth="document")


async def test_within_a_scope_of_tags_nothing_around_a_memory_is_shown(desk: Desk) -> None:
    from hindsight_server.domain.tags import TagLeaf, TagsMatch

    await desk.engine.retain("b", [ItemInput(content="Ann: Luna sleeps.", document_id="d", tags=("a",))])
    await desk.engine.retain(
        "b", [ItemInput(content="Ann: the code is 4411.", document_id="d", tags=("b",), update_mode="append")]
    )
    only_a = TagLeaf(frozenset({"a"}), TagsMatch.ANY_STRICT)
    expand = tool_call("expand", memory_ids=["m1"], depth="document")
    await desk.ask([recall("Luna"), expand, done("Luna.", "m1")], tags=only_a)
    assert desk.tools == {"recall", "done"}
    assert "<passages>" not in str(desk.provider.requests[-1])
    assert "4411" not in str(desk.provider.requests[-1])


async def test_memories_are_shown_where_they_stand_as_far_as_the_bank_allows(desk: Desk) -> None:
    await desk.ask([recall("Luna"), done("Luna.", "m1")])
    assert told(desk.provider.requests[1]).count("harbour museum") == 2
    for settings in ({"recall_include_chunks": False}, {"recall_include_chunks": True, "recall_chunks_max_tokens": 1}):
        await desk.engine.banks.update_config("b", settings)
        await desk.ask([recall("Luna"), done("Luna.", "m1")])
        assert told(desk.provider.requests[1]).count("harbour museum") == 1
    await desk.ask([recall("Luna"), done("Luna.", "m1")], recall_tokens=700, passage_tokens=900)
    assert told(desk.provider.requests[1]).count("harbour museum") == 2
    assert desk.recaller.asked[-1].max_tokens == 700


async def test_a_model_reads_no_tokens_of_attachments(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    read_chunks = desk.engine.store.chunks

    async def chunks(bank_id: str, ids: Any) -> Any:
        marked = "See ⟦hs-att:0123456789abcdef⟧\nMay = 12\n⟦/hs-att⟧"
        return [replace(chunk, text=marked) for chunk in await read_chunks(bank_id, ids)]

    monkeypatch.setattr(desk.engine.store, "chunks", chunks)
    await desk.ask([recall("Luna"), tool_call("expand", memory_ids=["m1"]), done("Luna.", "m1")])
    seen = "".join(message.text for message in desk.provider.requests[-1].messages)
    assert seen.count("See [attachment]\nMay = 12") == 2
    assert "hs-att" not in seen


@pytest.mark.feature("F5")
async def test_unknown_ids_are_left_out_and_counted(desk: Desk) -> None:
    outcome = await desk.ask([recall(), done("Luna.", "m1", "m99", "0199-made-up", mental_model_ids=["nothing"])])
    assert len(outcome.based_on) == 1
    assert outcome.unknown_citations == 3
    assert outcome.tool_calls[-1].output["unknown_citations"] == 3


async def test_real_ids_and_marks_in_the_text_are_citations_too(desk: Desk) -> None:
    ids = await desk.ids()
    outcome = await desk.ask(
        [recall("Ann dog Carol Oslo museum"), done("Luna [m1], and Carol 【m2】 on 25 (m2).", ids[2])]
    )
    assert outcome.text == "Luna, and Carol on 25 (m2)."
    assert {fact.fact_id for fact in outcome.based_on} >= {ids[2]}
    assert outcome.unknown_citations == 0


@pytest.mark.feature("F2")
async def test_a_failed_search_fails_the_whole_and_tells_no_secret(desk: Desk) -> None:
    desk.recaller.failure = RuntimeError("disk on fire at /secret")
    with pytest.raises(ReflectFailed, match="RuntimeError") as failure:
        await desk.ask([recall(), done("Luna.")])
    assert "secret" not in str(failure.value)


@pytest.mark.feature("F2")
async def test_a_failed_search_of_mental_models_fails_the_whole(desk: Desk) -> None:
    desk.shelf = Shelf(mental_model())
    desk.shelf.failure = OSError("gone")
    with pytest.raises(ReflectFailed, match="search_mental_models"):
        await desk.ask([tool_call("search_mental_models", query="dog")])


@pytest.mark.feature("F2")
async def test_absence_is_not_claimed_after_half_a_search(desk: Desk) -> None:
    desk.recaller.degraded = ("semantic",)
    with pytest.raises(ReflectFailed, match="semantic"):
        await desk.ask([recall(), done("I found nothing about it.", found=False)])
    assert "do not say that something is not there" in told(desk.provider.requests[1])
    outcome = await desk.ask([recall(), done("Luna.", "m1")])
    assert outcome.text == "Luna."
    expand = tool_call("expand", memory_ids=["m1"])
    with pytest.raises(ReflectFailed, match="semantic"):
        await desk.ask([recall(), expand, done("I found nothing about it.", found=False)])


@pytest.mark.feature("F2")
async def test_an_answer_out_of_nothing_is_refused_and_then_an_error(desk: Desk) -> None:
    made_up = tool_call("done", answer="Paris.")
    with pytest.raises(ReflectFailed, match="nothing was found that it could rest on"):
        await desk.ask([recall(), made_up, made_up], "What is the capital?", fact_types=("experience",))
    outcome = await desk.ask(
        [recall(), made_up, done("Je ne l'ai pas trouvé.", found=False)], "?a", fact_types=("experience",)
    )
    assert outcome.based_on == ()


async def test_an_empty_bank_is_made_and_has_no_answer(desk: Desk) -> None:
    desk.provider = ScriptedProvider([])
    await desk.engine.banks.delete("b")
    outcome = await desk.ask([recall(), done("There is no information about Ann's dog.")])
    assert (outcome.based_on, outcome.seen) == ((), ())
    assert [bank.bank_id for bank in (await desk.engine.banks.list()).items] == ["b"]


@pytest.mark.feature("F5")
async def test_everything_is_counted_and_timed(desk: Desk) -> None:
    outcome = await desk.ask([recall(), done("Luna.", "m1")])
    assert (outcome.usage.input_tokens, outcome.usage.output_tokens) == (20, 10)
    assert [call.scope for call in outcome.model_calls] == ["agent_1", "agent_2"]
    assert [(call.tool, call.iteration) for call in outcome.tool_calls] == [("recall", 1), ("done", 2)]
    assert outcome.tool_calls[0].output["memories"][0]["text"].startswith("Ann:")
    assert set(outcome.seen) >= {fact.fact_id for fact in outcome.based_on}


async def test_a_model_that_fails_once_is_asked_once_more(desk: Desk) -> None:
    outcome = await desk.ask([ModelUnavailable("busy"), recall(), done("Luna.", "m1")])
    assert outcome.text == "Luna."
    with pytest.raises(ModelUnavailable):
        await desk.ask([ModelUnavailable("busy"), ModelUnavailable("busy")])


async def test_a_refusing_provider_is_not_asked_again(desk: Desk) -> None:
    with pytest.raises(ModelRefused):
        await desk.ask([ModelRefused("bad key")])
    assert len(desk.provider.requests) == 1


async def test_it_is_given_up_in_time(desk: Desk) -> None:
    desk.options = ReflectOptions(wall_seconds=0.05)
    provider = ScriptedProvider([recall(), done("Luna.")], seconds=5)

    async def slow(request: Any) -> Any:
        await asyncio.sleep(5)

    with pytest.raises(ReflectTimedOut, match=r"0\.05 seconds"):
        await _ask_with(desk, provider)


async def _ask_with(desk: Desk, provider: ScriptedProvider) -> Any:
    from hindsight_server.engine.language import LanguageModel
    from hindsight_server.engine.reflect import Reasoning, Reflector, ReflectQuery

    reasoning = Reasoning(
        model=LanguageModel(provider, desk.model_options),
        banks=desk.engine.banks,
        directives=desk.directives,
        options=desk.options,
    )
    reflector = Reflector(desk.engine.store, desk.recaller, desk.analyzer, desk.engine.clock, reasoning)
    return await reflector.reflect("b", ReflectQuery(query=QUESTION))


async def test_content_that_waits_for_extraction_is_seen(desk: Desk) -> None:
    await desk.engine.retain("b", [ItemInput(content="Ann: The parrot is called Pico.")], run_async=True)
    outcome = await desk.ask([recall("parrot"), done("Pico.", "m1")], "What is the parrot called?")
    assert "Pico" in outcome.based_on[0].text
    assert '"pending":true' in told(desk.provider.requests[1])


async def test_filters_of_the_request_hold_for_every_search(desk: Desk) -> None:
    from hindsight_server.domain.tags import TagLeaf

    scope = TagLeaf(frozenset({"a"}))
    await desk.ask(
        [tool_call("recall", query="dog", tags=["b"], bank_id="other", types=["observation"]), done("Nothing known.")],
        tags=scope,
        fact_types=("world",),
        budget=Budget.HIGH,
    )
    query = desk.recaller.asked[0]
    assert (query.tags, query.types, query.budget) == (scope, ("world",), Budget.HIGH)


async def test_a_context_is_part_of_the_question(desk: Desk) -> None:
    await desk.ask([recall(), done("Luna.", "m1")], context="We talk of pets.")
    assert f"{QUESTION}\n\nWe talk of pets." in desk.provider.requests[0].messages[1].text


async def test_mental_models_can_be_left_out(desk: Desk) -> None:
    desk.shelf = Shelf(mental_model())
    await desk.ask([recall(), done("Luna.", "m1")], exclude_mental_models=True)
    assert "search_mental_models" not in desk.tools
    await desk.ask([recall(), done("Luna.", "m1")], excluded_mental_models=frozenset({"dogs"}))
    assert "search_mental_models" not in desk.tools


async def test_reading_a_long_mental_model_in_full(desk: Desk) -> None:
    desk.shelf = Shelf(mental_model(text="Luna is a dog. " * 300 + "THE END"))
    read = tool_call("read_mental_models", ids="dogs")
    outcome = await desk.ask(
        [tool_call("search_mental_models", query="dog"), read, done("Luna.", mental_model_ids=["dogs"])]
    )
    assert "THE END" not in told(desk.provider.requests[1])
    assert "THE END" in told(desk.provider.requests[2])
    assert "THE END" in outcome.mental_models[0].text


async def test_only_the_wanted_types_are_offered(desk: Desk) -> None:
    await desk.ask(
        [tool_call("search_observations", query="dog"), done("Nothing is known.")], fact_types=("observation",)
    )
    assert desk.tools == {"search_observations", "expand", "done"}
    assert desk.choices == ["search_observations", "required"]


def test_the_options_say_what_the_page_says() -> None:
    assert replace(ReflectOptions()) == ReflectOptions(iterations=10, wall_seconds=300.0, context_tokens=100_000)
