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
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with LocalModel(context_tokens=3072) as model:
        settings = model.environment(LLM_TIMEOUT=f"{_SECONDS:.0f}", LLM_MAX_TOKENS="200")
        with ServerProcess(tmp_path_factory.mktemp("local"), environment=settings) as server:
            yield server.url


def call(url: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"content-type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def finished(url: str) -> dict[str, str]:
    """The kinds of operations and what became of them, once none is left to do."""
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        operations = call(url, "GET", f"{BANK}/operations?limit=100")[1]["operations"]
        if operations and all(one["status"] in ("completed", "failed") for one in operations):
            return {one["task_type"]: one["status"] for one in operations}
        time.sleep(1.0)
    raise AssertionError(f"not done within {_SECONDS:.0f} s: {operations}")


def asked(url: str, operation: str) -> list[Any]:
    """The questions of a kind of work that the model answered."""
    path = f"{BANK}/llm-requests?limit=500&status=success&operation={operation}"
    return list(call(url, "GET", path)[1]["items"])


def test_retain_consolidate_and_reflect_end_and_lose_no_words(url: str) -> None:
    said = "Ann moved to Oslo in May 2024. She works as a baker."
    status, stored = call(url, "POST", f"{BANK}/memories", {"items": [{"content": said, "document_id": "talk"}]})
    assert (status, stored["items_count"]) == (200, 1)
    assert asked(url, "retain")
    assert call(url, "GET", f"{BANK}/documents/talk")[1]["original_text"] == said
    assert call(url, "POST", f"{BANK}/memories/recall", {"query": "Where does Ann live?"})[1]["results"]

    assert call(url, "POST", f"{BANK}/consolidate", {})[0] == 200
    assert set(finished(url).values()) == {"completed"}

    wanted = {"query": "Where does Ann live?", "budget": "low", "response_schema": CITY}
    status, found = call(url, "POST", f"{BANK}/reflect", wanted)
    assert asked(url, "reflect")
    # A model that can call no tool may be refused, with the reason; it is never answered for.
    assert (status == 200 and found["text"]) or (status in (500, 502) and found["detail"])
