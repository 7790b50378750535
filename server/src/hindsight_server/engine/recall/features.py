"""What is known of a candidate, as numbers of about 0-1: the inputs of the linear model.

`docs/explanation/recall.md` lists each with what it gains. A feature that a bank can't have (no dialogue, no sessions,
no dates, no vectors) is the same for all candidates, so that it changes no order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from hindsight_server.engine.recall.arms import Closeness
from hindsight_server.engine.recall.lexical import WordScores
from hindsight_server.engine.recall.maxsim import MaxSim
from hindsight_server.engine.recall.scope import Scope
from hindsight_server.engine.recall.semantic import MeaningScores
from hindsight_server.engine.recall.view import BankView, BoolArray, Float32Array, Int32Array
from hindsight_server.ports.records import FLAG_QUESTION, FLAG_TIME_EXPRESSION

Floats = TypeVar("Floats", np.float32, np.float64)

FIRST = (
    "turn",
    "pair",
    "session",
    "meaning",
    "meaning_before",
    "meaning_after",
    "meaning_session",
    "answers_words",
    "answers_meaning",
    "speaker",
    "first_speaker",
    "told_then",
    "happened_then",
    "tells_time",
    "is_question",
    "entities",
)
"""Features that need no token vectors, in the order of the matrix."""

SECOND = ("maxsim", "maxsim_pair", "maxsim_after", "maxsim_speaker")
"""Features of the word-by-word comparison."""

OCCASIONAL = frozenset(
    {
        "answers_words",
        "answers_meaning",
        "speaker",
        "first_speaker",
        "told_then",
        "happened_then",
        "tells_time",
        "entities",
        "maxsim_speaker",
    }
)
"""Features that only some questions and banks can have."""

# The ends of 0-1 lie at least this far out: in a bank of three facts the best and the worst may be equally good, and
# all of them good. Banks of a few hundred facts lie beyond. Meaning in deviations from the mean, similarity as it is.
_MEANING_ENDS = (-2.0, 3.0)
_SIMILARITY_ENDS = (0.3, 0.6)
# A text of mean length that holds every term once has the sum of their rarities as its score. What has less than this
# share of it is no full match, even if nothing in the bank has more.
_FAIR_SHARE = 0.5
# A fact in another script than the question's can share hardly any word with it, however well it answers. Its words
# count as at least this share of what its meaning says. Between 0.3 and 0.5 nothing changes on the suites.
_FOREIGN_SHARE = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known of the question and of its entities.

    Args:
        entities: scores of the entity arm by row; None when it did not run.
        speakers: numbers of the speakers that the question names, one list for each name.
        asks_when: whether the question asks for a time.
    """

    entities: Float32Array | None
    speakers: list[list[int]]
    asks_when: bool


class Scaled:
    """The whole-bank scores, scaled to 0-1 over the visible rows; all 0 where an arm is missing.

    Args:
        foreign: rows in another script than the question's.
    """

    def __init__(
        self, scope: Scope, words: WordScores | None, meaning: MeaningScores | None, foreign: Int32Array | None = None
    ) -> None:
        nothing = np.zeros(len(scope.view), np.float32)
        fair = _FAIR_SHARE * sum(words.rarity.values()) if words else 0.0
        self.turn = _over_best(words.turn, fair) if words else nothing
        self.pair = self.turn if words is None or words.pair is words.turn else _over_best(words.pair, fair)
        self.session = self.turn
        if words is not None and words.session is not words.turn:
            self.session = _min_max(words.session, (0.0, 0.0))
        self.meaning = _min_max(meaning.scaled, _MEANING_ENDS) if meaning else nothing
        if words is not None and foreign is not None and len(foreign):
            self.turn, self.pair, self.session = (
                self._spared(scores, foreign) for scores in (self.turn, self.pair, self.session)
            )

    def _spared(self, scores: Float32Array, foreign: Int32Array) -> Float32Array:
        spared = scores.copy()
        spared[foreign] = np.maximum(scores[foreign], np.float32(_FOREIGN_SHARE) * self.meaning[foreign])
        return spared

    def joined(self, weights: Float32Array) -> Float32Array:
        """The weighted sum of turn, pair, session and meaning: which rows are worth a closer look."""
        parts = (self.turn, self.pair, self.session, self.meaning)
        total = np.zeros_like(self.turn)
        for weight, part in zip(weights, parts, strict=True):
            total += weight * part
        return total


def first_features(
    scope: Scope, evidence: Evidence, scaled: Scaled, rows: Int32Array, times: Closeness | None
) -> Float32Array:
    """The matrix of the first features, shape (rows, len(FIRST))."""
    view = scope.view
    before = np.full(len(rows), -1, np.int32) if scope.previous is None else scope.previous[rows]
    after = np.full(len(rows), -1, np.int32) if scope.following is None else scope.following[rows]
    answers = (before >= 0) & ((view.flags[before] & FLAG_QUESTION) > 0)
    only, first = _speaker_features(view, rows, evidence.speakers)
    flags = view.flags[rows]
    nothing = np.zeros(len(rows), np.float32)
    columns = {
        "turn": scaled.turn[rows],
        "pair": scaled.pair[rows],
        "session": scaled.session[rows],
        "meaning": scaled.meaning[rows],
        "meaning_before": np.where(before >= 0, scaled.meaning[before], scaled.meaning[rows]),
        "meaning_after": np.where(after >= 0, scaled.meaning[after], scaled.meaning[rows]),
        "meaning_session": _session_meaning(scope, scaled, rows),
        "answers_words": np.where(answers, _at(scaled.turn, before), 0),
        "answers_meaning": np.where(answers, _at(scaled.meaning, before), 0),
        "speaker": only,
        "first_speaker": first,
        "told_then": nothing if times is None else times.told,
        "happened_then": nothing if times is None else times.happened,
        "tells_time": ((flags & FLAG_TIME_EXPRESSION) > 0) if evidence.asks_when else nothing,
        "is_question": (flags & FLAG_QUESTION) > 0,
        "entities": nothing if evidence.entities is None else evidence.entities[rows],
    }
    return np.stack([columns[name] for name in FIRST], axis=1).astype(np.float32)


def second_features(compared: MaxSim, scored: BoolArray, said: Float32Array) -> Float32Array:
    """The matrix of the second features, shape (rows, len(SECOND)), scaled over those that were compared.

    Candidates too far down to be compared count as the worst of them; texts without token vectors as their median.

    Args:
        scored: which candidates were looked at.
        said: 1 where the one speaker that the question names said it, by candidate: there similarity counts on its own.
    """
    own = _similarity(compared.own, scored)
    columns = {
        "maxsim": own,
        "maxsim_pair": _similarity(compared.pair, scored),
        "maxsim_after": _similarity(compared.following, scored),
        "maxsim_speaker": own * said,
    }
    return np.stack([columns[name] for name in SECOND], axis=1).astype(np.float32)


def _similarity(values: Float32Array, scored: BoolArray) -> Float32Array:
    known = values[~np.isnan(values)]
    if not known.size:
        return np.zeros(len(values), np.float32)
    low, high = _stretched(known, _SIMILARITY_ENDS)
    filled = np.where(np.isnan(values), np.where(scored, middle(known), low), values)
    return _between(filled.astype(np.float32), low, high)


def middle(values: npt.NDArray[np.floating[Any]]) -> Any:
    """The median of numbers, none of which is NaN; numpy's own takes ten times as long for a few hundred."""
    ordered, half = np.sort(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


def without_nan(values: npt.NDArray[Floats], instead: float = 0.0) -> npt.NDArray[Floats]:
    """Numbers with another one in the place of each NaN; infinite ones stay."""
    return np.where(np.isnan(values), values.dtype.type(instead), values)


def _over_best(scores: Float32Array, fair: float) -> Float32Array:
    best = max(float(scores.max()) if len(scores) else 0.0, fair)
    return scores / np.float32(best) if best > 0 else scores


def _min_max(scores: Float32Array, ends: tuple[float, float]) -> Float32Array:
    """Scaled over the rows that have a score; 0 for the others (NaN), which hidden rows are among."""
    if not scores.size:
        return scores
    low, high = float(np.fmin.reduce(scores)), float(np.fmax.reduce(scores))
    if math.isnan(low):
        return np.zeros(len(scores), np.float32)
    low, high = min(low, ends[0]), max(high, ends[1])
    if math.isnan(float(scores.min())):
        scores = np.where(np.isnan(scores), np.float32(low), scores)
    return _between(scores, low, high)


def _stretched(values: Float32Array, ends: tuple[float, float]) -> tuple[float, float]:
    """The least and greatest value, no closer together than `ends`."""
    return min(float(values.min()), ends[0]), max(float(values.max()), ends[1])


def _between(values: Float32Array, low: float, high: float) -> Float32Array:
    """0 at `low`, 1 at `high`."""
    share: Float32Array = (values - low).astype(np.float32, copy=False)
    share /= max(high - low, 1e-6)
    return np.clip(share, 0, 1, out=share)


def _at(values: np.ndarray[tuple[int], np.dtype[np.generic]], rows: Int32Array) -> Float32Array:
    """Values at rows, 0 where the row is -1."""
    return np.where(rows >= 0, values[rows], 0).astype(np.float32)


def _speaker_features(view: BankView, rows: Int32Array, named: list[list[int]]) -> tuple[Float32Array, Float32Array]:
    """Whether the only speaker named said it, and whether the first of several named did."""
    nothing = np.zeros(len(rows), np.float32)
    if not named:
        return nothing, nothing
    said = np.isin(view.speaker[rows], named[0]).astype(np.float32)
    return (said, nothing) if len(named) == 1 else (nothing, said)


def _session_meaning(scope: Scope, scaled: Scaled, rows: Int32Array) -> Float32Array:
    """The best meaning score in the candidate's session."""
    if scope.session is None:
        return scaled.meaning[rows]
    best = np.zeros(len(scope.view), np.float32)
    np.maximum.at(best, scope.session[rows], scaled.meaning[rows])
    of_session: Float32Array = best[scope.session[rows]]
    return of_session
