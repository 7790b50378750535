from __future__ import annotations

import asyncio
import copy
import os
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from core_subject import PACKAGE

from hindsight_adapter_core import (
    ConversationLog,
    DeliveryFullError,
    DeliveryOptions,
    HindsightError,
    MemoryOperations,
    MemoryOptions,
    OperationError,
    SettingsError,
    Turn,
    open_memory,
)
from hindsight_adapter_core.calls import RetainCall
from hindsight_adapter_core.spool import Spool
from hindsight_adapter_core.testing import FakeHindsight

pytestmark = pytest.mark.feature("K6")
QUICK: dict[str, Any] = {"first_pause": 0.02, "longest_pause": 0.1}


def memory_at(server: FakeHindsight | str, **delivery: Any) -> MemoryOperations:
    url = server if isinstance(server, str) else server.url
    options = DeliveryOptions(**{**QUICK, **delivery})
    return open_memory(PACKAGE, MemoryOptions(bank_id="b", hindsight_api_url=url, retain_async=True, delivery=options))


def test_a_tool_answer_does_not_wait_for_the_server(server: FakeHindsight) -> None:
    memory = memory_at(server)
    server.delay("retain", 0.5)
    assert memory.answer("retain", "x") == "Memory accepted; it is being stored in the background."
    assert server.texts("b") == []
    assert memory.delivery.stats.waiting == 1
    assert memory.flush() == 0
    assert server.texts("b") == ["x"]
    assert memory.delivery.stats.delivered == 1


def test_a_flush_that_is_too_short_says_what_is_left(server: FakeHindsight) -> None:
    memory = memory_at(server)
    server.delay("retain", 0.5)
    memory.answer("retain", "x")
    assert memory.flush(0.05) == 1
    assert memory.flush() == 0


async def test_async_faces(server: FakeHindsight) -> None:
    memory = memory_at(server)
    await memory.aanswer("retain", "x")
    ticket = await memory.aretain_in_background("y")
    assert await memory.aflush() == 0
    assert ticket.result(0).items == 1
    assert sorted(server.texts("b")) == ["x", "y"]


def test_turns_arrive_in_order_under_their_ids(server: FakeHindsight) -> None:
    memory = memory_at(server)
    log = ConversationLog(document_id="d")
    server.fail("retain", status=503, headers={"Retry-After": "0"}, times=2)
    server.drop("retain", after_work=True)
    turns = [Turn(role="user" if n % 2 == 0 else "assistant", text=f"turn {n}") for n in range(12)]
    assert memory.store_turns(log, turns, delta=False) == 12
    assert memory.flush() == 0
    assert server.texts("b") == [f"turn {n}" for n in range(12)]


def test_a_service_that_is_down_gets_everything_once_it_is_back(
    server: FakeHindsight, caplog: pytest.LogCaptureFixture
) -> None:
    memory = memory_at(server)
    server.fail("retain", status=500, times=7)
    tickets = [memory.retain_in_background(f"fact {n}") for n in range(5)]
    assert memory.flush() == 0
    assert sorted(server.texts("b")) == [f"fact {n}" for n in range(5)]
    assert len({ticket.result(0).operation_id for ticket in tickets}) == 5
    ids = [request.body["operation_id"] for request in server.requests_for("retain")]
    assert len(ids) == 12
    assert len(set(ids)) == 5
    assert memory.delivery.stats.retries == 7
    assert "kept and tried again" in caplog.text


def test_what_is_refused_for_good_is_told_and_does_not_hold_up_the_rest(
    server: FakeHindsight, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[tuple[str, HindsightError]] = []
    memory = memory_at(server, on_failure=lambda document, error: told.append((document, error)))
    server.fail("retain", status=422, detail="too long")
    first = memory.retain_in_background("bad", document_id="d", append=True)
    second = memory.retain_in_background("good", document_id="d", append=True)
    assert memory.flush() == 0
    with pytest.raises(OperationError, match="too long"):
        first.result(0)
    assert second.result(0).items == 1
    assert [document for document, _ in told] == ["d"]
    assert memory.delivery.stats.dropped == 1
    assert "dropped from the background queue" in caplog.text


def test_copies_tell_their_failures_to_the_same_listener(server: FakeHindsight) -> None:
    class Listener:
        def __init__(self) -> None:
            self.lock = threading.Lock()  # which can't be copied
            self.told: list[str] = []

        def hear(self, document_id: str, error: HindsightError) -> None:
            self.told.append(document_id)

    listener = Listener()
    memory = copy.deepcopy(memory_at(server, on_failure=listener.hear))
    server.fail("retain", status=422)
    memory.retain_in_background("bad", document_id="d")
    assert memory.flush() == 0
    assert listener.told == ["d"]


def test_a_callback_that_wants_to_exit_does_not_stop_the_queue(
    server: FakeHindsight, caplog: pytest.LogCaptureFixture
) -> None:
    memory = memory_at(server, on_failure=lambda *_: sys.exit("enough"))
    server.fail("retain", status=422)
    memory.retain_in_background("bad", document_id="d", append=True)
    good = memory.retain_in_background("good", document_id="d", append=True)
    assert memory.flush(5) == 0
    assert good.result(0).items == 1
    assert "on_failure raised" in caplog.text


def test_a_wrong_key_is_given_up_after_a_few_tries(server: FakeHindsight) -> None:
    memory = memory_at(server, give_up_after=2)
    server.fail("retain", status=401, times=2)
    ticket = memory.retain_in_background("x")
    assert memory.flush() == 0
    with pytest.raises(OperationError):
        ticket.result(0)


def test_a_full_queue_waits_for_room_and_then_says_no(server: FakeHindsight) -> None:
    memory = memory_at(server, max_items=2, put_seconds=0.1)
    server.delay("retain", 0.6, times=2)
    for n in range(2):
        memory.retain_in_background(f"fact {n}")
    with pytest.raises(DeliveryFullError, match="not taken"):
        memory.retain_in_background("fact 2")
    assert memory.answer("retain", "fact 3").startswith("Failed to store memory: the background queue is full")
    assert memory.flush() == 0
    patient = memory_at(server, max_items=1, put_seconds=10)
    server.delay("retain", 0.2)
    for n in range(2):
        patient.retain_in_background(f"later {n}")
    assert patient.flush() == 0
    assert sorted(server.texts("b")) == ["fact 0", "fact 1", "later 0", "later 1"]


def test_turns_that_found_no_room_are_offered_again(server: FakeHindsight) -> None:
    memory = memory_at(server, max_items=1, put_seconds=0)
    log = memory.new_log()
    said = [Turn(role="user", text="one"), Turn(role="assistant", text="two")]
    server.delay("retain", 0.3)
    with pytest.raises(DeliveryFullError):
        memory.store_turns(log, said)
    assert memory.flush() == 0
    assert memory.store_turns(log, said) == 1
    assert memory.flush() == 0
    assert server.texts("b") == ["one", "two"]


def test_many_threads_lose_nothing(server: FakeHindsight) -> None:
    memory = memory_at(server)

    def work(number: int) -> None:
        for n in range(10):
            memory.retain_in_background(f"{number}.{n}", document_id=f"d{number}", append=True)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memory.flush() == 0
    texts = server.texts("b")
    for number in range(8):
        assert [text for text in texts if text.startswith(f"{number}.")] == [f"{number}.{n}" for n in range(10)]


async def test_who_no_longer_waits_takes_no_write_back(server: FakeHindsight) -> None:
    memory = memory_at(server)
    server.delay("retain", 0.3)
    ticket = await memory.aretain_in_background("x")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.wrap_future(ticket), 0.05)
    assert not ticket.cancel()
    assert await memory.aflush(0.01) == 1, "it still waits"
    assert await memory.aflush() == 0
    assert ticket.result(0).items == 1
    assert server.texts("b") == ["x"]


def test_a_client_that_cancels_itself_does_not_end_its_document() -> None:
    stored = []

    class Client:
        async def aretain(self, content: str, **_: Any) -> None:
            if content == "bad":
                raise asyncio.CancelledError
            stored.append(content)

    memory = open_memory(PACKAGE, MemoryOptions(bank_id="b", retain_async=True), client=Client())
    bad = memory.retain_in_background("bad", document_id="d", append=True)
    memory.retain_in_background("good", document_id="d", append=True)
    assert memory.flush(5) == 0
    assert stored == ["good"]
    with pytest.raises(OperationError, match="CancelledError"):
        bad.result(0)


@pytest.mark.parametrize("bad", [{"max_items": 0}, {"put_seconds": -1}, {"first_pause": 5, "longest_pause": 1}])
def test_options_are_checked(bad: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="delivery"):
        DeliveryOptions(**bad)


def test_options_of_another_kind_are_refused() -> None:
    options: Any = {"max_items": 3}
    with pytest.raises(SettingsError, match="DeliveryOptions"):
        open_memory(PACKAGE, MemoryOptions(bank_id="b", hindsight_api_url="http://x", delivery=options))


def run_script(body: str, url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = textwrap.dedent(
        """
            import os, sys
            from core_subject import PACKAGE
            from hindsight_adapter_core import DeliveryOptions, MemoryOptions, open_memory
            def memory_at(url, **delivery):
                return open_memory(PACKAGE, MemoryOptions(
                    bank_id="b", hindsight_api_url=url, retain_async=True, delivery=DeliveryOptions(**delivery)))
            url = sys.argv[1]
            """
    ) + textwrap.dedent(body)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent / "subject"), "PYTHONWARNINGS": "default"}
    return subprocess.run(
        [sys.executable, "-c", script, url, *arguments], env=environment, capture_output=True, text=True, timeout=60
    )


def test_a_normal_exit_delivers_what_is_queued(server: FakeHindsight) -> None:
    server.fail("retain", status=500, times=2)
    done = run_script(
        """
        memory = memory_at(url, first_pause=20, longest_pause=20)
        for n in range(20):
            memory.retain_in_background(f"fact {n}", document_id="d", append=True)
        """,
        server.url,
    )
    assert done.returncode == 0
    assert server.texts("b") == [f"fact {n}" for n in range(20)]


def test_what_an_exit_could_not_deliver_waits_in_the_spool(server: FakeHindsight, tmp_path: Path) -> None:
    spool = tmp_path / "spool.jsonl"
    body = """
    import hindsight_adapter_core.bridge as bridge
    bridge.Bridge.drain.__defaults__ = (0.5,)
    bridge.Bridge.close.__defaults__ = (0.5,)
    memory = memory_at(url, first_pause=0.1, spool_path=sys.argv[2])
    for n in range(3):
        memory.retain_in_background(f"fact {n}", document_id="d", append=True)
    """
    server.fail("retain", status=500, times=1000)
    lost = run_script(body, server.url, str(tmp_path / "no such folder" / "spool.jsonl"))
    assert "3 memory writes were not delivered before the process ended and are lost: " in lost.stderr
    done = run_script(body, server.url, str(spool))
    assert "3 memory writes were not delivered" in done.stderr
    assert spool.stat().st_mode & 0o077 == 0
    server._trouble["retain"].clear()
    memory = memory_at(server, spool_path=spool)
    memory.retain_in_background("fact 3", document_id="d", append=True)
    assert memory.flush() == 0
    assert server.texts("b") == [f"fact {n}" for n in range(4)]
    assert not spool.exists()


@pytest.mark.parametrize("child", [False, True])
def test_an_exit_waits_once_and_saves_what_a_stubborn_client_keeps(tmp_path: Path, child: bool) -> None:
    body = """
    import asyncio, multiprocessing, time
    import hindsight_adapter_core.bridge as bridge
    bridge.Bridge.drain.__defaults__ = (1.0,)
    bridge.Bridge.close.__defaults__ = (30.0,)

    class Client:
        async def aretain(self, **arguments):
            while True:
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    pass

    def work():
        options = DeliveryOptions(spool_path=sys.argv[2])
        memory = open_memory(PACKAGE, MemoryOptions(bank_id="b", retain_async=True, delivery=options), client=Client())
        memory.retain_in_background("last words")

    if sys.argv[3] == "True":
        bridge.Bridge.close.__defaults__ = (1.0,)
        process = multiprocessing.get_context("fork").Process(target=work)
        process.start()
        process.join()
        sys.exit(process.exitcode)
    work()
    """
    spool = tmp_path / "spool.jsonl"
    done = run_script(body, "", str(spool), str(child))
    assert done.returncode == 0
    assert "1 memory write was not delivered before the process ended; it waits in" in done.stderr
    assert "Traceback" not in done.stderr
    assert "1 piece of memory's background work did not finish" in done.stderr
    assert [call.content for call in Spool(spool).take()] == ["last words"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_of_multiprocessing_ends_as_a_program_does(tmp_path: Path, method: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import multiprocessing, sys
            import hindsight_adapter_core.bridge as bridge
            from core_subject import PACKAGE
            from hindsight_adapter_core import DeliveryOptions, MemoryOptions, open_memory

            def work(path):
                bridge.Bridge.drain.__defaults__ = bridge.Bridge.close.__defaults__ = (0.2,)
                options = MemoryOptions(bank_id="b", hindsight_api_url="http://127.0.0.1:9", retain_async=True,
                                        delivery=DeliveryOptions(spool_path=path))
                open_memory(PACKAGE, options).retain_in_background("last words")

            if __name__ == "__main__":
                child = multiprocessing.get_context(sys.argv[1]).Process(target=work, args=(sys.argv[2],))
                child.start()
                child.join()
                sys.exit(child.exitcode)
            """
        )
    )
    spool = tmp_path / "spool.jsonl"
    done = subprocess.run(
        [sys.executable, str(program), method, str(spool)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent / "subject")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "1 memory write was not delivered before the process ended; it waits in" in done.stderr
    assert [call.content for call in Spool(spool).take()] == ["last words"]


@pytest.mark.parametrize("content", ["one\u2028two\x85three\r\nfour", "half of an emoji: \ud83d"])
def test_a_spool_gives_back_the_words_that_it_took(tmp_path: Path, content: str) -> None:
    spool = Spool(tmp_path / "spool.jsonl")
    call = RetainCall(bank_id="b", content=content, document_id="d", operation_id="o", tags=("t",))
    spool.put([call])
    assert spool.take() == [call]
    assert spool.take() == []


def test_a_damaged_spool_gives_back_what_is_whole(
    server: FakeHindsight, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "spool.jsonl"
    call = RetainCall(bank_id="b", content="before", document_id="d", operation_id="o")
    Spool(path).put([call])
    whole = path.read_bytes()
    path.write_bytes(whole + b"\xff\xfe\n" + whole[:20])  # a disk that was full
    Spool(path).put([replace(call, content="after", operation_id="p", document_id="e")])
    memory = memory_at(server, spool_path=path)
    assert memory.answer("retain", "new").startswith("Memory accepted")
    assert memory.flush() == 0
    assert sorted(server.texts("b")) == ["after", "before", "new"]
    assert caplog.text.count("cannot be read and is left out") == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_delivers_its_own_only(server: FakeHindsight) -> None:
    done = run_script(
        """
        memory = memory_at(url)
        memory.retain_in_background("of the parent")
        child = os.fork()
        memory.retain_in_background("of the child" if child == 0 else "of the parent, later")
        assert memory.flush() == 0
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        """,
        server.url,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(server.texts("b")) == ["of the child", "of the parent", "of the parent, later"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_forked_while_a_client_is_made_is_not_locked_out(server: FakeHindsight) -> None:
    done = run_script(
        """
        import faulthandler, time
        import hindsight_adapter_core.clients as clients
        build = clients._build_sibling
        clients._build_sibling = lambda client: (time.sleep(0.5), build(client))[1]
        memory = memory_at(url)
        memory.retain_in_background("of the parent")
        time.sleep(0.2)
        child = os.fork()
        if child == 0:
            faulthandler.dump_traceback_later(8, exit=True)
            memory.retain("of the child")
            os._exit(0)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
        server.url,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(server.texts("b")) == ["of the child", "of the parent"]
