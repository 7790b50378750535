"""Reflect over HTTP with a language model's server whose answers are written beforehand."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hindsight_client import Hindsight

from hindsight_server.testing.model_server import Fail, ModelServer, Question, Say
from hindsight_server.testing.process import ServerProcess

from .conftest import Api

Reply = Callable[[Question], Any]
SCHEMA = {"type": "object", "properties": {"dog": {"type": "string"}}, "required": ["dog"]}
TALK = "Ann: I adopted a dog yesterday, her name is Luna.\nBob: Lovely! My sister Carol moved to Oslo in 2015."


def call(name: str, **given: Any) -> Say:
    return Say(text=None, tools=((name, given),))


def usual(question: Question) -> Any:
    """A model that searches as it is made to, and then is done."""
    if question.schema is not None:
        return {"dog": "Luna"}
    if question.tool_choice == "required" and "Nothing was found" in question.text:
        return call("done", answer="Nothing is known about that.", found=False)
    if question.tool_choice == "required":
        return call("done", answer="Her dog is **Luna**.", memory_ids=["m1", "m99"])
    return call(str(question.tool_choice), query="Ann's dog")


class Model:
    """What the model's server says can be changed by each test."""

    def __init__(self) -> None:
        self.say: Reply = usual
        self.server = ModelServer(lambda question: self.say(question))

    @property
    def systems(self) -> list[str]:
        return [question.system for question in self.server.questions]


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    made = Model()
    with made.server:
        yield made


@pytest.fixture(scope="module")
def server(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with a model for reflect alone."""
    named = {"PROVIDER": "openai", "MODEL": "scripted", "BASE_URL": model.server.url, "MAX_RETRIES": "0"}
    environment = {f"HINDSIGHT_API_REFLECT_LLM_{name}": value for name, value in named.items()}
    environment["HINDSIGHT_API_REFLECT_WALL_TIMEOUT"] = "6"
    with ServerProcess(tmp_path_factory.mktemp("reflect"), environment=environment) as started:
        # The first question loads the provider's library, which may take longer than a reflect may here.
        for _ in range(5):
            if ask(Api(started.url), "warm-up").status == 200:
                break
        yield started


@pytest.fixture
def api(server: ServerProcess, model: Model) -> Iterator[Api]:
    model.say = usual
    model.server.questions.clear()
    yield Api(server.url)
    model.say = usual


@pytest.fixture
def client(server: ServerProcess) -> Iterator[Hindsight]:
    opened = Hindsight(base_url=server.url)
    yield opened
    opened.close()


@pytest.fixture
def talk(api: Api, bank: str) -> str:
    assert api.retain(bank, {"content": TALK, "timestamp": "2023-05-08T13:00:00Z"}).status == 200
    return bank


def ask(api: Api, bank: str, **options: Any) -> Any:
    return api.bank("POST", bank, "/reflect", {"query": "What is the name of Ann's dog?", **options})


@pytest.mark.feature("F5")
def test_every_field_of_the_answer_is_real(api: Api, talk: str, conforms: Callable[[str, Any], None]) -> None:
    api.bank("POST", talk, "/directives", {"name": "tone", "content": "Write names in bold."})
    answer = ask(api, talk, include={"facts": {}, "tool_calls": {}}, response_schema=SCHEMA)
    conforms("reflect", answer)
    body = answer.body
    assert body["text"] == "Her dog is **Luna**."
    assert [fact["text"] for fact in body["based_on"]["memories"]] == [TALK.splitlines()[0]]
    assert body["based_on"]["memories"][0]["mentioned_at"].startswith("2023-05-08")
    assert [one["name"] for one in body["based_on"]["directives"]] == ["tone"]
    assert body["based_on"]["mental_models"] == []
    assert (body["structured_output"], body["structured_output_error"]) == ({"dog": "Luna"}, None)
    assert body["usage"] == {
        "input_tokens": 30, "output_tokens": 15, "total_tokens": 45, "cached_tokens": 0, "thoughts_tokens": 0,
    }  # fmt: skip
    tools = body["trace"]["tool_calls"]
    assert [(one["tool"], one["iteration"]) for one in tools] == [("recall", 1), ("done", 2)]
    assert tools[0]["input"] == {"query": "Ann's dog"}
    assert tools[0]["output"]["memories"]
    assert tools[1]["output"]["unknown_citations"] == 1
    assert [one["scope"] for one in body["trace"]["llm_calls"]] == ["agent_1", "agent_2", "structured"]


@pytest.mark.feature("F5")
def test_what_was_not_asked_for_is_left_out(api: Api, talk: str) -> None:
    body = ask(api, talk).body
    assert (body["based_on"], body["trace"], body["structured_output"]) == (None, None, None)
    inputs_only = ask(api, talk, include={"tool_calls": {"output": False}}).body["trace"]["tool_calls"]
    assert [one["output"] for one in inputs_only] == [None, None]


def test_the_request_on_the_page_brings_evidence_and_trace(api: Api, talk: str) -> None:
    page = (Path(__file__).parents[3] / "docs" / "explanation" / "reflect.md").read_text(encoding="utf-8")
    shown = re.search(r"```sh\n(.*?)```", page, re.DOTALL)
    assert shown
    words = shlex.split(shown.group(1))
    path, body = urlsplit(words[2]).path, json.loads(words[words.index("-d") + 1])
    told = api("POST", path.replace("/ann/", f"/{talk}/"), body).body
    assert told["based_on"]["memories"]
    assert [one["tool"] for one in told["trace"]["tool_calls"]]
    assert told["trace"]["llm_calls"]


def test_through_the_client(client: Hindsight, api: Api, talk: str) -> None:
    found = client.reflect(
        talk, "What is Ann's dog called?", budget="high", include_facts=True, include_tool_calls=True,
        response_schema=SCHEMA,
    )  # fmt: skip
    assert found.text == "Her dog is **Luna**."
    assert found.based_on is not None
    assert found.based_on.memories
    assert found.structured_output == {"dog": "Luna"}
    assert found.trace is not None
    assert found.trace.tool_calls[0].tool == "recall"


@pytest.mark.feature("F4")
def test_directives_follow_the_tags_of_the_request(api: Api, model: Model, talk: str) -> None:
    for name, tags in (("everyone", []), ("team", ["team"])):
        api.bank("POST", talk, "/directives", {"name": name, "content": f"Rule for {name}.", "tags": tags})
    for options, expected in (
        ({}, ["everyone"]),
        ({"tags": ["team"]}, ["everyone", "team"]),
        ({"tags": ["other"], "tags_match": "any_strict"}, ["everyone"]),
        ({"tag_groups": [{"tags": ["team"]}]}, ["everyone", "team"]),
        ({"apply_all_directives": True}, ["everyone", "team"]),
    ):
        model.server.questions.clear()
        body = ask(api, talk, include={"facts": {}}, **options).body
        assert [one["name"] for one in body["based_on"]["directives"]] == expected, options
        assert ("Rule for team." in model.systems[0]) is ("team" in expected)


@pytest.mark.feature("F4")
def test_mission_traits_and_default_options_are_those_of_the_bank(api: Api, model: Model, talk: str) -> None:
    updates = {
        "reflect_mission": "You keep a kennel.",
        "disposition_literalism": 5,
        "reflect_default_options": {"fact_types": ["observation"]},
    }
    changed = api.bank("PATCH", talk, "/config", {"updates": updates})
    assert (changed.status, changed.body["not_applied"]) == (200, [])
    ask(api, talk)
    assert "You keep a kennel." in model.systems[0]
    assert "interpret nothing" in model.systems[0]
    assert set(model.server.questions[0].tools) == {"search_observations", "expand", "done"}
    model.server.questions.clear()
    ask(api, talk, fact_types=["world"])
    assert set(model.server.questions[0].tools) == {"recall", "expand", "done"}


@pytest.mark.feature("F2")
@pytest.mark.parametrize(
    ("say", "status", "reason"),
    [
        (lambda question: "It is Rex.", 500, "call tools"),
        (lambda question: call("done", answer="") if question.tool_choice == "required" else usual(question), 500, ""),
        (lambda question: Say(text=None, tools=(("recall", "{not json"),)), 500, "can't be carried out"),
        (lambda question: Fail(401, message="bad key sk-123"), 502, ""),
        (lambda question: Fail(503), 503, ""),
        (lambda question: Say(text="late", seconds=9.0), 504, "6 seconds"),
    ],
)
def test_failures_are_loud_and_say_why(api: Api, model: Model, talk: str, say: Reply, status: int, reason: str) -> None:
    model.say = say
    failed = ask(api, talk)
    assert (failed.status, reason in failed.body["detail"]) == (status, True), failed.body
    assert "sk-123" not in json.dumps(failed.body)


def test_a_blank_question_is_refused_without_asking_the_model(api: Api, model: Model, bank: str) -> None:
    assert ask(api, bank, query=" ").status == 422
    assert model.server.questions == []
    assert api.bank("GET", bank, "/config").status == 404


@pytest.mark.feature("F3")
def test_a_structured_answer_that_fails_leaves_the_text(api: Api, model: Model, talk: str) -> None:
    model.say = lambda question: "no object" if question.schema is not None else usual(question)
    body = ask(api, talk, response_schema=SCHEMA).body
    assert (body["text"], body["structured_output"]) == ("Her dog is **Luna**.", None)
    assert "schema" in body["structured_output_error"]


def test_async_content_is_seen_before_it_is_extracted(api: Api, model: Model, bank: str) -> None:
    api.retain(bank, "Ann: The parrot is called Pico.", **{"async": True})
    body = ask(api, bank, query="What is the parrot called?", include={"facts": {}}).body
    assert "Pico" in body["based_on"]["memories"][0]["text"]


def test_what_it_costs_is_counted(api: Api, talk: str) -> None:
    ask(api, talk)
    metrics = dict(line.rsplit(" ", 1) for line in api("GET", "/metrics").body.splitlines() if not line.startswith("#"))
    assert float(metrics['hindsight_reflect_tokens_total{kind="input"}']) >= 20
    assert float(metrics['hindsight_reflect_tool_calls_total{tool="recall"}']) >= 1
    assert float(metrics["hindsight_reflect_model_calls_total"]) >= 2
    assert float(metrics["hindsight_reflect_unknown_citations_total"]) >= 1


def test_many_waiting_reflects_leave_room_for_recalls(api: Api, model: Model, talk: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def slow(question: Question) -> Any:
        said = usual(question)
        return Say(text=None, tools=said.tools, seconds=0.5)

    model.say = slow
    with ThreadPoolExecutor(24) as pool:
        waiting = [pool.submit(ask, api, talk) for _ in range(20)]
        recalled = [api.recall(talk, "Luna").status for _ in range(10)]
        assert {one.result().status for one in waiting} == {200}
    assert recalled == [200] * 10
