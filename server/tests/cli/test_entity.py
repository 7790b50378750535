"""`hindsight entity ...` as processes against a real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any
from uuid import uuid4

import pytest


class Command:
    def __init__(self, url: str) -> None:
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("HINDSIGHT_")}
        self._environment["HINDSIGHT_API_URL"] = url

    def __call__(self, *arguments: str, code: int = 0) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "hindsight_server.cli.main", *arguments, "--json"],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout) if code == 0 else done.stderr


@pytest.mark.feature("O2")
def test_what_a_user_says_of_names(server_url: str) -> None:
    run, bank = Command(server_url), f"bank {uuid4().hex[:8]}"
    run("memory", "retain", bank, "Ann Lee met Cyrus Webb in Oslo.")
    run("memory", "retain", bank, "Room 101 is booked for Cyrus Webb.")
    listed = run("entity", "list", bank)["items"]
    assert listed[0]["canonical_name"] == "Cyrus Webb"
    assert run("entity", "list", bank, "--ambiguous")["items"] == []
    assert len(run("entity", "get", bank, "cyrus webb")["observations"]) == 2
    assert run("entity", "alias", bank, "Ann Lee", "Annie")["aliases"] == ["Annie"]
    assert run("entity", "rename", bank, "annie", "Ann L.")["canonical_name"] == "Ann L."
    merged = run("entity", "merge", bank, "Oslo", "Room 101")
    assert {merged["canonical_name"], *merged["aliases"]} == {"Oslo", "Room 101"}
    parts = run("entity", "split", bank, "Oslo", "Room 101")["items"]
    assert [part["canonical_name"] for part in parts] == ["Oslo", "Room 101"]
    assert "No entity" in run("entity", "get", bank, "Nobody", code=1)
