"""Text kinds, which need the standard library only."""

from __future__ import annotations

import codecs
import csv
import io
from html.parser import HTMLParser

from hindsight_server.adapters.parse.tables import table_lines

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LONGEST_CELL = 1 << 20


class Unreadable(Exception):
    """The file gives no text; the message says why."""


def decoded(data: bytes) -> str:
    """A text's characters: by its byte order mark, else UTF-8, else Windows-1252."""
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    try:
        if encoding:
            return data.decode(encoding)
        if b"\0" in data[:4096]:
            raise Unreadable("it is no text: it holds NUL bytes")
        return data.decode("utf-8")
    except UnicodeDecodeError:
        if encoding:
            raise Unreadable("its characters can't be read") from None
        return data.decode("cp1252", "replace")


def csv_text(data: bytes, separator: str | None) -> str:
    """The rows of separated values; without a `separator` it is guessed from the first lines."""
    text = decoded(data)
    if separator is None:
        try:
            separator = csv.Sniffer().sniff(text[:4096], ",;\t|").delimiter
        except csv.Error:
            separator = ","
    csv.field_size_limit(_LONGEST_CELL)
    try:
        return "\n".join(table_lines(csv.reader(io.StringIO(text), delimiter=separator)))
    except csv.Error as error:
        raise Unreadable(f"its rows can't be read ({error})") from None


def html_text(data: bytes) -> str:
    """What a reader of the page sees, headings marked, tables row by row."""
    reader = _Page()
    reader.feed(decoded(data))
    reader.close()
    return reader.text()


_HIDDEN = frozenset(("script", "style", "template", "noscript", "svg", "math", "iframe", "object", "select"))
_BLOCK_TAGS = (
    "address article aside blockquote body br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 "
    "header hr li main nav ol p pre section table title tr ul"
)
_BLOCKS = frozenset(_BLOCK_TAGS.split())


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._lines: list[str] = []
        self._line: list[str] = []
        self._hidden = 0
        self._rows: list[list[str]] | None = None

    def text(self) -> str:
        self._end_line()
        return "\n".join(self._lines)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden += 1
        elif tag in ("td", "th") and self._rows:
            self._line.clear()
        elif tag in _BLOCKS and self._rows is None:
            self._end_line()
            if tag == "li":
                self._line.append("- ")
            elif len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
                self._line.append("#" * int(tag[1]) + " ")
        if tag == "table":
            self._end_line()
            self._rows = []
        elif tag == "tr" and self._rows is not None:
            self._rows.append([])

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif tag in ("td", "th") and self._rows:
            self._rows[-1].append("".join(self._line))
            self._line.clear()
        elif tag == "table" and self._rows is not None:
            self._lines += table_lines(self._rows)
            self._rows = None
            self._line.clear()
        elif tag in _BLOCKS and self._rows is None:
            self._end_line()

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._line.append(data)

    def _end_line(self) -> None:
        line = " ".join("".join(self._line).split())
        if line.strip("-# "):
            self._lines.append(line)
        self._line.clear()
