"""A question that is asked again and again: its own copies do not hide what answers it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hindsight_server.domain.tags import TagLeaf, TagsMatch
from hindsight_server.engine.recall.repeats import DEMOTION, Repeats

from .conftest import Memory, texts

TIMES = 24


async def _talk(memory: Memory, first: str, question: str, reply: str = "Noted.", times: int = TIMES) -> None:
    await memory.retain({"content": f"Ann: {first}\nBot: {reply.format(0)}", "document_id": "talk"})
    for number in range(1, times):
        content = f"Ann: {question.format(number)}\nBot: {reply.format(number)}"
        await memory.retain({"content": content, "document_id": "talk", "update_mode": "append"})


@pytest.mark.parametrize("budget", ["low", "mid", "high"])
async def test_a_numbered_question_asked_often_is_one_result_beneath_the_answer(memory: Memory, budget: Any) -> None:
    await _talk(memory, "My secret word is heron.", "What is my secret word? ({})")
    found = await memory.texts(f"What is my secret word? ({TIMES})", budget=budget)
    asked = [text for text in found if "What is my" in text]
    assert found[0] == "Ann: My secret word is heron."
    assert asked == [f"Ann: What is my secret word? ({TIMES - 1})"]


async def test_the_same_words_in_another_order_or_case_repeat_the_question_too(memory: Memory) -> None:
    await memory.retain("My sister moved to Porto.")
    variants = ("Where did my sister move?", "So where did my sister move?", "My sister, where did she move?")
    await memory.retain(*variants, "WHERE DID MY SISTER MOVE?")
    found = await memory.texts("Where did my sister move?")
    assert found[0] == "My sister moved to Porto."
    assert len(found) == 2


async def test_a_question_that_says_more_than_the_query_is_evidence(memory: Memory) -> None:
    await memory.retain("Where did my sister Anna move?", "Where did my sister move?", "The kettle is blue.")
    found = await memory.texts("Where did my sister move?")
    assert found.index("Where did my sister Anna move?") < found.index("Where did my sister move?")


async def test_a_statement_of_the_same_words_is_evidence(memory: Memory) -> None:
    await memory.retain("My sister lives in Porto.", "Does my sister live in Porto?", "The kettle is blue.")
    found = await memory.texts("Does my sister live in Porto?")
    assert found[0] == "My sister lives in Porto."


@pytest.mark.parametrize(
    ("told", "query"),
    [
        ("I have a dog. Do you?", "Do I have a dog?"),
        ("I live in Berlin, where do you live?", "Do I live in Berlin?"),
        ("My flight is at 9. Can you do that?", "When is my flight?"),
        ("I was born in 1987, you?", "When was I born?"),
        ("Is my PIN code 4711?", "What is my PIN code?"),
        ("我养狗。你呢？", "我养狗吗？"),
        ("我住在北京，你住在北京吗？", "我住在北京吗？"),
    ],
)
async def test_a_statement_before_a_question_and_a_number_in_it_are_evidence(
    memory: Memory, told: str, query: str
) -> None:
    await memory.retain(told, "The kettle is blue.", "Bread is baked on Fridays.")
    outcome = await memory.ask(query, trace=True)
    assert texts(outcome)[0] == told
    assert not any(one.boosts.get("repeated") for one in outcome.trace.explained)


@pytest.mark.parametrize("asked", ["12. When does Dr. Smith come?", "Dr. Smith, when does he come?"])
async def test_points_commas_and_a_number_in_front_are_no_statement(memory: Memory, asked: str) -> None:
    await memory.retain(asked, "The kettle is blue.")
    outcome = await memory.ask("When does Dr. Smith come?", trace=True)
    assert any(one.boosts.get("repeated") for one in outcome.trace.explained)


async def test_a_question_about_a_question_finds_it(memory: Memory) -> None:
    await memory.retain("What is my secret word?", "The kettle is blue.", "Bread is baked on Fridays.")
    found = await memory.texts("What have I asked you yesterday about my secret word?")
    assert found[0] == "What is my secret word?"


async def test_a_stored_question_is_still_found_when_there_is_nothing_else(memory: Memory) -> None:
    await memory.retain("Where do I live?")
    assert await memory.texts("Where do I live?") == ["Where do I live?"]


async def test_questions_stored_word_for_word_are_folded_as_before(memory: Memory) -> None:
    for document in ("one", "two", "three"):
        await memory.retain({"content": "Where do I live?", "document_id": document})
    [result] = (await memory.ask("Where do I live?")).results
    assert (result.proof_count, len(result.copies)) == (3, 2)


async def test_replies_to_the_question_keep_three_places(memory: Memory) -> None:
    await _talk(memory, "I live in Lisbon since May.", "Where do I live?", "Good one, let me think. {}")
    found = await memory.texts("Where do I live?")
    before = found[: found.index("Ann: I live in Lisbon since May.")]
    assert len(before) <= 3


async def test_questions_of_chinese_users_repeat_too(memory: Memory) -> None:
    await _talk(memory, "我的猫叫小白。", "我的猫叫什么名字？（{}）", "好的。")
    found = await memory.texts("我的猫叫什么名字？")
    assert found[0] == "Ann: 我的猫叫小白。"
    assert sum("什么名字" in text for text in found) == 1


async def test_hidden_questions_change_nothing(memory: Memory) -> None:
    await memory.retain("The safe opens with heron.", "Where does Ann live?", tags=["ann"])
    await memory.retain({"content": "What opens the safe?", "tags": ["bob"]})
    outcome = await memory.ask("What opens the safe?", tags=TagLeaf(("ann",), TagsMatch.ANY_STRICT), trace=True)
    assert texts(outcome)[0] == "The safe opens with heron."
    assert not any("repeat" in note for note in outcome.trace.notes)


async def test_the_trace_says_what_was_left_out_and_why(memory: Memory) -> None:
    await _talk(memory, "My secret word is heron.", "What is my secret word? ({})", times=5)
    outcome = await memory.ask("What is my secret word?", trace=True)
    assert any("only repeat this one: 4." in note for note in outcome.trace.notes)
    shown = [one for one in outcome.trace.explained if one.boosts.get("repeated")]
    assert [one.boosts["repeated"] for one in shown] == [-DEMOTION]


def test_replies_that_say_the_same_count_once() -> None:
    repeats = Repeats(kept=_rows(9), dropped=_rows(), replies=_rows(1, 2, 3, 4, 5))
    points = np.array([5, 4, 3, 2, 1, 9], np.float32)
    added = repeats.demotions(_rows(1, 2, 3, 4, 5, 9), points, np.array([7, 7, 0, 8, 0, 0], np.int64))
    assert added.tolist() == [0, 0, 0, 0, -DEMOTION, -DEMOTION]


def test_what_the_query_spells_out_stays_a_candidate() -> None:
    repeats = Repeats(kept=_rows(4, 1), dropped=_rows(2, 3), replies=_rows())
    assert repeats.candidates(_rows(0, 2, 3, 4), exact=_rows(3)).tolist() == [0, 1, 3, 4]
    assert repeats.candidates(_rows(0, 2), exact=_rows()).tolist() == [0]


def _rows(*rows: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array(rows, np.int32)
