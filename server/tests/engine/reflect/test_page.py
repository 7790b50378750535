"""The page that explains reflect shows the loop as it is."""

from __future__ import annotations

import inspect
import re
import textwrap
from pathlib import Path

from hindsight_server.engine.reflect.loop import AgentLoop
from hindsight_server.engine.reflect.tools import TOOLS

PAGE = (Path(__file__).parents[4] / "docs" / "explanation" / "reflect.md").read_text(encoding="utf-8")


def test_the_page_shows_the_code_of_the_loop() -> None:
    shown = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert shown
    body = inspect.getsource(AgentLoop.run).split('"""')[-1]
    assert textwrap.dedent(body).strip() == shown.group(1).strip()


def test_the_page_names_every_tool() -> None:
    assert not [name for name in TOOLS if f"`{name}`" not in PAGE]
