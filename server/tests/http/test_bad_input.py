"""What is refused, how, and what odd input is taken."""

from __future__ import annotations

import gzip
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest

from hindsight_server.http.app import all_handlers
from hindsight_server.http.wire.operations import OPERATIONS

REQUIRED = {"search_knowledge_base": "?q=anything"}  # what a request must have to be about its bank at all
READS = [
    (method, path + REQUIRED.get(operation_id, ""))
    for method, path, operation_id, _ in OPERATIONS
    if operation_id in all_handlers() and "{bank_id}" in path and method in ("GET", "DELETE")
]


@pytest.mark.parametrize(("method", "path"), READS)
def test_an_unknown_bank_is_404_on_every_read_and_deletion(api: Any, method: str, path: str) -> None:
    for name in ("memory_id", "document_id", "entity_id", "operation_id"):
        path = path.replace(f"{{{name}}}", str(uuid4()))
    answer = api(method, path.replace("{bank_id}", "nobody-s-bank"))
    assert answer.status == 404, answer.body
    assert "nobody-s-bank" in answer.body["detail"]


def test_an_unknown_bank_is_404_on_recall_and_on_updates(api: Any, bank: str) -> None:
    assert api.recall(bank, "anything").status == 404
    assert api.bank("PATCH", bank, "", {"name": "x"}).status == 404
    assert api.bank("PATCH", bank, "/config", {"updates": {}}).status == 404
    assert api.bank("GET", bank, "/stats").status == 404


def test_an_unknown_thing_in_a_known_bank_is_404(api: Any, bank: str) -> None:
    api.bank("PUT", bank, "", {})
    for path in ("memories/x", "documents/x", "documents/x/chunks", "entities/x"):
        assert api.bank("GET", bank, f"/{path}").status == 404, path
    for method, path in (("DELETE", "documents/x"), ("DELETE", "operations/x"), ("POST", "operations/x/retry")):
        assert api.bank(method, bank, f"/{path}").status == 404, path
    assert api("GET", "/v1/default/chunks/x").status == 404


@pytest.mark.parametrize("query", ["", "   ", "\u0000", "?!…"])
def test_a_blank_query_is_422(api: Any, bank: str, query: str) -> None:
    api.bank("PUT", bank, "", {})
    answer = api.recall(bank, query)
    assert answer.status == 422, answer.body
    assert answer.body["detail"][0]["loc"] == ["body", "query"]
    assert api.bank("POST", bank, "/reflect", {"query": "  "}).status == 422


@pytest.mark.parametrize(
    ("content", "place", "told"),
    [
        ([{"type": "image", "source": {"type": "url", "url": "http://x/"}}], [0, "source"], "The bytes come inline"),
        ([{"type": "file", "source": {"type": "blob_id", "data": 3}}], [0, "source"], "The bytes come inline"),
        ([{"type": "text", "text": "a"}, {"type": "image"}], [1, "source"], "Field required"),
        ([{"type": "image", "source": {"media_type": "image/png"}}], [0, "source", "data"], "Field required"),
        ([{"type": "file", "source": {"media_type": "a/b", "data": "AA=="}, "filename": 3}], [0, "filename"], "string"),
        ([{"type": "text"}], [0, "text"], "Field required"),
        ([{"type": "video"}], [0], "'text', 'image' or 'file'"),
        ([{"type": ["text"]}], [0], "'text', 'image' or 'file'"),
        (["Ann: hello."], [0], "'text', 'image' or 'file'"),
        (5, [], "a text or a list of blocks"),
        ({"type": "text", "text": "a"}, [], "a text or a list of blocks"),
    ],
)
def test_one_sentence_tells_what_is_wrong_with_a_block(
    api: Any, bank: str, content: Any, place: list[Any], told: str
) -> None:
    for path, body, before in (
        ("/memories", {"items": [{"content": "Ann: fine."}, {"content": content}]}, ["items", 1]),
        ("/memories/dry-run-extract", {"content": content}, []),
    ):
        answer = api.bank("POST", bank, path, body)
        assert answer.status == 422
        (row,) = answer.body["detail"]
        assert row["loc"] == ["body", *before, "content", *place]
        assert told in row["msg"]


def test_a_field_of_metadata_that_is_named_content_is_no_content(api: Any, bank: str) -> None:
    answer = api.retain(bank, {"content": "Ann: fine.", "metadata": {"content": ["a"]}})
    assert answer.status == 422
    assert all(row["loc"][:5] == ["body", "items", 0, "metadata", "content"] for row in answer.body["detail"])
    assert "blocks" not in str(answer.body)


@pytest.mark.parametrize("content", ["", "  \n", "\u0000"])
def test_blank_content_is_422_and_names_the_item(api: Any, bank: str, content: str) -> None:
    answer = api.retain(bank, "Ann: fine.", content)
    assert answer.status == 422
    assert answer.body["detail"][0]["loc"] == ["body", "items", 1, "content"]
    assert api.bank("GET", bank, "/memories/list").status == 404, "nothing of a refused request is stored"


def test_no_items_are_422(api: Any, bank: str) -> None:
    assert api.retain(bank).status == 422


@pytest.mark.parametrize(
    "text",
    [
        "Ann: nul \u0000 inside the word canoe",
        "Ann: a lone surrogate \ud800 next to canoe",
        "Ann: canoe 🛶 — «quotes» ' \" \\ % _ * ? : ; ( ) [ ] { } < > | & ^ ~ ` $ # @ !",
        "Ann: canoe 独木舟 каноэ เรือแคนู 카누 קאנו",
        "Ann: canoe" + " word" * 200_000,
    ],
    ids=["nul", "surrogate", "punctuation", "scripts", "megabyte"],
)
def test_odd_text_is_stored_and_found(api: Any, bank: str, text: str) -> None:
    stored = api.retain(bank, text)
    assert stored.status == 200, stored.body
    assert any("canoe" in result["text"] for result in api.recall(bank, "Ann canoe").body["results"])


@pytest.mark.parametrize(
    "query", ['it\'s "canoe"', "canoe > 5 OR 1=1; --", "canoe*", "(canoe", "独木舟 canoe", "canoe " * 3000]
)
def test_no_query_has_a_syntax_that_can_break(api: Any, bank: str, query: str) -> None:
    api.retain(bank, "Ann: I bought a canoe.")
    answer = api.recall(bank, query)
    assert answer.status == 200, answer.body
    assert answer.body["results"]


def test_ten_thousand_items_are_stored_whole(api: Any, bank: str) -> None:
    answer = api.retain(bank, *[f"Ann noted the number {index}." for index in range(10_000)])
    assert answer.status == 200, answer.body
    assert api.bank("GET", bank, "/documents?limit=1").body["total"] == 10_000


def test_more_items_than_a_request_may_hold_are_refused_with_the_reason(api: Any, bank: str) -> None:
    answer = api.retain(bank, *(["x y z"] * 10_001))
    assert answer.status == 422
    assert "10000" in str(answer.body["detail"]).replace(",", "")


@pytest.mark.parametrize(
    "bank_id",
    ["a/b", " b/ x ", "emoji 🕯️", "银行", "a%2Fb", "..", "a?b#c", "a+b&c=d", "list", "x/memories/recall", "quote\"'"],
)
def test_any_bank_id_is_one_bank(api: Any, bank_id: str) -> None:
    unique = f"{bank_id}{uuid4().hex[:6]}"
    assert api.retain(unique, "Ann: I bought a canoe.").body["bank_id"] == unique
    assert "canoe" in api.recall(unique, "canoe").body["results"][0]["text"]
    assert api.bank("GET", unique, "/config").body["bank_id"] == unique
    chunk = api.bank("GET", unique, "/memories/list").body["items"][0]["chunk_id"]
    assert api("GET", f"/v1/default/chunks/{chunk}").body["bank_id"] == unique
    assert api.bank("DELETE", unique).status == 200
    assert api.recall(unique, "canoe").status == 404


def test_ids_of_documents_may_hold_slashes(api: Any, bank: str) -> None:
    api.retain(bank, {"content": "Ann: I bought a canoe.", "document_id": "docs/a b.md"})
    assert api.bank("GET", bank, "/documents/docs%2Fa%20b.md").body["id"] == "docs/a b.md"
    assert api.bank("GET", bank, "/documents/docs/a%20b.md").status == 404


def test_banks_whose_ids_differ_in_encoding_are_not_confused(api: Any, bank: str) -> None:
    api.retain(f"{bank}/x", "Ann: I bought a canoe.")
    assert api.recall(f"{bank}%2Fx", "canoe").status == 404
    assert api("POST", f"/v1/default/banks/{bank}/x/memories/recall", {"query": "canoe"}).status == 404, (
        "a slash that is not encoded ends the id"
    )


def test_a_body_of_any_content_type_is_read_as_json(api: Any, bank: str) -> None:
    body = b'{"items": [{"content": "Ann: I bought a canoe."}]}'
    for kind in ("text/plain", "application/octet-stream", "application/json; charset=utf-8"):
        answer = api("POST", f"/v1/default/banks/{bank}/memories", body, {"content-type": kind})
        assert answer.status == 200, answer.body


@pytest.mark.parametrize(
    "body",
    [
        {"query": "x", "budget": "huge"},
        {"query": "x", "tags_match": "some"},
        {"query": "x", "max_tokens": "many"},
        {"query": "x", "max_tokens": -1},
        {"query": "x", "include": {"entities": {"max_tokens": -1}}},
        {"query": "x", "include": {"source_facts": {"max_tokens": -2}}},
        {"query": "x", "types": ["nonsense"]},
        {"query": "x", "tags": ["a"], "tag_groups": [{"tags": ["b"]}]},
        {"query": "x", "temporal_window": {"start": "2024-01-01T00:00:00Z"}},
        {"query": "x", "time_filter": {"start": "yesterday"}},
        {"query": "x", "time_filter": {"start": "2024-02-01", "end": "2024-01-01"}},
        {},
        [],
        "x",
    ],
)
def test_a_bad_recall_is_422_with_the_field(api: Any, bank: str, body: Any) -> None:
    api.bank("PUT", bank, "", {})
    answer = api.bank("POST", bank, "/memories/recall", body)
    assert answer.status == 422, answer.body
    assert answer.body["detail"][0]["loc"][0] == "body"
    assert answer.body["detail"][0]["msg"]


@pytest.mark.parametrize("body", [{"query_timestamp": "soon"}, {"min_scores": {"reranker": 0.5}}])
def test_what_this_configuration_cannot_do_is_400(api: Any, bank: str, body: dict[str, Any]) -> None:
    api.retain(bank, "Ann: I bought a canoe.")
    answer = api.recall(bank, "canoe", budget="low", **body)
    assert answer.status == 400, answer.body


def test_bad_listings_are_422(api: Any, bank: str) -> None:
    api.bank("PUT", bank, "", {})
    for query in ("limit=-1", "limit=x", "type=nonsense", "state=gone", "tags_match=some", "start_date=soon"):
        answer = api.bank("GET", bank, f"/memories/list?{query}")
        assert answer.status == 422, (query, answer.body)
    assert api.bank("GET", bank, "/operations?limit=101").status == 422
    assert api.bank("GET", bank, "/memories/list?unknown=1&limit=1").status == 200


def test_bad_settings_are_422_by_name(api: Any, bank: str) -> None:
    api.bank("PUT", bank, "", {})
    for updates in ({"nonsense": 1}, {"retain_chunk_size": "big"}, {"retain_extraction_mode": "custom"}):
        answer = api.bank("PATCH", bank, "/config", {"updates": updates})
        assert answer.status == 422, answer.body
        assert next(iter(updates)) in answer.body["detail"][0]["loc"]


@pytest.mark.feature("R5")
def test_an_operation_id_of_something_else_is_409(api: Any, bank: str) -> None:
    operation = str(uuid4())
    first = api.retain(bank, "Ann: I bought a canoe.", operation_id=operation)
    again = api.retain(bank, "Ann: I bought a canoe.", operation_id=operation)
    assert (first.status, again.status) == (200, 200)
    assert api.bank("GET", bank, "/memories/list").body["total"] == 1
    assert api.retain(bank, "Ann: I sold it.", operation_id=operation).status == 409
    assert api.retain(bank, "x y", operation_id="no uuid").status == 422


def test_an_unknown_path_is_404_and_a_wrong_method_405(api: Any) -> None:
    assert api("GET", "/v1/nothing").body == {"detail": "Not Found"}
    assert api("PUT", "/health").status == 405


HUGE = (2**63, 10**30)


@pytest.mark.parametrize("listing", ["memories/list", "documents", "entities", "tags", "operations"])
def test_numbers_that_no_database_holds_are_422_in_every_listing(api: Any, bank: str, listing: str) -> None:
    api.retain(bank, "Ann: I bought a canoe.")
    for name in ("limit", "offset"):
        for value in (-1, *HUGE):
            answer = api.bank("GET", bank, f"/{listing}?{name}={value}")
            assert answer.status == 422, answer.body
            assert answer.body["detail"][0]["loc"] == ["query", name]
    beyond = api.bank("GET", bank, f"/{listing}?offset={2**63 - 1}")
    assert beyond.status == 200
    assert beyond.body["total"] == api.bank("GET", bank, f"/{listing}").body["total"]


def test_numbers_that_no_database_holds_are_422_for_banks_and_chunks(api: Any, bank: str) -> None:
    api.retain(bank, {"content": "Ann: I bought a canoe.", "document_id": "d"})
    for value in HUGE:
        assert api("GET", f"/v1/default/banks?limit={value}").status == 422
        assert api.bank("GET", bank, f"/documents/d/chunks?offset={value}").status == 422


def test_a_refused_parameter_is_named_where_it_stands(api: Any, bank: str) -> None:
    api.bank("PUT", bank, "", {})
    listed = api.bank("GET", bank, "/memories/list?start_date=soon")
    assert listed.body["detail"][0]["loc"] == ["query", "start_date"]
    assert api.bank("GET", bank, "/operations?exclude_parents=perhaps").status == 422
    named = api("PUT", "/v1/default/banks/%20", {})
    assert named.body["detail"][0]["loc"] == ["path", "bank_id"]


def test_reflect_refuses_a_negative_length(api: Any, bank: str) -> None:
    answer = api.bank("POST", bank, "/reflect", {"query": "Where is Ann?", "max_tokens": -1})
    assert answer.status == 422
    assert answer.body["detail"][0]["loc"] == ["body", "max_tokens"]


@pytest.mark.parametrize(
    ("method", "path", "instead"),
    [
        ("GET", "/profile", "/config"),
        ("PUT", "/profile", "/config"),
        ("POST", "/background", "/config"),
        ("GET", "/document-transfer", "/document-transfer/export"),
    ],
)
def test_a_retired_operation_is_410_and_names_what_took_its_place(
    api: Any, bank: str, method: str, path: str, instead: str
) -> None:
    answer = api.bank(method, bank, path, {} if method != "GET" else None)
    assert answer.status == 410
    assert instead in answer.body["detail"]


@pytest.mark.parametrize("document_id", ["a\ud800b", "a\x00b"])
def test_an_id_is_never_altered(api: Any, bank: str, document_id: str) -> None:
    answer = api.retain(bank, {"content": "Ann: I bought a canoe.", "document_id": document_id})
    assert answer.status == 422
    assert answer.body["detail"][0]["loc"] == ["body", "items", 0, "document_id"]


def test_what_was_ignored_is_named_in_a_header(api: Any, bank: str) -> None:
    stored = api.bank(
        "POST", bank, "/memories", {"items": [{"content": "Ann: I bought a canoe.", "contxt": "x"}], "asynch": True}
    )
    assert stored.status == 200
    assert stored.headers["x-hindsight-ignored"] == "items[0].contxt, asynch"
    found = api.recall(bank, "canoe", include={"chunk": {}}, max_token=5)
    assert set(found.headers["x-hindsight-ignored"].split(", ")) == {"include.chunk", "max_token"}
    listed = api.bank("GET", bank, "/memories/list?tag=a&limit=1&bank_id=x&a%0Ab=1")
    assert listed.headers["x-hindsight-ignored"] == "tag, bank_id, a%0Ab"
    assert "x-hindsight-ignored" not in api.recall(bank, "canoe", tag_groups=[{"tags": ["a"]}]).headers


def test_a_compressed_body_is_refused_with_the_reason(api: Any, bank: str) -> None:
    body = gzip.compress(b'{"items": [{"content": "Ann: hello."}]}')
    answer = api("POST", f"/v1/default/banks/{bank}/memories", body, {"content-encoding": "gzip"})
    assert answer.status == 415
    assert "compressed" in answer.body["detail"]


def test_a_client_that_sends_too_much_at_once_still_sees_why(api: Any, bank: str) -> None:
    answer = api("POST", f"/v1/default/banks/{bank}/memories", b" " * (65 * 2**20))
    assert answer.status == 413
    assert "several requests" in answer.body["detail"]


def test_a_span_ends_before_its_end_in_every_time_zone(api: Any, bank: str) -> None:
    api.retain(bank, *[{"content": f"Ann: hour {h}.", "timestamp": f"2025-07-25T{h:02}:00:00Z"} for h in range(4)])

    def found(start: str, end: str) -> list[str]:
        span = f"time_field=mentioned_at&start_date={quote(start)}&end_date={quote(end)}"
        return [item["text"] for item in api.bank("GET", bank, f"/memories/list?{span}").body["items"]]

    assert found("2025-07-25T01:00:00Z", "2025-07-25T03:00:00Z") == ["Ann: hour 2.", "Ann: hour 1."]
    assert found("2025-07-25T02:00:00+02:00", "2025-07-25T03:00:00+02:00") == ["Ann: hour 0."]
    assert found("2025-07-24T18:00:00-07:00", "2025-07-24T19:00:00-07:00") == ["Ann: hour 1."]
    assert found("2025-07-24", "2025-07-25") == []
    assert len(found("2025-07-25", "2025-07-26")) == 4
    assert api.bank("GET", bank, "/memories/list?end_date=0001-01-01").status == 422
    made = api.bank("GET", bank, "/documents?limit=1").body["items"][0]["created_at"]
    assert api.bank("GET", bank, f"/documents?end_date={quote(made)}").body["total"] == 0
    assert api.bank("GET", bank, f"/documents?start_date={quote(made)}").body["total"] == 4
