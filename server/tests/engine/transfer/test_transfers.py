"""Exports, imports and clones: what comes out is what went in, and nothing else."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import replace
from typing import Any

import pytest

from hindsight_server.domain.errors import Conflict, InvalidInput, NotFound
from hindsight_server.engine.memories import ForgetInput, MemoryPatch
from hindsight_server.engine.retain import ItemInput
from hindsight_server.engine.transfer.types import ExportInput, ImportInput
from hindsight_server.ports.records import DocumentFilter, FactFilter

from .conftest import Movers

QUESTIONS = (
    "Where does Ann live?",
    "Who met Zorblax?",
    "上海",
    "tickets to Lima",
    "What did Ann say in May?",
    "password",
)
LINE = {"text": "Bergen Line", "type": "THING"}


@pytest.fixture
async def filled(movers: Movers) -> Movers:
    engine = movers.engine
    talk = [
        {"speaker": "Ann Lee", "text": "I moved to Oslo last spring. It rains a lot."},
        {"speaker": "Bob", "text": "I met Zorblax (Zorb) yesterday in Lima."},
        {"speaker": "Ann Lee", "text": "Did he bring the password?"},
    ]
    await engine.retain("b", [
        ItemInput(
            content=json.dumps(talk), document_id="talk", timestamp="2024-05-01T10:00:00+02:00", tags=["x", "user:a"]
        ),
        ItemInput(
            content="小李：我上周去了上海。\n王芳：好巧，我也在。",
            document_id="zh",
            metadata={"session_id": "s1"},
            context="chat",
        ),
        ItemInput(content="ok", document_id="noise"),
        ItemInput(content="The train to Bergen is slow.", entities=[LINE], timestamp="unset"),
    ])  # fmt: skip
    await engine.retain("b", [ItemInput(content="Bob: two tickets to Lima", document_id="talk", update_mode="append")])
    facts = {fact.text: fact for fact in (await engine.memories.list("b", FactFilter())).items}
    train = next(fact for text, fact in facts.items() if "train" in text)
    await engine.memories.update(
        "b", train.fact_id, MemoryPatch(text="The train to Bergen is fast.", occurred_start="2024-01-01")
    )
    asked = next(fact for text, fact in facts.items() if "password" in text)
    await engine.memories.update("b", asked.fact_id, MemoryPatch(state="invalidated", reason="a question"))
    await engine.banks.update_config("b", {"retain_chunk_size": 900, "reflect_mission": "be kind"})
    found = await engine.store.find_entities("b", ["Bob", "Zorblax"])
    await engine.store.name_entity("b", found[0].entity_id, "Robert", engine.clock.now(), shown=False)
    await engine.store.merge_entities("b", [one.entity_id for one in found], engine.clock.now())
    return movers


async def everything(movers: Movers, bank_id: str) -> dict[str, Any]:
    """All that a bank tells, without what belongs to this bank alone."""
    engine = movers.engine
    facts = (await engine.memories.list(bank_id, FactFilter())).items
    documents = (await engine.documents.list(bank_id, DocumentFilter())).items
    entities = (await engine.store.list_entities(bank_id, None, 100, 0)).items
    return {
        "facts": [replace(fact, seq=0, chunk_id=None) for fact in facts],
        "order": [fact.fact_id for fact in sorted(facts, key=lambda fact: fact.seq)],
        "documents": [(one, (await engine.documents.get(bank_id, one.document_id)).text) for one in documents],
        "chunks": [await _chunks(movers, bank_id, one.document_id) for one in documents],
        "entities": sorted(
            (one.name, one.type, one.mention_count, sorted(one.aliases), one.first_seen, one.last_seen, one.is_literal)
            for one in entities
        ),
        "config": (await engine.banks.config(bank_id)).overrides,
        "tags": (await engine.store.list_tags(bank_id, None, 100, 0)).items,
        "recalls": [await movers.recalled(bank_id, question) for question in QUESTIONS],
    }


async def _chunks(movers: Movers, bank_id: str, document_id: str) -> list[Any]:
    chunks = (await movers.engine.documents.chunks(bank_id, document_id)).items
    return [replace(chunk, chunk_id="", bank_id="") for chunk in chunks]


@pytest.mark.feature("R17")
async def test_a_bank_comes_back_as_it_was(filled: Movers) -> None:
    before = await everything(filled, "b")
    assert before["recalls"][0]
    data = await filled.exported("b")
    result = await filled.imported("b", data, target_bank_id="copy")
    assert (result["bank_id"], result["documents_imported"], result["facts_imported"]) == ("copy", 4, 7)
    assert await everything(filled, "copy") == before
    # And it lives on: it can be appended to, curated and extracted again.
    await filled.engine.retain(
        "copy", [ItemInput(content="Bob: and one to Cusco", document_id="talk", update_mode="append")]
    )
    await filled.engine.documents.reprocess("copy", "zh")
    await filled.engine.jobs.run_until_idle()
    assert (await filled.engine.memories.list("copy", FactFilter())).total == 8
    assert await everything(filled, "b") == before


async def test_a_clone_is_the_same_and_its_own(filled: Movers) -> None:
    before = await everything(filled, "b")
    operation = await filled.transfers.clone("b", "twin", ExportInput())
    assert (await filled.done(operation))["facts_imported"] == 7
    assert await everything(filled, "twin") == before
    await filled.engine.banks.delete("b")
    assert await everything(filled, "twin") == before
    with pytest.raises(Conflict, match="holds something"):
        await filled.transfers.clone("twin", "twin", ExportInput())


async def test_settings_alone_or_data_alone(filled: Movers) -> None:
    await filled.imported("b", await filled.exported("b", include_data=False), target_bank_id="settings")
    assert (await filled.engine.banks.config("settings")).overrides["retain_chunk_size"] == 900
    assert (await filled.engine.memories.list("settings", FactFilter())).total == 0
    await filled.imported("b", await filled.exported("b"), target_bank_id="data", include_config=False)
    assert (await filled.engine.banks.config("data")).overrides == {}
    assert (await filled.engine.memories.list("data", FactFilter())).total == 7
    with pytest.raises(InvalidInput, match="Nothing would be exported"):
        ExportInput(include_data=False, include_config=False)


@pytest.mark.parametrize(("conflict", "imported", "facts"), [("skip", 0, 4), ("replace", 1, 4), ("new-id", 1, 8)])
async def test_what_becomes_of_a_document_whose_id_is_taken(
    filled: Movers, conflict: str, imported: int, facts: int
) -> None:
    data = await filled.exported("b", document_ids=("talk",), include_config=False)
    await filled.engine.documents.delete("b", "zh")
    result = await filled.imported("b", data, mode="merge", conflict=conflict, include_config=False)
    assert result["documents_imported"] == imported
    talk = [fact for fact in (await filled.engine.memories.list("b", FactFilter())).items if "train" not in fact.text]
    assert len(talk) == facts
    assert len({fact.fact_id for fact in talk}) == facts
    if conflict == "new-id":
        new = [fact for fact in talk if fact.document_id != "talk"]
        assert len({fact.document_id for fact in new}) == 1
        assert (await filled.engine.documents.get("b", new[0].document_id)).text == (
            await filled.engine.documents.get("b", "talk")
        ).text


async def test_documents_that_are_not_there_are_not_exported(filled: Movers) -> None:
    with pytest.raises(NotFound):
        await filled.transfers.export("b", ExportInput(document_ids=("nowhere",)))
    with pytest.raises(NotFound):
        await filled.transfers.export("nobody", ExportInput())


async def test_nothing_is_imported_twice_and_nothing_half(filled: Movers, monkeypatch: pytest.MonkeyPatch) -> None:
    data = await filled.exported("b")
    write, tries = filled.engine.store.write_transfer, []

    async def dies(wanted: Any) -> Any:
        tries.append(wanted)
        if len(tries) == 1:
            raise RuntimeError("killed before the commit")
        done = await write(wanted)
        if len(tries) == 2:
            raise RuntimeError("killed after the commit")
        return done

    monkeypatch.setattr(filled.engine.store, "write_transfer", dies)
    operation = await filled.transfers.import_archive("b", data, ImportInput(target_bank_id="copy"))
    await filled.engine.jobs.run_until_idle()
    with pytest.raises(NotFound):
        await filled.engine.banks.get("copy")
    filled.engine.clock.forward(60)
    await filled.engine.jobs.run_until_idle()
    known = await filled.engine.operations.status("b", operation.operation_id)
    assert (known.status, known.result["facts_imported"]) == ("completed", 7)
    assert (await filled.engine.memories.list("copy", FactFilter())).total == 7


async def test_a_bank_that_holds_something_is_not_restored_into(filled: Movers) -> None:
    data = await filled.exported("b")
    with pytest.raises(Conflict, match="mode=merge"):
        await filled.transfers.import_archive("b", data, ImportInput())
    with pytest.raises(Conflict, match="mode=merge"):
        await filled.transfers.import_archive("other", data, ImportInput(target_bank_id="b"))


async def test_an_export_ends_with_what_it_holds(filled: Movers) -> None:
    result = await filled.done(await filled.transfers.export("b", ExportInput()))
    key = result["storage_key"]
    (await filled.transfers.open_export(key))[0].close()
    fact = (await filled.engine.memories.list("b", FactFilter(query="Zorblax"))).items[0]
    await filled.engine.memories.forget("b", ForgetInput(ids=[fact.fact_id]))
    with pytest.raises(NotFound):
        await filled.transfers.open_export(key)
    files = zipfile.ZipFile(io.BytesIO(await filled.exported("b")))
    held = "".join(files.read(name).decode() for name in files.namelist())
    assert "Oslo" in held
    assert "zorb" not in held.casefold()


async def test_an_export_that_runs_while_something_is_forgotten_is_begun_again(
    filled: Movers, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, reads = filled.engine.store.read_transfer, []
    fact = (await filled.engine.memories.list("b", FactFilter(query="Zorblax"))).items[0]

    async def reading(*given: Any) -> None:
        await read(*given)
        if not reads:
            await filled.engine.memories.forget("b", ForgetInput(ids=[fact.fact_id]))
        reads.append(given)

    monkeypatch.setattr(filled.engine.store, "read_transfer", reading)
    operation = await filled.transfers.export("b", ExportInput())
    await filled.engine.jobs.run_until_idle()
    assert (await filled.engine.operations.status("b", operation.operation_id)).status == "pending"
    filled.engine.clock.forward(60)
    key = (await filled.done(operation))["storage_key"]
    with (await filled.transfers.open_export(key))[0] as file:
        held = zipfile.ZipFile(file).read("facts.jsonl").decode()
    assert ("Oslo" in held, "Zorblax" in held, len(reads)) == (True, False, 2)


async def test_keys_can_not_be_guessed_and_expire(filled: Movers) -> None:
    result = await filled.done(await filled.transfers.export("b", ExportInput()))
    key = result["storage_key"]
    bank, expires, token = key.split(".")
    assert len(token) == 43
    for wrong in (
        f"{bank}.{expires}.{token[:-1]}{'B' if token[-1] == 'A' else 'A'}",
        f"{bank}.{int(expires) + 9}.{token}",
        f"../{key}",
        key + "\n",
        "",
        "x",
    ):
        with pytest.raises(NotFound):
            await filled.transfers.open_export(wrong)
    filled.engine.clock.forward(25 * 3600)
    with pytest.raises(NotFound):
        await filled.transfers.open_export(key)
    assert await filled.transfers.sweep() == 1


async def test_what_is_not_there_to_be_forgotten_takes_no_export_along(filled: Movers) -> None:
    key = (await filled.done(await filled.transfers.export("b", ExportInput())))["storage_key"]
    assert (await filled.engine.memories.forget("b", ForgetInput(ids=["nope"]))).missing == ("nope",)
    with pytest.raises(NotFound):
        await filled.engine.documents.delete("b", "nope")
    (await filled.transfers.open_export(key))[0].close()
    await filled.engine.documents.delete("b", "zh")
    with pytest.raises(NotFound):
        await filled.transfers.open_export(key)


async def test_of_two_restores_into_one_bank_the_second_is_not_tried_again(filled: Movers) -> None:
    data = await filled.exported("b")
    wanted = ImportInput(target_bank_id="copy")
    asked = [await filled.transfers.import_archive("b", data, wanted) for _ in range(2)]
    await filled.engine.jobs.run_until_idle()
    ended = [await filled.engine.operations.status("b", one.operation_id) for one in asked]
    assert sorted((one.status, one.attempts) for one in ended) == [("completed", 1), ("failed", 1)]


async def test_secrets_do_not_leave(filled: Movers) -> None:
    from hindsight_server.engine.transfer.transfers import without_secrets
    from hindsight_server.ports.records import BankChange

    kept = {"recall_max_tokens": 5, "retain_strategies": {"a": {"retain_chunk_size": 300}}}
    secret = {"llm_api_key": "sk-1", "nested": [{"password": "p", "Authorization": "Bearer"}], "auth_token": "t"}
    assert without_secrets(kept | secret) == kept | {"nested": [{}]}
    await filled.engine.store.save_bank("b", BankChange(config={"llm_api_key": "sk-1234"}), filled.engine.clock.now())
    data = zipfile.ZipFile(io.BytesIO(await filled.exported("b")))
    assert not [name for name in data.namelist() if b"sk-1234" in data.read(name)]


def made(changes: dict[str, bytes | None], data: bytes) -> bytes:
    """The archive with other files."""
    old, out = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        files: dict[str, bytes | None] = {name: old.read(name) for name in old.namelist()}
        for name, content in (files | changes).items():
            if content is not None:
                new.writestr(name, content)
    return out.getvalue()


async def test_archives_that_can_not_be_trusted_are_refused(filled: Movers) -> None:
    data = await filled.exported("b")
    manifest = json.loads(zipfile.ZipFile(io.BytesIO(data)).read("manifest.json"))
    facts = zipfile.ZipFile(io.BytesIO(data)).read("facts.jsonl")

    fewer = {name: listed for name, listed in manifest["files"].items() if name != "documents.jsonl"}

    def told(**changes: Any) -> bytes:
        return json.dumps(manifest | changes).encode()

    for bad, reason in (
        (b"no zip", "no ZIP file"),
        (b"", "no ZIP file"),
        (data[:-40], "no ZIP file"),
        (made({"../../etc/passwd": b"x"}, data), "no file of such an archive"),
        (made({"manifest.json": None}, data), "no manifest.json"),
        (made({"manifest.json": b"[" * 5000}, data), "not JSON"),
        (made({"manifest.json": told(format="zip")}, data), "not written by an export"),
        (made({"manifest.json": told(version=2)}, data), "version 2"),
        (made({"manifest.json": told(files=3)}, data), "lists no files"),
        (made({"facts.jsonl": None}, data), "disagree about facts.jsonl"),
        (made({"facts.jsonl": facts.replace(b"Oslo", b"Rome")}, data), "checksum of facts.jsonl"),
        (made({"facts.jsonl": facts[:-1]}, data), "middle of a line"),
        (made({"facts.jsonl": b'{"fact_id": 3}\n'}, data), "line 1 of facts.jsonl is wrong"),
        (made({"facts.jsonl": b" \n" * (4 << 20)}, data), "too large|line 1 of"),
        (made({"manifest.json": b" " * (7 << 20)}, data), "too large"),
        (made({"facts.jsonl": b" " * (7 << 20)}, data), "too (large|long)"),
        (made({"documents.jsonl": None, "manifest.json": told(files=fewer)}, data), "not in it"),
    ):  # fmt: skip
        with pytest.raises(InvalidInput, match=reason):
            await filled.transfers.import_archive("new", bad, ImportInput(target_bank_id="new"))
    with pytest.raises(NotFound):
        await filled.engine.banks.get("new")
    assert not list((filled.archives._folder).glob("upload-*"))


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("facts", "mentioned_at", "0001-01-01T00:00:00+14:00"),
        ("facts", "mentioned_at", "2024-05-01T10:00:00"),
        ("facts", "occurred_end", "9999-12-31T23:59:59-12:00"),
        ("documents", "created_at", "0001-01-01T00:00:00+14:00"),
        ("facts", "turn_index", 2**63),
        ("facts", "place", [0, 10**30]),
        ("documents", "next_part", 2**63 - 1),
        ("facts", "fact_id", " "),
    ],
)
async def test_archives_with_values_that_no_store_can_hold_are_refused(
    filled: Movers, name: str, place: str, value: Any
) -> None:
    data = await filled.exported("b")
    opened = zipfile.ZipFile(io.BytesIO(data))
    first, *others = opened.read(f"{name}.jsonl").splitlines(keepends=True)
    lines = json.dumps({**json.loads(first), place: value}).encode() + b"\n" + b"".join(others)
    manifest = json.loads(opened.read("manifest.json"))
    manifest["files"][f"{name}.jsonl"]["sha256"] = hashlib.sha256(lines).hexdigest()
    bad = made({f"{name}.jsonl": lines, "manifest.json": json.dumps(manifest).encode()}, data)
    with pytest.raises(InvalidInput, match="memories have one id" if place == "fact_id" else place):
        await filled.transfers.import_archive("new", bad, ImportInput(target_bank_id="new"))


async def test_what_gets_no_vector_at_once_gets_it_later(filled: Movers) -> None:
    from hindsight_server.engine.repair import VectorRepair

    limits = replace(filled.transfers._limits, encode_at_once=0)
    filled.transfers._limits = limits
    before = await everything(filled, "b")
    result = await filled.imported("b", await filled.exported("b"), target_bank_id="copy")
    assert result["unencoded_count"] == 7
    await VectorRepair(filled.engine.store, filled.transfers._indexer, filled.engine.clock).repair()
    after = await everything(filled, "copy")
    assert after["recalls"] == before["recalls"]
