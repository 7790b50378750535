"""The exact arm: what is spelled out comes first, and ordinary words never do."""

from __future__ import annotations

import pytest

from hindsight_server.domain.model import Fact, FactType
from hindsight_server.engine.recall.exact import holds
from hindsight_server.engine.recall.named import named_ids
from hindsight_server.engine.recall.types import ArmStatus

from .conftest import Memory, arm, texts

KEYS = [
    "The deployment key is called shopify-prod-key-2024 and expires in June.",
    "The staging key is called shopify-test-key-2024.",
    "The old key of shopify in prod had no year.",
    "Set key=paypal-prod-key-77 in the vault.",
    "The cache runs on 10.0.0.17 since Monday.",
    "The gateway is 10.0.0.1.",
    "Error ERR_TLS_41 means that the certificate ran out.",
    "The order ORD-7781 was shipped to Bergen.",
]


@pytest.fixture
async def keys(memory: Memory) -> Memory:
    await memory.retain(*KEYS, *(f"Ann spoke of keys and orders, number {number}." for number in range(20)))
    return memory


@pytest.mark.feature("S8")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("When does shopify-prod-key-2024 expire?", 0),
        ("SHOPIFY-PROD-KEY-2024", 0),
        ("what is (shopify-prod-key-2024)?", 0),
        ("shopify-prod-key-2024是什么", 0),
        ("where is paypal-prod-key-77 set", 3),  # inside a longer word of the text
        ("what runs on 10.0.0.17?", 4),
        ("who is 10.0.0.1", 5),  # not 10.0.0.17
        ("ERR_TLS_41", 6),
        ("status of ord-7781 please", 7),
        ('"called shopify-test-key-2024"', 1),
    ],
)
async def test_an_identifier_comes_first(keys: Memory, query: str, found: int) -> None:
    outcome = await keys.ask(query)
    assert texts(outcome)[0] == KEYS[found]
    assert outcome.results[0].scores.final > 0.9 > outcome.results[1].scores.final


@pytest.mark.feature("S8")
@pytest.mark.parametrize(
    "query",
    [
        "When does shopify-prod-key expire?",  # only the beginning of one: nothing is guessed
        "shopify-prod-key-20",
        "Which keys did Ann speak of?",
        'What are the "keys" that Ann spoke of?',
        "day-to-day keys",
        "What's up, and/or 24/7?",
    ],
)
async def test_nothing_is_guessed(keys: Memory, query: str) -> None:
    outcome = await keys.ask(query)
    assert all(result.scores.final < 0.9 for result in outcome.results)
    assert outcome.results


async def test_scare_quotes_leave_the_ranking_alone(memory: Memory) -> None:
    await memory.retain(
        "Ann's best friend is Boris.",
        "The best bread is baked in Bergen.",
        "Cyrus knows the best way to Lisbon.",
        "Ann reviewed the noodle restaurant and liked it.",
    )
    plain = await memory.texts("Which noodle restaurant did Ann call best?")
    quoted = await memory.texts('Which noodle restaurant did Ann call "best"?')
    assert quoted == plain
    assert quoted[0] == "Ann reviewed the noodle restaurant and liked it."


async def test_what_many_facts_hold_orders_nothing(memory: Memory) -> None:
    await memory.retain(
        *(f"Run {number}: the build log says all tests passed on the mp3 branch." for number in range(15)),
        "Only on Friday the mp3 branch was slow.",
    )
    for query in ('Who said "all tests passed"?', "when was the mp3 branch slow"):
        assert all(result.scores.final < 0.9 for result in (await memory.ask(query)).results)


@pytest.mark.feature("S8")
@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("summarise report.pdf", "report.pdf"),
        ("what does docs/a-b.md say?", "docs/a-b.md"),
        ('what is in "weekly notes"?', "weekly notes"),
        ("what is in 「会议纪要」？", "会议纪要"),
        ("what does document onboarding say", "onboarding"),
        ("anything in session monday?", "by-session"),
        ("state of task:build-9", "by-task"),
        ("state of build-9?", "by-task"),
        ("state of task build-9", "by-task"),
        ("go on with session chat-5", "by-metadata"),
    ],
)
async def test_a_named_document_session_or_task_comes_first(memory: Memory, query: str, document: str) -> None:
    await memory.retain(
        {"content": "Nothing of note.", "document_id": "report.pdf"},
        {"content": "Nothing of use.", "document_id": "docs/a-b.md"},
        {"content": "Nothing of worth.", "document_id": "weekly notes"},
        {"content": "Nothing of weight.", "document_id": "会议纪要"},
        {"content": "Nothing of interest.", "document_id": "onboarding"},
        {"content": "We waited.", "document_id": "by-session", "tags": ["session:monday"]},
        {"content": "We waited long.", "document_id": "by-task", "tags": ["task:build-9"]},
        {"content": "We waited again.", "document_id": "by-metadata", "metadata": {"session_id": "chat-5"}},
        "The onboarding was on Monday; the weekly report is a pdf with notes of the task and the state of the build.",
    )
    outcome = await memory.ask(query)
    assert outcome.results[0].fact.document_id == document
    assert outcome.results[0].scores.final > 0.9


async def test_a_plain_word_that_is_an_id_is_still_a_word(memory: Memory) -> None:
    await memory.retain({"content": "Nothing of interest.", "document_id": "bees"}, "Ann keeps bees in the garden.")
    outcome = await memory.ask("Who keeps bees?")
    assert texts(outcome)[0] == "Ann keeps bees in the garden."
    assert arm(outcome, "exact").status is ArmStatus.SKIPPED


def _fact(text: str) -> Fact:
    return Fact(seq=1, fact_id="f", document_id="d", chunk_id=None, turn_index=0, fact_type=FactType.WORLD, text=text)


@pytest.mark.parametrize(
    ("text", "wanted", "held"),
    [
        ("the key a-b-1 is old", "a-b-1", True),
        ("the key a-b-12 is old", "a-b-1", False),
        ("the key x-a-b-1 is old", "a-b-1", False),
        ("the key=a-b-1.", "a-b-1", True),
        ("see https://x.y/a-b-1/z", "a-b-1", True),
        ("钥匙a-b-1在这里", "a-b-1", True),
        ("The  Plan\nis good enough", "plan is good", True),
        ("The plan is goodness", "plan is good", False),
        ("数据库连接池满了", "连接池", True),
    ],
)
def test_a_text_is_held_as_a_whole(text: str, wanted: str, held: bool) -> None:
    assert holds(_fact(text), wanted) is held


def test_what_may_be_an_id() -> None:
    assert named_ids("Who keeps bees, and why?") == ()
    assert named_ids("it's Ann's v2-plan.") == ("v2-plan",)
    assert named_ids("文件 报告 说了什么") == ("报告",)
    assert len(named_ids("a-1 " * 1000)) == 1
    assert len(named_ids(" ".join(f"a-{number}" for number in range(1000)))) == 200
