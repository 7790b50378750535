"""Retain with a scripted language model, over the real store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hindsight_server.domain.errors import ModelRefused, ModelUnavailable
from hindsight_server.domain.model import FactType
from hindsight_server.engine.banks import BankInput
from hindsight_server.engine.graph import Graphs
from hindsight_server.engine.retain import ItemInput, mending
from hindsight_server.engine.retain.outcome import shown
from hindsight_server.ports.llm import ChatReply, ChatRequest
from hindsight_server.ports.records import FactFilter

from .conftest import Reading, fact, facts

Read = Callable[..., Reading]
_OPERATION = "7d1f0a5e-2f1c-4a52-9a3e-0c8f1b2d3e4f"


@pytest.mark.feature("R8")
async def test_facts_are_narrative_dated_and_tied_to_their_turn(reading: Read) -> None:
    read = reading(
        [
            facts(
                fact(
                    "Ann moved to Oslo with her two kids.",
                    2,
                    when="last Friday",
                    why="a new job at Equinor",
                    time_words="last Friday",
                    entities=[{"name": "Oslo", "type": "LOCATION"}, {"name": "Equinor", "type": "ORGANIZATION"}],
                )
            )
        ]
    )
    text = "Bob: How was the week?\nAnn: I moved to Oslo with my two kids last Friday, I got a new job at Equinor."
    await read.engine.retain("b", [ItemInput(content=text, timestamp="2023-05-08T14:00:00Z")])
    (only,) = (await read.engine.memories.list("b", FactFilter(), 10)).items
    assert only.text == "Ann moved to Oslo with her two kids. | 5 May 2023 | a new job at Equinor"
    assert only.occurred_start is not None
    assert only.occurred_start.date().isoformat() == "2023-05-05"
    assert (only.turn_index, only.speaker, only.fact_type) == (1, "Ann", FactType.WORLD)
    assert {"Oslo", "Equinor", "Ann"} <= set(only.entities)


@pytest.mark.feature("R8")
async def test_a_fact_says_what_when_where_who_and_why_and_facts_keep_the_order_of_the_text(reading: Read) -> None:
    parts = {"when": "on 5 May 2023", "where": "in Oslo", "who": "with her sister Eve", "why": "to see the harbour"}
    met = fact("Ann met Bob.", 2, **parts, time_words="5 May 2023")
    read = reading([facts(fact("Bob owns a red boat.", 3), met, fact("Bob repairs clocks.", 1))])
    text = (
        "Bob: I repair clocks, you know.\n"
        "Ann: With my sister Eve I met Bob on 5 May 2023 in Oslo, to see the harbour.\nBob: And I own a red boat."
    )
    await read.engine.retain("b", [ItemInput(content=text, timestamp="2023-06-01T10:00:00Z")])
    found = (await read.engine.memories.list("b", FactFilter(), 10)).items
    whole = "Ann met Bob. | on 5 May 2023 | in Oslo | with her sister Eve | to see the harbour"
    ordered = sorted(found, key=lambda one: one.turn_index)
    assert [one.text for one in ordered] == ["Bob repairs clocks.", whole, "Bob owns a red boat."]
    assert [one.turn_index for one in ordered] == [0, 1, 2]
    assert len({one.mentioned_at for one in found}) == 1


@pytest.mark.feature("R2")
@pytest.mark.parametrize(
    ("given", "shown"),
    [("2024-03-06T23:30:00+08:00", "Wednesday 2024-03-06T23:30+08:00"), ("unset", "not known")],
)
async def test_a_model_is_shown_the_local_time(reading: Read, given: str, shown: str) -> None:
    read = reading([facts()])
    await read.engine.retain("b", [ItemInput(content="Ann: I moved to Oslo today.", timestamp=given)])
    (asked,) = read.provider.requests
    assert shown in asked.messages[1].text
    assert "15:30" not in asked.messages[1].text


async def test_names_that_the_caller_gives_are_on_the_facts_of_a_model_too(reading: Read) -> None:
    read = reading([facts(fact("Ann moved to Oslo.", entities=[{"name": "Oslo", "type": "LOCATION"}]))])
    given = [{"text": "Project X"}, {"text": "ann", "type": "PERSON"}]
    await read.engine.retain("b", [ItemInput(content="Ann: I moved to Oslo.", entities=given)])
    (only,) = (await read.engine.memories.list("b", FactFilter(), 10)).items
    assert {"Oslo", "Project X"} <= set(only.entities)
    (project,) = [one for one in (await read.engine.store.list_entities("b", None, 10, 0)).items if "X" in one.name]
    assert project.type == "CONCEPT"


async def test_what_the_text_does_not_bear_out_is_dropped_and_counted(reading: Read) -> None:
    read = reading(
        [
            facts(
                fact("Ann moved to Oslo."),
                fact("Ann met Victor in Oslo."),
                fact("Ann moved to Oslo on 5 May 1999."),
                fact("Ann has three kids in Oslo."),
                fact("Ann hates spiders."),
                fact("Ann moved to Oslo."),
                {"line": 1},
            )
        ]
    )
    outcome = await read.engine.retain("b", [ItemInput(content="Ann: I moved to Oslo with my two kids.")])
    # The turn stays too: its two kids are in none of the facts that held.
    assert await read.engine.texts("b") == ["Ann moved to Oslo.", "Ann: I moved to Oslo with my two kids."]
    assert outcome.unsupported_chunks == 0
    assert outcome.dropped_facts == {"date": 1, "empty": 1, "name": 1, "number": 1, "repeated": 1, "words": 1}
    assert (outcome.input_tokens, outcome.output_tokens) == (10, 5)


async def test_a_turn_that_lost_all_its_facts_stays_as_it_was_said(reading: Read) -> None:
    read = reading([facts(fact("Ann moved to Paris."), fact("Ben sold the car.", 2))])
    await read.engine.retain("b", [ItemInput(content="Ann: I moved to Oslo last year.\nBen: I sold the car today.")])
    assert sorted(await read.engine.texts("b")) == ["Ann: I moved to Oslo last year.", "Ben sold the car."]


@pytest.mark.parametrize(
    "answer",
    [
        facts(fact("Ann moved to Paris.")),
        facts({"what": "", "line": 1}),
        facts(fact("1", when="2026-11-30"), fact("Ann"), {"line": 2}),
        {"facts": ["", None, 7]},
    ],
)
async def test_words_stay_to_be_found_when_nothing_that_the_model_gave_of_them_holds(
    reading: Read, answer: object
) -> None:
    read = reading([answer])
    said = ["Ann: I moved to Oslo last year.", "Ben: I sold the car today."]
    outcome = await read.engine.retain("b", [ItemInput(content="\n".join(said))], operation_id=_OPERATION)
    assert sorted(await read.engine.texts("b")) == said
    assert (outcome.unsupported_chunks, outcome.no_fact_documents, outcome.failed_documents) == (1, 0, ())
    told = await read.engine.operations.status("b", _OPERATION)
    assert told.status == "completed"
    assert told.result is not None
    assert told.result["unsupported_chunks"] == 1
    assert sum(told.result["dropped_facts"].values()) >= 1


async def test_words_stay_when_the_answer_is_cut_however_short_the_passage(reading: Read) -> None:
    read = reading(lambda request: ChatReply(text='{"facts": [{"what": "Ann moved', truncated=True))
    outcome = await read.engine.retain("b", [ItemInput(content="Ann: I moved to Oslo.", document_id="d")])
    assert await read.engine.texts("b") == ["Ann: I moved to Oslo."]
    assert outcome.failed_documents == ("d",)


async def test_facts_beyond_those_that_are_looked_at_are_counted_and_their_turns_stay(reading: Read) -> None:
    said = ["Ann: I moved to Oslo.", "Ann: The lamp was made in Rome."]
    read = reading([facts(*(fact("Ann moved to Oslo.") for _ in range(400)), fact("The lamp was made in Rome.", 2))])
    outcome = await read.engine.retain("b", [ItemInput(content="\n".join(said))])
    assert sorted(await read.engine.texts("b")) == ["Ann moved to Oslo.", said[1]]
    assert outcome.dropped_facts == {"repeated": 399, "too_many": 1}


@pytest.mark.parametrize("run_async", [False, True])
async def test_the_tokens_of_answers_that_were_no_good_are_counted(reading: Read, run_async: bool) -> None:
    read = reading(lambda request: "I would rather not.")
    outcome = await read.engine.retain("b", [ItemInput(content="Ann: I moved to Oslo.")], run_async=run_async)
    used = (outcome.input_tokens, outcome.output_tokens)
    if run_async:
        await read.engine.jobs.run_until_idle()
        result = (await read.engine.operations.status("b", outcome.operation_id or "")).result or {}
        used = (result["input_tokens"], result["output_tokens"])
    assert len(read.provider.requests) == 2
    assert used == (20, 10)


async def test_no_facts_is_a_success_that_can_be_seen(reading: Read) -> None:
    read = reading([facts()])
    outcome = await read.engine.retain("b", [ItemInput(content="Ann: Let us see what comes of it, then.")])
    assert (outcome.fact_count, outcome.no_fact_documents, outcome.failed_documents) == (0, 1, ())
    assert await read.engine.texts("b") == []


@pytest.mark.parametrize(
    "failure",
    [ModelUnavailable("away"), ModelRefused("no such model"), "I would rather not.", ChatReply(text='{"nothing": 1}')],
)
async def test_a_chunk_that_fails_stays_as_it_was_said_and_is_read_again(
    reading: Read, failure: Exception | str
) -> None:
    answers = [failure, failure, facts(fact("Ann moved to Oslo."))]
    read = reading(answers[1:] if isinstance(failure, Exception) else answers)
    outcome = await read.engine.retain("b", [ItemInput(content="Ann: I moved to Oslo.", document_id="d")])
    assert outcome.failed_documents == ("d",)
    assert await read.engine.texts("b") == ["Ann: I moved to Oslo."]
    read.engine.clock.forward(60)
    await read.engine.jobs.run_until_idle()
    assert await read.engine.texts("b") == ["Ann moved to Oslo."]
    (job,) = (await read.engine.operations.list("b")).items
    assert (job.status, job.error) == ("completed", None)


@pytest.mark.feature("R4")
async def test_case_a13_the_same_again_asks_no_model_and_what_is_appended_joins_it(reading: Read) -> None:
    def answer(request: ChatRequest) -> Any:
        lines = request.messages[1].text.partition("The lines to read")[2]
        return facts(fact("Bob sold the boat." if "boat" in lines else "Ann moved to Oslo."))

    read = reading(answer)
    given = ItemInput(content="Ann: I moved to Oslo.", document_id="s1", timestamp="2024-03-06T12:00:00Z")
    await read.engine.retain("b", [given])
    first = (await read.engine.memories.list("b", FactFilter(), 10)).items
    for _ in range(2):
        await read.engine.retain("b", [given])
    assert (await read.engine.memories.list("b", FactFilter(), 10)).items == first
    assert len(read.provider.requests) == 1
    await read.engine.retain("b", [replace(given, content="Bob: I sold the boat.", update_mode="append")])
    assert await read.engine.texts("b") == ["Ann moved to Oslo.", "Bob sold the boat."]
    assert len(read.provider.requests) == 2


@pytest.mark.feature("R9")
async def test_case_a26_the_exact_name_that_a_model_writes_wins_over_a_similar_one(reading: Read) -> None:
    said = [*(f"Dr. Wall closed account {n}." for n in range(4)), "Dr. Waller closed account 9."]
    names = [text.partition(" closed")[0] for text in said]
    people = [{"name": name, "type": "PERSON"} for name in names]
    read = reading([facts(fact(text, entities=[one])) for text, one in zip(said, people, strict=True)])
    for text in said:
        await read.engine.retain("b", [ItemInput(content=text)])
    found = (await read.engine.store.list_entities("b", None, 10, 0)).items
    assert {one.name: one.mention_count for one in found} == {"Dr. Wall": 4, "Dr. Waller": 1}


async def test_the_chunks_beside_one_that_fails_are_read(reading: Read) -> None:
    lines = [f"Ann: I bought lamp number {n} in Oslo, a fine one with a shade of green glass." for n in range(12)]
    failing = [True]

    def answer(request: ChatRequest) -> Any:
        asked = request.messages[1].text
        if failing[0] and "[1] Ann" in asked and "lamp number 0 " in asked.partition("The lines to read")[2]:
            return "I would rather not."
        shown = [line for line in asked.splitlines() if line.startswith("[")]
        numbers = [line.split("number ")[1].split()[0] for line in shown]
        return facts(*(fact(f"Ann bought lamp number {n}.", at) for at, n in enumerate(numbers, start=1)))

    read = reading(answer)
    await read.engine.banks.put("b", BankInput(config={"retain_chunk_size": 350}))
    await read.engine.retain("b", [ItemInput(content="\n".join(lines), document_id="d")])
    texts = await read.engine.texts("b")
    stood_in = [text for text in texts if text in lines]
    assert 0 < len(stood_in) < len(lines)
    read_ones = [f"Ann bought lamp number {n}." for n in range(12)]
    assert sorted(set(texts) - set(stood_in)) == sorted(read_ones[len(stood_in) :])
    failing[0] = False
    asked = len(read.provider.requests)
    read.engine.clock.forward(60)
    await read.engine.jobs.run_until_idle()
    assert len(read.provider.requests) == asked + 1
    assert sorted(await read.engine.texts("b")) == sorted(read_ones)


async def test_an_answer_that_is_too_long_splits_the_chunk(reading: Read) -> None:
    lines = [f"Ann: I bought lamp number {n} in Oslo, a fine one with a shade of green glass." for n in range(8)]

    def answer(request: object) -> object:
        asked = request.messages[-1].text  # type: ignore[attr-defined]
        shown = [line for line in asked.splitlines() if line.startswith("[")]
        if len(shown) > 2:
            return ChatReply(text='{"facts": [', truncated=True)
        return facts(*(fact(f"Ann bought lamp number {line.split('number ')[1].split()[0]}.", at) for at, line in
                       enumerate(shown, start=1)))  # fmt: skip

    read = reading(answer)
    outcome = await read.engine.retain("b", [ItemInput(content="\n".join(lines))])
    assert outcome.failed_documents == ()
    assert sorted(await read.engine.texts("b")) == [f"Ann bought lamp number {n}." for n in range(8)]


async def test_an_async_retain_is_readable_at_once_and_read_by_the_model_later(reading: Read) -> None:
    answered: list[int] = []

    def answer(request: ChatRequest) -> Any:
        answered.append(len(read.provider.requests) - len(answered))
        return facts(fact("Ann moved to Oslo."))

    read = reading(answer, seconds=0.01)
    items = [ItemInput(content=f"Ann: I moved to Oslo, note {n}.", document_id=f"d{n}") for n in range(70)]
    outcome = await read.engine.retain("b", items, run_async=True)
    assert len(await read.engine.texts("b", "pending")) == 70
    await read.engine.jobs.run_until_idle()
    assert await read.engine.texts("b", "pending") == []
    assert set(await read.engine.texts("b")) == {"Ann moved to Oslo."}
    done = await read.engine.operations.status("b", outcome.operation_id or "")
    assert done.status == "completed"
    assert done.result is not None
    assert (done.result["fact_count"], len(done.result["document_ids"])) == (70, 70)
    assert len(read.provider.requests) == 70
    assert max(answered) > 1, "documents are read side by side"
    assert (await read.engine.operations.list("b")).total == 1


async def test_an_async_retain_whose_model_is_away_keeps_the_words_and_is_tried_again(reading: Read) -> None:
    away = True

    def answer(request: object) -> object:
        return ModelUnavailable("away") if away else facts(fact("Ann moved to Oslo."))

    read = reading(answer)
    items = [ItemInput(content=f"Ann: I moved to Oslo, note {n}.", document_id=f"d{n}") for n in range(3)]
    outcome = await read.engine.retain("b", items, run_async=True)
    await read.engine.jobs.run_until_idle()
    waiting = await read.engine.operations.status("b", outcome.operation_id or "")
    assert waiting.status == "pending"
    assert waiting.error is not None
    assert "3 documents" in waiting.error
    assert await read.engine.texts("b", "valid") == [f"Ann: I moved to Oslo, note {n}." for n in range(3)]
    away = False
    read.engine.clock.forward(60)
    await read.engine.jobs.run_until_idle()
    done = await read.engine.operations.status("b", outcome.operation_id or "")
    assert (done.status, done.error) == ("completed", None)
    assert set(await read.engine.texts("b")) == {"Ann moved to Oslo."}


async def test_documents_that_are_read_again_are_told_while_it_goes_on_and_read_side_by_side(
    reading: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mending, "_TOLD_SECONDS", 0.0)
    away = True
    read_again: list[int] = []
    seen: list[dict[str, Any]] = []

    def answer(request: object) -> object:
        if not away:
            read_again.append(len(read.provider.requests))
        return ModelUnavailable("away") if away else facts(fact("Ann moved to Oslo."))

    read = reading(answer, seconds=0.01)
    store = read.engine.store
    items = [ItemInput(content=f"Ann: I moved to Oslo, note {n}.", document_id=f"d{n}") for n in range(5)]
    operation_id = (await read.engine.retain("b", items, run_async=True)).operation_id or ""
    await read.engine.jobs.run_until_idle()
    waiting = await read.engine.operations.status("b", operation_id)
    assert waiting.result is not None
    assert (waiting.result["failed_chunks"], waiting.result["fact_count"]) == (5, 5)
    note_result = store.note_result

    async def noted(operation: Any, result: Any, now: Any) -> None:
        seen.append(shown(result))
        await note_result(operation, result, now)

    monkeypatch.setattr(store, "note_result", noted)
    away = False
    read.engine.clock.forward(60)
    requests = len(read.provider.requests)
    await read.engine.jobs.run_until_idle()
    assert [one["progress"]["processed"] for one in seen] == [0, 1, 2, 3, 4, 5]
    assert {one["progress"]["total"] for one in seen} == {5}
    assert [one.get("failed_chunks", 0) for one in seen] == [5, 4, 3, 2, 1, 0]
    assert [len(one.get("failed_documents", ())) for one in seen] == [5, 4, 3, 2, 1, 0]
    assert {one["fact_count"] for one in seen} == {5}, "each fact takes the place of words that stood in for it"
    assert ("extraction_error" in seen[0], "extraction_error" in seen[-1]) == (True, False)
    assert read_again[0] > requests + 1, "documents are read side by side"
    done = await read.engine.operations.status("b", operation_id)
    assert (done.status, (done.result or {})["fact_count"]) == ("completed", 5)


@pytest.mark.parametrize(
    ("failure", "ends"), [(ModelUnavailable("away"), "completed"), (ModelRefused("unknown model"), "failed")]
)
async def test_a_model_that_is_away_for_half_an_hour_is_waited_for_and_one_that_refuses_is_not(
    reading: Read, failure: Exception, ends: str
) -> None:
    back = False
    read = reading(lambda request: facts(fact("Ann moved to Oslo.")) if back else failure)
    item = ItemInput(content="Ann: I moved to Oslo.", document_id="d")
    outcome = await read.engine.retain("b", [item], run_async=True)
    for minutes in range(60):
        back = minutes >= 30
        await read.engine.jobs.run_until_idle()
        read.engine.clock.forward(60)
    ended = await read.engine.operations.status("b", outcome.operation_id or "")
    assert ended.status == ends
    assert ended.attempts < 12
    assert await read.engine.texts("b") == ["Ann moved to Oslo." if ends == "completed" else "Ann: I moved to Oslo."]


@pytest.mark.feature("R11")
async def test_stated_causes_are_kept_and_shown_in_the_graph(reading: Read) -> None:
    rain, mud = fact("It rained in Oslo all night."), fact("The road to the cabin was mud.", 2, caused_by=[1, 2, 7])
    read = reading([facts(fact("Zora met Quentin in Rome."), rain, mud)])
    text = "Ann: It rained in Oslo all night.\nAnn: So the road to the cabin was mud."
    await read.engine.retain("b", [ItemInput(content=text)])
    graph = await Graphs(read.engine.store).of("b", FactFilter(), 10)
    texts = {one.fact_id: one.text for one in graph.facts}
    causal = [(texts[link.source], texts[link.target]) for link in graph.links if link.kind == "caused_by"]
    assert causal == [("The road to the cabin was mud.", "It rained in Oslo all night.")]


_TURNS = ["Ann: I moved to Oslo with Grace.", "Bob: Is that so?", "Ann: She likes the harbour there very much."]
_LIKES = fact("Grace likes the harbour in Oslo.", entities=[{"name": "Grace", "type": "PERSON"}])


def question(request: ChatRequest) -> str:
    """What a request shows of the text."""
    return request.messages[-1].text


def _appended(text: str) -> ItemInput:
    return ItemInput(content=text, document_id="talk", update_mode="append", timestamp="2023-05-08T14:00:00Z")


@pytest.mark.feature("R8")
@pytest.mark.parametrize("run_async", [False, True])
async def test_an_appended_turn_is_read_with_what_was_said_before_it(reading: Read, run_async: bool) -> None:
    read = reading(
        lambda request: facts(_LIKES) if "[1] Ann" in question(request) and "harbour" in question(request) else facts()
    )
    for text in _TURNS:
        await read.engine.retain("b", [_appended(text)], run_async=run_async)
        await read.engine.jobs.run_until_idle()
    asked = [question(request) for request in read.provider.requests if "harbour" in question(request)]
    assert len(asked) == 1
    before = asked[0].partition("for understanding only")[2].partition("The lines to read")
    assert all(text.partition(": ")[2] in before[0] for text in _TURNS[:2])
    assert "Oslo" not in before[2]
    assert await read.engine.texts("b") == ["Grace likes the harbour in Oslo."]


async def test_an_appended_turn_is_read_with_what_is_stored_though_no_model_reads_the_one_before(reading: Read) -> None:
    read = reading(lambda request: facts())
    strategies = {"plain": {"retain_extraction_mode": "chunks"}}
    await read.engine.banks.put("b", BankInput(config={"retain_strategies": strategies}))
    stored, between, last = map(_appended, _TURNS)
    await read.engine.retain("b", [stored])
    await read.engine.retain("b", [replace(between, strategy="plain"), last])
    before = question(read.provider.requests[-1]).partition("for understanding only")[2].partition("The lines")[0]
    assert "moved to Oslo" in before
    assert "Is that so?" in before


async def test_what_was_said_before_gives_names_but_no_facts(reading: Read) -> None:
    told = [_LIKES, fact("Ann moved to Oslo with Grace."), fact("Grace likes 7 harbours in Oslo.")]
    read = reading(lambda request: facts(*told) if "harbour" in question(request) else facts())
    for text in _TURNS:
        outcome = await read.engine.retain("b", [_appended(text)])
    assert await read.engine.texts("b") == ["Grace likes the harbour in Oslo."]
    assert sum(outcome.dropped_facts.values()) == 2


async def test_what_was_said_before_is_bounded_and_the_same_when_all_is_read_again(reading: Read) -> None:
    read = reading(lambda request: facts())
    said = [f"Ann: This is thing number {number}, which I wrote down." for number in range(12)]
    for text in said:
        await read.engine.retain("b", [_appended(text)])
    first = [question(request) for request in read.provider.requests]
    assert [number for number in range(12) if f"number {number}," in first[-1]] == [5, 6, 7, 8, 9, 10, 11]
    await read.engine.retainer.reprocess("b", "talk")
    await read.engine.jobs.run_until_idle()
    assert sorted(question(request) for request in read.provider.requests[12:]) == sorted(first)
    long = "Ann: " + "It was a long and windy road. " * 200
    await read.engine.retain("b", [_appended(long)])
    await read.engine.retain("b", [_appended("Ann: And that was it, I believe.")])
    before = (
        question(read.provider.requests[-1]).partition("for understanding only")[2].partition("The lines to read")[0]
    )
    assert 1900 < len(before) < 2200


async def test_an_appended_part_that_comes_again_in_its_document_is_not_read_again(reading: Read) -> None:
    read = reading(
        lambda request: facts(_LIKES) if "harbour" in question(request) else facts(fact("Ann moved to Oslo."))
    )
    items = [_appended(_TURNS[0]), _appended(_TURNS[2])]
    await read.engine.retain("b", items)
    asked = len(read.provider.requests)
    again = [replace(item, update_mode=None) for item in items]
    await read.engine.retain("b", again)
    assert len(read.provider.requests) == asked
    assert sorted(await read.engine.texts("b")) == ["Ann moved to Oslo.", "Grace likes the harbour in Oslo."]


async def test_a_bank_that_is_deleted_while_the_model_reads_is_no_error(
    reading: Read, caplog: pytest.LogCaptureFixture
) -> None:
    asked = asyncio.Event()

    def answer(request: object) -> object:
        asked.set()
        return facts(fact("Ann moved to Oslo."))

    read = reading(answer)
    deleted = asyncio.create_task(_deleted_when(asked, read))
    await read.engine.retain("b", [ItemInput(content="Ann: I moved to Oslo.", document_id="d")], run_async=True)
    caplog.set_level("INFO")
    await read.engine.jobs.run_until_idle()
    await deleted
    assert "was deleted while it ran" in caplog.text
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
    assert (await read.engine.banks.list()).total == 0


async def _deleted_when(asked: asyncio.Event, read: Reading) -> None:
    await asked.wait()
    await read.engine.banks.delete("b")
