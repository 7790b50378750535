"""`hindsight directive ...` as processes against a real server."""

from __future__ import annotations

from uuid import uuid4

import pytest

from .test_entity import Command


@pytest.mark.feature("O2")
@pytest.mark.feature("F4")
def test_rules_are_added_changed_listed_and_deleted(server_url: str) -> None:
    run, bank = Command(server_url), f"bank {uuid4().hex[:8]}"
    made = run("directive", "create", bank, "tone", "Be brief.", "--priority", "4", "--tag", "a", "--tag", "b c")
    assert (made["priority"], made["tags"]) == (4, ["a", "b c"])
    assert run("directive", "update", bank, made["id"], "--inactive", "--content", "Be long.")["content"] == "Be long."
    assert run("directive", "list", bank)["items"] == []
    assert [one["id"] for one in run("directive", "list", bank, "--all", "--tag", "b c")["items"]] == [made["id"]]
    assert run("directive", "delete", bank, made["id"])["success"]
    assert "not found" in run("directive", "delete", bank, made["id"], code=1)
