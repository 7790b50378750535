"""Recalled memories as text: numbered for tools, bulleted or numbered inside a prompt block."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, Literal

from .errors import SettingsError

__all__ = ["MEMORIES_PLACEHOLDER", "check_template", "fill_template", "memory_lines", "memory_texts"]

MEMORIES_PLACEHOLDER = "{memories}"


def check_template(template: str, *, name: str = "memory_prompt_template") -> str:
    """The template itself, if it can carry memories.

    Only ``{memories}`` is a placeholder; any other brace is text, so JSON examples in a template are fine.

    Raises:
        SettingsError: it is no string or lacks ``{memories}``.
    """
    if not isinstance(template, str) or MEMORIES_PLACEHOLDER not in template:
        raise SettingsError(f"{name} must be a string that holds {MEMORIES_PLACEHOLDER}, where the memories go")
    return template


def fill_template(template: str, memories: str) -> str:
    """Put ``memories`` where the template says. Nothing inside the memories is interpreted."""
    return template.replace(MEMORIES_PLACEHOLDER, memories)


def memory_texts(results: Iterable[Any], *, limit: int | None = None) -> list[str]:
    """The texts of recall results (objects with ``text``, or dicts), blanks left out, at most ``limit``."""
    texts = (result.get("text") if isinstance(result, dict) else getattr(result, "text", None) for result in results)
    return list(islice((str(text) for text in texts if text and str(text).strip()), limit))


def memory_lines(texts: Iterable[str], *, style: Literal["numbered", "bullets"] = "numbered") -> str:
    """One entry per memory: ``1. <text>`` or ``- <text>``.

    A memory of several lines keeps them, indented, so that no line of it can pass for an entry of its own.
    """
    entries = []
    for number, text in enumerate(texts, start=1):
        marker = f"{number}. " if style == "numbered" else "- "
        entries.append(marker + text.strip().replace("\n", "\n" + " " * len(marker)))
    return "\n".join(entries)
