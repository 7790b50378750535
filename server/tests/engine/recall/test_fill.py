"""Token budgets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hindsight_server.adapters.text import Analyzer
from hindsight_server.engine.recall.fill import cut_to_tokens, fitting, line_tokens, list_tokens


@given(st.lists(st.integers(1, 50), max_size=60), st.integers(0, 300))
def test_never_over_budget_and_in_rank_order(tokens: list[int], budget: int) -> None:
    taken = fitting(tokens, budget)
    assert taken == sorted(set(taken))
    assert list_tokens([tokens[at] for at in taken]) <= budget
    # The first is left out only when it can't fit.
    assert (not tokens) or tokens[0] + line_tokens(1) > budget or taken[0] == 0


def test_search_for_shorter_results_ends() -> None:
    assert fitting([5] + [100] * 50 + [1], 15) == [0]
    assert fitting([5, 100, 1], 15) == [0, 2]


@given(st.lists(st.text(max_size=30).filter(str.strip), min_size=1, max_size=30), st.integers(1, 3000))
def test_a_list_has_no_more_tokens_than_counted(texts: list[str], first: int) -> None:
    count = Analyzer().count_tokens
    lines = [(number, " ".join(text.split())) for number, text in enumerate(texts, start=first)]
    counted = sum(count(text) + line_tokens(number) for number, text in lines)
    assert count("\n".join(f"{number}. {text}" for number, text in lines)) <= counted


@given(st.text(max_size=400), st.integers(0, 40))
def test_cut_text_is_a_beginning_within_its_budget(text: str, budget: int) -> None:
    analyzer = Analyzer()
    cut = cut_to_tokens(text, budget, analyzer)
    assert text.startswith(cut)
    assert cut == "" or analyzer.count_tokens(cut) <= budget
    assert cut == text or analyzer.count_tokens(text) > budget or budget == 0
