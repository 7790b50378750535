"""What is found as sensitive data, what is not, and how long it takes."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_server.adapters.detect import SensitiveData
from hindsight_server.adapters.extract.entities import find_names, speaker_entity
from hindsight_server.domain.defence.findings import redacted
from hindsight_server.domain.defence.labels import SENSITIVE_LABELS

from .cases import CLEAN, FOUND, made

DETECTOR = SensitiveData()
pytestmark = pytest.mark.feature("R15")


@pytest.mark.parametrize(("label", "around", "secret"), FOUND, ids=lambda value: str(value)[:24])
def test_it_is_found_and_nothing_of_it_is_left(label: str, around: str, secret: str) -> None:
    text = around.format(secret)
    found = DETECTOR.find(text)
    assert [finding.label for finding in found] == [label]
    assert text[found[0].start : found[0].end] == secret
    assert redacted(text, found) == around.format(f"[REDACTED:{label}]")


@pytest.mark.parametrize("text", CLEAN, ids=lambda text: text[:24])
def test_nothing_is_found(text: str) -> None:
    assert DETECTOR.find(text) == []


def test_the_tables_are_large_and_hold_every_kind() -> None:
    assert len(FOUND) + len(CLEAN) >= 200
    assert {label for label, *_ in FOUND} == set(SENSITIVE_LABELS)
    assert len(SENSITIVE_LABELS) >= 45


@pytest.mark.parametrize(("label", "around", "secret"), FOUND, ids=lambda value: str(value)[:24])
def test_what_was_taken_out_stays_out(label: str, around: str, secret: str) -> None:
    text = around.format(secret)
    once = redacted(text, DETECTOR.find(text))
    assert DETECTOR.find(once) == []


@pytest.mark.parametrize("label", sorted(SENSITIVE_LABELS))
def test_what_stands_in_its_place_is_no_name(label: str) -> None:
    text = f"Zoe wrote to [REDACTED:{label}]. [REDACTED:{label}] 在北京。"
    assert [found.name for found in find_names(text) if "REDACTED" in found.name or label in found.name] == []
    assert speaker_entity(f"[REDACTED:{label}]") is None


def test_only_the_wanted_kinds_are_looked_for() -> None:
    text = "ann@example.org 4111 1111 1111 1111"
    assert [finding.label for finding in DETECTOR.find(text, {"credit_card"})] == ["credit_card"]


def test_findings_that_overlap_become_one() -> None:
    text = "password: ann@example.org, Authorization: Bearer " + made(30)
    found = DETECTOR.find(text)
    assert [finding.label for finding in found] == ["password", "bearer_token"]
    assert all(before.end <= after.start for before, after in pairwise(found))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([secret for _, _, secret in FOUND] + CLEAN), max_size=6), st.text(max_size=5))
def test_what_is_found_is_gone_from_the_redacted_text(parts: list[str], glue: str) -> None:
    text = f"\n{glue}\n".join(parts)
    found = DETECTOR.find(text)
    left = redacted(text, found)
    assert DETECTOR.find(left) == []
    for finding in found:
        assert 0 <= finding.start < finding.end <= len(text)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**15 - 1), st.sampled_from(["4", "5", "34", "6011", "35"]))
def test_a_card_number_with_a_wrong_check_digit_is_not_touched(number: int, prefix: str) -> None:
    digits = (prefix + f"{number:015d}")[:15]
    digits += str((_check_digit(digits) + 1 + number % 9) % 10)
    for text in (digits, " ".join(digits[i : i + 4] for i in range(0, 16, 4))):
        assert not [finding for finding in DETECTOR.find(f"number {text} here") if finding.label == "credit_card"]


def _check_digit(digits: str) -> int:
    doubled = [int(digit) * (2 - index % 2) for index, digit in enumerate(reversed(digits))]
    return -sum(value - 9 if value > 9 else value for value in doubled) % 10


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_taken(text: str) -> None:
    DETECTOR.find(text)


ATTACKS = [
    *("a", "1", " ", "a@", "@", "a.", "1 ", "1-", "4111 ", "1.", "+", "+1", "(", "::", "a:", ":", "x@a.", "A", "A1"),
    *("sk-", "sk-ant-a-", "eyJ", "eyJaaaaaaa.", "eyJaaaaaaa.eyJaaaaaaa.", "://", "://a:", "://a:b", "://a:b@"),
    *("password", "password:", "password: ", "password is ", 'password: "', "_", "a_", "token=", "token=a1", "bearer "),
    *("-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----\n" + "A" * 64, "DE89 ", "DE89 3704 "),
    *(
        "1.2.3.",
        "00:",
        "00:1A:",
        "passport",
        "passport is ",
        "phone ",
        "phone: ",
        "电话",
        "密码",
        "是",
        "\\",
        '"',
        "中",
    ),
    *(
        "123456 ",
        "1 2 3 4 5 6 7 ",
        "[REDACTED:email]",
        "[REDACTED:email] a@b.co ",
        "a1",
        "ghp_",
        "xoxb-",
        "AKIA",
        "0x",
        "bc1",
        "1A",
        "key-",
        "\n",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("piece", ATTACKS)
def test_ten_times_the_text_takes_about_ten_times_as_long(piece: str) -> None:
    """Processor time of a megabyte against that of a tenth of it: what is quadratic takes a hundred times as long."""
    small, large = ((piece * (size // len(piece) + 1))[:size] for size in (100_000, 1_000_000))
    assert _seconds(large) < 30 * max(_seconds(small), 0.004)


def _seconds(text: str) -> float:
    start = time.thread_time()
    DETECTOR.find(text)
    return time.thread_time() - start
