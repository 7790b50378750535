"""Every field of a recall request does something, and every field of the answer holds a real value.

Each test names the fields that it shows; the last one compares them with the contract.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, TypeVar

import apsw
import pytest

from hindsight_server.adapters.text import Analyzer
from hindsight_server.testing.process import ServerProcess

from .conftest import Api

SCHEMAS = (
    *("RecallRequest", "IncludeOptions", "EntityIncludeOptions", "ChunkIncludeOptions", "SourceFactsIncludeOptions"),
    *("MinScores", "TemporalWindow", "TagGroupLeaf", "TagGroupAnd-Input", "TagGroupOr-Input", "TagGroupNot-Input"),
    *("RecallResponse", "RecallResult", "RecallScores", "EntityStateResponse", "EntityObservationResponse"),
    "ChunkData",
)
# Files are not taken in yet, so that no fact is drawn from one.
ALWAYS_NULL = {"RecallResult.attachments", "ChunkData.attachments"}
SHOWN: set[str] = set()
BANK = "library"
BOOK = "Boris borrowed the atlas of Lisbon from the library."
COPY = "Boris returned the atlas, and Ann borrowed the same atlas of Lisbon in her turn."
OATH = "I reserved the atlas of Lisbon for Dora."
HABIT = "The atlas of Lisbon is borrowed often."

T = TypeVar("T", bound=Callable[..., Any])


def shows(*fields: str) -> Callable[[T], T]:
    SHOWN.update(fields)
    return lambda test: test


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A server with one bank: four memories of an atlas, one of them an observation drawn from two others."""
    folder = tmp_path_factory.mktemp("recall-fields")
    with ServerProcess(folder) as server:
        api = Api(server.url)
        api.retain(
            BANK,
            {
                "content": BOOK,
                "document_id": "loans/1",
                "context": "loans",
                "timestamp": "2024-03-05T10:00:00Z",
                "tags": ["desk:north"],
                "metadata": {"shelf": "7"},
            },
            {
                "content": COPY,
                "document_id": "loans/2",
                "timestamp": "2025-06-01T10:00:00Z",
                "tags": ["desk:south", "open"],
            },
            {"content": json.dumps([{"role": "assistant", "text": OATH}]), "document_id": "chat", "tags": ["open"]},
            {"content": HABIT, "document_id": "habits"},
        )
        ids = {item["text"]: item["id"] for item in api.bank("GET", BANK, "/memories/list").body["items"]}
        database = apsw.Connection(str(folder / "data" / "memory.db"))
        database.execute(
            "UPDATE facts SET fact_type = 'observation', source_fact_ids = ?, proof_count = 2 WHERE fact_id = ?",
            (json.dumps([ids[BOOK], ids[COPY]]), ids[HABIT]),
        )
        database.close()
        yield api


def ask(api: Api, query: str = "Who borrowed the atlas of Lisbon?", **options: Any) -> dict[str, Any]:
    answer = api.recall(BANK, query, **options)
    assert answer.status == 200, answer.body
    body: dict[str, Any] = answer.body
    return body


def texts(body: dict[str, Any]) -> list[str]:
    return [result["text"].removeprefix("assistant: ") for result in body["results"]]


@shows("RecallRequest.query", "RecallResponse.results", "RecallResult.text")
def test_query(shelf: Api) -> None:
    assert set(texts(ask(shelf))) == {BOOK, COPY, OATH, HABIT}
    assert texts(ask(shelf, "reserved for Dora"))[0] == OATH


@shows(
    *(f"RecallResult.{name}" for name in ("id", "type", "entities", "context", "mentioned_at", "document_id")),
    *(f"RecallResult.{name}" for name in ("metadata", "chunk_id", "tags", "source_fact_ids")),
)
def test_what_a_result_holds(shelf: Api) -> None:
    by_text = {result["text"]: result for result in ask(shelf)["results"]}
    book = by_text[BOOK]
    assert book["id"] == shelf.bank("GET", BANK, f"/memories/{book['id']}").body["id"]
    assert book["type"] == "world"
    assert "Lisbon" in book["entities"]
    assert (book["context"], book["document_id"], book["metadata"]) == ("loans", "loans/1", {"shelf": "7"})
    assert datetime.fromisoformat(book["mentioned_at"]) == datetime.fromisoformat("2024-03-05T10:00:00+00:00")
    assert shelf("GET", f"/v1/default/chunks/{book['chunk_id']}").body["chunk_text"] == BOOK
    assert book["tags"] == ["desk:north"]
    assert book["source_fact_ids"] is None
    habit = by_text[HABIT]
    assert (habit["type"], set(habit["source_fact_ids"])) == ("observation", {book["id"], by_text[COPY]["id"]})


@shows("RecallResult.occurred_start", "RecallResult.occurred_end")
def test_when_it_happened(api: Any, bank: str) -> None:
    api.retain(bank, {"content": "The fair was on 3 May 2023.", "timestamp": "2024-01-01T00:00:00Z"})
    (result,) = api.recall(bank, "fair").body["results"]
    assert result["occurred_start"].startswith("2023-05-03T00:00")
    assert result["occurred_end"].startswith("2023-05-03T23:59")


@shows("RecallResult.scores", *(f"RecallScores.{name}" for name in ("final", "reranker", "semantic", "keyword")))
def test_scores(shelf: Api) -> None:
    results = ask(shelf)["results"]
    final = [result["scores"]["final"] for result in results]
    assert final == sorted(final, reverse=True)
    assert len(set(final)) == len(final)
    for name in ("final", "reranker", "semantic", "keyword"):
        values = {result["scores"][name] for result in results}
        assert None not in values, name
        assert len(values) > 1, name
    assert {result["scores"]["reranker"] for result in ask(shelf, budget="low")["results"]} == {None}


@shows("RecallRequest.types")
def test_types(shelf: Api) -> None:
    assert texts(ask(shelf, types=["experience"])) == [OATH]
    assert texts(ask(shelf, types=["observation"])) == [HABIT]
    assert set(texts(ask(shelf, types=["world", "opinion"]))) == {BOOK, COPY}
    assert len(ask(shelf, types=[])["results"]) == 4


@shows("RecallRequest.prefer_observations")
def test_prefer_observations(shelf: Api) -> None:
    assert set(texts(ask(shelf, prefer_observations=True))) == {OATH, HABIT}
    assert set(texts(ask(shelf, prefer_observations=True, types=["world"]))) == {BOOK, COPY}


@shows("RecallRequest.budget")
def test_budget(shelf: Api) -> None:
    arms = {
        budget: {arm["name"]: arm for arm in ask(shelf, budget=budget, trace=True)["trace"]["arms"]}
        for budget in ("low", "mid", "high")
    }
    assert arms["low"]["reranker"]["status"] == "skipped"
    assert arms["mid"]["reranker"]["status"] == arms["high"]["reranker"]["status"] == "ok"


@shows("RecallRequest.max_tokens")
def test_max_tokens_bounds_the_numbered_list(shelf: Api) -> None:
    for max_tokens in (0, 5, 16, 20, 40, 60, 200):
        body = ask(shelf, max_tokens=max_tokens)
        listed = "\n".join(f"{number}. {result['text']}" for number, result in enumerate(body["results"], start=1))
        assert Analyzer().count_tokens(listed) <= max_tokens
        assert body["truncated"] == (len(body["results"]) < 4)
    assert ask(shelf, max_tokens=0)["results"] == []


@shows("RecallRequest.trace", "RecallResponse.trace")
def test_trace(shelf: Api) -> None:
    assert ask(shelf)["trace"] is None
    body = ask(shelf, trace=True, max_tokens=30, min_scores={"final": 0.01})
    trace = body["trace"]
    assert trace["query"] == "Who borrowed the atlas of Lisbon?"
    assert trace["terms"] == ["borrow", "atlas", "lisbon"]
    assert trace["weights_file"] == "weights.json"
    assert trace["weights"]["meaning"] > 0  # a feature of every weights file
    assert trace["num_results"] == len(body["results"]) == 2
    assert trace["result_tokens"] < trace["listed_tokens"] <= 30
    assert {"view", "gather", "search", "rerank", "results"} <= set(trace["stage_seconds"])
    assert trace["time_seconds"] >= sum(trace["stage_seconds"].values()) > 0
    assert sum(trace["left_out"].values()) == 2
    first = trace["explained"][0]
    assert (first["id"], first["rank"], first["left_out"]) == (body["results"][0]["id"], 1, None)
    shown = [one["id"] for one in trace["explained"] if one["left_out"] is None]
    assert shown == [result["id"] for result in body["results"]]
    assert {one["left_out"] for one in trace["explained"]} <= {None, "budget", "floor_final"}
    for one in trace["explained"]:
        # The parts add up to the score, and each is its value times the weight of its feature.
        adds = sum(feature["adds"] for feature in one["features"].values()) + sum(one["boosts"].values())
        assert adds == pytest.approx(one["score"], abs=0.01)
        for name, feature in one["features"].items():
            assert feature["adds"] == pytest.approx(feature["value"] * trace["weights"].get(name, 0), abs=0.01)
        assert one["arms"]["keyword"]["rank"] >= 1


def test_a_trace_is_bounded(api: Any, bank: str) -> None:
    api.retain(bank, *(f"Ann noted the number {n} of the canoe." for n in range(400)))
    answer = api.recall(bank, "canoe number " + "word " * 3000, trace=True, max_tokens=20_000, budget="high")
    trace = answer.body["trace"]
    assert trace["candidates"] > 200
    assert len(trace["explained"]) == 50
    assert all(len(arm["ranked"]) <= 20 for arm in trace["arms"])
    assert len(json.dumps(trace)) < 100_000


def test_a_long_query_is_cut_and_the_answer_says_so(api: Any, bank: str) -> None:
    api.retain(bank, "Ann: I bought a canoe.")
    answer = api.recall(bank, "canoe " * 20_000)
    assert [result["text"] for result in answer.body["results"]] == ["Ann: I bought a canoe."]
    trace = answer.body["trace"]  # though none was asked for
    assert trace["query_truncated"] is True
    assert Analyzer().count_tokens(trace["query"]) <= 500
    assert "500 tokens" in trace["notes"][0]
    assert api.recall(bank, "canoe").body["trace"] is None


@shows("RecallRequest.query_timestamp")
def test_query_timestamp(api: Any, bank: str) -> None:
    for month, book in ((3, "sailing"), (6, "cooking")):
        api.retain(bank, {"content": f"Ann read on {book}.", "timestamp": f"2024-0{month}-05T10:00:00Z"})
    for now, book in (("2024-03-06T09:00:00Z", "sailing"), ("2024-06-06T09:00:00+02:00", "cooking")):
        body = api.recall(bank, "What did Ann read on yesterday?", query_timestamp=now, trace=True).body
        assert texts(body)[0] == f"Ann read on {book}."
        assert body["trace"]["time_windows"][0]["phrase"] == "yesterday"


@shows("RecallRequest.temporal_window", "TemporalWindow.start", "TemporalWindow.end")
def test_temporal_window(shelf: Api) -> None:
    for year, wanted in ((2024, BOOK), (2025, COPY)):
        window = {"start": f"{year}-01-01T00:00:00Z", "end": f"{year}-12-31T00:00:00Z"}
        body = ask(shelf, "atlas of Lisbon", temporal_window=window, types=["world"], trace=True)
        assert texts(body)[0] == wanted
        assert len(body["results"]) == 2, "it ranks, and leaves nothing out"
        assert body["trace"]["time_windows"][0]["source"] == "request"


@shows("RecallRequest.tags", "RecallRequest.tags_match")
@pytest.mark.parametrize(
    ("match", "found"),
    [
        ("any", {COPY, OATH, HABIT}),
        ("all", {COPY, HABIT}),
        ("any_strict", {COPY, OATH}),
        ("all_strict", {COPY}),
        ("exact", {COPY}),
    ],
)
def test_tags(shelf: Api, match: str, found: set[str]) -> None:
    assert set(texts(ask(shelf, tags=["open", "desk:south"], tags_match=match))) == found
    assert texts(ask(shelf, tags=[], tags_match="exact")) == [HABIT]
    assert len(ask(shelf, tags=[], tags_match="any_strict")["results"]) == 4


@pytest.mark.feature("S4")
@shows(
    "RecallRequest.tag_groups",
    *(f"TagGroupLeaf.{name}" for name in ("tags", "match", "resolve")),
    *("TagGroupAnd-Input.and", "TagGroupOr-Input.or", "TagGroupNot-Input.not"),
)
@pytest.mark.parametrize(
    ("groups", "found"),
    [
        ([{"tags": ["open"]}], {COPY, OATH}),
        ([{"tags": ["open"], "match": "any"}], {COPY, OATH, HABIT}),
        ([{"tags": ["open"]}, {"tags": ["desk:south"]}], {COPY}),
        ([{"and": [{"tags": ["open"]}, {"not": {"tags": ["desk:south"]}}]}], {OATH}),
        ([{"or": [{"tags": ["desk:north"]}, {"tags": [], "match": "exact"}]}], {BOOK, HABIT}),
        ([{"tags": ["desk:souths"], "resolve": "fuzzy"}], {COPY}),
        ([{"tags": ["desk:souths"]}], set()),
        ([{"not": {"tags": ["OPEN"], "resolve": "fuzzy"}}], {BOOK, HABIT}),
    ],
)
def test_tag_groups(shelf: Api, groups: list[Any], found: set[str]) -> None:
    body = ask(shelf, tag_groups=groups, include={"chunks": {}}, trace=True)
    assert set(texts(body)) == found
    assert len(body["chunks"]) == len(found)
    assert body["trace"]["hidden"] == {"tags": 4 - len(found)}


def test_limits_of_fuzzy_tags_are_422(shelf: Api) -> None:
    answer = shelf.recall(BANK, "atlas", tag_groups=[{"tags": [f"t{n}" for n in range(40)], "resolve": "fuzzy"}])
    assert answer.status == 422
    assert answer.body["detail"][0]["loc"] == ["body", "tag_groups"]


@shows("RecallRequest.min_scores", *(f"MinScores.{name}" for name in ("semantic", "keyword", "reranker", "final")))
@pytest.mark.parametrize("stage", ["semantic", "keyword", "reranker", "final"])
def test_min_scores(shelf: Api, stage: str) -> None:
    plain = ask(shelf)["results"]
    floor = sorted(result["scores"][stage] for result in plain)[2]
    kept = ask(shelf, min_scores={stage: floor})["results"]
    assert {result["scores"][stage] for result in kept if result["scores"][stage] is not None} == {
        result["scores"][stage] for result in plain if result["scores"][stage] >= floor
    }, "floors are inclusive"
    if stage in ("reranker", "final"):
        clearing = [result for result in plain if result["scores"][stage] >= floor]
        assert 0 < len(kept) == len(clearing) < 4, "they hold for every result"
    else:
        assert len(kept) == 4, "they bound only what their own arm brings"


@shows(
    *("RecallRequest.include", "IncludeOptions.entities", "EntityIncludeOptions.max_tokens"),
    *(
        "RecallResponse.entities",
        *(f"EntityStateResponse.{n}" for n in ("entity_id", "canonical_name", "observations")),
    ),
    *("EntityObservationResponse.text", "EntityObservationResponse.mentioned_at"),
)
def test_include_entities(shelf: Api) -> None:
    body = ask(shelf, "reserved for Dora", max_tokens=18)
    assert texts(body) == [OATH]
    lisbon = body["entities"]["Lisbon"]
    assert lisbon["canonical_name"] == "Lisbon"
    assert shelf.bank("GET", BANK, f"/entities/{lisbon['entity_id']}").body["canonical_name"] == "Lisbon"
    assert lisbon["observations"][0]["text"] == HABIT
    assert lisbon["observations"][1]["mentioned_at"].startswith("2025-06-01T10:00")
    assert ask(shelf, include={"entities": None})["entities"] is None
    assert ask(shelf, include={"entities": {"max_tokens": 0}})["entities"] == {}
    assert ask(shelf, include={})["entities"], "they come by themselves"
    tight = ask(shelf, "reserved for Dora", max_tokens=18, include={"entities": {"max_tokens": 4}})["entities"]
    assert tight
    assert not any(entity["observations"] for entity in tight.values())


@shows(
    *("IncludeOptions.chunks", "ChunkIncludeOptions.max_tokens", "RecallResponse.chunks"),
    *(f"ChunkData.{name}" for name in ("id", "text", "chunk_index", "truncated")),
)
def test_include_chunks(shelf: Api) -> None:
    body = ask(shelf, include={"chunks": {}})
    by_text = {result["text"]: result["chunk_id"] for result in body["results"]}
    assert body["chunks"][by_text[BOOK]] == {
        "id": by_text[BOOK],
        "text": BOOK,
        "chunk_index": 0,
        "truncated": False,
        "attachments": None,
    }
    assert list(body["chunks"]) == [result["chunk_id"] for result in body["results"]]
    (cut,) = ask(shelf, include={"chunks": {"max_tokens": 5}})["chunks"].values()
    assert cut["truncated"] is True
    assert 0 < Analyzer().count_tokens(cut["text"]) <= 5
    assert ask(shelf)["chunks"] is None
    assert ask(shelf, include={"chunks": {"max_tokens": 0}})["chunks"] == {}


def test_the_index_of_a_chunk_counts_inside_its_document(api: Any, bank: str) -> None:
    text = "\n".join(f"Ann: I counted the canoe number {number} on the long river." for number in range(200))
    api.retain(bank, {"content": text, "document_id": "d"})
    chunks = api.recall(bank, "canoe number 190 river", include={"chunks": {}}).body["chunks"].values()
    assert max(chunk["chunk_index"] for chunk in chunks) > 0


@shows(
    *("IncludeOptions.source_facts", "RecallResponse.source_facts", "RecallResponse.source_facts_truncated"),
    *("SourceFactsIncludeOptions.max_tokens", "SourceFactsIncludeOptions.max_tokens_per_observation"),
)
def test_include_source_facts(shelf: Api) -> None:
    def sources(**options: Any) -> tuple[set[str], bool | None]:
        body = ask(shelf, types=["observation"], include={"source_facts": options}, **hidden)
        assert all(key == source["id"] for key, source in body["source_facts"].items())
        return {source["text"] for source in body["source_facts"].values()}, body["source_facts_truncated"]

    hidden: dict[str, Any] = {}
    assert sources() == ({BOOK, COPY}, False)
    assert sources(max_tokens=-1, max_tokens_per_observation=-1) == ({BOOK, COPY}, False)
    assert sources(max_tokens=15) == ({BOOK}, True)
    assert sources(max_tokens_per_observation=15) == ({BOOK}, True)
    hidden = {"tags": ["desk:north"]}
    assert sources() == ({BOOK}, False), "what the tags hide proves nothing either"
    without = ask(shelf, types=["observation"])
    assert (without["source_facts"], without["source_facts_truncated"]) == (None, None)


def test_settings_of_the_bank_count_where_the_request_is_silent(api: Any, bank: str) -> None:
    api.retain(bank, *(f"Ann noted the number {n} of the canoe." for n in range(20)))
    api.bank("PATCH", bank, "/config", {"updates": {"recall_max_tokens": 60, "recall_include_chunks": True}})
    config = api.bank("GET", bank, "/config").body
    assert config["not_applied"] == []
    silent = api.recall(bank, "canoe").body
    assert len(silent["results"]) < 6
    assert silent["truncated"]
    assert silent["chunks"]
    told = api.recall(bank, "canoe", max_tokens=4096, include={"chunks": None}).body
    assert (len(told["results"]), told["chunks"]) == (20, None)


def test_no_field_of_the_contract_is_left_out(contract: dict[str, Any]) -> None:
    schemas = contract["components"]["schemas"]
    wanted = {f"{name}.{field}" for name in SCHEMAS for field in schemas[name]["properties"]}
    assert wanted - SHOWN == ALWAYS_NULL
    assert wanted >= SHOWN
