"""A table of phrases: what each means, asked at a moment in a zone.

A day stands for all of it, `a..b` for all from a to b, both included; an open side is empty. Times are wall-clock.
"""

from __future__ import annotations

from datetime import datetime, time

import pytest

from hindsight_server.domain.time import find_times

WEDNESDAY = "2024-03-06T15:00:00+08:00"

ENGLISH = """
tell me what happened today | 2024-03-06
yesterday evening | 2024-03-05T17:00..2024-03-05T23:59:59.999999
the night before last | 2024-03-04T18:00..2024-03-05T05:59:59.999999
this morning | 2024-03-06T05:00..2024-03-06T11:59:59.999999
at 3pm yesterday | 2024-03-05T15:00..2024-03-05T15:00
last Tuesday at 9:30 am | 2024-03-05T09:30..2024-03-05T09:30
the other day | 2024-02-28..2024-03-05
the other week | 2024-02-07..2024-02-28
recently | 2024-02-05..2024-03-06
a week ago | 2024-02-26..2024-03-03
a few weeks ago | 2024-01-29..2024-02-25
several months ago | 2023-08-01..2023-12-31
half a year ago | 2023-09-01..2023-09-30
a year and a half ago | 2022-09-01..2022-09-30
one and a half years ago | 2022-09-01..2022-09-30
18 months ago | 2022-09-01..2022-09-30
half an hour ago | 2024-03-06T14:30..2024-03-06T14:30
a fortnight ago | 2024-02-19..2024-02-25
more than two years ago | ..2021-12-31
less than a week ago | 2024-02-26..
two weekends ago | 2024-02-24..2024-02-25
the weekend before last | 2024-02-24..2024-02-25
over the weekend | 2024-03-02..2024-03-03
what will we do at the weekend? we will swim over the weekend | 2024-03-09..2024-03-10
the week before last | 2024-02-19..2024-02-25
the month before last | 2024-01-01..2024-01-31
the week after next | 2024-03-18..2024-03-24
earlier this week | 2024-03-04..2024-03-10
earlier this month | 2024-03-01..2024-03-31
in the last week | 2024-02-28..2024-03-06T15:00
in the last three weeks | 2024-02-14..2024-03-06T15:00
over the past year | 2023-03-06..2024-03-06T15:00
in the past month | 2024-02-06..2024-03-06T15:00
the last couple of days | 2024-03-04..2024-03-06T15:00
the last 24 hours | 2024-03-05T15:00..2024-03-06T15:00
the next two weeks | 2024-03-06T15:00..2024-03-20T00:00
in recent weeks | 2024-01-31..2024-03-06T15:00
this time last year | 2023-02-19..2023-03-21
last week on Monday | 2024-02-26
Tuesday of last week | 2024-02-27
Monday last week | 2024-02-26
the Friday before last | 2024-02-23
on Friday evening | 2024-03-01T17:00..2024-03-01T23:59:59.999999
from Monday to Wednesday | 2024-03-04..2024-03-06
we went from Friday to Sunday | 2024-03-01..2024-03-03
from last Tuesday to Thursday | 2024-03-05..2024-03-07
last spring | 2023-03-01..2023-05-31
in the summer | 2023-06-01..2023-08-31
summer last year | 2023-06-01..2023-08-31
the winter of 2021 | 2021-12-01..2022-02-28
next summer | 2024-06-01..2024-08-31
in March of last year | 2023-03-01..2023-03-31
last March | 2023-03-01..2023-03-31
what did i do in february | 2024-02-01..2024-02-29
what did i do in may | 2023-05-01..2023-05-31
we met in January | 2024-01-01..2024-01-31
Christmas last year | 2023-12-25
over Christmas 2022 | 2022-12-25
last Christmas | 2023-12-25
what did we do on Christmas Eve | 2023-12-24
last Halloween | 2023-10-31
New Year's Eve 2022 | 2022-12-31
on Valentine’s Day | 2024-02-14
the Fourth of July | 2023-07-04
Thanksgiving 2022 | 2022-11-24
last Easter | 2023-04-09
Good Friday 2024 | 2024-03-29
Mother's Day 2023 | 2023-05-14
Chinese New Year 2024 | 2024-02-10..2024-02-10
Labor Day 2023 | 2023-09-04
the 5th of last month | 2024-02-05
5 May last year | 2023-05-05
May 5 | 2024-05-05
on March 5th | 2024-03-05
5 Sept 2023 | 2023-09-05
Sept. 5, 2023 | 2023-09-05
May 5th 2023 at 10:15 | 2023-05-05T10:15..2023-05-05T10:15
the first half of 2023 | 2023-01-01..2023-06-30
the second half of last year | 2023-07-01..2023-12-31
H2 2023 | 2023-07-01..2023-12-31
the second half of October | 2023-10-16..2023-10-31
Q3 | 2024-07-01..2024-09-30
how were sales in Q3? sales went up in Q3 | 2023-07-01..2023-09-30
Q3 last year | 2023-07-01..2023-09-30
the fourth quarter of 2022 | 2022-10-01..2022-12-31
last quarter | 2023-10-01..2023-12-31
the first two weeks of July 2023 | 2023-07-01..2023-07-14
the last three days of May 2023 | 2023-05-29..2023-05-31
the first weekend of May 2023 | 2023-05-06..2023-05-07
early March 2023 | 2023-03-01..2023-03-10
mid-April 2023 | 2023-04-11..2023-04-20
late 2022 | 2022-11-01..2022-12-31
early last year | 2023-01-01..2023-02-28
at the beginning of the month | 2024-03-01..2024-03-10
the end of the year | 2024-11-01..2024-12-31
the week of May 3rd 2023 | 2023-05-01..2023-05-07
2024-W09 | 2024-02-26..2024-03-03
from March to May 2023 | 2023-03-01..2023-05-31
between March and May 2023 | 2023-03-01..2023-05-31
we lived there from November to January | 2023-11-01..2024-01-31
between 5 May and 3 June 2023 | 2023-05-05..2023-06-03
May 3-7, 2023 | 2023-05-03..2023-05-07
from 2015 to 2018 | 2015-01-01..2018-12-31
2015-2018 | 2015-01-01..2018-12-31
the week before 9 June 2023 | 2023-06-02..2023-06-08
three days after Christmas 2022 | 2022-12-28
in the nineties | 1990-01-01..1999-12-31
in the 80s | 1980-01-01..1989-12-31
in 2019 | 2019-01-01..2019-12-31
since last week | 2024-02-26..
since 2020 | 2020-01-01..
since the beginning of 2023 | 2023-01-01..
as of 2020 | 2020-01-01..
from 2015 onwards | 2015-01-01..
before last Christmas | ..2023-12-24
before May 2023 | ..2023-04-30
after June 2023 | 2023-07-01..
until yesterday | ..2024-03-05
by Friday we will know | ..2024-03-08
prior to 2020 | ..2019-12-31
"""

CHINESE = """
今天我们做了什么 | 2024-03-06
昨晚 | 2024-03-05T18:00..2024-03-06T05:59:59.999999
今早 | 2024-03-06T05:00..2024-03-06T11:59:59.999999
前天晚上 | 2024-03-04T18:00..2024-03-05T05:59:59.999999
大前天 | 2024-03-03
大后天 | 2024-03-09
前几天 | 2024-02-28..2024-03-05
这几天 | 2024-03-01..2024-03-06
最近我买了什么 | 2024-02-05..2024-03-06
前段时间 | 2024-01-06..2024-03-03
3天前 | 2024-03-03
两三天前 | 2024-03-03..2024-03-04
几个月前 | 2023-10-01..2024-01-31
半个月前 | 2024-02-20
一年半前 | 2022-09-01..2022-09-30
两个半小时前 | 2024-03-06T12:30..2024-03-06T12:30
十天后 | 2024-03-16
上周一 | 2024-02-26
上上周五 | 2024-02-23
下下周二 | 2024-03-19
本周五 | 2024-03-08
上周末 | 2024-03-02..2024-03-03
上个周末 | 2024-03-02..2024-03-03
礼拜天晚上 | 2024-03-03T18:00..2024-03-04T05:59:59.999999
上周的周三 | 2024-02-28
周三下午三点 | 2024-03-06T15:00..2024-03-06T15:00
下周一早上九点半 | 2024-03-11T09:30..2024-03-11T09:30
周一到周三 | 2024-03-04..2024-03-06
上周一到周三 | 2024-02-26..2024-02-28
上个月 | 2024-02-01..2024-02-29
上上个月 | 2024-01-01..2024-01-31
上个月底 | 2024-02-21..2024-02-29
上月初 | 2024-02-01..2024-02-10
上个月5号 | 2024-02-05
本月15号 | 2024-03-15
月初 | 2024-03-01..2024-03-10
月底 | 2024-03-21..2024-03-31
年初 | 2024-01-01..2024-02-29
年底我们去了北京 | 2023-11-01..2023-12-31
去年年底 | 2023-11-01..2023-12-31
去年年初 | 2023-01-01..2023-02-28
前年夏天 | 2022-06-01..2022-08-31
去年三月份 | 2023-03-01..2023-03-31
两年前的夏天 | 2022-06-01..2022-08-31
三年前的五月 | 2021-05-01..2021-05-31
五月九号 | 2024-05-09
我三月三号去了北京 | 2024-03-03
十一月下半月 | 2023-11-16..2023-11-30
上个季度 | 2023-10-01..2023-12-31
第一季度 | 2024-01-01..2024-03-31
2023年第四季度 | 2023-10-01..2023-12-31
上半年 | 2024-01-01..2024-06-30
去年下半年 | 2023-07-01..2023-12-31
国庆期间 | 2023-10-01..2023-10-07
去年国庆 | 2023-10-01..2023-10-07
去年春节 | 2023-01-22..2023-01-28
今年春节 | 2024-02-10..2024-02-16
2023年端午节 | 2023-06-22
去年中秋 | 2023-09-29
五一期间 | 2024-05-01..2024-05-05
去年十一长假 | 2023-10-01..2023-10-07
去年双十一 | 2023-11-11
去年平安夜 | 2023-12-24
去年母亲节 | 2023-05-14
国庆前一天 | 2023-09-30
5月9日前一周 | 2024-05-02..2024-05-08
从三月到五月 | 2024-03-01..2024-05-31
2023年3月到5月 | 2023-03-01..2023-05-31
从去年3月到今年2月 | 2023-03-01..2024-02-29
5月1日至3日 | 2024-05-01..2024-05-03
1号到5号 | 2024-03-01..2024-03-05
2015年到2018年之间 | 2015-01-01..2018-12-31
过去三个月 | 2023-12-06..2024-03-06T15:00
近一周 | 2024-02-28..2024-03-06T15:00
最近三天 | 2024-03-03..2024-03-06T15:00
未来两周 | 2024-03-06T15:00..2024-03-20T00:00
九十年代 | 1990-01-01..1999-12-31
上世纪80年代 | 1980-01-01..1989-12-31
23年3月 | 2023-03-01..2023-03-31
二〇二三年五月 | 2023-05-01..2023-05-31
２０２３年５月７日 | 2023-05-07
2020年至今 | 2020-01-01..
去年以来 | 2023-01-01..
自2020年起 | 2020-01-01..
截至2021年 | ..2021-12-31
2021年之前 | ..2020-12-31
去年圣诞节前 | ..2023-12-24
三月以后 | 2024-04-01..
上週一 | 2024-02-26
三個月前 | 2023-12-01..2023-12-31
"""

SPANISH = """
¿Qué hicimos la semana pasada? | 2024-02-26..2024-03-03
hace tres semanas fui a Roma | 2024-02-12..2024-02-18
ayer por la tarde | 2024-03-05T12:00..2024-03-05T17:59:59.999999
anteayer | 2024-03-04
¿Dónde estuvimos el verano pasado? | 2023-06-01..2023-08-31
el 5 de mayo de 2023 | 2023-05-05
en mayo de 2023 fuimos a Lima | 2023-05-01..2023-05-31
desde 2015 vivo en Madrid | 2015-01-01..
el lunes pasado | 2024-03-04
a finales de marzo de 2023 llegó | 2023-03-21..2023-03-31
entre marzo y mayo de 2023 | 2023-03-01..2023-05-31
los últimos tres meses trabajé | 2023-12-06..2024-03-06T15:00
"""

FRENCH = """
Qu'avons-nous fait la semaine dernière ? | 2024-02-26..2024-03-03
il y a trois mois nous étions à Rome | 2023-12-01..2023-12-31
hier soir elle est venue | 2024-03-05T17:00..2024-03-05T23:59:59.999999
avant-hier | 2024-03-04
l'été dernier nous avons nagé | 2023-06-01..2023-08-31
le 5 mai 2023 | 2023-05-05
depuis 2015 il habite à Paris | 2015-01-01..
début mars 2023 il est parti | 2023-03-01..2023-03-10
ces trois derniers mois | 2023-12-06..2024-03-06T15:00
le mois prochain | 2024-04-01..2024-04-30
"""

GERMAN = """
Was haben wir letzte Woche gemacht? | 2024-02-26..2024-03-03
vor drei Monaten war ich in Rom | 2023-12-01..2023-12-31
gestern Abend kam sie | 2024-03-05T17:00..2024-03-05T23:59:59.999999
vorgestern | 2024-03-04
letzten Sommer waren wir am Meer | 2023-06-01..2023-08-31
am 5. Mai 2023 war es warm | 2023-05-05
seit 2015 wohne ich in Wien | 2015-01-01..
vor 2015 wohnte ich in Bonn | ..2014-12-31
Ende März 2023 kam er | 2023-03-21..2023-03-31
in den letzten drei Wochen habe ich gelernt | 2024-02-14..2024-03-06T15:00
"""

PORTUGUESE = """
O que fizemos na semana passada? | 2024-02-26..2024-03-03
há três meses fui a Roma | 2023-12-01..2023-12-31
ontem à noite ela veio | 2024-03-05T18:00..2024-03-06T05:59:59.999999
no verão passado fomos à praia | 2023-06-01..2023-08-31
em 5 de maio de 2023 | 2023-05-05
desde 2015 moro em Lisboa | 2015-01-01..
dois dias atrás | 2024-03-04
no ano que vem | 2025-01-01..2025-12-31
"""

JAPANESE = """
先週の月曜日に何をしましたか | 2024-02-26
3日前に行きました | 2024-03-03
昨日の夜、映画を見ました | 2024-03-05T18:00..2024-03-06T05:59:59.999999
去年の夏はどこへ行きましたか | 2023-06-01..2023-08-31
2023年5月3日に会った | 2023-05-03
2015年から東京に住んでいる | 2015-01-01..
3か月前に引っ越した | 2023-12-01..2023-12-31
2023年3月から5月まで働いた | 2023-03-01..2023-05-31
最近何を買いましたか | 2024-02-05..2024-03-06
"""

# The same words at moments where weeks, months, years and days turn.
ELSEWHEN = """
2024-01-01T00:30:00+09:00 | yesterday | 2023-12-31
2024-01-01T00:30:00+09:00 | last week | 2023-12-25..2023-12-31
2024-01-01T00:30:00+09:00 | last month | 2023-12-01..2023-12-31
2024-01-01T00:30:00+09:00 | last quarter | 2023-10-01..2023-12-31
2024-03-01T08:00:00-08:00 | yesterday | 2024-02-29
2024-02-29T12:00:00+00:00 | a year ago | 2023-01-01..2023-12-31
2024-03-31T12:00:00+00:00 | last month | 2024-02-01..2024-02-29
2024-03-31T12:00:00+00:00 | in the past month | 2024-02-29..2024-03-31T12:00
2024-03-03T23:00:00-05:00 | last week | 2024-02-19..2024-02-25
2024-03-03T23:00:00-05:00 | this weekend | 2024-03-02..2024-03-03
2024-03-04T00:00:00-05:00 | last weekend | 2024-03-02..2024-03-03
2024-03-04T00:00:00-05:00 | last Sunday | 2024-03-03
2026-03-02T07:00:00+00:00 | yesterday the sensors failed | 2026-03-01
2024-12-31T23:59:00+08:00 | 明天 | 2025-01-01
2024-12-31T23:59:00+08:00 | 今年 | 2024-01-01..2024-12-31
2025-01-01T00:01:00+08:00 | 去年 | 2024-01-01..2024-12-31
2025-01-01T00:01:00+08:00 | 上周三 | 2024-12-25
2025-02-10T09:00:00+08:00 | 去年国庆 | 2024-10-01..2024-10-07
2024-01-15T09:00:00+00:00 | this winter | 2023-12-01..2024-02-29
2024-12-15T09:00:00+00:00 | last winter | 2023-12-01..2024-02-29
2025-07-25T08:55:00+09:00 | today | 2025-07-25
2025-07-24T23:55:00+00:00 | today | 2025-07-24
"""


def rows(table: str) -> list[tuple[str, str]]:
    lines = (line.split("|") for line in table.split("\n") if line)
    return [(words.strip(), meaning.strip()) for words, meaning in lines]


def bounds(meaning: str, asked: datetime) -> tuple[datetime | None, datetime | None]:
    first, dots, last = meaning.partition("..")
    return end_of(first, asked, time.min), end_of(last if dots else first, asked, time.max)


def end_of(written: str, asked: datetime, of_day: time) -> datetime | None:
    if not written:
        return None
    at = datetime.fromisoformat(written)
    return (at if "T" in written else datetime.combine(at, of_day)).replace(tzinfo=asked.tzinfo)


@pytest.mark.parametrize(
    ("phrase", "meaning"),
    [row for table in (ENGLISH, CHINESE, SPANISH, FRENCH, GERMAN, PORTUGUESE, JAPANESE) for row in rows(table)],
)
@pytest.mark.feature("S7")
def test_what_a_phrase_means(phrase: str, meaning: str) -> None:
    asked = datetime.fromisoformat(WEDNESDAY)
    assert find_times(phrase, asked)[-1].bounds == bounds(meaning, asked)


@pytest.mark.parametrize("line", ELSEWHEN.strip().split("\n"))
@pytest.mark.feature("R2")
def test_what_a_phrase_means_where_days_weeks_and_years_turn(line: str) -> None:
    moment, phrase, meaning = (part.strip() for part in line.split("|"))
    asked = datetime.fromisoformat(moment)
    (mention,) = find_times(phrase, asked)
    assert mention.bounds == bounds(meaning, asked)


NO_TIMES = """
march through the forest
may I come in
we march on
the sun screen is empty
she sat down and wed him
second hand books
fall down the stairs
the fall of Rome
spring onions
a quarter of the cake
the second half of the movie
the last straw
next door
the last name on the list
first things first
at last
one day we will see
some day
these days
day after day
once a week
twice a month
every Monday we swim
every other Friday
each summer
on Mondays
every year in May
I usually swim on Friday
in general I like tea
we did it in three days
a 10 min walk
24/7 support
9/11
the ratio is 3/4
version 2.0.1
room 2024
2000 people
in 1500 words
iPhone 2020
5 years old
she is in her 30s
a letter from May
April told me
Wednesday Addams
Ruby Tuesday
Man Friday
casual Friday
friday the 13th
port 8080
the 5th floor
30 February 2023
2023-02-30
2023年13月
five-year plan
五一
五一路
十一个人
三月兔
一天到晚
天天
每天
每周一开会
每年五月
每个周末
一周两次
两天一夜
一年一度
后天培养
目前
之前
以前
三年级
五年计划
1号楼
3号线
周一鸣
周到的服务
五月天
今日头条
月饼
半天
一般周五去游泳
多少年
毎週月曜日に泳ぎます
los lunes siempre nado
jeden Montag schwimme ich
ich bin hier mit dem Hund
"""


@pytest.mark.parametrize("text", NO_TIMES.strip().split("\n"))
@pytest.mark.feature("R3")
def test_what_only_looks_like_a_time(text: str) -> None:
    assert [one.text for one in find_times(text, datetime.fromisoformat(WEDNESDAY))] == []


def test_the_table_is_wide() -> None:
    assert len(rows(ENGLISH)) + len(rows(CHINESE)) >= 150


def test_the_tense_is_that_of_the_sentence() -> None:
    asked = datetime.fromisoformat(WEDNESDAY)
    was, will = find_times("We met on Monday. I will call on Friday.", asked)
    assert (was.interval.start.day, will.interval.start.day) == (4, 8)


def test_languages_do_not_mix_up_names() -> None:
    asked = datetime.fromisoformat(WEDNESDAY)
    for text in (
        "Los Angeles trip last week",
        "met El Greco and Le Corbusier last week",
        "the mars mission of last week",
    ):
        assert [one.text for one in find_times(text, asked)] == ["last week"]
