"""Faults that memory systems had when they stored, each as the smallest input that would show it here.

A13 is in `engine/test_delta.py`, A15 in `engine/recall/test_folding.py`, A40 also in `e2e/test_durability.py`.
"""

from __future__ import annotations

import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from hindsight_server.testing.process import ServerProcess

from .conftest import Api

pytestmark = pytest.mark.filterwarnings("error")


def _listed(api: Any, bank: str, query: str = "") -> list[dict[str, Any]]:
    answer = api.bank("GET", bank, f"/memories/list?limit=1000{query}")
    assert answer.status == 200, answer.body
    items: list[dict[str, Any]] = answer.body["items"]
    return items


@pytest.mark.feature("R5")
@pytest.mark.parametrize("run_async", [False, True])
def test_case_a12_an_operation_that_is_sent_again_is_done_once(api: Any, bank: str, run_async: bool) -> None:
    """A client that gave up waiting sends the same again: it gets the first answer, and nothing is stored twice."""
    operation = str(uuid4())
    asked: dict[str, Any] = {"operation_id": operation, "async": run_async}
    first = api.retain(bank, "Ann: I bought a canoe.", **asked)
    again = api.retain(bank, "Ann: I bought a canoe.", **asked)
    assert first.status == again.status == 200
    assert again.body == first.body
    assert len(_listed(api, bank)) == 1
    for differing in (("Ann: I bought a kayak.", bank), ("Ann: I bought a canoe.", f"{bank}-other")):
        assert api.retain(differing[1], differing[0], **asked).status == 409
    assert len(_listed(api, bank)) == 1


@pytest.mark.feature("R16")
def test_case_a14_a_transcript_that_grows_by_what_was_recalled_does_not_fill_the_bank(api: Any, bank: str) -> None:
    """Twenty turns of one conversation, each sent as the whole transcript with the recalled memories in it.

    That a memory block in a prompt is no words of the user is known only where the prompt is made: the adapters leave
    it out. What the server does is to know what it has: a transcript that comes again adds only its new turns.
    """
    transcript = ["user: My boat is called Gannet and lies in Bergen."]
    for turn in range(20):
        item = {"content": "\n".join(transcript), "document_id": "talk", "timestamp": "2026-03-01T10:00:00Z"}
        assert api.retain(bank, item).status == 200
        found = api.recall(bank, "What is my boat called?", max_tokens=300).body["results"]
        assert "Gannet" in found[0]["text"]
        transcript += [f"assistant: turn {turn}: it is called Gannet.", f"user: and again, number {turn}?"]
    listed = _listed(api, bank)
    assert len(listed) == len({row["text"] for row in listed}) == len(transcript) - 2


@pytest.mark.feature("R2")
@pytest.mark.parametrize(
    ("timestamp", "day"),
    [
        ("2026-03-02T09:00:00Z", "2026-03-01"),
        ("2026-03-02T01:00:00+08:00", "2026-03-01"),
        ("2026-03-01T23:30:00-05:00", "2026-02-28"),
        ("unset", None),
    ],
)
def test_case_a18_yesterday_is_the_day_before_the_message(api: Any, bank: str, timestamp: str, day: str | None) -> None:
    """A phrase is resolved against the message's own time in its own zone; without any time nothing is guessed."""
    api.retain(bank, {"content": "Ann: yesterday the sensors failed.", "timestamp": timestamp})
    (row,) = _listed(api, bank)
    assert row["text"] == "Ann: yesterday the sensors failed."
    if day is None:
        assert (row["occurred_start"], row["occurred_end"], row["mentioned_at"]) == (None, None, None)
    else:
        zone = datetime.fromisoformat(timestamp).tzinfo
        ends = [datetime.fromisoformat(row[name]).astimezone(zone) for name in ("occurred_start", "occurred_end")]
        assert [end.date().isoformat() for end in ends] == [day, day]


def test_case_a21_a_nul_character_in_one_item_stops_neither_it_nor_the_others(api: Any, bank: str) -> None:
    items = [
        {"content": "Ann: I bought a canoe."},
        {
            "content": "Ann: a\u0000b is the code.",
            "context": "a\u0000talk",
            "metadata": {"k\u0000ey": "v\u0000alue"},
            "tags": ["t\u0000ag"],
            "entities": [{"text": "O\u0000slo"}],
        },
        {"content": "Ann: I sold a canoe."},
    ]
    assert api.retain(bank, *items).status == 200
    rows = {row["text"]: row for row in _listed(api, bank)}
    assert set(rows) == {"Ann: I bought a canoe.", "Ann: ab is the code.", "Ann: I sold a canoe."}
    odd = api.bank("GET", bank, f"/memories/{rows['Ann: ab is the code.']['id']}").body
    assert (odd["context"], odd["metadata"], odd["tags"]) == ("atalk", {"key": "value"}, ["tag"])
    assert "Oslo" in odd["entities"]
    # An id is never altered, so one that no database holds is refused, with its place.
    refused = api.retain(bank, {"content": "x", "document_id": "d\u0000"})
    assert refused.status == 422
    assert "document_id" in str(refused.body)


_WORD = "telescope "


@pytest.mark.parametrize(
    "text",
    [
        _WORD * 20_000,
        "x" * 200_000,
        "望远镜" * 60_000,
        "Ann: " + _WORD * 120,
        "Ann: " + _WORD * 121,
        "Ann: " + "!?" * 50_000 + " the key is heron",
    ],
    ids=["200 KB of words", "200 KB without a space", "Chinese", "the limit", "one more", "signs"],
)
def test_case_a22_a_long_message_is_cut_and_none_of_it_lost(api: Any, bank: str, text: str) -> None:
    items = [{"content": "Ann: I bought a canoe."}, {"content": text, "document_id": "long"}]
    assert api.retain(bank, *items, {"content": "Ann: I sold a kayak."}).status == 200
    rows = _listed(api, bank)
    texts = [row["text"] for row in rows]
    assert {"Ann: I bought a canoe.", "Ann: I sold a kayak."} <= set(texts)
    parts = [part for part in _listed(api, bank, "&document_id=long")]
    assert parts
    assert max(len(part["text"]) for part in parts) <= 1300
    said = sum(len(part["text"].removeprefix("Ann: ").replace(" ", "")) for part in parts)
    assert said == len(text.removeprefix("Ann: ").replace(" ", ""))
    assert api.bank("GET", bank, "/documents/long").body["original_text"] == text


@pytest.mark.feature("R7")
def test_a_document_without_facts_is_listed_and_can_be_extracted_again(api: Any, bank: str) -> None:
    """Nothing worth remembering is a success that can be seen, not a loss that can't."""
    answer = api.retain(bank, {"content": "ok, thanks", "document_id": "d"}, {"content": "Ann: I bought a canoe."})
    assert answer.status == 200

    def count() -> int:
        rows = api.bank("GET", bank, "/documents").body["items"]
        return int(next(row["memory_unit_count"] for row in rows if row["id"] == "d"))

    assert count() == 0
    assert api.bank("PATCH", bank, "/config", {"updates": {"retain_extraction_mode": "verbose"}}).status == 200
    operation = api.bank("POST", bank, "/documents/d/reprocess").body["operation_id"]
    for _ in range(200):
        if api.bank("GET", bank, f"/operations/{operation}").body["status"] == "completed":
            break
        time.sleep(0.05)
    assert count() == 1


@pytest.mark.feature("R12")
@pytest.mark.parametrize(
    "scopes", ["combined", "shared", "per_tag", "all_combinations", [["user:ann"], ["user:ann", "topic:boats"]]]
)
def test_observation_scopes_are_kept_with_the_document(api: Any, bank: str, scopes: Any) -> None:
    item = {"content": "Ann: I bought a canoe.", "document_id": "d", "tags": ["user:ann"], "observation_scopes": scopes}
    assert api.retain(bank, item).status == 200
    assert api.bank("GET", bank, "/documents/d").body["observation_scopes"] == scopes
    # What comes without them leaves them as they are.
    assert api.retain(bank, {"content": "Ann: I sold it.", "document_id": "d", "update_mode": "append"}).status == 200
    assert api.bank("GET", bank, "/documents/d").body["observation_scopes"] == scopes


@pytest.mark.feature("R12")
@pytest.mark.parametrize("scopes", ["everyone", ["user:ann"], [[1]], 7, {"tags": []}])
def test_observation_scopes_that_nobody_knows_are_refused_by_name(api: Any, bank: str, scopes: Any) -> None:
    answer = api.retain(bank, {"content": "Ann: I bought a canoe.", "observation_scopes": scopes})
    assert answer.status == 422
    assert "observation_scopes" in str(answer.body["detail"])


@pytest.mark.feature("R7")
def test_items_of_one_request_follow_their_own_strategies(api: Any, bank: str) -> None:
    strategies = {
        "exact": {"retain_extraction_mode": "verbatim"},
        "all": {"retain_extraction_mode": "verbose", "retain_mission": "people"},
    }
    api.bank("PUT", bank, "", {})
    config = api.bank("PATCH", bank, "/config", {"updates": {"retain_strategies": strategies}})
    assert config.status == 200
    shown = api.bank("GET", bank, "/config").body
    assert shown["not_applied"] == ["retain_strategies.all.retain_mission"]
    text = "Ann: ok\nBob: I live in Oslo."
    items = [
        {"content": text, "document_id": f"d-{name}", **({"strategy": name} if name else {})}
        for name in ("", "exact", "all")
    ]
    assert api.retain(bank, *items).status == 200
    found = {
        name: sorted(row["text"] for row in _listed(api, bank, f"&document_id=d-{name}"))
        for name in ("", "exact", "all")
    }
    assert found == {"": ["Bob: I live in Oslo."], "exact": [text], "all": ["Ann: ok", "Bob: I live in Oslo."]}
    unknown = api.retain(bank, {"content": "x", "strategy": "none"})
    assert unknown.status == 422
    assert "items[0].strategy" in str(unknown.body) or "strategy" in str(unknown.body)
    custom = api.bank("PATCH", bank, "/config", {"updates": {"retain_extraction_mode": "custom"}})
    assert custom.status == 422


def test_case_a38_eight_threads_add_and_read_without_an_error(api: Any, bank: str) -> None:
    """No lock is ever told to a caller, and what was acknowledged can be read."""
    api.bank("PUT", bank, "", {})
    failures: list[Any] = []

    def work(number: int) -> None:
        own = Api(api.url)
        for count in range(12):
            word = f"word{number}x{count}q"
            stored = own.retain(bank, {"content": f"Agent {number} noted {word}.", "document_id": f"d{number}-{count}"})
            found = own.recall(bank, f"Who noted {word}?", max_tokens=200, budget="low")
            if stored.status != 200 or found.status != 200 or word not in found.body["results"][0]["text"]:
                failures.append((stored, found))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sorted(row["text"] for row in _listed(api, bank)) == sorted(
        f"Agent {number} noted word{number}x{count}q." for number in range(8) for count in range(12)
    )


def test_case_a40_a_killed_server_leaves_no_lock_behind(tmp_path: Path) -> None:
    """Killed while it wrote, it opens again at once, and a reader is answered while others write."""
    server = ServerProcess(tmp_path)
    server.start()
    stop = threading.Event()
    try:
        kept = Api(server.url)
        assert kept.retain("b", {"content": "Ann: I bought a canoe.", "document_id": "kept"}).status == 200

        def write() -> None:
            own = Api(server.url)
            number = 0
            while not stop.is_set():
                number += 1
                try:
                    own.retain("b", *(f"Line {number} {line}." for line in range(50)))
                except OSError:
                    return

        writer = threading.Thread(target=write)
        writer.start()
        for _ in range(5):
            assert kept.recall("b", "Who bought a canoe?", max_tokens=100).body["results"]
        server.kill()
        stop.set()
        writer.join()
        server.start()
        again = Api(server.url)
        assert "canoe" in again.recall("b", "Who bought a canoe?", max_tokens=100).body["results"][0]["text"]
        assert again.retain("b", "Ann: I sold the canoe.").status == 200
    finally:
        stop.set()
        server.stop()
