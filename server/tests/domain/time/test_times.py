"""What time expressions mean, in English and Chinese."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_server.domain.time import Relation, find_events, find_times, parse_stamp

SHANGHAI = timezone(timedelta(hours=8))
ANCHOR = datetime(2024, 3, 6, 15, 0, tzinfo=SHANGHAI)  # a Wednesday

ENGLISH_DAYS = [
    ("I ran yesterday", "2024-03-05", "2024-03-05"),
    ("today's plan", "2024-03-06", "2024-03-06"),
    ("the day before yesterday", "2024-03-04", "2024-03-04"),
    ("the day after tomorrow", "2024-03-08", "2024-03-08"),
    ("three days ago", "2024-03-03", "2024-03-03"),
    ("a few days ago", "2024-03-01", "2024-03-04"),
    ("two weeks ago", "2024-02-19", "2024-02-25"),
    ("a couple of months ago", "2024-01-01", "2024-01-31"),
    ("5 years ago", "2019-01-01", "2019-12-31"),
    ("two weekends ago", "2024-02-24", "2024-02-25"),
    ("we will leave in three days", "2024-03-09", "2024-03-09"),
    ("last week", "2024-02-26", "2024-03-03"),
    ("last week's show", "2024-02-26", "2024-03-03"),
    ("this week", "2024-03-04", "2024-03-10"),
    ("next week", "2024-03-11", "2024-03-17"),
    ("the week before last", "2024-02-19", "2024-02-25"),
    ("last weekend", "2024-03-02", "2024-03-03"),
    ("last Friday", "2024-03-01", "2024-03-01"),
    ("last Tuesday", "2024-03-05", "2024-03-05"),
    ("last Wednesday", "2024-02-28", "2024-02-28"),
    ("next Friday", "2024-03-15", "2024-03-15"),
    ("this coming Friday", "2024-03-08", "2024-03-08"),
    ("on Monday", "2024-03-04", "2024-03-04"),
    ("I'll go on Monday", "2024-03-11", "2024-03-11"),
    ("last month", "2024-02-01", "2024-02-29"),
    ("next month", "2024-04-01", "2024-04-30"),
    ("last year", "2023-01-01", "2023-12-31"),
    ("the year before last", "2022-01-01", "2022-12-31"),
    ("last spring", "2023-03-01", "2023-05-31"),
    ("last winter", "2023-12-01", "2024-02-29"),
    ("this summer", "2024-06-01", "2024-08-31"),
    ("last May", "2023-05-01", "2023-05-31"),
    ("I went there in May", "2023-05-01", "2023-05-31"),
    ("my birthday is in May", "2024-05-01", "2024-05-31"),
    ("last quarter", "2023-10-01", "2023-12-31"),
    ("in 2015", "2015-01-01", "2015-12-31"),
    ("March 2026", "2026-03-01", "2026-03-31"),
    ("7 May 2023", "2023-05-07", "2023-05-07"),
    ("the 7th of May, 2023", "2023-05-07", "2023-05-07"),
    ("May 7, 2023", "2023-05-07", "2023-05-07"),
    ("Feb 29, 2024", "2024-02-29", "2024-02-29"),
    ("2024-03-05", "2024-03-05", "2024-03-05"),
    ("2024/3/5", "2024-03-05", "2024-03-05"),
    ("3/5/2024", "2024-03-05", "2024-03-05"),
    ("25/12/2023", "2023-12-25", "2023-12-25"),
    ("25.12.2023", "2023-12-25", "2023-12-25"),
    ("2024-02", "2024-02-01", "2024-02-29"),
    ("Q3 2023", "2023-07-01", "2023-09-30"),
    ("the third quarter of 2022", "2022-07-01", "2022-09-30"),
    ("summer of 2022", "2022-06-01", "2022-08-31"),
    ("the 1990s", "1990-01-01", "1999-12-31"),
    ("early March 2023", "2023-03-01", "2023-03-10"),
    ("the end of last year", "2023-11-01", "2023-12-31"),
    ("from 3 May to 7 May 2023", "2023-05-03", "2023-05-07"),
    ("May 3-7, 2023", "2023-05-03", "2023-05-07"),
    ("between 2015 and 2018", "2015-01-01", "2018-12-31"),
    ("from November to January 2024", "2023-11-01", "2024-01-31"),
    ("the week before 9 June 2023", "2023-06-02", "2023-06-08"),
    ("the Friday before 20 May 2023", "2023-05-19", "2023-05-19"),
    ("two days after 9 June 2023", "2023-06-11", "2023-06-11"),
    ("we met on the 4th.", "2024-03-04", "2024-03-04"),
    ("we met on the 15th.", "2024-02-15", "2024-02-15"),
    ("3June, 2022", "2022-06-03", "2022-06-03"),
    ("last Christmas", "2023-12-25", "2023-12-25"),
    ("Thanksgiving 2023", "2023-11-23", "2023-11-23"),
]
CHINESE_DAYS = [
    ("昨天我去了", "2024-03-05", "2024-03-05"),
    ("前天", "2024-03-04", "2024-03-04"),
    ("大前天", "2024-03-03", "2024-03-03"),
    ("明天开会", "2024-03-07", "2024-03-07"),
    ("大后天", "2024-03-09", "2024-03-09"),
    ("上周", "2024-02-26", "2024-03-03"),
    ("上周一", "2024-02-26", "2024-02-26"),
    ("上个星期天", "2024-03-03", "2024-03-03"),
    ("上上周五", "2024-02-23", "2024-02-23"),
    ("下周三", "2024-03-13", "2024-03-13"),
    ("这周末", "2024-03-09", "2024-03-10"),
    ("上个月", "2024-02-01", "2024-02-29"),
    ("上个月5号", "2024-02-05", "2024-02-05"),
    ("去年", "2023-01-01", "2023-12-31"),
    ("去年年底", "2023-11-01", "2023-12-31"),
    ("去年夏天", "2023-06-01", "2023-08-31"),
    ("前年三月", "2022-03-01", "2022-03-31"),
    ("3天前", "2024-03-03", "2024-03-03"),
    ("三个月前", "2023-12-01", "2023-12-31"),
    ("二十天前", "2024-02-15", "2024-02-15"),
    ("两周后", "2024-03-18", "2024-03-24"),
    ("半年前", "2023-09-01", "2023-09-30"),
    ("2024年3月5日", "2024-03-05", "2024-03-05"),
    ("２０２４年３月", "2024-03-01", "2024-03-31"),
    ("二〇二三年五月", "2023-05-01", "2023-05-31"),
    ("2023年第三季度", "2023-07-01", "2023-09-30"),
    ("2023年上半年", "2023-01-01", "2023-06-30"),
    ("十二月二十五日", "2023-12-25", "2023-12-25"),
    ("从2015年到2018年", "2015-01-01", "2018-12-31"),
    ("上週一", "2024-02-26", "2024-02-26"),
    ("三個月前", "2023-12-01", "2023-12-31"),
    ("今年國慶", "2024-10-01", "2024-10-07"),
    ("今年国庆", "2024-10-01", "2024-10-07"),
]


@pytest.mark.parametrize(("text", "first", "last"), ENGLISH_DAYS + CHINESE_DAYS)
@pytest.mark.feature("R3")
def test_days(text: str, first: str, last: str) -> None:
    (mention,) = find_times(text, ANCHOR)
    assert mention.interval.start == datetime.fromisoformat(first).replace(tzinfo=SHANGHAI)
    assert mention.interval.end == datetime.fromisoformat(last + "T23:59:59.999999").replace(tzinfo=SHANGHAI)
    assert text[mention.start : mention.end] == mention.text


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("last night", "2024-03-05T18:00", "2024-03-06T05:59:59.999999"),
        ("yesterday morning", "2024-03-05T05:00", "2024-03-05T11:59:59.999999"),
        ("May 7th, 2023 at 3:30 pm", "2023-05-07T15:30", "2023-05-07T15:30"),
        ("tomorrow at 12 am", "2024-03-07T00:00", "2024-03-07T00:00"),
        ("three hours ago", "2024-03-06T12:00", "2024-03-06T12:00"),
        ("2024-03-05T10:00:00Z", "2024-03-05T18:00", "2024-03-05T18:00"),
        ("over the past two weeks", "2024-02-21T00:00", "2024-03-06T15:00"),
        ("昨晚", "2024-03-05T18:00", "2024-03-06T05:59:59.999999"),
        ("昨天下午三点半", "2024-03-05T15:30", "2024-03-05T15:30"),
        ("过去三天", "2024-03-03T00:00", "2024-03-06T15:00"),
    ],
)
@pytest.mark.feature("S7")
def test_moments(text: str, start: str, end: str) -> None:
    (mention,) = find_times(text, ANCHOR)
    assert mention.interval.start == datetime.fromisoformat(start).replace(tzinfo=SHANGHAI)
    assert mention.interval.end == datetime.fromisoformat(end).replace(tzinfo=SHANGHAI)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no time at all",
        "I may march on",
        "we did it in three days",
        "every Friday we swim",
        "每周一开会",
        "30 Feb 2023",
        "the other 5 may go",
        "on the 5th floor",
        "on the 31st.",
        "this sun is hot",
        "2023-02-30",
        "2023年13月",
        "shopify-prod-key-2024",
        "v1.2024",
        "room 2015",
        "in 2000 years",
        "5号楼",
        "99999999 days ago",
        "999 decades ago",
    ],
)
def test_no_time(text: str) -> None:
    assert find_times(text, ANCHOR) == []


@pytest.mark.parametrize(
    ("text", "relation", "bounds"),
    [
        ("in 2015", Relation.AT, ("2015-01-01", "2015-12-31")),
        ("since 2015", Relation.SINCE, ("2015-01-01", None)),
        ("after 2015", Relation.AFTER, ("2016-01-01", None)),
        ("before 2015", Relation.BEFORE, (None, "2014-12-31")),
        ("until 2015", Relation.UNTIL, (None, "2015-12-31")),
        ("I've had it for 9 years now", Relation.SINCE, ("2015-01-01", None)),
        ("自从2015年", Relation.SINCE, ("2015-01-01", None)),
        ("2015年以前", Relation.BEFORE, (None, "2014-12-31")),
        ("2015年以后", Relation.AFTER, ("2016-01-01", None)),
    ],
)
def test_sides(text: str, relation: Relation, bounds: tuple[str | None, str | None]) -> None:
    (mention,) = find_times(text, ANCHOR)
    assert mention.relation is relation
    assert tuple(end and end.date().isoformat() for end in mention.bounds) == bounds


def test_several_in_one_text() -> None:
    found = find_times("Yesterday we met, and last May we had not.", ANCHOR)
    assert [mention.text for mention in found] == ["Yesterday", "last May"]
    assert [mention.is_relative for mention in find_times("7 May 2023 or yesterday", ANCHOR)] == [False, True]


def test_the_anchors_zone_decides_the_day() -> None:
    moment = datetime(2024, 3, 5, 23, 30, tzinfo=UTC)
    (in_utc,) = find_times("yesterday", moment)
    (in_tokyo,) = find_times("yesterday", moment.astimezone(ZoneInfo("Asia/Tokyo")))
    assert (in_utc.interval.start.day, in_tokyo.interval.start.day) == (4, 5)


def test_an_anchor_without_zone_is_utc() -> None:
    (mention,) = find_times("yesterday", datetime(2024, 3, 5, 12))
    assert mention.interval.start == datetime(2024, 3, 4, tzinfo=UTC)


def test_days_of_a_clock_change_are_whole() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    (mention,) = find_times("yesterday", datetime(2024, 4, 1, 9, tzinfo=berlin))
    start, end = mention.interval.start.astimezone(UTC), mention.interval.end.astimezone(UTC)
    assert end - start == timedelta(hours=23) - timedelta(microseconds=1)
    (hours,) = find_times("12 hours ago", datetime(2024, 3, 31, 9, tzinfo=berlin))
    assert hours.interval.start.astimezone(UTC) == datetime(2024, 3, 30, 19, tzinfo=UTC)


ANCHORS = st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1), timezones=st.timezones() | st.just(UTC))


@settings(deadline=None)
@given(ANCHORS)
def test_relative_days_hold_at_every_date(anchor: datetime) -> None:
    today = anchor.date()

    def days(text: str) -> tuple[date, date]:
        (mention,) = find_times(text, anchor)
        return mention.interval.start.date(), mention.interval.end.date()

    assert days("yesterday") == days("昨天") == (today - timedelta(days=1),) * 2
    first, last = days("last week")
    assert (first.weekday(), (last - first).days, last < today <= last + timedelta(days=7)) == (0, 6, True)
    assert days("上周") == (first, last)
    first, last = days("last month")
    assert first.day == 1
    assert last == today.replace(day=1) - timedelta(days=1)
    assert days("上个月") == (first, last)
    for name in ("Monday", "Sunday"):
        at, _ = days(f"last {name}")
        assert 1 <= (today - at).days <= 7
    for season in ("spring", "winter"):
        _, over = days(f"last {season}")
        assert over < today <= over + timedelta(days=366)


MONTHS = "January February March April May June July August September October November December"


@settings(deadline=None)
@given(ANCHORS, st.dates(date(1900, 1, 1), date(2200, 12, 31)))
def test_written_dates_are_read_whatever_the_anchor(anchor: datetime, day: date) -> None:
    months = MONTHS.split()
    spellings = [
        day.isoformat(),
        f"{day.day} {months[day.month - 1]} {day.year}",
        f"{months[day.month - 1]} {day.day}, {day.year}",
        f"{day.year}年{day.month}月{day.day}日",
    ]
    for text in spellings if day.year < 2100 else spellings[::3]:
        (mention,) = find_times(f"on {text}.", anchor)
        assert (mention.interval.start.date(), mention.is_relative) == (day, False), text


HEAP = (
    "last next this the a two 99 0 31 32 2023 1900 of before after in since from to between and may Feb march Friday "
    "week days months years ago early end summer Q3 at 3pm 25:99 - / . , "
    "年 月 日 号 上 下 个 周 天 前 后 去年 三 十 半 几 点 从 到 每 ５"
)
WORDS = st.sampled_from(HEAP.split())


@settings(deadline=None)
@given(st.lists(WORDS, max_size=14), st.sampled_from(["", " "]), ANCHORS)
def test_any_heap_of_time_words(words: list[str], glue: str, anchor: datetime) -> None:
    text = glue.join(words)
    end = 0
    for mention in find_times(text, anchor):
        assert mention.start >= end
        assert text[mention.start : mention.end] == mention.text != ""
        assert mention.interval.start <= mention.interval.end
        assert mention.interval.start.tzinfo is anchor.tzinfo
        end = mention.end


@settings(deadline=None)
@given(st.text(max_size=300), ANCHORS)
def test_any_text(text: str, anchor: datetime) -> None:
    find_times(text, anchor)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2024-03-05T10:30:00Z", "2024-03-05T10:30:00+00:00"),
        ("2024-03-05 10:30", "2024-03-05T10:30:00+08:00"),
        (1709634600, "2024-03-05T10:30:00+00:00"),
        (1709634600000, "2024-03-05T10:30:00+00:00"),
        ("10:30", "2024-03-06T10:30:00+08:00"),
        ("9:05 PM", "2024-03-06T21:05:00+08:00"),
        ("1:56 pm on 8 May, 2023", "2023-05-08T13:56:00+08:00"),
        ("12/05/2023, 10:32:01", "2023-12-05T10:32:00+08:00"),
        ("8 May 2023", "2023-05-08T00:00:00+08:00"),
        ("she/her", None),
        ("room 5", None),
        ("", None),
        (None, None),
        (True, None),
        (float("nan"), None),
        (float("inf"), None),
        (-5, None),
        ("25:99", None),
    ],
)
def test_stamps(value: object, expected: str | None) -> None:
    at = parse_stamp(value, ANCHOR)
    assert at == (datetime.fromisoformat(expected) if expected else None)


def test_stamps_without_an_anchor() -> None:
    assert parse_stamp("2024-03-05 10:30", None) == datetime(2024, 3, 5, 10, 30, tzinfo=UTC)
    assert parse_stamp("10:30", None) is None
    assert parse_stamp("yesterday", None) is None


PAIRS = [
    ("today", "今天"), ("tomorrow", "明天"), ("the day before yesterday", "前天"), ("3 days ago", "3天前"),
    ("in 3 days we will go", "3天后"), ("this week", "这周"), ("two weeks ago", "两周前"), ("next week", "下周"),
    ("this month", "这个月"), ("two months ago", "两个月前"), ("last quarter", "上个季度"), ("last year", "去年"),
    ("two years ago", "前年"), ("the end of last year", "去年年底"), ("since last week", "上周以来"),
    ("in the last three weeks", "过去三周"), ("before last month", "上个月之前"),
]  # fmt: skip


@settings(deadline=None)
@given(ANCHORS)
def test_both_languages_mean_the_same_at_every_moment(anchor: datetime) -> None:
    for english, chinese in PAIRS:
        (one,), (other,) = find_times(english, anchor), find_times(chinese, anchor)
        assert one.bounds == other.bounds, (english, chinese)


@settings(deadline=None)
@given(ANCHORS, st.integers(0, 400))
def test_days_and_weeks_count_on_across_months_and_leap_days(anchor: datetime, count: int) -> None:
    (days,) = find_times(f"{count} days ago", anchor)
    assert days.interval.start.date() == days.interval.end.date() == anchor.date() - timedelta(days=count)
    (weeks,) = find_times(f"{count} weeks ago", anchor)
    assert weeks.interval.start.weekday() == 0
    assert (weeks.interval.end.date() - weeks.interval.start.date()).days == 6
    assert 0 <= (anchor.date() - timedelta(weeks=count) - weeks.interval.start.date()).days <= 6
    (months,) = find_times(f"{count % 100} months ago", anchor)
    start, after = months.interval.start, months.interval.end + timedelta(microseconds=1)
    assert start.day == after.day == 1
    assert (anchor.year - start.year) * 12 + anchor.month - start.month == count % 100


@settings(deadline=None)
@given(ANCHORS)
def test_a_day_begins_and_ends_with_the_wall_clock_of_its_zone(anchor: datetime) -> None:
    for text in ("yesterday", "今天", "last Friday", "last month", "last spring", "Q2 2023"):
        (mention,) = find_times(text, anchor)
        start, end = mention.interval.start, mention.interval.end
        assert (start.hour, start.minute, end.hour, end.minute) == (0, 0, 23, 59)
        assert start.tzinfo is end.tzinfo is anchor.tzinfo


@settings(deadline=None)
@given(ANCHORS, st.integers(1, 500))
def test_hours_are_hours_of_real_time_whatever_the_clocks_do(anchor: datetime, hours: int) -> None:
    (mention,) = find_times(f"{hours} hours ago", anchor)
    assert mention.interval.start.astimezone(UTC).replace(tzinfo=None) == anchor.astimezone(UTC).replace(
        tzinfo=None
    ) - timedelta(hours=hours)


@settings(deadline=None)
@given(st.integers(1950, 2050))
def test_the_chinese_new_year_lies_between_21_january_and_21_february(year: int) -> None:
    (new_year,) = find_times(f"{year}年除夕", datetime(year, 6, 1, tzinfo=UTC))
    (festival,) = find_times(f"{year}年春节", datetime(year, 6, 1, tzinfo=UTC))
    assert date(year, 1, 21) <= festival.interval.start.date() <= date(year, 2, 21)
    assert festival.interval.start.date() - new_year.interval.start.date() == timedelta(days=1)
    assert (festival.interval.end.date() - festival.interval.start.date()).days == 6


@pytest.mark.parametrize(
    ("year", "day"),
    [(1961, "04-02"), (2000, "04-23"), (2011, "04-24"), (2023, "04-09"), (2024, "03-31"), (2038, "04-25")],
)
def test_easter(year: int, day: str) -> None:
    (mention,) = find_times(f"Easter {year}", ANCHOR)
    assert mention.interval.start.date() == date.fromisoformat(f"{year}-{day}")


EVENT_PHRASES = [
    ("Where did she live before her marriage?", "her marriage", "before"),
    ("What did Ann do after the move to Berlin?", "the move to Berlin", "after"),
    ("Before moving to Berlin, where did Ann work?", "moving to Berlin", "before"),
    ("Before her marriage where did she work?", "her marriage", "before"),
    ("since the accident, how has Bo been?", "the accident", "since"),
    ("who visited during the conference in Paris", "the conference in Paris", "at"),
    ("Who came after Ann married Bo?", "Ann married Bo", "after"),
    ("搬家之前小明住在哪里", "搬家", "before"),
    ("小明结婚前在哪里工作", "小明结婚", "before"),
    ("安娜在搬到柏林之后做什么工作", "搬到柏林", "after"),
    ("手术后谁来看我", "手术", "after"),
    ("毕业以来她换了几份工作", "毕业", "since"),
    ("婚前她住哪", "结婚", "before"),
    ("会议期间谁发言", "会议", "at"),
    ("婚礼那天谁哭了", "婚礼", "at"),
    ("Who cried on the day of the wedding?", "the wedding", "at"),
    ("搬家前一周买了什么", "搬家", "before"),
]


@pytest.mark.feature("S7")
@pytest.mark.parametrize(("text", "event", "relation"), EVENT_PHRASES)
def test_events(text: str, event: str, relation: str) -> None:
    (found,) = find_events(text, find_times(text, ANCHOR))
    assert (found.event, found.relation.value) == (event, relation)
    assert found.text == text[found.start : found.end].strip()


@pytest.mark.parametrize(
    "text",
    [
        "What happened before that?", "After all, who paid?", "Since I like tea, which one should I buy?",
        "what do I take before bed", "What happened before last Christmas?", "since then", "until now",
        "before lunch", "after a while", "ever since", "不久之后发生了什么", "很久以前的事", "三月之前做了什么",
        "去年国庆之前我们去了哪里", "她目前在哪里", "从此以后", "之前", "几天后", "饭后",
    ],
)  # fmt: skip
def test_no_event(text: str) -> None:
    assert find_events(text, find_times(text, ANCHOR)) == []


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_may_be_searched_for_events(text: str) -> None:
    for one in find_events(text, ()):
        assert one.text


@pytest.mark.parametrize(
    "value", [10**400, -(10**400), float("nan"), "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"]
)
def test_a_stamp_outside_of_the_calendar_is_none(value: object) -> None:
    """Such a moment could be stored, and then nothing of its bank could be read any more."""
    assert parse_stamp(value, ANCHOR) is None


def test_a_day_of_the_lunar_calendar_is_no_beginning_of_a_month() -> None:
    """初八 is an eighth day, and 腊月 no month of the common calendar."""
    assert find_times("她的生日是腊月初八", ANCHOR) == []
    assert [found.text for found in find_times("爷爷是八月初五出生的", ANCHOR)] == ["八月"]
    assert [found.text for found in find_times("三月初去的", ANCHOR)] == ["三月初"]
