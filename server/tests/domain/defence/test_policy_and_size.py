"""Policies are checked, sizes are measured, JSON stays JSON."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_server.domain.defence.json_text import changed_json, is_json
from hindsight_server.domain.defence.policy import Action, Detector, Policy, read_policy
from hindsight_server.domain.defence.size import SizeLimits, size_anomalies
from hindsight_server.domain.errors import InvalidInput

pytestmark = pytest.mark.feature("R15")


def rules(*given: Any) -> dict[str, Any]:
    return {"enabled": True, "rules": list(given)}


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"enabled": "yes"}, "m.enabled"),
        ({"enable": True}, "m.enable"),
        ({"enabled": True, "rules": {}}, "m.rules"),
        (rules("sensitive_data"), "m.rules[0]"),
        (rules({"action": "block"}), "m.rules[0].on"),
        (rules({"on": "sensitive_data", "action": "block"}, {"on": "pii", "action": "block"}), "m.rules[1].on"),
        (rules({"on": "sensitive_data"}), "m.rules[0].action"),
        (rules({"on": "sensitive_data", "action": "allow"}), "m.rules[0].action"),
        (rules({"on": "size_anomaly", "action": "redact"}), "m.rules[0].action"),
        (rules({"on": "protected_tags", "action": "redact", "tags": ["x"]}), "m.rules[0].action"),
        (rules({"on": "protected_tags", "action": "block"}), "m.rules[0].tags"),
        (rules({"on": "immutable_tags", "action": "block", "tags": []}), "m.rules[0].tags"),
        (rules({"on": "immutable_tags", "action": "block", "tags": [" "]}), "m.rules[0].tags"),
        (rules({"on": "sensitive_data", "action": "block", "labels": ["emial"]}), "m.rules[0].labels"),
        (rules({"on": "sensitive_data", "action": "block", "labels": "email"}), "m.rules[0].labels"),
        (rules({"on": "sensitive_data", "action": "block", "tags": ["x"]}), "m.rules[0].tags"),
        (rules({"on": "size_anomaly", "action": "block", "max_chars": 0}), "m.rules[0].max_chars"),
        (rules({"on": "size_anomaly", "action": "block", "max_chars": True}), "m.rules[0].max_chars"),
        (rules({"on": "size_anomaly", "action": "block", "max_chars": 1.5}), "m.rules[0].max_chars"),
        (rules({"on": "size_anomaly", "action": "block", "min_variety": 2}), "m.rules[0].min_variety"),
        ({"enabled": False, "rules": [{"on": "x", "action": "block"}]}, "m.rules[0].on"),
    ],
)
def test_what_cannot_be_a_policy_is_refused_by_field(value: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_policy(value, "m")
    assert caught.value.field == field
    assert field in str(caught.value)


def test_a_policy_is_read() -> None:
    policy = read_policy(
        rules(
            {"on": "sensitive_data", "action": "redact", "labels": ["email"]},
            {"on": "size_anomaly", "action": "block", "max_chars": 10},
            {"on": "protected_tags", "action": "block", "tags": ["system:*"]},
        ),
        "m",
    )
    first, second, third = policy.rules
    assert (first.on, first.action, first.labels) == (Detector.SENSITIVE_DATA, Action.REDACT, frozenset({"email"}))
    assert second.limits == SizeLimits(max_chars=10)
    assert policy.of(Detector.PROTECTED_TAGS) == (third,)
    assert [third.covers(tag) for tag in ("system:a", "SYSTEM:", "system", "a system:")] == [True, True, False, False]


@pytest.mark.parametrize("value", [None, {}, {"enabled": False, "rules": [{"on": "size_anomaly", "action": "block"}]}])
def test_a_policy_that_is_off_has_no_rules(value: dict[str, Any] | None) -> None:
    assert read_policy(value, "m") == Policy()


PROSE = "Ann moved to Oslo in 2015, and her brother followed a year later with his two dogs. "


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a b" * 100_000, "more than 200000"),
        ("x" + " " * 1_001 + "y", "one character"),
        ("=" * 1_001, "one character"),
        ("\n" * 5_000, "one character"),
        (PROSE + "Q1" * 2_600 + PROSE, "without a space"),
        (PROSE * 200, "repeats itself"),
    ],
)
def test_floods_are_told(text: str, told: str) -> None:
    assert any(told in problem for problem in size_anomalies(text, SizeLimits()))


@pytest.mark.parametrize(
    "text",
    [
        "",
        PROSE,
        "-" * 1_000,
        "A" * 999 + " " + "A" * 999,
        "他在二零一五年搬到了奥斯陆" * 20,
        " ".join(random.Random(1).choices(PROSE.split(), k=20_000)),
        "Q1" * 2_499,
    ],
)
def test_ordinary_sizes_pass(text: str) -> None:
    assert list(size_anomalies(text, SizeLimits())) == []


@given(st.integers(1, 300), st.integers(0, 200), st.integers(2, 60))
def test_a_run_is_found_wherever_it_lies(length: int, before: int, limit: int) -> None:
    text = ("ab" * 100)[:before] + "#" * length + ("ba" * 100)
    found = list(size_anomalies(text, SizeLimits(max_same_character=limit, max_unbroken=10_000)))
    assert bool(found) == (length > limit)


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["a", "ab", "a" * 999 + "b", "A1" * 2_499 + " ", " ", "中", "\n"])
def test_ten_times_the_size_takes_about_ten_times_as_long(piece: str) -> None:
    small, large = ((piece * (size // len(piece) + 1))[:size] for size in (100_000, 1_000_000))
    assert _seconds(large) < 30 * max(_seconds(small), 0.004)


def _seconds(text: str) -> float:
    start = time.thread_time()
    list(size_anomalies(text, SizeLimits()))
    return time.thread_time() - start


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(VALUES, max_size=4), st.sampled_from([None, 2]), st.booleans())
def test_json_that_is_not_changed_is_the_same_text(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert is_json(text)
    assert changed_json(text, lambda plain, _: plain) == text


@given(st.lists(VALUES, max_size=4))
def test_json_that_is_changed_stays_json(value: Any) -> None:
    text = changed_json(json.dumps(value), lambda plain, _: f'"{plain}\\')
    assert json.loads(text) == _changed(value)


def _changed(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, list):
        return [_changed(part) for part in value]
    if isinstance(value, dict):
        return {_changed(name): _changed(part) for name, part in value.items()}
    return f'"{value if isinstance(value, str) else json.dumps(value)}\\'


def test_names_are_told_and_lines_of_json_are_json() -> None:
    seen: list[tuple[str, str]] = []

    def note(plain: str, name: str) -> str:
        seen.append((plain, name))
        return plain

    text = '{"a": "x", "b": ["y", 12]}\n{"c": {"d": "z"}, "a": "w"}'
    assert is_json(text)
    changed_json(text, note)
    assert [pair for pair in seen if pair[1]] == [("x", "a"), ("y", "b"), ("12", "b"), ("z", "d"), ("w", "a")]


@pytest.mark.parametrize("text", ["", "x", "[", '{"a": 1', "[1]\nx", "12", '"text"', "[" * 100_000])
def test_other_texts_are_no_json(text: str) -> None:
    assert not is_json(text)


def test_the_values_of_a_list_stand_under_its_name() -> None:
    seen: list[tuple[str, str]] = []

    def note(plain: str, name: str) -> str:
        seen.append((plain, name))
        return plain

    changed_json('{"key": [["a", "b"], {"in": "c", "of": ["d"]}, "e"], "then": "f"}\n["g", {"x": "h"}, "i"]', note)
    values = [one for one in seen if len(one[0]) == 1 and one[0] != "x"]
    named = {"a": "key", "b": "key", "c": "in", "d": "of", "e": "key", "f": "then", "g": "", "h": "x", "i": ""}
    assert dict(values) == named
