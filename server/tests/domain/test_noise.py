"""Numbers that could be laughter, and laughter that is a number."""

from __future__ import annotations

import pytest

from hindsight_server.domain.noise import is_noise


@pytest.mark.parametrize(
    ("text", "is_laughter"), [("233", False), ("23", False), ("2333", True), ("22333", True), ("哈哈，23333", True)]
)
def test_a_short_number_is_an_answer_and_no_laughter(text: str, is_laughter: bool) -> None:
    assert is_noise(text) is is_laughter
