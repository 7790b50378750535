"""Long lists of dates, which are read in another way than single dates: it must not make a difference."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo

import pytest

from hindsight_server.domain.time.date_lists import listed
from hindsight_server.domain.time.finder import find_times
from hindsight_server.domain.time.mention import TimeMention

BETWEEN = (" ", ", ", ",", ";", "; ", "\n", "\r\n", "\t", ",\n")
SHAPES = ("{0:04}-{1:02}-{2:02}", "{2}.{1}.{0:04}", "{2:02}.{1:02}.{0:04}", "{1}/{2}/{0:04}", "{2}/{1}/{0:04}")
# Among them the 30th of February, a 13th month, and years that nobody remembers.
DAYS = [(1900 + 7 * number % 200, number % 12 + 1, number * 5 % 28 + 1) for number in range(60)]
DAYS[20:24] = [(2024, 2, 30), (2024, 13, 31), (950, 5, 5), (3005, 5, 5)]
TOKYO = timezone(timedelta(hours=9))


MONTH_NAMES = """
January February March April May June July August September October November December
"""
NAMES = MONTH_NAMES.split()
NAMED = ("{2} {3} {0}", "{2}th {3} {0}", "{2:02} {3:.3} {0}", "{2} {3:.3}., {0}", "{3} {2}, {0}", "{3:.3} {2} {0}")
NAMED_DAYS = [(1900 + 7 * number % 200, number % 12 + 1, number * 5 % 31 + 1) for number in range(60)]


def _one_by_one(dates: list[str], between: str, anchor: datetime) -> list[tuple[str, datetime, datetime]]:
    """What each date means beside one of its neighbours at a time, too few for a list."""
    return [
        _told(mention)
        for date in dates
        for mention in find_times(between.join(["1999-01-01", date, "1999-01-01"]), anchor)[1:-1]
    ]


def _told(mention: TimeMention) -> tuple[str, datetime, datetime]:
    return mention.text, mention.interval.start, mention.interval.end


@pytest.mark.parametrize("zone", [UTC, TOKYO])
@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_date_means_the_same_inside_a_list(shape: str, between: str, zone: tzinfo) -> None:
    anchor = datetime(2024, 3, 5, tzinfo=zone)
    dates = [shape.format(*day) for day in DAYS]
    text = between.join(dates)
    found = find_times(text, anchor)
    assert listed(text, zone)[0], "the text is read as a list"
    assert [_told(mention) for mention in found] == _one_by_one(dates, between, anchor)
    assert all(text[mention.start : mention.end] == mention.text for mention in found)


@pytest.mark.parametrize("between", [sign for sign in BETWEEN if sign != ","])
@pytest.mark.parametrize("shape", NAMED)
def test_a_date_with_its_month_in_words_means_the_same_inside_a_list(shape: str, between: str) -> None:
    anchor = datetime(2024, 3, 5, tzinfo=TOKYO)
    dates = [shape.format(year, month, day, NAMES[month - 1]) for year, month, day in NAMED_DAYS]
    dates[20:22] = ["30 FEB 2024", "5 sept 2003"] if shape[1] == "2" else ["FEB 30 2024", "sept 5 2003"]
    text = between.join(dates)
    found = find_times(text, anchor)
    assert listed(text, TOKYO)[0], "the text is read as a list"
    assert [_told(mention) for mention in found] == _one_by_one(dates, between, anchor)
    assert all(text[mention.start : mention.end] == mention.text for mention in found)


def test_words_beside_a_list_change_its_first_and_last_date_only() -> None:
    dates = (
        " ".join(f"2024-05-{day:02}" for day in range(1, 32)) + " " + " ".join(f"2024-07-{d:02}" for d in range(1, 32))
    )
    found = find_times(
        f"I left the week before {dates} at 5pm, and came back yesterday.", datetime(2024, 8, 5, tzinfo=UTC)
    )
    assert len(found) == 63
    assert found[0].text == "the week before 2024-05-01"
    assert found[-2].text == "2024-07-31 at 5pm"
    assert found[-1].text == "yesterday"
    assert [mention.text for mention in found[1:-2]] == dates.split()[1:-1]


def test_a_few_dates_are_no_list() -> None:
    text = " ".join(f"2024-05-{day:02}" for day in range(1, 32))
    assert listed(text, UTC) == ([], text)
