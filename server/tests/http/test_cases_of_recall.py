"""Faults that memory systems had, each as the smallest input that would show it here."""

from __future__ import annotations

import re
from typing import Any

import pytest

SYNTAX = 'don\'t use a & b (ratio > 1.0), Cruise / En route: x-y "z" 100% AND OR NOT * ^ ~'


def _texts(answer: Any) -> list[str]:
    assert answer.status == 200, answer.body
    return [result["text"] for result in answer.body["results"]]


@pytest.mark.parametrize("query", ["", "   ", "\n\t", "\u0000", "?!…", "—", "🎉", "* ^ ~"])
def test_case_a23_a_blank_query_is_refused_and_never_brings_everything(api: Any, bank: str, query: str) -> None:
    api.retain(bank, "Ann: I bought a canoe.")
    answer = api.recall(bank, query)
    assert answer.status == 422
    assert answer.body["detail"][0]["loc"] == ["body", "query"]
    assert "canoe" not in str(answer.body)


def test_case_a23_an_empty_bank_answers_nothing(api: Any, bank: str) -> None:
    api.bank("PUT", bank, "", {})
    answer = api.recall(bank, "anything", include={"chunks": {}, "source_facts": {}}, trace=True)
    assert _texts(answer) == []
    assert (answer.body["chunks"], answer.body["source_facts"], answer.body["entities"]) == ({}, {}, {})
    assert answer.body["truncated"] is False
    api.retain(bank, "Ann: I bought a canoe.")
    api.bank("DELETE", bank, "/memories")
    assert _texts(api.recall(bank, "canoe")) == []


@pytest.mark.feature("S4")
def test_case_a28_deleting_one_bank_leaves_the_other_and_nothing_of_itself(api: Any, bank: str) -> None:
    ann, ben = f"{bank}-ann", f"{bank}-ben"
    stored: dict[str, list[dict[str, Any]]] = {}
    for owner, secret in ((ann, "zebra"), (ben, "walrus")):
        api.retain(owner, {"content": f"Boris keeps a {secret} in Lisbon.", "document_id": "d", "tags": ["pets"]})
        assert secret in _texts(api.recall(owner, "What does Boris keep?"))[0]
        stored[owner] = api.bank("GET", owner, "/memories/list").body["items"]
    assert api.bank("DELETE", ann).status == 200
    for path in ("/memories/list", "/documents", "/entities", "/tags", "/stats", "/config", "/documents/d"):
        assert api.bank("GET", ann, path).status == 404, path
    assert api.recall(ann, "What does Boris keep?").status == 404
    assert ann not in [row["bank_id"] for row in api("GET", f"/v1/default/banks?q={bank}").body["banks"]]
    assert api("GET", f"/v1/default/chunks/{stored[ann][0]['chunk_id']}").status == 404
    # A bank of the same name begins with nothing: no cached view, posting list or vector of the old one is left.
    api.retain(ann, "Cyrus likes tea.")
    again = api.recall(ann, "zebra Boris Lisbon", include={"chunks": {}}, trace=True)
    assert _texts(again) == ["Cyrus likes tea."]
    assert "zebra" not in str(again.body["chunks"]) + str(again.body["results"]) + str(again.body["entities"])
    assert api.bank("GET", ann, "/stats").body["total_nodes"] == 1
    assert "walrus" in _texts(api.recall(ben, "What does Boris keep?"))[0]
    assert api.bank("GET", ben, "/memories/list").body["items"] == stored[ben]


def test_case_a28_clearing_one_bank_leaves_the_other(api: Any, bank: str) -> None:
    for owner in ("ann", "ben"):
        api.retain(f"{bank}-{owner}", f"Boris met {owner} in Lisbon.")
    assert api.bank("DELETE", f"{bank}-ann", "/memories").status == 200
    assert _texts(api.recall(f"{bank}-ann", "Lisbon")) == []
    assert api.bank("GET", f"{bank}-ann", "/memories/list").body["total"] == 0
    assert _texts(api.recall(f"{bank}-ben", "Lisbon")) == ["Boris met ben in Lisbon."]


@pytest.mark.feature("S4")
def test_case_a29_the_bank_is_told_with_each_call_and_never_remembered(api: Any, bank: str) -> None:
    one, two = f"{bank}-1", f"{bank}-2"
    api.retain(one, {"content": "The password is zebra.", "tags": ["g1"]})
    api.retain(two, {"content": "The password is walrus.", "tags": ["g2"]})
    for _ in range(3):
        assert _texts(api.recall(one, "password")) == ["The password is zebra."]
        assert _texts(api.recall(two, "password")) == ["The password is walrus."]
    # Likewise for groups of one bank: what one call is limited to limits no other.
    api.retain(one, {"content": "The password is walrus.", "tags": ["g2"]})
    for tag, secret in (("g1", "zebra"), ("g2", "walrus"), ("g1", "zebra")):
        found = _texts(api.recall(one, "password", tags=[tag], tags_match="any_strict"))
        assert found == [f"The password is {secret}."]
    assert len(_texts(api.recall(one, "password"))) == 2


@pytest.mark.feature("S6")
def test_case_a31_punctuation_changes_nothing(api: Any, bank: str) -> None:
    api.retain(
        bank,
        "Cruise control: use ratio 1.0 en route.",
        "a & b",
        "Ann said not to use it.",
        "Boris repaired the bridge.",
        "The z-axis of x-y is off by 100 %.",
    )
    plain = re.sub(r"[^\w\s'.-]", " ", SYNTAX)
    asked, without = api.recall(bank, SYNTAX, trace=True), api.recall(bank, plain, trace=True)
    assert _texts(asked) == _texts(without) != []
    assert asked.body["trace"]["terms"] == without.body["trace"]["terms"]
    assert asked.body["trace"]["degraded"] == []
    for sign in [*"'\"()*^~:-\\/|&<>;%{", "--", " NEAR(", "${}"]:
        answer = api.recall(bank, f"{sign}bridge{sign} {sign}", trace=True)
        assert _texts(answer)[0] == "Boris repaired the bridge.", sign
        assert answer.body["trace"]["degraded"] == []


LISTINGS = ["memories/list", "documents", "entities", "tags"]


@pytest.mark.parametrize("count", [47, 1137])
def test_case_a32_everything_is_reached_by_paging(api: Any, bank: str, count: int) -> None:
    api.retain(
        bank,
        *({"content": f"the number {n} was noted", "document_id": f"d{n}", "tags": [f"t{n}"]} for n in range(count)),
    )
    for listing, key, size in (
        ("memories/list", "id", 100),
        ("memories/list", "id", 13),
        ("documents", "id", 20),
        ("tags", "tag", 500),
    ):
        if size == 13 and count > 100:
            continue
        seen: list[str] = []
        while True:
            page = api.bank("GET", bank, f"/{listing}?limit={size}&offset={len(seen)}").body
            assert page["total"] == count
            assert (page["limit"], page["offset"]) == (size, len(seen))
            if not page["items"]:
                break
            seen += [item[key] for item in page["items"]]
        assert len(seen) == len(set(seen)) == count, listing


def test_case_a32_entities_operations_banks_and_chunks_are_paged_as_well(api: Any, bank: str) -> None:
    people = [f"{first} {last}" for first in ("Alma", "Boris", "Cyrus") for last in ("Hall", "Kent", "Lund", "Moss")]
    for at, name in enumerate(people):
        api.retain(bank, {"content": f"I met {name} at noon.", "document_id": "d", "update_mode": "append"})
        api.bank("PUT", f"{bank}-{at}", "", {})

    def walk(path: str, items: str, key: str) -> list[str]:
        seen: list[str] = []
        while True:
            join = "&" if "?" in path else "?"
            page = api("GET", f"/v1/default/banks{path}{join}limit=5&offset={len(seen)}").body
            if not page[items]:
                assert page["total"] == len(seen) == len(set(seen))
                return seen
            seen += [item[key] for item in page[items]]

    assert set(people) <= set(walk(f"/{bank}/entities", "items", "canonical_name"))
    assert len(walk(f"/{bank}/operations", "operations", "id")) == api.bank("GET", bank, "/operations").body["total"]
    assert len(walk(f"?q={bank}-", "banks", "bank_id")) == len(people)
    assert walk(f"/{bank}/documents/d/chunks", "items", "chunk_id")


def test_case_a33_one_documented_order_and_no_negative_numbers(api: Any, bank: str) -> None:
    for name in ("a", "b", "c"):
        api.retain(bank, {"content": f"Ann noted the letter {name}.", "document_id": name, "tags": [name]})

    def listed(path: str, key: str) -> list[str]:
        return [item[key] for item in api.bank("GET", bank, path).body["items"]]

    letters = [f"Ann noted the letter {name}." for name in ("c", "b", "a")]
    assert listed("/memories/list", "text") == letters  # most recently mentioned first
    assert listed("/documents", "id") == ["c", "b", "a"]  # most recently updated first
    api.retain(bank, {"content": "Ann noted the letter a again.", "document_id": "a", "tags": ["a"]})
    assert listed("/documents", "id") == ["a", "c", "b"]
    assert listed("/memories/list", "text")[0] == "Ann noted the letter a again."
    assert listed("/tags", "tag") == ["a", "b", "c"]  # most used first, then by name
    assert listed("/memories/list?limit=0", "text") == []
    for path in (*(f"/{listing}" for listing in LISTINGS), "/operations", "/documents/a/chunks"):
        for name in ("limit", "offset"):
            answer = api.bank("GET", bank, f"{path}?{name}=-1")
            assert answer.status == 422, path
            assert answer.body["detail"][0]["loc"] == ["query", name]
    for name in ("limit", "offset"):
        assert api("GET", f"/v1/default/banks?{name}=-1").status == 422
