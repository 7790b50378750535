"""Which pictures models read, and how their bytes begin."""

from __future__ import annotations

import re

PICTURE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The media types of pictures that every model with eyes reads."""

_BEGINNINGS = {
    "image/png": re.compile(rb"\x89PNG"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF.{4}WEBP", re.DOTALL),
}


def picture_type(data: bytes) -> str | None:
    """The media type of a picture by its first bytes; None for any that models do not read.

    Example:
        >>> picture_type(b"GIF89a...")
        'image/gif'
    """
    return next((kind for kind, beginning in _BEGINNINGS.items() if beginning.match(data)), None)


def unread_type(media_type: str) -> str | None:
    """Why pictures of a media type are not read; None when they are."""
    if media_type in PICTURE_TYPES:
        return None
    return f"'{media_type}' is no image that models read. Send {', '.join(PICTURE_TYPES[:-1])} or {PICTURE_TYPES[-1]}"


def false_bytes(media_type: str, data: bytes) -> str | None:
    """In what way bytes are not the picture that they are declared to be; None when they are."""
    found = picture_type(data)
    if found == media_type:
        return None
    if found is None:
        return f"declared as '{media_type}', but its bytes are no PNG, JPEG, GIF or WEBP"
    return f"declared as '{media_type}', but its bytes are '{found}'"
