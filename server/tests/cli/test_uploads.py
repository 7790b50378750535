"""`hindsight document upload` as a process against a real server."""

from __future__ import annotations

import json
from pathlib import Path

from .test_memory import Run, bank, run

__all__ = ["bank", "run"]


def test_files_and_folders_become_documents(run: Run, bank: str, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(12):
        (folder / f"{number:02}.csv").write_text(f"name,city\nPerson{number},City{number}\n")
    (folder / ".hidden.txt").write_text("not this one")
    told = run("document", "upload", bank, folder, "--context", "who is where", "--tags", "team, 2026", "--json")
    assert told.returncode == 0, told.stderr
    rows = json.loads(told.stdout)["files"]
    assert [row["status"] for row in rows] == ["completed"] * 12
    assert "[12/12]" in told.stderr
    found = run("memory", "recall", bank, "Person7 City7", "--tags", "2026", "--json")
    first = json.loads(found.stdout)["results"][0]
    assert first["text"] == "name = Person7; city = City7"
    assert first["document_id"] == (folder / "07.csv").as_posix()
    assert first["context"] == "who is where"


def test_what_can_not_be_read_is_told_and_the_rest_is_retained(run: Run, bank: str, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"nonsense")
    (tmp_path / "b.txt").write_text("Ann likes figs.")
    told = run("document", "upload", bank, tmp_path, "--json")
    assert told.returncode == 1
    rows = {Path(row["file"]).name: row for row in json.loads(told.stdout)["files"]}
    assert rows["a.pdf"]["status"] == "failed"
    assert "a.pdf" in rows["a.pdf"]["error"]
    assert rows["b.txt"]["status"] == "completed"
    (tmp_path / "c.exe").write_bytes(b"MZ")
    refused = run("document", "upload", bank, tmp_path, "--json")
    assert refused.returncode == 1
    rows = {Path(row["file"]).name: row["status"] for row in json.loads(refused.stdout)["files"]}
    assert rows == {"a.pdf": "failed", "b.txt": "completed", "c.exe": "refused"}
    assert run("document", "upload", bank, tmp_path / "none.txt").returncode == 2


def test_nobody_has_to_wait(run: Run, bank: str, tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("Ann likes figs.")
    told = run("document", "upload", bank, tmp_path / "b.txt", "--no-wait", "--json")
    assert told.returncode == 0
    assert json.loads(told.stdout)["files"][0]["operation_id"]
