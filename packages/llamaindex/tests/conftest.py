"""Fixtures: a fake server on loopback, a clean environment, and the scripted model."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_adapter_core.testing import FakeHindsight
from hindsight_llamaindex import HindsightMemory, reset_config

if "llamaindex_scripted" not in sys.modules:
    # Tests are imported without a package, so a helper beside them has to be loaded by its path.
    _spec = importlib.util.spec_from_file_location("llamaindex_scripted", Path(__file__).with_name("scripted.py"))
    assert _spec is not None
    assert _spec.loader is not None
    _module = importlib.util.module_from_spec(_spec)
    sys.modules["llamaindex_scripted"] = _module
    _spec.loader.exec_module(_module)

# Old versions have no agents in workflows, and later ones no agents without.
collect_ignore = ["test_agent_contract_legacy.py"]
if importlib.util.find_spec("llama_index.core.agent.workflow") is None:
    collect_ignore = [
        "test_agents.py",
        "test_agent_contract.py",
        "test_docs.py",
        "test_block.py",
        "test_example.py",
        "test_tasks.py",
    ]


@pytest.fixture(autouse=True)
def clean_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No variable and no configure() of another test."""
    for name in ("HINDSIGHT_API_URL", "HINDSIGHT_API_KEY", "HINDSIGHT_BANK_ID"):
        monkeypatch.delenv(name, raising=False)
    reset_config()
    yield
    reset_config()


@pytest.fixture
def server() -> Iterator[FakeHindsight]:
    with FakeHindsight() as fake:
        yield fake


@pytest.fixture
def memory(server: FakeHindsight) -> HindsightMemory:
    """A new conversation with bank ``ada``."""
    return HindsightMemory.from_url(server.url, "ada")
