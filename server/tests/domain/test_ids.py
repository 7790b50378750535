"""How ids are made."""

from __future__ import annotations

import time
import uuid

from hindsight_server.domain.ids import new_id


def test_new_ids_are_fresh_uuids_of_version_7() -> None:
    ids = [new_id() for _ in range(20_000)]
    assert len(set(ids)) == len(ids)
    for one in ids[:200]:
        parsed = uuid.UUID(one)
        assert (str(parsed), parsed.version, parsed.variant) == (one, 7, uuid.RFC_4122)


def test_new_ids_sort_by_the_time_they_were_made() -> None:
    made = []
    for _ in range(5):
        made.append(new_id())
        time.sleep(0.002)
    assert made == sorted(made)
    assert abs(int(made[0].replace("-", "")[:12], 16) / 1000 - time.time()) < 60
