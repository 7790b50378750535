"""Turns that could not be stored, until their conversation's next run."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence

from hindsight_adapter_core.recent import RecentMap

from .messages import Said

__all__ = ["Unstored"]

logger = logging.getLogger("hindsight_langchain")

#: Conversations of which turns are kept, and turns of each: sixteen exchanges, more than most outages last.
_CONVERSATIONS, _TURNS = 1024, 32


class Unstored:
    """What a run said and could not store, by conversation (bank and document), in this process's memory only.

    A run without a checkpointer knows its own messages only, so the next one would not offer these again. Copies and
    forked children begin empty: what they kept would be stored twice.
    """

    def __init__(self) -> None:
        self._held: RecentMap[tuple[int, str, str], tuple[Said, ...]] = RecentMap(_CONVERSATIONS)

    def take(self, place: tuple[str, str]) -> list[Said]:
        """What is kept for ``place``, the oldest first. Nobody else gets it: what is still not stored is to be kept."""
        taken: list[Said] = []

        def give(held: tuple[Said, ...] | None) -> tuple[Said, ...]:
            taken.extend(held or ())
            return ()

        if self._held.get((os.getpid(), *place)):
            self._held.change((os.getpid(), *place), give)
        return taken

    def keep(self, place: tuple[str, str], said: Sequence[Said]) -> None:
        """Keep ``said`` for ``place``; of too many, the newest."""
        if not said:
            return
        lost = 0

        def add(held: tuple[Said, ...] | None) -> tuple[Said, ...]:
            nonlocal lost
            every = (*said, *(held or ()))
            lost = max(0, len(every) - _TURNS)
            return every[lost:]

        self._held.change((os.getpid(), *place), add)
        if lost:
            logger.error("%d turns of conversation %r were not stored and are lost: too many wait", lost, place[1])
