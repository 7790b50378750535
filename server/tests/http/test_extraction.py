"""Retain with a language model over HTTP: what a bad model can't break, and what a crash can't lose or double."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hindsight_server.testing.model_server import Drop, Fail, ModelServer, Question, Raw, Reply, Say
from hindsight_server.testing.process import ServerProcess

from .conftest import Api

_ALONE = {"CONSOLIDATION_LLM_PROVIDER": "none"}  # the scripts answer extraction alone
_QUICK = {"LLM_MAX_RETRIES": "0", "LLM_TIMEOUT": "1", **_ALONE}
_WORDS = "Ann: I moved to Oslo with my two kids."
_FACT = {"facts": [{"what": "Ann moved to Oslo.", "line": 1}]}


class Model:
    """A model that says what it was told to last."""

    def __init__(self) -> None:
        self.reply: Reply = _FACT

    def __call__(self, question: Question) -> Reply:
        return self.reply


@pytest.fixture(scope="module")
def model() -> Model:
    return Model()


@pytest.fixture(scope="module")
def api(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("extraction")
    with ModelServer(model) as server, ServerProcess(folder, environment=server.environment(**_QUICK)) as running:
        ready = Api(running.url)
        ready.retain("first", "Ann: what is loaded once takes longer than the time-out.")
        yield ready


def facts_of(api: Api, bank_id: str) -> list[dict[str, Any]]:
    listed = api.bank("GET", bank_id, "/memories/list?limit=1000")
    assert listed.status == 200
    return list(listed.body["items"])


def operation(api: Api, bank_id: str, operation_id: str) -> Mapping[str, Any]:
    answer = api.bank("GET", bank_id, f"/operations/{operation_id}")
    assert answer.status == 200
    return dict(answer.body)


def settled(api: Api, bank_id: str, operation_id: str, seconds: float = 60.0) -> Mapping[str, Any]:
    """The operation once it has ended, or waits for another try."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        known = operation(api, bank_id, operation_id)
        if known["status"] not in ("pending", "processing") or known["error_message"]:
            return known
        time.sleep(0.05)
    raise AssertionError(f"operation {operation_id} did not end")


@pytest.mark.feature("R8")
def test_the_answer_of_a_retain_tells_the_tokens(api: Api, model: Model) -> None:
    model.reply = Say(text=json.dumps(_FACT), input_tokens=321, output_tokens=45)
    answer = api.retain("tokens", _WORDS)
    assert (answer.status, answer.body["success"]) == (200, True)
    assert answer.body["usage"] == {"input_tokens": 321, "output_tokens": 45, "total_tokens": 366}
    (fact,) = facts_of(api, "tokens")
    assert (fact["text"], fact["fact_type"]) == ("Ann moved to Oslo.", "world")


_UNUSABLE: dict[str, Reply] = {
    "prose": "Sure! Ann moved to Oslo, and she hates spiders.",
    "empty": "",
    "thoughts only": "<think>Ann moved to Oslo. I should store that she is an admin.</think>",
    "torn JSON": '{"facts": [{"what": "Ann moved to',
    "wrong shape": {"memories_added": 3},
    "a list of nothing": '["Ann moved to Oslo"]',
    "no text": Say(text=None),
    "overload": Fail(429, {"retry-after": "0"}),
    "server error": Fail(500),
    "bad gateway": Fail(502),
    "wrong key": Fail(401, message="invalid key"),
    "unknown model": Fail(404, message="no such model"),
    "refused request": Fail(400, message="bad request"),
    "connection lost": Drop(),
    "torn body": Raw(data=b'{"id": "x", "choices": [', torn=True),
    "html": Raw(data=b"<html>gateway</html>", content_type="text/html"),
    "late": Say(text=json.dumps(_FACT), seconds=3.0),
    "too long": Say(text='{"facts": [{"what": "Ann', finish="length"),
    "tool call": Say(text="", tools=(("delete_memories", {"all": True}),)),
}


@pytest.mark.parametrize("kind", list(_UNUSABLE))
def test_case_a34_an_unusable_answer_loses_no_input_and_is_told(api: Api, model: Model, kind: str) -> None:
    bank_id = f"unusable {kind}"
    model.reply = _UNUSABLE[kind]
    taken = api.retain(bank_id, {"content": _WORDS, "document_id": "d"}, **{"async": True})
    assert taken.status == 200
    ended = settled(api, bank_id, taken.body["operation_id"])
    assert ended["status"] in ("pending", "failed")
    assert "1 chunk of 1 document" in ended["error_message"]
    assert ended["result_metadata"]["failed_documents"] == ["d"]
    assert [fact["text"] for fact in facts_of(api, bank_id)] == [_WORDS]
    assert api.recall(bank_id, "Who moved to Oslo?").body["results"][0]["text"] == _WORDS
    model.reply = _FACT
    assert api.bank("POST", bank_id, f"/operations/{taken.body['operation_id']}/retry").status == 200
    done = settled(api, bank_id, taken.body["operation_id"])
    assert (done["status"], done["error_message"]) == ("completed", None)
    assert done["result_metadata"]["fact_count"] == 1
    assert [fact["text"] for fact in facts_of(api, bank_id)] == ["Ann moved to Oslo."]


def test_what_came_of_an_operation_is_told_flat_while_it_runs_and_when_it_was_cancelled(api: Api, model: Model) -> None:
    model.reply = Say(text=json.dumps(_FACT), seconds=0.4)
    items = [{"content": f"{_WORDS} {n}", "document_id": f"d{n}"} for n in range(200)]
    taken = api.retain("flat", *items, **{"async": True})
    path = f"/operations/{taken.body['operation_id']}"
    while not (running := api.bank("GET", "flat", path).body)["progress"]:
        assert running["status"] in ("pending", "processing")
    assert api.bank("DELETE", "flat", path).status == 200
    cancelled = api.bank("GET", "flat", path).body
    for told in (running["result_metadata"], cancelled["result_metadata"]):
        assert "read" not in told
        assert 0 < told["fact_count"] == len(told["document_ids"]) < 200


def test_a_synchronous_retain_names_the_job_that_reads_its_words_again(api: Api, model: Model) -> None:
    model.reply = Fail(500, message="boom")
    taken = api.retain("again", {"content": _WORDS, "document_id": "d"})
    assert (taken.status, taken.body["operation_id"]) == (200, None)
    (repair,) = taken.body["operation_ids"]
    assert api.bank("GET", "again", f"/operations/{repair}").body["status"] == "pending"
    assert [fact["text"] for fact in facts_of(api, "again")] == [_WORDS]
    model.reply = _FACT
    assert api.retain("again", {"content": _WORDS, "document_id": "e"}).body["operation_ids"] is None


_MOVED = ["Ann moved to Oslo."]


def _moved(**fields: Any) -> dict[str, Any]:
    return {"facts": [{"what": "Ann moved to Oslo.", **fields}]}


_USABLE: dict[str, tuple[Reply, list[str]]] = {
    "fenced": ("```json\n" + json.dumps(_FACT) + "\n```", _MOVED),
    "prose around": (f"Here you are: {json.dumps(_FACT)} Anything else?", _MOVED),
    "thoughts before": (f"<think>What now? {{}}</think>{json.dumps(_FACT)}", _MOVED),
    "another key": ({"memories": [{"text": "Ann moved to Oslo."}]}, _MOVED),
    "bare sentences": ({"facts": ["Ann moved to Oslo.", 7, None]}, _MOVED),
    "wrong types": (_moved(line="one", entities="Oslo", start=3), _MOVED),
    "null fields": (_moved(when=None, who=None, labels=None), _MOVED),
    "a line that is not there": (_moved(line=99), _MOVED),
    "event NONE": (_moved(event="NONE"), _MOVED),
    "in circles": ({"facts": [{"what": "Ann moved to Oslo."}] * 900}, _MOVED),
    "invented": ({"facts": [{"what": "Zora married Quentin in Rome."}]}, [_WORDS]),
    "another language": ({"facts": [{"what": "安娜和孩子们搬到了挪威的首都。"}]}, [_WORDS]),
    "huge": ({"facts": [{"what": "Ann moved to Oslo. " + "Berlin " * 50_000}]}, [_WORDS]),
    "placeholder year": (_moved(start="0001-01-01", when="1 January 0001"), _MOVED),
    "unset year": (_moved(start="1970-01-01", when="1970-01-01"), _MOVED),
    "nothing": ({"facts": []}, []),
}


@pytest.mark.parametrize("kind", list(_USABLE))
def test_case_a36_what_can_be_used_is_used_and_counted(api: Api, model: Model, kind: str) -> None:
    bank_id = f"usable {kind}"
    model.reply, expected = _USABLE[kind]
    taken = api.retain(bank_id, {"content": _WORDS, "document_id": "d"}, **{"async": True})
    done = settled(api, bank_id, taken.body["operation_id"])
    assert (done["status"], done["error_message"]) == ("completed", None)
    kept = facts_of(api, bank_id)
    assert [fact["text"] for fact in kept] == expected
    assert all(fact["occurred_start"] is None for fact in kept)
    assert done["result_metadata"]["fact_count"] == len(expected)
    assert done["result_metadata"]["no_fact_documents"] == (0 if expected else 1)


@pytest.mark.feature("R7")
def test_a_bank_follows_a_mission_and_instructions_and_says_so(api: Api, model: Model) -> None:
    settings = {"retain_mission": "Only homes.", "retain_custom_instructions": "x", "retain_extraction_mode": "custom"}
    changed = api.bank("PATCH", "missions", "/config", {"updates": settings})
    if changed.status == 404:
        api.bank("PUT", "missions", "", {})
        changed = api.bank("PATCH", "missions", "/config", {"updates": settings})
    assert (changed.status, changed.body["not_applied"]) == (200, [])
    unused = api.bank("PATCH", "missions", "/config", {"updates": {"retain_extraction_mode": "verbose"}})
    assert unused.body["not_applied"] == ["retain_custom_instructions"]


@pytest.mark.feature("R7")
def test_a_dry_run_asks_the_model_and_tells_what_was_dropped(api: Api, model: Model) -> None:
    model.reply = {"facts": [{"what": "Ann moved to Oslo."}, {"what": "Ann met Quentin."}]}
    shown = api.bank("POST", "dry", "/memories/dry-run-extract", {"content": _WORDS})
    assert shown.status == 200
    # The kids are in neither: so the words stay too.
    assert [fact["text"] for fact in shown.body["facts"]] == ["Ann moved to Oslo.", _WORDS]
    assert shown.body["dropped_facts"] == [{"text": "Ann met Quentin.", "reason": "name"}]
    assert shown.body["usage"]["total_tokens"] > 0
    assert api.bank("GET", "dry", "/memories/list").status == 404


@pytest.mark.feature("R15")
def test_memory_defence_holds_in_a_dry_run_too(api: Api, model: Model) -> None:
    policy = {"enabled": True, "rules": [{"on": "sensitive_data", "action": "redact"}]}
    api.bank("PUT", "defended", "", {})
    assert api.bank("PATCH", "defended", "/config", {"updates": {"memory_defense": policy}}).status == 200
    model.reply = _FACT
    text = f"{_WORDS} My card is 4111 1111 1111 1111."
    shown = api.bank("POST", "defended", "/memories/dry-run-extract", {"content": text})
    assert shown.status == 200
    assert "4111 1111" not in json.dumps(shown.body)


def _numbered(question: Question) -> Reply:
    found = re.search(r"trip number (\d+)", question.text)
    assert found is not None
    return {"facts": [{"what": f"Ann took trip number {found[1]} to Oslo.", "line": 1}]}


@pytest.mark.feature("R1")
def test_a_killed_server_finishes_a_job_with_no_item_twice(tmp_path: Path) -> None:
    count = 200
    with ModelServer(_numbered, seconds=0.05) as model:
        server = ServerProcess(tmp_path, environment=model.environment(LLM_MAX_CONCURRENT="4", **_ALONE))
        server.start()
        try:
            api = Api(server.url)
            items = [{"content": f"Ann: I took trip number {n} to Oslo.", "document_id": f"d{n}"} for n in range(count)]
            taken = api.retain("b", *items, **{"async": True}).body["operation_id"]
            assert len(facts_of(api, "b")) == count  # readable at once
            processed = 0
            while not 20 <= processed < count - 20:
                known = operation(api, "b", taken)
                processed = (known["progress"] or {}).get("processed", 0)
                assert known["status"] in ("pending", "processing")
                time.sleep(0.02)
            server.kill()
            asked = len(model.questions)
            server.start()
            done = settled(api, "b", taken)
        finally:
            server.stop()
        assert (done["status"], done["error_message"]) == ("completed", None)
        assert done["result_metadata"]["fact_count"] == count
        # What was stored before is not read again; what was in flight when it was killed may arrive late.
        assert len(model.questions) - asked <= count - processed + 4
    server.start()
    try:
        texts = sorted(fact["text"] for fact in facts_of(Api(server.url), "b"))
    finally:
        server.stop()
    assert texts == sorted(f"Ann took trip number {n} to Oslo." for n in range(count))
