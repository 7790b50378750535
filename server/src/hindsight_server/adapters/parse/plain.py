"""Text kinds, which need the standard library only."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import re
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
_COMMON_SHARE = 0.7
_LAST_COMMON = 0xD7  # first byte of the last characters of level 1
_SIDE_BY_SIDE = re.compile(r"[^\x00-\x7f]{2}")
_CHARSET = re.compile(rb"""charset\s*=\s*["']?([a-z0-9_-]+)""", re.IGNORECASE)


class Unreadable(Exception):
    """The file gives no text; the message says why."""


def decoded(data: bytes, declared: str | None = None) -> str:
    """A text's characters: by its byte order mark, else UTF-8, else as `declared`, else GB18030 where that reads as
    Chinese, else Windows-1252."""
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
    if declared is not None:
        with contextlib.suppress(LookupError, UnicodeError):
            return data.decode(declared)
    return _chinese(data) or data.decode("cp1252", "replace")


def _chinese(data: bytes) -> str | None:
    """The text in GB18030, if most of it beyond ASCII are common characters and signs of GB 2312, some side by side.

    Texts of Western Europe are not: one such byte mostly stands among letters of ASCII, and where two do ("größe"),
    they would be a rare character alone.
    """
    try:
        text = data.decode("gb18030")
    except UnicodeDecodeError:
        return None
    beyond = "".join(character for character in text if not character.isascii())
    leads = beyond.encode("gb2312", "ignore")[::2]
    common = sum(lead <= _LAST_COMMON for lead in leads)
    return text if common >= _COMMON_SHARE * len(beyond) and _SIDE_BY_SIDE.search(text) else None


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
    charset = _CHARSET.search(data[:4096])
    reader.feed(decoded(data, charset[1].decode() if charset else None))
    reader.close()
    return reader.text()


_HIDDEN = frozenset(("script", "style", "template", "noscript", "svg", "math", "iframe", "object", "select"))
_BLOCK_TAGS = (
    "address article aside blockquote body br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 "
    "header hr li main nav ol p pre section table title tr ul caption"
)
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_CELLS = frozenset(("tr", "td", "th"))


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._lines: list[str] = []
        self._line: list[str] = []
        self._hidden = 0
        self._tables: list[list[list[str]]] = []
        self._in_cell = False

    def text(self) -> str:
        while self._tables:
            self._end_table()
        self._end_line()
        return "\n".join(self._lines)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden += 1
        elif tag == "table":
            self._end_cell()
            self._end_rows()
            self._tables.append([])
        elif self._tables and tag in _CELLS:
            self._begin_cell(tag)
        elif tag in _BLOCKS:
            self._end_block()
            if self._in_cell:
                return
            if tag == "li":
                self._line.append("- ")
            elif len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
                self._line.append("#" * int(tag[1]) + " ")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif self._tables and tag == "table":
            self._end_table()
        elif self._tables and tag in _CELLS:
            self._end_cell()
        elif tag in _BLOCKS:
            self._end_block()

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._line.append(data)

    def _begin_cell(self, tag: str) -> None:
        """A cell or a row. The end tags of those before may be left out."""
        self._end_cell()
        rows = self._tables[-1]
        if tag == "tr" or not rows:
            rows.append([])
        self._in_cell = tag != "tr"

    def _end_cell(self) -> None:
        """What stands in a table outside of its cells is a line, as its caption is."""
        if not self._in_cell:
            self._end_line()
            return
        self._tables[-1][-1].append("".join(self._line))
        self._line.clear()
        self._in_cell = False

    def _end_rows(self) -> None:
        """The rows so far of the innermost table, if there is one: what holds a table in a cell orders the page."""
        if self._tables:
            self._lines += table_lines(self._tables[-1])
            self._tables[-1].clear()

    def _end_table(self) -> None:
        self._end_cell()
        self._end_rows()
        self._tables.pop()

    def _end_block(self) -> None:
        if self._in_cell:
            self._line.append(" ")
        else:
            self._end_line()

    def _end_line(self) -> None:
        line = " ".join("".join(self._line).split())
        if line.strip("-# "):
            self._lines.append(line)
        self._line.clear()
