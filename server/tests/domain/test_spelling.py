"""Writings of one word."""

from __future__ import annotations

import pytest

from hindsight_server.domain.naming import Need, could_be, read_name
from hindsight_server.domain.naming.spelling import in_latin, is_slip, skeleton


@pytest.mark.parametrize(
    ("one", "other"),
    [("sergei", "sergey"), ("yusuf", "yousuf"), ("mohammed", "muhammad"), ("dmitriy", "dmitry")],
)
def test_transliterations_of_one_name_are_alike(one: str, other: str) -> None:
    assert skeleton(one) == skeleton(other)


def test_other_alphabets_in_latin_letters() -> None:
    assert in_latin("дмитрий") == "dmitriy"
    assert in_latin("αλεξάνδρα παπά") == "alexandra papa"


@pytest.mark.parametrize(
    ("one", "other", "slip"),
    [
        ("ashworth", "ashwroth", True),
        ("dragomir", "dragomirr", True),
        ("clarkson", "clarkston", False),
        ("hayes", "mayes", False),
        ("bennett", "benson", False),
        ("weber", "weber", False),
    ],
)
def test_slips(one: str, other: str, slip: bool) -> None:
    assert is_slip(one, other) is slip
    assert is_slip(other, one) is slip


@pytest.mark.parametrize(
    ("less", "more", "need"),
    [
        ("salem", "salem, oregon", Need.COMPANY),
        ("salem, ohio", "salem, oregon", None),
        ("fatima zahra", "fatima zahra el idrissi", Need.COMPANY),
        ("penelope ashwroth", "penelope ashworth", Need.COMPANY),
        ("mueller & soehne", "müller & söhne", Need.TIME),
        ("george fenn the elder", "george fenn the younger", None),
        ("vs code", "visual studio code", Need.NOTHING),
    ],
)
def test_what_it_takes(less: str, more: str, need: Need | None) -> None:
    assert could_be(read_name(less), read_name(more), person=True, known_person=True) is need
