from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_adapter_core.testing import FakeHindsight

# The subject package must be importable by name: pickles and the client look-up name it.
sys.path.insert(0, str(Path(__file__).parent / "subject"))


@pytest.fixture(autouse=True)
def _clean_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("HINDSIGHT_API_URL", "HINDSIGHT_API_KEY", "HINDSIGHT_BANK_ID"):
        monkeypatch.delenv(name, raising=False)
    from core_subject import CONFIG

    CONFIG.reset_config()
    yield
    CONFIG.reset_config()


@pytest.fixture
def server() -> Iterator[FakeHindsight]:
    with FakeHindsight() as running:
        yield running
