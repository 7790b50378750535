"""What begins a refresh by itself: consolidation, a schedule, and the distance between two."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hindsight_server.domain import fuzzy_tags
from hindsight_server.engine.mental_models.types import MentalModelPatch
from hindsight_server.ports.mental_models import MentalModel

from .conftest import BANK, Brain, Pages, written

pytestmark = pytest.mark.feature("F7")


async def test_consolidation_refreshes_what_is_behind(pages: Pages, brain: Brain) -> None:
    await written(pages, brain, refresh_after_consolidation=True)
    await pages.make("Where?", mental_model_id="manual")
    assert await pages.refreshes.consolidated(BANK) == []
    await pages.say("Ann: I drink rooibos now.")
    (first,) = await pages.refreshes.consolidated(BANK)
    (second,) = await pages.refreshes.consolidated(BANK)
    assert first.operation_id == second.operation_id
    assert first.payload == {"mental_model_id": "tea", "full": False}


async def test_refreshes_by_themselves_keep_their_distance(pages: Pages, brain: Brain) -> None:
    await written(pages, brain, refresh_after_consolidation=True, min_refresh_interval_seconds=600)
    await pages.say("Ann: I drink rooibos now.")
    (parked,) = await pages.refreshes.consolidated(BANK)
    model = await pages.get()
    assert model.last_refreshed_at is not None
    assert parked.next_attempt_at is not None
    assert (parked.next_attempt_at - model.last_refreshed_at).total_seconds() == 600
    await pages.run()
    assert len(await pages.waiting()) == 1
    pages.clock.forward(601)
    await pages.run()
    assert await pages.waiting() == []
    await pages.say("Ann: I drink mate too.")
    await pages.refreshes.consolidated(BANK)
    await pages.refresh()  # asked for: it does not wait
    assert await pages.waiting() == []


async def test_the_interval_of_the_bank_counts_where_the_model_has_none(pages: Pages, brain: Brain) -> None:
    await written(pages, brain, refresh_after_consolidation=True)
    await pages.engine.banks.update_config(BANK, {"mental_model_min_refresh_interval_seconds": 60})
    await pages.say("Ann: I drink rooibos now.")
    (parked,) = await pages.refreshes.consolidated(BANK)
    assert parked.next_attempt_at is not None


async def test_a_schedule_refreshes_what_is_behind_once_a_time(pages: Pages, brain: Brain) -> None:
    await written(pages, brain, refresh_cron="0 3 * * *")
    assert await pages.refreshes.tick() == []
    pages.clock.forward(86_400)
    assert await pages.refreshes.tick() == []  # due, but nothing is new
    await pages.say("Ann: I drink rooibos now.")
    assert await pages.refreshes.tick() == []  # that comes with the next time
    pages.clock.forward(86_400)
    (queued,) = await pages.refreshes.tick()
    assert queued.payload == {"mental_model_id": "tea", "full": False}
    assert await pages.refreshes.tick() == []


async def test_a_model_that_can_not_be_looked_at_keeps_no_other_from_its_schedule(
    pages: Pages, brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    await written(pages, brain, refresh_cron="0 3 * * *")
    await pages.say("Ann: I drink rooibos now.")
    pages.clock.forward(86_400)
    (model,) = await pages.store.scheduled_mental_models()

    async def scheduled() -> list[MentalModel]:
        return [replace(model, bank_id="deleted meanwhile"), model]

    monkeypatch.setattr(pages.store, "scheduled_mental_models", scheduled)
    (queued,) = await pages.refreshes.tick()
    assert queued.bank_id == BANK


async def test_tags_that_can_not_be_compared_keep_no_other_model_from_its_refresh(
    pages: Pages, brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    similar = {"tag_groups": [{"tags": ["user:an"], "match": "any_strict", "resolve": "fuzzy"}]}
    await pages.say("Ann: I drink green tea.", tags=["user:ann"])
    for name, trigger in (("a", similar), ("b", {})):
        await pages.make(mental_model_id=name, trigger={"refresh_after_consolidation": True, **trigger})
    await pages.say("Ann: I drink rooibos now.", tags=["user:ann"])
    monkeypatch.setattr(fuzzy_tags, "MOST_TAGS", 0)
    (queued,) = await pages.refreshes.consolidated(BANK)
    assert queued.payload == {"mental_model_id": "b", "full": False}


async def test_tags_that_can_not_be_compared_take_no_model_out_of_the_list(
    pages: Pages, brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    similar = {"tag_groups": [{"tags": ["user:an"], "match": "any_strict", "resolve": "fuzzy"}]}
    brain.ids = [await pages.say("Ann: I drink green tea.", tags=["user:ann"])]
    await pages.make(mental_model_id="a", trigger=similar)
    await pages.make(mental_model_id="b")
    monkeypatch.setattr(fuzzy_tags, "MOST_TAGS", 0)
    odd, other = (await pages.models.list(BANK)).items
    assert (odd.is_stale, other.is_stale, other.warnings) == (True, False, ())
    (warning,) = odd.warnings
    assert "tags, too many for resolve='fuzzy'" in warning
    assert (await pages.models.get(BANK, "a")).warnings == odd.warnings
    renamed, _ = await pages.models.update(BANK, "a", MentalModelPatch(name="Tea of Ann"))
    assert renamed.model.name == "Tea of Ann", "what is stored is not answered with an error"


async def test_a_full_schedule_writes_a_delta_page_anew(pages: Pages, brain: Brain) -> None:
    await written(pages, brain, full_refresh_cron="0 3 * * 0", refresh_after_consolidation=True)
    await pages.say("Ann: I drink rooibos now.")
    pages.clock.forward(7 * 86_400)
    (queued,) = await pages.refreshes.tick()
    assert queued.payload == {"mental_model_id": "tea", "full": True}
    await pages.run()
    model = await pages.get()
    assert model.last_full_refreshed_at == model.last_refreshed_at
