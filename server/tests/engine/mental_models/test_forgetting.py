"""What is forgotten is cut out of the pages that rest on it."""

from __future__ import annotations

from typing import Any

import pytest

from hindsight_server.engine.memories import MemoryPatch
from hindsight_server.engine.reflect import MentalModelScope
from hindsight_server.ports.records import BankChange

from .conftest import BANK, PAGE, Brain, Pages, written

pytestmark = pytest.mark.feature("F7")


async def test_a_forgotten_memory_is_cut_out_and_the_page_is_written_anew(pages: Pages, brain: Brain) -> None:
    tea, oslo = await written(pages, brain)
    await pages.forget(oslo)
    assert await pages.words() == "# Drinks\n\nAnn drinks green tea."
    seen = await pages.models.get(BANK, "tea")
    assert seen.is_stale
    assert [fact.fact_id for fact in seen.facts] == [tea]
    brain.answer, brain.ids = "# Drinks\n\nGreen tea.", [tea]
    await pages.run()
    assert await pages.words() == "# Drinks\n\nGreen tea."
    assert not (await pages.models.get(BANK, "tea")).is_stale


async def test_what_is_forgotten_while_it_is_read_is_not_written(pages: Pages, brain: Brain) -> None:
    _, oslo = await written(pages, brain)
    tea2 = await pages.say("Ann: I drink rooibos.")
    answers = iter(["# Home\n\nAnn lives in Oslo.", "# Drinks\n\nRooibos."])

    compute = pages.models._refresher.compute
    calls = []

    async def forgetting(model: Any, **options: Any) -> Any:
        brain.answer, brain.ids = next(answers), [tea2]
        run = await compute(model, **options)
        if not calls:
            await pages.forget(oslo)
        calls.append(run)
        return run

    pages.models._refresher.compute = forgetting  # type: ignore[method-assign]
    assert await pages.outcome(full=True) == ("content_written", None)
    assert len(calls) >= 2
    assert "Oslo" not in await pages.words()


async def test_what_a_page_read_in_another_page_is_cut_with_it(pages: Pages, brain: Brain) -> None:
    """A model that reads another one rests on what that one rests on."""
    secret = await pages.say("Ann: My locker code is zorblax.")
    brain.answer, brain.ids = "# Code\n\nThe code is zorblax.", [secret]
    await pages.make("What is the code?", mental_model_id="code")
    tea = await pages.say("Ann: I drink green tea.")
    brain.answer, brain.ids = "# Drinks\n\nGreen tea, near the locker zorblax.", [tea]
    await pages.make()
    await pages.forget(secret)
    for model_id in ("code", "tea"):
        assert "zorblax" not in await pages.words(model_id)


async def test_reflect_reads_mental_models_through_the_reader(pages: Pages, brain: Brain) -> None:
    from hindsight_server.domain.tags import TagLeaf, TagsMatch
    from hindsight_server.engine.reflect.sources import MentalModelScope

    await written(pages, brain)
    await pages.make("Where?", mental_model_id="bob", tags=("user:bob",))
    everything = MentalModelScope()
    assert await pages.reader.any_mental_model(BANK, everything)
    (found,) = await pages.reader.search_mental_models(BANK, "green tea", everything, 5)
    assert (found.mental_model_id, found.text, found.fresh) == ("tea", PAGE, True)
    assert await pages.reader.read_mental_models(BANK, ["tea", "none"], everything) == [found]
    hidden = MentalModelScope(excluded=frozenset({"tea"}))
    assert not await pages.reader.any_mental_model(BANK, hidden)
    strict = MentalModelScope(tags=TagLeaf(frozenset({"user:x"}), TagsMatch.ALL_STRICT))
    assert await pages.reader.read_mental_models(BANK, ["tea"], strict) == []


async def test_words_under_other_tags_do_not_come_by_way_of_a_mental_model(pages: Pages, brain: Brain) -> None:
    """A model without tags is written from the whole bank, and a request of one user reads what has no tags."""
    from hindsight_server.domain.tags import TagLeaf, TagsMatch
    from hindsight_server.engine.reflect.sources import MentalModelScope

    bob = await pages.say("Bob: My locker code is zorblax.", tags=("user:bob",))
    brain.answer, brain.ids = "# Code\n\nThe code is zorblax.", [bob]
    await pages.make("What is the code?", mental_model_id="all")
    await pages.make("What is the code?", mental_model_id="bobs", tags=("user:bob",))

    def asked_by(user: str, match: TagsMatch = TagsMatch.ANY) -> MentalModelScope:
        return MentalModelScope(tags=TagLeaf(frozenset({user}), match))

    async def read_by(user: str) -> list[str]:
        found = await pages.reader.read_mental_models(BANK, ["all", "bobs"], asked_by(user))
        return [one.mental_model_id for one in found]

    assert await read_by("user:ann") == []
    assert not await pages.reader.any_mental_model(BANK, asked_by("user:ann"))
    assert await pages.reader.search_mental_models(BANK, "code", asked_by("user:ann"), 5) == []
    assert await read_by("user:bob") == ["all", "bobs"]
    assert await pages.reader.any_mental_model(BANK, MentalModelScope())


@pytest.mark.parametrize("where", ["model", "bank"])
async def test_a_model_that_waits_for_ever_keeps_no_memory_from_being_forgotten(
    pages: Pages, brain: Brain, where: str
) -> None:
    seconds = {"min_refresh_interval_seconds": 2**53 - 1} if where == "model" else {}
    ids = await written(pages, brain, refresh_after_consolidation=True, **seconds)
    if where == "bank":
        held = BankChange(config={"mental_model_min_refresh_interval_seconds": 2**53 - 1})
        await pages.store.save_bank(BANK, held, pages.clock.now())
    await pages.say("Ann: I drink rooibos now.")
    (queued,) = await pages.refreshes.consolidated(BANK)
    assert queued.next_attempt_at is not None
    assert queued.next_attempt_at.year > 2100
    await pages.forget(ids[0])
    assert "tea" not in await pages.words()


async def test_nothing_is_refreshed_for_ever_once_all_memories_are_forgotten(pages: Pages, brain: Brain) -> None:
    await pages.forget(*await written(pages, brain, refresh_after_consolidation=True))
    await pages.run()
    assert await pages.words() == ""
    assert await pages.refreshes.consolidated(BANK) == []
    assert not (await pages.models.get(BANK, "tea")).is_stale
    await pages.say("Ann: I drink rooibos now.")
    assert len(await pages.refreshes.consolidated(BANK)) == 1


@pytest.mark.parametrize(
    "edited", [MemoryPatch(fact_type="experience"), MemoryPatch(occurred_start="2024-05-01"), MemoryPatch(context="x")]
)
async def test_an_edit_of_more_than_words_takes_out_what_rests_on_them(
    pages: Pages, brain: Brain, edited: MemoryPatch
) -> None:
    tea, oslo = await written(pages, brain, fact_types=["world"])
    await pages.engine.memories.update(BANK, tea, edited)
    assert await pages.words() == "# Place\n\nAnn lives in Oslo."
    assert (await pages.models.get(BANK, "tea")).is_stale
    await pages.engine.memories.update(BANK, oslo, MemoryPatch(tags=("x",)))
    assert "Oslo" in await pages.words(), "whose scope it stays in"
