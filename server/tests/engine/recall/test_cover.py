"""Questions for several things: the first places go to more than one session."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hindsight_server.engine.recall.cover import covering, over_sessions
from hindsight_server.engine.recall.reranking import EXACT_FROM, Ranked

from .conftest import Memory, talk, texts

scored = st.lists(st.tuples(st.floats(-15, 8, width=32), st.integers(0, 6)), max_size=90)


def ranked(finals: list[float], exact: list[int]) -> Ranked:
    rows = np.arange(len(finals), dtype=np.int32)
    return Ranked(
        rows=rows,
        places=rows.copy(),
        final=np.array(finals, np.float32),
        reranker=None,
        features=np.zeros((len(finals), 1), np.float32),
        weights=np.ones(1, np.float32),
        exact=np.array(exact, np.int32),
    )


def test_another_session_goes_before_a_slightly_better_fact_of_the_same() -> None:
    scores = np.array([3.0, 2.9, 2.8])
    assert covering(scores, np.array([1, 1, 2], np.int32)).tolist() == [0, 2, 1]
    assert covering(scores - np.array([0.0, 0.0, 1.0]), np.array([1, 1, 2], np.int32)).tolist() == [0, 1, 2]


@given(scored)
def test_every_fact_stays_and_the_order_within_a_session_too(given_scores: list[tuple[float, int]]) -> None:
    given_scores.sort(key=lambda one: -one[0])
    scores = np.array([score for score, _ in given_scores])
    sessions = np.array([session for _, session in given_scores], np.int32)
    order = covering(scores, sessions)
    assert sorted(order.tolist()) == list(range(len(scores)))
    for session in set(sessions.tolist()):
        own = [place for place in order.tolist() if sessions[place] == session]
        assert own == sorted(own)


@given(scored)
def test_where_every_fact_is_its_own_session_nothing_moves(given_scores: list[tuple[float, int]]) -> None:
    scores = np.array(sorted((score for score, _ in given_scores), reverse=True))
    assert covering(scores, np.arange(len(scores), dtype=np.int32)).tolist() == list(range(len(scores)))


def test_final_scores_never_rise_and_exact_facts_stay_first() -> None:
    finals = [0.99, 0.95, 0.5, 0.49, 0.48, 0.1]
    spread = over_sessions(ranked(finals, exact=[0, 1]), np.array([1, 1, 1, 1, 2, 2], np.int32))
    assert spread.rows.tolist() == [0, 1, 2, 4, 3, 5]
    assert spread.places.tolist() == spread.rows.tolist()
    assert np.all(np.diff(spread.final) <= 0)
    assert spread.final[1] > EXACT_FROM > spread.final[2]


async def test_a_question_for_several_things_hears_of_two_evenings(memory: Memory) -> None:
    """Only such a question does: asked for one thing, the evening that fits best comes whole."""
    evening = [("Ann", f"I read the book {title} with joy.") for title in ("Alpha", "Beta", "Gamma", "Delta")]
    await memory.retain(talk(*evening), talk(("Ann", "I read the book Omega with joy.")))

    several = await memory.ask("Which books has Ann read with joy?", trace=True)
    single = await memory.ask("Which book has Ann read with joy?", trace=True)
    assert "Omega" in " ".join(texts(several)[:4])
    assert "Omega" not in " ".join(texts(single)[:4])
    finals = [result.scores.final for result in several.results]
    assert finals == sorted(finals, reverse=True)
    assert any("several things" in note for note in several.trace.notes)
    assert not any("several things" in note for note in single.trace.notes)
