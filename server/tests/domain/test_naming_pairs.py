"""Names that look alike and are two, and names that look otherwise and may be one, as tables."""

from __future__ import annotations

import pytest

from hindsight_server.domain.names import normal_name
from hindsight_server.domain.naming import Known, Need, fuller, read_name
from hindsight_server.domain.naming.resolve import related

APART = [
    ("Rose Cottage", "Rose Hill Cottage"),
    ("Grace Cathedral", "Grace Lower Cathedral"),
    ("Dan Lane", "Lane Dan"),
    ("Victoria Mill", "Victoria North Mill"),
    ("Data Mine", "Mine Data"),
    ("Maya Partners", "Maya Blue Partners"),
    ("Harper Logistics", "Harper North Logistics"),
    ("Clara Bakery", "Clara Old Bakery"),
    ("Mason Motors", "Mason Electric Motors"),
    ("Henry Upper", "Henry Lower"),
    ("Ruby Tunnel", "Ruby East Tunnel"),
    ("Martin Depot", "Martin"),
    ("Rose Cottage", "Rose"),
    ("Hazel Orchard", "Hazel"),
    ("Oliver Junior", "Oliver Senior"),
    ("Terminal II", "Terminal III"),
    ("East Ferry Dock", "West Ferry Dock"),
    ("Upper Moor", "Lower Moor"),
    ("Team Red", "Team Blue"),
    ("Old Harbour Inn", "New Harbour Inn"),
    ("Project Falcon", "Project Falcons"),
    ("Marion Keane", "Marian Keane"),
    ("Jon Hale", "Jan Hale"),
    ("Alice Chen", "Alice Cheng"),
    ("Lena Ortiz", "Lena Ortega"),
    ("Kiran Rao", "Kiran Roy"),
    ("Rose North Cottage", "Rose South Cottage"),
    ("Emma Green Ward", "Emma Ward"),
    ("Nordbank Savings", "Nordbank Checking"),
    ("Lake One", "Lake Two"),
    ("东湖公园", "西湖公园"),
    ("大明公司", "小明公司"),
    ("一号仓", "二号仓"),
    ("李华", "李桦"),
    ("张伟", "张玮"),
    ("王小明", "王大明"),
    ("南山小学", "北山小学"),
    ("陈一", "陈二"),
    ("上河村", "下河村"),
    ("刘洋", "刘阳"),
]

MAY_BE_ONE = [
    ("J. R. Patel", "Jana R. Patel"),
    ("J.R. Patel", "Jana R. Patel"),
    ("J.R. Patel", "Jana Rita Patel"),
    ("A. Chen", "Alice Chen"),
    ("P. Nair", "Priyanka Nair"),
    ("O. Haugen", "Oddvar Haugen"),
    ("T. Bui", "Thuy Bui"),
    ("Patel, J.", "Jana Patel"),
    ("Jana P.", "Jana Patel"),
    ("K. M. Osei", "Kwabena M. Osei"),
    ("D'Angelo Ruiz", "DAngelo Ruiz"),
    ("Zoë Müller", "Zoe Muller"),
    ("AL-Rashid Omar", "Al Rashid Omar"),
    ("Jean-Luc Moreau", "Jean Luc Moreau"),
    ("J.-L. Moreau", "Jean-Luc Moreau"),
    ("ALICE CHEN", "alice chen"),
    ("nasa", "NASA"),
    ("GITHUB ACTIONS", "Github Actions"),
    ("NYC", "New York City"),
    ("UK", "United Kingdom"),
    ("U.K.", "United Kingdom"),
    ("UAE", "United Arab Emirates"),
    ("L.A.", "Los Angeles"),
    ("SF", "San Francisco"),
    ("Washington DC", "Washington, D.C."),
    ("莫斯科", "Moscow"),
    ("柏林", "Berlin"),
    ("哈尔滨", "Harbin"),
    ("旧金山", "San Francisco"),
    ("洛杉矶", "Los Angeles"),
    ("悉尼", "Sydney"),
    ("泰国", "Thailand"),
    ("印度", "India"),
    ("沈阳", "Shenyang"),
    ("U.S.", "USA"),
    ("Saint Petersburg", "St. Petersburg"),
    ("圣彼得堡", "St Petersburg"),
    ("曼谷", "Bangkok"),
    ("Bombay", "Mumbai"),
]


def need(one: str, other: str) -> Need | None:
    names = [Known(number=number, form=read_name(normal_name(name))) for number, name in enumerate((one, other))]
    less, more = sorted(names, key=fuller)
    return related(less, more)


@pytest.mark.feature("R9")
@pytest.mark.parametrize(("one", "other"), APART)
def test_names_that_look_alike_stay_two(one: str, other: str) -> None:
    assert need(one, other) is None


@pytest.mark.feature("R9")
@pytest.mark.parametrize(("one", "other"), MAY_BE_ONE)
def test_two_writings_may_be_one(one: str, other: str) -> None:
    assert need(one, other) is not None


def test_an_unlisted_word_in_the_middle_takes_more_than_time() -> None:
    assert need("Clara Field", "Clara Marie Field") is None  # "Field" ends no person's name
    assert need("Clara Osei", "Clara Marie Osei") is Need.TIME
    assert need("Clara Osei", "Clara Thornhill Osei") is Need.COMPANY
