"""The plumbing with a small real model: all work that asks a model ends. The quality of what it says is not judged."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from hindsight_server.testing.local_model import LocalModel
from hindsight_server.testing.process import ServerProcess

pytestmark = pytest.mark.slow
BANK = "/v1/default/banks/ann"
CITY = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 20}}, "required": ["city"]}
_SECONDS = 900.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    # One thread: two wait for each other at every step when the processor has other work.
    with LocalModel(context_tokens=3072, threads=1) as model:
        settings = model.environment(LLM_TIMEOUT=f"{_SECONDS:.0f}", LLM_MAX_TOKENS="200", LLM_TRACE_TEXTS="true")
        with ServerProcess(tmp_path_factory.mktemp("local"), environment=settings) as server:
            yield server


def call(server: ServerProcess, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(server.url + path, data, {"content-type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def finished(server: ServerProcess, kind: str) -> str:
    """What became of the operations of a kind, once none of them is left to do."""
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        operations = call(server, "GET", f"{BANK}/operations?limit=100")[1]["operations"]
        ended = {one["status"] for one in operations if one["task_type"] == kind}
        if ended and ended <= {"completed", "failed"}:
            return " and ".join(sorted(ended))
        time.sleep(1.0)
    raise AssertionError(f"not done within {_SECONDS:.0f} s\n{told(server)}")


def answers(server: ServerProcess, operation: str) -> list[str]:
    """What the model answered in a kind of work."""
    path = f"{BANK}/llm-requests?limit=500&status=success&operation={operation}"
    return [str((one["output"] or {}).get("content")) for one in call(server, "GET", path)[1]["items"]]


def told(server: ServerProcess) -> str:
    """What there is to know of a failure: the model's answers, the operations, the memories and the server's log."""
    asked = call(server, "GET", f"{BANK}/llm-requests?limit=500")[1].get("items", [])
    shown = [
        f"{one['operation']} {one['status']} {one['duration_ms']} ms: {one['output']} {one['error'] or ''}"
        for one in asked
    ]
    shown += [json.dumps(one) for one in call(server, "GET", f"{BANK}/operations?limit=100")[1].get("operations", [])]
    shown += [repr(one["text"]) for one in call(server, "GET", f"{BANK}/memories/list")[1].get("items", [])]
    return "\n".join([*shown, server.log.read_text(encoding="utf-8")[-4000:]])


def says_there_is_nothing(answer: str) -> bool:
    """Whether an answer is a plain "no facts", which is taken at its word."""
    return '"facts":[]' in "".join(answer.split())


def test_retain_consolidate_and_reflect_end_and_lose_no_words(server: ServerProcess) -> None:
    began, took = time.monotonic(), {}

    def done(part: str) -> None:
        nonlocal began
        took[part], began = round(time.monotonic() - began), time.monotonic()

    said = "Ann moved to Oslo in May 2024. She works as a baker."
    status, stored = call(server, "POST", f"{BANK}/memories", {"items": [{"content": said, "document_id": "talk"}]})
    assert (status, stored["items_count"]) == (200, 1), told(server)
    retained = answers(server, "retain")
    assert retained, told(server)
    assert call(server, "GET", f"{BANK}/documents/talk")[1]["original_text"] == said
    found = call(server, "POST", f"{BANK}/memories/recall", {"query": "Where does Ann live?"})[1]["results"]
    assert found or says_there_is_nothing(retained[-1]), told(server)
    done("retain")

    # A cut answer left a job that reads the text again; the model would cut it again, and has other work to do.
    for one in call(server, "GET", f"{BANK}/operations?status=pending")[1]["operations"]:
        if one["task_type"] == "retain":
            call(server, "DELETE", f"{BANK}/operations/{one['id']}")
    assert call(server, "POST", f"{BANK}/consolidate", {})[0] == 200
    assert finished(server, "consolidation") == "completed", told(server)
    done("consolidate")

    wanted = {"query": "Where does Ann live?", "budget": "low", "response_schema": CITY}
    status, found = call(server, "POST", f"{BANK}/reflect", wanted)
    assert answers(server, "reflect"), told(server)
    # A model that can call no tool may be refused, with the reason; it is never answered for.
    assert (status == 200 and found["text"]) or (status in (500, 502) and found["detail"]), told(server)
    done("reflect")
    print("seconds:", took)
