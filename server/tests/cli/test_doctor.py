"""`hindsight doctor` as a process: what it says about settings, folder, embedder and models."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hindsight_server.engine.language.contract import red_square
from hindsight_server.testing.model_server import Fail, ModelServer, Question, Reply, Say
from hindsight_server.testing.process import ServerProcess


def doctor(folder: Path, *arguments: str, **variables: str) -> tuple[int, Any]:
    """The exit code, and what it reports as JSON."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HINDSIGHT_")}
    environment |= {"HINDSIGHT_API_EMBEDDINGS_PROVIDER": "hashing", **variables}
    command = [sys.executable, "-m", "hindsight_server.cli.main", "doctor", "--json", "--data-dir", str(folder)]
    done = subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True, timeout=120)
    return done.returncode, json.loads(done.stdout)


def states(report: Any) -> dict[str, str]:
    return {line["check"]: line["state"] for line in report["checks"] if line["what"].startswith("model ")}


def capable(question: Question) -> Reply:
    """A model that can do everything."""
    if question.schema is not None:
        return {"fruit": "pear", "count": 3}
    if question.tools:
        return Say(tools=((question.tools[0], {"query": "boat"}),))
    return "Red." if question.image_count else "OK"


def poor(question: Question) -> Reply:
    """A model of text alone, on a server that knows neither schemas nor tools nor pictures."""
    if question.image_count:
        return Fail(500, message="image input is not supported")
    if question.tools:
        return Fail(500, message="tools param requires --jinja flag")
    return "I like pears."


ALL = {"completion", "structured output", "tool call", "forced tool call", "image"}


def test_without_a_model_everything_works_and_nothing_is_made(tmp_path: Path) -> None:
    code, report = doctor(tmp_path / "data")
    assert (code, report["works"]) == (0, True)
    assert "built-in" in report["checks"][-1]["detail"]
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_capable_model_works_at_everything(tmp_path: Path, provider: str) -> None:
    with ModelServer(capable) as model:
        code, report = doctor(tmp_path, **model.environment(provider=provider, VLM_MODEL="scripted"))
    assert (code, states(report)) == (0, dict.fromkeys(ALL, "works"))
    assert len(model.questions) == 5


def test_a_poor_model_fails_at_what_it_is_needed_for(tmp_path: Path) -> None:
    with ModelServer(poor) as model:
        code, report = doctor(tmp_path, **model.environment())
    assert code == 1
    assert states(report) == {
        **dict.fromkeys(("structured output", "tool call", "forced tool call"), "fails"),
        "completion": "works",
        "image": "partly",
    }
    assert all(line["remedy"] for line in report["checks"] if line["state"] == "fails")


def test_what_a_model_is_not_needed_for_is_no_failure(tmp_path: Path) -> None:
    with ModelServer(poor) as model:
        none = {f"{work}_LLM_PROVIDER": "none" for work in ("RETAIN", "CONSOLIDATION")}
        code, report = doctor(tmp_path, **model.environment(**none))
    assert (code, states(report)["structured output"]) == (1, "partly")
    with ModelServer(lambda asked: Fail(400, code="unsupported") if asked.tools else capable(asked)) as model:
        code, report = doctor(tmp_path, **model.environment(REFLECT_LLM_PROVIDER="none"))
    assert (code, states(report)["tool call"], states(report)["forced tool call"]) == (0, "partly", "partly")


@pytest.mark.parametrize(
    "answer", [Fail(400, code="unsupported"), "The boat lies in Bergen."], ids=["refuses", "prose"]
)
def test_a_model_that_reflect_fails_with_is_told_of(tmp_path: Path, answer: Reply) -> None:
    """The loop takes the same model: doctor says before what reflect answers with 502 or 500."""
    with ModelServer(lambda asked: answer if asked.tools else capable(asked)) as model:
        code, report = doctor(tmp_path, **model.environment())
    assert (code, states(report)["tool call"], states(report)["forced tool call"]) == (1, "fails", "fails")
    told = next(line for line in report["checks"] if line["check"] == "forced tool call")
    assert "Reflect will fail with this model." in told["detail"]
    assert "HINDSIGHT_API_REFLECT_LLM_PROVIDER=none" in told["remedy"]


def test_a_model_that_calls_only_when_it_is_not_forced_is_told_of(tmp_path: Path) -> None:
    def shy(asked: Question) -> Reply:
        return "In Bergen." if asked.tools and asked.text.startswith("Where") else capable(asked)

    with ModelServer(shy) as model:
        code, report = doctor(tmp_path, **model.environment())
    assert report["checks"][-1]["detail"] == "None for vision: pictures are not read."
    assert (code, states(report)["tool call"], states(report)["forced tool call"]) == (0, "works", "partly")


def test_the_whole_address_is_shown_without_what_is_secret_in_it(tmp_path: Path) -> None:
    with ModelServer([Fail(404)]) as model:
        host = model.environment()["HINDSIGHT_API_LLM_BASE_URL"].split("//")[1].split("/")[0]
        address = f"http://ann:figs-4417@{host}/lost/path?token=plums-9"
        _, report = doctor(tmp_path, **model.environment(LLM_BASE_URL=address))
    assert f"at http://{host}/lost/path" in json.dumps(report)
    assert not [secret for secret in ("figs-4417", "plums-9") if secret in json.dumps(report)]


def test_a_wrong_key_is_named_and_not_shown(tmp_path: Path) -> None:
    with ModelServer([Fail(401, message="wrong key sk-figs-4417")]) as model:
        code, report = doctor(tmp_path, **model.environment(LLM_API_KEY="sk-figs-4417"))
    assert (code, states(report)) == (1, {"completion": "fails"})
    assert "key" in json.dumps(report)
    assert "figs-4417" not in json.dumps(report)


def test_models_are_not_asked_when_that_is_not_wanted(tmp_path: Path) -> None:
    with ModelServer([]) as model:
        code, _ = doctor(tmp_path, "--no-ask-models", **model.environment())
    assert (code, model.questions) == (0, [])


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("LLM_PROVIDER", "skynet", "must be one of none, openai"),
        ("LLM_PROVIDER", "ollama", "HINDSIGHT_API_LLM_MODEL is not set"),
        ("LLM_PROVIDER", "openai", "HINDSIGHT_API_LLM_API_KEY is not set"),
        ("PORT", "http", "HINDSIGHT_API_PORT"),
    ],
)
def test_settings_that_can_not_be_used_are_told(tmp_path: Path, name: str, value: str, part: str) -> None:
    code, report = doctor(tmp_path, **{f"HINDSIGHT_API_{name}": value})
    assert code == 1
    assert part in report["checks"][0]["detail"]


def test_a_folder_that_is_none_of_ours_fails_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_bytes(b"no database" * 100)
    code, report = doctor(tmp_path)
    assert (code, report["checks"][1]["state"]) == (1, "fails")
    assert [path.name for path in tmp_path.iterdir()] == ["memory.db"]
    (tmp_path / "file").write_text("")
    assert doctor(tmp_path / "file")[0] == 1


def test_a_folder_that_a_server_holds_is_fine(tmp_path: Path) -> None:
    with ServerProcess(tmp_path):
        code, report = doctor(tmp_path / "data")
    assert (code, report["checks"][1]["detail"]) == (0, "A server is using it.")
    before = sorted(path.name for path in (tmp_path / "data").iterdir())
    assert doctor(tmp_path / "data")[0] == 0
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == before


def test_the_picture_is_one() -> None:
    assert red_square()[:8] == b"\x89PNG\r\n\x1a\n"
