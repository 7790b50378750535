"""Labels: the vocabulary, and what of it a text states."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.labels import check_labels, find_labels, read_labels

MOOD = {"key": "mood", "type": "value", "values": [{"value": "happy"}, {"value": "very sad"}], "tag": True}
SKILLS = {"key": "skills", "type": "multi-values", "values": [{"value": "Go"}, {"value": "C++"}, {"value": "编程"}]}
TICKET = {"key": "ticket", "type": "text"}
COLOURS = {"key": "colours", "type": "multi-text", "optional": False}
MEAL = {
    "key": "meal",
    "type": "map",
    "fields": {
        "dish": {"type": "text"},
        "course": {"type": "value", "values": [{"value": "starter"}]},
        "wine": {"type": "map", "fields": {"year": {}}},
    },
}


@pytest.mark.feature("R10")
@pytest.mark.parametrize(
    ("groups", "text", "found"),
    [
        ([MOOD], "Happy again, then very  sad.", ["mood:happy"]),
        ([MOOD], "Very sad, not happy.", ["mood:very sad"]),
        ([MOOD], "Unhappy and sad.", []),
        ([{**MOOD, "type": None}], "a happy day", ["mood:happy"]),
        ([SKILLS], "I write C++ and go.", ["skills:C++", "skills:Go"]),
        ([SKILLS], "Google, C++20, 我学编程。", ["skills:编程"]),
        ([TICKET], "Ticket: AB 12; done. ticket = CD", ["ticket:AB 12"]),
        ([TICKET], "The ticket was lost.", []),
        ([COLOURS], "colours: red, dark blue", ["colours:red", "colours:dark blue"]),
        (
            [MEAL],
            "Dish: soup\nas a starter, year: 1999",
            ["meal.dish:soup", "meal.course:starter", "meal.wine.year:1999"],
        ),
        ([MOOD, TICKET], "happy ticket: X", ["mood:happy", "ticket:X"]),
    ],
)
def test_what_a_text_states(groups: list[Any], text: str, found: list[str]) -> None:
    check_labels(groups, "f")
    mentions = find_labels(text, read_labels(json.dumps(groups)))
    assert [mention.name for mention in mentions] == found
    assert all(mention.literal and mention.type == "LABEL" for mention in mentions)


@pytest.mark.feature("R10")
def test_a_label_is_a_tag_where_its_group_says_so() -> None:
    mentions = find_labels("happy in Go", read_labels(json.dumps([MOOD, SKILLS])))
    assert {mention.name: mention.tag for mention in mentions} == {"mood:happy": True, "skills:Go": False}


@pytest.mark.feature("R10")
@pytest.mark.parametrize(
    ("groups", "field"),
    [
        ({"key": "mood"}, "f"),
        (["mood"], "f[0]"),
        ([{"type": "text"}], "f[0].key"),
        ([TICKET, {"key": "Ticket", "type": "text"}], "f[1].key"),
        ([{"key": "a", "type": "enum"}], "f[0].type"),
        ([{"key": "a"}], "f[0].values"),
        ([{"key": "a", "values": ["x"]}], "f[0].values[0]"),
        ([{"key": "a", "values": [{"value": " "}]}], "f[0].values[0].value"),
        ([{"key": "a", "type": "text", "tag": "yes"}], "f[0].tag"),
        ([{"key": "a", "type": "map"}], "f[0].fields"),
        ([{"key": "a", "type": "map", "fields": {"b": {"type": "list"}}}], "f[0].fields.b.type"),
        ([{"key": "a", "type": "map", "fields": {"b": 1}}], "f[0].fields.b"),
    ],
)
def test_what_can_t_be_read_is_named(groups: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_labels(groups, "f")
    assert refused.value.field == field
