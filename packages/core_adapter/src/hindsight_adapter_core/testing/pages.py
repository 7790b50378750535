"""The Python blocks of a page in Markdown, to be run by a test as a reader would run them."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from pathlib import Path
from typing import Any

__all__ = ["blocks_of_page", "run_block", "sections_of_page"]

_SECTION = re.compile(r"^## (.*?)\n(.*?)(?=^## |\Z)", flags=re.DOTALL | re.MULTILINE)
_BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)


def blocks_of_page(page: Path) -> list[str]:
    """All Python blocks, in order."""
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


def sections_of_page(page: Path) -> dict[str, list[str]]:
    """The Python blocks under each second-level heading that has any, by the heading's words."""
    text = page.read_text(encoding="utf-8")
    return {title: blocks for title, body in _SECTION.findall(text) if (blocks := _BLOCK.findall(body))}


def run_block(code: str, title: str, names: dict[str, Any] | None = None) -> dict[str, Any]:
    """Run a block, which may use ``await`` outside of a function as in a notebook; returns the names it leaves.

    Args:
        code: the block.
        title: shown as the file in a traceback.
        names: what earlier blocks left; the block's own are added.
    """
    found = {"__name__": "docs"} if names is None else names
    compiled = compile(code, title, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    outcome = eval(compiled, found)  # noqa: S307 - our own pages
    if inspect.iscoroutine(outcome):
        asyncio.run(outcome)
    return found
