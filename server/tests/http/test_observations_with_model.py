"""Observations end to end: a server, a language model over a real wire, and nothing but the API."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

from hindsight_server.testing.model_server import Fail, ModelServer, Question, Reply
from hindsight_server.testing.process import ServerProcess

from .conftest import Api

_FACT = re.compile(r"^(F\d+): (?:\(\S+\) )?(.*)$", re.MULTILINE)


def settled(api: Api, bank: str) -> dict[str, Any]:
    """The counters once nothing is left to do."""
    stats: dict[str, Any] = {}
    for _ in range(300):
        stats = api.bank("GET", bank, "/stats").body
        if not stats["pending_operations"] and not stats["pending_consolidation"]:
            return stats
        time.sleep(0.05)
    raise AssertionError(stats)


@pytest.mark.feature("F6")
def test_retained_memories_become_observations_by_themselves(tmp_path: Path) -> None:
    down = [True]

    def answer(question: Question) -> Reply:
        if "You keep the observations of a memory" not in question.system:
            return {"facts": []}
        if down[0]:
            down[0] = False
            return Fail(503)
        facts = _FACT.findall(question.text[question.text.index("<facts>") :])
        sources = [{"fact": label, "quote": "Oslo"} for label, said in facts if "Oslo" in said]
        made = {"action": "create", "observation": None, "text": "Ann lives in Oslo.", "sources": sources}
        return {"actions": [made] if sources else []}

    with ModelServer(answer) as model:
        environment = {**model.environment(), "HINDSIGHT_API_RETAIN_LLM_PROVIDER": "none"}
        with ServerProcess(tmp_path, environment=environment) as server:
            api = Api(server.url)
            said = [{"content": text} for text in ("Ann: I live in Oslo.", "Ann: In Oslo I live by the sea.")]
            assert api.retain("b", *said).status == 200
            stats = settled(api, "b")
            assert (stats["total_observations"], stats["failed_consolidation"]) == (1, 0)
            (found,) = api.recall("b", "Where does Ann live?", types=["observation"]).body["results"]
            assert (found["text"], len(found["source_fact_ids"])) == ("Ann lives in Oslo.", 2)
            (one, _) = api.bank("GET", "b", "/memories/list?type=world").body["items"]
            assert api.bank("DELETE", "b", f"/memories/{one['id']}").status == 200
            stats = settled(api, "b")
            assert stats["total_observations"] == 1
            (found,) = api.recall("b", "Where does Ann live?", types=["observation"]).body["results"]
            assert len(found["source_fact_ids"]) == 1
            # The same after a document is deleted, although nobody retains anything.
            assert api.retain("b", {"content": "Ann: Oslo is where I live.", "document_id": "park"}).status == 200
            settled(api, "b")
            (found,) = api.recall("b", "Where does Ann live?", types=["observation"]).body["results"]
            assert len(found["source_fact_ids"]) == 2
            assert api.bank("DELETE", "b", "/documents/park").status == 200
            assert settled(api, "b")["total_observations"] == 1
