"""How many searches may wait for their turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hindsight_server.domain.errors import Overloaded

RETRY_SECONDS = 1.0


class Admission:
    """Refuses what would only wait in a long queue, and be given up by its client before it is answered.

    Used from the event loop only.

    Args:
        most: requests in flight, those that wait included; 0 sets no limit.
    """

    def __init__(self, most: int = 0) -> None:
        self._most = most
        self._inside = 0

    @contextmanager
    def admit(self) -> Iterator[None]:
        """Hold a place. Raises Overloaded when there is none."""
        if self._most and self._inside >= self._most:
            raise Overloaded(
                f"{self._inside} recalls and reflects are being answered already. Try again in a moment.",
                retry_after=RETRY_SECONDS,
            )
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1
