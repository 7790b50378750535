"""What reads the text out of a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file as it was sent.

    Args:
        filename: its name, which may be empty.
        media_type: what the sender says it is, for example ``application/pdf``; may be empty.
    """

    filename: str = ""
    media_type: str = ""
    data: bytes = field(repr=False)


class FileParser(Protocol):
    """Safe to use for several files at once; a file can neither crash it nor keep it for ever."""

    def refusal(self, filename: str, media_type: str) -> str | None:
        """Why it reads no files of that kind, with the remedy; None when it does. The name's ending goes first."""
        ...

    async def parse(self, file: SourceFile) -> str:
        """The text of a file, tables row by row, in the order of reading.

        Raises InvalidInput when there is none to be had: a kind that is not read, a damaged, encrypted or empty file,
        one that takes too long or is too large; the text says which.
        """
        ...
