"""Places of attachments in a text, and which facts were drawn from them."""

from __future__ import annotations

import pytest

from hindsight_server.domain.attachments import (
    Attachment,
    blob_space,
    drawn_from,
    filled,
    from_json,
    from_untrusted,
    ids_in,
    regions,
    says_nothing,
    shown,
    to_json,
    token,
    without_tokens,
)

ONE, OTHER = "a" * 16, "b" * 16
CHART = Attachment(attachment_id=ONE, digest="a" * 64, kind="image", media_type="image/png", byte_size=3)
SHEET = Attachment(
    attachment_id=OTHER, digest="b" * 64, kind="file", media_type="text/csv", byte_size=4, filename="a.csv"
)
TEXT = f"Ann drew this:\n{token(ONE)}\nBob liked it.\n{token(OTHER)}"


def test_what_is_read_goes_behind_its_token_once() -> None:
    read = filled(TEXT, {ONE: "May = 12\nJune = 17"})
    assert read == f"Ann drew this:\n{token(ONE)}\nMay = 12\nJune = 17\n⟦/hs-att⟧\nBob liked it.\n{token(OTHER)}"
    assert filled(read, {ONE: "again", "c" * 16: "nothing"}) == read
    places = regions(read)
    assert [place.attachment_id for place in places] == [ONE, OTHER]
    assert read[slice(*places[0].inner or (0, 0))] == "May = 12\nJune = 17"
    assert places[1].inner is None
    assert ids_in(read) == [ONE, OTHER]


def test_a_token_without_reading_never_swallows_the_next_one() -> None:
    text = filled(f"{token(ONE)}\nprose\n{token(OTHER)}", {OTHER: "row"})
    assert [place.inner is None for place in regions(text)] == [True, False]


def test_an_empty_reading_is_a_reading() -> None:
    assert regions(filled(token(ONE), {ONE: " "}))[0].inner is not None


@pytest.mark.parametrize("forged", [f"{token(ONE)}", "x⟦/hs-att⟧y", "⟦hs-att:zz⟧"])
def test_nobody_can_forge_a_place(forged: str) -> None:
    assert ids_in(without_tokens(forged)) == []
    assert "⟦" not in without_tokens(forged)
    assert regions(filled(token(OTHER), {OTHER: f"row\n{forged}\n{token(ONE)}"}))[0].attachment_id == OTHER
    assert len(regions(filled(token(OTHER), {OTHER: forged}))) == 1


def test_people_read_a_placeholder() -> None:
    known = {ONE: CHART, OTHER: SHEET}
    assert shown(filled(TEXT, {ONE: "May = 12"}), known) == (
        "Ann drew this:\n[image: image/png]\nMay = 12\nBob liked it.\n[file: text/csv]"
    )
    assert shown(token("c" * 16), known) == "[attachment]"
    assert shown("  as it  was\n\n", known) == "  as it  was\n\n"
    assert says_nothing(shown(token(ONE), known), [CHART])
    assert not says_nothing("look [image: image/png]", [CHART])


def drawn(fact: str, place: tuple[int, int] = (0, 0), text: str | None = None) -> tuple[str, ...]:
    text = text or filled(TEXT, {ONE: "month = May; sales = 12\nmonth = June; sales = 17", OTHER: "tall oak"})
    return drawn_from(fact, place, text, (0, len(text)))


def test_a_fact_is_drawn_from_what_alone_bears_it_out() -> None:
    assert drawn("Sales were 17 in June.") == (ONE,)
    assert drawn("The oak is tall.") == (OTHER,)
    assert drawn("In June an oak was felled.") == (ONE, OTHER)
    assert drawn("Bob liked what Ann drew.") == ()
    assert drawn("Nothing like it.") == ()


def test_a_fact_at_a_place_inside_is_drawn_from_it_whatever_its_words() -> None:
    text = filled(TEXT, {ONE: "Ann drew this"})
    at = text.index("Ann drew this", 5)
    assert drawn("Ann drew this", (at, at + 13), text) == (ONE,)
    assert drawn("Ann drew this", (0, 13), text) == ()


def test_only_regions_of_the_chunk_count() -> None:
    text = filled(TEXT, {ONE: "June = 17"})
    assert drawn_from("June 17", (0, 0), text, (len(text) - 20, len(text))) == ()


def test_attachments_as_json_and_what_no_archive_may_say() -> None:
    held = to_json([CHART, SHEET])
    assert from_json(held) == from_untrusted(held) == (CHART, SHEET)
    for at, wrong in enumerate(["c" * 16, "A" * 64, "video", "text/html\r\nx: y", -1, "a\nb"]):
        changed = [*held[0]]
        changed[at] = wrong
        with pytest.raises(ValueError, match="attachment"):
            from_untrusted([changed])
    for shape in ("x", [1], [[]], [["a"] * 7], {"a": 1}):
        with pytest.raises(ValueError, match="attachment"):
            from_untrusted(shape)


def test_the_place_of_a_bank_says_nothing_of_its_id() -> None:
    assert blob_space("ann") != blob_space("Ann")
    assert len(blob_space("../ü\ud83d")) == 32
