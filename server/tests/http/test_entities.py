"""Entities over HTTP, from the text of memories to what a user says of names."""

from __future__ import annotations

from typing import Any

import pytest


def entities(api: Any, bank: str, **query: str) -> dict[str, dict[str, Any]]:
    """The entities of a bank by the name they go by."""
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    page = api.bank("GET", bank, f"/entities?limit=200&{asked}").body
    return {one["canonical_name"]: one for one in page["items"]}


@pytest.mark.feature("R9")
def test_a_query_by_an_alias_finds_what_other_names_tell(api: Any, bank: str) -> None:
    api.retain(bank, "Theodora Vance, whom everybody calls Teddy, plays bass in Moth Parade.")
    api.retain(bank, "Teddy broke two strings at the Moth Parade show.")
    for number in range(30):
        api.retain(bank, f"Meeting notes {number}: the budget was moved to the next quarter.")
    found = entities(api, bank)
    assert found["Theodora Vance"]["aliases"] == ["Teddy"]
    answer = api.recall(bank, "Who is Teddy?", include={"entities": {"max_tokens": 500}}, trace=True).body
    assert [one["entities"][0] for one in answer["results"][:2]] == ["Theodora Vance", "Theodora Vance"]
    assert answer["entities"]["Theodora Vance"]["entity_id"] == found["Theodora Vance"]["id"]
    graph = next(arm for arm in answer["trace"]["arms"] if arm["name"] == "graph")
    assert graph["candidates"] >= 2
    listed = api.bank("GET", bank, f"/memories/list?entity_id={found['Theodora Vance']['id']}").body
    assert listed["total"] == 2


@pytest.mark.feature("R9")
def test_a_name_of_two_is_ambiguous_and_can_be_told(api: Any, bank: str) -> None:
    api.retain(
        bank, "Victor Hale is my dentist.", "Victor Cruz drums in our band.", "Victor called while you were out."
    )
    found = entities(api, bank)
    victor, hale = found["Victor"], found["Victor Hale"]
    assert victor["ambiguous"] is True
    assert set(victor["could_be"]) == {hale["id"], found["Victor Cruz"]["id"]}
    merged = api.bank("POST", bank, f"/entities/{hale['id']}/merge", {"entity_ids": [victor["id"]]}).body
    assert (merged["canonical_name"], merged["aliases"], merged["ambiguous"]) == ("Victor Hale", ["Victor"], False)
    parts = api.bank("POST", bank, f"/entities/{hale['id']}/split", {"names": ["Victor"]}).body["items"]
    assert [part["canonical_name"] for part in parts] == ["Victor Hale", "Victor"]


@pytest.mark.feature("R9")
def test_what_a_caller_supplies_literally_is_never_merged(api: Any, bank: str) -> None:
    api.retain(bank, "Alice Chen runs payments.", "Alice likes tea.")
    assert entities(api, bank)["Alice Chen"]["aliases"] == ["Alice"]
    api.retain(bank, {"content": "A note.", "entities": [{"text": "Alice"}], "resolve_entities": False})
    assert {name for name in entities(api, bank) if "Alice" in name} == {"Alice Chen", "Alice"}


@pytest.mark.feature("R9")
def test_ids_and_roles_are_no_entities(api: Any) -> None:
    bank = "my-agent::c4::u7"
    api.retain(
        bank,
        "User: I bought a MacBook, key my-agent::c4::u7.\nAssistant: Noted in 01a22a5d-c867-7c5c-be2d-20bda40d10b0.",
        {"content": "my-agent::c4::u7: hello Aarhus"},
    )
    names = {name.casefold() for name in entities(api, bank)}
    assert names.isdisjoint(
        {"user", "assistant", "my-agent::c4::u7", "my-agent", "01a22a5d-c867-7c5c-be2d-20bda40d10b0"}
    )
    assert "macbook" in names
    assert api.bank("DELETE", bank).status == 200


def test_the_graph_goes_by_the_names_that_users_gave(api: Any, bank: str) -> None:
    api.retain(bank, {"content": "Alice Chen met Bob Stone in Oslo."})
    alice = entities(api, bank)["Alice Chen"]["id"]
    assert api.bank("POST", bank, f"/entities/{alice}/aliases", {"name": "Ally"}).status == 200
    renamed = api.bank("PATCH", bank, f"/entities/{alice}", {"canonical_name": "Chief Alice"}).body
    nodes = [node["data"] for node in api.bank("GET", bank, "/entities/graph").body["nodes"]]
    (shown,) = (node for node in nodes if node["label"] == "Chief Alice")
    assert shown["id"] == renamed["id"]
    assert set(shown["aliases"]) == {"Alice Chen", "Ally"}


def test_a_rename_never_merges_two_entities(api: Any, bank: str) -> None:
    """One typing error would join two people, and say nothing of it."""
    api.retain(bank, {"content": "Alice Chen met Bob Stone in Oslo."})
    held = entities(api, bank)
    refused = api.bank("PATCH", bank, f"/entities/{held['Alice Chen']['id']}", {"canonical_name": "bob  stone"})
    assert refused.status == 409
    assert "Bob Stone" in str(refused.body)
    assert held["Bob Stone"]["id"] in str(refused.body)
    assert "Merge" in str(refused.body)
    assert set(entities(api, bank)) == set(held)


def test_a_filter_by_tags_hides_names_too(api: Any, bank: str) -> None:
    api.retain(
        bank, {"content": "Alice Chen runs payments.", "tags": ["a"]}, {"content": "Alice likes tea.", "tags": ["b"]}
    )
    only_b = {"tags": ["b"], "tags_match": "any_strict"}
    answer = api.recall(bank, "What does Alice like?", include={"entities": {}}, **only_b).body
    assert answer["results"][0]["entities"] == ["Alice"]
    assert list(answer["entities"]) == ["Alice"]
    assert list(entities(api, bank, tags="b", tags_match="any_strict")) == ["Alice"]
    graph = api.bank("GET", bank, "/entities/graph?tags=b&tags_match=any_strict").body
    assert "Alice Chen" not in str(graph)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "field"),
    [
        ("POST", "merge", {"entity_ids": []}, 422, "entity_ids"),
        ("POST", "merge", {"entity_ids": ["none"]}, 404, None),
        ("POST", "split", {"names": ["Nobody"]}, 422, "names"),
        ("POST", "aliases", {"name": " "}, 422, "name"),
        ("POST", "aliases", {"name": "Cyrus"}, 409, None),
        ("PATCH", "", {"canonical_name": "x" * 300}, 422, "canonical_name"),
        ("PATCH", "", {"canonical_name": "Cyrus"}, 409, None),
        ("DELETE", "aliases/Nobody", None, 422, "names"),
    ],
)
def test_what_can_t_be_said_of_names(
    api: Any, bank: str, method: str, path: str, body: Any, status: int, field: str | None
) -> None:
    api.retain(bank, "Ann Lee met Cyrus Webb in Oslo.", "Cyrus left.")
    entity = entities(api, bank)["Ann Lee"]["id"]
    answer = api.bank(method, bank, f"/entities/{entity}/{path}".rstrip("/"), body)
    assert answer.status == status, answer.body
    if field is not None:
        assert answer.body["detail"][0]["loc"][-1] == field


@pytest.mark.feature("R10")
def test_labels_become_entities_and_tags(api: Any, bank: str) -> None:
    mood = {"key": "mood", "values": [{"value": "happy"}, {"value": "sad"}], "tag": True}
    ticket = {"key": "ticket", "type": "text"}
    updates = {"entity_labels": [mood, ticket], "entities_allow_free_form": False}
    api.bank("PUT", bank, "", {})
    changed = api.bank("PATCH", bank, "/config", {"updates": updates})
    assert changed.status == 200, changed.body
    assert "entity_labels" not in changed.body.get("not_applied", [])
    api.retain(bank, {"content": "Ann was happy in Oslo. Ticket: AB-12", "tags": ["t"], "entities": [{"text": "Ann"}]})
    assert set(entities(api, bank)) == {"mood:happy", "ticket:AB-12", "Ann"}
    (memory,) = api.bank("GET", bank, "/memories/list").body["items"]
    assert memory["tags"] == ["t", "mood:happy"]
    found = api.recall(bank, "Oslo", tags=["mood:happy"], tags_match="any_strict").body["results"]
    assert len(found) == 1
    queued = api.retain(bank, "Bo was sad.", **{"async": True}).body["operation_id"]
    for _ in range(200):
        if api.bank("GET", bank, f"/operations/{queued}").body["status"] == "completed":
            break
    assert "mood:sad" in entities(api, bank)


@pytest.mark.feature("R10")
def test_a_vocabulary_that_can_t_be_read_is_refused(api: Any, bank: str) -> None:
    api.bank("PUT", bank, "", {})
    wrong = {"updates": {"entity_labels": [{"key": "mood", "type": "enum"}]}}
    refused = api.bank("PATCH", bank, "/config", wrong)
    assert refused.status == 422
    assert "entity_labels[0].type" in str(refused.body["detail"])
