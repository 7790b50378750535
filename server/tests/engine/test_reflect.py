"""Reflect without a language model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

import pytest

from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.adapters.text import Analyzer
from hindsight_server.domain.errors import InvalidInput, Overloaded, ReflectFailed
from hindsight_server.domain.model import Fact, FactState, FactType
from hindsight_server.engine.recall.recaller import Recaller
from hindsight_server.engine.recall.types import RecallOutcome, RecallQuery, RecallTrace, ScoredFact, Scores
from hindsight_server.engine.reflect import Reflector, ReflectQuery
from hindsight_server.engine.reflect.answer import CHINESE, ENGLISH, compose, quoted, written_date
from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.store import Store

from .conftest import Engine, SteppingClock

pytestmark = pytest.mark.feature("F8")
SAID = datetime(2023, 5, 8, 9, tzinfo=UTC)
IN_2015 = datetime(2015, 1, 1, tzinfo=UTC)
END_OF_2015 = datetime(2015, 12, 31, 23, 59, tzinfo=UTC)


def fact(number: int, text: str, **changes: object) -> Fact:
    values: dict[str, object] = {
        "seq": number, "fact_id": f"f{number}", "document_id": "d", "chunk_id": None, "turn_index": number,
        "fact_type": FactType.WORLD, "text": text, "mentioned_at": SAID, **changes,
    }  # fmt: skip
    return Fact(**values)  # type: ignore[arg-type]


class ScriptedRecaller:
    """Finds what it is told to find, as the real one would hand it over."""

    def __init__(self, found: Sequence[tuple[Fact, float]] = (), *, degraded: tuple[str, ...] = ()) -> None:
        self.found = found
        self.degraded = degraded
        self.failure: Exception | None = None
        self.arms: tuple[str, ...] = ("keyword", "graph")
        self.asked: list[RecallQuery] = []

    async def recall(self, bank_id: str, query: RecallQuery) -> RecallOutcome:
        self.asked.append(query)
        if self.failure:
            raise self.failure
        results = tuple(ScoredFact(one, Scores(final=score), self.arms) for one, score in self.found)
        return RecallOutcome(results=results, trace=RecallTrace(query=query.query, degraded=self.degraded))


@pytest.fixture
def recaller() -> ScriptedRecaller:
    return ScriptedRecaller(
        [
            (fact(1, "Ann: I moved to Oslo.", occurred_start=IN_2015, occurred_end=END_OF_2015), 0.9),
            (fact(2, "Ann: Oslo is\ncold.", mentioned_at=None, state=FactState.PENDING), 0.7),
            (fact(3, "Bob: tea?"), 0.01),
        ]
    )


@pytest.fixture
def reflector(store: Store, recaller: ScriptedRecaller, clock: SteppingClock) -> Reflector:
    return Reflector(store, recaller, Analyzer(), clock)


async def test_the_answer_quotes_numbered_evidence_with_its_dates(reflector: Reflector) -> None:
    outcome = await reflector.reflect("b", ReflectQuery(query="Where does Ann live?"))
    assert "No language model is configured" in outcome.text
    assert "- “Ann: I moved to Oslo.” (said 8 May 2023; about 2015) [1]" in outcome.text
    assert "- “Ann: Oslo is cold.” (not processed yet) [2]" in outcome.text
    assert [one.fact_id for one in outcome.based_on] == ["f1", "f2"]
    assert outcome.tool_calls[0].tool == "recall"
    assert outcome.structured_output_error is None


async def test_a_chinese_question_is_answered_in_chinese(reflector: Reflector) -> None:
    outcome = await reflector.reflect("b", ReflectQuery(query="安住在哪里？"))
    assert outcome.text.startswith("没有配置语言模型")
    assert "（记录于" not in outcome.text
    assert "(记录于2023年5月8日；所指时间：2015年) [1]" in outcome.text


async def test_nothing_found_is_said_only_after_a_whole_search(
    reflector: Reflector, recaller: ScriptedRecaller
) -> None:
    recaller.found = ()
    outcome = await reflector.reflect("new bank", ReflectQuery(query="Where?"))
    assert "nothing in them fits" in outcome.text
    assert (outcome.based_on, len(recaller.asked)) == ((), 1)
    recaller.degraded = ("semantic",)
    with pytest.raises(ReflectFailed, match="semantic"):
        await reflector.reflect("b", ReflectQuery(query="Where?"))


async def test_an_incomplete_search_is_named(reflector: Reflector, recaller: ScriptedRecaller) -> None:
    recaller.degraded = ("semantic",)
    outcome = await reflector.reflect("b", ReflectQuery(query="Where?"))
    assert "not available (semantic)" in outcome.text
    assert outcome.based_on


async def test_evidence_that_merely_stands_near_is_not_passed_off_as_an_answer(
    reflector: Reflector, recaller: ScriptedRecaller
) -> None:
    recaller.arms = ("semantic", "graph")
    outcome = await reflector.reflect("b", ReflectQuery(query="What is the capital of Mars?"))
    assert "no stored memory clearly answers" in outcome.text
    assert outcome.based_on
    recaller.degraded = ("keyword",)
    with pytest.raises(ReflectFailed):
        await reflector.reflect("b", ReflectQuery(query="What is the capital of Mars?"))


async def test_a_failed_search_is_an_error(reflector: Reflector, recaller: ScriptedRecaller) -> None:
    recaller.failure = RuntimeError("disk on fire at /secret")
    with pytest.raises(ReflectFailed, match="RuntimeError") as failure:
        await reflector.reflect("b", ReflectQuery(query="Where?"))
    assert "secret" not in str(failure.value)
    recaller.failure = Overloaded("busy")
    with pytest.raises(Overloaded):
        await reflector.reflect("b", ReflectQuery(query="Where?"))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"type": "sentence"},
        {"$ref": "http://127.0.0.1:1/schema"},
        {"properties": {"a": {"type": "string", "pattern": "("}}},
    ],
)
async def test_a_schema_that_no_answer_can_follow_is_refused_before_any_search(
    reflector: Reflector, recaller: ScriptedRecaller, schema: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        await reflector.reflect("b", ReflectQuery(query="Where?", response_schema=schema))
    assert refusal.value.field == "response_schema"
    assert recaller.asked == []


@pytest.mark.parametrize("query", ["", " \n", "\0"])
async def test_a_blank_question_is_refused_before_any_search(
    reflector: Reflector, recaller: ScriptedRecaller, query: str
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        await reflector.reflect("b", ReflectQuery(query=query))
    assert refusal.value.field == "query"
    assert recaller.asked == []


async def test_structured_output_needs_a_model(reflector: Reflector) -> None:
    outcome = await reflector.reflect("b", ReflectQuery(query="Where?", response_schema={"type": "object"}))
    assert outcome.structured_output is None
    assert "language model" in (outcome.structured_output_error or "")


async def test_context_and_filters_go_into_the_search(reflector: Reflector, recaller: ScriptedRecaller) -> None:
    await reflector.reflect("b", ReflectQuery(query="Where?", context="Ann's flat", fact_types=("world",)))
    assert recaller.asked[0].query == "Where?\n\nAnn's flat"
    assert recaller.asked[0].types == ("world",)


def test_the_answer_stays_within_its_tokens_but_never_without_evidence() -> None:
    facts = [fact(n, "word " * 50) for n in range(10)]
    text, cited = compose("Found:", facts, ENGLISH, 150, lambda text: len(text.split()))
    assert 1 < len(cited) < 10
    assert len(text.split()) <= 150
    assert len(compose("Found:", facts, ENGLISH, 1, lambda text: len(text.split()))[1]) == 1


def test_very_long_memories_are_cut() -> None:
    assert quoted(fact(1, "x" * 5000)).endswith("x…")
    assert len(quoted(fact(1, "x" * 5000))) <= 600


@pytest.mark.parametrize(
    ("start", "end", "english", "chinese"),
    [
        (date(2015, 1, 1), date(2015, 12, 31), "2015", "2015年"),
        (date(2026, 3, 1), date(2026, 3, 31), "March 2026", "2026年3月"),
        (date(2024, 2, 1), date(2024, 2, 29), "February 2024", "2024年2月"),
        (date(2026, 3, 5), date(2026, 3, 5), "5 March 2026", "2026年3月5日"),
        (date(2026, 3, 5), date(2026, 3, 8), "5 March 2026 to 8 March 2026", "2026年3月5日至2026年3月8日"),
        (date(9999, 12, 31), date.max, "31 December 9999", "9999年12月31日"),
    ],
)
def test_dates_are_named_as_coarsely_as_they_are_known(start: date, end: date, english: str, chinese: str) -> None:
    assert written_date(start, end, ENGLISH) == english
    assert written_date(start, end, CHINESE) == chinese


TALK = """Ann: I adopted a dog yesterday, her name is Luna.
Bob: Lovely! My sister Carol moved to Oslo in 2015.
Bob: 我昨天在上海吃了小笼包。"""


@pytest.mark.parametrize(
    ("question", "quoted_words", "when"),
    [
        ("What is the name of Ann's dog?", "her name is Luna", "about 7 May 2023"),
        ("Where did Carol move?", "moved to Oslo", "about 2015"),
        ("他在上海吃了什么？", "小笼包", "2023年5月7日"),
    ],
)
async def test_the_real_search_finds_what_the_answer_quotes(
    engine: Engine, question: str, quoted_words: str, when: str
) -> None:
    analyzer = Analyzer()
    recaller = Recaller(engine.store, HashingEmbedder(), analyzer, engine.clock)
    reflector = Reflector(engine.store, recaller, analyzer, engine.clock)
    await engine.retain("b", [ItemInput(content=TALK, timestamp="2023-05-08T13:00:00Z", document_id="d")])
    outcome = await reflector.reflect("b", ReflectQuery(query=question))
    first = next(line for line in outcome.text.splitlines() if line.startswith("- "))
    assert quoted_words in first
    assert when in first
    assert outcome.based_on[0].document_id == "d"


async def test_an_empty_bank_holds_no_answer(engine: Engine) -> None:
    analyzer = Analyzer()
    recaller = Recaller(engine.store, HashingEmbedder(), analyzer, engine.clock)
    outcome = await Reflector(engine.store, recaller, analyzer, engine.clock).reflect("new", ReflectQuery(query="Who?"))
    assert "nothing in them fits" in outcome.text
    assert [bank.bank_id for bank in (await engine.banks.list()).items] == ["new"]
