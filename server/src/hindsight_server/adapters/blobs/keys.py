"""The two parts of a blob's name, checked, so that no name leads anywhere else."""

from __future__ import annotations

import hashlib
import re

from hindsight_server.domain.errors import HindsightServerError, NotFound

_SPACE = re.compile(r"[0-9a-f]{8,64}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


def is_space(name: str) -> bool:
    return _SPACE.fullmatch(name) is not None


def is_digest(name: str) -> bool:
    return _DIGEST.fullmatch(name) is not None


def check_space(space: str) -> str:
    """Raises ValueError: a space is no user's text."""
    if not is_space(space):
        raise ValueError("a space is named by 8 to 64 lower-case hexadecimal digits")
    return space


def check_digest(digest: str) -> str:
    if not is_digest(digest):
        raise no_blob()
    return digest


def no_blob() -> NotFound:
    return NotFound("There are no such bytes: they never were, or they were deleted with what they belonged to.")


def checked(data: bytes, digest: str) -> bytes:
    """The bytes, when they are those of the digest."""
    if hashlib.sha256(data).hexdigest() != digest:
        raise HindsightServerError(
            f"The stored bytes of {digest[:16]}... are damaged. Retain what they belong to again."
        )
    return data
