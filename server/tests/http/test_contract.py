"""Every operation that is served answers as the contract says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from hindsight_server.http.app import all_handlers
from hindsight_server.http.extensions import EXTENSIONS
from hindsight_server.http.routes import RETIRED
from hindsight_server.http.wire.operations import OPERATIONS

Conforms = Callable[[str, Any], None]
TABLE = {operation_id: (method, path) for method, path, operation_id, _ in OPERATIONS}
OURS = {operation_id: (method, path) for method, path, operation_id, _ in EXTENSIONS}


class Walk:
    """Calls operations by their id in one bank, checks each answer, and remembers which were called."""

    def __init__(self, api: Any, conforms: Conforms, bank: str) -> None:
        self.api, self.conforms, self.bank = api, conforms, bank
        self.called: set[str] = set()

    def __call__(self, name: str, /, body: Any = None, query: str = "", **names: str) -> Any:
        method, path = (TABLE | OURS)[name]
        for key, value in {"bank_id": self.bank, **names}.items():
            path = path.replace(f"{{{key}}}", value)
        uploads = isinstance(body, bytes)
        answer = self.api.upload(path + query, body) if uploads else self.api(method, path + query, body)
        if name in TABLE:
            self.conforms(name, answer)
        assert answer.status < 400, (name, answer.body)
        self.called.add(name)
        return answer.body


ITEMS = [
    {
        "content": "Ann: I moved to Oslo in March 2024.\nBen: I still live in Lisbon with Carla.",
        "timestamp": "2024-05-01T10:00:00+02:00",
        "context": "a talk",
        "document_id": "talk",
        "metadata": {"origin": "chat", "dropped": None},
        "tags": ["user:ann"],
        "entities": [{"text": "Oslo", "type": "PLACE"}],
    },
    {"content": "The invoice INV-2024-17 was paid by Carla."},
]


@pytest.mark.feature("R1")
@pytest.mark.feature("S5")
def test_every_served_operation_answers_as_documented(api: Any, conforms: Conforms, bank: str) -> None:
    walk = Walk(api, conforms, bank)
    _walk_health(walk)
    _walk_banks(walk)
    _walk_memories(walk)
    _walk_directives(walk)
    _walk_webhooks(walk)
    _walk_observations(walk)
    _walk_documents(walk)
    _walk_operations(walk)
    _walk_files(walk)
    _walk_transfers(walk)
    _walk_mental_models(walk)
    _walk_knowledge(walk)
    _walk_forgetting(walk)
    _walk_language(walk)
    assert walk("list_security_events", query="?action=block")["items"] == []
    walk("clear_bank_memories", query="?type=world")
    walk("delete_bank")
    assert set(all_handlers()) - walk.called == set()


def _walk_health(walk: Walk) -> None:
    for name in ("health_endpoint_health_get", "get_liveness", "get_readiness", "get_version"):
        walk(name)
    assert "hindsight_http_requests_total" in walk("metrics_endpoint_metrics_get")


def _walk_banks(walk: Walk) -> None:
    made = walk("create_or_update_bank", {"name": "Ann's", "mission": "Help Ann", "disposition_empathy": 5})
    assert made["name"] == "Ann's"
    assert made["disposition"]["empathy"] == 5
    changed = walk("update_bank", {"disposition": {"skepticism": 2, "literalism": 4, "empathy": 1}})
    assert changed["disposition"] == {"skepticism": 2, "literalism": 4, "empathy": 1}
    assert walk.bank in [row["bank_id"] for row in walk("list_banks", query=f"?q={walk.bank}&limit=5")["banks"]]
    walk("get_bank_config")
    changed = walk("update_bank_config", {"updates": {"retain_chunk_size": 2000}})
    assert changed["overrides"]["retain_chunk_size"] == 2000
    assert walk("reset_bank_config")["overrides"] == {}


def _walk_memories(walk: Walk) -> None:
    stored = walk("retain_memories", {"items": ITEMS, "async": False})
    assert stored["items_count"] == 2
    include = {"entities": {"max_tokens": 500}, "chunks": {"max_tokens": 500}, "source_facts": {"max_tokens": 500}}
    found = walk("recall_memories", {"query": "Where did Ann move?", "trace": True, "include": include})
    assert "Oslo" in found["results"][0]["text"]
    assert found["results"][0]["chunk_id"] in found["chunks"]
    assert found["entities"]
    assert found["trace"]["arms"]
    previewed = walk("dry_run_extract_memories", {"content": "Ann: I moved on 5 May 2024.", "retain_chunk_size": 400})
    assert [fact["occurred_start"][:10] for fact in previewed["facts"]] == ["2024-05-05"]
    assert [node["data"]["id"] for node in walk("get_graph", query="?limit=1")["nodes"]]
    answer = walk("reflect", {"query": "Where did Ann move?", "include": {"facts": {}, "tool_calls": {}}})
    assert answer["based_on"]["memories"]
    assert answer["trace"]["tool_calls"]
    listed = walk("list_memories", query="?limit=50&tags=user:ann&tags_match=any_strict")
    assert listed["total"] >= 2
    one = listed["items"][0]["id"]
    assert walk("get_memory", memory_id=one)["id"] == one
    retired = walk("update_memory", {"state": "invalidated", "reason": "a joke"}, memory_id=one)
    assert (retired["state"], retired["invalidation_reason"]) == ("invalidated", "a joke")
    assert retired["invalidated_at"]
    assert walk("list_tags", query="?q=user:*")["items"][0]["tag"] == "user:ann"
    _walk_entities(walk)
    assert walk("get_agent_stats")["total_documents"] == 2


def _walk_entities(walk: Walk) -> None:
    by_name = {one["canonical_name"]: one["id"] for one in walk("list_entities")["items"]}
    ann, ben = by_name["Ann"], by_name["Ben"]
    assert walk("get_entity", entity_id=ann)["id"] == ann
    assert walk("regenerate_entity_observations", entity_id=ann)["canonical_name"] == "Ann"
    assert walk("get_entity_graph", query="?limit=5&min_count=1")["edges"][0]["data"]["weight"] >= 1
    assert walk("add_entity_alias", {"name": "Annie"}, entity_id=ann)["aliases"] == ["Annie"]
    assert walk("update_entity", {"canonical_name": "Ann Lee"}, entity_id=ann)["canonical_name"] == "Ann Lee"
    assert walk("remove_entity_alias", entity_id=ann, alias="Annie")["aliases"] == ["Ann"]
    merged = walk("merge_entities", {"entity_ids": [ben]}, entity_id=ann)
    assert (merged["canonical_name"], set(merged["aliases"])) == ("Ann Lee", {"Ann", "Ben"})
    parts = walk("split_entity", {"names": ["Ben"]}, entity_id=ann)["items"]
    assert [part["canonical_name"] for part in parts] == ["Ann Lee", "Ben"]


def _walk_directives(walk: Walk) -> None:
    made = walk("create_directive", {"name": "tone", "content": "Be brief.", "tags": ["user:ann"]})
    assert walk("get_directive", directive_id=made["id"]) == made
    changed = walk("update_directive", {"priority": 3, "is_active": False}, directive_id=made["id"])
    assert (changed["priority"], changed["content"]) == (3, "Be brief.")
    assert walk("list_directives")["total"] == 0
    assert walk("list_directives", query="?active_only=false&tags=user:ann")["items"] == [changed]
    walk("delete_directive", directive_id=made["id"])


def _walk_webhooks(walk: Walk) -> None:
    made = walk("create_webhook", {"url": "https://hooks.example/x", "event_types": ["memory_defense.triggered"]})
    assert walk("update_webhook", {"enabled": False}, webhook_id=made["id"])["enabled"] is False
    assert walk("list_webhooks")["total"] == 1
    assert walk("list_webhook_deliveries", webhook_id=made["id"])["items"] == []
    assert walk("delete_webhook", webhook_id=made["id"])["deleted_count"] == 1


def _walk_observations(walk: Walk) -> None:
    asked = walk("trigger_consolidation", {"observation_scopes": [["user:ann"]]})
    assert asked["operation_id"]
    one = walk("list_memories", query="?limit=1")["items"][0]["id"]
    assert walk("get_observation_history", memory_id=one) == []
    assert walk("clear_memory_observations", memory_id=one) == {"deleted_count": 0}
    assert walk("list_observation_scopes")["total"] == 0
    assert walk("recover_consolidation") == {"retried_count": 0}
    strategies = [{"scopes": [{"tags": ["user:*"]}], "max_observations_per_scope": 5}]
    assert walk("preview_consolidation_strategies", {"strategies": strategies})["strategies"][0]["active"] is True
    assert walk("clear_observations")["deleted_count"] == 0


def _walk_language(walk: Walk) -> None:
    assert {row["status"] for row in walk("test_bank_llm")["operations"]} == {"not_configured"}
    assert walk("list_llm_requests", query="?group=true&call_type=llm")["items"] == []
    assert walk("llm_request_stats", query="?period=30d")["trunc"] == "day"


def _walk_mental_models(walk: Walk) -> None:
    wanted = {"id": "home", "name": "Home", "source_query": "Where did Ann move?", "trigger": {"keep_trace": True}}
    made = walk("create_mental_model", wanted)
    _wait(walk, made["operation_id"])
    model = walk("get_mental_model", mental_model_id="home")
    assert model["reflect_response"]["based_on"]
    assert model["reflect_response"]["trace"]["outcome"] == "content_written"
    listed = walk("list_mental_models", query="?detail=content&limit=1000&exclude_knowledge_pages=true")
    assert [one["content"] for one in listed["items"]] == [model["content"]]
    changed = walk("update_mental_model", {"name": "Ann's home", "trigger": {"mode": "delta"}}, mental_model_id="home")
    assert (changed["name"], changed["trigger"]["keep_trace"]) == ("Ann's home", True)
    assert walk("dry_run_refresh_mental_model", mental_model_id="home")["current_content"] == model["content"]
    done = _wait(walk, walk("refresh_mental_model", {"mode": "full"}, mental_model_id="home")["operation_id"])
    assert (done["mental_model_id"], done["details"]["failure_reason"]) == ("home", None)
    assert walk("clear_mental_model", mental_model_id="home")["content"] == ""
    assert walk("get_mental_model_history", mental_model_id="home")[0]["previous_content"] == model["content"]
    walk("delete_mental_model", mental_model_id="home")


def _walk_knowledge(walk: Walk) -> None:
    folder = walk("create_knowledge_folder", {"name": "People"})["id"]
    page = {"name": "Carla", "source_query": "What did Carla pay?", "parent_id": folder, "tags": ["type:person"]}
    made = walk("create_knowledge_page", page)
    assert any("filter of sources" in warning for warning in made["warnings"])
    _wait(walk, made["operation_id"])
    name = made["page_id"]
    walk("update_knowledge_node", {"tags": [], "trigger": {"fact_types": None}, "parent_id": None}, node_id=name)
    shown = walk("get_knowledge_page", page_id=name)
    assert shown["markdown"].startswith("---\nid: ")
    roots = walk("get_knowledge_base_tree", query="?tags=user:nobody&tags_match=any")["roots"]
    assert [node["id"] for node in roots] == [name]
    assert walk("search_knowledge_base", query="?q=Carla")["results"][0]["score"] <= 1
    paths = [file["path"] for file in walk("export_knowledge_base")["files"]]
    assert paths == ["index.md", f"{name}.md", f"log/{name}.md"]
    for node in (name, folder):
        walk("delete_knowledge_node", node_id=node)


def _walk_documents(walk: Walk) -> None:
    assert walk("list_documents", query="?q=talk")["items"][0]["id"] == "talk"
    assert walk("get_document", document_id="talk")["document_metadata"]["origin"] == "chat"
    chunk = walk("list_document_chunks", document_id="talk")["items"][0]
    assert walk("get_chunk", chunk_id=chunk["chunk_id"])["chunk_text"] == chunk["chunk_text"]
    walk("update_document", {"tags": ["user:ann", "moved"]}, document_id="talk")
    assert walk("get_document", document_id="talk")["tags"] == ["user:ann", "moved"]


def _walk_operations(walk: Walk) -> None:
    operation = walk("reprocess_document", document_id="talk")["operation_id"]
    _wait(walk, operation)
    walk("delete_operation", operation_id=operation)
    queued = walk("retain_memories", {"items": [{"content": "Ann: I bought a canoe."}], "async": True})["operation_id"]
    assert queued in [row["id"] for row in walk("list_operations", query="?limit=10")["operations"]]
    _wait(walk, queued)
    assert walk("get_operation_status", query="?include_payload=true", operation_id=queued)["id"] == queued
    assert walk("get_operation_status", operation_id=str(uuid4()))["status"] == "not_found"
    # A finished one can't be cancelled or retried; what those answer is checked where they are refused.
    for name in ("cancel_operation", "retry_operation"):
        method, path = TABLE[name]
        path = path.replace("{bank_id}", walk.bank).replace("{operation_id}", queued)
        assert walk.api(method, path).status == 409
        walk.called.add(name)
    assert walk("delete_document", document_id="talk")["memory_units_deleted"] >= 1


def _walk_transfers(walk: Walk) -> None:
    for name in ("export_documents", "export_bank_transfer"):
        finished = _wait(walk, walk(name)["operation_id"])
        key = finished["result_metadata"]["storage_key"]
        assert finished["result_metadata"]["download_url"] == f"/v1/default/files/download/{key}"
        archive = walk("download_file", key=key)
        assert archive[:2] == b"PK"
    _wait(walk, walk("import_documents", archive, query="?on_conflict=replace")["operation_id"])
    copy = f"{walk.bank}-copy"
    _wait(walk, walk("import_bank_transfer", archive, query=f"?target_bank_id={copy}")["operation_id"])
    _wait(walk, walk("clone_bank", query=f"?target_bank_id={copy}-2")["operation_id"])
    assert walk("get_bank_template_schema")["properties"]["version"] == {"const": "1"}
    manifest = walk("export_bank_template")
    assert walk("import_bank_template", manifest, query="?dry_run=true")["dry_run"]


def _walk_files(walk: Walk) -> None:
    path = f"/v1/default/banks/{walk.bank}/files/retain"
    form = b'--x\r\ncontent-disposition: form-data; name="files"; filename="a.txt"\r\n\r\nAnn likes figs.\r\n--x--\r\n'
    answer = walk.api("POST", path, form, {"content-type": "multipart/form-data; boundary=x"})
    walk.conforms("file_retain", answer)
    walk.called.add("file_retain")
    _wait(walk, answer.body["operation_ids"][0])
    sheet = {"type": "base64", "media_type": "text/csv", "data": "bmFtZSxjaXR5CkFubixPc2xv"}
    content = [{"type": "text", "text": "The team:"}, {"type": "file", "source": sheet}]
    walk("retain_memories", {"items": [{"content": content, "document_id": "sheet"}]})
    (held,) = walk("get_document", document_id="sheet")["attachments"]
    assert walk("get_bank_attachment", attachment_id=held["id"]) == "name,city\nAnn,Oslo"
    assert walk("recall_memories", {"query": "city Oslo"})["results"]


def _walk_forgetting(walk: Walk) -> None:
    one, two = (row["id"] for row in walk("list_memories")["items"][:2])
    assert walk("forget_memory", memory_id=one)["memories_forgotten"] == 1
    assert walk("forget_memories", {"ids": [two, one]})["missing"] == [one]


def _wait(walk: Walk, operation_id: str) -> Any:
    import time

    for _ in range(200):
        said = walk("get_operation_status", operation_id=operation_id)
        if said["status"] not in ("pending", "processing"):
            break
        time.sleep(0.05)
    assert said["status"] == "completed", said
    return said


@pytest.mark.feature("R7")
def test_a_text_without_facts_is_a_success_and_is_seen(api: Any, bank: str) -> None:
    assert api.retain(bank, {"content": "ok 👍", "document_id": "d"}).status == 200
    listed = api.bank("GET", bank, "/documents").body["items"]
    assert [(row["id"], row["memory_unit_count"]) for row in listed] == [("d", 0)]
    counted = [line for line in api("GET", "/metrics").body.splitlines() if 'outcome="no_facts"' in line]
    assert counted
    assert float(counted[0].split()[-1]) >= 1


def test_the_client_that_reads_the_contract_is_told_every_operation(api: Any) -> None:
    document = api("GET", "/openapi.json").body
    served = {operation["operationId"] for methods in document["paths"].values() for operation in methods.values()}
    assert served == set(all_handlers())
    recall = document["components"]["schemas"]["RecallBody"]["properties"]
    assert "time_filter" in recall
    assert "temporal_window" in recall
    assert api("GET", "/docs").status == 200


def test_paths_and_parameters_are_those_of_the_contract(api: Any, contract: dict[str, Any]) -> None:
    for path, methods in api("GET", "/openapi.json").body["paths"].items():
        for method, operation in methods.items():
            if operation["operationId"] in OURS:
                continue
            theirs = {(row["name"], row["in"]) for row in contract["paths"][path][method].get("parameters", [])}
            ours = {(row["name"], row["in"]) for row in operation.get("parameters", [])}
            # The key is read before routing, and is a matter of every operation.
            assert theirs - ours <= {("authorization", "header")}
            assert ours <= theirs


@pytest.mark.parametrize("operation_id", sorted(set(TABLE) - set(all_handlers()) - set(RETIRED)))
def test_what_is_not_served_says_so(api: Any, operation_id: str) -> None:
    method, path = TABLE[operation_id]
    for name in ("bank_id", "memory_id", "document_id", "entity_id", "operation_id", "chunk_id", "alias", "key"):
        path = path.replace(f"{{{name}}}", "x")
    answer = api(method, path.replace("{", "").replace("}", ""), {} if method in ("POST", "PUT", "PATCH") else None)
    assert answer.status == 501
    assert operation_id in answer.body["detail"]
    assert "not available in this version" in answer.body["detail"]
