"""`hindsight webhook ...` as processes against a real server."""

from __future__ import annotations

from uuid import uuid4

import pytest

from .test_entity import Command


@pytest.mark.feature("O2")
@pytest.mark.feature("O7")
def test_webhooks_are_registered_changed_listed_and_deleted(server_url: str) -> None:
    run, bank = Command(server_url), f"bank {uuid4().hex[:8]}"
    url = "https://hooks.example/x"
    made = run(
        *("webhook", "create", bank, url, "--event", "retain.completed", "--event", "consolidation.completed"),
        *("--secret", "s3cret", "--header", "X-Team: a b", "--disabled", "--timeout", "7"),
    )
    assert (made["event_types"], made["enabled"]) == (["retain.completed", "consolidation.completed"], False)
    assert made["http_config"] == {"method": "POST", "timeout_seconds": 7, "headers": {"X-Team": "a b"}, "params": {}}
    changed = run("webhook", "update", bank, made["id"], "--enable", "--event", "retain.completed")
    assert (changed["enabled"], changed["event_types"], changed["secret"]) == (True, ["retain.completed"], "********")
    assert run("webhook", "list", bank)["items"] == [changed]
    run("webhook", "update", bank, made["id"], "--disable")
    assert run("webhook", "deliveries", bank, made["id"]) == {"items": [], "next_cursor": None}
    assert run("webhook", "delete", bank, made["id"])["success"]
    assert "not found" in run("webhook", "delete", bank, made["id"], code=1)
    assert "not public" in run("webhook", "create", bank, "http://127.0.0.1:8888/", code=1)
    assert "Name: value" in run("webhook", "create", bank, url, "--header", "X-Team", code=2)
