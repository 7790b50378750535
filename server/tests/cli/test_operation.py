"""`hindsight operation ...` as processes against a real server whose language model fails, and then does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from hindsight_server.testing.model_server import Fail, ModelServer, Question, Reply
from hindsight_server.testing.process import ServerProcess

_FACT = {"facts": [{"what": "Ann moved to Oslo.", "line": 1}]}
_QUICK = {"LLM_MAX_RETRIES": "0", "CONSOLIDATION_LLM_PROVIDER": "none"}


class Model:
    """A model that says what it was told to last."""

    def __init__(self) -> None:
        self.reply: Reply = Fail(401, message="invalid key")

    def __call__(self, question: Question) -> Reply:
        return self.reply


class Command:
    """The command, for one server and one bank."""

    def __init__(self, url: str, bank: str) -> None:
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("HINDSIGHT_")}
        self._environment["HINDSIGHT_API_URL"] = url
        self.bank = bank

    def run(self, group: str, verb: str, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "hindsight_server.cli.main", group, verb, self.bank, *arguments],
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

    def ended(self, operation: str) -> Any:
        for _ in range(60):
            found = self("operation", "show", operation)
            if found["status"] not in ("pending", "processing"):
                return found
            time.sleep(0.1)
        raise AssertionError(found)


@pytest.fixture(scope="module")
def model() -> Model:
    return Model()


@pytest.fixture(scope="module")
def url(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("operations")
    with ModelServer(model) as asked, ServerProcess(folder, environment=asked.environment(**_QUICK)) as server:
        yield server.url


@pytest.fixture
def command(url: str, model: Model) -> Command:
    """Of a bank with a text that the model could not be used for."""
    model.reply = Fail(401, message="invalid key")
    command = Command(url, f"bank {uuid4().hex[:8]}/é")
    stored = command("memory", "retain", "Ann: I moved to Oslo with my two kids.")
    assert len(stored["operation_ids"]) == 1, "the job that is left behind"
    return command


@pytest.mark.feature("O2")
def test_retain_tells_which_operation_reads_again_what_the_model_could_not(
    command: Command, model: Model, tmp_path: Path
) -> None:
    said = command.run("memory", "retain", "Ann: I moved to Bergen.")
    (newest, _) = command("operation", "list")["operations"]
    head, row = said.stdout.splitlines()
    assert head.split() == ["bank_id", "items_count", "operation_id"]
    assert row.endswith(newest["operation_id"])
    assert f"`hindsight operation show '{command.bank}' {newest['operation_id']}`" in said.stderr
    (tmp_path / "a.txt").write_text("Ann: I moved to Bergen.")
    (file,) = command("memory", "retain-files", str(tmp_path))["files"]
    newest = command("operation", "list")["operations"][0]
    assert file["status"] == "retained"
    assert newest["operation_id"] in file["reason"]
    model.reply = _FACT
    read = command.run("memory", "retain", "Ann: I moved to Oslo, I said.")
    assert (read.stdout.split()[:2], read.stderr) == (["bank_id", "items_count"], "")
    assert "operation_id" not in read.stdout


@pytest.mark.feature("O2")
def test_what_waits_to_be_read_again_is_listed_and_shown(command: Command) -> None:
    (waiting,) = command("operation", "list", "--status", "pending", "--type", "retain")["operations"]
    table = command.run("operation", "list").stdout
    assert table.splitlines()[0].split()[:3] == ["operation_id", "operation_type", "status"]
    assert waiting["operation_id"] in table
    shown = command.run("operation", "show", waiting["operation_id"])
    assert dict(line.split(maxsplit=1) for line in shown.stdout.splitlines())["status"] == "pending"
    assert command("operation", "list", "--status", "completed")["operations"] == []
    counted = command.run("bank", "stats")
    assert f"`hindsight operation list '{command.bank}'` tells which" in counted.stderr


@pytest.mark.feature("O2")
def test_an_operation_is_cancelled_and_done_again(command: Command, model: Model) -> None:
    operation = command("operation", "list")["operations"][0]["operation_id"]
    assert command("operation", "cancel", operation)["success"]
    shown = command.run("operation", "show", operation)
    assert "cancelled" in shown.stdout
    assert f"`hindsight operation retry '{command.bank}' {operation}` has it done now" in shown.stderr
    assert "only unfinished ones" in command.run("operation", "cancel", operation, code=1).stderr
    model.reply = _FACT
    assert command("operation", "retry", operation)["success"]
    assert command.ended(operation)["status"] == "completed"
    assert "Ann moved to Oslo." in command.run("memory", "recall", "Who moved to Oslo?").stdout
    assert "Note" not in command.run("operation", "show", operation).stderr
    refused = command.run("operation", "retry", operation, code=1).stderr
    assert "completed; only failed or cancelled ones, and those that wait for their next try, are retried" in refused


@pytest.mark.feature("O2")
def test_the_reason_of_a_failure_is_told(command: Command) -> None:
    operation = command("operation", "list")["operations"][0]["operation_id"]
    command.run("operation", "retry", operation)
    for _ in range(60):
        (listed,) = command("operation", "list")["operations"]
        if listed["error_message"]:
            break
        time.sleep(0.1)
    told = "1 chunk of 1 document could not be read by the language model and stays as it was written"
    assert told in command.run("operation", "list").stdout
    shown = command.run("operation", "show", operation)
    assert "refuses the key" in shown.stdout
    assert "has it done now" in shown.stderr


def test_retain_tells_that_nothing_was_kept_and_what_was_dropped(
    command: Command, model: Model, tmp_path: Path
) -> None:
    model.reply = {"facts": []}
    none = command.run("memory", "retain", "Ann: Let us see what comes of it, then.")
    assert "no facts were kept, so that recall finds nothing of it: nothing in it was worth keeping" in none.stderr
    (tmp_path / "a.txt").write_text("Ann: Let us see what comes of it, then.")
    assert "no facts were kept" in command("memory", "retain-files", str(tmp_path))["files"][0]["reason"]
    assert command("memory", "retain", "Ann: We will see, then.")["no_fact_documents"] == 1
    model.reply = {"facts": [*_FACT["facts"], {"what": "Ann moved to Rome with Victor.", "line": 1}]}
    some = command.run("memory", "retain", "Ann: I moved to Oslo.")
    assert "Note: facts of the language model were dropped (name 1)." in some.stderr
    told = command("memory", "retain", "Ann: I moved to Oslo.")
    assert (told["no_fact_documents"], told["dropped_facts"]) == (0, {"name": 1})
    model.reply = {"facts": [{"what": "Ann moved to Rome with Victor.", "line": 1}]}
    kept = command.run("memory", "retain", "Ann: I moved to Oslo.").stderr
    assert "(name 1); where none were left, the text stays as it was written" in kept


def test_a_list_that_is_cut_off_tells_how_to_go_on(command: Command) -> None:
    command.run("memory", "retain", "Ben: I sold my canoe.")
    cut = command.run("operation", "list", "--limit", "1")
    assert "there are 2; `--offset 1` shows the next ones" in cut.stderr
    rest = command.run("operation", "list", "--limit", "1", "--offset", "1", "--json")
    assert len(json.loads(rest.stdout)["operations"]) == 1
    assert "Note" not in rest.stderr


def test_what_is_not_there_or_not_possible_is_told(command: Command) -> None:
    gone = command.run("operation", "show", "none", code=1)
    assert "Operation 'none' not found" in gone.stderr
    assert f"`hindsight operation list '{command.bank}'`" in gone.stderr
    assert gone.stdout == ""
    for verb in ("retry", "cancel"):
        assert "not found" in command.run("operation", verb, "none", code=1).stderr
    command.run("operation", "list", "--status", "done", code=2)
    command.run("operation", "list", "--limit", "101", code=2)
