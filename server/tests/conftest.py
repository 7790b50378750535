"""A real `hindsight serve` process for the tests of HTTP and of the command line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hindsight_server.testing.process import ServerProcess


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a real server with an empty data folder, shared by the session: give each test its own bank."""
    with ServerProcess(tmp_path_factory.mktemp("hindsight-server")) as server:
        yield server.url
