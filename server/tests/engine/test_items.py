"""What a retain request may hold, and what is said about the rest."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hindsight_server.domain.errors import BadRequest, InvalidInput
from hindsight_server.domain.model import UpdateMode
from hindsight_server.engine.retain import ItemInput, RetainLimits
from hindsight_server.engine.retain.items import CheckedItem, check_bank_id, check_items, fingerprint
from hindsight_server.engine.retain.prepare import settle_modes
from hindsight_server.engine.retain.source import from_source, to_source

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}


def check(*items: ItemInput, limits: RetainLimits | None = None, tags: tuple[str, ...] = ()) -> list[CheckedItem]:
    return check_items(items, tags, lambda index: f"made-{index}", NOW, limits or RetainLimits())


@pytest.mark.parametrize(
    ("item", "field"),
    [
        (ItemInput(content=""), "content"),
        (ItemInput(content=" \n\t　"), "content"),
        (ItemInput(content="\0\0"), "content"),
        (ItemInput(content="\ud83d"), "content"),
        (ItemInput(content=[]), "content"),
        (ItemInput(content=[{"type": "text", "text": " "}]), "content"),
        (ItemInput(content=[{"type": "text", "text": "look"}, {"type": "video"}]), "content[1]"),
        (ItemInput(content=[{"type": "file", "source": {"type": "url"}}]), "content[0].source"),
        (ItemInput(content=[IMAGE | {"source": {"media_type": "png"}}]), "content[0].source.media_type"),
        (ItemInput(content=[IMAGE | {"source": {"media_type": "image/png", "data": "?"}}]), "content[0].source.data"),
        (ItemInput(content=[{"type": "text"}]), "content[0]"),
        (ItemInput(content="a" * 4_000_001), "content"),
        (ItemInput(content="a", timestamp="yesterday"), "timestamp"),
        (ItemInput(content="a", timestamp="2024-13-01"), "timestamp"),
        (ItemInput(content="a", timestamp="0001-01-01T00:00:00+14:00"), "timestamp"),
        (ItemInput(content="a", metadata={"n": 3}), "metadata.n"),
        (ItemInput(content="a", metadata={" ": "x"}), "metadata key"),
        (ItemInput(content="a", tags=["ok", " "]), "tags[1]"),
        (ItemInput(content="a", tags=["t" * 1001]), "tags[0]"),
        (ItemInput(content="a", entities=[{"text": ""}]), "entities[0].text"),
        (ItemInput(content="a", update_mode="merge"), "update_mode"),
        (ItemInput(content="a", update_mode="append"), "update_mode"),
        (ItemInput(content="a", document_id="a\0b"), "document_id"),
        (ItemInput(content="a", document_id="a\ud83d"), "document_id"),
        (ItemInput(content="a", observation_scopes="mine"), "observation_scopes"),
    ],
)
def test_bad_item_is_named_with_its_field(item: ItemInput, field: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        check(ItemInput(content="fine"), item)
    assert refusal.value.field == f"items[1].{field}"
    assert f"items[1].{field}" in str(refusal.value)


def test_append_without_document_is_a_bad_request() -> None:
    with pytest.raises(BadRequest):
        check(ItemInput(content="a", update_mode="append", document_id="  "))


def test_no_items_and_too_many_items_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at least one item"):
        check()
    with pytest.raises(InvalidInput, match="holds 3 items; at most 2"):
        check(*[ItemInput(content="a")] * 3, limits=RetainLimits(items=2))
    assert len(check(*[ItemInput(content="a")] * 10_000)) == 10_000


def test_unstorable_characters_are_dropped_and_nothing_else() -> None:
    text = "a\0b \ud83d\ude00 c\ude00d \U0001f600 é {{ }} % ' \" \\ 你好"
    (one,) = check(ItemInput(content=text, context="x\0y", metadata={"k": "v\ud83d"}, tags=["t\0"]))
    assert one.item.content == "ab \U0001f600 cd \U0001f600 é {{ }} % ' \" \\ 你好"
    assert (one.item.context, one.item.metadata, one.item.tags) == ("xy", {"k": "v"}, ("t",))


def test_blocks_of_text_are_joined() -> None:
    (one,) = check(ItemInput(content=[{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]))
    assert one.item.content == "one\ntwo"


@pytest.mark.feature("R6")
def test_null_metadata_is_dropped_and_tags_of_the_request_are_added() -> None:
    (one,) = check(ItemInput(content="a", metadata={"k": "v", "gone": None}, tags=["x", "x"]), tags=("y", "x"))
    assert one.item.metadata == {"k": "v"}
    assert one.item.tags == ("x", "y")


@pytest.mark.feature("R2")
@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (None, NOW),
        ("", NOW),
        ("unset", None),
        ("UNSET", None),
        ("2024-01-15T10:30:00Z", datetime(2024, 1, 15, 10, 30, tzinfo=UTC)),
        ("2024-01-15", datetime(2024, 1, 15, tzinfo=UTC)),
        (datetime(2024, 1, 15, 10), datetime(2024, 1, 15, 10, tzinfo=UTC)),
    ],
)
def test_timestamps(given: datetime | str | None, stored: datetime | None) -> None:
    (one,) = check(ItemInput(content="a", timestamp=given))
    assert one.item.timestamp == stored


@pytest.mark.feature("R2")
def test_the_offset_of_a_timestamp_is_kept() -> None:
    (one,) = check(ItemInput(content="a", timestamp="2024-01-15T23:30:00+08:00"))
    assert one.item.timestamp is not None
    assert one.item.timestamp.isoformat() == "2024-01-15T23:30:00+08:00"


def test_each_item_without_a_document_gets_its_own() -> None:
    first, second, third = check(
        ItemInput(content="a"), ItemInput(content="b"), ItemInput(content="c", document_id="d/ 1 🎈")
    )
    assert [first.item.document_id, second.item.document_id] == ["made-0", "made-1"]
    assert (third.item.document_id, third.item.document_given) == ("d/ 1 🎈", True)


@pytest.mark.parametrize("bank_id", ["a/b c", "🎈", "x" * 1000, "..", "用户"])
def test_any_printable_bank_id_is_taken(bank_id: str) -> None:
    assert check_bank_id(bank_id) == bank_id


@pytest.mark.parametrize("bank_id", ["", "  ", "a\0", "\ud83d", "x" * 1001])
def test_bank_ids_that_no_store_can_keep_are_refused(bank_id: str) -> None:
    with pytest.raises(InvalidInput):
        check_bank_id(bank_id)


def test_fingerprint_tells_requests_apart_but_not_when_they_came() -> None:
    def of(**changes: object) -> str:
        return fingerprint(check(ItemInput(**{"content": "a", **changes})))  # type: ignore[arg-type]

    next_year = datetime(2027, 1, 1, tzinfo=UTC)
    later = check_items([ItemInput(content="a")], (), lambda index: "other", next_year, RetainLimits())
    assert fingerprint(later) == of()
    changed = [
        of(content="b"), of(context="c"), of(tags=["t"]), of(metadata={"k": "v"}), of(document_id="d"),
        of(document_id="d", update_mode="append"), of(timestamp="unset"), of(entities=[{"text": "E"}]),
        of(observation_scopes="shared"), of(strategy="s"),
    ]  # fmt: skip
    assert len({of(), *changed}) == len(changed) + 1


@pytest.mark.parametrize(
    ("modes", "settled"),
    [
        ([None, None], ["replace", "append"]),
        ([None, "append"], ["replace", "append"]),
        (["append", "append"], ["append", "append"]),
        (["append", None], ["replace", "append"]),
    ],
)
@pytest.mark.feature("R4")
def test_items_of_one_document_never_overwrite_each_other(modes: list[str | None], settled: list[str]) -> None:
    items = check(*[ItemInput(content="a", document_id="d", update_mode=mode) for mode in modes])
    assert settle_modes(items) == [UpdateMode(mode) for mode in settled]


def test_an_item_survives_being_written_as_source() -> None:
    (one,) = check(
        ItemInput(
            content="text", timestamp="2024-01-15T23:30:00+08:00", context="c", metadata={"k": "v"}, document_id="d",
            entities=[{"text": "Ann", "type": "PERSON"}], resolve_entities=False, tags=["t"],
            observation_scopes=[["t"]], strategy="s",
        )
    )  # fmt: skip
    assert from_source("text", "d", to_source(one)) == one
