"""Webhooks over HTTP: a real server, a real receiver, and the client's own API for webhooks."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hindsight_client import Hindsight
from hindsight_client_api import CreateWebhookRequest, UpdateWebhookRequest, WebhookHttpConfig
from hindsight_client_api.exceptions import ApiException, NotFoundException

from hindsight_server.testing.process import ServerProcess
from hindsight_server.testing.webhook_receiver import Received, Reply, WebhookReceiver

from .conftest import Api
from .test_forgotten_words import archive, in_files

pytestmark = pytest.mark.feature("O7")

ALL = ["retain.completed", "consolidation.completed", "memory_defense.triggered"]
SECRET = "a secret of the receiver"
LOOPBACK = {"HINDSIGHT_API_WEBHOOK_ALLOWED_HOSTS": "127.0.0.1"}
POLICY = {"memory_defense": {"enabled": True, "rules": [{"on": "sensitive_data", "action": "redact"}]}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that may call loopback and keeps what receivers answer."""
    environment = {**LOOPBACK, "HINDSIGHT_API_WEBHOOK_EXPOSE_RESPONSE_BODY": "true"}
    with ServerProcess(tmp_path_factory.mktemp("webhooks"), environment=environment) as started:
        yield started


@pytest.fixture
def own(server: ServerProcess) -> Api:
    return Api(server.url)


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with WebhookReceiver() as started:
        yield started


def register(api: Api, bank: str, url: str, **fields: Any) -> dict[str, Any]:
    made = api.bank("POST", bank, "/webhooks", {"url": url, "event_types": ALL, **fields})
    assert made.status == 201, made.body
    body: dict[str, Any] = made.body
    return body


def deliveries(api: Api, bank: str, webhook: dict[str, Any]) -> list[dict[str, Any]]:
    listed = api.bank("GET", bank, f"/webhooks/{webhook['id']}/deliveries?limit=200")
    assert listed.status == 200, listed.body
    items: list[dict[str, Any]] = listed.body["items"]
    return items


def ended(api: Api, bank: str, webhook: dict[str, Any], count: int = 1) -> list[dict[str, Any]]:
    """The deliveries, once so many have ended or failed an attempt."""
    for _ in range(200):
        items = deliveries(api, bank, webhook)
        if sum(one["last_attempt_at"] is not None for one in items) >= count:
            return items
        time.sleep(0.05)
    raise AssertionError(items)


# the endpoints


async def test_the_client_registers_lists_changes_and_deletes(server_url: str, bank: str) -> None:
    client = Hindsight(base_url=server_url, timeout=60)
    try:
        api = client.webhooks
        config = WebhookHttpConfig(timeout_seconds=5, headers={"X-Team": "a", "Authorization": "Bearer x"})
        asked = CreateWebhookRequest(url="https://hooks.example/x?a=1", secret=SECRET, http_config=config)
        made = await api.create_webhook(bank, asked)
        assert (made.bank_id, made.url, made.enabled) == (bank, "https://hooks.example/x?a=1", True)
        assert made.event_types == ["consolidation.completed"]
        assert (made.secret, made.http_config.headers) == (
            "********",
            {"X-Team": "a", "Authorization": "********"},
        )
        other = await api.create_webhook(bank, CreateWebhookRequest(url="http://93.184.216.34:8080"))
        assert (other.secret, other.http_config.timeout_seconds) == (None, 30)
        page = await api.list_webhooks(bank, limit=1)
        assert ([one.id for one in page.items], page.total, page.limit, page.offset) == ([made.id], 2, 1, 0)
        changed = await api.update_webhook(bank, made.id, UpdateWebhookRequest(enabled=False, event_types=ALL[:1]))
        assert (changed.enabled, changed.event_types, changed.secret) == (False, ALL[:1], "********")
        assert changed.http_config.headers == made.http_config.headers
        assert (await api.list_webhook_deliveries(bank, made.id)).items == []
        assert (await api.delete_webhook(bank, made.id)).success
        with pytest.raises(NotFoundException):
            await api.delete_webhook(bank, made.id)
        with pytest.raises(NotFoundException):
            await api.list_webhook_deliveries(bank, made.id)
        with pytest.raises(ApiException, match="422"):
            await api.create_webhook(bank, CreateWebhookRequest(url="http://169.254.169.254/latest/meta-data"))
    finally:
        await client.aclose()


def test_answers_are_as_the_contract_says(own: Api, bank: str, receiver: WebhookReceiver, conforms: Any) -> None:
    made = own.bank("POST", bank, "/webhooks", {"url": receiver.url, "event_types": ALL})
    conforms("create_webhook", made)
    own.retain(bank, "Ann: I moved to Oslo.")
    ended(own, bank, made.body)
    for operation, method, path, body in (
        ("list_webhooks", "GET", "", None),
        ("list_webhook_deliveries", "GET", f"/{made.body['id']}/deliveries", None),
        ("update_webhook", "PATCH", f"/{made.body['id']}", {"url": None, "http_config": None}),
        ("delete_webhook", "DELETE", f"/{made.body['id']}", None),
    ):
        conforms(operation, own.bank(method, bank, f"/webhooks{path}", body))


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, ["url"]),
        ({"url": "ftp://hooks.example/"}, ["url"]),
        ({"url": "https://u:p@hooks.example/"}, ["url"]),
        ({"url": "http://localhost:8888/"}, ["url"]),
        ({"url": "https://hooks.example/", "event_types": []}, ["event_types"]),
        ({"url": "https://hooks.example/", "event_types": ["retain"]}, ["event_types", 0]),
        ({"url": "https://hooks.example/", "secret": "********"}, ["secret"]),
        ({"url": "https://hooks.example/", "http_config": {"method": "PUT"}}, ["http_config", "method"]),
        ({"url": "https://hooks.example/", "http_config": {"timeout_seconds": 0}}, ["http_config", "timeout_seconds"]),
        ({"url": "https://hooks.example/", "http_config": {"headers": {"Host": "x"}}}, ["http_config", "headers"]),
        ({"url": "https://hooks.example/", "http_config": {"headers": {"X-A": "b\r\nc"}}}, ["http_config", "headers"]),
    ],
)
def test_what_is_no_webhook_is_refused_by_field(api: Api, bank: str, body: dict[str, Any], field: list[Any]) -> None:
    refused = api.bank("POST", bank, "/webhooks", body)
    assert (refused.status, refused.body["detail"][0]["loc"]) == (422, ["body", *field])
    assert "u:p" not in json.dumps(refused.body)
    assert api.bank("GET", bank, "/webhooks").status == 404


def test_secrets_that_are_shown_masked_can_be_sent_back(own: Api, bank: str, receiver: WebhookReceiver) -> None:
    config = {"headers": {"X-Api-Key": "k-123", "X-Team": "a"}, "params": {"token": "t-456", "sig": "s-789", "v": True}}
    made = register(own, bank, receiver.url, secret=SECRET, http_config=config)
    seen = {**made, "http_config": {**made["http_config"], "timeout_seconds": 9}}
    changed = own.bank("PATCH", bank, f"/webhooks/{made['id']}", seen)
    assert changed.status == 200, changed.body
    assert changed.body["http_config"]["timeout_seconds"] == 9
    for said in (made, changed.body, own.bank("GET", bank, "/webhooks").body):
        assert not [word for word in (SECRET, "k-123", "t-456", "s-789") if word in json.dumps(said)]
    own.retain(bank, "Ann: I moved to Oslo.")
    came = receiver.wait_for(1)[0]
    path = "/hook?token=t-456&sig=s-789&v=true"
    assert (came.headers["x-api-key"], came.headers["x-team"], came.path) == ("k-123", "a", path)
    check_signatures(came)
    cleared = own.bank("PATCH", bank, f"/webhooks/{made['id']}", {"secret": None})
    assert cleared.body["secret"] is None


def test_webhooks_of_banks_are_apart(own: Api, bank: str, receiver: WebhookReceiver) -> None:
    made = register(own, bank, receiver.url)
    other = f"{bank}/other"
    own.retain(other, "Bob: I live in Bergen.")
    for method, path in (("PATCH", ""), ("DELETE", ""), ("GET", "/deliveries")):
        assert own.bank(method, other, f"/webhooks/{made['id']}{path}", {}).status == 404
        assert own.bank(method, "nobody", f"/webhooks/{made['id']}{path}", {}).status == 404
    assert own.bank("GET", other, "/webhooks").body["items"] == []
    own.retain(bank, {"content": "Ann: I moved to Oslo.", "document_id": "d"})
    assert receiver.wait_for(1)[0].body["bank_id"] == bank


# what is told


def check_signatures(came: Received) -> None:
    def signed(message: bytes) -> str:
        return hmac.new(SECRET.encode(), message, hashlib.sha256).hexdigest()

    assert came.headers["x-hindsight-signature"] == f"sha256={signed(came.raw)}"
    assert came.headers["x-hub-signature-256"] == came.headers["x-hindsight-signature"]
    stamp, _, signature = came.headers["x-hindsight-signature-v2"].partition(",")
    assert abs(int(stamp.removeprefix("t=")) - time.time()) < 60
    assert signature == f"v1={signed(stamp.removeprefix('t=').encode() + b'.' + came.raw)}"


@pytest.mark.feature("R7")
def test_each_document_of_a_retain_is_told_of_and_signed(own: Api, bank: str, receiver: WebhookReceiver) -> None:
    made = register(own, bank, receiver.url, secret=SECRET)
    items = [
        {"content": "Ann: I moved to Oslo.\nBob: I stay in Bergen.", "document_id": "talk", "tags": ["städte"]},
        {"content": "ok", "document_id": "noise"},
    ]
    assert own.retain(bank, *items).status == 200
    came = {one.body["data"]["document_id"]: one for one in receiver.wait_for(2)}
    assert {name: one.body["data"] for name, one in came.items()} == {
        "talk": {"document_id": "talk", "memory_unit_count": 2, "tags": ["städte"]},
        "noise": {"document_id": "noise", "memory_unit_count": 0, "tags": []},
    }
    for one in came.values():
        assert set(one.body) == {"event", "event_id", "bank_id", "status", "timestamp", "data"}, (
            "null fields are left out"
        )
        assert (one.method, one.headers["content-type"]) == ("POST", "application/json")
        assert one.headers["x-hindsight-event"] == one.body["event"] == "retain.completed"
        assert one.headers["x-hindsight-event-id"] == one.body["event_id"]
        check_signatures(one)
    done = ended(own, bank, made, 2)
    assert {one["id"] for one in done} == {one.headers["x-hindsight-delivery-id"] for one in came.values()}
    assert {(one["status"], one["attempts"], one["last_response_status"]) for one in done} == {("completed", 1, 200)}
    assert {one["webhook_id"] for one in done} == {made["id"]}


def test_an_asynchronous_retain_is_told_of_once_it_is_done(own: Api, bank: str, receiver: WebhookReceiver) -> None:
    register(own, bank, receiver.url)
    stored = own.retain(bank, {"content": "Ann: I moved to Oslo.", "document_id": "d"}, **{"async": True})
    told = receiver.wait_for(1)[0].body
    assert (told["operation_id"], told["data"]["memory_unit_count"]) == (stored.body["operation_id"], 1)


@pytest.mark.feature("R15")
def test_memory_defence_and_consolidation_are_told_of(own: Api, bank: str, receiver: WebhookReceiver) -> None:
    config = {**POLICY, "enable_auto_consolidation": True}
    register(own, bank, receiver.url)
    assert own.bank("PATCH", bank, "/config", {"updates": config}).status == 200
    own.retain(bank, {"content": "Ann: write to ann@example.org about Oslo.", "document_id": "d"})
    came = {one.body["event"]: one.body for one in receiver.wait_for(3)}
    assert set(came) == set(ALL)
    kept = own.bank("GET", bank, "/security-events").body["items"][0]
    assert came["memory_defense.triggered"]["event_id"] == kept["id"]
    assert came["memory_defense.triggered"]["data"]["findings"] == [{"label": "email", "count": 1}]
    assert "ann@example.org" not in json.dumps(came)
    assert came["consolidation.completed"]["status"] == "completed"
    assert came["consolidation.completed"]["data"]["memories_processed"] == 1


@pytest.mark.feature("R17")
def test_what_was_forgotten_is_in_no_delivery(
    own: Api, server: ServerProcess, bank: str, receiver: WebhookReceiver
) -> None:
    receiver.reply = lambda received: Reply(body=b"noted: the zorblequat of vrimblewick")
    made = register(own, bank, receiver.url)
    other = register(own, bank, "http://127.0.0.1:9/")
    item = {"content": "Ann: The zorblequat is in Oslo.", "document_id": "d", "tags": ["zorblequat"]}
    own.retain(bank, item, {"content": "Bob: I live in Bergen.", "document_id": "e"})
    assert "zorblequat" in json.dumps([one["last_response_body"] for one in ended(own, bank, made, 2)])
    ended(own, bank, other, 2)
    words = ("zorblequat", "vrimblewick")
    assert in_files(server.folder, words) == set(words)
    assert own.bank("POST", bank, "/memories/forget", {"document_ids": ["d"]}).status == 200
    assert in_files(server.folder, words) == set()
    assert {one["status"] for one in deliveries(own, bank, other)} == {"pending"}
    assert own.bank("DELETE", bank).status == 200
    assert own.bank("GET", bank, f"/webhooks/{made['id']}/deliveries").status == 404


def test_webhooks_are_in_no_archive_and_in_no_clone(own: Api, bank: str, receiver: WebhookReceiver) -> None:
    register(own, bank, f"{receiver.url}/of-this-bank", secret=SECRET)
    own.retain(bank, "Ann: I moved to Oslo.")
    receiver.wait_for(1)
    held = archive(own, bank)
    assert "Oslo" in held
    assert not [word for word in (SECRET, "of-this-bank", "webhook") if word in held]
    job = own.bank("POST", bank, f"/clone?target_bank_id={bank}-copy").body["operation_id"]
    for _ in range(200):
        if own.bank("GET", bank, f"/operations/{job}").body["status"] == "completed":
            break
        time.sleep(0.05)
    copied = own.bank("GET", f"{bank}-copy", "/webhooks")
    assert (copied.status, copied.body["items"]) == (200, [])
    assert len(receiver.received()) == 1, "a copy tells nobody of its documents"


def test_attempts_are_counted(own: Api, bank: str, receiver: WebhookReceiver) -> None:
    made = register(own, bank, receiver.url)
    own.retain(bank, "Ann: I moved to Oslo.")
    ended(own, bank, made)
    assert (
        'hindsight_webhook_attempts_total{event="retain.completed",outcome="completed"}' in own("GET", "/metrics").body
    )


# what goes wrong


def test_a_receiver_that_refuses_is_asked_again_with_the_same_event(
    own: Api, bank: str, receiver: WebhookReceiver
) -> None:
    answers = iter([Reply(status=302, headers={"Location": "/elsewhere"}, body=b"x" * 9000)])
    receiver.reply = lambda received: next(answers, Reply(status=204))
    made = register(own, bank, receiver.url)
    own.retain(bank, {"content": "Ann: I moved to Oslo.", "document_id": "d"})
    failed = ended(own, bank, made)[0]
    assert (failed["status"], failed["attempts"], failed["last_response_status"]) == ("pending", 1, 302)
    assert failed["last_error"] == "the receiver answered 302; redirects are not followed"
    assert failed["last_response_body"] == "x" * 4096
    assert failed["next_retry_at"] is not None
    first, second = receiver.wait_for(2)
    assert second.path == "/hook"
    for header in ("x-hindsight-event-id", "x-hindsight-delivery-id"):
        assert first.headers[header] == second.headers[header]
    assert first.raw == second.raw


def test_a_receiver_that_hangs_holds_up_neither_retain_nor_others(
    own: Api, bank: str, receiver: WebhookReceiver
) -> None:
    with WebhookReceiver() as hanging:
        hanging.reply = lambda received: Reply(seconds=60)
        made = register(own, bank, hanging.url, http_config={"timeout_seconds": 120})
        for number in range(20):
            stored = own.retain(bank, {"content": "Ann: I moved to Oslo.", "document_id": f"d{number}"})
            assert stored.status == 200
        hanging.wait_for(1)
        register(own, bank, receiver.url)
        late = own.retain(bank, {"content": "Bob: I live in Bergen.", "document_id": "late"}, **{"async": True})
        assert receiver.wait_for(1)[0].body["operation_id"] == late.body["operation_id"]
        assert len(hanging.received()) == 1, "it has not answered yet"
        assert own.bank("DELETE", bank, f"/webhooks/{made['id']}").status == 200


def test_many_receivers_that_hang_leave_slots_for_one_that_answers(
    own: Api, bank: str, receiver: WebhookReceiver
) -> None:
    """There are more of them than slots, and each attempt takes all of its time."""
    with WebhookReceiver() as hanging:
        hanging.reply = lambda received: Reply(seconds=60)
        for _ in range(40):
            register(own, bank, hanging.url, http_config={"timeout_seconds": 1})
        items = [{"content": "Ann: I moved to Oslo.", "document_id": f"d{number}"} for number in range(12)]
        assert own.retain(bank, *items).status == 200
        hanging.wait_for(1)
        healthy = f"{bank}-healthy"
        register(own, healthy, receiver.url)
        own.retain(healthy, "Bob: I live in Bergen.")
        assert receiver.wait_for(1)[0].body["bank_id"] == healthy
        assert len(hanging.received()) < 40 * 12 / 2, "what was due before was not waited for"
        for name in (bank, healthy):
            assert own.bank("DELETE", name, "").status == 200


def test_a_killed_server_tells_after_its_restart_what_it_had_stored(tmp_path: Path) -> None:
    receiver = WebhookReceiver()
    receiver.reply = lambda received: Reply(seconds=60)
    with receiver, ServerProcess(tmp_path, environment=LOOPBACK) as server:
        api = Api(server.url)
        register(api, "b", receiver.url)
        items = [{"content": "Ann: I moved to Oslo.", "document_id": f"d{number}"} for number in range(8)]
        assert api.retain("b", *items[:5]).status == 200
        before = {one.headers["x-hindsight-event-id"] for one in receiver.wait_for(1)}
        assert api.retain("b", *items[5:], **{"async": True}).status == 200
        server.kill()
        receiver.reply = lambda received: Reply()
        server.start()
        webhook = api.bank("GET", "b", "/webhooks").body["items"][0]
        for _ in range(200):
            listed = deliveries(api, "b", webhook)
            if [one["status"] for one in listed] == ["completed"] * 8:
                break
            time.sleep(0.05)
        assert [one["status"] for one in listed] == ["completed"] * 8
        told = {one.headers["x-hindsight-event-id"]: one.body["data"]["document_id"] for one in receiver.received()}
        assert sorted(told.values()) == [f"d{number}" for number in range(8)]
        assert before <= set(told)
        assert {one["attempts"] for one in listed} == {1, 2}


def test_the_receiver_of_the_settings_is_told_of_every_bank(tmp_path: Path, receiver: WebhookReceiver) -> None:
    environment = {
        **LOOPBACK,
        "HINDSIGHT_API_WEBHOOK_URL": receiver.url,
        "HINDSIGHT_API_WEBHOOK_SECRET": SECRET,
        "HINDSIGHT_API_WEBHOOK_EVENT_TYPES": "retain.completed, memory_defense.triggered",
        "HINDSIGHT_API_TENANT_API_KEY": "k",
    }
    with ServerProcess(tmp_path, environment=environment) as server:
        api, key = Api(server.url), {"authorization": "Bearer k"}
        for bank in ("a", "b"):
            body = {"items": [{"content": "Ann: I moved to Oslo."}]}
            assert api("POST", f"/v1/default/banks/{bank}/memories", body, key).status == 200
        came = receiver.wait_for(2)
        assert {one.body["bank_id"] for one in came} == {"a", "b"}
        check_signatures(came[0])
        assert api("GET", "/v1/default/banks/a/webhooks").status == 401
        assert api("GET", "/v1/default/banks/a/webhooks", headers=key).body["items"] == []
        log = server.log.read_text()
        assert SECRET not in log
        assert receiver.url not in log
