"""Importing a package does nothing and costs little."""

from __future__ import annotations

import subprocess
import sys

import pytest

PACKAGES = [
    "hindsight_adapter_core",
    "hindsight_haystack",
    "hindsight_llamaindex",
    "hindsight_langchain",
    "hindsight_langgraph",
]
FRAMEWORK = {
    "hindsight_haystack": "import haystack.tools",
    "hindsight_llamaindex": "import llama_index.core.memory, llama_index.core.tools.tool_spec.base",
    "hindsight_langchain": "import langchain_core.tools, langchain.agents",
    "hindsight_langgraph": "import langchain_core.tools, langchain_core.runnables.base",
    "hindsight_adapter_core": "import pydantic",
}

# Imports the framework first, so that only what our own package does is seen.
PROBE = """
import logging, os, sys, threading
{framework}
before_modules, before_threads = set(sys.modules), threading.active_count()
before_handlers, before_environment = len(logging.getLogger().handlers), dict(os.environ)
opened = []
def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        path = arguments[0]
        ours = not path.startswith((sys.prefix, sys.base_prefix))
        if ours and not path.endswith(".py") and "__pycache__" not in path:
            opened.append(path)
    if event in ("socket.connect", "subprocess.Popen"):
        opened.append(event)
sys.addaudithook(watch)
import {package}
assert threading.active_count() == before_threads, "a thread was started"
assert len(logging.getLogger().handlers) == before_handlers, "logging was set up"
assert dict(os.environ) == before_environment, "the environment was changed"
assert not opened, opened
new = set(sys.modules) - before_modules
heavy = sorted({{"aiohttp", "hindsight_client", "hindsight_client_api", "hindsight_server"}} & new)
assert not heavy, heavy
"""


@pytest.mark.parametrize("package", PACKAGES)
def test_import_has_no_side_effect_and_loads_no_client(package: str) -> None:
    probe = PROBE.format(framework=FRAMEWORK[package], package=package)
    result = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_server_package_imports_nothing_heavy() -> None:
    probe = "import sys, hindsight_server; assert not {'numpy', 'apsw', 'fastapi'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0


def test_every_package_is_typed() -> None:
    import importlib.resources

    for package in (*PACKAGES, "hindsight_server"):
        assert importlib.resources.files(package).joinpath("py.typed").is_file(), package
