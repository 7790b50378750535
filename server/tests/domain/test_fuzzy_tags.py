"""Fuzzy tags: which are alike, and what a filter with them lets through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.fuzzy_tags import MOST_TAGS, Vocabulary, fuzzy_tags, resolve
from hindsight_server.domain.tags import TagAnd, TagFilter, TagLeaf, TagNot, TagOr, TagsMatch

BANK = ["lang:typescript", "lang:python", "Lang:Go", "team:typescript", "ticket-1001", "ticket-1002", "urgent", "付款"]


@pytest.mark.feature("S4")
@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ("lang:typsecript", {"lang:typescript"}),  # not team:typescript: the namespace must agree
        ("LANG:python", {"lang:python"}),
        ("lang:go", {"Lang:Go"}),
        ("ticket-1001", {"ticket-1001"}),
        ("tickt-1001", {"ticket-1001"}),  # digits are no spelling
        ("ticket-1003", {"ticket-1003"}),
        ("urgnet", {"urgnet"}),  # too far away: kept as it is
        ("urgents", {"urgent"}),
        ("付款项", {"付款项"}),  # of three characters one is a third
        ("nothing like it", {"nothing like it"}),
        ("", {""}),
        ("u" * 100_000, {"u" * 100_000}),
    ],
)
def test_which_tags_a_fuzzy_tag_means(wanted: str, meant: set[str]) -> None:
    assert set(Vocabulary(BANK).like(wanted)) == meant


def fuzzy(*tags: str, match: TagsMatch = TagsMatch.ANY_STRICT) -> TagLeaf:
    return TagLeaf(frozenset(tags), match, fuzzy=True)


HELD: list[frozenset[str]] = [
    frozenset(tags) for tags in ([], ["colour"], ["color"], ["colour", "urgent"], ["urgent"], ["other"])
]


@pytest.mark.feature("S4")
@pytest.mark.parametrize(
    ("wanted", "through"),
    [
        (fuzzy("colou"), [1, 2, 3]),
        (fuzzy("colou", match=TagsMatch.ANY), [0, 1, 2, 3]),
        (fuzzy("colou", "urgents", match=TagsMatch.ALL_STRICT), [3]),
        (fuzzy("colou", "urgents", match=TagsMatch.ALL), [0, 3]),
        (fuzzy("colou", match=TagsMatch.EXACT), [1, 2]),
        (fuzzy("colou", "urgents", match=TagsMatch.EXACT), [3]),
        (fuzzy(match=TagsMatch.EXACT), [0]),
        (fuzzy(match=TagsMatch.ALL_STRICT), [0, 1, 2, 3, 4, 5]),
        (TagNot(fuzzy("colou")), [0, 4, 5]),
        (TagAnd((fuzzy("colou"), TagLeaf(frozenset({"urgent"}), TagsMatch.ANY_STRICT))), [3]),
        (TagOr((fuzzy("colou", match=TagsMatch.EXACT), fuzzy("otter"))), [1, 2]),
        (fuzzy("nobody"), []),
    ],
)
def test_every_way_of_matching_keeps_its_meaning(wanted: TagFilter, through: list[int]) -> None:
    resolved = resolve(wanted, Vocabulary({tag for tags in HELD for tag in tags}))
    assert fuzzy_tags(resolved.tags) == ()
    assert [at for at, tags in enumerate(HELD) if resolved.tags.matches(tags)] == through


def test_what_a_tag_was_taken_for_is_told() -> None:
    wanted = TagAnd((fuzzy("colou"), TagLeaf(frozenset({"plain"}))))
    assert dict(resolve(wanted, Vocabulary(["colour", "color"])).meanings) == {"colou": ("color", "colour")}


def test_limits() -> None:
    with pytest.raises(InvalidInput, match="more than 5000 tags"):
        Vocabulary(map(str, range(MOST_TAGS + 1)))
    with pytest.raises(InvalidInput, match="At most 32"):
        resolve(fuzzy(*map(str, range(33))), Vocabulary([]))
    alike = ["colour", "colours", "coloura"]
    with pytest.raises(InvalidInput, match="81 sets"):
        resolve(
            fuzzy("colourx", "a:colourx", "b:colourx", "c:colourx", match=TagsMatch.EXACT),
            Vocabulary([prefix + tag for prefix in ("", "a:", "b:", "c:") for tag in alike]),
        )


SPELLINGS = st.text("aBb:1", max_size=8)


@given(SPELLINGS, SPELLINGS)
def test_being_alike_is_symmetric_and_all_are_like_themselves(one: str, other: str) -> None:
    assert (other in Vocabulary([other]).like(one)) == (one in Vocabulary([one]).like(other))
    assert Vocabulary([one]).like(one) == (one,)
