"""Recalled memories as text: numbered for tools, bulleted or numbered inside a prompt block."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Any, Literal

from .errors import SettingsError

__all__ = [
    "FENCE_CLOSE",
    "FENCE_OPEN",
    "MEMORIES_PLACEHOLDER",
    "check_template",
    "defused",
    "fence_memories",
    "fill_template",
    "memory_lines",
    "memory_texts",
]

MEMORIES_PLACEHOLDER = "{memories}"
FENCE_OPEN, FENCE_CLOSE = "<hindsight_memories>", "</hindsight_memories>"

#: Marks that chat templates and prompts use to say who speaks, or where a block ends. Inside a memory they are words.
_CONTROL = re.compile(
    r"<(?=\s*/?\s*(?:hindsight_memories|memory_snapshot|memor(?:y|ies)|system(?:[-_ ]?(?:prompt|reminder|message))?"
    r"|assistant|user|human|developer|instructions?|context|tool(?:_?(?:call|result|response|use))?s?"
    r"|function(?:_?calls?|_?results?)?|think(?:ing)?|s|\|[^>|]{0,40}\|?)\s*/?>)"
    r"|\[(?=/?(?:INST|SYS|SYSTEM)\])|<(?=</?SYS>>)",
    re.IGNORECASE,
)
#: What some reader takes for the end of a line.
_LINE_END = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_HARMLESS = {"<": "\u2039", "[": "\u27e6"}


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


def defused(text: str) -> str:
    """The text with the marks that speak to a model's chat template, or that end a memory block, made into plain signs.

    Only the first sign of such a mark changes (``<|im_start|>`` to ``‹|im_start|>``, ``[INST]`` to ``⟦INST]``);
    other text, HTML and code stay as they are.
    """
    if "<" not in text and "[" not in text:
        return text
    return _CONTROL.sub(lambda mark: _HARMLESS[mark.group()], text)


def fence_memories(text: str) -> str:
    """Wrap a memory block in marks that :func:`clean_turn` recognises and removes, should it come back.

    The marks cannot be forged from inside: in ``text`` they are made harmless (:func:`defused`).
    """
    return f"{FENCE_OPEN}\n{defused(text)}\n{FENCE_CLOSE}"


def memory_lines(texts: Iterable[str], *, style: Literal["numbered", "bullets"] = "numbered") -> str:
    """One entry per memory: ``1. <text>`` or ``- <text>``.

    A memory of several lines keeps them, indented, so that no line of it can pass for an entry of its own; marks of
    chat templates inside it are made harmless (:func:`defused`).
    """
    entries = []
    for number, text in enumerate(texts, start=1):
        marker = f"{number}. " if style == "numbered" else "- "
        lines = _LINE_END.split(defused(text).strip())
        entries.append(marker + ("\n" + " " * len(marker)).join(lines))
    return "\n".join(entries)
