"""The tools in programs of their own: exit, fork, uvloop."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from hindsight_adapter_core.testing import FakeHindsight

pytestmark = pytest.mark.feature("H11")

HEAD = """
import asyncio, os, sys
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
sys.path.insert(0, {folder!r})
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage
from hindsight_haystack import HindsightMemoryWrapper
from scripted import ScriptedChatGenerator
wrapper = HindsightMemoryWrapper(bank_id="b", hindsight_api_url={url!r}, auto_recall=True, auto_retain=True)
agent = Agent(chat_generator=ScriptedChatGenerator(["ok"]), tools=wrapper)
def say(text):
    return wrapper.run(agent, messages=[ChatMessage.from_user(text)])
async def asay(text):
    return await wrapper.run_async(agent, messages=[ChatMessage.from_user(text)])
"""


def run_quietly(code: str, url: str) -> None:
    head = HEAD.format(folder=str(Path(__file__).parent), url=url)
    # Warnings are errors once everything is imported: what other libraries say while loading is not ours.
    body = "import warnings\nwarnings.simplefilter('error')\n" + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-c", head + body], capture_output=True, text=True, timeout=90, env={**os.environ}
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_program_ends_without_a_word(server: FakeHindsight) -> None:
    run_quietly("say('one')", server.url)
    assert server.texts("b") == ["one", "ok"]


def test_parent_and_forked_child_both_remember(server: FakeHindsight) -> None:
    run_quietly(
        """
        say('before')
        warnings.simplefilter('ignore', DeprecationWarning)  # forking beside threads, the very thing tested
        child = os.fork()
        if child == 0:
            say('child')
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        say('parent')
        """,
        server.url,
    )
    assert server.texts("b") == ["before", "ok", "child", "ok", "parent", "ok"]


def test_loops_of_every_kind(server: FakeHindsight) -> None:
    run_quietly(
        """
        import uvloop
        uvloop.run(asay('uvloop'))
        asyncio.run(asay('first'))
        asyncio.run(asay('second'))
        async def sync_inside():
            return say('inside')
        asyncio.run(sync_inside())
        """,
        server.url,
    )
    assert [text for text in server.texts("b") if text != "ok"] == ["uvloop", "first", "second", "inside"]
