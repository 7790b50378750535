"""How ids are made."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from hindsight_server.domain.ids import new_id


def test_new_ids_are_fresh_uuids_of_version_7() -> None:
    ids = [new_id() for _ in range(20_000)]
    assert len(set(ids)) == len(ids)
    for one in ids[:200]:
        parsed = uuid.UUID(one)
        assert (str(parsed), parsed.version, parsed.variant) == (one, 7, uuid.RFC_4122)


def test_threads_make_ids_of_their_own() -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: [new_id() for _ in range(2_000)], range(8)))
    assert len({one for ids in made for one in ids}) == 16_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is nothing to fork on Windows")
def test_a_forked_process_makes_ids_of_its_own() -> None:
    script = (
        "import os\n"
        "from hindsight_server.domain.ids import new_id\n"
        "new_id()\n"
        "child = os.fork()\n"
        "made = [new_id()[15:] for _ in range(3)]\n"
        "if child: os.waitpid(child, 0)\n"
        "print(*made, flush=True)\n"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60).stdout
    assert len(set(told.split())) == 6


def test_new_ids_sort_by_the_time_they_were_made() -> None:
    made = []
    for _ in range(5):
        made.append(new_id())
        time.sleep(0.002)
    assert made == sorted(made)
    assert abs(int(made[0].replace("-", "")[:12], 16) / 1000 - time.time()) < 60
