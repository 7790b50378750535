"""Who is called while others hang."""

from __future__ import annotations

import pytest

from hindsight_server.engine.webhooks import slots
from hindsight_server.engine.webhooks.slots import SLOTS, Slots

pytestmark = pytest.mark.feature("O7")


def known(held: Slots, *receivers: str, prompt: bool) -> None:
    """Each took its last attempt so."""
    for receiver in receivers:
        held.take(receiver, receiver)
        held.free(receiver, prompt=prompt)


def begin(held: Slots, receivers: list[str]) -> list[str]:
    """Attempts at these in turn, as long as one is free; whose they are."""
    begun: list[str] = []
    while free := [one for one in receivers if one not in held.busy()]:
        receiver = min(free, key=begun.count)
        held.take(f"{receiver}-{len(begun)}", receiver)
        begun.append(receiver)
    return begun


def test_slow_ones_share_half_of_the_slots_and_one_that_answers_has_four() -> None:
    held, slow = Slots(), [f"slow-{number}" for number in range(100)]
    known(held, *slow, prompt=False)
    known(held, "prompt", prompt=True)
    assert len(begin(held, slow)) == SLOTS // 2
    assert sorted(begin(held, ["prompt", "new"])) == ["new", *["prompt"] * 4]
    assert {"prompt", "new", *slow} == held.busy()


def test_one_that_answers_again_is_no_longer_slow() -> None:
    held = Slots()
    known(held, "a", prompt=False)
    assert len(begin(held, ["a"])) == 1
    held.free("a-0", prompt=True)
    assert len(begin(held, ["a"])) == 4


def test_an_attempt_that_was_not_made_tells_nothing() -> None:
    held = Slots()
    known(held, "a", prompt=True)
    held.take("x", "a")
    held.free("x")
    held.free("x", prompt=False)
    assert len(begin(held, ["a"])) == 4


def test_the_receivers_that_are_remembered_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "_MOST_KNOWN", 2)
    held = Slots()
    known(held, "a", "b", prompt=True)
    known(held, "a", "c", prompt=True)
    assert [len(begin(held, [one])) for one in "abc"] == [4, 1, 4]
