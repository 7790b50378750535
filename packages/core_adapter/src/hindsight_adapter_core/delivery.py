"""Retention in the background: a bounded queue that keeps what it took until the server has it.

* **Order.** What goes to one document goes one after the other; documents go side by side, a few at a time.
* **Ids.** A write is fully made when it is queued. Every try sends the same document id and operation id, so that a
  server which keeps operation ids (the bundled one does) stores it once, also when an answer was lost. Against another
  server a lost answer may store an appended turn twice; a replaced document never.
* **Service down or slow.** The write stays queued and is tried again, with growing pauses, for as long as the process
  lives. The first failure of a write is logged as a warning.
* **Refused for good** (HTTP 4xx that no repetition cures, no key): dropped, logged as an error, counted, told to
  ``on_failure`` and to who waits for the ticket. Failures are never silent.
* **Queue full.** ``put`` waits for room, first come first served, at most ``put_seconds``, and then raises
  :class:`DeliveryFullError`: the caller knows that this one was not taken.
* **End of the process.** A normal exit waits for the queue, within
  :data:`~hindsight_adapter_core.bridge.DRAIN_SECONDS`; pauses between tries are cut short. What is left is logged
  with its number and, with ``spool_path``, written to a file that the next process delivers. A kill (SIGKILL, power)
  loses at most what was queued: ``max_items`` writes, usually those of the last moments.
* **Fork.** The parent delivers what it queued; a child begins with an empty queue.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .bridge import DRAIN_SECONDS, get_bridge
from .calls import RetainCall
from .errors import DeliveryFullError, HindsightError, OperationError, SettingsError
from .failures import FAILURE_PREFIXES, refused_for_good
from .outcomes import RetainOutcome
from .retry import KEY_REFUSED
from .spool import Spool

# Not the module's own generator: that is the caller's to seed, and copies of a forked process would wait alike.
_JITTER = random.SystemRandom()

if TYPE_CHECKING:
    from .requests import Requests

__all__ = ["Delivery", "DeliveryOptions", "DeliveryStats"]

Ticket = concurrent.futures.Future[RetainOutcome]


@dataclass(frozen=True, kw_only=True)
class DeliveryOptions:
    """How background writes are queued and repeated.

    Attributes:
        max_items: writes that may wait at a time, and so the most that a kill can lose; default 1,000.
        put_seconds: how long to wait for room in a full queue; default 5, 0 does not wait.
        parallel: documents written side by side; default 4.
        first_pause, longest_pause: seconds between tries; doubled each time, spread at random. Default 0.5 and 30.
        give_up_after: tries after which a write that meets 401 or 403 is dropped; default 5.
        spool_path: file for what a normal exit could not deliver; default none. It holds the texts, readable by its
            owner only; two running processes must not share one.
        on_failure: called with (document id, error) for each dropped write, on the memory loop: it must be quick.
    """

    max_items: int = 1000
    put_seconds: float = 5.0
    parallel: int = 4
    first_pause: float = 0.5
    longest_pause: float = 30.0
    give_up_after: int = 5
    spool_path: str | Path | None = None
    on_failure: Callable[[str, HindsightError], None] | None = None

    def __post_init__(self) -> None:
        for name in ("max_items", "parallel", "give_up_after"):
            if getattr(self, name) < 1:
                raise SettingsError(f"delivery.{name} must be 1 or more, not {getattr(self, name)!r}")
        if self.put_seconds < 0 or not 0 < self.first_pause <= self.longest_pause:
            raise SettingsError("delivery: put_seconds must be 0 or more, and 0 < first_pause <= longest_pause")

    def __deepcopy__(self, memo: dict[int, object]) -> DeliveryOptions:
        # Whoever is told of failures is told of those of a copied agent, too: on_failure may be a method.
        return self


@dataclass(frozen=True, kw_only=True)
class DeliveryStats:
    """Counts since the start of the process: ``waiting`` now, ``delivered``, ``retries`` made, ``dropped`` for good."""

    waiting: int
    delivered: int
    retries: int
    dropped: int


@dataclass(eq=False, kw_only=True)
class _Waiting:
    """A queued write; ``tried`` once it was stored, dropped, or kept for a later try."""

    call: RetainCall
    ticket: Ticket
    tried: asyncio.Event
    tries: int = 0
    #: Somebody waits for the first try and is told what it gives, so that nothing is promised yet.
    watched: bool = False

    def keep(self) -> None:
        self.watched = False
        self.tried.set()


class Delivery:
    """The background queue of one memory. Safe to use from any thread and loop; see the module for what it promises.

    Args:
        requests: what sends.
        options: bounds and pauses.
    """

    def __init__(self, requests: Requests, options: DeliveryOptions | None = None) -> None:
        self.options = DeliveryOptions() if options is None else options
        if not isinstance(self.options, DeliveryOptions):
            raise SettingsError(f"delivery must be DeliveryOptions(...), not {options!r}")
        self._requests = requests
        self._logger = logging.getLogger(requests.logger_name)
        self._begin()

    def _begin(self) -> None:
        self._process_id = os.getpid()
        self._lanes: dict[tuple[str, str], deque[_Waiting]] = {}
        self._waiting = self._delivered = self._retries = self._dropped = 0
        self._room: asyncio.Event | None = None
        self._door: asyncio.Lock | None = None
        self._slots: asyncio.Semaphore | None = None
        self._hurry: asyncio.Event | None = None
        self._spool = Spool(Path(self.options.spool_path)) if self.options.spool_path else None

    @property
    def stats(self) -> DeliveryStats:
        """How the queue stands."""
        return DeliveryStats(
            waiting=self._waiting, delivered=self._delivered, retries=self._retries, dropped=self._dropped
        )

    # -- taking ------------------------------------------------------------------------------------------------

    def put(self, call: RetainCall) -> Ticket:
        """Queue a write; returns its ticket, a future of the outcome, which nobody needs to wait for or can cancel.

        Raises:
            DeliveryFullError: there was no room within ``put_seconds``; the write was not taken.
        """
        return get_bridge().run(lambda: self._put(call))

    async def aput(self, call: RetainCall) -> Ticket:
        """Async twin of :meth:`put`."""
        return await get_bridge().arun(lambda: self._put(call))

    async def offer(self, call: RetainCall, seconds: float) -> RetainOutcome | None:
        """Queue a write, and wait on the memory loop for what its first try gives.

        Args:
            call: the write.
            seconds: how long to wait at most.

        Returns:
            The outcome; ``None`` when the write is kept and tried later, as when earlier ones of its document are.

        Raises:
            DeliveryFullError: there was no room within ``put_seconds``; the write was not taken.
            OperationError: the server refused it. One that meets 401 or 403 is not tried again.
        """
        waiting = await self._take(call)
        # Behind what is kept it is kept, too.
        waiting.watched = not waiting.tried.is_set()
        try:
            async with asyncio.timeout(seconds):
                await waiting.tried.wait()
        except TimeoutError:
            return None
        finally:
            waiting.watched = False
        return waiting.ticket.result() if waiting.ticket.done() else None

    async def _put(self, call: RetainCall) -> Ticket:
        return (await self._take(call)).ticket

    async def _take(self, call: RetainCall) -> _Waiting:
        self._settle_in()
        assert self._room is not None
        assert self._door is not None
        try:
            # One at a time waits for room, the others behind it in the order in which they came: nobody is overtaken
            # until its time is up.
            async with asyncio.timeout(self.options.put_seconds), self._door:
                while self._waiting >= self.options.max_items:
                    self._room.clear()
                    await self._room.wait()
                return self._enqueue(call)
        except TimeoutError:
            raise DeliveryFullError(
                f"{FAILURE_PREFIXES['retain']}the background queue is full ({self._waiting} writes wait for the "
                "memory server); this one was not taken",
                operation="retain",
            ) from None

    def _settle_in(self) -> None:
        """Bind to this process's loop; the first time, also take over what an earlier process left."""
        if self._process_id != os.getpid():
            self._begin()
        if self._room is not None:
            return
        self._room, self._hurry, self._door = asyncio.Event(), asyncio.Event(), asyncio.Lock()
        self._slots = asyncio.Semaphore(self.options.parallel)
        for call in self._spool.take() if self._spool else ():
            self._enqueue(call)

    def _enqueue(self, call: RetainCall) -> _Waiting:
        waiting = _Waiting(call=call, ticket=concurrent.futures.Future(), tried=asyncio.Event())
        # Who stops waiting for a ticket (asyncio.wait_for cancels it) takes no write back: from here on, it can't be.
        waiting.ticket.set_running_or_notify_cancel()
        key = (call.bank_id, call.document_id)
        self._waiting += 1
        lane = self._lanes.get(key)
        if lane is None:
            bridge = get_bridge()
            if not self._lanes:
                # Only while something waits, so that a queue out of use can be collected.
                bridge.on_drain(self, self._hurry_up)
                bridge.on_close(self, self._leave)
            self._lanes[key] = deque([waiting])
            bridge.in_background(lambda: self._run(key))
        else:
            if lane[0].tried.is_set():
                waiting.keep()
            lane.append(waiting)
        return waiting

    # -- sending -----------------------------------------------------------------------------------------------

    async def _run(self, key: tuple[str, str]) -> None:
        lane = self._lanes[key]
        assert self._slots is not None
        while lane:
            first = lane[0]
            async with self._slots:
                done = await self._try(first)
            if done:
                lane.popleft().tried.set()
                self._waiting -= 1
                if self._room is not None:
                    self._room.set()
            else:
                for one in lane:
                    one.keep()
                await self._pause(first.tries)
        del self._lanes[key]
        if not self._lanes:
            get_bridge().off_drain(self)
            get_bridge().off_close(self)

    async def _try(self, waiting: _Waiting) -> bool:
        """True when the write need not be tried again."""
        waiting.tries += 1
        try:
            outcome = await self._requests.retain(waiting.call)
        except HindsightError as error:
            if self._passes(error, waiting):
                self._retries += 1
                level = logging.WARNING if waiting.tries == 1 else logging.DEBUG
                self._logger.log(level, "%s; it is kept and tried again (%d waiting)", error, self._waiting)
                return False
            self._drop(waiting, error)
            return True
        except (Exception, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise  # the process ends
            # A bug of ours or of the client's: the lane must go on, and whoever waits must hear of it.
            self._logger.exception("a background memory write failed unexpectedly")
            self._drop(
                waiting, OperationError(f"{FAILURE_PREFIXES['retain']}{type(error).__name__}", operation="retain")
            )
            return True
        self._delivered += 1
        waiting.ticket.set_result(outcome)
        return True

    def _passes(self, error: HindsightError, waiting: _Waiting) -> bool:
        if getattr(error.__cause__, "status", None) in KEY_REFUSED:
            return not waiting.watched and waiting.tries < self.options.give_up_after
        return not refused_for_good(error)

    def _drop(self, waiting: _Waiting, error: HindsightError) -> None:
        self._dropped += 1
        self._logger.error("%s (document %r, dropped from the background queue)", error, waiting.call.document_id)
        waiting.ticket.set_exception(error)
        if self.options.on_failure is not None:
            try:
                self.options.on_failure(waiting.call.document_id, error)
            except BaseException:
                # The user's own code, which may want to exit; it must not stop the queue.
                self._logger.exception("on_failure raised")

    async def _pause(self, tries: int) -> None:
        pause = min(self.options.longest_pause, self.options.first_pause * 2 ** (min(tries, 12) - 1))
        assert self._hurry is not None
        if self._hurry.is_set():
            # The process ends: no long pauses, but no busy loop either.
            await asyncio.sleep(min(pause, 0.2))
            return
        try:
            await asyncio.wait_for(self._hurry.wait(), _JITTER.uniform(pause / 2, pause))
        except TimeoutError:
            return

    # -- waiting and ending ------------------------------------------------------------------------------------

    def flush(self, timeout: float = DRAIN_SECONDS) -> int:
        """Wait until everything queued so far is delivered or dropped, at most ``timeout`` seconds.

        Returns:
            How many writes are still waiting.
        """
        return get_bridge().run(lambda: self._flush(timeout))

    async def aflush(self, timeout: float = DRAIN_SECONDS) -> int:
        """Async twin of :meth:`flush`."""
        return await get_bridge().arun(lambda: self._flush(timeout))

    async def _flush(self, timeout: float) -> int:
        self._settle_in()
        tickets = [asyncio.wrap_future(waiting.ticket) for lane in self._lanes.values() for waiting in lane]
        if tickets:
            done, _ = await asyncio.wait(tickets, timeout=timeout)
            for ticket in done:
                # Told already when it was dropped; looked at so that asyncio does not call it unseen.
                ticket.exception()
        return sum(1 for ticket in tickets if not ticket.done())

    def _hurry_up(self) -> None:
        if self._process_id == os.getpid() and self._hurry is not None:
            self._hurry.set()

    async def _leave(self) -> None:
        left = [waiting.call for lane in self._lanes.values() for waiting in lane]
        if not left:
            return
        writes, are, wait = ("writes were", "are", "they wait") if len(left) > 1 else ("write was", "is", "it waits")
        told, why = f"{len(left)} memory {writes} not delivered before the process ended", ""
        if self._spool is not None:
            try:
                self._spool.put(left)
            except OSError as error:
                why = f": {error}"
            else:
                self._logger.warning("%s; %s in %s", told, wait, self._spool.path)
                return
        self._logger.error("%s and %s lost%s", told, are, why)
