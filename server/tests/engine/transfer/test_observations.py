"""Observations and causes in archives."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from hindsight_server.adapters.detect import SensitiveData
from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.adapters.text import Analyzer
from hindsight_server.domain.errors import InvalidInput
from hindsight_server.engine.consolidate import Consolidator
from hindsight_server.engine.defence import Defender
from hindsight_server.engine.defence.importing import ImportDefender
from hindsight_server.engine.indexing import Indexer
from hindsight_server.engine.retain import ItemInput
from hindsight_server.engine.transfer.types import ExportInput, ImportInput
from hindsight_server.ports.observations import CONSOLIDATION
from hindsight_server.ports.records import BankChange

from .conftest import Movers
from .test_transfers import made

_TEA = ("Ann: I drink green tea every morning.", "Ann: I drink green tea every morning.", "Ann: I moved to Oslo.")


@pytest.fixture
async def known(movers: Movers) -> Movers:
    """A bank `b` whose facts the built-in consolidator has folded."""
    engine = movers.engine
    consolidator = Consolidator(
        engine.store, Indexer(Analyzer(), HashingEmbedder()), engine.clock, None, on_job=engine.jobs.wake
    )
    engine.jobs.register(CONSOLIDATION, consolidator.run_job)
    items = [ItemInput(content=text, document_id=f"d{at}", tags=["user:ann"]) for at, text in enumerate(_TEA)]
    await engine.retain("b", items)
    await consolidator.trigger("b")
    await engine.jobs.run_until_idle()
    assert (await engine.store.consolidation_counts("b")).pending == 0
    return movers


async def held(movers: Movers, bank_id: str) -> list[Any]:
    """The observations of a bank, with what each says of its past, by what they say."""
    store = movers.engine.store
    found = await store.observations(bank_id, list(await store.observations_in(bank_id, ("user:ann",))))
    told = []
    for one in found:
        past = [
            (version.version, version.action, version.text, version.fact_ids)
            for version in await store.observation_history(bank_id, one.fact.fact_id)
        ]
        fact = one.fact
        told.append((fact.fact_id, fact.text, fact.proof_count, fact.tags, one.version, one.sources, past))
    return sorted(told)


async def pending(movers: Movers, bank_id: str) -> int:
    return int((await movers.engine.store.consolidation_counts(bank_id)).pending)


@pytest.mark.feature("R16")
async def test_observations_come_back_with_sources_quotes_and_history(known: Movers) -> None:
    before = await held(known, "b")
    assert before
    result = await known.imported("x", await known.exported("b"), target_bank_id="c")
    assert result["observations_imported"] == len(before)
    assert await held(known, "c") == before
    assert await pending(known, "c") == 0
    assert await known.recalled("c", "What does Ann drink?") == await known.recalled("b", "What does Ann drink?")


async def test_a_clone_has_them_too(known: Movers) -> None:
    await known.done(await known.transfers.clone("b", "copy", ExportInput()))
    assert await held(known, "copy") == await held(known, "b")
    assert await pending(known, "copy") == 0


async def test_without_them_the_facts_wait(known: Movers) -> None:
    data = await known.exported("b", include_observations=False, include_config=False)
    await known.imported("c", data, mode="merge")
    assert await held(known, "c") == []
    assert await pending(known, "c") == 3


async def test_documents_alone_come_without_them(known: Movers) -> None:
    await known.imported("c", await known.exported("b", document_ids=("d0", "d1")), mode="merge")
    assert await held(known, "c") == []
    assert await pending(known, "c") == 2


def rewritten(data: bytes, change: Callable[[dict[str, Any]], dict[str, Any]]) -> bytes:
    """The archive with other observations."""
    name = "observations.jsonl"
    opened = zipfile.ZipFile(io.BytesIO(data))
    lines = b"".join(json.dumps(change(json.loads(line))).encode() + b"\n" for line in opened.read(name).splitlines())
    manifest = json.loads(opened.read("manifest.json"))
    manifest["files"][name]["sha256"] = hashlib.sha256(lines).hexdigest()
    return made({name: lines, "manifest.json": json.dumps(manifest).encode()}, data)


async def test_an_observation_that_memory_defence_finds_something_in_is_drawn_anew(known: Movers) -> None:
    engine = known.engine
    defender = Defender(engine.store, SensitiveData(), engine.clock)
    known.transfers.defend(ImportDefender(engine.store, SensitiveData(), engine.clock, defender))
    rule = {"on": "sensitive_data", "action": "redact"}
    config = {"memory_defense": {"enabled": True, "rules": [rule]}}
    await engine.store.save_bank("c", BankChange(config=config), engine.clock.now())
    data = await known.exported("b")
    told = rewritten(data, lambda one: {**one, "fact": {**one["fact"], "text": "Ann is ann.lee@example.org."}})
    result = await known.imported("c", told, mode="merge")
    assert (result["facts_imported"], result["observations_imported"]) == (3, 0)
    assert await held(known, "c") == []
    assert await pending(known, "c") >= 2


@pytest.mark.parametrize(
    "change",
    [
        {"sources": []},
        {"sources": [{"fact_id": "none", "quote": ""}]},
        {"version": 0},
        {"scope": ["b", "a"]},
    ],
)
async def test_observations_that_contradict_their_facts_are_refused(known: Movers, change: dict[str, Any]) -> None:
    bad = rewritten(await known.exported("b"), lambda one: {**one, **change})
    with pytest.raises(InvalidInput, match="observation"):
        await known.transfers.import_archive("new", bad, ImportInput(target_bank_id="new"))


async def test_a_quote_that_no_source_says_is_refused(known: Movers) -> None:
    def lie(one: dict[str, Any]) -> dict[str, Any]:
        return {**one, "sources": [{**source, "quote": "black coffee"} for source in one["sources"]]}

    bad = rewritten(await known.exported("b"), lie)
    with pytest.raises(InvalidInput, match="quotes"):
        await known.transfers.import_archive("new", bad, ImportInput(target_bank_id="new"))
