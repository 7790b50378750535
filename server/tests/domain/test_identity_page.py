"""The tables of docs/explanation/identity.md hold."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hindsight_server.domain.identity import fold_number, made_document_id, named_session
from hindsight_server.domain.model import Interval
from hindsight_server.domain.noise import is_noise
from hindsight_server.domain.turns import split_turns

from .places import TurnPlace, derived, derived_previous

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "identity.md"


def rows(table: str) -> list[list[str]]:
    text = PAGE.read_text(encoding="utf-8")
    body = text.split(f"<!-- table: {table}", 1)[1].split("-->", 1)[1].strip().split("\n\n", 1)[0]
    found = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in body.splitlines()[2:]]
    assert found, f"no rows in table {table}"
    return found


def code(cell: str) -> str:
    return cell.strip("`")


def place(cell: str) -> TurnPlace:
    """A turn as the tables write it: "document d, turn 0, context chat, tag a:b, metadata session_id 9, 10:00"."""
    clock = re.search(r"(\d\d):(\d\d)", cell)
    document = re.search(r"document (\w+)", cell)
    turn = re.search(r"turn (\d+)", cell)
    context = re.search(r"context (\w+)", cell)
    session = re.search(r"metadata session_id (\w+)", cell)
    return TurnPlace(
        document_id=document[1] if document else "d",
        turn_index=int(turn[1]) if turn else 0,
        context=context[1] if context else None,
        timestamp=datetime(2024, 3, 5, int(clock[1]), int(clock[2]), tzinfo=UTC) if clock else None,
        tags=re.findall(r"tag (\S+?)(?:,|$)", cell),
        metadata={"session_id": session[1]} if session else {},
    )


@pytest.mark.parametrize(("content", "turns"), rows("turns"))
def test_turns(content: str, turns: str) -> None:
    text = json.loads(code(content))
    split = split_turns(text)
    assert [[turn.speaker, turn.text] for turn in split.turns] == json.loads(code(turns))
    assert [turn.index for turn in split.turns] == list(range(len(split.turns)))


@pytest.mark.parametrize(("text", "noise"), rows("noise"))
@pytest.mark.feature("R16")
def test_noise(text: str, noise: str) -> None:
    assert is_noise(json.loads(code(text))) is (noise == "yes")


@pytest.mark.parametrize(("a", "b", "neighbours"), rows("neighbours"))
def test_neighbours(a: str, b: str, neighbours: str) -> None:
    places = [place(a), place(b)]
    assert derived_previous(places) == [None, 0 if neighbours == "yes" else None]
    assert derived_previous(places[::-1]) == [1 if neighbours == "yes" else None, None]


@pytest.mark.parametrize(("turn", "turn_count", "session"), rows("sessions"))
def test_sessions(turn: str, turn_count: str, session: str) -> None:
    kind = session.strip("`").partition(":")[0]
    one = place(turn)
    assert named_session(one.tags, one.metadata) == (code(session) if kind in ("tag", "metadata") else None)

    said_next = None if one.timestamp is None else one.timestamp + timedelta(minutes=1)
    others = [TurnPlace(document_id="d", turn_index=index) for index in range(1, int(turn_count))]
    elsewhere = TurnPlace(document_id="e", turn_index=0, context=one.context, timestamp=said_next)
    own, *of_document, of_context = derived([one, *others, elsewhere]).session.tolist()
    assert (own >= 0) is (kind != "none")
    assert (own in of_document) is (kind == "document")
    assert (own >= 0 and own == of_context) is (kind == "context")


def test_a_task_id_is_a_session_where_no_session_id_is() -> None:
    task = replace(place("document d, turn 0"), metadata={"task_id": "t1"})
    both = replace(task, metadata={"task_id": "t1", "session_id": "s1"})
    blank = replace(task, metadata={"task_id": "t1", "session_id": ""})
    keys = [named_session(one.tags, one.metadata) for one in (task, both, blank)]
    assert keys == ["metadata:t1", "metadata:s1", "metadata:t1"]


@pytest.mark.parametrize(("a", "b", "folded"), rows("folding"))
@pytest.mark.feature("R16")
def test_folding(a: str, b: str, folded: str) -> None:
    def number(cell: str) -> int:
        day = re.search(r" \[(\S+)\]$", cell)
        speaker, text = re.split(r":\s|：", cell[: day.start()] if day else cell, maxsplit=1)
        at = datetime.fromisoformat(day[1]).replace(tzinfo=UTC) if day else None
        return fold_number(text, speaker=speaker, occurred=Interval(start=at, end=at) if at else None)

    assert (number(a) == number(b)) is (folded == "yes")


def test_a_context_is_split_at_long_pauses() -> None:
    start = datetime(2024, 3, 5, 10, tzinfo=UTC)
    minutes = [0, 20, 45, 100, 110]
    places = [
        TurnPlace(document_id=str(m), turn_index=0, context="chat", timestamp=start + timedelta(minutes=m))
        for m in minutes
    ]
    for told in (places, places[::-1]):
        first, second, third, fourth, fifth = (derived(told).session[told.index(one)] for one in places)
        assert first == second == third != fourth == fifth


def test_equal_times_tell_no_order() -> None:
    at = datetime(2024, 3, 5, 10, tzinfo=UTC)
    places = [TurnPlace(document_id=name, turn_index=0, context="chat", timestamp=at) for name in "abc"]
    assert derived_previous(places) == [None, None, None]


def test_made_document_ids() -> None:
    first = made_document_id(bank_id="b", operation_id="op", item_index=0)
    assert first == made_document_id(bank_id="b", operation_id="op", item_index=0)
    others = {
        made_document_id(bank_id="b", operation_id="op", item_index=1),
        made_document_id(bank_id="c", operation_id="op", item_index=0),
        made_document_id(bank_id="b", operation_id=None, item_index=0),
        made_document_id(bank_id="b", operation_id=None, item_index=0),
    }
    assert len(others | {first}) == 5
