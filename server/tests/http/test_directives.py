"""Directives over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.feature("F4")


def add(api: Any, bank: str, name: str, **fields: Any) -> Any:
    made = api.bank("POST", bank, "/directives", {"name": name, "content": f"rule {name}", **fields})
    assert made.status == 200, made.body
    return made.body


def names(api: Any, bank: str, query: str = "") -> list[str]:
    return [row["name"] for row in api.bank("GET", bank, f"/directives{query}").body["items"]]


def test_they_are_listed_by_priority_and_by_the_scope_they_hold_for(api: Any, bank: str) -> None:
    add(api, bank, "later")
    add(api, bank, "first", priority=5)
    add(api, bank, "a", tags=["a"], priority=-1)
    add(api, bank, "ab", tags=["a", "b"], priority=-2)
    assert names(api, bank) == ["first", "later", "a", "ab"]
    assert names(api, bank, "?tags=b") == ["first", "later", "ab"]
    assert names(api, bank, "?tags=a&tags=b&tags_match=all") == ["first", "later", "ab"]
    assert names(api, bank, "?tags=a&tags_match=exact") == ["first", "later", "a"]
    page = api.bank("GET", bank, "/directives?limit=1&offset=1").body
    assert ([row["name"] for row in page["items"]], page["total"]) == (["later"], 4)


def test_one_that_is_not_active_is_listed_only_when_asked_for(api: Any, bank: str) -> None:
    made = add(api, bank, "x")
    assert api.bank("PATCH", bank, f"/directives/{made['id']}", {"is_active": False}).status == 200
    assert names(api, bank) == []
    assert names(api, bank, "?active_only=false") == ["x"]


def test_a_change_leaves_what_it_does_not_name(api: Any, bank: str) -> None:
    made = add(api, bank, "x", tags=["t"], priority=2)
    changed = api.bank("PATCH", bank, f"/directives/{made['id']}", {"content": "new", "tags": None}).body
    assert {**made, "content": "new", "updated_at": changed["updated_at"]} == changed
    assert changed["updated_at"] > made["updated_at"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": " ", "content": "x"}, "name"),
        ({"name": "x", "content": ""}, "content"),
        ({"name": "x", "content": "y" * 10_001}, "content"),
        ({"name": "x" * 201, "content": "y"}, "name"),
        ({"name": "x", "content": "y", "priority": 10**15}, "priority"),
        ({"name": "x", "content": "y", "tags": [" "]}, "tags"),
        ({"content": "y"}, "name"),
    ],
)
def test_what_is_no_rule_is_refused_by_field(api: Any, bank: str, body: dict[str, Any], field: str) -> None:
    refused = api.bank("POST", bank, "/directives", body)
    assert (refused.status, refused.body["detail"][0]["loc"][1]) == (422, field)
    assert api.bank("GET", bank, "/directives").status == 404


def test_unknown_banks_and_directives_are_404(api: Any, bank: str) -> None:
    assert api.bank("GET", bank, "/directives").status == 404
    add(api, bank, "x")
    for method, body in (("GET", None), ("PATCH", {"name": "y"}), ("DELETE", None)):
        assert api.bank(method, bank, "/directives/nobody", body).status == 404
    assert api.bank("GET", bank, "/directives?limit=0").status == 422


def test_they_go_with_their_bank(api: Any, bank: str) -> None:
    add(api, bank, "x")
    assert api.bank("DELETE", bank).status == 200
    add(api, bank, "y")
    assert names(api, bank) == ["y"]
