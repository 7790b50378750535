"""The log of questions to language models, and the probe, over HTTP with a scripted model's server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hindsight_server.testing.model_server import Fail, ModelServer, Question, Reply
from hindsight_server.testing.process import ServerProcess

from .conftest import Api

pytestmark = pytest.mark.feature("S5")


def answer(question: Question) -> Reply:
    if question.body["model"] == "locked":
        return Fail(401, message="Wrong key sk-test-4417")
    return "OK"


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(answer) as server:
        yield server


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Iterator[Api]:
    settings = model.environment(
        LLM_API_KEY="sk-test-4417",
        REFLECT_LLM_MODEL="locked",
        CONSOLIDATION_LLM_PROVIDER="none",
        LLM_TRACE_TEXTS="true",
    )
    with ServerProcess(tmp_path_factory.mktemp("language"), environment=settings) as started:
        yield Api(started.url)


Conforms = Callable[[str, Any], None]


def test_the_probe_tells_the_state_of_each_kind_of_work_and_no_more(own: Api, bank: str, conforms: Conforms) -> None:
    assert own.bank("PUT", bank, "", {}).status == 200
    probed = own.bank("POST", bank, "/health/llm")
    conforms("test_bank_llm", probed)
    states = {row["operation"]: row["status"] for row in probed.body["operations"]}
    assert states == {"retain": "connected", "reflect": "auth_failed", "consolidation": "not_configured"}
    assert "scripted" not in str(probed.body)
    assert own.bank("POST", "no-such-bank", "/health/llm").status == 404


def test_questions_are_listed_filtered_and_summed(own: Api, bank: str, conforms: Conforms) -> None:
    own.bank("PUT", bank, "", {})
    own.bank("POST", bank, "/health/llm")
    listed = own.bank("GET", bank, "/llm-requests")
    conforms("list_llm_requests", listed)
    by_status = {row["status"]: row for row in listed.body["items"]}
    assert set(by_status) == {"success", "error"}
    assert (by_status["success"]["input_tokens"], by_status["success"]["output_tokens"]) == (10, 5)
    assert by_status["success"]["output"] == {"content": "OK"}
    assert "test-4417" not in str(listed.body)
    failed = own.bank("GET", bank, "/llm-requests?status=error&group=true&operation=health&provider=openai")
    assert [row["model"] for row in failed.body["items"]] == ["locked"]
    assert own.bank("GET", bank, "/llm-requests?call_type=embedding").body["total"] == 0
    assert own.bank("GET", bank, "/llm-requests?start_date=2999-01-01T00:00:00Z").body["items"] == []
    sums = own.bank("GET", bank, "/llm-requests/stats?period=1d")
    conforms("llm_request_stats", sums)
    last = sums.body["buckets"][-1]
    assert (last["statuses"], last["tokens"]["total"]) == ({"success": 1, "error": 1}, 15)
    assert own.bank("GET", bank, "/llm-requests/stats?period=1y").status == 422
    assert own.bank("GET", "no-such-bank", "/llm-requests").status == 404


def test_forgetting_a_memory_takes_the_logged_texts_of_its_bank(own: Api, bank: str) -> None:
    own.bank("PUT", bank, "", {})
    own.bank("POST", bank, "/health/llm")
    assert any(row["input"] for row in own.bank("GET", bank, "/llm-requests").body["items"])
    assert own.bank("DELETE", bank, "/memories").status == 200
    rows = own.bank("GET", bank, "/llm-requests").body["items"]
    assert [(row["input"], row["output"]) for row in rows] == [(None, None)] * 2


def test_metrics_count_questions_and_tokens(own: Api, bank: str) -> None:
    own.bank("PUT", bank, "", {})
    own.bank("POST", bank, "/health/llm")
    text = own("GET", "/metrics").body
    assert 'hindsight_llm_requests_total{operation="health",status="success"}' in text
    assert 'hindsight_llm_tokens_total{operation="health",kind="input"}' in text


def test_the_version_says_what_is_served(own: Api) -> None:
    features = own("GET", "/version").body["features"]
    assert (features["llm_trace"], features["bank_llm_health"]) == (True, True)
    assert (features["document_export_api"], features["document_import_api"]) == (True, True)


def test_without_a_model_nothing_is_configured(api: Api, bank: str) -> None:
    api.bank("PUT", bank, "", {})
    states = {row["status"] for row in api.bank("POST", bank, "/health/llm").body["operations"]}
    assert states == {"not_configured"}
    assert api.bank("GET", bank, "/llm-requests").body["items"] == []


def test_the_probe_can_be_turned_off(tmp_path: Path) -> None:
    settings = {"HINDSIGHT_API_ENABLE_BANK_LLM_HEALTH": "false", "HINDSIGHT_API_LLM_TRACE_ENABLED": "false"}
    with ServerProcess(tmp_path, environment=settings) as server:
        own = Api(server.url)
        own.bank("PUT", "a", "", {})
        assert own.bank("POST", "a", "/health/llm").status == 404
        features = own("GET", "/version").body["features"]
        assert (features["llm_trace"], features["bank_llm_health"]) == (False, False)
