"""Who may be called now: receivers that hang leave room for those that answer.

Two rules, by how a receiver took its last attempt:

- One that was quick, in success or failure, has up to four attempts at the same time. One that was slow, or was not
  tried yet, has one: so a receiver that hangs holds one slot.
- All slow ones together have half of the slots: so however many of them hang, the other half goes on.

How long the next attempt takes is not known before: receivers that begin to hang at the same time can still take all
slots, for the timeout of that one attempt.
"""

from __future__ import annotations

from collections import Counter

SLOTS = 32
PROMPT_SECONDS = 5.0
"""An attempt that takes longer is slow, and so is one that takes more than half of the time it is given."""

_SLOTS_OF_ONE = 4
_SLOTS_OF_SLOW = SLOTS // 2
_MOST_KNOWN = 10_000  # receivers that are remembered; one that is forgotten counts as not tried yet


class Slots:
    """The attempts that are being made, and how the receivers took the ones before.

    Example:
        >>> slots = Slots()
        >>> slots.take("attempt", "receiver")
        >>> slots.busy()
        {'receiver'}
        >>> slots.free("attempt", prompt=True)
        >>> slots.busy()
        set()
    """

    def __init__(self) -> None:
        self._taken: dict[str, str] = {}
        self._was_prompt: dict[str, bool] = {}

    def take(self, attempt: str, receiver: str) -> None:
        """An attempt at a receiver begins."""
        self._taken[attempt] = receiver

    def free(self, attempt: str, *, prompt: bool | None = None) -> None:
        """An attempt is over, if it was not yet. None tells nothing about its receiver, since it was not called."""
        receiver = self._taken.pop(attempt, None)
        if receiver is None or prompt is None:
            return
        self._was_prompt.pop(receiver, None)  # the latest is the last to be forgotten
        self._was_prompt[receiver] = prompt
        if len(self._was_prompt) > _MOST_KNOWN:
            del self._was_prompt[next(iter(self._was_prompt))]

    def busy(self) -> set[str]:
        """The receivers that get no further attempt now."""
        counts = Counter(self._taken.values())
        slow = {receiver for receiver, prompt in self._was_prompt.items() if not prompt}
        busy = {
            receiver
            for receiver, count in counts.items()
            if count >= (_SLOTS_OF_ONE if self._was_prompt.get(receiver) else 1)
        }
        return busy | slow if sum(counts[receiver] for receiver in slow) >= _SLOTS_OF_SLOW else busy
