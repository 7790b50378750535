"""The columns that recall keeps follow the same rules as `domain.identity`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hindsight_server.domain.identity import ADAPTER_CONTEXTS, TurnPlace, previous_turns, sessions
from hindsight_server.engine.recall.neighbours import Keys, Neighbours, derive

START = datetime(2024, 3, 5, 10, tzinfo=UTC)
# Documents whose turns name a session, all of them or (MIXED) only the even ones.
MIXED = "f"
NAMED = {
    "b": {"tags": ("session:1", "colour:blue")},
    "c": {"metadata": {"session_id": "9"}},
    "d": {"tags": ("session:1",)},
    MIXED: {"tags": ("session:2",)},
}


def placed(document_id: str, turn_index: int, context: str | None, minutes: int | None) -> TurnPlace:
    named = {} if document_id == MIXED and turn_index % 2 else NAMED.get(document_id, {})
    return TurnPlace(
        document_id=document_id,
        turn_index=turn_index,
        context=context,
        timestamp=None if minutes is None else START + timedelta(minutes=minutes),
        tags=named.get("tags", ()),
        metadata=named.get("metadata", {}),
    )


PLACES = st.lists(
    st.builds(
        placed,
        document_id=st.sampled_from("aabcdeff"),
        turn_index=st.integers(0, 3),
        context=st.sampled_from([None, "chat", "talk", "haystack"]),
        minutes=st.none() | st.integers(0, 120),
    ),
    max_size=10,
    unique_by=lambda place: (place.document_id, place.turn_index),
)


def interned(values: list[str | None]) -> np.ndarray:
    numbers = {value: number for number, value in enumerate(sorted({v for v in values if v is not None}))}
    return np.array([-1 if value is None else numbers[value] for value in values], np.int32)


def explicit(place: TurnPlace) -> str | None:
    return next((tag for tag in place.tags if tag.startswith("session:")), place.metadata.get("session_id"))


@given(PLACES)
def test_same_neighbours_and_sessions(places: list[TurnPlace]) -> None:
    keys = Keys(
        document=interned([place.document_id for place in places]),
        turn=np.array([place.turn_index for place in places], np.int32),
        context=interned([place.context for place in places]),
        adapter=np.array([place.context in ADAPTER_CONTEXTS for place in places], np.bool_),
        explicit=interned([explicit(place) for place in places]),
        time=np.array([place.timestamp.timestamp() if place.timestamp else np.nan for place in places]),
    )
    rows = np.arange(len(places), dtype=np.int32)
    found = derive(Neighbours.empty(), keys, np.ones(len(places), np.bool_), rows)
    assert [None if row < 0 else int(row) for row in found.previous] == previous_turns(places)

    expected = sessions(places)
    for a in range(len(places)):
        assert (found.session[a] < 0) == (expected[a] is None)
        for b in range(a):
            if expected[a] is not None and expected[b] is not None:
                assert (found.session[a] == found.session[b]) == (expected[a] == expected[b])
