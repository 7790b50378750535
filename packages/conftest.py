"""What every test of the packages gets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hindsight_adapter_core import get_bridge


@pytest.fixture(autouse=True)
def _no_write_left_behind() -> Iterator[None]:
    """A test delivers what it queued.

    A write that waits for a server that is gone would be tried in later tests, and told as lost when the run ends.
    """
    yield
    assert get_bridge().drain() == 0, "writes of this test still wait for a memory server"
