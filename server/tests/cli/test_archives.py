"""`hindsight bank ...`, `document export` and `memory forget` as processes against a real server."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from .test_memory import Run, bank, filled, run

__all__ = ["bank", "filled", "run"]


def test_a_bank_goes_into_a_file_and_comes_back(run: Run, filled: str, tmp_path: Path) -> None:
    file = tmp_path / "bank.zip"
    exported = run("bank", "export", filled, file, "--json")
    assert exported.returncode == 0, exported.stderr
    assert json.loads(exported.stdout)["facts_exported"] >= 1
    assert "Oslo" in zipfile.ZipFile(file).read("facts.jsonl").decode()
    imported = run("bank", "import", f"{filled}-2", file, "--json")
    assert imported.returncode == 0, imported.stderr
    assert "Oslo" in run("memory", "recall", f"{filled}-2", "Where did Ann move?").stdout
    assert run("bank", "import", f"{filled}-2", file).returncode == 1
    assert run("bank", "import", f"{filled}-2", file, "--mode", "merge", "--on-conflict", "new-id").returncode == 0
    cloned = run("bank", "clone", filled, f"{filled}-3", "--json")
    assert json.loads(cloned.stdout)["documents_imported"] == 1
    assert run("document", "export", filled, file).returncode == 0
    assert run("document", "export", filled, file, "--document", "none").returncode == 1
    assert run("bank", "export", filled, tmp_path / "no" / "such.zip").returncode == 2
    assert run("bank", "import", filled, tmp_path / "none.zip").returncode == 2


def test_memories_are_forgotten_by_tag(run: Run, filled: str) -> None:
    dry = run("memory", "forget", filled, "--tag", "user:ann", "--dry-run", "--json")
    assert json.loads(dry.stdout)["memories_forgotten"] == 1
    assert run("memory", "forget", filled).returncode == 1
    assert run("memory", "forget", filled, "--tag", "user:ann", "--tags-match", "any").returncode == 1
    done = run("memory", "forget", filled, "--tag", "user:ann")
    assert done.returncode == 0, done.stderr
    assert "Oslo" not in run("memory", "recall", filled, "Where did Ann move?").stdout
    assert run("memory", "forget", filled, "--id", "none").returncode == 1
