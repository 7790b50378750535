"""The headers of a delivery."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hindsight_server.domain.webhooks.signing import event_headers
from hindsight_server.domain.webhooks.types import HttpConfig, Webhook, check_config, unmasked

pytestmark = pytest.mark.feature("O7")

IDS = {"event_type": "retain.completed", "event_id": "e", "delivery_id": "d"}


def test_signatures_are_those_of_known_values() -> None:
    body = b"The quick brown fox jumps over the lazy dog"
    headers = event_headers(body, **IDS, secret="key", unix_time=1_700_000_000)
    known = "sha256=f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8"
    assert headers["X-Hindsight-Signature"] == headers["X-Hub-Signature-256"] == known
    # openssl dgst -sha256 -hmac key, of "1700000000." and the body
    timed = "2f658d6aef4f246e91cd741bbcded7479e9605f9d41c9e248122a117e0e1765b"
    assert headers["X-Hindsight-Signature-V2"] == f"t=1700000000,v1={timed}"


def test_without_a_secret_nothing_is_signed() -> None:
    headers = event_headers(b"{}", **IDS, secret=None, unix_time=0)
    assert sorted(headers) == ["X-Hindsight-Delivery-Id", "X-Hindsight-Event", "X-Hindsight-Event-Id"]


def test_masks_are_replaced_by_what_they_stand_for() -> None:
    held = HttpConfig(headers={"Authorization": "Bearer x", "X-A": "1"}, params={"token": "t"})
    given = HttpConfig(method="get", headers={"Authorization": "********", "X-A": "2"}, params={"token": "new"})
    config = check_config(unmasked(given, held))
    assert (config.method, config.headers, config.params) == (
        "GET",
        {"Authorization": "Bearer x", "X-A": "2"},
        {"token": "new"},
    )


def test_no_dump_of_a_webhook_holds_its_secrets() -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    config = HttpConfig(headers={"X-Api-Key": "hidden-1"}, params={"token": "hidden-2"})
    one = Webhook(
        webhook_id="w",
        url="https://h.example/hidden-3",
        secret="hidden-4",
        http_config=config,
        created_at=now,
        updated_at=now,
    )
    assert "hidden" not in repr(one)
