"""Arrays that grow at the end."""

from __future__ import annotations

import numpy as np
import pytest

from hindsight_server.engine.recall.columns import Column


@pytest.mark.parametrize("first", [1, 63, 64, 65, 1000])
def test_what_was_handed_out_stays_while_the_column_grows(first: int) -> None:
    column = Column(np.float32, 2)
    given = np.arange(2 * first, dtype=np.float32).reshape(-1, 2).copy()
    column.extend(given)
    views = [column.view()]
    for step in range(5):
        column.extend(np.full((step + 1, 2), -step, np.float32))
        views.append(column.view())
    whole = np.concatenate([given, *(np.full((step + 1, 2), -step, np.float32) for step in range(5))])
    for view in views:
        assert view.tolist() == whole[: len(view)].tolist()
        assert not view.flags.writeable
    assert given.tolist() == whole[:first].tolist()


def test_many_first_rows_are_not_copied() -> None:
    given = np.ones((1000, 2), np.float32)
    column = Column(np.float32, 2)
    column.extend(given)
    assert np.shares_memory(column.view(), given)
    assert column.nbytes == given.nbytes


def test_a_part_of_another_array_is_copied() -> None:
    given = np.ones((1000, 2), np.float32)
    column = Column(np.float32, 2)
    column.extend(given[:500])
    given[:] = 2
    assert column.view().max() == 1


def test_room_that_was_made_is_used_before_the_column_grows() -> None:
    column = Column(np.float32, 2)
    column.reserve(1000)
    column.extend(np.ones((1000, 2), np.float32))
    before = column.view()
    column.extend(np.zeros((50, 2), np.float32))
    assert np.shares_memory(column.view(), before)
    assert column.view().sum() == 2000
    assert column.nbytes == 1050 * 8
