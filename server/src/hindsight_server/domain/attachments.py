"""Pictures and files that stand inside a text: how the text marks their places, and which facts were drawn from them.

In a stored text the place of an attachment is a token, ``⟦hs-att:ID⟧``. What was read from it follows, up to
``⟦/hs-att⟧``: the two and what is between them are the attachment's region. A fact shows ``[image: image/png]``
instead.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ID_DIGITS = 16
"""Digits of the SHA-256 that name an attachment inside its bank."""

_TOKEN = re.compile(r"⟦hs-att:([0-9a-f]{12,64})⟧")
_END = "⟦/hs-att⟧"
_REGION = re.compile(rf"{_TOKEN.pattern}(?:\n((?:(?!⟦hs-att:)[\s\S])*?)\n?{re.escape(_END)})?")
_FORGED = re.compile(r"⟦(?=/?hs-att)")
_FORGOTTEN = "[attachment]"
_DIGEST = re.compile(r"[0-9a-f]{64}")
MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,100}/[a-z0-9][a-z0-9!#$&^_.+-]{0,100}")
"""A media type without parameters, in lower case."""

_SPACES = re.compile(r"[ \t]*\n\s*|[ \t]{2,}")
_WORD = re.compile(r"\w+")
_LEAST_WORD = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A picture or file inside a text.

    Args:
        attachment_id: names it inside its bank; the first digits of `digest`.
        digest: SHA-256 of its bytes, in hexadecimal digits.
        kind: ``image`` or ``file``, as the caller sent it.
        media_type: as the caller declared it.
        filename: None when the caller gave none.
    """

    attachment_id: str
    digest: str
    kind: str
    media_type: str
    byte_size: int
    filename: str | None = None

    @property
    def placeholder(self) -> str:
        """What stands for it in a fact."""
        return f"[{self.kind}: {self.media_type}]"


@dataclass(frozen=True, slots=True)
class Region:
    """Where an attachment stands in a text.

    Args:
        start, end: from its token to behind what was read from it.
        inner: where the words that were read from it begin and end; None when nothing was read yet.
    """

    attachment_id: str
    start: int
    end: int
    inner: tuple[int, int] | None


def blob_space(bank_id: str) -> str:
    """Where the bytes of a bank are kept; it tells nothing of the bank's id."""
    return hashlib.sha256(f"bank\0{bank_id}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def token(attachment_id: str) -> str:
    return f"⟦hs-att:{attachment_id}⟧"


def without_tokens(text: str) -> str:
    """A text that marks no place, whatever its author wrote."""
    return _FORGED.sub("[", text)


def filled(text: str, readings: Mapping[str, str]) -> str:
    """The text with what was read from attachments, by id, behind those tokens that have nothing yet."""

    def put(found: re.Match[str]) -> str:
        reading = readings.get(found[1])
        if found[2] is not None or reading is None:
            return found[0]
        return f"{token(found[1])}\n{without_tokens(reading).strip()}\n{_END}"

    return _REGION.sub(put, text)


def regions(text: str) -> list[Region]:
    """The places of attachments in a text, in order."""
    return [
        Region(found[1], found.start(), found.end(), None if found[2] is None else found.span(2))
        for found in _REGION.finditer(text)
    ]


def ids_in(text: str) -> list[str]:
    """The ids of the tokens in a text, in the order of their first place."""
    return list(dict.fromkeys(found[1] for found in _TOKEN.finditer(text)))


def shown(text: str, attachments: Mapping[str, Attachment]) -> str:
    """A text as people read it: placeholders instead of tokens."""
    if "⟦" not in text:
        return text

    def put(found: re.Match[str]) -> str:
        known = attachments.get(found[1])
        return known.placeholder if known else _FORGOTTEN

    text = _TOKEN.sub(put, text).replace(_END, "")
    return _SPACES.sub(lambda gap: "\n" if "\n" in gap[0] else " ", text).strip()


def says_nothing(text: str, attachments: Iterable[Attachment]) -> bool:
    """Whether a shown text is placeholders only."""
    for placeholder in (_FORGOTTEN, *(attachment.placeholder for attachment in attachments)):
        text = text.replace(placeholder, "")
    return not text.strip()


def drawn_from(fact: str, place: tuple[int, int], text: str, chunk: tuple[int, int]) -> tuple[str, ...]:
    """The ids of the attachments that a fact was drawn from.

    A fact is drawn from an attachment when its own place lies in the region, or when it has a word that stands in the
    region and nowhere else in the chunk. A fact that the prose states is drawn from none.

    Args:
        fact: its text, as it is shown.
        place: where its words stand in the item's text; an empty stretch when that is not known.
        text: the item's text.
        chunk: where its chunk stands in the text.
    """
    near = [region for region in regions(text) if region.start < chunk[1] and chunk[0] < region.end]
    if not near:
        return ()
    words = _words(fact)
    prose = _words("".join(_between(text, chunk, near)))
    found = []
    for region in near:
        inside = region.start <= place[0] < place[1] <= region.end
        only_there = set() if region.inner is None else _words(text[slice(*region.inner)]) - prose
        if inside or words & only_there:
            found.append(region.attachment_id)
    return tuple(dict.fromkeys(found))


def _between(text: str, chunk: tuple[int, int], near: Sequence[Region]) -> Iterator[str]:
    at = chunk[0]
    for region in near:
        yield text[at : max(at, region.start)]
        at = max(at, region.end)
    yield text[at : chunk[1]]


def _words(text: str) -> set[str]:
    """Words that can tell one text from another: numbers, and words of some length."""
    found = (word.casefold() for word in _WORD.findall(text))
    return {word for word in found if len(word) >= _LEAST_WORD or not word.isascii() or any(map(str.isdigit, word))}


def to_json(attachments: Sequence[Attachment]) -> list[list[Any]]:
    return [
        [one.attachment_id, one.digest, one.kind, one.media_type, one.byte_size, one.filename] for one in attachments
    ]


def from_untrusted(value: object) -> tuple[Attachment, ...]:
    """What an archive says of attachments. Raises ValueError for anything that this server would not write."""
    if not isinstance(value, list | tuple):
        raise ValueError("attachments are no list")
    for held in value:
        if not isinstance(held, list | tuple) or len(held) != 6:
            raise ValueError("an attachment has no six fields")
        attachment_id, digest, kind, media_type, byte_size, filename = held
        if not (isinstance(digest, str) and _DIGEST.fullmatch(digest) and attachment_id == digest[:ID_DIGITS]):
            raise ValueError("the id or hash of an attachment is none")
        if kind not in ("image", "file") or not (isinstance(media_type, str) and MEDIA_TYPE.fullmatch(media_type)):
            raise ValueError("the kind or media type of an attachment is none")
        if type(byte_size) is not int or not 0 <= byte_size < 2**40:
            raise ValueError("the size of an attachment is none")
        if filename is not None and not (isinstance(filename, str) and filename.isprintable() and len(filename) < 256):
            raise ValueError("the filename of an attachment is none")
    return from_json(value)


def from_json(value: Iterable[Sequence[Any]]) -> tuple[Attachment, ...]:
    return tuple(
        Attachment(
            attachment_id=held[0],
            digest=held[1],
            kind=held[2],
            media_type=held[3],
            byte_size=held[4],
            filename=held[5],
        )
        for held in value
    )
