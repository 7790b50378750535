from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_adapter_core.testing import FakeHindsight
from hindsight_haystack import reset_config

# Haystack writes and reads class names, so the scripted model must be importable by one.
sys.path.insert(0, str(Path(__file__).parent))
# Read when haystack is imported, which no test has done yet: nothing here phones home.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"


@pytest.fixture(autouse=True)
def _clean_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("HINDSIGHT_API_URL", "HINDSIGHT_API_KEY", "HINDSIGHT_BANK_ID"):
        monkeypatch.delenv(name, raising=False)
    reset_config()
    yield
    reset_config()


@pytest.fixture(scope="session")
def memory_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a real memory server, shared: give each test a bank of its own."""
    process = pytest.importorskip("hindsight_server.testing.process", reason="needs the memory server's package")
    with process.ServerProcess(tmp_path_factory.mktemp("memory-server")) as running:
        yield running.url


@pytest.fixture
def server() -> Iterator[FakeHindsight]:
    with FakeHindsight() as running:
        yield running
