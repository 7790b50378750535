"""Faults that memory systems had, shown where a request over HTTP could not show them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hindsight_server.adapters.text import Analyzer
from hindsight_server.engine.recall.recaller import Recaller

from .conftest import Memory, texts
from .test_recaller import BrokenEmbedder

FACTS = [
    "公司需要在月底之前完成外币汇率换算的核对工作。",
    "我们昨天讨论了精排模型，rerank 精排的效果比粗排好。",
    "东京的会议改到了下周三。",
    "会議の議事録は東京支社の共有フォルダに保存されています。",
    "プロジェクトの締め切りは来月の十日です。",
    "민수는 주말마다 한강공원에서 자전거를 탄다.",
    "회의록은 서울지사의 공유폴더에 저장되어 있다.",
    "ลูกค้าต้องการเปลี่ยนที่อยู่จัดส่งสินค้าเป็นเชียงใหม่",
    "พนักงานใหม่เริ่มงานวันจันทร์หน้า",
    "The office moved to Bergen.",
]


@pytest.mark.feature("S6")
@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("汇率", 0),
        ("换算", 0),
        ("rerank 精排", 1),
        ("精排", 1),
        ("議事録", 3),
        ("締め切り", 4),
        ("プロジェクト", 4),
        ("자전거", 5),
        ("공유폴더", 6),
        ("서울지사", 6),
        ("เชียงใหม่", 7),
        ("ที่อยู่จัดส่ง", 7),
        ("พนักงาน", 8),
    ],
)
async def test_case_a20_words_inside_a_clause_without_spaces_are_found_by_keyword_alone(
    memory: Memory, query: str, wanted: int
) -> None:
    await memory.retain(*FACTS)
    by_words = Memory(
        memory.engine,
        Recaller(memory.engine.store, BrokenEmbedder(loading=False), Analyzer(), memory.engine.clock),
    )
    outcome = await by_words.ask(query)
    assert "semantic" in outcome.trace.degraded
    assert texts(outcome)[0] == FACTS[wanted]
    assert (outcome.results[0].scores.keyword or 0) > 0
    assert outcome.results[0].scores.semantic is None


async def test_case_a19_yesterday_is_told_from_each_question_anew(memory: Memory) -> None:
    for month in (4, 5, 6):
        await memory.retain(f"Ann ate lunch number {month}.", timestamp=f"2026-0{month}-01T12:00:00Z")
    for eaten in (4, 5, 6):
        memory.engine.clock.time = datetime(2026, eaten, 2, 9, tzinfo=UTC)
        found = await memory.ask("What did Ann eat for lunch yesterday?", trace=True)
        (window,) = found.trace.as_dict()["time_windows"]
        assert window["start"].startswith(f"2026-0{eaten}-01")
        assert (window["phrase"], window["source"]) == ("yesterday", "query")
        assert texts(found)[0] == f"Ann ate lunch number {eaten}."
    given = await memory.ask("lunch yesterday", query_timestamp=datetime(2026, 4, 2, 9, tzinfo=UTC))
    assert texts(given)[0] == "Ann ate lunch number 4."
