"""What both wire formats share: reading JSON of a stranger without trusting its shapes."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, cast

from hindsight_server.ports.llm import Image, Schema, ToolRequest

_MOST_TOKENS = 10**9


def decoded(body: bytes) -> Any:
    """The JSON of an answer; None when it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def as_mapping(value: Any) -> Mapping[str, Any]:
    """`value` when it is an object, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def count(value: Any) -> int:
    """A number of tokens; 0 when it is none, or more than any question can have: that tells nothing."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST_TOKENS else 0


def asked_in_words(schema: Schema) -> str:
    """The demand for a structured answer of a model that knows no other way of it."""
    return (
        "Answer with one JSON object and nothing else. It follows this JSON schema:\n"
        f"{json.dumps(schema.schema, ensure_ascii=False)}"
    )


def base64_of(image: Image) -> str:
    return base64.b64encode(image.data).decode("ascii")


def tool_request(request_id: Any, name: Any, arguments: Any, position: int) -> ToolRequest:
    """A tool call as a model wrote it; arguments that are no JSON object stay raw."""
    found = arguments
    if isinstance(arguments, str):
        try:
            found = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            found = None
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolRequest(
        request_id=as_text(request_id) or f"call_{position}",
        name=as_text(name),
        arguments=found if isinstance(found, dict) else None,
        raw=raw,
    )
