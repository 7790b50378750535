"""`hindsight memory ...` as processes against a real server."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from uuid import uuid4

import pytest
import yaml

from hindsight_server.cli.state import printable

# It would name the window, ring the bell and turn what follows red.
_STEERING = "\x1b]0;mine\x07 \x9b31m \x7f"

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(server_url: str) -> Run:
    """Runs the command with arguments; the server is named by the environment."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HINDSIGHT_")}

    def call(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "hindsight_server.cli.main", *map(str, arguments)],
            env={**environment, "HINDSIGHT_API_URL": server_url, **variables},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return call


@contextmanager
def front() -> Iterator[tuple[str, list[str | None]]]:
    """The address of a server behind which nothing is known, and how those who ask it say who they are."""
    authorizations: list[str | None] = []

    class Front(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            authorizations.append(self.headers["authorization"])
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"results": []}')

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Front) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", authorizations
        server.shutdown()


@pytest.fixture
def bank() -> str:
    return f"bank {uuid4().hex[:8]}/é"


@pytest.fixture
def filled(run: Run, bank: str) -> str:
    stored = run("memory", "retain", bank, "Ann: I moved to Oslo.", "--context", "a talk", "--tags", "user:ann,moved")
    assert stored.returncode == 0, stored.stderr
    return bank


@pytest.mark.feature("O2")
def test_what_is_retained_is_recalled(run: Run, filled: str) -> None:
    found = run("memory", "recall", filled, "Where did Ann move?")
    assert found.returncode == 0, found.stderr
    assert "Oslo" in found.stdout
    assert found.stdout.splitlines()[0].split() == ["score", "type", "text"]


@pytest.mark.parametrize("where", ["before", "after"])
def test_json_is_the_servers_answer(run: Run, filled: str, where: str) -> None:
    command = ["memory", "recall", filled, "Ann Oslo"]
    found = run("--json", *command) if where == "before" else run(*command, "--output", "json")
    result = json.loads(found.stdout)["results"][0]
    assert result["tags"] == ["user:ann", "moved"]
    assert result["context"] == "a talk"


def test_yaml_and_csv_say_the_same(run: Run, filled: str) -> None:
    as_json = json.loads(run("memory", "recall", filled, "Ann Oslo", "--json").stdout)
    as_yaml = yaml.safe_load(run("memory", "recall", filled, "Ann Oslo", "-o", "yaml").stdout)
    as_csv = list(csv.DictReader(io.StringIO(run("memory", "recall", filled, "Ann Oslo", "-o", "csv").stdout)))
    assert [row["id"] for row in as_yaml["results"]] == [row["id"] for row in as_json["results"]]
    assert as_yaml["results"][0]["text"] == as_csv[0]["text"] == as_json["results"][0]["text"]


def test_a_memory_does_not_steer_the_terminal(run: Run, bank: str) -> None:
    assert run("memory", "retain", bank, f"Ann: I moved {_STEERING} to Oslo.").returncode == 0
    found = {output: run("memory", "recall", bank, "Ann Oslo", "-o", output).stdout for output in ("table", "yaml")}
    found["json"] = run("memory", "recall", bank, "Ann Oslo", "--json").stdout
    for said in found.values():
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", said)
    assert r"\x1b]0;mine\x07 \x9b31m \x7f" in found["table"]
    assert _STEERING in json.loads(found["json"])["results"][0]["text"]
    assert _STEERING in yaml.safe_load(found["yaml"])["results"][0]["text"]


def test_a_reason_does_not_steer_the_terminal(run: Run, bank: str) -> None:
    unknown = run("memory", "recall", f"{bank}\x1b[2J\x9b", "canoe")
    assert unknown.returncode == 1
    assert not re.search("[\x1b\x9b]", unknown.stderr)


def test_lines_and_tabs_are_no_escapes() -> None:
    assert printable("a\tb\nc\r\nd\re") == "a\tb\nc\nd\\x0de"


@pytest.mark.feature("O2")
def test_every_option_of_recall_is_taken(run: Run, filled: str) -> None:
    options = "--budget high --max-tokens 100 --fact-type world,experience --tags user:ann --tags-match all_strict"
    options += " --query-timestamp 2024-01-01 --time-start 2020-01-01 --time-end 2100-01-01 -v --trace"
    found = run("memory", "recall", filled, "Ann Oslo", *options.split())
    assert found.returncode == 0, found.stderr
    assert "document_id" in found.stdout
    assert json.loads(found.stderr)["arms"]
    other = run("memory", "recall", filled, "Ann Oslo", "--tags", "user:ben", "--tags-match", "any_strict")
    assert "Oslo" not in other.stdout
    past = run("memory", "recall", filled, "Ann Oslo", "--time-end", "2001-01-01")
    assert "Oslo" not in past.stdout


@pytest.mark.feature("O2")
def test_reflect_shows_what_its_answer_rests_on_and_how_it_was_found(run: Run, filled: str) -> None:
    asked = ("memory", "reflect", filled, "Where does Ann live?")
    told = json.loads(run(*asked, "--trace", "--json").stdout)
    assert told["trace"]["tool_calls"][0]["tool"] == "recall"
    assert json.loads(run(*asked, "--json").stdout)["trace"] is None
    (memory,) = told["based_on"]["memories"]
    shown = run(*asked, "--trace", "--facts")
    assert f"It rests on:\n- world {memory['id']}: {memory['text']}" in shown.stdout
    assert "recall {" in shown.stderr
    plain = run(*asked)
    assert "It rests on" not in plain.stdout
    assert "recall {" not in plain.stderr


@pytest.mark.feature("O2")
def test_reflect_answers(run: Run, filled: str, tmp_path: Path) -> None:
    assert "Oslo" in run("memory", "reflect", filled, "Where does Ann live?", "--budget", "mid").stdout
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "object", "properties": {"town": {"type": "string"}}}')
    asked = ("memory", "reflect", filled, "Where does Ann live?", "--schema", schema)
    answered, told = run(*asked, "--json"), run(*asked)
    assert json.loads(answered.stdout)["based_on"]["memories"]
    assert json.loads(answered.stdout).get("structured_output") is None
    assert (answered.returncode, told.returncode) == (0, 0), "the prose answers"
    assert "Oslo" in told.stdout
    assert "No structured answer: " in told.stderr
    missing = run("memory", "reflect", filled, "Where?", "--schema", tmp_path / "none.json")
    assert missing.returncode == 2
    assert "none.json" in missing.stderr


@pytest.mark.feature("O2")
def test_files_and_directories_are_retained_and_others_refused(run: Run, bank: str, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "deep").mkdir(parents=True)
    (docs / "a.md").write_text("Ann bought a canoe.")
    (docs / "deep" / "b.txt").write_text("Ben bought a kettle.")
    (docs / ".hidden.txt").write_text("nothing")
    (docs / "c.pdf").write_bytes(b"%PDF")
    (docs / "empty.txt").write_text(" ")
    (docs / "latin.txt").write_bytes(b"caf\xe9")
    stored = run("memory", "retain-files", bank, docs, tmp_path / "missing.txt", "--context", "papers", "--json")
    assert stored.returncode == 1
    files = {Path(row["document_id"]).name: row for row in json.loads(stored.stdout)["files"]}
    assert {name for name, row in files.items() if row["status"] == "retained"} == {"a.md", "b.txt"}
    assert ".hidden.txt" not in files
    for name, reason in (
        ("c.pdf", "text kind"),
        ("empty.txt", "empty"),
        ("latin.txt", "UTF-8"),
        ("missing.txt", "no such"),
    ):
        assert files[name]["status"] == "refused"
        assert reason in files[name]["reason"]
    assert "[1/6]" in stored.stderr
    found = json.loads(run("memory", "recall", bank, "canoe", "--json").stdout)["results"][0]
    assert "canoe" in found["text"]
    assert found["context"] == "papers"
    again = run("memory", "retain-files", bank, docs / "a.md", docs / "deep")
    assert again.returncode == 0, again.stderr
    texts = [
        result["text"] for result in json.loads(run("memory", "recall", bank, "canoe", "--json").stdout)["results"]
    ]
    assert sum("canoe" in text for text in texts) == 1, "a second run replaces the document"


def test_an_empty_directory_is_no_success(run: Run, bank: str, tmp_path: Path) -> None:
    assert run("memory", "retain-files", bank, tmp_path).returncode == 1


def test_what_the_server_refuses_ends_with_1_and_its_reason(run: Run, bank: str) -> None:
    blank = run("memory", "retain", bank, "   ")
    assert blank.returncode == 1
    assert "items.0.content" in blank.stderr
    unknown = run("memory", "recall", bank, "canoe")
    assert unknown.returncode == 1
    assert "404" in unknown.stderr
    assert bank in unknown.stderr


def test_no_server_ends_with_2_and_how_to_start_one(run: Run, bank: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Ann bought a canoe.")
    for verb, what in (("recall", "x"), ("retain", "x"), ("reflect", "x"), ("retain-files", tmp_path / "a.txt")):
        gone = run("memory", verb, bank, what, "--url", "http://127.0.0.1:9")
        assert gone.returncode == 2, gone.stderr
        assert "hindsight serve" in gone.stderr
        assert "HINDSIGHT_API_URL" in gone.stderr


def test_a_wrong_url_or_use_ends_with_2(run: Run, bank: str) -> None:
    assert run("--url", "ftp://x", "memory", "recall", bank, "x").returncode == 2
    assert run("memory", "recall", bank).returncode == 2
    assert run("memory", "recall", bank, "x", "--budget", "huge").returncode == 2


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://[::1", "no address"),
        ("http://127.0.0.1:port", "no address"),
        ("http://", "must be an address"),
        ("http://exa mple", "must be an address"),
        ("http://ann:s3cret@exa mple", "must be an address"),
        ("http://ann:s3cret@127.0.0.1:9", "No server answers at http://127.0.0.1:9"),
    ],
)
def test_an_address_that_is_none_ends_with_2_and_tells_no_secret(run: Run, bank: str, url: str, why: str) -> None:
    refused = run("--url", url, "memory", "recall", bank, "x")
    assert refused.returncode == 2
    assert why in refused.stderr
    assert "Traceback" not in refused.stderr
    assert "s3cret" not in refused.stderr


def test_the_user_of_an_address_is_told_to_the_server(run: Run) -> None:
    with front() as (url, authorizations):
        named = url.replace("://", "://ann:s3cr%40t@")
        assert run("--url", f" {named}\n", "memory", "recall", "b", "x").returncode == 0
        assert authorizations == ["Basic YW5uOnMzY3JAdA=="]
        refused = run("--url", named, "memory", "recall", "b", "x", HINDSIGHT_API_KEY="k3y")
    assert refused.returncode == 2
    assert "--api-key" in refused.stderr
    assert not re.search("s3cr|k3y", refused.stderr)
    assert len(authorizations) == 1


@pytest.mark.parametrize("key", ["s3cret\nx-other: 1", "s3cret-ключ"])
def test_a_key_that_no_header_can_carry_ends_with_2_and_is_not_told(run: Run, bank: str, key: str) -> None:
    refused = run("memory", "recall", bank, "x", HINDSIGHT_API_KEY=key)
    assert refused.returncode == 2
    assert "--api-key" in refused.stderr
    assert "s3cret" not in refused.stderr


@pytest.mark.parametrize("output", ["table", "json", "yaml", "csv"])
def test_a_terminal_without_the_letters_gets_escapes(run: Run, bank: str, output: str) -> None:
    run("memory", "retain", bank, "Ann: 独木舟 is a canoe.")
    shown = run("memory", "recall", bank, "canoe", "-o", output, PYTHONIOENCODING="ascii")
    assert shown.returncode == 0, shown.stderr
    assert "\\u72ec" in shown.stdout


def test_an_output_that_can_t_be_written_is_told(filled: str, server_url: str) -> None:
    command = [sys.executable, "-m", "hindsight_server.cli.main", "--url", server_url]
    command += ["memory", "recall", filled, "Ann"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HINDSIGHT_")}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment, timeout=60, check=False
        )
    assert done.returncode == 1
    assert done.stderr == "The output can't be written: No space left on device.\n"
    shell = " ".join(map(shlex.quote, command))
    piped = subprocess.run(
        ["sh", "-c", f"{shell} | true; {shell} >&-"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in piped.stderr


def test_a_pipe_with_the_name_of_a_file_is_refused(run: Run, bank: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    refused = run("memory", "retain-files", bank, tmp_path / "pipe.txt")
    assert refused.returncode == 1
    assert "not a regular file" in refused.stderr


def test_an_interrupted_run_tells_how_far_it_came(server_url: str, bank: str, tmp_path: Path) -> None:
    for number in range(500):
        (tmp_path / f"{number}.txt").write_text(f"Ann wrote note {number}.")
    command = [sys.executable, "-m", "hindsight_server.cli.main", "--url", server_url]
    with subprocess.Popen(
        [*command, "memory", "retain-files", bank, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stderr is not None
        assert "[1/500]" in running.stderr.readline()
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=60)
    assert running.returncode == 130
    assert re.search(r"Interrupted after \d+ of 500 files", told)
    assert "Traceback" not in told


def test_version_is_told_with_and_without_a_server(run: Run) -> None:
    assert json.loads(run("version", "--json").stdout)["server"] == "1.1.0"
    alone = json.loads(run("version", "--json", "--url", "http://127.0.0.1:9").stdout)
    assert alone["server"] is None
    assert alone["hindsight"]


def test_help_imports_nothing_heavy() -> None:
    probe = (
        "import sys; from typer.testing import CliRunner; from hindsight_server.cli.main import app;"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0;"
        "heavy = {'numpy', 'fastapi', 'uvicorn', 'apsw', 'onnxruntime', 'pydantic', 'aiohttp', 'urllib.request'};"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
