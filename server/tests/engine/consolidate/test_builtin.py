"""Consolidation without a language model: few rules, each sure."""

from __future__ import annotations

import pytest

from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.adapters.text import Analyzer
from hindsight_server.engine.banks import BankInput
from hindsight_server.engine.memories import ForgetInput, MemoryPatch
from hindsight_server.engine.recall.recaller import Recaller
from hindsight_server.engine.recall.types import RecallQuery

from ..conftest import SteppingClock
from .conftest import World, make_world


@pytest.fixture
def world(opened: SqliteStore, clock: SteppingClock) -> World:
    return make_world(opened, clock, model=False)


@pytest.mark.feature("F6")
async def test_a_newer_value_supersedes_the_older_and_tells_both(world: World) -> None:
    await world.retain("b", "Ann: I live in Oslo.", timestamp="2023-03-01T10:00:00Z")
    await world.retain("b", "Ben: I live in Rome.", timestamp="2023-03-02T10:00:00Z")
    await world.run("b")
    assert await world.texts("b") == []
    await world.retain("b", "Ann: I now live in Bergen, near the sea.", timestamp="2024-05-07T10:00:00Z")
    await world.run("b")
    (found,) = await world.held("b")
    assert found.fact.text == "Ann lives in Bergen (since 2024-05-07; before that Oslo)."
    assert [source.quote for source in found.sources] == [
        "Ann: I live in Oslo.",
        "Ann: I now live in Bergen, near the sea.",
    ]
    await world.retain("b", "Ann: I live in Bergen.", timestamp="2024-06-07T10:00:00Z")
    await world.retain("b", "Ann: I live in Lima now.", timestamp="2025-01-02T10:00:00Z")
    await world.run("b")
    (found,) = await world.held("b")
    assert found.fact.text == "Ann lives in Lima (since 2025-01-02; before that Bergen)."
    assert found.fact.proof_count == 4
    await world.retain("b", "Ann: I live in Turku.", timestamp="2021-01-02T10:00:00Z")
    await world.run("b")
    (found,) = await world.held("b")
    assert found.fact.text == "Ann lives in Lima (since 2025-01-02; before that Bergen)."
    assert (found.fact.proof_count, await world.counts("b")) == (5, (0, 0))


async def test_who_returns_has_lived_there_since_the_return(world: World) -> None:
    for year, city in ((2019, "Oslo"), (2021, "Bergen"), (2023, "Oslo"), (2024, "Oslo")):
        await world.retain("b", f"Ann: I live in {city}.", timestamp=f"{year}-03-01T10:00:00Z")
    await world.run("b")
    assert await world.texts("b") == ["Ann lives in Oslo (since 2023-03-01; before that Bergen)."]


async def test_facts_of_other_tags_are_seen_in_a_scope_that_the_bank_shares(world: World) -> None:
    await world.engine.banks.put("b", BankInput(config={"default_observation_scopes": "shared"}))
    await world.retain("b", "Ann: I live in Oslo.", timestamp="2023-03-01T10:00:00Z", tags=["chat:1"])
    await world.retain("b", "Ann: I live in Bergen.", timestamp="2024-03-01T10:00:00Z", tags=["chat:2"])
    await world.run("b")
    assert await world.texts("b") == ["Ann lives in Bergen (since 2024-03-01; before that Oslo)."]


async def test_a_document_that_shares_its_own_facts_shares_no_others(world: World) -> None:
    """Which scopes a fact belongs to is said for its own document, never by that of another."""
    await world.retain("b", "Ann: I live in Oslo.", timestamp="2023-03-01T10:00:00Z", tags=["user:ann"])
    shared = {"tags": ["team"], "observation_scopes": "shared"}
    await world.retain("b", "Ann: I live in Bergen.", timestamp="2024-03-01T10:00:00Z", **shared)
    await world.run("b")
    assert await world.texts("b") == []
    await world.retain("b", "Ann: I live in Lima.", timestamp="2025-03-01T10:00:00Z", **shared)
    await world.run("b")
    assert await world.texts("b") == ["Ann lives in Lima (since 2025-03-01; before that Bergen)."]


@pytest.mark.parametrize("how", ["forgotten", "edited"])
async def test_nothing_is_written_of_an_older_fact_that_changes_meanwhile(world: World, how: str) -> None:
    (oslo,) = await world.retain("b", "Ann: I live in Oslo.", timestamp="2023-03-01T10:00:00Z")
    await world.run("b")
    await world.retain("b", "Ann: I live in Bergen.", timestamp="2024-03-01T10:00:00Z")
    memories, drafter = world.engine.memories, world.consolidator._tools.drafter
    draft = drafter.draft

    async def meanwhile(*given: object) -> object:
        drafter.draft = draft  # type: ignore[method-assign]
        if how == "forgotten":
            await memories.forget("b", ForgetInput(ids=(oslo,)))
        else:
            await memories.update("b", oslo, MemoryPatch(text="Ann: I live in Quito."))
        return await draft(*given)  # type: ignore[arg-type]

    drafter.draft = meanwhile  # type: ignore[assignment]
    await world.run("b")
    assert "Oslo" not in "".join(await world.texts("b"))


@pytest.mark.parametrize(
    ("said", "before", "now"),
    [
        ("My email is {}.", "ann.lee@old.example.org", "ann.lee@new.example.org"),
        ("My phone number is {}", "+47 22.33.44", "+47 22.33.55"),
        ("I live in {}. I like it.", "St. Louis", "Oslo"),
        ("I live in {} now", "Washington D.C.", "Oslo"),
        ("I work for {} since May.", "Marks and Spencer", "Johnson & Johnson"),
        ("My address is {}, and that is far.", "12 St. Mary's Road, Leeds", "Flat 3, 7 High Street"),
    ],
)
async def test_a_value_is_told_whole(world: World, said: str, before: str, now: str) -> None:
    await world.retain("b", "Ann: " + said.format(before), timestamp="2023-03-01T10:00:00Z")
    await world.retain("b", "Ann: " + said.format(now), timestamp="2024-03-01T10:00:00Z")
    await world.run("b")
    (text,) = await world.texts("b")
    assert text.startswith("Ann ")
    assert f"{now} (since 2024-03-01; before that {before})." in text


@pytest.mark.parametrize("unsure", ["I live in Block C. It is cold.", "My email is " + "a." * 2000])
async def test_a_value_whose_end_nobody_knows_is_none(world: World, unsure: str) -> None:
    await world.retain("b", "Ann: I live in Oslo.", "Ann: My email is ann@x.example.", timestamp="2023-03-01T10:00:00Z")
    await world.retain("b", f"Ann: {unsure}", timestamp="2024-03-01T10:00:00Z")
    await world.run("b")
    assert await world.texts("b") == []


async def test_chinese_values_too(world: World) -> None:
    await world.retain("b", "小李：我住在上海。", timestamp="2023-03-01T10:00:00Z")
    await world.retain("b", "小李：我现在住在杭州。", timestamp="2024-05-07T10:00:00Z")
    await world.run("b")
    assert await world.texts("b") == ["小李住在杭州（2024年5月7日起；之前是上海）"]
    assert await world.counts("b") == (0, 0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ann: I live in Oslo.", "Ann: I would live in Bergen."),
        ("Ann: I live in Oslo.", "Ann: Do I live in Bergen?"),
        ("Ann: I live in Oslo.", "Ann: I do not live in Bergen."),
        ("Ann: I live in Oslo.", "Ann: I live in Oslo, still."),
        ("Ann: I live in Oslo.", "Ben: I live in Bergen."),
        ("Ann: My phone is broken.", "Ann: My phone is new."),
        ("Ann: My email is ann@x.example.", "Ann: My email is down."),
        ("Ann: I work for Nordbank.", "Ann: I work for free."),
        ("Ann: 我的电话是坏的。", "Ann: 我的电话是新的。"),
        ("Ann: I live in Oslo.", "Ann: I work at Bergen."),
        ("Ann: I live in Oslo.", "Ann: Maybe I live in Bergen."),
        ("Ann: I like tea with milk and honey.", "Ann: I like tea with milk and sugar."),
        ("Ann: Yes, sure.", "Ann: Yes, sure."),
        ("Ann: What did you eat last Friday night?", "Ann: What did you eat last Friday night?"),
        ("Ann: My invoice has number 17 on it.", "Ann: My invoice has number 18 on it."),
    ],
)
async def test_what_is_not_sure_is_left_alone(world: World, one: str, other: str) -> None:
    await world.retain("b", one, timestamp="2023-03-01T10:00:00Z")
    await world.retain("b", other, timestamp="2024-03-01T10:00:00Z")
    await world.run("b")
    assert (await world.texts("b"), await world.counts("b")) == ([], (0, 0))


@pytest.mark.feature("R16")
async def test_a_repeat_is_folded_and_shown_once(world: World, opened: SqliteStore) -> None:
    said = "Ann: The door code of the cellar is 4417B."
    ids = []
    for month in (3, 4, 5):
        ids += await world.retain("b", said, timestamp=f"2024-0{month}-01T10:00:00Z")
        await world.run("b")
    (found,) = await world.held("b")
    assert (found.fact.text, found.fact.proof_count) == (said, 3)
    recaller = Recaller(opened, HashingEmbedder(), Analyzer(), world.clock)
    outcome = await recaller.recall("b", RecallQuery(query="What is the door code of the cellar?"))
    assert [result.fact.text for result in outcome.results] == [said]
    await recaller.close()
    page = await world.engine.memories.forget("b", ForgetInput(ids=[ids[0]]))
    assert page.facts == 1
    await world.run("b")
    (found,) = await world.held("b")
    assert found.fact.proof_count == 2


async def test_nothing_is_asked_for_unless_the_bank_wants_it(world: World, opened: SqliteStore) -> None:
    await world.retain("b", "Ann: I live in Oslo.")
    await world.consolidator.changed("b")
    await world.consolidator.sweep()
    assert (await opened.list_operations("b", None, "consolidation", 9, 0)).total == 0
    assert await world.counts("b") == (0, 0)
    await world.consolidator.trigger("b")
    assert await world.counts("b") == (1, 0)
    await world.run()
    await world.engine.banks.put("b", BankInput(config={"enable_auto_consolidation": True}))
    await world.retain("b", "Ann: I work at Nordbank.")
    assert await world.counts("b") == (1, 0)
    await world.consolidator.changed("b")
    assert (await opened.list_operations("b", "pending", "consolidation", 9, 0)).total == 1
