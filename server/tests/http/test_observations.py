"""Observations as clients see them: recalled, preferred, proved, listed, counted, cleared, forgotten."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.adapters.text import Analyzer
from hindsight_server.domain.model import Fact, FactType
from hindsight_server.engine.consolidate import Consolidator
from hindsight_server.engine.indexing import Indexer
from hindsight_server.engine.language import LanguageModel
from hindsight_server.engine.recall.types import RecallOutcome, RecallTrace, ScoredFact, Scores
from hindsight_server.http.mental_models import based_on
from hindsight_server.http.recall import recall_answer
from hindsight_server.ports.llm import ChatRequest
from hindsight_server.ports.observations import CONSOLIDATION
from hindsight_server.testing.process import ServerProcess
from hindsight_server.testing.scripted_model import ScriptedProvider

from .conftest import Api
from .test_forgotten_words import in_files, rows

SAID = ("Ann: I moved to Oslo in May.", "Ann: Near my flat in Oslo is the harbour.")
OBSERVED = "Ann lives in Oslo, near the harbour, under zworbelig elms."
SECRET = "Ann: The zworbelig elms there are near my flat."
QUOTE = "The zworbelig elms"  # kept for the fact that holds it


class Now:
    """The machine's time."""

    def now(self) -> datetime:
        return datetime.now(UTC)


def answer(request: ChatRequest) -> dict[str, Any]:
    labels = [f"F{number}" for number in range(1, 4) if f"F{number}: " in request.messages[1].text]
    sources = [{"fact": label, "quote": QUOTE} for label in labels]
    return {"actions": [{"action": "create", "observation": None, "text": OBSERVED, "sources": sources}]}


async def consolidate(folder: Path, bank: str) -> None:
    """As a server with a language model does it."""
    store = SqliteStore(folder)
    await store.open()
    model = LanguageModel(ScriptedProvider(answer))
    consolidator = Consolidator(store, Indexer(Analyzer(), HashingEmbedder()), Now(), model)
    await consolidator.trigger(bank)
    job = await store.claim_operation([CONSOLIDATION], Now().now(), 30.0)
    assert job is not None
    await consolidator.run_job(job)
    await store.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("observed")
    with ServerProcess(folder) as started:
        api = Api(started.url)
        for bank in ("b", "forgetful", "cleared"):
            assert (
                api.retain(bank, *({"content": said, "tags": ["user:ann"]} for said in (*SAID, SECRET))).status == 200
            )
        started.stop()
        for bank in ("b", "forgetful", "cleared"):
            asyncio.run(consolidate(folder / "data", bank))
        started.start()
        yield started


@pytest.fixture(scope="module")
def own(server: ServerProcess) -> Api:
    return Api(server.url)


def observation(api: Api, bank: str) -> dict[str, Any]:
    (found,) = api.bank("GET", bank, "/memories/list?type=observation").body["items"]
    return dict(found)


@pytest.mark.feature("F6")
@pytest.mark.feature("S3")
def test_an_observation_is_recalled_with_its_sources(own: Api) -> None:
    include = {"source_facts": {}}
    found = own.recall("b", "Where does Ann live?", types=["observation"], include=include, trace=True).body
    (result,) = found["results"]
    assert (result["text"], result["type"], result["document_id"], result["chunk_id"]) == (
        OBSERVED,
        "observation",
        None,
        None,
    )
    assert (result["tags"], len(result["source_fact_ids"])) == (["user:ann"], 3)
    assert {fact["text"] for fact in found["source_facts"].values()} == {*SAID, SECRET}
    assert own.recall("b", "Where does Ann live?", tags=["user:bob"], tags_match="any_strict").body["results"] == []


@pytest.mark.feature("S2")
def test_preferred_observations_speak_for_their_sources(own: Api) -> None:
    every = own.recall("b", "Where does Ann live in Oslo?").body["results"]
    assert {result["type"] for result in every} == {"world", "observation"}
    preferred = own.recall("b", "Where does Ann live in Oslo?", prefer_observations=True).body["results"]
    assert [result["type"] for result in preferred] == ["observation"]


@pytest.mark.feature("F6")
def test_an_observation_is_listed_counted_and_told(own: Api) -> None:
    found = observation(own, "b")
    assert (found["document_id"], found["proof_count"], len(found["source_memory_ids"])) == (None, 3, 3)
    stats = own.bank("GET", "b", "/stats").body
    assert (stats["total_observations"], stats["total_documents"]) == (1, 3)
    assert (stats["pending_consolidation"], stats["failed_consolidation"]) == (0, 0)
    assert stats["last_consolidated_at"] is not None
    (version,) = own.bank("GET", "b", f"/memories/{found['id']}/history").body
    assert (version["action"], version["text"], version["previous_text"]) == ("created", OBSERVED, None)
    assert {fact["text"] for fact in version["source_facts"]} == {*SAID, SECRET}
    assert {fact["text"]: fact["quote"] for fact in version["source_facts"]} == {
        SAID[0]: None,
        SAID[1]: None,
        SECRET: QUOTE,
    }
    alone = own.bank("GET", "b", f"/memories/{found['id']}").body
    assert (alone["history"], len(alone["source_memory_ids"])) == ([], 3)
    assert own.bank("GET", "b", "/memories/nobody/history").status == 404
    scopes = own.bank("GET", "b", "/observations/scopes").body
    assert (scopes["scopes"], scopes["total"]) == ([{"tags": ["user:ann"], "count": 1}], 1)
    graph = own.bank("GET", "b", "/graph?tags=user:ann&tags_match=exact&type=observation").body
    assert [row["text"] for row in graph["table_rows"]] == [OBSERVED]
    done = own.bank("GET", "b", "/memories/list?consolidation_state=done").body
    assert (done["total"], {item["fact_type"] for item in done["items"]}) == (3, {"world"})
    assert all(item["consolidated_at"] for item in done["items"])
    assert own.bank("GET", "b", "/memories/list?consolidation_state=pending").body["total"] == 0
    assert own.bank("GET", "b", "/memories/list?consolidation_state=maybe").status == 422
    documents = own.bank("GET", "b", "/documents").body
    assert (documents["total"], "" in {one["id"] for one in documents["items"]}) == (3, False)
    strategies = [{"scopes": [{"tags": ["user:*"]}, {"tags": ["x"]}], "max_observations_per_scope": 5}, {"scopes": []}]
    preview = own.bank("POST", "b", "/consolidation-strategies/preview", {"strategies": strategies}).body
    assert [one["active"] for one in preview["strategies"]] == [True, False]
    assert preview["strategies"][0]["claimed_count"] == 1
    assert [rule["match_count"] for rule in preview["strategies"][0]["rules"]] == [1, 0]
    assert (preview["default"]["match_count"], preview["complete"]) == (0, True)


def test_an_observation_can_not_be_edited(own: Api) -> None:
    found = observation(own, "b")
    assert own.bank("PATCH", "b", f"/memories/{found['id']}", {"text": "other"}).status == 422


@pytest.mark.feature("F6")
def test_case_a30_an_observation_goes_with_what_it_rests_on(own: Api, server: ServerProcess) -> None:
    listed = own.bank("GET", "forgetful", "/memories/list?q=zworbelig&type=world").body["items"]
    folder = Path(server.folder)
    assert "zworbelig" in rows(folder).casefold()
    for bank in ("b", "cleared"):
        assert own.bank("DELETE", bank).status == 200
    gone = own.bank("POST", "forgetful", "/memories/forget", {"ids": [listed[0]["id"]]}).body
    assert gone["success"] is True
    assert "zworbelig" not in rows(folder).casefold()
    assert in_files(folder, ("zworbelig",)) == set()
    assert own.bank("GET", "forgetful", "/observations/scopes").body["total"] == 0
    texts = [
        result["text"] for result in own.recall("forgetful", "Where are the zworbelig elms of Ann?").body["results"]
    ]
    assert sorted(texts) == sorted(SAID)


def test_clearing_and_starting_over_http(own: Api) -> None:
    bank = "started"
    assert own.bank("POST", bank, "/consolidate").status == 404
    own.retain(bank, "Ann: I like tea.")
    first = own.bank("POST", bank, "/consolidate", {"observation_scopes": [["x"]]})
    assert (first.status, first.body["deduplicated"]) == (200, False)
    for _ in range(100):
        if own.bank("GET", bank, f"/operations/{first.body['operation_id']}").body["status"] == "completed":
            break
        time.sleep(0.02)
    assert own.bank("DELETE", bank, "/observations").body["deleted_count"] == 0
    assert own.bank("POST", bank, "/consolidation/recover").body == {"retried_count": 0}
    own.bank("PATCH", bank, "/config", {"updates": {"enable_observations": False}})
    assert own.bank("POST", bank, "/consolidate").status == 400
    bad = own.bank("PATCH", bank, "/config", {"updates": {"default_observation_scopes": "each"}})
    assert bad.status == 422


def test_observations_are_of_no_document_wherever_they_are_shown() -> None:
    observed = Fact(
        seq=1,
        fact_id="o",
        document_id="",
        chunk_id=None,
        turn_index=0,
        fact_type=FactType.OBSERVATION,
        text="Ann lives in Oslo.",
    )
    said = replace(observed, seq=2, fact_id="f", document_id="d", fact_type=FactType.WORLD)
    (shown,) = based_on([observed])["observation"]
    assert shown["document_id"] is None
    folded = ScoredFact(observed, Scores(final=1.0), copies=(said,), proof_count=2)
    (result,) = recall_answer(RecallOutcome(results=(folded,), trace=RecallTrace(query="q")), traced=False)["results"]
    assert [source["document_id"] for source in result["sources"]] == [None, "d"]
