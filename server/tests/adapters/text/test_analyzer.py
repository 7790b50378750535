"""Search terms: which words are found by which, in every script."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_server.adapters.text import Analyzer, count_tokens
from hindsight_server.ports.analyzer import TextAnalyzer

ANALYZER: TextAnalyzer = Analyzer()


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The cats were running", ["cat", "run"]),
        ("Ann's cats don't run", ["ann", "cat", "run"]),
        ("it’s O’Brien’s café, isn’t it?", ["obrien", "cafe"]),
        ("cat cat dog", ["cat", "cat", "dog"]),
        ("We moved to Zürich", ["move", "zurich"]),
        ("Ｆｕｌｌ　ｗｉｄｔｈ", ["full", "width"]),
        ("$1,000 paid", ["1000", "paid"]),
        ("well-known", ["well", "known"]),
        ("C++ or C#", ["c++", "c", "c#", "c"]),
        ("great!!! 😀 👍🏽 ---", ["great"]),
        ("...?!'\"\\%_*(){}[]", []),
        ("", []),
        ("Привет мир", ["привет", "мир"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
    ],
)
@pytest.mark.feature("S6")
def test_words(text: str, terms: list[str]) -> None:
    assert ANALYZER.index_terms(text) == terms


@pytest.mark.parametrize(
    ("text", "whole", "parts"),
    [
        ("key shopify-prod-key-2024 rotated", "shopify-prod-key-2024", ["shopifi", "prod", "key", "2024"]),
        ("see USE-001.", "use-001", ["use", "001"]),
        ("(v1.2.3)", "v1.2.3", ["v1", "2", "3"]),
        ("PROJ-123's owner", "proj-123", ["proj", "123"]),
        ("open /usr/local/bin/python3", "usr/local/bin/python3", ["usr", "local", "python3"]),
        ("mail bob.smith@example.org, please", "bob.smith@example.org", ["bob", "smith", "exampl"]),
        ("snake_case_name", "snake_case_name", ["snake", "case", "name"]),
        ("订单use-002已完成", "use-002", ["use", "002"]),
    ],
)
@pytest.mark.feature("S8")
def test_identifiers_are_found_whole_and_in_parts(text: str, whole: str, parts: list[str]) -> None:
    terms = ANALYZER.index_terms(text)
    assert whole in terms
    assert set(parts) <= set(terms)
    assert whole in ANALYZER.query_terms(whole.upper())


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("昨天的外币汇率换算超时", "汇率"),
        ("東京タワーに行きました", "東京"),
        ("어제 서울에서 만났어요", "서울"),
        ("ฉันชอบภาษาไทย", "ภาษา"),
        ("用 rerank 精排", "精排"),
        ("他住在我家", "住在"),
    ],
)
@pytest.mark.feature("S6")
def test_scripts_without_spaces(stored: str, asked: str) -> None:
    query = ANALYZER.query_terms(asked)
    assert query
    assert set(query) <= set(ANALYZER.index_terms(stored))


def test_one_character_stands_alone() -> None:
    assert ANALYZER.index_terms("猫") == ["猫"]
    assert ANALYZER.index_terms("a 猫 b") == ["猫", "b"]


def test_question_words_are_dropped_from_queries_only() -> None:
    assert ANALYZER.query_terms("When did Ann paint the sunrise?") == ["ann", "paint", "sunris"]
    assert "when" in ANALYZER.index_terms("Tell me when Ann painted")
    assert ANALYZER.query_terms("我的生日是什么时候") == ["我的", "的生", "生日", "日是"]


def test_a_query_of_question_words_alone_keeps_them() -> None:
    assert ANALYZER.query_terms("The Who") == ["who"]
    assert ANALYZER.query_terms("什么") == ["什么"]


def test_stem_matches_the_index() -> None:
    assert [ANALYZER.stem("Running")] == ANALYZER.index_terms("running")
    assert ANALYZER.stem("the") == "the"


@given(st.text(max_size=300))
def test_any_text_gives_bounded_terms_that_are_not_empty(text: str) -> None:
    for terms in (ANALYZER.index_terms(text), ANALYZER.query_terms(text)):
        assert all(0 < len(term) <= 100 for term in terms)
    assert count_tokens(text) >= (1 if text else 0)


@given(st.text(max_size=200))
def test_case_does_not_matter(text: str) -> None:
    assert ANALYZER.index_terms(text) == ANALYZER.index_terms(text.casefold())


def test_a_megabyte_without_spaces_is_one_bounded_term() -> None:
    for blob in ("x" * 1_000_000, "a-" * 500_000, "-" * 1_000_000, "1," * 500_000):
        assert all(len(term) <= 100 for term in ANALYZER.index_terms(blob))


def test_threads_get_the_same_terms() -> None:
    analyzer = Analyzer()
    words = [
        f"{stem}{ending}" for stem in ("walk", "paint", "climb", "jump") for ending in ("ed", "ing", "s", "er")
    ] * 200
    expected = Analyzer().index_terms(" ".join(words))
    results: list[list[str]] = []
    threads = [threading.Thread(target=lambda: results.append(analyzer.index_terms(" ".join(words)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 8


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("", 0, 0),
        (" ", 1, 1),
        ("I moved to Oslo in May.", 6, 8),
        ("我搬到了奥斯陆，五月份。", 7, 12),
        ("internationalization " * 50, 80, 180),
    ],
)
def test_token_counts_are_near(text: str, low: int, high: int) -> None:
    assert low <= count_tokens(text) <= high


def test_traditional_and_simplified_characters_are_the_same_words() -> None:
    analyzer = Analyzer()
    assert analyzer.index_terms("運費由我們這邊負擔") == analyzer.index_terms("运费由我们这边负担")
    assert analyzer.query_terms("運費為什麼變貴了？") == ["运费", "变贵", "贵了"]
    assert analyzer.query_terms("什麼時候報關？") == analyzer.query_terms("什么时候报关？") == ["报关"]
    assert analyzer.query_terms("何時に会議？") == analyzer.query_terms("何时に会議？")
