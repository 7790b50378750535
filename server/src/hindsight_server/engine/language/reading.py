"""Reading what a model wrote: reasoning dropped, JSON found wherever it stands. Pure functions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_REASONING = re.compile(r"<(think|thinking|thought|reasoning)\b[^>]*>.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_ENDED_REASONING = re.compile(r"\A.*?</(?:think|thinking|thought|reasoning)\s*>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```[\w-]*\s*\n?(.*?)```", re.DOTALL)
_decoder = json.JSONDecoder()


def without_reasoning(text: str) -> str:
    """The text without what stands in reasoning tags, also when only the closing or the opening tag is there."""
    kept = _REASONING.sub("", text)
    return _ENDED_REASONING.sub("", kept).strip()


def json_object(text: str) -> Mapping[str, Any] | None:
    """The first whole JSON object in a text: bare, in a code fence or within prose; None when there is none."""
    said = without_reasoning(text)
    for piece in (said, *(match.group(1) for match in _FENCE.finditer(said))):
        found = _object_at(piece.strip(), 0)
        if found is not None:
            return found
    position = said.find("{")
    while position != -1:
        found = _object_at(said, position)
        if found is not None:
            return found
        position = said.find("{", position + 1)
    return None


def _object_at(text: str, position: int) -> Mapping[str, Any] | None:
    if not text.startswith("{", position):
        return None
    try:
        value, _ = _decoder.raw_decode(text, position)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
