"""What is wrong with blocks of content, told of the block that the caller meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Place = tuple[str | int, ...]

_BRANCHES = {"text": "TextContentBlock", "image": "ImageContentBlock", "file": "FileContentBlock"}
_NO_CONTENT = "Input should be a text or a list of blocks"
_NO_BLOCK = "Input should be a block of type 'text', 'image' or 'file'"
_NOT_INLINE = (
    'The bytes come inline: {"type": "base64", "media_type": "image/png", "data": "..."}. No address is fetched from.'
)


def plain_rows(rows: Iterable[Row], value: Any) -> list[Row]:
    """The errors of a body as pydantic tells them, without those of the kinds of content that are not meant.

    Args:
        value: the decoded body.
    """
    told: dict[tuple[Place, str], Row] = {}
    for row in rows:
        found = _plain(row, value)
        if found is not None:
            told.setdefault((found["loc"], found["msg"]), found)
    return list(told.values())


def _plain(row: Row, value: Any) -> Row | None:
    place, rest = _parted(row["loc"])
    if not rest:
        return row
    content = _held(value, place)
    if not isinstance(content, list):
        return _row(place, _NO_CONTENT)
    if len(rest) < 3:  # of content that is a text
        return None
    _, index, branch, *inner = rest
    assert isinstance(index, int)
    block, here = content[index], (*place, index)
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str) or kind not in _BRANCHES:
        return _row(here, _NO_BLOCK)
    if branch != _BRANCHES[kind]:
        return None
    source = block.get("source")
    if inner[:1] == ["source"] and isinstance(source, dict) and source.get("type") not in (None, "base64"):
        return _row((*here, "source"), _NOT_INLINE)
    return {**row, "loc": (*here, *inner)}


def _parted(loc: Place) -> tuple[Place, Place]:
    """A place up to the content that it is in, and the rest; all of it and nothing where it is in none."""
    if loc[:1] == ("content",):
        return loc[:1], loc[1:]
    if loc[:1] == ("items",) and loc[2:3] == ("content",):
        return loc[:3], loc[3:]
    return loc, ()


def _held(value: Any, place: Sequence[str | int]) -> Any:
    for part in place:
        value = value[part]
    return value


def _row(place: Place, message: str) -> Row:
    return {"type": "value_error", "loc": place, "msg": message}
