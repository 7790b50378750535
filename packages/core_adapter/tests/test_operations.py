from __future__ import annotations

import asyncio
import copy
import email.utils
import os
import pickle
import ssl
import time
import traceback
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest
from core_subject import CONFIG, PACKAGE
from hindsight_client import Hindsight
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_adapter_core import (
    ConcealedError,
    Deadlines,
    HindsightError,
    MemoryOptions,
    OperationError,
    OperationTimeoutError,
    SettingsError,
    dump_options,
    get_bridge,
    load_options,
    open_memory,
    safe_url,
    scrub,
)
from hindsight_adapter_core.bank import ensure_bank, means_exists
from hindsight_adapter_core.retry import retry_after_seconds
from hindsight_adapter_core.testing import FakeHindsight


def memory_at(server: FakeHindsight, **options: Any) -> Any:
    return open_memory(PACKAGE, MemoryOptions(bank_id="b", hindsight_api_url=server.url, **options))


@pytest.mark.feature("K2")
class TestClients:
    def test_built_client_has_the_user_agent_and_the_timeout(self, server: FakeHindsight) -> None:
        memory = memory_at(server)
        assert memory.handle.client._timeout == 30.0
        memory.retain("x")
        assert server.requests[-1].headers["User-Agent"].startswith("hindsight-subject/9.9.9")

    def test_the_class_may_be_replaced_by_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import core_subject._client

        built = MagicMock()
        monkeypatch.setattr(core_subject._client, "Hindsight", built, raising=False)
        open_memory(PACKAGE, MemoryOptions(bank_id="b", hindsight_api_url="http://h"), api_key="k")
        built.assert_called_once_with(
            base_url="http://h", timeout=30.0, user_agent="hindsight-subject/9.9.9", api_key="k"
        )

    def test_a_given_client_used_on_another_loop_still_works_and_is_left_alone(self, server: FakeHindsight) -> None:
        server.remember("b", "dark mode")
        client = Hindsight(base_url=server.url, api_key="given-key", timeout=5.0, user_agent="mine/1")
        memory = open_memory(PACKAGE, MemoryOptions(bank_id="b"), client=client)

        async def on_own_loop() -> list[str]:
            before = await client.arecall(bank_id="b", query="mode")
            between = await memory.arecall("mode")
            after = await client.arecall(bank_id="b", query="mode")
            await client.aclose()
            return [before.results[0].text, between.texts[0], after.results[0].text]

        assert asyncio.run(on_own_loop()) == ["dark mode"] * 3
        assert memory.recall("mode").texts == ["dark mode"]
        assert {r.headers["Authorization"] for r in server.requests} == {"Bearer given-key"}
        assert all(r.headers["User-Agent"].startswith("mine/1") for r in server.requests)

    def test_a_further_client_reads_no_certificates(
        self, server: FakeHindsight, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        memory_at(server).retain("x")
        read = MagicMock(side_effect=ssl.create_default_context)
        monkeypatch.setattr(ssl, "create_default_context", read)
        memory_at(server).retain("y")
        assert len(server.requests) >= 2
        assert read.call_count == 0

    def test_a_request_asks_no_other_thread(self, server: FakeHindsight, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", "/no such home")
        for name in [name for name in os.environ if name.lower().endswith("_proxy") or name == "NETRC"]:
            monkeypatch.delenv(name)
        memory = memory_at(server)
        asked: list[Any] = []
        hop = asyncio.SelectorEventLoop.run_in_executor

        def noted(loop: Any, executor: Any, work: Any, *arguments: Any) -> Any:
            asked.append(work)
            return hop(loop, executor, work, *arguments)

        monkeypatch.setattr(asyncio.SelectorEventLoop, "run_in_executor", noted)
        memory.retain("x")
        memory.recall("x")
        assert asked == []

    def test_a_proxy_of_the_environment_is_used(self, server: FakeHindsight, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("http_proxy", server.url)
        memory = open_memory(PACKAGE, MemoryOptions(bank_id="b", hindsight_api_url="http://memory.invalid:8888"))
        assert memory.retain("through the proxy").items == 1
        assert server.requests[-1].headers["Host"] == "memory.invalid:8888"

    def test_passwords_of_the_environment_are_used(
        self, server: FakeHindsight, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        passwords = tmp_path / "netrc"
        passwords.write_text("machine 127.0.0.1 login ann password secret\n")
        passwords.chmod(0o600)
        monkeypatch.setenv("NETRC", str(passwords))
        memory_at(server).retain("x")
        assert server.requests[-1].headers["Authorization"].startswith("Basic ")

    def test_settings_of_tls_are_the_clients_own(self, server: FakeHindsight, tmp_path: Path) -> None:
        client = Hindsight(base_url=server.url)
        client._api_client.configuration.ssl_ca_cert = str(tmp_path / "none.pem")
        with pytest.raises(HindsightError):
            open_memory(PACKAGE, MemoryOptions(bank_id="b"), client=client).retain("x")

    def test_a_stub_is_used_as_it_is(self) -> None:
        stub = MagicMock()
        stub.aretain = AsyncMock()
        stub.arecall = AsyncMock(return_value=SimpleNamespace(results=[SimpleNamespace(text="a fact")]))
        memory = open_memory(PACKAGE, MemoryOptions(bank_id="b", recall_tags=["t"]), client=stub)
        assert memory.answer("retain", "x") == "Memory stored successfully."
        assert memory.answer("recall", "x") == "1. a fact"
        stub.arecall.assert_awaited_once_with(
            bank_id="b", query="x", budget="mid", max_tokens=4096, tags=["t"], tags_match="any"
        )
        assert "operation_id" not in stub.aretain.await_args.kwargs

    def test_a_sync_only_stub_works_too(self) -> None:
        stub = MagicMock(spec=["retain"])
        memory = open_memory(PACKAGE, MemoryOptions(bank_id="b"), client=stub)
        assert memory.answer("retain", "x") == "Memory stored successfully."
        assert stub.retain.call_args.kwargs["content"] == "x"

    @pytest.mark.skipif(not hasattr(Hindsight, "suspend_retains"), reason="clients before 1.1 cannot suspend retains")
    def test_suspended_retains_send_nothing(self, server: FakeHindsight) -> None:
        client = Hindsight(base_url=server.url)
        memory = open_memory(PACKAGE, MemoryOptions(bank_id="b"), client=client)
        with client.suspend_retains():
            assert memory.retain("x").items == 0
        assert server.requests == []
        assert memory.retain("x").items == 1

    def test_deadlines_may_exceed_the_clients_own_timeout(self, server: FakeHindsight) -> None:
        assert memory_at(server, deadlines=Deadlines(reflect=120)).settings.deadlines.reflect == 120


@pytest.mark.feature("K8")
class TestRetries:
    def test_retry_after_is_read_as_seconds_and_as_date(self) -> None:
        now = datetime.now(UTC).replace(microsecond=0)
        for raw, seconds in (
            ("3", 3.0),
            ("0.5", 0.5),
            ("-1", 0.0),
            (email.utils.format_datetime(now + timedelta(seconds=7), usegmt=True), 7.0),
            (email.utils.format_datetime(now - timedelta(seconds=7), usegmt=True), 0.0),
            ("soon", None),
            ("inf", None),
            ("Mon, 01 Jan 2024 00:00:00 +99999999999999999999", None),
            (None, None),
        ):
            error: Any = Exception()
            error.headers = {"Retry-After": raw}
            assert retry_after_seconds(error, now=now) == seconds

    def test_reads_are_repeated_after_a_lost_connection(self, server: FakeHindsight) -> None:
        server.remember("b", "dark mode")
        server.drop("recall")
        server.fail("recall", status=502)
        assert memory_at(server).recall("mode").texts == ["dark mode"]
        assert len(server.requests_for("recall")) == 3

    def test_a_client_that_is_closed_between_two_tries_opens_again(self, server: FakeHindsight) -> None:
        memory = memory_at(server)
        server.fail("retain", status=503, headers={"Retry-After": "1"})
        with ThreadPoolExecutor(1) as pool:
            stored = pool.submit(memory.retain, "x")
            while not server.requests:
                time.sleep(0.01)
            memory.close()
            assert stored.result().items == 1
        assert server.texts("b") == ["x"]

    def test_a_wait_beyond_the_deadline_is_not_begun(self, server: FakeHindsight) -> None:
        server.fail("recall", status=429, headers={"Retry-After": "3600"})
        with pytest.raises(OperationError, match="429"):
            memory_at(server).recall("x")
        assert len(server.requests) == 1

    def test_bad_requests_are_not_repeated(self, server: FakeHindsight) -> None:
        server.fail("recall", status=422, detail="bad budget")
        with pytest.raises(OperationError, match=r"Failed to search memory: .*422.*bad budget"):
            memory_at(server).recall("x")
        assert len(server.requests) == 1

    async def test_cancelling_ends_the_wait(self, server: FakeHindsight) -> None:
        server.fail("recall", status=503, headers={"Retry-After": "1"}, times=10)
        task = asyncio.create_task(memory_at(server).arecall("x"))
        await asyncio.sleep(0.5)
        assert len(server.requests) == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(1.3)
        assert len(server.requests) == 1

    def test_a_dead_server_is_reported(self) -> None:
        memory = open_memory(PACKAGE, MemoryOptions(bank_id="b", hindsight_api_url="http://127.0.0.1:9"))
        answer = memory.answer("recall", "x")
        assert answer.startswith("Failed to search memory: ClientConnectorError: cannot reach 127.0.0.1:")
        assert "`hindsight serve`" in answer
        assert "HINDSIGHT_API_URL" in answer

    def test_a_wrong_key_a_wrong_address_and_a_wrong_scheme_are_told_with_the_remedy(
        self, server: FakeHindsight
    ) -> None:
        memory = memory_at(server)
        server.fail("recall", status=401, detail="Missing or wrong API key.")
        told = "HTTP 401 Unauthorized: Missing or wrong API key. Set HINDSIGHT_API_KEY, or give api_key."
        assert memory.answer("recall", "x").endswith(told)
        server.fail("retain", status=404, detail="Not Found")
        told = "HTTP 404 Not Found: Not Found; is HINDSIGHT_API_URL the address of a memory server?"
        assert memory.answer("retain", "x").endswith(told)
        options = MemoryOptions(bank_id="b", hindsight_api_url=server.url.replace("http:", "https:"))
        answer = open_memory(PACKAGE, options).answer("recall", "x")
        assert "no TLS with 127.0.0.1:" in answer
        assert "hindsight serve" not in answer

    def test_deleting_a_document_has_the_time_of_other_calls(self, server: FakeHindsight) -> None:
        memory = memory_at(server, deadlines=Deadlines(retain=0.1, recall=0.1, other=5))
        server.remember("b", "x")
        server.delay("other", 0.3)
        memory.documents.delete("d")
        memory = memory_at(server, deadlines=Deadlines(other=0.1))
        server.delay("other", 5)
        with pytest.raises(OperationTimeoutError, match=r"after 0\.1 s"):
            memory.documents.delete("d")


@pytest.mark.feature("K6")
class TestWrites:
    def test_a_timed_out_write_says_that_it_may_have_happened(self, server: FakeHindsight) -> None:
        memory = memory_at(server, deadlines=Deadlines(retain=1.0))
        memory.retain("w")  # the connection is there now, so that the write is on its way long before the deadline
        server.delay("retain", 5.0, after_work=True)
        with pytest.raises(OperationTimeoutError) as caught:
            memory.retain("x")
        assert caught.value.outcome_unknown
        assert pickle.loads(pickle.dumps(caught.value)).outcome_unknown
        assert server.texts("b") == ["w", "x"]

    def test_operation_id_goes_out_without_a_warning_for_a_sync_retain(self, server: FakeHindsight) -> None:
        outcome = memory_at(server).retain("x")
        body = server.requests[-1].body
        assert body["async"] is False
        assert body["operation_id"] == outcome.operation_id

    def test_background_writes_are_drained(self, server: FakeHindsight) -> None:
        server.delay("retain", 0.2)
        future = memory_at(server).retain_in_background("x")
        assert get_bridge().drain(5.0) == 0
        assert future.result(0) is not None
        assert server.texts("b") == ["x"]

    def test_the_same_words_again_in_a_named_document_are_no_conflict(self, server: FakeHindsight) -> None:
        memory = memory_at(server, retain_document_id="doc")
        for hour in range(2):
            memory.retain("x", timestamp=f"2026-03-02T1{hour}:00:00Z")
        assert server.texts("b") == ["x"]

    def test_what_is_stored_is_shaped_by_the_options(self, server: FakeHindsight) -> None:
        memory = memory_at(
            server,
            tags=["a"],
            source_tag=True,
            retain_metadata={"k": "v"},
            retain_document_id="doc",
            retain_context="app",
            retain_async=True,
        )
        memory.retain("x", tags=["a", "b"], metadata={"m": "n"})
        (item,) = server.items()
        assert item["tags"] == ["a", "source:subject", "b"]
        assert item["metadata"] == {"k": "v", "m": "n"}
        assert (item["document_id"], item["context"]) == ("doc", "app")
        assert server.requests[-1].body["async"] is True


@pytest.mark.feature("K4")
class TestBanks:
    def test_transient_failures_are_tried_again_and_never_block(self, server: FakeHindsight) -> None:
        memory = memory_at(server, mission="m")
        server.fail("bank", status=500, times=1)
        for _ in range(3):
            assert memory.answer("retain", "x") == "Memory stored successfully."
        assert len(server.requests_for("bank")) == 2

    @pytest.mark.parametrize("status", [409, 400])
    def test_existing_banks_count_as_done(self, server: FakeHindsight, status: int) -> None:
        stub = MagicMock()
        inner = RuntimeError("Bank already exists") if status == 400 else RuntimeError("409, message='Conflict'")
        stub.acreate_bank = AsyncMock(side_effect=ValueError(inner))
        stub.aretain = AsyncMock()
        memory = open_memory(PACKAGE, MemoryOptions(bank_id="b", mission="m"), client=stub)
        for _ in range(2):
            memory.answer("retain", "x")
        stub.acreate_bank.assert_awaited_once_with(bank_id="b", name="b", mission="m")

    def test_a_real_409_counts_as_done(self, server: FakeHindsight) -> None:
        memory = memory_at(server, mission="m")
        server.fail("bank", status=409, times=5)
        for _ in range(2):
            memory.answer("retain", "x")
        assert len(server.requests_for("bank")) == 1

    def test_conflicts_are_seen_through_wrappers(self) -> None:
        wrapped = ValueError("could not prepare")
        wrapped.__cause__ = RuntimeError("(409) Reason: Conflict")
        assert means_exists(wrapped)
        assert means_exists(ExceptionGroup("g", [RuntimeError("already exists")]))
        assert not means_exists(RuntimeError("connection to port 14099 refused"))

    def test_banks_are_remembered_up_to_a_bound_and_those_forgotten_are_made_again(self) -> None:
        stub = MagicMock()
        stub.acreate_bank = AsyncMock()
        handle = open_memory(PACKAGE, MemoryOptions(), client=stub).handle

        async def serve(users: Iterable[int]) -> int:
            before = stub.acreate_bank.await_count
            for user in users:
                await ensure_bank(handle, f"user-{user}", "m", deadline=1)
            return int(stub.acreate_bank.await_count) - before

        assert get_bridge().run(lambda: serve(range(10_001))) == 10_001
        assert get_bridge().run(lambda: serve([10_000, 9_999])) == 0, "still known"
        assert get_bridge().run(lambda: serve([0, 0])) == 1, "forgotten, made once more, known again"

    def test_a_slow_creation_gives_way(self, server: FakeHindsight) -> None:
        server.delay("bank", 5.0)
        memory = memory_at(server, mission="m", deadlines=Deadlines(bank=0.2))
        assert memory.answer("retain", "x") == "Memory stored successfully."


def test_reflect_answers_with_structured_output_only_when_asked(server: FakeHindsight) -> None:
    server.remember("b", "dark mode")
    server.reflect_output = {"mode": "dunkel ü"}
    assert memory_at(server).answer("reflect", "mode") == "dark mode"
    schema = {"type": "object"}
    assert memory_at(server, reflect_response_schema=schema).answer("reflect", "mode") == '{"mode": "dunkel ü"}'
    server.reflect_output = None
    assert memory_at(server, reflect_response_schema=schema).answer("reflect", "mode") == "dark mode"
    assert memory_at(server).answer("reflect", "nothing known") == "No relevant memories found."


def test_reflect_filters_fall_back_to_recall_filters(server: FakeHindsight) -> None:
    memory_at(server, recall_tags=["t"], recall_tags_match="all").reflect("q")
    memory_at(server, recall_tags=["t"], reflect_tags=["r"], reflect_tags_match="exact").reflect("q")
    memory_at(server, recall_tags=["t"], reflect_tags=[], max_tokens=7, reflect_context="c").reflect("q")
    first, second, third = (request.body for request in server.requests_for("reflect"))
    assert (first["tags"], first["tags_match"], first["max_tokens"]) == (["t"], "all", 4096)
    assert (second["tags"], second["tags_match"]) == (["r"], "exact")
    assert (third["tags"], third["max_tokens"], third["context"]) == (None, 7, "c")


@pytest.mark.feature("H10")
def test_raise_on_error_raises_the_documented_sentence(server: FakeHindsight) -> None:
    server.fail("retain", status=400, detail="no")
    memory = open_memory(PACKAGE, MemoryOptions(bank_id="b", hindsight_api_url=server.url), raise_on_error=True)
    with pytest.raises(OperationError, match="Failed to store memory: "):
        memory.answer("retain", "x")


@pytest.mark.feature("K5")
class TestSecretsAndCopies:
    @given(key=st.text(alphabet=st.characters(categories=["L", "N"]), min_size=8, max_size=40).map("hsk_".__add__))
    @settings(max_examples=30, deadline=None)
    def test_no_dump_pickle_or_repr_holds_the_key(self, key: str) -> None:
        memory = open_memory(PACKAGE, MemoryOptions(bank_id="b", hindsight_api_url="http://h"), api_key=key)
        blob = pickle.dumps(memory)
        assert key.encode() not in blob
        shown = repr(memory) + repr(memory.handle) + repr(dump_options(memory.options)) + repr(memory.settings)
        assert key not in shown

    def test_errors_do_not_echo_the_key(self, server: FakeHindsight) -> None:
        server.fail("retain", status=401, detail="key hsk_topsecret is bad, Bearer hsk_topsecret, http://u:pw@host")
        memory = open_memory(PACKAGE, MemoryOptions(bank_id="b", hindsight_api_url=server.url), api_key="hsk_topsecret")
        with pytest.raises(OperationError) as caught:
            memory.retain("x")
        assert "hsk_topsecret" not in str(caught.value)
        assert "u:pw" not in str(caught.value)

    @pytest.mark.feature("K5")
    @pytest.mark.parametrize("operation", ["retain", "recall", "reflect"])
    def test_a_printed_traceback_does_not_show_the_key(self, server: FakeHindsight, operation: str) -> None:
        server.fail(operation, status=401, detail="key hsk_topsecret is bad")
        memory = open_memory(PACKAGE, MemoryOptions(bank_id="b", hindsight_api_url=server.url), api_key="hsk_topsecret")
        with pytest.raises(OperationError) as caught:
            getattr(memory, operation)("x")
        printed = "".join(traceback.format_exception(caught.value))
        assert "HTTP 401" in printed
        assert "ConcealedError: UnauthorizedException: HTTP 401 Unauthorized: key *** is bad" in printed
        chain: list[BaseException | None] = [caught.value]
        while chain:
            error = chain.pop()
            if error is not None:
                assert "topsecret" not in f"{error!r}{error}{vars(error)}"
                chain += [error.__cause__, error.__context__]
        cause = caught.value.__cause__
        assert isinstance(cause, ConcealedError)
        assert cause.status == 401
        assert vars(pickle.loads(pickle.dumps(cause))) == vars(cause)

    def test_a_cause_without_the_key_is_the_clients_own(self, server: FakeHindsight) -> None:
        server.fail("retain", status=400, detail="too long")
        memory = open_memory(PACKAGE, MemoryOptions(bank_id="b", hindsight_api_url=server.url), api_key="hsk_topsecret")
        with pytest.raises(OperationError) as caught:
            memory.retain("x")
        assert type(caught.value.__cause__).__name__ == "BadRequestException"

    def test_options_survive_a_dump_and_unknown_keys_are_refused(self) -> None:
        options = MemoryOptions(bank_id="b", tags=["t"], deadlines=Deadlines(recall=3), retain_async=True)
        assert load_options(dump_options(options)) == options
        assert "deadlines" not in dump_options(MemoryOptions())
        with pytest.raises(SettingsError, match="zzz"):
            load_options({"zzz": 1})

    @pytest.mark.parametrize(
        "said",
        [
            "Authorization: Bearer s3cret",
            "{'Authorization': 'Basic s3cret', 'a': 1}",
            "authorization: s3cret",
            "bearer s3cret",
            "x-api-key: s3cret",
            "HTTP GET /?api_key=s3cret",
            '{"api_key": "s3cret"}',
        ],
    )
    def test_keys_that_are_announced_are_blotted_out(self, said: str) -> None:
        assert "s3cret" not in scrub(said)

    def test_words_about_keys_stay(self) -> None:
        said = "the authorization header is missing; set HINDSIGHT_API_KEY, or give api_key"
        assert scrub(said) == said

    def test_url_credentials_are_not_dumped(self) -> None:
        assert safe_url("http://user:pw@host:1/p?q#f") == "http://host:1/p?***"
        dumped = dump_options(MemoryOptions(hindsight_api_url="http://user:pw@host"))
        assert dumped["hindsight_api_url"] == "http://host"

    def test_deepcopy_and_pickle_work(self, server: FakeHindsight, monkeypatch: pytest.MonkeyPatch) -> None:
        memory = open_memory(PACKAGE, MemoryOptions(bank_id="b", hindsight_api_url=server.url), api_key="first-key")
        memory.retain("x")
        assert copy.deepcopy(memory).recall("x").texts == ["x"]
        blob = pickle.dumps(memory)
        monkeypatch.setenv("HINDSIGHT_API_KEY", "key-of-the-new-host")
        assert pickle.loads(blob).recall("x").texts == ["x"]
        assert server.requests[-1].headers["Authorization"] == "Bearer key-of-the-new-host"

    def test_an_unpicklable_client_is_named(self) -> None:
        stub = SimpleNamespace(aretain=AsyncMock())
        memory = open_memory(PACKAGE, MemoryOptions(bank_id="b"), client=stub)
        with pytest.raises(HindsightError, match="client"):
            pickle.dumps(memory)


def test_closing_is_repeatable_and_the_next_call_reconnects(server: FakeHindsight) -> None:
    memory = memory_at(server)
    memory.close()
    memory.retain("x")
    memory.close()
    memory.close()
    assert memory.recall("x").texts == ["x"]


def test_configuration_reaches_the_operations(server: FakeHindsight) -> None:
    CONFIG.configure(hindsight_api_url=server.url, budget="high", tags=["t"], max_tokens=9)
    memory = open_memory(PACKAGE, MemoryOptions(bank_id="b"))
    memory.retain("x")
    memory.recall("x")
    assert server.items()[0]["tags"] == ["t"]
    assert (server.requests[-1].body["budget"], server.requests[-1].body["max_tokens"]) == ("high", 9)


@pytest.mark.feature("K5")
async def test_a_key_that_the_server_sends_back_is_in_no_log(
    server: FakeHindsight, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    memory = open_memory(PACKAGE, MemoryOptions(bank_id="b", hindsight_api_url=server.url), api_key="SECRET123")
    server.fail("recall", status=400, detail="bad header Authorization: Bearer SECRET123")
    answer = await memory.aanswer("recall", "who?")
    assert "SECRET123" not in answer + caplog.text
    assert "recall failed\nTraceback" in caplog.text
