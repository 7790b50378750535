"""Which two names could be one, as a table, and the decision over many."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_server.domain.names import normal_name
from hindsight_server.domain.naming import Choice, Known, Need, Status, choose, could_be, fuller, read_name

TIME, COMPANY, NOTHING, NEVER = Need.TIME, Need.COMPANY, Need.NOTHING, None


@pytest.mark.feature("R9")
@pytest.mark.parametrize(
    ("less", "more", "need"),
    [
        ("Dr. Waller", "Dr Waller", NOTHING),
        ("Doctor Waller", "Dr Waller", NOTHING),
        ("Wren 🕯️", "Wren 🗯️", NOTHING),
        ("ALICE CHEN", "Alice Chen", NOTHING),
        ("Chen, Alice", "Alice Chen", NOTHING),
        ("J. K. Rowling", "JK Rowling", NOTHING),
        ("José Arriaga", "Jose Arriaga", NOTHING),
        ("Hewlett-Packard", "Hewlett Packard", NOTHING),
        ("the Beatles", "Beatles", NOTHING),
        ("Acme Corporation", "Acme Corp.", NOTHING),
        ("UK", "United Kingdom", NOTHING),
        ("张伟先生", "张伟", NOTHING),
        ("劉雅婷", "刘雅婷", NOTHING),
        ("Beijing", "北京", NOTHING),
        ("北京市", "北京", NOTHING),
        ("Alice C.", "Alice Chen", TIME),
        ("A. Chen", "Alice Chen", TIME),
        ("Alice", "Alice Chen", TIME),
        ("Alice Chen", "Alice M. Chen", TIME),
        ("Waller", "Dr. Waller", TIME),
        ("Priya Raman", "Dr. Priya Raman", TIME),
        ("Acme", "Acme Inc.", TIME),
        ("Alice's", "Alice", TIME),
        ("Wang Fang", "王芳", TIME),
        ("Fang Wang", "王芳", TIME),
        ("Ouyang Lan", "欧阳岚", TIME),
        ("晓东", "张晓东", TIME),
        ("Bob Smith", "Robert Smith", COMPANY),
        ("Bob", "Robert Smith", COMPANY),
        ("Chen", "Alice Chen", COMPANY),
        ("Ms. Chen", "Alice Chen", COMPANY),
        ("小张", "张伟", COMPANY),
        ("张总", "张伟", COMPANY),
        ("Room 101", "Room 102", NEVER),
        ("use-001", "use-002", NEVER),
        ("v1.2", "v1.3", NEVER),
        ("v1.2", "v12", NEVER),
        ("2024-03-01", "2024-03-02", NEVER),
        ("Dr Wall", "Dr. Waller", NEVER),
        ("Chase Checking", "Chase Savings", NEVER),
        ("Merrivale", "Merryvale", NEVER),
        ("Iran", "Tigran", NEVER),
        ("Mr. Chen", "Alice Chen", NEVER),
        ("Mrs. Waller", "Dr. Waller", NEVER),
        ("John Smith Jr.", "John Smith", NEVER),
        ("Henry V", "Henry Vance", NEVER),
        ("John A. Smith", "John B. Smith", NEVER),
        ("Michael Chen", "Michelle Chen", NEVER),
        ("McDonald's", "McDonald", NEVER),
        ("Acme Inc.", "Acme LLC", NEVER),
        ("王方", "王芳", NEVER),
        ("张先生", "张女士", NEVER),
        ("小王", "张伟", NEVER),
        ("agent::channel::user", "agent", NEVER),
        ("alice@example.com", "Alice", NEVER),
    ],
)
def test_what_could_be_one(less: str, more: str, need: Need | None) -> None:
    forms = read_name(normal_name(less)), read_name(normal_name(more))
    assert could_be(*forms, person=True, known_person=True) == need
    assert need is None or need is NOTHING or set(forms[0].keys) & set(forms[1].keys), "they share no key"


def test_a_place_alone_is_no_person() -> None:
    jordan, pike = read_name("jordan"), read_name("jordan pike")
    assert could_be(jordan, pike, person=True, known_person=False) is None
    assert could_be(jordan, pike, person=True, known_person=True) is TIME


def known(*names: str, person: bool = True) -> list[Known]:
    return [
        Known(number=number, form=read_name(normal_name(name)), person=person, entity=number)
        for number, name in enumerate(names, 1)
    ]


def decide(name: Known, others: list[Known], *, says: bool = True) -> Choice:
    return choose(name, others, says=lambda *_: says)


@pytest.mark.feature("R9")
def test_a_short_name_joins_only_when_all_that_it_could_be_are_one() -> None:
    victor, hale, cruz = known("Victor", "Victor Hale", "Victor Cruz")
    assert decide(victor, [victor, hale]) == Choice(hale.number)
    assert decide(victor, [victor, hale], says=False) == Choice(None, Status.WAITING, (hale.number,))
    assert decide(victor, [hale, cruz]) == Choice(None, Status.AMBIGUOUS, (hale.number, cruz.number))
    assert decide(hale, [victor, cruz]) == Choice(None)


@pytest.mark.feature("R9")
def test_a_literal_name_joins_nothing() -> None:
    alice, chen = known("Alice", "Alice Chen")
    literal = Known(number=alice.number, form=alice.form, person=True, literal=True, entity=alice.number)
    assert decide(literal, [chen]) == Choice(None)
    fixed = Known(number=chen.number, form=chen.form, person=True, literal=True, entity=chen.number)
    assert decide(alice, [fixed]) == Choice(None)


def test_who_told_apart_does_not_join_and_who_told_one_does() -> None:
    teddy, vance = known("Teddy", "Theodora Vance")
    assert choose(teddy, [vance], says=lambda *_: False, told=lambda *_: 1) == Choice(vance.number)
    alice, chen = known("Alice", "Alice Chen")
    assert choose(alice, [chen], says=lambda *_: True, told=lambda *_: -1) == Choice(None)


NAMES = [
    "Alice",
    "Alice Chen",
    "Alice C.",
    "A. Chen",
    "Bob",
    "Robert",
    "Bob Chen",
    "Dr. Chen",
    "Chen",
    "Room 1",
    "Room 2",
]


@given(st.permutations(NAMES))
def test_the_order_of_names_is_the_same_however_they_come(names: list[str]) -> None:
    ranked = sorted(known(*names), key=fuller)
    expected = sorted(known(*NAMES), key=fuller)
    assert [one.form.text for one in ranked] == [one.form.text for one in expected]
    assert len({fuller(one) for one in ranked}) == len(ranked)


@given(st.text(min_size=1, max_size=30))
def test_any_text_is_read(text: str) -> None:
    normal = normal_name(text)
    form = read_name(normal)
    assert form.text == normal
    assert form.keys
    assert could_be(form, form, person=True, known_person=True) is NOTHING


@given(
    st.integers(0, 9999),
    st.integers(0, 9999),
    st.sampled_from(["Room {}", "use-{}", "v1.{}", "Alice Chen {}", "第{}章"]),
)
def test_numbers_are_never_one(one: int, other: int, shape: str) -> None:
    first, second = (read_name(normal_name(shape.format(number))) for number in (one, other))
    same = could_be(first, second, person=True, known_person=True)
    assert (same is NOTHING) == (one == other)
    assert same in (NOTHING, None)


def test_pairs_are_judged_alike_in_both_directions_when_equal() -> None:
    for one, other in itertools.combinations(NAMES, 2):
        forms = read_name(normal_name(one)), read_name(normal_name(other))
        there = could_be(*forms, person=True, known_person=True)
        back = could_be(*reversed(forms), person=True, known_person=True)
        assert (there is NOTHING) == (back is NOTHING)
