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


@dataclass(frozen=True, slots=True, kw_only=True)
class FileText:
    """What was read in a file.

    Args:
        text: tables row by row, in the order of reading; a note stands in the place of a part that can't be read.
        warnings: a sentence for each kind of loss, which holds no word of the file.
    """

    text: str
    warnings: tuple[str, ...] = ()


class FileParser(Protocol):
    """Safe to use for several files at once; a file can neither crash it nor keep it for ever."""

    def refusal(self, filename: str, media_type: str) -> str | None:
        """Why it reads no files of that kind, with the remedy; None when it does. The name's ending goes first."""
        ...

    async def parse(self, file: SourceFile) -> FileText:
        """The text of a file, or of all that can be read in it.

        Raises InvalidInput when there is none to be had: a kind that is not read, a damaged, encrypted or empty file,
        one that takes too long or is too large; the text says which.
        """
        ...
