"""Asynchronous retains by batches: a real server, killed while it waits, and a scripted model's server."""

from __future__ import annotations

import base64
import time
from pathlib import Path
from typing import Any

from hindsight_server.testing.model_batches import Batches
from hindsight_server.testing.model_server import ModelServer, Question, Reply
from hindsight_server.testing.process import ServerProcess

from .conftest import Api

SETTINGS = {"LLM_API_KEY": "sk-test", "RETAIN_BATCH_ENABLED": "true", "RETAIN_BATCH_POLL_INTERVAL_SECONDS": "1"}


def answer(question: Question) -> Reply:
    return {"facts": [{"what": "Ann lives in Oslo.", "line": 1}]}


def eventually(api: Api, operation_id: str, status: str, stage: str | None = None) -> dict[str, Any]:
    for _ in range(300):
        body: dict[str, Any] = api.bank("GET", "b", f"/operations/{operation_id}").body
        if body["status"] == status and (stage is None or (body.get("progress") or {}).get("stage") == stage):
            return body
        time.sleep(0.1)
    raise AssertionError(f"the operation is {body}")


def test_a_killed_server_goes_on_with_the_batch_that_it_left(tmp_path: Path) -> None:
    batches = Batches(held=True)
    with (
        ModelServer(answer, batches=batches) as model,
        ServerProcess(tmp_path, environment=model.environment(**SETTINGS, CONSOLIDATION_LLM_PROVIDER="none")) as server,
    ):
        api = Api(server.url)
        items = [{"content": "Ann: I moved to Oslo.", "document_id": "d"}]
        stored = api.bank("POST", "b", "/memories", {"items": items, "async": True})
        assert stored.status == 200
        eventually(api, stored.body["operation_id"], "pending", "waiting_for_batch")
        pending = api.bank("POST", "b", "/memories/recall", {"query": "Where did Ann move?"}).body["results"]
        assert [one["text"] for one in pending] == ["Ann: I moved to Oslo."]
        server.kill()
        batches.held = False
        server.start()
        eventually(api, stored.body["operation_id"], "completed")
        recalled = api.bank("POST", "b", "/memories/recall", {"query": "Where does Ann live?"}).body["results"]
        assert [one["text"] for one in recalled] == ["Ann lives in Oslo."]
    assert len(batches.made) == 1
    assert [question.path for question in model.questions] == ["batch"]
    assert batches.files == {}


def test_attachments_are_refused_with_the_way_out(tmp_path: Path) -> None:
    with (
        ModelServer(answer, batches=Batches()) as model,
        ServerProcess(tmp_path, environment=model.environment(**SETTINGS)) as server,
    ):
        api = Api(server.url)
        data = base64.b64encode(b"Ann moved to Oslo.").decode()
        source = {"type": "base64", "media_type": "text/plain", "data": data}
        blocks = [{"type": "text", "text": "Ann:"}, {"type": "file", "source": source, "filename": "a.txt"}]
        items = [{"content": "Ann: I moved to Oslo."}, {"content": blocks}]
        refused = api.bank("POST", "b", "/memories", {"items": items, "async": True})
        assert refused.status == 422
        assert refused.body["detail"][0]["loc"] == ["body", "items", 1, "content"]
        assert "async=false" in refused.body["detail"][0]["msg"]
        assert api.bank("POST", "b", "/memories", {"items": items, "async": False}).status == 200
