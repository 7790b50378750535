"""Blocks: order, limits, and bytes that are none."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.engine.attachments.blocks import (
    AttachmentLimits,
    content_length,
    plain_filename,
    read_blocks,
)

LIMITS = AttachmentLimits(bytes_each=1000, count=3)


PNG = b"\x89PNG."


def block(data: bytes = PNG, kind: str = "image", media_type: str = "image/png", **more: Any) -> dict[str, Any]:
    encoded = base64.b64encode(data).decode()
    return {"type": kind, "source": {"type": "base64", "media_type": media_type, "data": encoded}, **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def test_blocks_stay_in_order_and_equal_bytes_are_one_attachment() -> None:
    read = read_blocks(
        [text("before"), block(), text("between"), block(b"sheet", "file", "text/csv", filename="../a.csv"), block()],
        "content",
        LIMITS,
    )
    digest = hashlib.sha256(PNG).hexdigest()
    one, other = read.attachments
    assert read.text == (
        f"before\n⟦hs-att:{one.attachment_id}⟧\nbetween\n⟦hs-att:{other.attachment_id}⟧\n⟦hs-att:{one.attachment_id}⟧"
    )
    assert (one.digest, one.attachment_id, one.kind, one.byte_size) == (digest, digest[:16], "image", 5)
    assert (other.kind, other.media_type, other.filename) == ("file", "text/csv", "a.csv")
    assert read.uploads == {digest: PNG, other.digest: b"sheet"}


def test_one_text_block_is_the_text() -> None:
    assert read_blocks([text("as it is")], "content", LIMITS).text == "as it is"


def refused(*blocks: dict[str, Any]) -> tuple[str, str]:
    with pytest.raises(InvalidInput) as told:
        read_blocks(blocks, "items[0].content", LIMITS)
    return str(told.value), told.value.field or ""


def test_limits() -> None:
    read_blocks([block(PNG + b"x" * 995)], "content", LIMITS)
    assert "more than 1000 bytes" in refused(block(PNG + b"x" * 996))[0]
    assert "more than 1000 bytes" in refused(block(b"x" * 100_000))[0]
    assert refused(*[block(PNG + bytes([n])) for n in range(4)]) == (
        "items[0].content holds more than 3 images and files. Split it into items.",
        "items[0].content[3]",
    )


@pytest.mark.parametrize(
    ("source", "field"),
    [
        (None, "source"),
        ({"type": "url", "url": "http://169.254.169.254/"}, "source"),
        ({"media_type": "image/png", "data": ""}, "source.data"),
        ({"media_type": "image/png", "data": "data:image/png;base64,AAAA"}, "source.data"),
        ({"media_type": "image/png", "data": "AAA"}, "source.data"),
        ({"media_type": "image/png", "data": "*&^%"}, "source.data"),
        ({"media_type": "image/png", "data": "ÄÄÄÄ"}, "source.data"),
        ({"media_type": "", "data": "AAAA"}, "source.media_type"),
        ({"media_type": "image", "data": "AAAA"}, "source.media_type"),
        ({"media_type": "image/png\r\nset-cookie: a=b", "data": "AAAA"}, "source.media_type"),
        ({"media_type": "text/html; charset=utf-8", "data": "AAAA"}, "source.media_type"),
    ],
)
def test_sources_that_can_not_be_used(source: Any, field: str) -> None:
    assert refused({"type": "image", "source": source})[1] == f"items[0].content[0].{field}"


def test_line_breaks_in_base64_are_fine() -> None:
    held = block(PNG + b"x" * 295)
    held["source"]["data"] = "\n".join(held["source"]["data"][at : at + 76] for at in range(0, 400, 76))
    assert read_blocks([held], "content", LIMITS).attachments[0].byte_size == 300
    held = block(PNG + b"x" * (LIMITS.bytes_each - 5))
    held["source"]["data"] = "\r\n".join(held["source"]["data"])  # they don't count as bytes
    assert read_blocks([held], "content", LIMITS).attachments[0].byte_size == LIMITS.bytes_each


def test_a_text_can_not_point_at_an_attachment() -> None:
    read = read_blocks([text("see ⟦hs-att:0123456789abcdef⟧ and ⟦/hs-att⟧"), block()], "content", LIMITS)
    assert read.text.count("⟦") == 1


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("a.pdf", "a.pdf"),
        ("C:\\x\\a.pdf", "a.pdf"),
        ("../../etc/passwd", "passwd"),
        ("a\0b\r\n.pdf", "ab.pdf"),
        ("..", None),
        ("", None),
        (None, None),
        ("é" * 300 + ".pdf", "é" * 251 + ".pdf"),
    ],
)
def test_names_of_files(given: str | None, name: str | None) -> None:
    assert plain_filename(given) == name


def test_the_length_of_a_content_counts_its_bytes() -> None:
    assert content_length("four") == 4
    assert content_length([text("four"), block(b"x" * 3), {"type": "odd"}]) == 8


@pytest.mark.parametrize(
    ("kind", "media_type", "data"),
    [
        ("image", "image/png", PNG),
        ("image", "image/jpeg", b"\xff\xd8\xff\xe0..JFIF"),
        ("image", "IMAGE/GIF", b"GIF87a.."),
        ("image", "image/gif", b"GIF89a.."),
        ("image", "image/webp", b"RIFF\n\0\0\0WEBPVP8 "),
        ("file", "image/png", PNG),
        ("file", "text/csv", b"name,city\n"),
    ],
)
def test_pictures_that_models_read_are_taken(kind: str, media_type: str, data: bytes) -> None:
    (held,) = read_blocks([block(data, kind, media_type)], "content", LIMITS).attachments
    assert held.media_type == media_type.lower()


@pytest.mark.parametrize("kind", ["image", "file"])
@pytest.mark.parametrize("media_type", ["image/tiff", "image/svg+xml", "image/heic"])
def test_an_image_of_another_kind_is_refused(kind: str, media_type: str) -> None:
    message, field = refused(block(PNG, kind, media_type))
    assert field == "items[0].content[0].source.media_type"
    assert f"'{media_type}' is no image that models read. Send image/png," in message


@pytest.mark.parametrize("media_type", ["text/plain", "video/mp4", "application/octet-stream"])
def test_what_is_no_image_is_no_block_of_type_image(media_type: str) -> None:
    assert refused(block(b"<svg/>", "image", media_type))[1] == "items[0].content[0].source.media_type"


@pytest.mark.parametrize(
    ("media_type", "data", "told"),
    [
        ("image/png", b"name,city\nAnn,Oslo", "declared as 'image/png', but its bytes are no PNG, JPEG, GIF or WEBP"),
        ("image/png", b"\xff\xd8\xff\xe0", "declared as 'image/png', but its bytes are 'image/jpeg'"),
        ("image/webp", b"RIFF\n\0\0\0WAVEfmt ", "but its bytes are no PNG"),
        ("image/jpeg", b"", ""),
    ],
)
def test_bytes_that_are_not_what_they_are_declared_to_be(media_type: str, data: bytes, told: str) -> None:
    for kind in ("image", "file"):
        message, field = refused(block(data, kind, media_type))
        assert field == "items[0].content[0].source.data"
        assert told in message
