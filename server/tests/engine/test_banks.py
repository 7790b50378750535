"""Banks: profile, settings, counts."""

from __future__ import annotations

import pytest

from hindsight_server.domain.errors import BankNotFound, InvalidInput
from hindsight_server.engine.banks import BankInput
from hindsight_server.engine.config import CONFIG_KEYS
from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.records import DocumentFilter, FactFilter

from .conftest import Engine


async def test_a_bank_is_created_changed_listed_and_deleted(engine: Engine) -> None:
    made = await engine.banks.put("a/b c 🎈", BankInput(name="Ann", mission="Remember people.\0"))
    assert (made.bank_id, made.name, made.mission, made.empathy) == ("a/b c 🎈", "Ann", "Remember people.", 3)
    changed = await engine.banks.put("a/b c 🎈", BankInput(config={"disposition_empathy": 5, "retain_mission": None}))
    assert (changed.name, changed.mission, changed.empathy) == ("Ann", "Remember people.", 5)
    assert (await engine.banks.patch("a/b c 🎈", BankInput(name="Anna"))).name == "Anna"
    assert [bank.name for bank in (await engine.banks.list("B C")).items] == ["Anna"]
    await engine.retain("a/b c 🎈", [ItemInput(content="Ann moved.")])
    assert (await engine.banks.stats("a/b c 🎈")).facts_by_type["world"] == 1
    assert await engine.banks.delete("a/b c 🎈") == 1
    with pytest.raises(BankNotFound):
        await engine.banks.get("a/b c 🎈")


async def test_settings_and_profile_are_one_thing(engine: Engine) -> None:
    await engine.banks.put("b", BankInput(background="old", mission="newer", config={"reflect_mission": "newest"}))
    config = await engine.banks.config("b")
    assert config.overrides == {"reflect_mission": "newest"}
    assert config.not_applied == ("reflect_mission",)
    assert set(config.config) == set(CONFIG_KEYS)

    await engine.banks.update_config("b", {"disposition_literalism": 1, "HINDSIGHT_API_RETAIN_CHUNK_SIZE": 500})
    bank = await engine.banks.get("b")
    assert (bank.mission, bank.literalism) == ("newest", 1)

    config = await engine.banks.update_config("b", {"reflect_mission": None, "disposition_literalism": None})
    assert config.overrides == {"retain_chunk_size": 500}
    assert config.config["disposition_literalism"] == 3
    bank = await engine.banks.get("b")
    assert (bank.mission, bank.literalism) == ("", 3)

    await engine.banks.put("b", BankInput(mission="m", config={"disposition_skepticism": 5}))
    config = await engine.banks.reset_config("b")
    bank = await engine.banks.get("b")
    assert (config.overrides, bank.mission, bank.skepticism) == ({}, "", 3)


async def test_bad_settings_change_nothing(engine: Engine) -> None:
    await engine.banks.put("b", BankInput())
    with pytest.raises(InvalidInput) as refusal:
        await engine.banks.update_config("b", {"retain_chunk_size": 500, "no_such": 1})
    assert refusal.value.field == "updates.no_such"
    with pytest.raises(InvalidInput):
        await engine.banks.put("new", BankInput(config={"retain_extraction_mode": "fancy"}))
    assert (await engine.banks.config("b")).overrides == {}
    assert [bank.bank_id for bank in (await engine.banks.list()).items] == ["b"]


async def test_an_unknown_bank_is_told_on_every_read_and_change(engine: Engine) -> None:
    calls = [
        engine.banks.get("x"), engine.banks.patch("x", BankInput(name="n")), engine.banks.delete("x"),
        engine.banks.stats("x"), engine.banks.config("x"), engine.banks.update_config("x", {"retain_chunk_size": 500}),
        engine.banks.reset_config("x"), engine.memories.list("x", FactFilter()), engine.memories.get("x", "f"),
        engine.memories.clear("x"), engine.documents.list("x", DocumentFilter()), engine.documents.get("x", "d"),
        engine.documents.chunks("x", "d"), engine.documents.delete("x", "d"), engine.documents.reprocess("x", "d"),
        engine.documents.update("x", "d", tags=[]), engine.operations.list("x"), engine.operations.status("x", "o"),
        engine.operations.cancel("x", "o"), engine.operations.retry("x", "o"), engine.operations.delete("x", "o"),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(BankNotFound):
            await call
    assert (await engine.banks.list()).total == 0


async def test_a_default_strategy_comes_with_its_strategies_or_after_them(engine: Engine) -> None:
    gone = BankInput(config={"retain_default_strategy": "gone"})
    with pytest.raises(InvalidInput, match="retain_default_strategy"):
        await engine.banks.put("b", gone)
    with pytest.raises(BankNotFound):
        await engine.banks.get("b")
    strategies = {"retain_strategies": {"small": {"retain_chunk_size": 500}}}
    await engine.banks.put("b", BankInput(config=strategies | {"retain_default_strategy": "small"}))
    for write in (engine.banks.put, engine.banks.patch):
        with pytest.raises(InvalidInput, match="retain_default_strategy"):
            await write("b", gone)
        await write("b", BankInput(config={"retain_default_strategy": "small"}))
