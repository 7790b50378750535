"""The columns that recall keeps follow the rules as plain Python has them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from .places import TurnPlace, derived, derived_previous, previous_by_rule, sessions_by_rule

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


@given(PLACES)
def test_same_neighbours_and_sessions(places: list[TurnPlace]) -> None:
    assert derived_previous(places) == previous_by_rule(places)

    found, expected = derived(places), sessions_by_rule(places)
    for a in range(len(places)):
        assert (found.session[a] < 0) == (expected[a] is None)
        for b in range(a):
            if expected[a] is not None and expected[b] is not None:
                assert (found.session[a] == found.session[b]) == (expected[a] == expected[b])
