"""How ids are made."""

from __future__ import annotations

import base64
import hashlib
import uuid

from hindsight_server.domain.errors import NotFound


def new_id() -> str:
    """A fresh random id (UUID4)."""
    return str(uuid.uuid4())


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
