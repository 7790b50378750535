"""`hindsight bank list`, `stats` and `delete` as processes against a real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from uuid import uuid4

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(server_url: str) -> Run:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HINDSIGHT_")}

    def call(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "hindsight_server.cli.main", *arguments],
            env={**environment, "HINDSIGHT_API_URL": server_url},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done

    return call


@pytest.fixture
def bank(run: Run) -> str:
    bank = f"bank {uuid4().hex[:8]}/é"
    run("memory", "retain", bank, "Ann: I moved to Oslo.", "--document-id", "d")
    return bank


@pytest.mark.feature("O2")
def test_banks_are_listed(run: Run, bank: str) -> None:
    table = run("bank", "list", "--query", bank)
    assert table.stdout.splitlines()[0].split() == ["bank_id", "name", "fact_count", "created_at", "last_write_at"]
    assert bank in table.stdout
    assert table.stderr == ""
    (listed,) = json.loads(run("bank", "list", "--query", bank, "--json").stdout)["banks"]
    assert (listed["bank_id"], listed["fact_count"]) == (bank, 1)


def test_a_list_that_is_cut_off_tells_how_many_there_are(run: Run) -> None:
    name = f"cut {uuid4().hex[:8]}"
    for number in range(2):
        run("memory", "retain", f"{name} {number}", "Ann bought a canoe.")
    cut = run("bank", "list", "--query", name, "--limit", "1")
    assert name in cut.stdout
    assert "there are 2; `--limit 2` shows all" in cut.stderr
    assert "(nothing)" in run("bank", "list", "--query", uuid4().hex).stdout


@pytest.mark.feature("O2")
def test_stats_count_what_a_bank_holds(run: Run, bank: str) -> None:
    shown = run("bank", "stats", bank)
    counted = dict(line.split(maxsplit=1) for line in shown.stdout.splitlines())
    assert (counted["documents"], counted["memories"], counted["failed_operations"]) == ("1", "1", "0")
    assert (counted["pending_consolidation"], counted["failed_consolidation"]) == ("0", "0")
    assert "Note" not in shown.stderr
    assert json.loads(run("bank", "stats", bank, "--json").stdout)["total_documents"] == 1
    assert "not found" in run("bank", "stats", "no such bank", code=1).stderr


def test_a_bank_is_consolidated_and_its_observations_cleared_when_it_was_meant(run: Run, bank: str) -> None:
    run("memory", "retain", bank, "Ann: I live in Oslo.")
    asked = run("observation", "consolidate", bank)
    (operation,) = json.loads(run("operation", "list", bank, "--type", "consolidation", "--json").stdout)["operations"]
    assert operation["operation_id"] in asked.stdout
    assert f"`hindsight operation show '{bank}' {operation['operation_id']}`" in asked.stderr
    assert json.loads(run("observation", "recover", bank, "--json").stdout) == {"retried_count": 0}
    meant = run("observation", "clear", bank, code=2)
    assert f"`hindsight observation clear '{bank}' --yes`" in meant.stderr
    assert meant.stdout == ""
    assert json.loads(run("observation", "clear", bank, "--yes", "--json").stdout)["success"]
    assert "not found" in run("observation", "consolidate", "no such bank", code=1).stderr


@pytest.mark.feature("O2")
def test_a_bank_is_deleted_only_when_it_was_meant(run: Run, bank: str) -> None:
    asked = run("bank", "delete", bank, code=2)
    assert "documents (1) and memories (1) would be lost" in asked.stderr
    assert f"`hindsight bank delete '{bank}' --yes`" in asked.stderr
    assert asked.stdout == ""
    assert "Oslo" in run("memory", "recall", bank, "Ann").stdout
    assert json.loads(run("bank", "delete", bank, "--yes", "--json").stdout)["success"]
    assert "(nothing)" in run("bank", "list", "--query", bank).stdout
    for yes in ((), ("--yes",)):
        assert "not found" in run("bank", "delete", bank, *yes, code=1).stderr
