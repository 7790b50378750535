"""A forgotten memory leaves nothing: no row, no word in its document, no name, no page of a file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

import apsw
import pytest

from hindsight_server.domain.errors import BankNotFound, InvalidInput, NotFound
from hindsight_server.engine.memories import ForgetInput
from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.records import DocumentFilter, FactFilter

from .conftest import Engine

TURNS = [
    {"speaker": "Ann", "text": "I moved to Oslo in May."},
    {"speaker": "Zorblax", "text": "My quixotic password is hunter-7788."},
    {"speaker": "Ann", "text": "The rent is high there."},
]
# The number with its word: alone, four digits also turn up in ids and times.
SECRETS = ("zorblax", "quixotic", "hunter", "hunter-7788")


def rows(folder: Path) -> str:
    """Every value of every table, as text."""
    connection = apsw.Connection(str(folder / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    values = [value for table in tables for row in connection.execute(f'SELECT * FROM "{table}"') for value in row]
    connection.close()
    return "\n".join(value.decode("latin-1") if isinstance(value, bytes) else str(value) for value in values).casefold()


def holding(folder: Path, words: Sequence[str]) -> list[tuple[str, str]]:
    """The files that hold a word, in any of the encodings that a word could be written in."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes().lower()
            found += [(path.name, word) for word in words if word.lower().encode() in data]
            found += [(path.name, word) for word in words if json.dumps(word)[1:-1].lower().encode() in data]
    return found


async def id_of(engine: Engine, words: str, bank: str = "b") -> str:
    (found,) = [fact for fact in (await engine.memories.list(bank, FactFilter())).items if words in fact.text]
    return found.fact_id


@pytest.mark.feature("R17")
async def test_a_forgotten_turn_is_in_no_table_and_no_file(engine: Engine, tmp_path: Path) -> None:
    await engine.retain(
        "b", [ItemInput(content=json.dumps(TURNS), document_id="chat", timestamp="2024-05-01T10:00:00Z")]
    )
    assert all(word in rows(tmp_path) for word in SECRETS)
    done = await engine.memories.forget("b", ForgetInput(ids=[await id_of(engine, "quixotic")]))
    assert (done.facts, done.documents_changed, done.documents_deleted) == (1, ("chat",), ())
    assert [word for word in SECRETS if word in rows(tmp_path)] == []
    assert holding(tmp_path, SECRETS) == []
    document = await engine.documents.get("b", "chat")
    assert json.loads(document.text or "") == [TURNS[0], TURNS[2]]
    assert await engine.texts("b") == ["Ann: I moved to Oslo in May.", "Ann: The rent is high there."]
    chunks = await engine.documents.chunks("b", "chat")
    assert [word for word in SECRETS if word in chunks.items[0].text.casefold()] == []


LONG = " ".join(f"Sentence number {number} tells of the harbour and its many boats in detail." for number in range(14))

BROKEN = "My grumblefix is broken and nobody in this whole town repairs such a thing any more."


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("Ann: hello there Bob\nBob: the grumblefix is broken\nAnn: what a pity", "grumblefix"),
        ("The first one, about ships.\n\nThe grumblefix is broken.\n\nThe last one is of boats.", "grumblefix"),
        ("小李：我上周去了上海。\n王芳：我的密码是蓝鲸七号。\n小李：好的，明天见老王。", "蓝鲸七号"),
        ('{"speaker": "A", "text": "it rains"}\n{"speaker": "B", "text": "a grumblefix"}', "grumblefix"),
        (json.dumps([{"role": "user", "content": f"{LONG} {BROKEN} {LONG}"}]), "grumblefix"),
        (f"Ann: {LONG} {BROKEN} {LONG}\nBob: oh dear me", "grumblefix"),
    ],
)  # fmt: skip
async def test_whatever_the_text_was_written_like(engine: Engine, tmp_path: Path, content: str, words: str) -> None:
    await engine.retain("b", [ItemInput(content=content, document_id="d")])
    facts = {fact.fact_id: fact.text for fact in (await engine.memories.list("b", FactFilter())).items}
    (chosen,) = [fact_id for fact_id, text in facts.items() if words in text]
    await engine.memories.forget("b", ForgetInput(ids=[chosen]))
    assert words not in rows(tmp_path)
    assert holding(tmp_path, [words]) == []
    left = {fact.fact_id: fact.text for fact in (await engine.memories.list("b", FactFilter())).items}
    assert left == {fact_id: text for fact_id, text in facts.items() if fact_id != chosen}
    # What is left can be extracted again, and then says the same.
    await engine.documents.reprocess("b", "d")
    await engine.jobs.run_until_idle()
    again = " ".join(await engine.texts("b"))
    assert words not in again
    for text in left.values():
        for word in text.split():
            assert word.strip(".:，。") in again


async def test_forgetting_turn_by_turn_ends_with_no_document(engine: Engine, tmp_path: Path) -> None:
    await engine.retain("b", [ItemInput(content=json.dumps(TURNS), document_id="chat", tags=["zorblax-tag"])])
    for left in (2, 1, 0):
        fact = (await engine.memories.list("b", FactFilter())).items[0]
        await engine.memories.forget("b", ForgetInput(ids=[fact.fact_id]))
        assert len(await engine.texts("b")) == left
    assert (await engine.documents.list("b", DocumentFilter())).total == 0
    assert [word for word in (*SECRETS, "oslo", "rent") if word in rows(tmp_path)] == []
    assert (await engine.banks.stats("b")).entity_links == 0


async def test_only_its_part_of_an_appended_document_is_touched(engine: Engine) -> None:
    for text in ("Ann: the first day was sunny", "Ann: the second day was rainy", "Ann: the third day was windy"):
        await engine.retain("b", [ItemInput(content=text, document_id="diary", update_mode="append")])
    await engine.memories.forget("b", ForgetInput(ids=[await id_of(engine, "rainy")]))
    document = await engine.documents.get("b", "diary")
    assert document.text == "Ann: the first day was sunny\nAnn: the third day was windy"
    await engine.retain("b", [ItemInput(content="Ann: a fourth day", document_id="diary", update_mode="append")])
    assert len(await engine.texts("b")) == 3


async def test_the_words_of_an_edited_memory_are_cut_too(engine: Engine, tmp_path: Path) -> None:
    from hindsight_server.engine.memories import MemoryPatch

    await engine.retain("b", [ItemInput(content=json.dumps(TURNS), document_id="chat")])
    fact_id = await id_of(engine, "quixotic")
    await engine.memories.update("b", fact_id, MemoryPatch(text="Someone has a secret.", entities=[]))
    await engine.memories.update("b", fact_id, MemoryPatch(state="invalidated", reason="private"))
    await engine.memories.forget("b", ForgetInput(ids=[fact_id]))
    assert [word for word in (*SECRETS, "secret", "private") if word in rows(tmp_path)] == []
    assert holding(tmp_path, SECRETS) == []


async def test_what_waits_for_a_job_is_forgotten_too(engine: Engine, tmp_path: Path) -> None:
    await engine.retain("b", [ItemInput(content=json.dumps(TURNS), document_id="chat")], run_async=True)
    await engine.memories.forget("b", ForgetInput(ids=[await id_of(engine, "quixotic")]))
    await engine.jobs.run_until_idle()
    assert await engine.texts("b", "valid") == ["Ann: I moved to Oslo in May.", "Ann: The rent is high there."]
    assert [word for word in SECRETS if word in rows(tmp_path)] == []


async def test_a_job_that_has_read_the_words_does_not_bring_them_back(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await engine.retain("b", [ItemInput(content=json.dumps(TURNS), document_id="chat")], run_async=True)
    fact_id = await id_of(engine, "quixotic")
    retain, forgotten = engine.store.retain, []

    async def forget_first(write):  # type: ignore[no-untyped-def]
        if write.finishes and not forgotten:
            forgotten.append(await engine.memories.forget("b", ForgetInput(ids=[fact_id])))
        return await retain(write)

    monkeypatch.setattr(engine.store, "retain", forget_first)
    await engine.jobs.run_until_idle()
    assert len(forgotten) == 1
    assert await engine.texts("b", "valid") == ["Ann: I moved to Oslo in May.", "Ann: The rent is high there."]
    assert [word for word in SECRETS if word in rows(tmp_path)] == []


async def test_the_same_document_again_brings_all_of_it_back(engine: Engine) -> None:
    item = ItemInput(content=json.dumps(TURNS), document_id="chat")
    await engine.retain("b", [item])
    await engine.memories.forget("b", ForgetInput(ids=[await id_of(engine, "quixotic")]))
    await engine.retain("b", [item])
    assert len(await engine.texts("b")) == 3
    assert (await engine.documents.get("b", "chat")).text == item.content


async def test_by_tags(engine: Engine, tmp_path: Path) -> None:
    await engine.retain("b", [
        ItemInput(content="Ann: the harbour is blue", document_id="one", tags=["user:a"]),
        ItemInput(content="Ann: the mountain is grey", document_id="two", tags=["user:a", "x"]),
        ItemInput(content="Bob: the valley is green", document_id="three", tags=["user:b"]),
        ItemInput(content="Bob: the desert is red", document_id="four"),
        ItemInput(content="ok", document_id="noise", tags=["user:a"]),
    ])  # fmt: skip
    await engine.retain(
        "b", [ItemInput(content="Ann: an island", document_id="three", tags=["user:a"], update_mode="append")]
    )
    dry = await engine.memories.forget("b", ForgetInput(tags=["user:a"], dry_run=True))
    assert (dry.facts, dry.documents_changed, dry.documents_deleted) == (3, ("three",), ("noise", "one", "two"))
    assert len(await engine.texts("b")) == 5
    done = await engine.memories.forget("b", ForgetInput(tags=["user:a"]))
    assert done == dry
    assert sorted(await engine.texts("b")) == ["Bob: the desert is red", "Bob: the valley is green"]
    assert [word for word in ("harbour", "mountain", "island") if word in rows(tmp_path)] == []


async def test_by_document(engine: Engine) -> None:
    await engine.retain(
        "b", [ItemInput(content="Ann: a", document_id="one"), ItemInput(content="Ann: b", document_id="two")]
    )
    done = await engine.memories.forget("b", ForgetInput(document_ids=["one", "none"]))
    assert (done.facts, done.documents_deleted, done.missing) == (1, ("one",), ("none",))
    with pytest.raises(NotFound):
        await engine.documents.get("b", "one")


async def test_case_a28_without_a_filter_nothing_is_forgotten_and_others_stay(engine: Engine) -> None:
    """mem0 3928, 3746, 3695: deleting all of one user's memories wiped every user's."""
    for user in ("a", "b"):
        await engine.retain(user, [ItemInput(content=f"User {user} likes cocoa from Ghana.", document_id="d")])
        await engine.retain(
            "shared", [ItemInput(content=f"User {user} likes cocoa from Ghana.", tags=[f"user:{user}"])]
        )
    for wanted in (ForgetInput(), ForgetInput(ids=[]), ForgetInput(tags=[]), ForgetInput(document_ids=[])):
        with pytest.raises(InvalidInput, match="what to forget"):
            await engine.memories.forget("a", wanted)
    for match in ("any", "all", "whatever"):
        with pytest.raises(InvalidInput, match=r"any_strict, all_strict, exact"):
            await engine.memories.forget("shared", ForgetInput(tags=["user:a"], tags_match=match))
    with pytest.raises(InvalidInput, match="Give only one"):
        await engine.memories.forget("a", ForgetInput(ids=["x"], tags=["y"]))
    with pytest.raises(BankNotFound):
        await engine.memories.forget("nobody", ForgetInput(ids=["x"]))
    await engine.memories.forget("shared", ForgetInput(tags=["user:a"]))
    assert await engine.texts("shared") == ["User b likes cocoa from Ghana."]
    await engine.memories.forget("a", ForgetInput(document_ids=["d"]))
    assert await engine.texts("a") == []
    assert (await engine.banks.stats("a")).facts_by_type == {}
    assert (await engine.store.list_entities("a", None, 10, 0)).total == 0
    assert await engine.texts("b") == ["User b likes cocoa from Ghana."]


async def test_case_a30_nothing_made_of_a_deleted_document_alone_remains(engine: Engine, tmp_path: Path) -> None:
    """hindsight 572, 3196: a deleted document still answered through what was derived from it."""
    await engine.retain("b", [
        ItemInput(content="Ann Lee met Zorblax Quill (Zorb) in Grumbleton.", document_id="gone", tags=["trip-zorb"]),
        ItemInput(content="Ann Lee lives in Oslo.", document_id="stays"),
    ])  # fmt: skip
    await engine.documents.delete("b", "gone")
    names = [entity.name for entity in (await engine.store.list_entities("b", None, 50, 0)).items]
    assert not [name for name in names if "orb" in name or "Grumble" in name]
    assert [word for word in ("zorb", "quill", "grumbleton", "trip-zorb") if word in rows(tmp_path)] == []
    assert holding(tmp_path, ["zorblax", "grumbleton", "trip-zorb"]) == []


async def test_case_a13_forgetting_and_appending_leave_the_rest_as_it_is(engine: Engine) -> None:
    """hindsight 2664, 977, 3363: appending deleted what was there before."""
    await engine.retain("b", [ItemInput(content="Ann: alpha is here", document_id="s1")])
    append = ItemInput(content="Ann: beta is there", document_id="s1", update_mode="append")
    await engine.retain("b", [append])
    kept = await engine.memories.get("b", await id_of(engine, "alpha"))
    await engine.memories.forget("b", ForgetInput(ids=[await id_of(engine, "beta")]))
    assert await engine.texts("b") == ["Ann: alpha is here"]
    assert await engine.memories.get("b", kept.fact_id) == kept
    await engine.retain("b", [append])
    assert await engine.texts("b") == ["Ann: alpha is here", "Ann: beta is there"]
    assert await engine.memories.get("b", kept.fact_id) == kept


async def test_many_words_leave_no_page_behind(engine: Engine, tmp_path: Path) -> None:
    items = [
        ItemInput(
            content=f"Ann: the fnord{number:04d}x word {'filler ' * (number % 40)}stays", document_id=f"d{number}"
        )
        for number in range(400)
    ]
    for start in range(0, 400, 100):
        await engine.retain("b", items[start : start + 100])
    facts = [fact async for fact in _all(engine)]
    gone = [fact for at, fact in enumerate(facts) if at % 3]
    await engine.memories.forget("b", ForgetInput(ids=[fact.fact_id for fact in gone]))
    words = [fact.text.split()[2] for fact in gone]
    assert holding(tmp_path, words) == []


async def test_rows_that_moved_between_pages_leave_no_copy(engine: Engine, tmp_path: Path) -> None:
    """SQLite overwrites what is deleted, but not what it copied from one page to another before."""
    random = Random(5)
    gone: list[str] = []
    for turn in range(4):
        items = [
            ItemInput(
                content=f"Ann: the zq{turn}{number:03d}x thing {'blah ' * random.randint(1, 60)}",
                document_id=f"d{random.randint(0, 200)}",
                update_mode=random.choice(["append", "replace"]),
            )
            for number in range(120)
        ]
        await engine.retain("b", items)
        facts = (await engine.memories.list("b", FactFilter(), 1000)).items
        picked = random.sample(facts, len(facts) // 3)
        for start in range(0, len(picked), 30):
            await engine.memories.forget("b", ForgetInput(ids=[fact.fact_id for fact in picked[start : start + 30]]))
        gone += [fact.text.split()[2] for fact in picked]
        assert holding(tmp_path, gone) == []
    connection = apsw.Connection(str(tmp_path / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    assert connection.pragma("integrity_check") == "ok"
    connection.close()


async def test_a_reader_that_is_busy_puts_the_cleaning_off(engine: Engine, tmp_path: Path) -> None:
    await engine.retain("b", [ItemInput(content=json.dumps(TURNS), document_id="chat")])
    reader = apsw.Connection(str(tmp_path / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM facts").fetchone()
    await engine.memories.forget("b", ForgetInput(ids=[await id_of(engine, "quixotic")]))
    assert holding(tmp_path, ["quixotic"])
    reader.execute("ROLLBACK")
    reader.close()
    for _ in range(100):
        if not holding(tmp_path, SECRETS):
            break
        await asyncio.sleep(0.1)
    assert holding(tmp_path, SECRETS) == []


async def _all(engine: Engine):  # type: ignore[no-untyped-def]
    for offset in range(0, 400, 100):
        for fact in (await engine.memories.list("b", FactFilter(), 100, offset)).items:
            yield fact
