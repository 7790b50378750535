"""The encodings of the questions that were asked last: reflect searches with the same words in several places."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from hindsight_server.ports.embedder import Encoding

_MOST = 64  # questions; an encoding takes some kilobytes


class LastEncodings:
    """Remembers what `encode` gave for the last questions. It is safe to use from several threads.

    Example:
        >>> last = LastEncodings(encode)
        >>> last("Where?", ["minilm"]) == last("Where?", ["minilm"])  # encoded once
        True
    """

    def __init__(self, encode: Callable[[str, Sequence[str]], list[Encoding]]) -> None:
        self._encode = encode
        self._held: OrderedDict[tuple[str, tuple[str, ...]], list[Encoding]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, text: str, spaces: Sequence[str]) -> list[Encoding] | None:
        """What is remembered of a question; None when it was not asked lately."""
        key = (text, tuple(spaces))
        with self._lock:
            held = self._held.get(key)
            if held is not None:
                self._held.move_to_end(key)
        return None if held is None else list(held)

    def __call__(self, text: str, spaces: Sequence[str]) -> list[Encoding]:
        """The encodings of a question; remembered when no space is missing. What `encode` raises is raised."""
        held = self.get(text, spaces)
        if held is not None:
            return held
        held = self._encode(text, spaces)
        if {encoding.space for encoding in held} >= set(spaces):
            with self._lock:
                self._held[text, tuple(spaces)] = list(held)
                while len(self._held) > _MOST:
                    self._held.popitem(last=False)
        return held
