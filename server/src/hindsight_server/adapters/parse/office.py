"""The files of office programs, through libraries that are an extra. Runs in the worker process only."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import IO, TYPE_CHECKING, Any

from hindsight_server.adapters.parse.plain import Unreadable
from hindsight_server.adapters.parse.tables import table_lines

if TYPE_CHECKING:
    from docx.table import Table as DocxTable

_ENTITIES = (b"<!DOCTYPE", b"<!ENTITY")
_CHUNK = 1 << 20
_FORMULA = re.compile(rb"<(?:\w+:)?f[\s/>]")
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DOCX_SIGNS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
# What was deleted or moved away, readings above words, how things look, and the second form of a text box.
_UNSEEN = frozenset(
    [f"{_W}{name}" for name in ("del", "moveFrom", "rt", "pPr", "rPr", "sdtPr", "sectPr", "tblPr", "tcPr")]
    + ["{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageLimits:
    """What a packed file may hold.

    Args:
        unpacked_bytes: all members together, unpacked.
        members: number of members.
        ratio: how much larger than the file its members may be, once they are larger than a few megabytes.
        pages: pages, slides or sheets.
    """

    unpacked_bytes: int = 500 << 20
    members: int = 20_000
    ratio: int = 200
    pages: int = 5_000


def check_package(data: bytes, limits: PackageLimits) -> None:
    """Raises Unreadable for what is no ZIP file, unpacks to too much, or declares XML entities.

    Sizes may be trusted: reading a member ends at the size that the directory names.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            entries = package.infolist()
            total = sum(entry.file_size for entry in entries)
            if len(entries) > limits.members or total > limits.unpacked_bytes:
                raise Unreadable("unpacked it is too large")
            if total > 8 << 20 and total > len(data) * limits.ratio:
                raise Unreadable("it unpacks to far more than it holds, as no honest document does")
            for entry in entries:
                if entry.flag_bits & 1:
                    raise Unreadable("it is encrypted; remove its password first")
                if entry.filename.lower().endswith((".xml", ".rels")):
                    with package.open(entry) as member:
                        _check_entities(member)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError):
        if data[:4] == b"\xd0\xcf\x11\xe0":
            raise Unreadable("it is encrypted, or of the format before 2007; save it anew without a password") from None
        raise Unreadable("it is damaged, or not of the kind that its name says") from None


def _check_entities(member: IO[bytes]) -> None:
    """Raises Unreadable for XML that declares entities: behind a comment of any length, and in UTF-16 too."""
    before = b""
    while chunk := member.read(_CHUNK):
        text = before + chunk.replace(b"\0", b"").upper()
        if any(mark in text for mark in _ENTITIES):
            raise Unreadable("its XML declares entities, which are not read")
        before = text[-len(_ENTITIES[0]) :]


def docx_text(data: bytes, limits: PackageLimits) -> str:
    from docx import Document
    from docx.table import Table
    from docx.text.paragraph import Paragraph

    document = Document(io.BytesIO(data))
    lines: list[str] = []
    for block in _docx_blocks(document.element.body):
        if block.tag == f"{_W}tbl":
            lines += table_lines(_docx_rows(Table(block, document)))
        elif text := "".join(_docx_words(block)).strip():
            style = Paragraph(block, document).style
            lines.append(_headed(text, style.name if style is not None else None))
    return "\n".join(lines)


def _docx_blocks(parent: Any) -> Iterator[Any]:
    """Paragraphs and tables, those in the fields of a form too, which python-docx passes over."""
    for child in parent:
        if child.tag in (f"{_W}p", f"{_W}tbl"):
            yield child
        elif child.tag not in _UNSEEN:
            yield from _docx_blocks(child)


def _docx_words(parent: Any) -> Iterator[str]:
    """The words that are seen, those of tracked insertions, fields and text boxes too."""
    for child in parent:
        if child.tag == f"{_W}t":
            yield child.text or ""
        elif child.tag in _DOCX_SIGNS:
            yield _DOCX_SIGNS[child.tag]
        elif child.tag not in _UNSEEN:
            if child.tag == f"{_W}p":
                yield "\n"
            yield from _docx_words(child)


def _docx_rows(table: DocxTable) -> Iterator[list[str]]:
    for row in table.rows:
        # A merged cell is listed once for each column that it covers.
        yield ["".join(_docx_words(cell)) for cell in dict.fromkeys(cell._tc for cell in row.cells)]


def _headed(text: str, style: str | None) -> str:
    level = (style or "").removeprefix("Heading ")
    if style == "Title":
        return f"# {text}"
    if level.isdigit() and style != level:
        return f"{'#' * min(6, int(level))} {text}"
    return f"- {text}" if (style or "").startswith("List") else text


def pptx_text(data: bytes, limits: PackageLimits) -> str:
    from pptx import Presentation

    slides = list(Presentation(io.BytesIO(data)).slides)
    if len(slides) > limits.pages:
        raise Unreadable(f"it has {len(slides)} slides; at most {limits.pages} are read")
    found = []
    for number, slide in enumerate(slides, start=1):
        lines = [f"## Slide {number}", *_shape_lines(slide.shapes)]
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            notes = slide.notes_slide.notes_text_frame.text.strip()
            lines += [notes] if notes else []
        if len(lines) > 1:
            found.append("\n".join(lines))
    return "\n\n".join(found)


def _shape_lines(shapes: Iterable[Any]) -> Iterator[str]:
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _shape_lines(shape.shapes)
        elif getattr(shape, "has_table", False):
            yield from table_lines([[cell.text for cell in row.cells] for row in shape.table.rows])
        elif shape.has_text_frame:
            yield from (line for paragraph in shape.text_frame.paragraphs if (line := paragraph.text.strip()))


def xlsx_text(data: bytes, limits: PackageLimits) -> str:
    """The values of cells; a formula that nobody has computed yet is read as it was written."""
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    written = load_workbook(io.BytesIO(data), read_only=True, keep_links=False) if _has_formulas(data) else None
    try:
        if len(book.sheetnames) > limits.pages:
            raise Unreadable(f"it has {len(book.sheetnames)} sheets; at most {limits.pages} are read")
        found = []
        for sheet, same in zip_longest(book.worksheets, written.worksheets if written is not None else ()):
            lines = list(table_lines(row for row in _sheet_rows(sheet, same) if any(row)))
            if lines:
                found.append("\n".join([f"## {sheet.title}", *lines]))
        return "\n\n".join(found)
    finally:
        book.close()
        if written is not None:
            written.close()


def _has_formulas(data: bytes) -> bool:
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        for name in package.namelist():
            if "worksheets/" in name and name.endswith(".xml"):
                with package.open(name) as member:
                    before = b""
                    while chunk := member.read(_CHUNK):
                        if _FORMULA.search(before + chunk):
                            return True
                        before = chunk[-64:]
    return False


def _sheet_rows(sheet: Any, written: Any) -> Iterator[list[str]]:
    """The cells of a sheet as text. `written` is the same sheet with formulas in the place of what they came to."""
    sheet.reset_dimensions()  # some programs write a wrong range, and cells outside of it would be lost
    if written is None:
        yield from ([_cell(value) for value in row] for row in sheet.iter_rows(values_only=True))
        return
    written.reset_dimensions()
    for row, formulas in zip_longest(sheet.iter_rows(), _formulas(written), fillvalue=()):
        yield [_computed(cell, formula) for cell, formula in zip_longest(row, formulas)]


def _formulas(sheet: Any) -> Iterator[Any]:
    try:
        yield from sheet.iter_rows(values_only=True)
    except Exception:  # openpyxl takes some formulas of newer programs for damaged: their values are read without them
        return


def _computed(cell: Any, formula: Any) -> str:
    """A cell's value, or its formula. One that came to an empty text has a type; one that was not computed has none."""
    if cell.value is not None or cell.data_type != "n" or formula is None:
        return _cell(cell.value)
    return str(getattr(formula, "text", formula))


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
