"""Fixtures: a fake server on loopback, a real one, a clean environment, and the scripted model."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hindsight_langchain
import hindsight_langgraph
from hindsight_adapter_core.testing import FakeHindsight
from hindsight_server.testing.process import ServerProcess

if "langchain_scripted" not in sys.modules:
    # Tests are imported without a package, so a helper beside them has to be loaded by its path.
    _spec = importlib.util.spec_from_file_location("langchain_scripted", Path(__file__).with_name("scripted.py"))
    assert _spec is not None
    assert _spec.loader is not None
    _module = importlib.util.module_from_spec(_spec)
    sys.modules["langchain_scripted"] = _module
    _spec.loader.exec_module(_module)

# langchain-core alone is supported, too. These show agents throughout; elsewhere the single test is skipped.
_SHOW_AGENTS = ["test_docs.py", "test_example.py", "test_middleware.py", "test_readme.py", "test_tasks.py"]
collect_ignore = [] if importlib.util.find_spec("langchain") else _SHOW_AGENTS

Runner = Callable[..., Awaitable[Any]]


@pytest.fixture(autouse=True)
def clean_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No variable and no configure() of another test, and no tracing."""
    for name in ("HINDSIGHT_API_URL", "HINDSIGHT_API_KEY", "HINDSIGHT_BANK_ID", "LANGSMITH_TRACING"):
        monkeypatch.delenv(name, raising=False)
    hindsight_langchain.reset_config()
    hindsight_langgraph.reset_config()
    yield
    hindsight_langchain.reset_config()
    hindsight_langgraph.reset_config()


@pytest.fixture
def server() -> Iterator[FakeHindsight]:
    with FakeHindsight() as fake:
        yield fake


@pytest.fixture(scope="session")
def real_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a real server with an empty data folder: give each test its own bank."""
    with ServerProcess(tmp_path_factory.mktemp("langchain-server")) as server:
        yield server.url


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Runner:
    """``await run(runnable, input, config)`` through ``invoke`` (inside a running loop) or ``ainvoke``."""

    async def call(runnable: Any, *arguments: Any, **options: Any) -> Any:
        if request.param == "sync":
            return runnable.invoke(*arguments, **options)
        return await runnable.ainvoke(*arguments, **options)

    call.face = request.param  # type: ignore[attr-defined]
    return call
