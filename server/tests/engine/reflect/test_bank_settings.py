"""What a bank's settings and directives change of an answer."""

from __future__ import annotations

from typing import Any

import pytest

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.tags import TagAnd, TagLeaf, TagNot, TagsMatch
from hindsight_server.engine.config import checked_updates, not_applied
from hindsight_server.engine.directives import DirectiveInput
from hindsight_server.engine.recall.types import Budget

from .conftest import Desk, done, recall

pytestmark = pytest.mark.feature("F4")
SCRIPT = [recall(), done("Luna.", "m1")]


def system(desk: Desk) -> str:
    return desk.provider.requests[0].messages[0].text


async def add(desk: Desk, content: str, priority: int = 0, *tags: str, active: bool = True) -> None:
    given = DirectiveInput(name=content[:20], content=content, priority=priority, tags=tags, is_active=active)
    await desk.directives.create("b", given)


async def test_traits_in_the_middle_say_nothing_and_others_do(desk: Desk) -> None:
    await desk.ask(SCRIPT)
    assert "How you judge" not in system(desk)
    await desk.engine.banks.update_config("b", {"disposition_skepticism": 5, "disposition_empathy": 1})
    await desk.ask(SCRIPT)
    assert "Doubt what is not supported by several memories" in system(desk)
    assert "feelings play no part" in system(desk)
    assert "interpret nothing" not in system(desk)


async def test_the_mission_is_told(desk: Desk) -> None:
    await desk.engine.banks.update_config("b", {"reflect_mission": "You keep the {{log}} of a kennel."})
    await desk.ask(SCRIPT)
    assert "You keep the {{log}} of a kennel." in system(desk)


async def test_directives_are_told_by_priority_and_named_in_the_outcome(desk: Desk) -> None:
    await add(desk, "Second rule.", 1)
    await add(desk, "First rule.", 9)
    await add(desk, "Sleeping rule.", 99, active=False)
    outcome = await desk.ask(SCRIPT)
    text = system(desk)
    assert text.index("1. First rule.") < text.index("2. Second rule.")
    assert "Sleeping rule" not in text
    assert [one.content for one in outcome.directives] == ["First rule.", "Second rule."]


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (None, {"global"}),
        (TagLeaf(frozenset({"a"})), {"global", "of a", "of a and b"}),
        (TagLeaf(frozenset({"a", "b"}), TagsMatch.ALL), {"global", "of a and b"}),
        (TagLeaf(frozenset({"a"}), TagsMatch.EXACT), {"global", "of a"}),
        (TagLeaf(frozenset(), TagsMatch.EXACT), {"global"}),
        (TagLeaf(frozenset({"z"}), TagsMatch.ANY_STRICT), {"global"}),
        (TagAnd((TagLeaf(frozenset({"a"})), TagNot(TagLeaf(frozenset({"b"}))))), {"global", "of a"}),
        (TagLeaf(frozenset({"A"}), TagsMatch.ANY_STRICT, fuzzy=True), {"global", "of a", "of a and b"}),
    ],
)
async def test_a_tagged_rule_holds_only_where_its_tags_are_asked_for(
    desk: Desk, scope: Any, expected: set[str]
) -> None:
    await add(desk, "global")
    await add(desk, "of a", 0, "a")
    await add(desk, "of a and b", 0, "a", "b")
    told = await desk.directives.for_request("b", scope)
    assert {one.content for one in told} == expected


async def test_every_rule_holds_when_all_are_asked_for(desk: Desk) -> None:
    await add(desk, "Rule of a.", 0, "a")
    assert (await desk.ask(SCRIPT)).directives == ()
    outcome = await desk.ask(SCRIPT, every_directive=True)
    assert [one.content for one in outcome.directives] == ["Rule of a."]


async def test_options_that_were_left_open_come_from_the_bank(desk: Desk) -> None:
    options = {"budget": "high", "fact_types": ["world"], "reflect_search_observations_max_tokens": 700}
    await desk.engine.banks.update_config("b", {"reflect_default_options": options, "recall_max_tokens": 900})
    await desk.ask(SCRIPT, left_open=frozenset(options))
    assert (desk.recaller.asked[-1].budget, desk.recaller.asked[-1].types) == (Budget.HIGH, ("world",))
    assert desk.recaller.asked[-1].max_tokens == 900
    await desk.ask(SCRIPT, budget=Budget.MID)
    assert desk.recaller.asked[-1].budget is Budget.MID


@pytest.mark.parametrize(
    "options",
    [
        {"budjet": "low"},
        {"budget": "huge"},
        {"max_tokens": 0},
        {"fact_types": ["opinion"]},
        {"exclude_mental_models": 1},
    ],
)
def test_default_options_that_there_are_not_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="reflect_default_options") as refusal:
        checked_updates({"reflect_default_options": options})
    assert refusal.value.field == f"updates.reflect_default_options.{next(iter(options))}"


def test_settings_of_reflect_are_applied_where_a_model_answers() -> None:
    overrides = {"reflect_mission": "x", "disposition_empathy": 5, "reflect_default_options": {}}
    assert not_applied(overrides) == tuple(sorted(overrides))
    assert not_applied(overrides, ("reflect",)) == ()


async def test_a_model_that_asks_for_more_tokens_gets_so_many_and_no_more(desk: Desk) -> None:
    for asked, given in ((10**9, 16_000), (1, 200), ("1500", 1500), (-5, 200)):
        await desk.ask([recall(max_tokens=asked), done("Luna.", "m1")])
        assert desk.recaller.asked[-1].max_tokens == given
