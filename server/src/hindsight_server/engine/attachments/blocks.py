"""Content as a list of blocks: text, pictures and files in the order in which they are read."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hindsight_server.domain.attachments import ID_DIGITS, MEDIA_TYPE, Attachment, token, without_tokens
from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.pictures import false_bytes, unread_type
from hindsight_server.domain.text import clean_text

_LONGEST_NAME = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentLimits:
    """What one item may bring.

    Args:
        bytes_each: size of an attachment.
        count: attachments of an item.
    """

    bytes_each: int = 20 << 20
    count: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockContent:
    """Blocks as a text with tokens, what the tokens stand for, and the bytes of it by digest."""

    text: str
    attachments: tuple[Attachment, ...] = ()
    uploads: Mapping[str, bytes] = field(default_factory=dict, repr=False)


def read_blocks(blocks: Sequence[Mapping[str, Any]], path: str, limits: AttachmentLimits) -> BlockContent:
    """The content that blocks make up, a line for each. Raises InvalidInput naming the first block that is wrong.

    Args:
        blocks: ``{"type": "text", "text": ...}``, or an ``image`` or ``file`` with a ``source`` of type ``base64``.
        path: where the blocks stand in the request.
    """
    pieces: list[str] = []
    attachments: dict[str, Attachment] = {}
    uploads: dict[str, bytes] = {}
    count = 0
    for index, block in enumerate(blocks):
        place, kind = f"{path}[{index}]", block.get("type")
        if kind == "text" and isinstance(block.get("text"), str):
            pieces.append(without_tokens(clean_text(block["text"])))
        elif kind in ("image", "file"):
            count += 1
            if count > limits.count:
                raise InvalidInput(
                    f"{path} holds more than {limits.count} images and files. Split it into items.", field=place
                )
            attachment, data = _attachment(block, str(kind), place, limits)
            attachments.setdefault(attachment.attachment_id, attachment)
            uploads[attachment.digest] = data
            pieces.append(token(attachment.attachment_id))
        else:
            raise InvalidInput(f"{place} must be a block of type text (with a text), image or file.", field=place)
    return BlockContent(text="\n".join(pieces), attachments=tuple(attachments.values()), uploads=uploads)


def content_length(content: str | Sequence[Mapping[str, Any]]) -> int:
    """Characters that have to be gone through to read a content."""
    if isinstance(content, str):
        return len(content)
    return sum(len(block.get("text") or "") + len((block.get("source") or {}).get("data") or "") for block in content)


def describe(data: bytes, *, kind: str, media_type: str, filename: str | None) -> Attachment:
    """The attachment that some bytes are."""
    digest = hashlib.sha256(data).hexdigest()
    return Attachment(
        attachment_id=digest[:ID_DIGITS],
        digest=digest,
        kind=kind,
        media_type=media_type,
        byte_size=len(data),
        filename=filename,
    )


def plain_filename(given: str | None) -> str | None:
    """The name alone, without any folder and without characters that no name has; None when nothing is left."""
    name = re.split(r"[/\\]", given or "")[-1]
    name = "".join(sign for sign in clean_text(name) if sign.isprintable()).strip(" .")
    return name[-_LONGEST_NAME:] or None


def _attachment(block: Mapping[str, Any], kind: str, place: str, limits: AttachmentLimits) -> tuple[Attachment, bytes]:
    source = block.get("source")
    if not isinstance(source, Mapping) or source.get("type", "base64") != "base64":
        raise InvalidInput(f"{place}.source must be of type 'base64': the bytes come inline.", field=f"{place}.source")
    media_type = str(source.get("media_type") or "").strip().lower()
    if not MEDIA_TYPE.fullmatch(media_type):
        raise InvalidInput(
            f"{place}.source.media_type must be a media type such as 'image/png'.", field=f"{place}.source.media_type"
        )
    is_image = kind == "image" or media_type.startswith("image/")
    unread = unread_type(media_type) if is_image else None
    if unread is not None:
        raise InvalidInput(f"{place}.source.media_type: {unread}.", field=f"{place}.source.media_type")
    data = _decoded(source.get("data"), f"{place}.source.data", limits.bytes_each)
    wrong = false_bytes(media_type, data) if is_image else None
    if wrong is not None:
        raise InvalidInput(f"{place}.source.data is {wrong}.", field=f"{place}.source.data")
    filename = plain_filename(block.get("filename") if isinstance(block.get("filename"), str) else None)
    return describe(data, kind=kind, media_type=media_type, filename=filename), data


def _decoded(value: object, place: str, most: int) -> bytes:
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{place} is empty; it must hold the bytes in base64.", field=place)
    if value.startswith("data:"):
        raise InvalidInput(f"{place} must be base64 alone: leave out 'data:...;base64,'.", field=place)
    digits = "".join(value.split())
    if len(digits) // 4 * 3 > most + 2:
        raise _too_large(place, most)
    try:
        data = base64.b64decode(digits, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput(f"{place} is not base64.", field=place) from None
    if len(data) > most:
        raise _too_large(place, most)
    return data


def _too_large(place: str, most: int) -> InvalidInput:
    return InvalidInput(f"{place} holds more than {most} bytes, the most an attachment may have.", field=place)
