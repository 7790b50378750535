from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable

import pytest

from hindsight_adapter_core.recent import RecentMap


def full() -> RecentMap[str, int]:
    """Two entries of at most two; ``a`` is the next to be forgotten."""
    numbers: RecentMap[str, int] = RecentMap(limit=2)
    numbers.put("a", 1)
    numbers.put("b", 2)
    return numbers


@pytest.mark.parametrize(
    "use",
    [
        lambda numbers: numbers.get("a"),
        lambda numbers: numbers.get_or_make("a", lambda: 5),
        lambda numbers: numbers.put("a", 1),
        lambda numbers: numbers.change("a", lambda number: number),
    ],
)
def test_what_is_in_use_is_not_forgotten_for_what_is_newer(use: Callable[[RecentMap[str, int]], object]) -> None:
    numbers = full()
    for number in range(3, 6):
        use(numbers)
        numbers.put(f"new {number}", number)
        assert numbers.values() == [1, number]
    assert numbers.get("b") is None


def test_looking_at_all_of_them_is_no_use() -> None:
    numbers = full()
    assert numbers.values() == [1, 2]
    numbers.put("c", 3)
    assert numbers.values() == [2, 3]


def test_an_entry_is_made_or_changed_from_nothing() -> None:
    numbers: RecentMap[str, int] = RecentMap()
    assert numbers.get("a") is None
    assert numbers.get_or_make("a", lambda: 1) == 1
    assert numbers.change("b", lambda number: (number or 0) + 2) == 2
    assert numbers.change("b", lambda number: (number or 0) + 2) == 4
    numbers.forget("a")
    numbers.forget("a")
    assert numbers.values() == [4]


def test_a_failure_to_make_an_entry_leaves_none() -> None:
    numbers = full()
    with pytest.raises(ZeroDivisionError):
        numbers.get_or_make("c", lambda: 1 // 0)
    assert numbers.values() == [1, 2]


def test_threads_that_ask_at_once_share_one_entry() -> None:
    made: list[object] = []
    entries: RecentMap[str, object] = RecentMap()

    def make() -> object:
        made.append(object())
        time.sleep(0.02)
        return made[-1]

    threads = [threading.Thread(target=entries.get_or_make, args=("a", make)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert entries.values() == made
    assert len(made) == 1


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda numbers: pickle.loads(pickle.dumps(numbers))])
def test_copies_are_empty_and_as_large(again: Callable[[RecentMap[str, int]], RecentMap[str, int]]) -> None:
    numbers = full()
    twin = again(numbers)
    assert (twin.limit, twin.values()) == (2, [])
    twin.put("c", 3)
    assert numbers.values() == [1, 2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_forked_at_any_moment_finds_the_map_open() -> None:
    code = """
    import os, signal, sys, threading
    from hindsight_adapter_core import get_bridge
    from hindsight_adapter_core.recent import RecentMap

    numbers = RecentMap()
    get_bridge()  # has what it needs done after a fork
    sys.setswitchinterval(1e-6)

    def work():
        while True:
            numbers.change("a", lambda number: (number or 0) + 1)

    threading.Thread(target=work, daemon=True).start()
    for _ in range(40):
        child = os.fork()
        if child == 0:
            signal.alarm(5)
            numbers.get("a")
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0, "the child waits for a thread that it does not have"
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
