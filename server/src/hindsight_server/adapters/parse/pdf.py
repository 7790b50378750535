"""PDF, through a library that is an extra. Runs in the worker process only."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hindsight_server.adapters.parse.plain import Unreadable
from hindsight_server.ports.parser import FileText

if TYPE_CHECKING:
    from pypdf import PdfReader

_LISTED_PAGES = 20


@dataclass(frozen=True, slots=True)
class _Page:
    text: str
    is_whole: bool

    def shown(self, number: int) -> str:
        """Its words, with a note in the place of those that can't be read."""
        if self.is_whole:
            return self.text
        return (
            f"{self.text}\n[the rest of page {number} can't be read]" if self.text else f"[page {number} can't be read]"
        )


def pdf_text(data: bytes, most_pages: int) -> FileText:
    """The words of the pages; a note stands in the place of what can't be read."""
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, PyPdfError

    if b"%PDF-" not in data[:1024]:
        raise Unreadable("it is no PDF: it does not begin like one")
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("it is encrypted; remove its password first")
        there, missing = len(reader.pages), _missing(reader)
        count = there + len(missing)
        if count > most_pages:
            raise Unreadable(f"it has {count} pages; at most {most_pages} are read")
        pages = [_page(reader, index) for index in range(there)]
    except DependencyError:
        raise Unreadable("it is encrypted with AES, which needs another package: pip install cryptography") from None
    except PyPdfError as error:
        raise Unreadable(f"it is damaged ({type(error).__name__})") from None
    for index in reversed(missing):
        pages.insert(index, _Page("", False))
    damaged = [number for number, page in enumerate(pages, start=1) if not page.is_whole]
    if not any(page.text for page in pages):
        raise Unreadable(_wordless(count, damaged))
    shown = (page.shown(number) for number, page in enumerate(pages, start=1))
    return FileText(text="\n\n".join(text for text in shown if text), warnings=_told(damaged))


def _missing(reader: PdfReader) -> list[int]:
    """For each page that is named where nothing of it is, how many of the others stand before it; pypdf passes over it.

    A branch of the tree of pages that is gone counts as one. Followed is what pypdf follows; what it has seen before, a
    damaged or hostile file may name again.
    """
    from pypdf.generic import ArrayObject, DictionaryObject, IndirectObject

    missing, before, branches = [], 0, set[int]()
    left: list[Any] = [reader.root_object.raw_get("/Pages")]
    while left:
        named = left.pop()
        node = named.get_object()
        if not isinstance(node, DictionaryObject) or not node:
            if isinstance(named, IndirectObject):
                missing.append(before)
            continue
        # `get` would give what only refers to them.
        inside = {key: node[key] for key in ("/Type", "/Kids") if key in node}
        kind = inside.get("/Type", "/Pages" if "/Kids" in inside else "/Page")
        if kind == "/Page":
            before += 1
        elif kind == "/Pages" and id(node) not in branches:
            branches.add(id(node))
            kids = inside.get("/Kids")
            left += reversed(kids) if isinstance(kids, ArrayObject) else ()
    return missing


def _page(reader: PdfReader, index: int) -> _Page:
    from pypdf.errors import DependencyError

    with _noticed() as noticed:
        try:
            text = (reader.pages[index].extract_text() or "").strip()
        except (DependencyError, MemoryError):  # no page of the file can be read, or the process is at its end
            raise
        except Exception:  # whatever the library meets on a damaged page
            return _Page("", False)
    return _Page(text, not noticed.damage)


class _Notices(logging.Handler):
    """pypdf leaves out what it can't unpack, and only logs that it did."""

    damage = False

    def emit(self, record: logging.LogRecord) -> None:
        self.damage = self.damage or "while decompressing" in record.getMessage()


@contextmanager
def _noticed() -> Iterator[_Notices]:
    logger, notices = logging.getLogger("pypdf"), _Notices()
    logger.addHandler(notices)
    try:
        yield notices
    finally:
        logger.removeHandler(notices)


def _wordless(count: int, damaged: Sequence[int]) -> str:
    remedy = "Send the pages as images to a server that has a vision model"
    if len(damaged) == count:
        return f"it is damaged: none of its pages ({count}) can be read"
    if damaged:
        return f"{len(damaged)} of its {count} pages can't be read, and the others hold no text. {remedy}"
    return f"its pages hold no text, as those of a scan. {remedy}"


def _told(damaged: Sequence[int]) -> tuple[str, ...]:
    if not damaged:
        return ()
    listed = ", ".join(map(str, damaged[:_LISTED_PAGES])) + (", ..." if len(damaged) > _LISTED_PAGES else "")
    return (
        f"Of the file's pages {len(damaged)} can't be read as a whole ({listed}); the text says so in their places.",
    )
