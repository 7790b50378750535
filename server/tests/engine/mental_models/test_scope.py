"""Which memories a page reads: its tags, and what becomes of it when they change."""

from __future__ import annotations

from typing import Any

import pytest

from hindsight_server.engine.memories import MemoryPatch
from hindsight_server.engine.mental_models.models import MentalModels
from hindsight_server.engine.mental_models.refresher import Refresher
from hindsight_server.engine.mental_models.types import MentalModelInput, MentalModelPatch
from hindsight_server.ports.mental_models import MentalModel

from .conftest import BANK, Brain, Pages

pytestmark = pytest.mark.feature("F7")


async def test_tags_that_no_memory_has_are_warned_of(pages: Pages, brain: Brain) -> None:
    await pages.say("Ann: I drink green tea.")
    wanted = MentalModelInput(name="Tea", source_query="What?", tags=("topic:tea",))
    seen, _ = await pages.models.create(BANK, wanted)
    (warning,) = seen.warnings
    assert "Tags are a filter of sources" in warning
    assert "all_strict" in warning
    await pages.run()
    assert brain.asked == []  # nobody is asked about nothing
    widened, _ = await pages.models.update(
        BANK, seen.model.mental_model_id, MentalModelPatch(trigger={"tags_match": "all"})
    )
    assert widened.warnings == ()


async def test_own_tags_let_in_only_memories_that_carry_all_of_them(pages: Pages, brain: Brain) -> None:
    tea = await pages.say("Ann: I drink green tea.", tags=("user:ann", "topic:tea", "more"))
    await pages.say("Ann: I drink rum.", tags=("user:ann",))
    await pages.say("Ann: I drink water.")
    brain.ids = [tea]
    await pages.make(tags=("user:ann", "topic:tea"))
    shown = "\n".join(message.text for request in brain.asked for message in request.messages)
    assert "green tea" in shown
    assert "rum" not in shown
    assert "water" not in shown


async def test_tag_groups_take_the_place_of_tags(pages: Pages, brain: Brain) -> None:
    tea = await pages.say("Ann: I drink green tea.", tags=("user:ann",))
    await pages.say("Bob: I drink rum.", tags=("user:bob",))
    brain.ids = [tea]
    await pages.make(tags=("label",), trigger={"tag_groups": [{"tags": ["user:ann"], "match": "all_strict"}]})
    shown = "\n".join(message.text for request in brain.asked for message in request.messages)
    assert "green tea" in shown
    assert "rum" not in shown
    assert not (await pages.models.get(BANK, "tea")).is_stale
    await pages.say("Bob: I drink whisky.", tags=("user:bob",))
    assert not (await pages.models.get(BANK, "tea")).is_stale


async def soon_of_two_users(pages: Pages, brain: Brain) -> None:
    """A page about Ann, whose next refresh writes of Bob too."""
    tea = await pages.say("Ann: I drink green tea.", tags=("user:ann",))
    brain.answer, brain.ids = "Ann drinks green tea.", [tea]
    await pages.make()
    rum = await pages.say("Bob: I drink rum.", tags=("user:bob",))
    brain.answer, brain.ids = "Ann drinks green tea, Bob rum.", [tea, rum]


async def test_a_refresh_that_runs_while_the_scope_narrows_writes_nothing_of_the_wider_one(
    pages: Pages, brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the page says when its scope is changed may pass: what is being written may not."""
    await soon_of_two_users(pages, brain)
    compute = Refresher.compute

    async def narrowed(self: Refresher, model: MentalModel, **options: Any) -> Any:
        run = await compute(self, model, **options)
        if not model.tags:
            await pages.models.update(BANK, "tea", MentalModelPatch(tags=("user:ann",)))
            brain.answer, brain.ids = "I can't tell.", []
        return run

    monkeypatch.setattr(Refresher, "compute", narrowed)
    await pages.refresh(full=True)
    assert await pages.words() == "Ann drinks green tea."
    assert (await pages.models.get(BANK, "tea")).is_stale


async def test_a_page_that_is_written_while_its_scope_is_looked_at_does_not_stay(
    pages: Pages, brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    await soon_of_two_users(pages, brain)
    stays_within = MentalModels._stays_within

    async def written_meanwhile(self: MentalModels, *given: Any) -> bool:
        stays = await stays_within(self, *given)
        assert await pages.outcome(full=True) == ("content_written", None)
        return stays

    monkeypatch.setattr(MentalModels, "_stays_within", written_meanwhile)
    await pages.models.update(BANK, "tea", MentalModelPatch(tags=("user:ann",)))
    assert await pages.words() == ""


async def test_a_memory_can_leave_a_scope_of_fuzzy_tags(pages: Pages, brain: Brain) -> None:
    rome = await pages.say("Ann: I fly to Rome.", tags=("travel-plans",))
    brain.answer, brain.ids = "Ann flies to Rome.", [rome]
    await pages.make(trigger={"tag_groups": [{"tags": ["travel plans"], "resolve": "fuzzy"}]})
    assert await pages.words() == "Ann flies to Rome."
    await pages.engine.memories.update(BANK, rome, MemoryPatch(tags=("travel-plan",)))
    assert await pages.words() == "Ann flies to Rome."
    await pages.engine.memories.update(BANK, rome, MemoryPatch(tags=("secret",)))
    assert await pages.words() == ""


@pytest.mark.parametrize("by", ["memory", "document"])
async def test_a_memory_that_leaves_the_scope_while_it_is_read_is_not_written(
    pages: Pages, brain: Brain, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    tea = await pages.say("Ann: I drink green tea.", tags=("user:ann",), document_id="d")
    brain.answer, brain.ids = "Ann drinks green tea.", [tea]
    compute = Refresher.compute

    async def retagged(self: Refresher, model: MentalModel, **options: Any) -> Any:
        run = await compute(self, model, **options)
        if by == "memory":
            await pages.engine.memories.update(BANK, tea, MemoryPatch(tags=("user:bob",)))
        else:
            await pages.engine.documents.update(BANK, "d", tags=("user:bob",))
        return run

    monkeypatch.setattr(Refresher, "compute", retagged)
    await pages.make(tags=("user:ann",))
    assert await pages.words() == ""
    assert not (await pages.models.get(BANK, "tea")).facts
