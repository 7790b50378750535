"""Refreshes, full and delta: what they write, and what they leave."""

from __future__ import annotations

from typing import Any

import pytest

from hindsight_server.engine.mental_models.automatic import AutomaticRefreshes
from hindsight_server.engine.mental_models.types import MentalModelPatch
from hindsight_server.engine.reflect import MentalModelScope

from .conftest import BANK, PAGE, Brain, Pages, edit, written

pytestmark = pytest.mark.feature("F7")


async def test_a_model_is_written_by_a_reflect(pages: Pages, brain: Brain) -> None:
    tea, oslo = await written(pages, brain, keep_trace=True)
    seen = await pages.models.get(BANK, "tea")
    assert [fact.fact_id for fact in seen.facts] == [tea, oslo]
    assert (seen.is_stale, seen.model.version) == (False, 1)
    assert seen.model.last_full_refreshed_at == seen.model.last_refreshed_at
    trace = seen.model.content.trace
    assert trace is not None
    # A delta of a model that says nothing yet is a full refresh.
    assert (trace["effective_mode"], trace["mode_fallback_reason"]) == ("full", "no_baseline_content")
    assert {call["tool"] for call in trace["tool_calls"]} >= {"recall"}
    assert all(call["output"] is None for call in trace["tool_calls"])
    assert [section.fact_ids for section in seen.model.content.text.sections] == [(tea,), (oslo,)]


async def test_without_a_language_model_a_page_quotes_and_says_so(quoting: Pages) -> None:
    tea = await quoting.say("Ann: I drink green tea.")
    model = await quoting.make(trigger={"mode": "delta"})
    words = await quoting.words()
    assert words.startswith("No language model is configured")
    assert "“Ann: I drink green tea.”" in words
    assert model.content.fact_ids == (tea,)
    await quoting.say("Ann: I drink black tea on Sundays.")
    assert await quoting.outcome() == ("content_written", None)
    assert "black tea" in await quoting.words()


async def test_a_delta_shows_only_what_is_new_and_keeps_the_rest_word_for_word(pages: Pages, brain: Brain) -> None:
    tea, oslo = await written(pages, brain)
    rum = await pages.say("Ann: Since May I drink rooibos instead of green tea.")
    brain.edits = {"edits": [edit("append", 1, section_id="s1", text="Since May she drinks rooibos.")]}
    assert await pages.outcome() == ("content_written", None)
    (prompt,) = brain.edit_prompts()
    assert "rooibos" in prompt
    assert "I live in Oslo" not in prompt.split("<memories>")[1]
    assert await pages.words() == PAGE.replace("green tea.", "green tea.\n\nSince May she drinks rooibos.", 1)
    model = await pages.get()
    assert model.content.fact_ids == (tea, oslo, rum)
    assert model.content.text.sections[0].fact_ids == (tea, rum)
    assert model.last_full_refreshed_at is not None
    assert model.last_refreshed_at is not None
    assert model.last_full_refreshed_at < model.last_refreshed_at
    history = await pages.models.history(BANK, "tea")
    assert [one.previous_content for one in history] == [PAGE]


async def test_a_delta_without_news_asks_nobody(pages: Pages, brain: Brain) -> None:
    await written(pages, brain)
    before = len(brain.asked)
    assert await pages.outcome() == ("content_preserved_no_new_facts", None)
    assert len(brain.asked) == before
    await pages.say("Bob: The weather is fine.")
    assert await pages.outcome() == ("content_unchanged", None)
    assert await pages.words() == PAGE
    assert not (await pages.models.get(BANK, "tea")).is_stale


async def test_another_question_is_answered_anew(pages: Pages, brain: Brain) -> None:
    await written(pages, brain)
    brain.answer = "# Home\n\nOslo."
    _, refresh = await pages.models.update(BANK, "tea", MentalModelPatch(source_query="Where does Ann live?"))
    assert refresh is not None
    await pages.run()
    assert await pages.words() == "# Home\n\nOslo."
    brain.answer = "# Home\n\nOslo, since May."
    await pages.say("Ann: I moved in May.")
    assert await pages.outcome(full=True) == ("content_written", None)
    assert (await pages.get()).trigger.mode == "delta"


async def test_an_answer_to_an_earlier_question_is_stale_and_told_as_that(pages: Pages, brain: Brain) -> None:
    """Reflect takes a fresh standing answer for the whole answer, and searches no further."""
    await written(pages, brain)
    brain.answer, brain.ids = "I can't tell.", []
    seen, _ = await pages.models.update(BANK, "tea", MentalModelPatch(source_query="Where does Bob live?"))
    assert seen.is_stale
    await pages.run()
    assert (await pages.get()).last_refresh_failed_at is not None
    (read,) = await pages.reader.read_mental_models(BANK, ["tea"], MentalModelScope())
    assert (read.fresh, read.question, read.text) == (False, "What does Ann drink?", PAGE)


async def test_a_model_that_is_deleted_meanwhile_keeps_none_from_its_refresh(pages: Pages, brain: Brain) -> None:
    await written(pages, brain, refresh_after_consolidation=True)
    await pages.make(mental_model_id="gone", trigger={"refresh_after_consolidation": True}, name="A")
    await pages.say("Ann: I drink rooibos now.")

    class Deleting:
        """A store that deletes the first model as soon as the models to refresh are known."""

        def __getattr__(self, name: str) -> Any:
            return getattr(pages.store, name)

        async def scope_news(self, bank_id: str, wanted: Any) -> Any:
            news = await pages.store.scope_news(bank_id, wanted)
            await pages.models.delete(BANK, "gone")
            return news

    (queued,) = await AutomaticRefreshes(Deleting(), pages.clock).consolidated(BANK)  # type: ignore[arg-type]
    assert (queued.payload or {})["mental_model_id"] == "tea"


async def test_other_sources_make_it_stale_and_queue_a_refresh(pages: Pages, brain: Brain) -> None:
    await written(pages, brain)
    seen, refresh = await pages.models.update(BANK, "tea", MentalModelPatch(trigger={"fact_types": ["world"]}))
    assert seen.is_stale
    assert refresh is not None
    _, nothing = await pages.models.update(BANK, "tea", MentalModelPatch(name="Drinks"))
    assert nothing is None


async def test_a_response_schema_is_answered_beside_the_page(pages: Pages, brain: Brain) -> None:
    schema = {"type": "object", "properties": {"drink": {"type": "string"}}, "required": ["drink"]}
    await written(pages, brain, response_schema=schema)
    assert (await pages.get()).content.structured_output == {"drink": "tea"}
    await pages.say("Ann: I drink rooibos now.")
    brain.edits = {"edits": [edit("append", 1, section_id="s1", text="She drinks rooibos now.")]}
    brain.structured = {"drink": "rooibos"}
    assert await pages.outcome() == ("content_written", None)
    assert (await pages.get()).content.structured_output == {"drink": "rooibos"}
    before = await pages.words()
    await pages.say("Ann: I drink mate too.")
    brain.edits = {"edits": [edit("append", 1, section_id="s1", text="She drinks mate too.")]}
    brain.structured = "no JSON at all"
    assert await pages.outcome() == ("refresh_failed_structured_output", "structured_output_failed")
    assert await pages.words() == before


async def test_another_schema_is_answered_without_news(pages: Pages, brain: Brain) -> None:
    await written(pages, brain)
    asked = len(brain.asked)
    for name in ("drink", "cup"):
        schema = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
        await pages.models.update(BANK, "tea", MentalModelPatch(trigger={"response_schema": schema}))
        brain.structured = {name: "tea"}
        assert await pages.outcome() == ("content_unchanged", None)
        assert (await pages.get()).content.structured_output == {name: "tea"}
    assert len(brain.asked) == asked + 2
    assert await pages.outcome() == ("content_preserved_no_new_facts", None)
    assert (await pages.words(), await pages.models.history(BANK, "tea")) == (PAGE, [])


async def test_a_delta_adds_sections_under_ordinary_headings(pages: Pages, brain: Brain) -> None:
    await written(pages, brain)
    await pages.say("Ann: I pay 40 euros a month for the gym.")
    headings = ["Cost", "Membership Fees", "Zebulon Quentin's debts"]
    brain.edits = {
        "edits": [edit("add_section", 1, heading=one, text="Fees are 40 euros a month.") for one in headings]
    }
    done = await pages.refresh()
    assert done.result is not None
    assert (done.result["edits_applied"], done.result["edits_skipped"]) == (2, 1)
    assert done.result["skipped_edits"] == {"ungrounded": 1}
    assert "# Membership Fees\n\nFees are 40 euros a month." in await pages.words()
