"""What becomes part of an address: names that would lead elsewhere, redirects, and secrets in the server's own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from core_subject import CONFIG, PACKAGE
from hindsight_client import Hindsight

from hindsight_adapter_core import (
    Deadlines,
    MemoryOptions,
    MissingBankError,
    OperationError,
    SettingsError,
    open_memory,
    resolve_connection,
    safe_url,
)
from hindsight_adapter_core.testing import FakeHindsight

pytestmark = pytest.mark.feature("K1")


@pytest.fixture
def moving() -> Iterator[tuple[str, list[str]]]:
    """A server that redirects whatever it is asked to a bank, and what it was asked."""
    asked: list[str] = []

    class Moving(BaseHTTPRequestHandler):
        def do_any(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            asked.append(f"{self.command} {self.path}")
            self.send_response(307 if "documents" in self.path or "memories" in self.path else 200)
            self.send_header("location", "/v1/default/banks/shelf")
            self.send_header("content-length", "0")
            self.end_headers()

        do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = do_any

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Moving)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("name", [".", ".."])
def test_a_name_that_means_another_place_is_refused_by_name_before_anything_is_sent(
    server: FakeHindsight, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SettingsError, match="bank_id must not be"):
        MemoryOptions(bank_id=name)
    with pytest.raises(SettingsError, match="retain_document_id must not be"):
        MemoryOptions(retain_document_id=name)
    memory = open_memory(PACKAGE, MemoryOptions(bank_id="shelf", hindsight_api_url=server.url))
    with pytest.raises(SettingsError, match="bank_id must not be"):
        memory.recall("anything", bank_id=name)
    with pytest.raises(SettingsError, match="document_id must not be"):
        memory.retain("anything", document_id=name)
    with pytest.raises(SettingsError, match="document_id must not be"):
        memory.documents.delete(name)
    with pytest.raises(SettingsError, match="document_id must not be"):
        memory.documents.text(name)
    assert "bank_id must not be" in memory.answer("retain", "anything", bank_id=name)
    monkeypatch.setenv("HINDSIGHT_BANK_ID", name)
    with pytest.raises(SettingsError, match="bank_id must not be"):
        open_memory(PACKAGE, MemoryOptions(hindsight_api_url=server.url)).recall("anything")
    assert server.requests == []


@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_name_leads_neither_to_all_documents_nor_to_the_configured_bank(
    server: FakeHindsight, blank: str
) -> None:
    memory = open_memory(PACKAGE, MemoryOptions(bank_id="shelf", hindsight_api_url=server.url))
    with pytest.raises(SettingsError, match="document_id must be a non-empty string"):
        memory.documents.delete(blank)
    with pytest.raises(MissingBankError, match="blank bank_id"):
        memory.recall("anything", bank_id=blank)
    assert server.requests == []


@pytest.mark.parametrize("name", ["a/b", "../..", "...", "a?b#c", "%2e%2e", " .."])
def test_any_other_name_arrives_as_it_is(server: FakeHindsight, name: str) -> None:
    memory = open_memory(PACKAGE, MemoryOptions(hindsight_api_url=server.url))
    memory.retain("Ada likes tea.", bank_id=name)
    assert [request.bank_id for request in server.requests_for("retain")] == [name]


def test_a_write_goes_to_no_other_place_when_the_server_redirects_it(moving: tuple[str, list[str]]) -> None:
    url, asked = moving
    memory = open_memory(PACKAGE, MemoryOptions(bank_id="shelf", hindsight_api_url=url, deadlines=Deadlines(retain=5)))
    with pytest.raises(OperationError, match=r"redirects to /v1/default/banks/shelf.*HINDSIGHT_API_URL"):
        memory.documents.delete("monday")
    with pytest.raises(OperationError, match="redirects"):
        memory.retain("Ada likes tea.")
    assert [one.split("/")[0] for one in asked] == ["DELETE ", "POST "]
    memory.close()


def test_a_client_of_the_callers_that_repeats_by_itself_is_kept_in_place_too(moving: tuple[str, list[str]]) -> None:
    url, asked = moving
    with Hindsight(base_url=url) as client:
        client._api_client.configuration.retries = 2
        memory = open_memory(PACKAGE, MemoryOptions(bank_id="shelf"), client=client)
        with pytest.raises(OperationError, match="redirects"):
            memory.documents.delete("monday")
        memory.close()
    assert asked == ["DELETE /v1/default/banks/shelf/documents/monday"]


def test_what_only_reads_follows_a_redirect(moving: tuple[str, list[str]]) -> None:
    url, asked = moving
    memory = open_memory(PACKAGE, MemoryOptions(bank_id="shelf", hindsight_api_url=url))
    with pytest.raises(OperationError):  # what it is led to is no document
        memory.documents.text("monday")
    assert [one.split(" ")[0] for one in asked] == ["GET", "GET"]
    memory.close()


def test_what_the_query_of_an_address_says_is_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    url = "http://ada:pass-1@127.0.0.1:9/?token=secret-2&secret-3#secret-4"
    assert safe_url(url) == "http://127.0.0.1:9/?token=***&***"
    options = MemoryOptions(bank_id="shelf", hindsight_api_url=url, deadlines=Deadlines(recall=0.2))
    caplog.set_level(logging.DEBUG)
    memory = open_memory(PACKAGE, options)
    with pytest.raises(OperationError):
        memory.recall("anything")
    shown = f"{options!r} {memory!r} {memory.handle.explain()} {resolve_connection(url, None, None)!r} {caplog.text}"
    assert "token=***" in shown
    assert "secret-" not in shown
    assert "pass-1" not in shown
    memory.close()


def test_white_space_about_an_address_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve_connection(" http://127.0.0.1:9 ", None, None).url == "http://127.0.0.1:9"
    monkeypatch.setenv("HINDSIGHT_API_URL", "http://127.0.0.1:9\n")
    assert resolve_connection(None, None, CONFIG.configure()).url == "http://127.0.0.1:9"


def test_an_address_with_a_password_and_a_key_are_refused_together() -> None:
    url = "http://ada:pass-1@127.0.0.1:9"
    config = CONFIG.configure(api_key="key-2")
    with pytest.raises(SettingsError, match=r"\(from argument\) holds a user name .* \(from configure") as refused:
        resolve_connection(url, None, config)
    assert "pass-1" not in str(refused.value)
    assert "key-2" not in str(refused.value)
    assert resolve_connection(url, None, None).url == url
    assert resolve_connection("http://127.0.0.1:9/@me", "key-2", None).api_key == "key-2"
