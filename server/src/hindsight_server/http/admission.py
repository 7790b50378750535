"""How many searches may wait for their turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hindsight_server.domain.errors import Overloaded

RETRY_SECONDS = 1.0
_WAIT_SECONDS = 1.0
_ALWAYS = 8  # in flight: a burst of so many is answered however long each takes
_WEIGHT = 0.1  # of the latest interval in the mean
_LONGEST = 1.0  # of an interval in seconds: a bank that is read for the first time says little of those to come


class Admission:
    """Refuses what would only wait in a long queue, and be given up by its client before it is answered.

    What is in flight takes, by Little's law, its number times the mean time between two answers. When that is longer
    than clients should wait, one more is refused at once, so that those let in keep their latency. The mean follows
    what is asked: more fit when banks are small, fewer when they are large.

    Used from the event loop only.

    Args:
        most: requests in flight, those that wait included; 0 sets no limit at all.
        wait_seconds: how long a request that is let in should take at most, about.
        clock: the time in seconds, from any beginning.
    """

    def __init__(
        self, most: int = 0, *, wait_seconds: float = _WAIT_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = most
        self._wait = wait_seconds
        self._clock = clock
        self._inside = 0
        self._interval = 0.0  # mean seconds between two answers while there was work
        self._since = 0.0  # when the last answer was given, or the work began again

    @contextmanager
    def admit(self) -> Iterator[None]:
        """Hold a place. Raises Overloaded when there is none."""
        self.check()
        if not self._inside:
            self._since = self._clock()
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1
            now = self._clock()
            self._interval += _WEIGHT * (min(now - self._since, _LONGEST) - self._interval)
            self._since = now

    def check(self) -> None:
        """Raises Overloaded when there is no place."""
        if self._full():
            raise Overloaded(
                f"{self._inside} recalls and reflects are being answered already. Try again in a moment.",
                retry_after=RETRY_SECONDS,
            )

    def _full(self) -> bool:
        if not self._most or self._inside < min(self._most, _ALWAYS):
            return False
        return self._inside >= self._most or (self._inside + 1) * self._interval > self._wait
