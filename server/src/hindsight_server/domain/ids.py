"""How ids are made."""

from __future__ import annotations

import base64
import hashlib
import os
import time

from hindsight_server.domain.errors import NotFound

_VERSION_7 = 0x7 << 76 | 0b10 << 62
_RANDOM_BITS = (1 << 80) - 1 & ~(0xF << 76 | 0b11 << 62)
_AT_ONCE = 256
_drawn: list[int] = []


def new_id() -> str:
    """A fresh id: a UUID of version 7 (RFC 9562), milliseconds since 1970 and then 74 random bits.

    Ids that are made together sort together, so that a store's indexes grow at one end. With wholly random ones, each
    retained item changes pages all over the file: twice as many, in a bank of a few thousand facts.
    """
    digits = f"{(time.time_ns() // 1_000_000) << 80 | _random() | _VERSION_7:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _random() -> int:
    """Random bits for an id. The system is asked for those of many at once: with each call a thread gives way to the
    others, and waits for its turn."""
    try:
        return _drawn.pop()
    except IndexError:
        drawn = os.urandom(10 * _AT_ONCE)
        first, *others = (int.from_bytes(drawn[at : at + 10]) & _RANDOM_BITS for at in range(0, len(drawn), 10))
        _drawn.extend(others)
        return first


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drawn.clear)  # else both processes would make the same ids


def content_hash(text: str) -> str:
    """SHA-256 of the text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def chunk_id(bank_id: str, document_id: str, chunk_hash: str, ordinal: int) -> str:
    """The id of a chunk: it names its bank, so that it can be looked up without one.

    `ordinal` tells equal chunks of one document apart.

    Example:
        >>> bank_of_chunk(chunk_id("a/b", "doc", "00ff", 0))
        'a/b'
    """
    bank = base64.urlsafe_b64encode(bank_id.encode()).decode().rstrip("=")
    digest = hashlib.sha256(f"{document_id}\0{chunk_hash}\0{ordinal}".encode()).hexdigest()[:32]
    return f"{bank}.{digest}"


def bank_of_chunk(identifier: str) -> str:
    """The bank that a chunk id names. Raises NotFound for a text that is no chunk id."""
    head, dot, _ = identifier.partition(".")
    try:
        return base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)).decode() if dot else _no_chunk(identifier)
    except (ValueError, UnicodeDecodeError):
        return _no_chunk(identifier)


def _no_chunk(identifier: str) -> str:
    raise NotFound(f"Chunk '{identifier}' not found.")
