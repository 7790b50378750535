"""The loop bridge in real processes: threads, forks, foreign loops, interrupts, exit."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from core_subject import PACKAGE

from hindsight_adapter_core import BridgeError, MemoryOptions, get_bridge, open_memory
from hindsight_adapter_core.tasks import TaskMemory
from hindsight_adapter_core.testing import FakeHindsight

pytestmark = pytest.mark.feature("K3")

SUBJECT = str(Path(__file__).parent / "subject")


def run_script(code: str, url: str) -> subprocess.CompletedProcess[str]:
    """Run ``code`` as a program of its own, every warning an error; it finds the server in ``URL``."""
    head = (
        "import os, sys\n"
        f"sys.path.insert(0, {SUBJECT!r})\n"
        "from core_subject import PACKAGE\n"
        "from hindsight_adapter_core import *\n"
        f"URL = {url!r}\n"
        "memory = open_memory(PACKAGE, MemoryOptions(bank_id='b', hindsight_api_url=URL))\n"
    )
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", head + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ},
    )


def assert_clean(done: subprocess.CompletedProcess[str]) -> None:
    assert (done.returncode, done.stderr) == (0, "")


def test_exit_is_silent(server: FakeHindsight) -> None:
    assert_clean(run_script("assert memory.retain('x').items == 1", server.url))


def test_exit_is_silent_with_a_given_client_that_the_caller_closes(server: FakeHindsight) -> None:
    code = """
    from hindsight_client import Hindsight
    with Hindsight(base_url=URL) as client:
        memory = open_memory(PACKAGE, MemoryOptions(bank_id='b'), client=client)
        assert memory.retain('x').items == 1
    """
    # The client's own close() asks for a loop in a way that newer Pythons deprecate; that is not ours.
    done = run_script(code.replace("with Hindsight", "import warnings\n    with Hindsight"), server.url)
    assert "Unclosed" not in done.stderr
    assert done.returncode == 0


def test_background_writes_survive_the_end_of_the_program(server: FakeHindsight) -> None:
    server.delay("retain", 0.5)
    done = run_script("memory.retain_in_background('last words')", server.url.replace("127.0.0.1", "localhost"))
    assert_clean(done)
    assert server.texts("b") == ["last words"]


def test_works_after_fork_in_child_and_parent(server: FakeHindsight) -> None:
    code = """
    memory.retain('before')
    child = os.fork()
    if child == 0:
        assert memory.retain('child').items == 1
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert memory.retain('parent').items == 1
    """
    assert_clean(run_script(code, server.url))
    assert server.texts("b") == ["before", "child", "parent"]


def test_a_child_does_not_find_locked_what_the_loop_had_locked(server: FakeHindsight) -> None:
    code = """
    import threading, time
    library, locked = threading.Lock(), threading.Event()
    async def step():
        with library:
            locked.set()
            time.sleep(0.2)
    step_done = get_bridge().submit(step)
    locked.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if library.acquire(timeout=5) else 1)
    assert os.waitpid(child, 0)[1] == 0
    step_done.result(timeout=5)
    assert memory.retain('parent').items == 1
    """
    assert_clean(run_script(code, server.url))


def test_works_under_uvloop_and_on_several_loops(server: FakeHindsight) -> None:
    code = """
    import asyncio, uvloop
    async def main():
        assert (await memory.aretain('async')).items == 1
        assert memory.retain('sync inside the loop').items == 1
    uvloop.run(main())
    asyncio.run(main())
    asyncio.run(main())
    """
    assert_clean(run_script(code, server.url))
    assert len(server.texts("b")) == 6


def test_ctrl_c_ends_a_waiting_call(server: FakeHindsight) -> None:
    server.delay("recall", 300.0)
    code = """
    import signal, threading
    patient = MemoryOptions(bank_id='b', hindsight_api_url=URL, deadlines=Deadlines(recall=300))
    memory = open_memory(PACKAGE, patient)
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        memory.recall('x')
    except KeyboardInterrupt:
        print('interrupted')
    """
    done = run_script(code, server.url)
    assert_clean(done)
    assert done.stdout.strip() == "interrupted"


def test_a_sync_call_on_the_bridge_itself_is_refused_instead_of_hanging() -> None:
    memory = open_memory(PACKAGE, MemoryOptions(bank_id="b", hindsight_api_url="http://127.0.0.1:9"))

    async def nested() -> None:
        memory.recall("x")

    with pytest.raises(BridgeError, match="await"):
        get_bridge().run(nested)


def test_a_refused_call_of_task_memory_leaves_no_warning() -> None:
    operations = open_memory(PACKAGE, MemoryOptions(bank_id="b", hindsight_api_url="http://127.0.0.1:9"))
    tasks = TaskMemory(operations, user_id="ann")

    async def nested() -> None:
        tasks.start("deploy")

    with pytest.raises(BridgeError, match="await"):
        get_bridge().run(nested)
    gc.collect()  # a coroutine that was never awaited would complain here


def test_context_variables_travel_with_the_call() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
    variable.set("from the caller")

    async def read() -> str:
        return variable.get()

    assert get_bridge().run(read) == "from the caller"


async def test_an_error_reaches_the_async_caller() -> None:
    async def fail() -> None:
        raise LookupError("here")

    with pytest.raises(LookupError, match="here"):
        await get_bridge().arun(fail)


async def test_cancelling_the_caller_cancels_the_work() -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def work() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            loop.call_soon_threadsafe(ended.set)
            raise

    task = asyncio.create_task(get_bridge().arun(work))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(ended.wait(), 5)


def test_a_thread_that_outlives_the_main_one_can_begin(server: FakeHindsight) -> None:
    code = """
    import threading, time

    def later():
        threading.main_thread().join()
        time.sleep(0.2)
        assert memory.retain('last words').items == 1
        memory.retain_in_background('very last words')

    threading.Thread(target=later).start()
    """
    assert_clean(run_script(code, server.url))
    assert server.texts("b") == ["last words", "very last words"]


def test_threads_that_the_end_interrupts_are_told_so(server: FakeHindsight) -> None:
    server.delay("recall", 300.0)
    code = """
    import atexit, threading, time
    told = []
    patient = MemoryOptions(bank_id='b', hindsight_api_url=URL, deadlines=Deadlines(recall=300))
    memory = open_memory(PACKAGE, patient)

    def ask():
        try:
            memory.recall('x')
        except HindsightError as error:
            told.append(str(error))

    # Runs last, for the bridge's own handler is registered later.
    atexit.register(lambda: (asking.join(10), print(told)))
    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    time.sleep(0.5)
    """
    done = run_script(code, server.url)
    assert_clean(done)
    assert "shutting down" in done.stdout


def test_code_of_a_caller_that_exits_does_not_end_the_loop(server: FakeHindsight) -> None:
    code = """
    import asyncio

    async def leave():
        sys.exit(3)

    for wait in (get_bridge().run, lambda work: asyncio.run(get_bridge().arun(work))):
        try:
            wait(leave)
        except SystemExit as error:
            assert error.code == 3
        else:
            raise AssertionError("whoever waits is given it")
        assert memory.retain('x').items == 1
    """
    assert_clean(run_script(code, server.url))


def test_a_client_that_is_closed_often_leaves_nothing_behind(server: FakeHindsight) -> None:
    code = """
    import weakref
    memory.retain('x')
    memory.close()
    before = len(weakref.finalize._registry)
    for _ in range(5):
        memory.retain('x')
        memory.close()
    assert len(weakref.finalize._registry) == before
    """
    assert_clean(run_script(code, server.url))


def test_clients_that_are_dropped_are_closed_and_forgotten(server: FakeHindsight) -> None:
    code = """
    import gc
    bridge = get_bridge()
    for _ in range(5):
        open_memory(PACKAGE, MemoryOptions(bank_id='b', hindsight_api_url=URL)).retain('x')
    gc.collect()
    assert bridge.drain(5) == 0
    assert len(bridge._closers) == 0, bridge._closers
    """
    assert_clean(run_script(code, server.url))
