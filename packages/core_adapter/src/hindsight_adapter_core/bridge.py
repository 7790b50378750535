"""A sync face over async clients: one background event loop per process, started at the first call.

Why one loop for everybody: an aiohttp session belongs to the loop that first used it. All requests of the adapters
therefore run on this loop, whether the caller is plain sync code, a thread, a coroutine on any other loop (stock or
uvloop) or code inside a running loop. A sync caller blocks its own thread only; an async caller awaits and its loop
goes on. The caller's context variables travel with the call.

A ``fork`` waits for the loop to come to rest, so that no lock of a library is left locked in the child for ever. The
child forgets the parent's loop (closing it would disturb the parent's sockets) and starts its own at its first call.
At exit, background writes get :data:`DRAIN_SECONDS` to finish, then registered closers run on the loop, and the loop
ends.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import contextvars
import logging
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from .errors import BridgeError
from .locks import open_locks

__all__ = ["DRAIN_SECONDS", "Bridge", "get_bridge"]

T = TypeVar("T")
logger = logging.getLogger(__name__)

#: How long the end of the process waits for writes that run in the background.
DRAIN_SECONDS = 10.0
#: How long the end of the process waits for clients to close.
_CLOSE_SECONDS = 5.0
_ENDED = "the process is shutting down; memory operations are no longer possible"
#: How long a fork waits for the step that the loop is in.
_REST_SECONDS = 1.0


class Bridge:
    """One event loop on one daemon thread. Use :func:`get_bridge`; one per process is enough."""

    def __init__(self) -> None:
        self.process_id = os.getpid()
        # The stock loop whatever the host's policy is: the bridge must not change with it.
        self._loop: asyncio.AbstractEventLoop = asyncio.SelectorEventLoop()
        self._closed = False
        self._background: set[concurrent.futures.Future[Any]] = set()
        self._closers: dict[object, Callable[[], Awaitable[None]]] = {}
        self._drainers: dict[object, Callable[[], None]] = {}
        # Re-entrant: a garbage collection inside a locked section may run a finalizer that submits work.
        self._lock = threading.RLock()
        self._thread = threading.Thread(target=self._serve, name="hindsight-bridge", daemon=True)
        self._thread.start()

    @property
    def closed(self) -> bool:
        """True once :meth:`close` has begun to stop the loop."""
        return self._closed

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        while True:
            try:
                self._loop.run_forever()
            except (SystemExit, KeyboardInterrupt):
                # Of a caller's code that runs here, e.g. a client's. Who waits for it is given it; it must not end the
                # loop, on which everybody else would then wait for ever.
                continue
            return

    def submit(self, work: Callable[[], Coroutine[Any, Any, T]]) -> concurrent.futures.Future[T]:
        """Start ``work()`` on the bridge's loop, in the caller's context; returns a future at once.

        Cancelling the future cancels the work.

        Raises:
            BridgeError: the bridge is closed.
        """
        context = contextvars.copy_context()

        async def in_context() -> T:
            return await asyncio.get_running_loop().create_task(work(), context=context)

        with self._lock:
            if self._closed:
                raise BridgeError(_ENDED)
            return asyncio.run_coroutine_threadsafe(in_context(), self._loop)

    def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run ``work()`` on the bridge and wait for its result. Works in any thread, with or without a loop.

        An interrupt (Ctrl-C) cancels the work and is raised again.

        Raises:
            BridgeError: called on the bridge's own thread, where waiting would never end; or the bridge is closed.
        """
        if threading.current_thread() is self._thread:
            raise BridgeError("a sync memory call was made on the memory loop itself; await the async twin instead")
        future = self.submit(work)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            if self._closed:
                raise BridgeError(_ENDED) from None
            raise
        except BaseException:
            future.cancel()
            raise

    async def arun(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Await ``work()``, run on the bridge. The caller's loop stays free; cancelling cancels the work."""
        if threading.current_thread() is self._thread:
            return await work()
        return await asyncio.wrap_future(self.submit(work))

    def in_background(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> concurrent.futures.Future[Any]:
        """Start ``work()`` without waiting; the end of the process waits for it, at most :data:`DRAIN_SECONDS`."""
        future = self.submit(work)
        with self._lock:
            self._background.add(future)
        future.add_done_callback(self._forget)
        return future

    def _forget(self, future: concurrent.futures.Future[Any]) -> None:
        with self._lock:
            self._background.discard(future)

    def on_close(self, owner: object, closer: Callable[[], Awaitable[None]]) -> None:
        """Register a coroutine function to run on the loop when the bridge closes, one for each ``owner``."""
        with self._lock:
            self._closers[owner] = closer

    def off_close(self, owner: object) -> None:
        """Undo :meth:`on_close`."""
        with self._lock:
            self._closers.pop(owner, None)

    def on_drain(self, owner: object, hurry: Callable[[], None]) -> None:
        """Register a function to run on the loop when the end of the process begins to wait for background work."""
        with self._lock:
            self._drainers[owner] = hurry

    def off_drain(self, owner: object) -> None:
        """Undo :meth:`on_drain`."""
        with self._lock:
            self._drainers.pop(owner, None)

    def rest(self) -> Callable[[], None]:
        """Hold the loop between two of its steps, waiting :data:`_REST_SECONDS` at most; returns what lets it go on."""
        resting, ended = threading.Event(), threading.Event()

        def rest() -> None:
            resting.set()
            ended.wait()

        if threading.current_thread() is not self._thread:
            try:
                self._loop.call_soon_threadsafe(rest)
            except RuntimeError:  # the loop is closed
                return ended.set
            if self._thread.is_alive():
                resting.wait(_REST_SECONDS)
        return ended.set

    def drain(self, timeout: float = DRAIN_SECONDS) -> int:
        """Wait for background work, at most ``timeout`` seconds; returns how many pieces are still unfinished."""
        with self._lock:
            pending = set(self._background)
            drainers = list(self._drainers.values())
        if not pending:
            return 0
        for hurry in drainers:
            self._loop.call_soon_threadsafe(hurry)
        return len(concurrent.futures.wait(pending, timeout=timeout).not_done)

    def close(self, drain_timeout: float = DRAIN_SECONDS) -> None:
        """Drain, run the closers, stop the loop. A second call does nothing."""
        if self._closed or self.process_id != os.getpid():
            return
        unfinished = self.drain(drain_timeout)
        if unfinished:
            pieces = "piece" if unfinished == 1 else "pieces"
            logger.warning(
                "%d %s of memory's background work did not finish before the process ended", unfinished, pieces
            )
        with self._lock:
            self._closed = True
            closers, self._closers = list(self._closers.values()), {}
        end = asyncio.run_coroutine_threadsafe(self._wind_up(closers), self._loop)
        try:
            end.result(timeout=_CLOSE_SECONDS)
        except (TimeoutError, concurrent.futures.CancelledError):
            logger.warning("memory clients did not close in time")
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=_CLOSE_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()

    async def _wind_up(self, closers: list[Callable[[], Awaitable[None]]]) -> None:
        current = asyncio.current_task()
        leftovers = [task for task in asyncio.all_tasks() if task is not current]
        for task in leftovers:
            task.cancel()
        if leftovers:
            # One that will not be cancelled must not keep the others from being saved.
            ended, _ = await asyncio.wait(leftovers, timeout=_CLOSE_SECONDS / 2)
            for task in ended:
                task.cancelled() or task.exception()
        for outcome in await asyncio.gather(*(closer() for closer in closers), return_exceptions=True):
            if isinstance(outcome, Exception):
                logger.debug("closing a memory client failed: %s", type(outcome).__name__)
        # aiohttp hands closed transports to the loop's next turns; without these they are reported as unclosed.
        for _ in range(2):
            await asyncio.sleep(0)
        await self._loop.shutdown_asyncgens()


_bridge: Bridge | None = None
_bridge_lock = threading.Lock()
_hooks_installed = False
_drained_in_vain = False
_forking: dict[int, Callable[[], None]] = {}  # by thread, what lets the loop go on


def get_bridge() -> Bridge:
    """The bridge of this process, started at the first call and again after a fork."""
    global _bridge, _hooks_installed
    with _bridge_lock:
        if not _hooks_installed:
            # First: from here on, a child that is forked at any moment finds the lock open.
            _hooks_installed = True
            _install_hooks()
        if _bridge is None or _bridge.process_id != os.getpid():
            _bridge = Bridge()
            _end_with_child()
        return _bridge


def _install_hooks() -> None:
    atexit.register(_close_at_exit)
    # Executors refuse work once the main thread has ended, and resolving a host name needs one. Writes in flight
    # must be drained before that; the stdlib offers this point of time to its own executors only.
    # It calls the youngest first, so the executors' own registration must exist before ours.
    # In a thread that outlives the main one it is too late for either; the exit handler drains then.
    with contextlib.suppress(RuntimeError):
        import concurrent.futures.thread  # noqa: F401

        register = getattr(threading, "_register_atexit", None)
        if register is not None:
            register(_drain_at_exit)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_rest_before_fork, after_in_parent=_go_on_after_fork)
        os.register_at_fork(after_in_child=_abandon_after_fork)


def _end_with_child() -> None:
    """See to it that a child of multiprocessing ends the bridge: those that were forked run no exit handlers."""
    processes, util = sys.modules.get("multiprocessing.process"), sys.modules.get("multiprocessing.util")
    if processes is not None and util is not None and processes.parent_process() is not None:
        util.Finalize(None, _close_at_exit, exitpriority=-100)


def _drain_at_exit() -> None:
    global _drained_in_vain
    if _bridge is not None and _bridge.process_id == os.getpid() and not _bridge.closed:
        _drained_in_vain = _bridge.drain() > 0


def _close_at_exit() -> None:
    if _bridge is not None:
        started = time.monotonic()
        # What was waited for in vain is not waited for again.
        _bridge.close(*((0.0,) if _drained_in_vain else ()))
        logger.debug("memory bridge closed in %.3f s", time.monotonic() - started)


def _rest_before_fork() -> None:
    """What the loop's thread locks within OpenSSL or pydantic, a child forked at that moment would find locked."""
    if _bridge is not None and _bridge.process_id == os.getpid():
        _forking[threading.get_ident()] = _bridge.rest()


def _go_on_after_fork() -> None:
    go_on = _forking.pop(threading.get_ident(), None)
    if go_on is not None:
        go_on()


def _abandon_after_fork() -> None:
    """Runs in a forked child: the parent's loop must be neither used, closed nor collected here.

    Its selector and sockets are shared with the parent, so closing would disturb the parent, and collecting would
    close. One reference too many keeps it for the life of the child.
    """
    global _bridge, _bridge_lock
    _bridge_lock = threading.Lock()
    open_locks()
    _forking.clear()
    if _bridge is not None:
        import ctypes

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(_bridge))
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(_bridge._loop))
        _bridge = None
