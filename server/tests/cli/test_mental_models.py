"""`hindsight mental-model ...` and `hindsight page ...` as processes against a real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from hindsight_server.cli.mental_model import no_change
from hindsight_server.testing.model_server import Fail, ModelServer
from hindsight_server.testing.process import ServerProcess


class Command:
    def __init__(self, url: str) -> None:
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("HINDSIGHT_")}
        self._environment["HINDSIGHT_API_URL"] = url

    def run(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "hindsight_server.cli.main", *arguments],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done

    def __call__(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments, "--json").stdout)

    def written(self, bank: str, model: str) -> Any:
        for _ in range(40):
            found = self("mental-model", "get", bank, model)
            if found["last_refreshed_at"]:
                return found
            time.sleep(0.1)
        raise AssertionError(found)


@pytest.mark.feature("O2")
def test_mental_models(server_url: str) -> None:
    run, bank = Command(server_url), f"bank {uuid4().hex[:8]}"
    run("memory", "retain", bank, "Ann: I drink green tea.")
    made = run.run("mental-model", "create", bank, "Tea", "What does Ann drink?", "--id", "tea", "--tag", "topic")
    assert "Note: Tags are a filter of sources" in made.stderr
    assert "--no-tags" in made.stderr
    assert "Tags are a filter" not in made.stdout
    run("mental-model", "update", bank, "tea", "--no-tags", "--delta", "--cron", "0 3 * * *")
    assert run.written(bank, "tea")["trigger"]["refresh_cron"] == "0 3 * * *"
    assert run("mental-model", "refresh", bank, "tea", "--full")["operation_id"]
    for _ in range(40):
        if "green tea" in run.run("mental-model", "get", bank, "tea").stdout:
            break
    assert "No change" in run.run("mental-model", "refresh", bank, "tea", "--dry-run").stdout
    assert "--full" in run.run("mental-model", "refresh", bank, "tea", "--dry-run", "--full", code=2).stderr
    assert [one["id"] for one in run("mental-model", "list", bank)["items"]] == ["tea"]
    assert run("mental-model", "clear", bank, "tea")["content"] == ""
    assert run("mental-model", "history", bank, "tea")[0]["previous_content"]
    assert run("mental-model", "delete", bank, "tea")["success"]
    assert "not found" in run.run("mental-model", "get", bank, "tea", code=1).stderr


@pytest.mark.feature("O2")
@pytest.mark.parametrize("off", [("--cron", ""), ("--manual",)])
def test_a_schedule_is_taken_off(server_url: str, off: tuple[str, ...]) -> None:
    run, bank = Command(server_url), f"bank {uuid4().hex[:8]}"
    run("mental-model", "create", bank, "Tea", "What does Ann drink?", "--id", "tea", "--cron", "0 3 * * *")
    run("mental-model", "update", bank, "tea", *off)
    assert run("mental-model", "get", bank, "tea")["trigger"]["refresh_cron"] is None
    run("mental-model", "update", bank, "tea", "--manual", "--cron", "0 4 * * *")
    assert run("mental-model", "get", bank, "tea")["trigger"]["refresh_cron"] == "0 4 * * *"
    refused = run.run("mental-model", "update", bank, "tea", "--cron", "daily", code=1).stderr
    assert refused.startswith("The server answered 422: trigger.refresh_cron must be a cron expression")


@pytest.mark.feature("O2")
def test_a_refresh_that_failed_is_told_of(tmp_path: Path) -> None:
    with (
        ModelServer(lambda _: Fail(401, code="invalid_api_key")) as model,
        ServerProcess(tmp_path, environment=model.environment()) as server,
    ):
        run = Command(server.url)
        run("memory", "retain", "b", "Ann: I drink green tea.")
        run("mental-model", "create", "b", "Tea", "What does Ann drink?", "--id", "tea")
        for _ in range(100):
            if run("mental-model", "get", "b", "tea")["last_refresh_failed_at"]:
                break
        told = run.run("mental-model", "get", "b", "tea")
        assert "No content yet." in told.stdout
        assert "`hindsight mental-model history b tea` says why" in told.stderr
        assert "invalid_api_key" in run("mental-model", "history", "b", "tea")[0]["error"]


@pytest.mark.feature("O2")
def test_pages(server_url: str, tmp_path: Path) -> None:
    run, bank = Command(server_url), f"bank {uuid4().hex[:8]}"
    run("memory", "retain", bank, "Ann: I drink green tea.")
    folder = run("page", "folder", bank, "Drinks")["id"]
    page = run("page", "create", bank, "Tea", "What does Ann drink?", "--folder", folder)["page_id"]
    run.written(bank, page)
    assert "green tea" in run.run("page", "get", bank, page).stdout
    assert "Drinks/" in run.run("page", "tree", bank).stdout
    assert run("page", "search", bank, "tea")["results"][0]["id"] == page
    assert run("page", "move", bank, page, "--root", "--name", "Green tea")["parent_id"] is None
    run("page", "export", bank, str(tmp_path / "out"))
    assert "green tea" in (tmp_path / "out" / f"{page}.md").read_text()
    assert (tmp_path / "out" / "log" / f"{page}.md").exists()
    assert run("page", "delete", bank, folder)["deleted_count"] == 1


def test_a_dry_run_of_edits_that_are_not_done_says_why() -> None:
    skipped = [{"kind": "add_section", "reason": "the name Zebulon is in no memory that it cites"}]
    told = {"outcome": "refresh_failed_delta_not_applied", "delta_operations": {"applied": [], "skipped": skipped}}
    assert no_change(told).splitlines() == [
        "No change (refresh_failed_delta_not_applied).",
        "- add_section: the name Zebulon is in no memory that it cites",
    ]
    assert no_change({"outcome": "content_unchanged", "delta_operations": None}) == "No change (content_unchanged)."
