"""The contract of stores, on this one."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings

from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.testing.store_contract import StoreContract, StoreMachine


class TestSqliteStore(StoreContract):
    pass


class SqliteMachine(StoreMachine):
    _folder: Path | None = None

    def make_store(self) -> SqliteStore:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="hindsight-machine-"))
        return SqliteStore(self._folder)

    def drop_store(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder)


TestRandomOperations = SqliteMachine.TestCase
TestRandomOperations.settings = settings(
    max_examples=20, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
