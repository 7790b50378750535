"""Files uploaded to a real server: by the client's own methods, by forms, and across a kill."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hindsight_client import Hindsight

from hindsight_server.testing.process import ServerProcess

from .conftest import Answer, Api


def form(files: list[tuple[str, bytes]], request: Any = None) -> bytes:
    parts = [
        f'--x\r\ncontent-disposition: form-data; name="files"; filename="{name}"\r\n\r\n'.encode() + data + b"\r\n"
        for name, data in files
    ]
    if request is not None:
        said = request if isinstance(request, str) else json.dumps(request)
        parts.append(f'--x\r\ncontent-disposition: form-data; name="request"\r\n\r\n{said}\r\n'.encode())
    return b"".join(parts) + b"--x--\r\n"


def upload(api: Api, bank: str, files: list[tuple[str, bytes]], request: Any = None) -> Answer:
    path = f"/v1/default/banks/{quote(bank, safe='')}/files/retain"
    return api("POST", path, form(files, request), {"content-type": "multipart/form-data; boundary=x"})


def done(api: Api, bank: str, operation_id: str) -> Any:
    for _ in range(600):
        known = api.bank("GET", bank, f"/operations/{operation_id}").body
        if known["status"] in ("completed", "failed"):
            return known
        time.sleep(0.05)
    raise AssertionError(known)


def readers() -> dict[int, int]:
    """The processes that read files, with their parents. One that has ended has no command any more."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if b"hindsight_server.adapters.parse.worker" in words:
            found[int(folder.name)] = parent
    return found


def docx(path: Path) -> Path:
    from docx import Document

    document = Document()
    document.add_paragraph("Ann moved to Oslo in May 2015.")
    document.save(str(path))
    return path


def xlsx(path: Path) -> Path:
    from openpyxl import Workbook

    book = Workbook()
    for row in (["name", "city"], ["Carla", "Lima"]):
        book.active.append(row)
    book.save(path)
    return path


def pdf_with_a_damaged_page() -> bytes:
    """Two pages, of which nothing can decode the second. It has no table of its objects, which readers do without."""
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [4 0 R 6 0 R] /Count 2 >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, (words, decoder) in enumerate((("Ann moved to Oslo.", ""), ("lost", "/Filter /Unknown"))):
        stream = f"BT /F1 12 Tf 72 700 Td ({words}) Tj ET"
        about = f"/MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R /Resources << /Font << /F1 3 0 R >> >>"
        objects.append(f"<< /Type /Page /Parent 2 0 R {about} >>")
        objects.append(f"<< /Length {len(stream)} {decoder} >>\nstream\n{stream}\nendstream")
    body = "".join(f"{number} 0 obj\n{held}\nendobj\n" for number, held in enumerate(objects, start=1))
    return f"%PDF-1.4\n{body}trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n0\n%%EOF".encode()


@pytest.mark.feature("R14")
def test_the_client_retains_files_each_as_a_document_with_an_operation(
    api: Api, server_url: str, bank: str, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("Bob lives in Rome.")
    paths = [docx(tmp_path / "plan.docx"), xlsx(tmp_path / "people.xlsx"), tmp_path / "notes.txt"]
    about: list[dict[str, Any]] = [
        {"document_id": "plan", "tags": ["work"], "metadata": {"source": "drive"}, "context": "the move"},
        {"document_id": "people"},
        {},
    ]
    with Hindsight(base_url=server_url) as client:
        answer = client.retain_files(bank, [str(path) for path in paths], files_metadata=about)
        assert len(answer.operation_ids) == 3
        finished = [done(api, bank, one) for one in answer.operation_ids]
        assert [one["status"] for one in finished] == ["completed"] * 3
        found = client.recall(bank, "Where did Ann move to?")
    assert "Oslo" in found.results[0].text
    assert found.results[0].document_id == "plan"
    assert found.results[0].tags == ["work"]
    plan = api.bank("GET", bank, "/documents/plan").body
    assert plan["original_text"] == "Ann moved to Oslo in May 2015."
    assert plan["document_metadata"] == {"filename": "plan.docx", "source": "drive"}
    assert api.bank("GET", bank, "/documents/people").body["original_text"] == "## Sheet\nname = Carla; city = Lima"
    assert api.bank("GET", bank, "/documents").body["total"] == 3
    listed = api.bank("GET", bank, "/operations?type=file_convert_retain").body["operations"]
    assert {one["filename"] for one in listed} == {"plan.docx", "people.xlsx", "notes.txt"}
    assert {one["document_id"] for one in listed} >= {"plan", "people"}


async def test_the_client_retains_files_with_one_context(api: Api, server_url: str, bank: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Ann likes figs.")
    client = Hindsight(base_url=server_url)
    try:
        answer = await client.aretain_files(bank, [tmp_path / "a.md"], context="dinner")
    finally:
        await client.aclose()
    assert done(api, bank, answer.operation_ids[0])["status"] == "completed"
    assert api.bank("GET", bank, "/memories/list").body["items"][0]["context"] == "dinner"


def test_uploading_a_document_again_replaces_it(api: Api, bank: str) -> None:
    for words in ("Ann lives in Oslo.", "Ann lives in Bergen."):
        answer = upload(api, bank, [("a.txt", words.encode())], {"files_metadata": [{"document_id": "d"}]})
        done(api, bank, answer.body["operation_ids"][0])
    items = api.bank("GET", bank, "/memories/list").body["items"]
    assert [item["text"] for item in items] == ["Ann lives in Bergen."]


def test_an_empty_file_fails_its_own_operation_and_keeps_no_other_out(api: Api, bank: str) -> None:
    answer = upload(api, bank, [("none.txt", b""), ("a.txt", b"Ann lives in Oslo."), ("none.pdf", b"")])
    assert answer.status == 200, answer.body
    ended = [done(api, bank, one) for one in answer.body["operation_ids"]]
    assert [one["status"] for one in ended] == ["failed", "completed", "failed"]
    assert [ended[index]["error_message"] for index in (0, 2)] == [
        "File 'none.txt' can't be read: it is empty.",
        "File 'none.pdf' can't be read: it is empty.",
    ]
    assert api.bank("GET", bank, "/memories/list").body["total"] == 1


@pytest.mark.parametrize(
    ("files", "request_", "status", "told"),
    [
        ([], {}, 422, "at least one"),
        ([("a.exe", b"MZ")], {}, 422, "not read"),
        ([("a.png", b"\x89PNG")], {}, 422, "HINDSIGHT_API_VLM_MODEL"),
        ([("a.mp3", b"ID3")], {}, 422, "transcript"),
        ([(f"{n}.txt", b"x") for n in range(11)], {}, 422, "at most 10"),
        ([("a.txt", b"x")], "{", 422, "JSON"),
        ([("a.txt", b"x")], {"files_metadata": [{}, {}]}, 422, "one for each"),
        ([("a.txt", b"x")], {"files_metadata": [{"colour": "red"}]}, 422, "colour"),
        ([("a.txt", b"x")], {"files_metadata": [{"tags": [" "]}]}, 422, "tags"),
        ([("a.txt", b"x")], {"files_metadata": [{"timestamp": "soon"}]}, 422, "timestamp"),
        ([("a.txt", b"x")], {"files_metadata": [{"tags": "work"}]}, 422, "tags"),
        ([("a.txt", b"x")], {"files_metadata": [{"update_mode": "append"}]}, 422, "update_mode"),
        ([("a.txt", b"x")], {"parser": "iris"}, 400, "iris"),
        ([("a.txt", b"x"), ("b.txt", b"y")], {"files_metadata": [{"document_id": "d"}] * 2}, 400, "two files"),
    ],
)
def test_what_is_refused_adds_no_job(
    api: Api, bank: str, files: list[tuple[str, bytes]], request_: Any, status: int, told: str
) -> None:
    answer = upload(api, bank, files, request_)
    assert (answer.status, told in str(answer.body)) == (status, True), answer.body
    assert api.bank("GET", bank, "/stats").status == 404


def test_forms_that_are_none(api: Api, bank: str) -> None:
    path = f"/v1/default/banks/{bank}/files/retain"
    for body, kind in ((b"{}", "application/json"), (b"--x\r\nbroken", "multipart/form-data; boundary=x")):
        assert api("POST", path, body, {"content-type": kind}).status == 422
    both = upload(api, bank, [("a.txt", b"Ann likes figs.")], {"parser": ["markitdown", "builtin"], "x": 1})
    assert both.status == 200
    assert "x" in both.headers["x-hindsight-ignored"]


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.xlsx", "a.pptx"])
def test_a_damaged_file_fails_its_operation_and_no_other(api: Api, bank: str, name: str) -> None:
    answer = upload(api, bank, [(name, b"%PDF-1.4 PK nonsense"), ("fine.txt", b"Ann likes figs.")])
    broken, fine = (done(api, bank, one) for one in answer.body["operation_ids"])
    assert broken["status"] == "failed"
    assert name in broken["error_message"]
    listed = api.bank("GET", bank, "/operations?status=failed").body["operations"]
    assert [one["filename"] for one in listed] == [name]
    assert fine["status"] == "completed"


def test_a_page_that_can_not_be_read_is_told_in_its_place_and_in_the_operation(api: Api, bank: str) -> None:
    answer = upload(api, bank, [("a.pdf", pdf_with_a_damaged_page())], {"files_metadata": [{"document_id": "d"}]})
    read = done(api, bank, answer.body["operation_ids"][0])
    assert read["status"] == "completed", read
    assert len(read["result_metadata"]["warnings"]) == 1
    text = api.bank("GET", bank, "/documents/d").body["original_text"]
    assert text == "Ann moved to Oslo.\n\n[page 2 can't be read]"


def test_uploads_may_be_larger_than_other_bodies_and_no_larger(tmp_path: Path) -> None:
    settings = {"HINDSIGHT_API_MAX_BODY_BYTES": "100000", "HINDSIGHT_API_FILE_CONVERSION_MAX_BATCH_SIZE_MB": "1"}
    with ServerProcess(tmp_path, environment=settings) as server:
        api = Api(server.url)
        answer = upload(api, "b", [("a.txt", b"Ann likes figs. " * 20_000)])
        assert answer.status == 200, answer.body
        assert done(api, "b", answer.body["operation_ids"][0])["status"] == "completed"
        assert upload(api, "b", [("a.txt", b"x" * (1 << 20)), ("b.txt", b"y")]).status == 422
        assert upload(api, "b", [("a.txt", b"x" * (6 << 20))]).status == 413
        assert api.retain("b", "x" * 200_000).status == 413


def test_bytes_go_when_the_document_is_there_unless_they_are_to_be_kept(tmp_path: Path) -> None:
    for kept in (False, True):
        folder = tmp_path / str(kept)
        settings = {"HINDSIGHT_API_FILE_DELETE_AFTER_RETAIN": str(not kept).lower()}
        with ServerProcess(folder, environment=settings) as server:
            api = Api(server.url)
            answer = upload(api, "b", [("a.txt", b"Ann likes figs.")], {"files_metadata": [{"document_id": "d"}]})
            done(api, "b", answer.body["operation_ids"][0])
            for _ in range(100):
                left = list((folder / "data" / "blobs").glob("*/*"))
                if bool(left) == kept:
                    break
                time.sleep(0.05)
            assert bool(left) == kept
            attachments = api.bank("GET", "b", "/documents/d").body["attachments"]
            if kept:
                assert attachments[0]["filename"] == "a.txt"
                assert api("GET", attachments[0]["url"]).body == "Ann likes figs."
                api.bank("DELETE", "b", "/documents/d")
                assert not list((folder / "data" / "blobs").glob("*/*"))
            else:
                assert attachments is None


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="sees processes in /proc")
def test_a_killed_server_finishes_its_files_with_none_twice(tmp_path: Path) -> None:
    rows = "\n".join(f"person {n},city {n}" for n in range(3000))
    files = [(f"{n}.csv", f"name,city\n{rows}\nlast {n},end {n}\n".encode()) for n in range(6)]
    with ServerProcess(tmp_path) as server:
        api = Api(server.url)
        about = [{"document_id": name} for name, _ in files]
        operations = upload(api, "b", files, {"files_metadata": about}).body["operation_ids"]
        while not (reading := {one for one, parent in readers().items() if parent == server.pid}):
            assert any(api.bank("GET", "b", f"/operations/{one}").body["status"] != "completed" for one in operations)
        server.kill()
    for _ in range(600):
        if not reading & readers().keys():
            break
        time.sleep(0.05)
    assert not reading & readers().keys()
    with ServerProcess(tmp_path) as server:
        api = Api(server.url)
        assert [done(api, "b", one)["status"] for one in operations] == ["completed"] * len(files)
        for name, _ in files:
            text = api.bank("GET", "b", f"/documents/{name}").body["original_text"]
            assert text.count("\n") == 3000
            assert text.count("name = last ") == 1
        assert api.bank("GET", "b", "/documents").body["total"] == len(files)
        for _ in range(200):
            if not list((tmp_path / "data" / "blobs").glob("*/*")):
                break
            time.sleep(0.05)
        assert not list((tmp_path / "data" / "blobs").glob("*/*"))


def test_switched_off(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, environment={"HINDSIGHT_API_ENABLE_FILE_UPLOAD_API": "false"}) as server:
        api = Api(server.url)
        answer = upload(api, "b", [("a.txt", b"x")])
        assert answer.status == 404
        assert "ENABLE_FILE_UPLOAD_API" in str(answer.body)
        assert api("GET", "/version").body["features"]["file_upload_api"] is False


def test_blocks_over_the_wire(api: Api, bank: str) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}}
    answer = api.retain(bank, {"content": [{"type": "text", "text": "look"}, picture]})
    assert answer.status == 422
    assert answer.body["detail"][0]["loc"] == ["body", "items", 0, "content"]
    only_text = api.retain(bank, {"content": [{"type": "text", "text": "Ann likes figs."}]})
    assert only_text.status == 200
    assert api.bank("GET", bank, "/memories/list").body["items"][0]["text"] == "Ann likes figs."
