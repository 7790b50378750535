"""Archives and forgetting over HTTP: what is refused, and how."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from hindsight_server.testing.process import ServerProcess

from .conftest import Answer, Api


def test_forms_that_hold_no_archive_are_refused(api: Any, bank: str) -> None:
    path = f"/v1/default/banks/{bank}/transfer/import"
    for answer in (
        api("POST", path, {"file": "x"}),
        api("POST", path, b"", {"content-type": "multipart/form-data"}),
        api("POST", path, b"--x\r\nbroken", {"content-type": "multipart/form-data; boundary=x"}),
        api.upload(path, b"PK", field="other"),
        api.upload(path, b"PK no archive"),
        api.upload(f"{path}?mode=copy", b"PK"),
        api.upload(f"{path}?document_conflict=maybe", b"PK"),
        api.upload(f"/v1/default/banks/{bank}/document-transfer?on_conflict=maybe", b"PK"),
    ):
        assert answer.status == 422, answer.body
    assert api.bank("GET", bank, "/stats").status == 404


def test_what_is_not_there_is_told(api: Any, bank: str) -> None:
    assert api("GET", "/v1/default/files/download/..%2F..%2Fmemory.db").status == 404
    assert api("GET", "/v1/default/files/download/x").status == 404
    assert api.bank("POST", bank, "/transfer/export").status == 404
    assert api.bank("POST", bank, "/clone?target_bank_id=y").status == 404
    assert api.bank("POST", bank, "/clone").status == 422
    assert api.bank("GET", bank, "/export").status == 404
    assert api.bank("GET", bank, "/document-transfer").status == 410
    api.retain(bank, "Ann lives in Oslo.")
    assert api.bank("DELETE", bank, "/memories/none").status == 404
    assert api.bank("POST", bank, "/transfer/export?document_id=none").status == 404
    assert api.bank("POST", bank, "/transfer/export?include_data=false&include_bank_config=false").status == 422
    assert api.bank("POST", bank, f"/clone?target_bank_id={bank}").status == 409


def test_ids_in_the_body_of_an_export_are_told_and_a_default_strategy_must_be_there(api: Any, bank: str) -> None:
    api.retain(bank, "Ann lives in Oslo.")
    answer = api.bank("POST", bank, "/document-transfer/export", {"document_ids": ["x"]})
    assert (answer.status, "query parameter document_id" in str(answer.body)) == (422, True), answer.body
    assert api.bank("POST", bank, "/document-transfer/export").status in (200, 202)
    for updates, status in (
        ({"retain_default_strategy": "gone"}, 422),
        ({"retain_default_strategy": "a", "retain_strategies": {"a": {}}}, 200),
        ({"retain_strategies": {"b": {}}}, 422),
        ({"retain_strategies": {"b": {}}, "retain_default_strategy": None}, 200),
    ):
        assert api.bank("PATCH", bank, "/config", {"updates": updates}).status == status, updates


def test_case_a28_a_forget_without_a_filter_is_refused(api: Any, bank: str) -> None:
    """mem0 3928: deleting without a usable filter wiped every user."""
    api.retain(bank, "Ann lives in Oslo.", "Bob lives in Rome.")
    for body in (
        {},
        {"ids": []},
        {"tags": []},
        {"tags_match": "exact"},
        {"dry_run": True},
        {"tags": ["a"], "ids": ["b"]},
    ):
        assert api.bank("POST", bank, "/memories/forget", body).status == 422
    assert api.bank("POST", bank, "/memories/forget", {"tags": ["a"], "tags_match": "any"}).status == 422
    assert api.bank("GET", bank, "/memories/list").body["total"] == 2


@pytest.mark.feature("R17")
def test_a_template_sets_another_bank_up(api: Any, bank: str) -> None:
    manifest = {
        "version": "1",
        "bank": {"retain_chunk_size": 700, "reflect_mission": "be kind", "mcp_enabled_tools": None},
        "mental_models": [{"id": "tea", "name": "Tea", "source_query": "What does she drink?", "tags": ["drinks"]}],
        "directives": [{"name": "tone", "content": "Be brief.", "priority": 2}],
    }
    dry = api.bank("POST", bank, "/import?dry_run=true", manifest)
    assert (dry.status, dry.body["config_applied"]) == (200, False)
    assert (dry.body["mental_models_created"], dry.body["directives_created"]) == (["tea"], ["tone"])
    assert api.bank("GET", bank, "/config").status == 404
    assert api.bank("POST", bank, "/import", manifest).body["config_applied"] is True
    exported = api.bank("GET", bank, "/export").body
    assert exported["directives"] == [
        {"name": "tone", "content": "Be brief.", "priority": 2, "is_active": True, "tags": []}
    ]
    again = api.bank("POST", bank, "/import", exported).body
    assert (again["mental_models_updated"], again["directives_updated"]) == (["tea"], ["tone"])
    assert (again["mental_models_created"], again["operation_ids"]) == ([], [])
    assert exported["bank"] == {"retain_chunk_size": 700, "reflect_mission": "be kind"}
    assert api.bank("POST", f"{bank}-2", "/import", exported).status == 200
    assert api.bank("GET", f"{bank}-2", "/export").body == exported
    for wrong, named in (
        ({"bank": {}}, "version"),
        ({"version": "9"}, "version"),
        ({"version": "1", "bank": {"retain_chunk_size": "x"}}, "retain_chunk_size"),
        ({"version": "1", "bank": {"nothing": 1}}, "nothing"),
        ({"version": "1", "bank": [1]}, "bank"),
        ({"version": "1", "directives": [{"name": "a", "content": " "}]}, "directives[0]"),
        ({"version": "1", "mental_models": [{"id": "a"}]}, "mental_models"),
    ):
        refused = api.bank("POST", f"{bank}-3", "/import", wrong)
        assert refused.status == 422
        assert named in str(refused.body)
    assert api.bank("GET", f"{bank}-3", "/config").status == 404


def test_a_killed_import_is_done_when_the_server_is_back(tmp_path: Path) -> None:
    """A kill in the midst of it leaves no half bank: it is there as a whole once the job has run again."""
    with ServerProcess(tmp_path) as server:
        api = Api(server.url)
        api.retain(
            "b", *[{"content": f"Ann: boat number {n} is in the harbour", "document_id": f"d{n}"} for n in range(700)]
        )
        archive = api("GET", finished(api, api.bank("POST", "b", "/transfer/export"))["download_url"]).body
        submitted = api.upload("/v1/default/banks/b/transfer/import?target_bank_id=copy", archive)
        for _ in range(2000):  # until it has been begun
            if api.bank("GET", "b", f"/operations/{submitted.body['operation_id']}").body["status"] != "pending":
                break
        server.kill()
        server.start()
        assert finished(api, submitted)["facts_imported"] == 700
        assert api.bank("GET", "copy", "/stats").body["total_documents"] == 700
        assert api.bank("GET", "copy", "/memories/list?limit=1").body["total"] == 700
        assert list((tmp_path / "data" / "archives").glob("upload-*")) == []


def finished(api: Api, submitted: Answer) -> Any:
    """The result of a job."""
    assert submitted.status == 202, submitted.body
    for _ in range(600):
        said = api.bank("GET", "b", f"/operations/{submitted.body['operation_id']}").body
        if said["status"] not in ("pending", "processing"):
            break
        time.sleep(0.05)
    assert said["status"] == "completed", said
    return said["result_metadata"]
