"""Mental models and knowledge pages through the client that people install, and what is forgotten of them."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from hindsight_client import Hindsight

from hindsight_server.testing.model_server import ModelServer, Question, Say
from hindsight_server.testing.process import ServerProcess

from .conftest import Api

pytestmark = pytest.mark.feature("F7")


def finished(api: Api, bank: str, operation_id: str) -> Any:
    for _ in range(200):
        said = api.bank("GET", bank, f"/operations/{operation_id}").body
        if said["status"] not in ("pending", "processing"):
            return said
        time.sleep(0.05)
    raise AssertionError(said)


def test_the_client_keeps_a_mental_model(api: Api, server_url: str, bank: str) -> None:
    with Hindsight(base_url=server_url) as client:
        client.retain(bank_id=bank, content="Ann: I drink green tea every morning.")
        made = client.create_mental_model(
            bank, name="Tea", source_query="What does Ann drink?", id="tea", trigger={"mode": "delta"}
        )
        assert made.mental_model_id == "tea"
        done = finished(api, bank, made.operation_id)
        assert (done["status"], done["details"]["outcome"]) == ("completed", "content_written")
        model = client.get_mental_model(bank, "tea")
        assert "green tea" in model.content
        assert (model.is_stale, model.trigger.mode, model.max_tokens) == (False, "delta", 2048)
        assert [one.id for one in client.list_mental_models(bank).items] == ["tea"]
        assert client.list_mental_models(bank, detail="content").items[0].content == model.content
        client.retain(bank_id=bank, content="Ann: On Sundays I drink black tea.")
        assert client.get_mental_model(bank, "tea").is_stale
        preview = client.dry_run_refresh_mental_model(bank, "tea")
        assert (preview.would_persist, preview.effective_mode) == (True, "full")
        assert "+- " in preview.diff
        assert client.get_mental_model(bank, "tea").content == model.content
        queued = client.refresh_mental_model(bank, "tea", mode="full")
        finished(api, bank, queued.operation_id)
        assert "black tea" in client.get_mental_model(bank, "tea").content
        assert client.get_mental_model_history(bank, "tea")[0]["previous_content"] == model.content
        changed = client.update_mental_model(bank, "tea", name="Drinks", max_tokens=512, tags=["user:ann", "drinks"])
        assert changed.max_tokens == 512
        assert api.bank("GET", bank, "/tags?source=mental_models&q=USER:*").body == {
            "items": [{"tag": "user:ann", "count": 1}],
            "total": 1,
            "limit": 100,
            "offset": 0,
        }
        assert api.bank("GET", bank, "/tags").body["items"] == []
        assert client.clear_mental_model(bank, "tea").content == ""
        client.delete_mental_model(bank, "tea")
        assert client.list_mental_models(bank).total == 0


def test_the_client_keeps_a_tree_of_pages(api: Api, server_url: str, bank: str) -> None:
    with Hindsight(base_url=server_url) as client:
        client.retain(bank_id=bank, content="Ann: I moved to Oslo in May.")
        client.retain(bank_id=bank, content="Ben: I repair clocks for a living.")
        folder = client.create_knowledge_folder(bank, "People")
        pages = {}
        for name, question in (("Ann", "Where does Ann live?"), ("Ben", "What is Ben's work?")):
            made = client.create_knowledge_page(bank, name, question, parent_id=folder.id, tags=None)
            finished(api, bank, made.operation_id)
            pages[name] = made.page_id
        (root,) = client.get_knowledge_base_tree(bank).roots
        assert [(node.name, node.is_stale) for node in root.children] == [("Ann", False), ("Ben", False)]
        assert root.children[0].trigger.mode == "delta"
        assert root.children[0].trigger.refresh_after_consolidation
        assert client.search_knowledge_base(bank, "clocks").results[0].name == "Ben"
        page = client.get_knowledge_page(bank, pages["Ann"])
        assert page.body in page.markdown
        moved = client.update_knowledge_node(bank, pages["Ann"], name="Ann Lee", parent_id=None)
        assert (moved.name, moved.parent_id) == ("Ann Lee", None)
        assert client.list_mental_models(bank, exclude_knowledge_pages=True).total == 0
        files = {file.path: file.content for file in client.export_knowledge_base(bank).files}
        assert f"[Ann Lee]({pages['Ann']}.md)" in files["index.md"]
        client.delete_knowledge_node(bank, folder.id)
        assert [node.name for node in client.get_knowledge_base_tree(bank).roots] == ["Ann Lee"]
        assert client.list_mental_models(bank).total == 1


def test_errors_say_what_to_do(api: Api, bank: str) -> None:
    assert api.bank("GET", bank, "/mental-models").status == 404
    made = {"id": "tea", "name": "Tea", "source_query": "What?"}
    assert api.bank("POST", bank, "/mental-models", made).status == 200
    assert api.bank("POST", bank, "/mental-models", made).status == 409
    for wrong, field in (
        ({"id": "Tea"}, "id"),
        ({"max_tokens": 100}, "max_tokens"),
        ({"trigger": {"refresh_cron": "soon"}}, "refresh_cron"),
        ({"trigger": {"mode": "half"}}, "mode"),
        ({"trigger": {"refresh_cron": "0 3 * * *", "refresh_after_consolidation": True}}, "refresh_cron"),
    ):
        refused = api.bank("POST", bank, "/mental-models", {**made, "id": "other", **wrong})
        assert refused.status == 422
        assert field in json.dumps(refused.body)
    assert api.bank("POST", bank, "/knowledge-base/folders", {"name": "A"}).status == 201
    assert api.bank("POST", bank, "/knowledge-base/folders", {"name": "A"}).status == 409
    for method, path in (
        ("GET", "/mental-models/none"),
        ("POST", "/mental-models/none/refresh"),
        ("DELETE", "/mental-models/none"),
        ("GET", "/knowledge-base/pages/tea"),
        ("DELETE", "/knowledge-base/nodes/none"),
    ):
        assert api.bank(method, bank, path).status == 404, path
    assert api.bank("POST", bank, "/mental-models/tea/refresh", {"mode": "delta"}).status == 422
    ignored = api.bank("POST", bank, "/mental-models", {**made, "id": "b", "trigger": {"refresh_corn": "x"}})
    assert ignored.headers["x-hindsight-ignored"] == "trigger.refresh_corn"
    tried = api.bank("POST", bank, "/mental-models/b/dry-run-refresh", {"mode": "full"})
    assert (tried.status, tried.headers["x-hindsight-ignored"]) == (200, "mode")
    assert "x-hindsight-ignored" not in api.bank("POST", bank, "/mental-models/b/dry-run-refresh").headers


def test_tags_of_a_label_are_warned_of(api: Api, bank: str) -> None:
    api.retain(bank, {"content": "Ann: I drink tea.", "tags": ["user:ann"]})
    page = {"name": "Tea", "source_query": "What does Ann drink?", "tags": ["topic:tea"]}
    (warning,) = api.bank("POST", bank, "/mental-models", page).body["warnings"]
    assert "Set tags to []" in warning
    assert api.bank("POST", bank, "/mental-models", {**page, "tags": ["user:ann"]}).body["warnings"] == []


def _rows(folder: Path) -> str:
    connection = apsw.Connection(str(folder / "data" / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    values = [value for table in tables for row in connection.execute(f'SELECT * FROM "{table}"') for value in row]
    connection.close()
    return "\n".join(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value) for value in values)


@pytest.mark.feature("R17")
@pytest.mark.parametrize("way", ["forget", "edit", "delete", "replace"])
def test_no_word_of_a_page_outlives_the_memory_that_it_came_from(tmp_path: Path, way: str) -> None:
    with ServerProcess(tmp_path) as server:
        api = Api(server.url)
        api.retain("b", {"content": "Ann: My quixotherm is in locker 4417B.", "document_id": "secret"})
        api.retain("b", {"content": "Ann: I drink green tea.", "document_id": "tea"})
        made = api.bank("POST", "b", "/mental-models", {"id": "ann", "name": "Ann", "source_query": "What of Ann's?"})
        finished(api, "b", made.body["operation_id"])
        api.retain("b", {"content": "Ann: I drink rum on Fridays.", "document_id": "rum"})
        finished(api, "b", api.bank("POST", "b", "/mental-models/ann/refresh").body["operation_id"])
        assert "quixotherm" in api.bank("GET", "b", "/mental-models/ann").body["content"]
        assert api.bank("GET", "b", "/mental-models/ann/history").body
        (secret,) = [
            one["id"] for one in api.bank("GET", "b", "/memories/list").body["items"] if "quixotherm" in one["text"]
        ]
        if way == "forget":
            assert api.bank("POST", "b", "/memories/forget", {"ids": [secret]}).status == 200
        elif way == "edit":
            assert api.bank("PATCH", "b", f"/memories/{secret}", {"text": "Ann: I have a locker."}).status == 200
            assert api.bank("DELETE", "b", "/documents/secret").status == 200  # an edit leaves what was said
        elif way == "delete":
            assert api.bank("DELETE", "b", "/documents/secret").status == 200
        else:
            api.retain("b", {"content": "Ann: I have a locker.", "document_id": "secret"})
        held = _rows(tmp_path).casefold()
        assert "quixotherm" not in held
        assert "4417b" not in held
        for path in ("/mental-models/ann", "/mental-models/ann/history", "/mental-models?detail=full"):
            assert "quixotherm" not in json.dumps(api.bank("GET", "b", path).body)
        for _ in range(100):
            shown = api.bank("GET", "b", "/mental-models/ann").body
            if not shown["is_stale"]:
                break
            time.sleep(0.1)
        assert "rum on Fridays" in shown["content"]
        if way == "replace":
            return  # a retain leaves the pages of before in the log until the next forgetting
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert not [path for path in files if b"quixotherm" in path.read_bytes()]


def test_a_copy_of_a_bank_has_its_pages(api: Api, bank: str) -> None:
    api.retain(bank, {"content": "Ann: I drink green tea."})
    folder = api.bank("POST", bank, "/knowledge-base/folders", {"name": "Drinks"}).body["id"]
    page = {"name": "Tea", "source_query": "What does Ann drink?", "parent_id": folder}
    made = api.bank("POST", bank, "/knowledge-base/pages", page).body
    finished(api, bank, made["operation_id"])
    words = api.bank("GET", bank, f"/knowledge-base/pages/{made['page_id']}").body["body"]
    assert "green tea" in words
    copy = f"{bank}-copy"
    cloned = api.bank("POST", bank, f"/clone?target_bank_id={copy}").body["operation_id"]
    assert finished(api, bank, cloned)["result_metadata"]["mental_models_imported"] == 1
    (root,) = api.bank("GET", copy, "/knowledge-base/tree").body["roots"]
    assert [(node["name"], node["is_stale"]) for node in root["children"]] == [("Tea", False)]
    assert api.bank("GET", copy, f"/knowledge-base/pages/{made['page_id']}").body["body"] == words
    made_at = [api.bank("GET", one, f"/mental-models/{made['page_id']}").body["created_at"] for one in (bank, copy)]
    assert made_at[0] == made_at[1]
    # The copy is cut as the original would be.
    (tea,) = [one["id"] for one in api.bank("GET", copy, "/memories/list").body["items"]]
    api.bank("POST", copy, "/memories/forget", {"ids": [tea]})
    assert api.bank("GET", copy, f"/knowledge-base/pages/{made['page_id']}").body["body"] == ""
    # Taken into a bank that holds something, a page comes without its words, and is written there.
    exported = finished(api, bank, api.bank("POST", bank, "/transfer/export").body["operation_id"])
    archive = api("GET", exported["result_metadata"]["download_url"]).body
    assert "knowledge.jsonl" in zipfile.ZipFile(io.BytesIO(archive)).namelist()
    other = f"{bank}-other"
    api.retain(other, {"content": "Ben: I drink rum.", "document_id": "rum"})
    taken = api.upload(f"/v1/default/banks/{other}/transfer/import?mode=merge", archive)
    assert finished(api, other, taken.body["operation_id"])["status"] == "completed"
    for _ in range(100):
        shown = api.bank("GET", other, f"/mental-models/{made['page_id']}").body
        if shown["last_refreshed_at"]:
            break
        time.sleep(0.1)
    assert "green tea" in shown["content"]


class _Mind:
    """A language model on loopback that keeps a page."""

    def __init__(self) -> None:
        self.page = "# Drinks\n\nAnn drinks green tea."
        self.finish: str | None = None
        self.edits: list[dict[str, Any]] = []
        self.prompts: list[str] = []
        self.seconds = 0.0

    def __call__(self, question: Question) -> Say:
        if question.schema is not None:
            self.prompts.append(question.text)
            return Say(text=json.dumps({"edits": self.edits}), seconds=self.seconds, finish=self.finish)
        if question.tool_choice in ("recall", "search_observations", "search_mental_models"):
            return Say(tools=((question.tool_choice, {"query": "Ann"}),))
        done = {"answer": self.page, "memory_ids": ["m1", "m2"]}
        return Say(tools=(("done", done),), finish=self.finish, seconds=self.seconds)


@pytest.fixture
def mind() -> _Mind:
    return _Mind()


@pytest.fixture
def minded(tmp_path: Path, mind: _Mind) -> Iterator[ServerProcess]:
    with ModelServer(mind) as model:
        kinds = {"RETAIN_LLM_PROVIDER": "none", "CONSOLIDATION_LLM_PROVIDER": "none"}
        with ServerProcess(tmp_path, environment=model.environment(**kinds)) as server:
            yield server


def _made(api: Api, **trigger: Any) -> Any:
    api.retain("b", {"content": "Ann: I drink green tea."})
    wanted = {"id": "tea", "name": "Tea", "source_query": "What does Ann drink?", "trigger": trigger}
    done = finished(api, "b", api.bank("POST", "b", "/mental-models", wanted).body["operation_id"])
    assert done["status"] == "completed", str(done)
    return done


def test_consolidation_edits_a_page_with_what_is_new(minded: ServerProcess, mind: _Mind) -> None:
    api = Api(minded.url)
    assert _made(api, mode="delta", refresh_after_consolidation=True)["status"] == "completed"
    api.retain("b", {"content": "Ann: Since May I drink rooibos."})
    mind.edits = [{"kind": "append", "section_id": "s1", "text": "Since May she drinks rooibos.", "facts": [1]}]
    finished(api, "b", api.bank("POST", "b", "/consolidate").body["operation_id"])
    for _ in range(100):
        shown = api.bank("GET", "b", "/mental-models/tea").body
        if "rooibos" in shown["content"]:
            break
        time.sleep(0.1)
    assert shown["content"] == "# Drinks\n\nAnn drinks green tea.\n\nSince May she drinks rooibos."
    assert not shown["is_stale"]
    assert shown["last_full_refreshed_at"] < shown["last_refreshed_at"]


def test_case_a37_a_page_cut_off_on_the_wire_keeps_its_words(minded: ServerProcess, mind: _Mind) -> None:
    api = Api(minded.url)
    assert _made(api)["status"] == "completed"
    mind.page, mind.finish = "# Drinks\n\nAnn drinks gre", "length"
    done = finished(api, "b", api.bank("POST", "b", "/mental-models/tea/refresh").body["operation_id"])
    assert done["status"] == "failed"
    assert done["error_message"]
    assert done["details"]["outcome"] == "refresh_failed_error"
    shown = api.bank("GET", "b", "/mental-models/tea").body
    assert shown["content"] == "# Drinks\n\nAnn drinks green tea."
    assert shown["last_refresh_failed_at"]


def test_a_refresh_that_is_killed_is_done_once_the_server_is_back(minded: ServerProcess, mind: _Mind) -> None:
    api = Api(minded.url)
    assert _made(api)["status"] == "completed"
    mind.page, mind.seconds = "# Drinks\n\nGreen tea, Ann says.", 1.0
    queued = api.bank("POST", "b", "/mental-models/tea/refresh").body["operation_id"]
    for _ in range(200):
        if api.bank("GET", "b", f"/operations/{queued}").body["status"] == "processing":
            break
        time.sleep(0.01)
    minded.kill()
    minded.start()
    api, mind.seconds = Api(minded.url), 0.0
    assert finished(api, "b", queued)["status"] == "completed"
    assert api.bank("GET", "b", "/mental-models/tea").body["content"] == "# Drinks\n\nGreen tea, Ann says."
    assert len(api.bank("GET", "b", "/mental-models/tea/history").body) == 1
