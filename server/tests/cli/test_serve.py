"""`hindsight serve` as a process: what it says, when it refuses, how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from hindsight_server.testing.process import ServerProcess, free_port


def serve(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the server to its end, which it should meet at once."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HINDSIGHT_")}
    command = [sys.executable, "-m", "hindsight_server.cli.main", "serve", "--data-dir", str(folder), *arguments]
    return subprocess.run(
        command,
        env={**environment, "HINDSIGHT_API_EMBEDDINGS_PROVIDER": "hashing", **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def post(url: str, path: str, body: object) -> dict[str, object]:
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return dict(json.load(answer))


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.feature("O5")
def test_what_was_stored_is_there_after_an_ordered_end_and_after_a_crash(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path)
    server.start()
    assert f"http://127.0.0.1:{server.port}" in server.log.read_text()
    post(server.url, "/v1/default/banks/b/memories", {"items": [{"content": "Ann: I bought a canoe."}]})
    assert server.stop() == 0
    server.start()
    post(server.url, "/v1/default/banks/b/memories", {"items": [{"content": "Ann: I sold the kettle."}]})
    assert server.kill() == -signal.SIGKILL
    server.start()
    try:
        for word in ("canoe", "kettle"):
            found = post(server.url, "/v1/default/banks/b/memories/recall", {"query": word})
            assert word in json.dumps(found["results"])
    finally:
        assert server.stop() == 0
    assert "Traceback" not in server.log.read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(tmp_path: Path, number: signal.Signals) -> None:
    server = ServerProcess(tmp_path)
    server.start()
    os.kill(server.pid, number)
    assert server.stop() == 0
    assert "Traceback" not in server.log.read_text()


def test_a_signal_before_all_is_loaded_ends_it_in_order(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "hindsight_server.cli.main", "serve", "--port", str(port)]
    with subprocess.Popen(
        [*command, "--data-dir", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        assert f"http://127.0.0.1:{port}" in server.stdout.readline()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=60) as answer:
            assert answer.status == 200
        server.send_signal(signal.SIGTERM)
        _, said = server.communicate(timeout=60)
    assert server.returncode == 0
    assert "Traceback" not in said


def test_a_taken_port_is_told_with_exit_code_2(tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        ended = serve(tmp_path / "data", "--port", str(holder.getsockname()[1]))
    assert ended.returncode == 2
    assert "--port" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "data").exists()


def test_a_folder_that_another_server_holds_is_told_with_exit_code_2(tmp_path: Path) -> None:
    with ServerProcess(tmp_path):
        ended = serve(tmp_path / "data", "--port", str(free_port()))
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert str(tmp_path / "data") in ended.stderr


def test_a_corrupt_folder_is_told_with_exit_code_2_and_left_alone(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path)
    server.start()
    assert server.stop() == 0
    database = max((tmp_path / "data").rglob("*"), key=lambda path: path.stat().st_size if path.is_file() else 0)
    database.write_bytes(b"no database at all " * 1000)
    before = snapshot(tmp_path / "data")
    ended = serve(tmp_path / "data", "--port", str(free_port()))
    assert ended.returncode == 2, ended.stderr
    assert "Nothing was changed" in ended.stderr
    assert "Traceback" not in ended.stderr
    after = snapshot(tmp_path / "data")
    assert {name: after.get(name) for name in before} == before


@pytest.mark.feature("O8")
def test_a_reachable_address_without_a_key_is_refused(tmp_path: Path) -> None:
    ended = serve(tmp_path / "data", "--host", "0.0.0.0", "--port", str(free_port()))
    assert ended.returncode == 2
    assert "HINDSIGHT_API_TENANT_API_KEY" in ended.stderr


@pytest.mark.feature("O8")
def test_a_key_opens_the_server_and_is_never_written(tmp_path: Path) -> None:
    key = "s3cret-key-of-the-test"
    with ServerProcess(tmp_path, environment={"HINDSIGHT_API_TENANT_API_KEY": key}) as server:
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(server.url + "/v1/default/banks", timeout=10)
        refused.value.close()
        assert refused.value.code == 401
        request = urllib.request.Request(server.url + "/v1/default/banks", headers={"authorization": f"Bearer {key}"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert answer.status == 200
        command = [sys.executable, "-m", "hindsight_server.cli.main", "--url", server.url, "--api-key", key]
        stored = subprocess.run(
            [*command, "memory", "retain", "b", "Ann: hello canoe."], capture_output=True, check=False
        )
        assert stored.returncode == 0
    assert key not in server.log.read_text()


def test_a_bad_setting_is_told_with_exit_code_2(tmp_path: Path) -> None:
    ended = serve(tmp_path / "data", HINDSIGHT_API_PORT="many")
    assert ended.returncode == 2
    assert "HINDSIGHT_API_PORT" in ended.stderr


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"LLM_PROVIDER": "openai", "LLM_MODEL": "m", "LLM_API_KEY": "k"}, "'openai' is not installed"),
        ({"FILE_STORAGE_TYPE": "s3", "FILE_STORAGE_S3_BUCKET": "b"}, "needs obstore"),
    ],
)
def test_a_library_that_the_settings_need_is_missed_before_anybody_is_told_to_come(
    tmp_path: Path, variables: dict[str, str], told: str
) -> None:
    run = (
        "import sys\n"
        "from importlib import util\n"
        "there = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name in ('openai', 'obstore') else there(name, *rest)\n"
        "from hindsight_server.cli.main import main\n"
        "sys.argv[0] = 'hindsight'\n"
        "main()\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HINDSIGHT_")}
    environment |= {f"HINDSIGHT_API_{name}": value for name, value in variables.items()}
    ended = subprocess.run(
        [sys.executable, "-c", run, "serve", "--data-dir", str(tmp_path / "data"), "--port", str(free_port())],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert told in ended.stderr
    assert "pip install" in ended.stderr
    assert not (tmp_path / "data").exists()


def test_the_data_folder_can_be_named_by_the_environment(tmp_path: Path) -> None:
    folder = tmp_path / "named"
    environment = {"HINDSIGHT_API_DATA_DIR": str(tmp_path / "not-used")}
    with ServerProcess(folder, environment=environment):
        assert (folder / "data").is_dir()
    assert not (tmp_path / "not-used").exists()


def test_a_file_of_ranking_weights_that_is_none_is_refused_with_its_setting(tmp_path: Path) -> None:
    weights = tmp_path / "weights.json"
    weights.write_text('{"scan": {}}')
    refused = serve(tmp_path / "data", HINDSIGHT_API_RANKING_WEIGHTS=str(weights))
    assert refused.returncode == 2
    assert "HINDSIGHT_API_RANKING_WEIGHTS" in refused.stderr
    missing = serve(tmp_path / "data", HINDSIGHT_API_RANKING_WEIGHTS=str(tmp_path / "no.json"))
    assert missing.returncode == 2
    assert "HINDSIGHT_API_RANKING_WEIGHTS" in missing.stderr


# How long a thread may hold the interpreter: once the command line is imported, and while it serves.
_INTERVALS = """
import sys
from hindsight_server.cli import serve

async def shown(*_):
    print(sys.getswitchinterval())

print(sys.getswitchinterval())
serve._serve = shown
serve.run(host=None, port=int(sys.argv[1]), data_dir=sys.argv[2], log_level=None)
"""


def test_a_request_does_not_wait_long_for_a_thread_that_computes(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HINDSIGHT_")}
    command = [sys.executable, "-c", _INTERVALS, str(free_port()), str(tmp_path)]
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    imported, serving = map(float, shown.stdout.split())
    assert (imported, serving) == (pytest.approx(0.005), pytest.approx(0.0005)), "an import alone changes nothing"
