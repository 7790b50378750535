"""Numbers as texts write them."""

from __future__ import annotations

import pytest

from hindsight_server.domain.numerals import find_numbers, readings


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("twenty-five kids on 1,200 pages", ["25", "1200"]),
        ("two hundred and fifty thousand", ["250000"]),
        ("1.5 million, 5k and 12.50", ["1500000", "5000", "12.5"]),
        ("two dozen eggs, a third try", ["24", "3"]),
        ("at 15:30, 3 pm and 7:05 a.m.", ["15:30", "15:00", "07:05"]),
        ("三百二十元，两千三，四百六，三万五千块", ["320", "2300", "460", "35000"]),
        ("3万和二〇二三年", ["30000", "2023"]),
        ("平均八十七点五", ["87.5"]),
        ("四百零六", ["406"]),
        ("周五，三月", []),
        ("周五次", ["5"]),
        ("no number here", []),
        ("v1.2.3, 007 and room 12a", ["1.2", "7", "12"]),
        ("24:10, 23:59:59, 19:75, x:30 and 9:5", ["24", "10", "23:59", "19", "75", "30", "9", "5"]),
    ],
)
def test_numbers_have_one_value_however_they_are_written(text: str, values: list[str]) -> None:
    assert [number.value for number in find_numbers(text)] == values


@pytest.mark.parametrize("text", ["one of them", "一些人", "统一"])
def test_words_that_need_not_be_numbers_are_told(text: str) -> None:
    assert [number.is_plain for number in find_numbers(text)] == [False]


def test_a_time_without_a_half_of_the_day_is_both() -> None:
    (number,) = find_numbers("at 3:30")
    assert readings(number) == {"03:30", "15:30"}


def test_a_text_of_numbers_is_read_in_one_go() -> None:
    """Each number looked for among all others took minutes for a page of them."""
    assert len(find_numbers("1, " * 300_000)) == 300_000


@pytest.mark.parametrize("text", ["一" * 5000, "hundred " * 2300, "1" + "亿" * 130_000, "一" + "亿" * 5000])
def test_a_number_without_end_is_no_trouble(text: str) -> None:
    """They took minutes, or ended in the errors of numbers too large to be written."""
    assert all(len(number.value) < 500 for number in find_numbers(text))
