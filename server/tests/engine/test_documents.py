"""Documents: replaced by what changed, appended to without loss, extracted again."""

from __future__ import annotations

import asyncio
import json

import pytest

from hindsight_server.domain.errors import InvalidInput, NotFound
from hindsight_server.engine.banks import BankInput
from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.records import FactFilter

from .conftest import Engine

pytestmark = pytest.mark.feature("R4")


def lines(start: int, stop: int) -> str:
    # Long enough that a handful of them fill a chunk.
    return "\n".join(f"Ann: sentence number {n} is about topic{n} " + "and so on " * 30 for n in range(start, stop))


async def ids_by_text(engine: Engine) -> dict[str, str]:
    page = await engine.memories.list("b", FactFilter(), 1000)
    return {fact.text: fact.fact_id for fact in page.items}


async def test_replacing_keeps_the_facts_of_unchanged_chunks(engine: Engine) -> None:
    await engine.retain("b", [ItemInput(content=lines(0, 40), document_id="d")])
    before = await ids_by_text(engine)
    outcome = await engine.retain("b", [ItemInput(content=lines(0, 44), document_id="d")])
    after = await ids_by_text(engine)
    assert len(after) == 44
    kept = [text for text in before if after.get(text) == before[text]]
    assert len(kept) >= 20
    assert outcome.fact_count == 44 - len(kept)
    same = await engine.retain("b", [ItemInput(content=lines(0, 44), document_id="d")])
    assert same.fact_count == 0
    assert await ids_by_text(engine) == after


async def test_the_text_is_kept_whatever_store_document_text_says(engine: Engine) -> None:
    await engine.banks.put("b", BankInput(config={"store_document_text": False}))
    for line in ("Ann: one.", "Ann: two."):
        await engine.retain("b", [ItemInput(content=line, document_id="d", update_mode="append")])
    assert (await engine.documents.get("b", "d")).text == "Ann: one.\nAnn: two."


async def test_replacing_forgets_what_is_gone(engine: Engine) -> None:
    await engine.retain("b", [ItemInput(content="Ann: I love zebras.\nBob: Nice hat.", document_id="d")])
    await engine.retain("b", [ItemInput(content="Ann: I love lions.", document_id="d")])
    assert await engine.texts("b") == ["Ann: I love lions."]
    assert (await engine.documents.get("b", "d")).text == "Ann: I love lions."
    assert len((await engine.store.postings("b", {"zebra": 0})).get("zebra", ([],))[0]) == 0


async def test_new_tags_and_times_reach_facts_of_unchanged_text(engine: Engine) -> None:
    def item(day: int, tag: str) -> ItemInput:
        return ItemInput(
            content="Ann: I ran yesterday.", document_id="d", tags=[tag], timestamp=f"2023-05-{day:02}T12:00:00Z"
        )

    await engine.retain("b", [item(8, "x")])
    await engine.retain("b", [item(9, "y")])
    (fact,) = (await engine.memories.list("b", FactFilter())).items
    assert fact.tags == ("y",)
    assert fact.mentioned_at is not None
    assert fact.mentioned_at.day == 9
    assert fact.occurred_start is not None
    assert fact.occurred_start.day == 8


async def test_appending_never_shrinks_and_touches_only_what_is_new(engine: Engine) -> None:
    text = ""
    for turn in range(20):
        line = f"Ann: turn {turn} is about topic{turn}."
        outcome = await engine.retain("b", [ItemInput(content=line, document_id="d", update_mode="append")])
        assert outcome.fact_count == 1
        text = f"{text}\n{line}" if text else line
        assert (await engine.documents.get("b", "d")).text == text
    facts = (await engine.memories.list("b", FactFilter(), 100)).items
    assert [fact.turn_index for fact in reversed(facts)] == list(range(20))


async def test_appended_json_arrays_become_one(engine: Engine) -> None:
    for name in ("Ann", "Bob"):
        turn = f'[{{"speaker": "{name}", "text": "I am {name}."}}]'
        await engine.retain("b", [ItemInput(content=turn, document_id="d", update_mode="append")])
    document = await engine.documents.get("b", "d")
    assert document.text == '[{"speaker": "Ann", "text": "I am Ann."}, {"speaker": "Bob", "text": "I am Bob."}]'
    assert await engine.texts("b") == ["Ann: I am Ann.", "Bob: I am Bob."]
    # An element alone joins them too.
    await engine.retain(
        "b", [ItemInput(content='{"speaker": "Eve", "text": "Hi."}', document_id="d", update_mode="append")]
    )
    turns = json.loads((await engine.documents.get("b", "d")).text or "")
    assert [turn["speaker"] for turn in turns] == ["Ann", "Bob", "Eve"]
    # What is no JSON goes below, as text.
    for text in ("Ann: a note.", '[{"speaker": "Bob", "text": "Late."}]'):
        await engine.retain("b", [ItemInput(content=text, document_id="d", update_mode="append")])
    lines = ((await engine.documents.get("b", "d")).text or "").split("\n")
    assert [json.loads(lines[0]), lines[1:]] == [turns, ["Ann: a note.", '[{"speaker": "Bob", "text": "Late."}]']]


@pytest.mark.parametrize("run_async", [False, True])
async def test_concurrent_appends_lose_nothing(engine: Engine, run_async: bool) -> None:
    await asyncio.gather(
        *(
            engine.retain(
                "b", [ItemInput(content=f"Ann: note {n}.", document_id="d", update_mode="append")], run_async=run_async
            )
            for n in range(30)
        )
    )
    await engine.jobs.run_until_idle()
    expected = sorted(f"Ann: note {n}." for n in range(30))
    assert sorted(await engine.texts("b")) == expected
    text = (await engine.documents.get("b", "d")).text or ""
    assert sorted(text.split("\n")) == expected
    facts = (await engine.memories.list("b", FactFilter(), 100)).items
    assert sorted(fact.turn_index for fact in facts) == list(range(30))


async def test_an_append_survives_a_replacement_that_is_still_being_extracted(engine: Engine) -> None:
    await engine.retain("b", [ItemInput(content="Ann: one.\nAnn: two.", document_id="d")], run_async=True)
    await engine.retain("b", [ItemInput(content="Ann: three.", document_id="d", update_mode="append")])
    await engine.jobs.run_until_idle()
    assert sorted(await engine.texts("b")) == ["Ann: one.", "Ann: three.", "Ann: two."]
    assert (await engine.documents.get("b", "d")).text == "Ann: one.\nAnn: two.\nAnn: three."


async def test_a_replacement_survives_an_older_one_that_is_still_being_extracted(engine: Engine) -> None:
    await engine.retain("b", [ItemInput(content="Ann: old words.", document_id="d")], run_async=True)
    await engine.retain("b", [ItemInput(content="Ann: new words.", document_id="d")])
    await engine.jobs.run_until_idle()
    assert await engine.texts("b") == ["Ann: new words."]


async def test_concurrent_replacements_leave_one_of_them_whole(engine: Engine) -> None:
    await engine.retain("b", [ItemInput(content=lines(0, 30), document_id="d")])
    versions = [lines(0, 25 + n) for n in range(6)]
    await asyncio.gather(*(engine.retain("b", [ItemInput(content=text, document_id="d")]) for text in versions))
    stored = (await engine.documents.get("b", "d")).text or ""
    assert stored in versions
    assert "\n".join(sorted(await engine.texts("b"))) == "\n".join(sorted(line.strip() for line in stored.split("\n")))


@pytest.mark.parametrize("run_async", [False, True])
async def test_items_of_one_request_make_up_one_document(engine: Engine, run_async: bool) -> None:
    items = [
        ItemInput(content="Ann: one.", document_id="d", tags=["x"], metadata={"k": "1"}),
        ItemInput(content="Ann: two.", document_id="d", tags=["y"], metadata={"k": "2"}),
    ]
    for _ in range(2):
        await engine.retain("b", items, run_async=run_async)
        await engine.jobs.run_until_idle()
        facts = (await engine.memories.list("b", FactFilter())).items
        assert {(fact.text, fact.tags, fact.metadata["k"]) for fact in facts} == {
            ("Ann: one.", ("x",), "1"),
            ("Ann: two.", ("y",), "2"),
        }
        document = await engine.documents.get("b", "d")
        assert (document.text, set(document.tags)) == ("Ann: one.\nAnn: two.", {"x", "y"})


async def test_tags_of_a_document_are_replaced_with_those_of_its_facts(engine: Engine) -> None:
    await engine.retain("b", [ItemInput(content="Ann: one.\nAnn: two.", document_id="d", tags=["x"])])
    assert await engine.documents.update("b", "d", tags=["y", "y"]) == 2
    assert {fact.tags for fact in (await engine.memories.list("b", FactFilter())).items} == {("y",)}
    await engine.documents.update("b", "d", observation_scopes="shared")
    assert (await engine.documents.get("b", "d")).observation_scopes == "shared"
    assert (await engine.documents.get("b", "d")).tags == ("y",)
    with pytest.raises(InvalidInput):
        await engine.documents.update("b", "d")
    with pytest.raises(InvalidInput, match="holds 201 tags; at most 200"):
        await engine.documents.update("b", "d", tags=[str(number) for number in range(201)])
    with pytest.raises(NotFound):
        await engine.documents.update("b", "other", tags=[])


async def test_a_document_is_deleted_with_all_that_rests_on_it(engine: Engine) -> None:
    await engine.retain("b", [ItemInput(content="Ann: one.\nAnn: two.", document_id="d")])
    chunk = (await engine.documents.chunks("b", "d")).items[0]
    assert (await engine.documents.chunk(chunk.chunk_id)).text == "Ann: one.\nAnn: two."
    assert await engine.documents.delete("b", "d") == 2
    assert await engine.texts("b") == []
    with pytest.raises(NotFound):
        await engine.documents.get("b", "d")
    with pytest.raises(NotFound):
        await engine.documents.chunk(chunk.chunk_id)
    with pytest.raises(NotFound):
        await engine.documents.delete("b", "d")
    with pytest.raises(NotFound):
        await engine.documents.chunk("no chunk id")


async def test_a_document_is_extracted_again_with_the_settings_of_now(engine: Engine) -> None:
    for day, text in ((8, "Ann: I ran yesterday.\nBob: Great race."), (20, "Ann: I swam yesterday.")):
        await engine.retain(
            "b",
            [
                ItemInput(
                    content=text, document_id="d", update_mode="append", timestamp=f"2023-05-{day:02}T12:00:00Z",
                    tags=[f"day:{day}"], entities=[{"text": "Run Club"}],
                )
            ],
        )  # fmt: skip
    await engine.banks.update_config("b", {"retain_extraction_mode": "chunks"})
    operation = await engine.documents.reprocess("b", "d")
    assert len(await engine.texts("b")) == 3
    await engine.jobs.run_until_idle()
    facts = list(reversed((await engine.memories.list("b", FactFilter())).items))
    assert [fact.text for fact in facts] == ["Ann: I ran yesterday.\nBob: Great race.", "Ann: I swam yesterday."]
    assert [fact.mentioned_at and fact.mentioned_at.day for fact in facts] == [8, 20]
    assert [fact.tags for fact in facts] == [("day:8",), ("day:20",)]
    assert all("Run Club" in fact.entities for fact in facts)
    status = await engine.operations.status("b", operation.operation_id)
    assert status.status == "completed"
    assert status.result
    assert status.result["fact_count"] == 2
    with pytest.raises(NotFound):
        await engine.documents.reprocess("b", "other")


async def test_what_is_appended_while_a_document_is_extracted_again_stays(engine: Engine) -> None:
    await engine.retain("b", [ItemInput(content="Ann: one.", document_id="d")])
    await engine.documents.reprocess("b", "d")
    appended = engine.retain("b", [ItemInput(content="Ann: two.", document_id="d", update_mode="append")])
    await asyncio.gather(engine.jobs.run_until_idle(), appended)
    assert sorted(await engine.texts("b")) == ["Ann: one.", "Ann: two."]


async def test_tags_given_later_survive_a_new_extraction(engine: Engine) -> None:
    await engine.retain("b", [ItemInput(content="Ann: one.", document_id="d", tags=["x"])])
    await engine.documents.update("b", "d", tags=["y"])
    await engine.documents.reprocess("b", "d")
    await engine.jobs.run_until_idle()
    assert [fact.tags for fact in (await engine.memories.list("b", FactFilter())).items] == [("y",)]
