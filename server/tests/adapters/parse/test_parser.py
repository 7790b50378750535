"""Files made by the libraries that people make them with, read back as text; and files that mean harm."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hindsight_server.adapters.parse.kinds import SUFFIXES, Kind, kind_of
from hindsight_server.adapters.parse.pdf import pdf_text
from hindsight_server.adapters.parse.plain import Unreadable
from hindsight_server.adapters.parse.process import ParseLimits, ProcessParser
from hindsight_server.domain.errors import InvalidInput
from hindsight_server.ports.parser import SourceFile

PEOPLE = [["name", "city", "joined"], ["Ann", "Oslo", "2015"], ["Zoë", "Graz", "2021"]]
ROWS = "name = Ann; city = Oslo; joined = 2015\nname = Zoë; city = Graz; joined = 2021"


async def read(filename: str, data: bytes, media_type: str = "", limits: ParseLimits | None = None) -> str:
    file = SourceFile(filename=filename, media_type=media_type, data=data)
    return (await ProcessParser(limits).parse(file)).text


async def refused(filename: str, data: bytes, limits: ParseLimits | None = None) -> str:
    with pytest.raises(InvalidInput) as told:
        await read(filename, data, limits=limits)
    return str(told.value)


def docx() -> bytes:
    from docx import Document

    document = Document()
    document.add_heading("Launch plan", 1)
    document.add_paragraph("The launch is on 3 May 2026.")
    table = document.add_table(0, 3)
    for row in PEOPLE:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    document.add_paragraph("After the table.")
    return saved(document.save)


def pptx() -> bytes:
    from pptx import Presentation
    from pptx.util import Inches

    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Who is who"
    table = slide.shapes.add_table(3, 3, Inches(1), Inches(1), Inches(6), Inches(2)).table
    for row, cells in enumerate(PEOPLE):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    slide.notes_slide.notes_text_frame.text = "Say hello to Ann."
    return saved(deck.save)


def xlsx() -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    book.active.title = "People"
    for row in PEOPLE:
        book.active.append([int(cell) if cell.isdigit() else cell for cell in row])
    book.create_sheet("Empty")
    return saved(book.save)


def pdf(*pages: str) -> bytes:
    """A PDF with a line of text on each page, written by hand: pypdf writes no text."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET"
        font = "/Resources << /Font << /F1 3 0 R >> >>"
        page = f"/MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R {font}"
        objects.append(f"<< /Type /Page /Parent 2 0 R {page} >>")
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out, places = b"%PDF-1.4\n", []
    for number, held in enumerate(objects, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n{held}\nendobj\n".encode()
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    head = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    return out + f"{head}trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF".encode()


def damaged(data: bytes, words: str, at: int | None = None) -> bytes:
    """The PDF with a page that nothing can decode, the one with these words; or only so many bytes of it, packed."""
    stream = f"BT /F1 12 Tf 72 700 Td ({words}) Tj ET"
    kept, decoder = stream, "/Unknown"
    if at is not None:
        packer = zlib.compressobj()
        packed = (
            packer.compress(stream[:at].encode()) + packer.flush(zlib.Z_FULL_FLUSH) + b"\xff" * 9
        )  # no block's kind
        kept, decoder = packed.hex(), "[/ASCIIHexDecode /FlateDecode]"
    whole = f"<< /Length {len(stream)} >>\nstream\n{stream}\n".encode()
    assert whole in data
    return data.replace(whole, f"<< /Length {len(kept)} /Filter {decoder} >>\nstream\n{kept}\n".encode())


def locked_pdf() -> bytes:
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf("secret"))))
    writer.encrypt("open sesame", algorithm="RC4-128")
    return saved(writer.write)


def saved(save: Callable[[io.BytesIO], object]) -> bytes:
    buffer = io.BytesIO()
    save(buffer)
    return buffer.getvalue()


def package(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members.items():
            made.writestr(name.replace("__", "/"), data)
    return buffer.getvalue()


async def test_docx_keeps_headings_and_reads_tables_row_by_row_where_they_stand() -> None:
    text = await read("plan.docx", docx())
    assert text == f"# Launch plan\nThe launch is on 3 May 2026.\n{ROWS}\nAfter the table."


async def test_pptx_reads_slides_tables_and_notes() -> None:
    assert await read("deck.pptx", pptx()) == f"## Slide 1\nWho is who\n{ROWS}\nSay hello to Ann."


async def test_xlsx_names_each_value_and_leaves_out_empty_sheets() -> None:
    assert await read("people.xlsx", xlsx()) == f"## People\n{ROWS}"


async def test_xlsx_shows_a_formula_that_was_not_computed() -> None:
    from openpyxl import Workbook
    from openpyxl.worksheet.formula import ArrayFormula

    book = Workbook()
    for row in (
        ["cost", "count", "sum"],
        [2, 3, "=A2*B2"],
        [4, None, "=A3"],
        [None, None, ArrayFormula("C4", "=A2:A3")],
    ):
        book.active.append(row)
    buffer, made = io.BytesIO(), saved(book.save)
    with zipfile.ZipFile(io.BytesIO(made)) as source, zipfile.ZipFile(buffer, "w") as changed:
        for entry in source.infolist():
            sheet = source.read(entry)
            # As a spreadsheet program saves it: computed, here to an empty text.
            changed.writestr(entry, sheet.replace(b'<c r="C3"><f>A3</f>', b'<c r="C3" t="str"><f>A3</f>'))
    assert (
        await read("a.xlsx", made) == "## Sheet\ncost = 2; count = 3; sum = =A2*B2\ncost = 4; sum = =A3\nsum = =A2:A3"
    )
    assert "=A3\n" not in await read("a.xlsx", buffer.getvalue())


async def test_pdf_reads_its_pages_in_order() -> None:
    assert await read("a.pdf", pdf("Ann moved to Oslo.", "Zoe lives in Graz.")) == (
        "Ann moved to Oslo.\n\nZoe lives in Graz."
    )


async def test_pdf_notes_a_page_that_can_not_be_read() -> None:
    pages = ("Ann moved to Oslo.", "lost", "Zoe lives in Graz.")
    file = SourceFile(filename="a.pdf", data=damaged(pdf(*pages), "lost"))
    read = await ProcessParser().parse(file)
    assert read.text == "Ann moved to Oslo.\n\n[page 2 can't be read]\n\nZoe lives in Graz."
    assert read.warnings == ("Of the file's pages 1 can't be read as a whole (2); the text says so in their places.",)
    assert "none of its pages (1)" in await refused("a.pdf", damaged(pdf("lost"), "lost"))
    assert "the others hold no text" in await refused("a.pdf", damaged(pdf("lost", ""), "lost"))


@pytest.mark.parametrize("left", ["", "6 0 obj\n42\nendobj\n", "6 0 obj\n<< >>\nendobj\n"])
async def test_pdf_notes_a_page_of_which_nothing_is_there(left: str) -> None:
    whole = pdf("Ann moved to Oslo.", "lost", "Zoe lives in Graz.")
    begin = whole.index(b"6 0 obj")
    end = whole.index(b"7 0 obj")
    torn = whole[:begin] + left.encode().ljust(end - begin) + whole[end:]
    read = await ProcessParser().parse(SourceFile(filename="a.pdf", data=torn))
    assert read.text == "Ann moved to Oslo.\n\n[page 2 can't be read]\n\nZoe lives in Graz."
    assert read.warnings == ("Of the file's pages 1 can't be read as a whole (2); the text says so in their places.",)
    only = pdf("lost").replace(b"/Kids [4 0 R]", b"/Kids [9 0 R]")
    assert "none of its pages (1)" in await refused("a.pdf", only)


async def test_pdf_notes_a_branch_of_pages_of_which_nothing_is_there() -> None:
    whole = pdf("Ann moved to Oslo.", "Zoe lives in Graz.", "")
    branches = whole.replace(b"/Kids [4 0 R 6 0 R 8 0 R] /Count 3", b"/Kids [10 0 R 99 0 R 11 0 R null] /Count 9")
    more = b"10 0 obj\n<< /Type /Pages /Kids [4 0 R] >>\nendobj\n11 0 obj\n<< /Kids [6 0 R] /Parent 2 0 R >>\nendobj\n"
    assert await read("a.pdf", branches.replace(b"xref\n", more, 1)) == (
        "Ann moved to Oslo.\n\n[page 2 can't be read]\n\nZoe lives in Graz."
    )


@pytest.mark.parametrize(
    ("kids", "more"),
    [
        ("9 0 R", "9 0 obj\n[4 0 R 99 0 R 6 0 R]\nendobj\n"),
        ("[4 0 R 99 0 R 6 0 R 9 0 R]", "9 0 obj\n<< /Type /Foo /Kids [9 0 R 9 0 R] >>\nendobj\n"),
        ("[10 0 R 99 0 R 6 0 R]", "9 0 obj\n/Pages\nendobj\n10 0 obj\n<< /Type 9 0 R /Kids [4 0 R] >>\nendobj\n"),
    ],
    ids=["kids elsewhere", "a node of no known type that holds itself", "a type elsewhere"],
)
async def test_pdf_notes_a_page_that_is_not_there_in_an_odd_tree(kids: str, more: str) -> None:
    whole = pdf("Ann moved to Oslo.", "Zoe lives in Graz.").replace(b"[4 0 R 6 0 R]", kids.encode())
    assert await read("a.pdf", whole.replace(b"xref\n", more.encode() + b"xref\n", 1)) == (
        "Ann moved to Oslo.\n\n[page 2 can't be read]\n\nZoe lives in Graz."
    )


async def test_pdf_notes_what_it_can_not_unpack() -> None:
    words = ") Tj 0 -20 Td (".join(f"Line {number}." for number in range(9))
    whole = pdf("Ann moved to Oslo.", words)
    assert (await read("a.pdf", whole)).endswith("\nLine 7.\nLine 8.")
    assert await read("a.pdf", damaged(whole, words, 0)) == "Ann moved to Oslo.\n\n[page 2 can't be read]"
    torn = await read("a.pdf", damaged(whole, words, 80))
    assert torn.startswith("Ann moved to Oslo.\n\nLine 0.\nLine 1.")
    assert torn.endswith("\n[the rest of page 2 can't be read]")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
async def test_separated_values(separator: str) -> None:
    data = "\n".join(separator.join(row) for row in PEOPLE).encode()
    assert await read("people.csv", data) == ROWS


async def test_a_table_without_names_of_columns_is_left_without() -> None:
    assert await read("a.csv", b"1,2\n3,4\n") == "1; 2\n3; 4"


async def test_html_hides_what_a_reader_does_not_see() -> None:
    page = (
        "<title>Team</title><style>p{}</style><script>alert('x')</script><h2>People</h2><p>Ann &amp; Zoë<br>in Oslo</p>"
        "<ul><li>one</li></ul><table><tr><th>name</th><th>city</th></tr><tr><td>Ann</td><td>Oslo</td></tr></table>"
    )
    text = await read("team.html", page.encode())
    assert text == "Team\n## People\nAnn & Zoë\nin Oslo\n- one\nname = Ann; city = Oslo"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
async def test_text_in_the_encodings_of_the_field(encoding: str) -> None:
    assert await read("notes.txt", "Zoë lives in Graz.".encode(encoding)) == "Zoë lives in Graz."


@pytest.mark.parametrize("told", ["Die Größe ist 5.", "¿Ésta es?", "£5 for a naïve café", "Die größten Süßigkeiten"])
async def test_western_text_is_not_taken_for_chinese(told: str) -> None:
    assert await read("notes.txt", told.encode("cp1252")) == told


async def test_json_and_markdown_stay_as_they_are() -> None:
    turns = json.dumps([{"role": "user", "content": "Ann moved to Oslo."}])
    assert await read("talk.json", turns.encode()) == turns
    assert await read("a.md", b"# Ann\n\nmoved") == "# Ann\n\nmoved"


async def test_the_media_type_tells_when_the_name_does_not() -> None:
    assert await read("", b"name,city\nAnn,Oslo", "text/csv; charset=utf-8") == "name = Ann; city = Oslo"


def test_every_ending_has_a_kind() -> None:
    assert {kind_of(f"A.{suffix.upper()}", "") for suffix in SUFFIXES} == set(Kind)
    assert kind_of("a.exe", "application/octet-stream") is None
    assert kind_of("photo", "image/png") is Kind.IMAGE


@pytest.mark.parametrize(
    ("filename", "told"),
    [("a.exe", "not read"), ("a.png", "HINDSIGHT_API_VLM_MODEL"), ("a.mp3", "transcript"), ("a", "not read")],
)
async def test_kinds_that_are_not_read_name_the_remedy(filename: str, told: str) -> None:
    assert told in await refused(filename, b"x")


async def test_without_the_libraries_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hindsight_server.adapters.parse.process.find_spec", lambda name: None)
    assert "hindsight-server[files]" in await refused("a.pdf", pdf("x"))
    assert await read("a.txt", b"needs none") == "needs none"


@pytest.mark.parametrize("suffix", ["docx", "pptx", "xlsx", "pdf"])
@pytest.mark.parametrize("data", [b"", b"nonsense", b"PK\x03\x04cut", b"%PDF-1.4 cut", package(a__b=b"x")])
async def test_damaged_files_are_told(suffix: str, data: bytes) -> None:
    assert "can't be read" in await refused(f"a.{suffix}", data)


@pytest.mark.parametrize("make", [docx, pptx, xlsx])
async def test_files_cut_short_are_told(make: Callable[[], bytes]) -> None:
    data = make()
    assert "damaged" in await refused(f"a.{make.__name__}", data[: len(data) // 2])


@pytest.mark.parametrize("filename", ["a.txt", "a.csv", "a.html", "a.docx"])
async def test_files_without_text_are_told(filename: str) -> None:
    from docx import Document

    data = saved(Document().save) if filename.endswith("docx") else b" \n "
    assert "holds no text" in await refused(filename, data)


async def test_a_scan_names_the_remedy() -> None:
    assert "vision model" in await refused("scan.pdf", pdf(""))


async def test_encrypted_files_are_told() -> None:
    assert "password" in await refused("a.pdf", locked_pdf())
    assert "password" in await refused("a.docx", b"\xd0\xcf\x11\xe0" + b"\0" * 600)


async def test_a_bomb_is_not_unpacked() -> None:
    bomb = package(word__document=b"0" * (64 << 20))
    assert "unpacks to far more" in await refused("a.docx", bomb)
    assert "too large" in await refused("a.docx", bomb, ParseLimits(unpacked_bytes=1 << 20))


@pytest.mark.parametrize(
    ("encoding", "before"),
    [("utf-8", ""), ("utf-16", ""), ("utf-8", f"<!--{'x' * (1 << 20)}-->"), ("utf-16-be", f"<!--{'x' * 9000}-->")],
)
async def test_entities_are_not_expanded(encoding: str, before: str) -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 9))
    xml = f'{before}<!DOCTYPE x [<!ENTITY l0 "lol">{laughs}]><x>&l8;</x>'.encode(encoding)
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(docx())) as source, zipfile.ZipFile(buffer, "w") as made:
        for entry in source.infolist():
            made.writestr(entry, xml if entry.filename == "word/document.xml" else source.read(entry))
    assert "entities" in await refused("a.docx", buffer.getvalue())


async def test_limits_of_pages_characters_memory_and_time() -> None:
    usual = ParseLimits()
    assert "3 pages" in await refused("a.pdf", pdf("a", "b", "c"), replace(usual, pages=2))
    assert "characters" in await refused("a.txt", b"x" * 1000, replace(usual, chars=100))
    assert "memory" in await refused("a.txt", b"x" * (200 << 20), replace(usual, memory_bytes=300 << 20))
    assert "seconds" in await refused("a.txt", b"x", replace(usual, seconds=0))


def test_the_process_that_reads_a_file_ends_with_the_server() -> None:
    """As the system closes the pipes of a server that is killed."""
    slow = (
        "import time, json; from hindsight_server.adapters.parse import worker\n"
        "def read(*given):\n    print('reading', flush=True)\n    time.sleep(90)\n"
        "worker.read_file = read\n"
        "worker.main(['text', json.dumps({'memory_bytes': 2 << 30, 'seconds': 90})])"
    )
    with subprocess.Popen([sys.executable, "-c", slow], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        reader.stdin.write((1).to_bytes(8, "big") + b"x")
        reader.stdin.flush()
        try:
            assert reader.stdout.readline() == b"reading\n"
            assert reader.poll() is None
            reader.stdin.close()
            assert reader.wait(30) == 1
        finally:
            reader.kill()


async def test_a_file_that_is_refused_harms_no_other() -> None:
    parser = ProcessParser()
    with pytest.raises(InvalidInput):
        await parser.parse(SourceFile(filename="a.pdf", data=b"nonsense"))
    assert (await parser.parse(SourceFile(filename="a.txt", data=b"fine"))).text == "fine"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<table><tr><td>Ann<tr><td>Zoë</table>after", "Ann\nZoë\nafter"),
        ("<table><tr><td>1<td>2<tr><td>3<td>4", "1; 2\n3; 4"),
        (
            "<table><tr><td>top</td></tr><tr><td><table><tr><td>in</td></tr></table>rest</td></tr></table>",
            "top\nin\nrest",
        ),
        ("<table><caption>Prices</caption><tr><td>1</td><td></td><td>3</td></tr></table>", "Prices\n1; 3"),
        ("<table><tr><td>Dear Ann,<br>hello<p>Zoë</p></td></tr></table>", "Dear Ann, hello Zoë"),
    ],
)
async def test_no_words_of_a_table_are_lost(page: str, text: str) -> None:
    assert await read("mail.html", page.encode()) == text


async def test_a_table_of_one_row_is_its_row() -> None:
    assert await read("a.csv", b"Ann,Oslo\n") == "Ann; Oslo"


async def test_names_of_columns_may_follow_an_empty_row() -> None:
    assert await read("a.csv", b"\n,\nname,city\nAnn,Oslo\n") == "name = Ann; city = Oslo"


@pytest.mark.parametrize("filename", ["a.txt", "a.html"])
async def test_chinese_text_of_older_programs_is_read(filename: str) -> None:
    told = "我住在上海，喜欢喝茶。Ann 2015"
    assert await read(filename, told.encode("gb18030")) == told


async def test_the_charset_that_a_page_declares_is_used() -> None:
    page = '<meta charset="windows-1251"><p>Анна живёт в Осло.</p>'
    assert await read("a.html", page.encode("cp1251")) == "Анна живёт в Осло."
    assert await read("a.html", b'<meta charset="nonsense"><p>Zo\xeb') == "Zoë"


async def test_rows_beyond_the_range_that_a_sheet_claims_are_read() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(xlsx())) as source, zipfile.ZipFile(buffer, "w") as made:
        for entry in source.infolist():
            made.writestr(entry, source.read(entry).replace(b'<dimension ref="A1:C3"', b'<dimension ref="A1"'))
    assert await read("people.xlsx", buffer.getvalue()) == f"## People\n{ROWS}"


def test_a_pdf_that_needs_more_to_be_opened_says_what(monkeypatch: pytest.MonkeyPatch) -> None:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    def decrypt(*_: object) -> None:
        raise DependencyError("cryptography>=3.1 is required for AES algorithm")

    monkeypatch.setattr(PdfReader, "decrypt", decrypt)
    with pytest.raises(Unreadable, match="pip install cryptography"):
        pdf_text(locked_pdf(), 10)


async def test_docx_reads_tracked_insertions_and_the_fields_of_forms() -> None:
    from docx import Document
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    def made(xml: str) -> Any:
        return parse_xml(xml.replace(">", f" {nsdecls('w')}>", 1))

    document = Document()
    paragraph = document.add_paragraph("Ann moved to ")
    paragraph._p.append(made("<w:ins><w:r><w:t>Oslo</w:t></w:r></w:ins>"))
    paragraph._p.append(made("<w:del><w:r><w:delText>Rome</w:delText></w:r></w:del>"))
    inline = "<w:sdt><w:sdtContent><w:r><w:t> in May</w:t></w:r></w:sdtContent></w:sdt>"
    paragraph._p.append(made(inline))
    block = "<w:sdt><w:sdtContent><w:p><w:r><w:t>Name: Ann</w:t></w:r></w:p></w:sdtContent></w:sdt>"
    document.element.body.insert(1, made(block))
    outer = document.add_table(1, 1).cell(0, 0)
    outer.text = "outer"
    outer.add_table(1, 1).cell(0, 0).text = "inner"
    assert await read("form.docx", saved(document.save)) == "Ann moved to Oslo in May\nName: Ann\nouter inner"
