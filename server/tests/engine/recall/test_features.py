"""What is known of a candidate, as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hindsight_server.engine.recall.features import (
    FIRST,
    SECOND,
    Evidence,
    Scaled,
    first_features,
    second_features,
)
from hindsight_server.engine.recall.lexical import WordScores
from hindsight_server.engine.recall.maxsim import MaxSim
from hindsight_server.engine.recall.scope import Scope, scope_of
from hindsight_server.engine.recall.semantic import MeaningScores
from hindsight_server.engine.recall.view import BankView
from hindsight_server.ports.records import Snapshot

from .conftest import NO_SEQS, fact_row

NOBODY = Evidence(entities=None, speakers=[], asks_when=False)


def scope(*rows: dict[str, Any], **options: Any) -> Scope:
    made = [fact_row(at + 1, **row) for at, row in enumerate(rows)]
    return scope_of(BankView.built(Snapshot(version=1, rows=made, vectors={}, removed=NO_SEQS)), **options)


def words(*scores: float) -> WordScores:
    turn = np.array(scores, np.float32)
    return WordScores(turn=turn, pair=turn, session=turn, rarity={"term": 2.0})


def meaning(*scaled: float) -> MeaningScores:
    values = np.array(scaled, np.float32)
    return MeaningScores(values / 10, values)


def column(matrix: np.ndarray, name: str) -> list[float]:
    return matrix[:, FIRST.index(name)].tolist()


def test_words_of_another_script_count_as_their_meaning_says() -> None:
    four = scope({}, {}, {}, {})
    found = Scaled(four, words(4, 0, 0, 3), meaning(0.5, 3, 1, 0.5), np.array([1, 2, 3], np.int32))
    plain = Scaled(four, words(4, 0, 0, 3), meaning(0.5, 3, 1, 0.5))
    assert found.turn[0] == plain.turn[0] == 1
    assert plain.turn[1] == 0
    assert found.turn[1] > found.turn[2] > 0
    assert found.turn[1] < 0.5  # less than a fact that holds the very words
    assert found.turn[3] == plain.turn[3]  # shared names and numbers count as ever
    assert found.pair.tolist() == found.session.tolist() == found.turn.tolist()


def test_without_words_or_meaning_nothing_is_made_up() -> None:
    two, foreign = scope({}, {}), np.array([0], np.int32)
    assert Scaled(two, None, meaning(3, 1), foreign).turn.tolist() == [0, 0]
    assert Scaled(two, words(0, 1), None, foreign).turn[0] == 0


def test_hidden_facts_of_another_script_stay_without_score() -> None:
    three = scope({}, {"fact_type": "experience"}, {}, types=("world",))
    found = Scaled(three, words(1, 0, 0), meaning(0.5, float("nan"), 2), np.array([1, 2], np.int32))
    assert found.turn[1] == 0
    assert found.turn[2] > 0


def test_a_turn_is_known_by_the_meaning_of_its_neighbours() -> None:
    talk = scope(*({"document_id": "d", "turn_index": at} for at in range(3)))
    matrix = first_features(talk, NOBODY, Scaled(talk, None, meaning(3, 1, 2)), np.arange(3, dtype=np.int32), None)
    own = column(matrix, "meaning")
    assert column(matrix, "meaning_after") == [own[1], own[2], own[2]]
    assert column(matrix, "meaning_before") == [own[0], own[0], own[1]]


def test_facts_that_nobody_said_have_no_neighbours() -> None:
    notes = scope({}, {}, {})
    matrix = first_features(notes, NOBODY, Scaled(notes, None, meaning(3, 1, 2)), np.arange(3, dtype=np.int32), None)
    own = column(matrix, "meaning")
    for name in ("meaning_before", "meaning_after", "meaning_session"):
        assert column(matrix, name) == own
    assert column(matrix, "answers_meaning") == [0, 0, 0]


@pytest.mark.parametrize(("said", "expected"), [([0, 0, 0], [0, 0, 0]), ([1, 0, 1], [1, 0, 0])])
def test_similarity_counts_on_its_own_for_what_the_named_speaker_said(said: list[int], expected: list[float]) -> None:
    values = np.array([0.9, 0.6, 0.2], np.float32)
    found = second_features(MaxSim(values, values, values), np.ones(3, np.bool_), np.array(said, np.float32))
    assert found[:, SECOND.index("maxsim_speaker")].tolist() == expected
    assert found[0].tolist()[:3] == [1, 1, 1]


def test_what_was_not_compared_is_the_worst_and_what_has_no_words_is_the_middle() -> None:
    values = np.array([0.9, 0.5, 0.3, np.nan, np.nan], np.float32)
    looked_at = np.array([True, True, True, True, False])
    found = second_features(MaxSim(values, values, values), looked_at, np.zeros(5, np.float32))
    own = found[:, SECOND.index("maxsim")].tolist()
    assert own[3] == own[1]
    assert own[4] == own[2] == 0
