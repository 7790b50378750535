"""The tools that a model may call inside reflect, as data, and the reading of what it gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hindsight_server.ports.llm import Tool

SEARCH_MENTAL_MODELS = "search_mental_models"
READ_MENTAL_MODELS = "read_mental_models"
SEARCH_OBSERVATIONS = "search_observations"
RECALL = "recall"
EXPAND = "expand"
DONE = "done"

SEARCHES = (SEARCH_MENTAL_MODELS, SEARCH_OBSERVATIONS, RECALL)
"""In the order in which they come first: what is known best before what is known at all."""

_LONGEST_TEXT = 4000  # characters of a query; recall cuts it further
_MOST_IDS = 50
_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}
_IDS = {"type": "array", "items": {"type": "string"}}


def _tool(name: str, description: str, required: tuple[str, ...], **fields: Mapping[str, Any]) -> Tool:
    return Tool(
        name=name,
        description=description,
        parameters={"type": "object", "properties": fields, "required": list(required), "additionalProperties": False},
    )


TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        _tool(
            SEARCH_MENTAL_MODELS,
            "Find standing answers that are kept up to date for questions that come often. The surest source.",
            ("query",),
            query={**_TEXT, "description": "What you want to know."},
            max_results={**_NUMBER, "description": "How many at most; 5 without it."},
        ),
        _tool(
            READ_MENTAL_MODELS,
            "Read standing answers in full, by the ids that a search gave.",
            ("ids",),
            ids={**_IDS, "description": "Ids of standing answers."},
        ),
        _tool(
            SEARCH_OBSERVATIONS,
            "Find observations: what was concluded from many memories, with how many support it.",
            ("query",),
            query={**_TEXT, "description": "What you want to know."},
            max_tokens={**_NUMBER, "description": "Tokens of the observations at most."},
        ),
        _tool(
            RECALL,
            "Find single memories: what was said or happened, with dates. The only place that holds everything.",
            ("query",),
            query={**_TEXT, "description": "What you want to know, with the names and times that matter."},
            max_tokens={**_NUMBER, "description": "Tokens of the memories at most."},
        ),
        _tool(
            EXPAND,
            "Read what stands around memories in their source, by the ids that a search gave.",
            ("memory_ids",),
            memory_ids={**_IDS, "description": "Ids of memories, like m3."},
            depth={
                **_TEXT,
                "enum": ["chunk", "document"],
                "description": "chunk is the passage, document the whole source; chunk without it.",
            },
        ),
        _tool(
            DONE,
            "Give the answer. Only after searching, and alone in its turn.",
            ("answer",),
            answer={**_TEXT, "description": "The answer, as Markdown, without ids."},
            memory_ids={**_IDS, "description": "Ids of all memories and observations that it rests on, like m3."},
            mental_model_ids={**_IDS, "description": "Ids of the standing answers that it rests on."},
            found={"type": "boolean", "description": "false when the memories hold no answer."},
        ),
    )
}


class BadArguments(Exception):
    """What a model gave a tool can't be used; the text is for the model."""


def read_arguments(name: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments of a call, with the types of its schema; what the schema doesn't name is left out.

    Small models write numbers as text and a single id without its list; both are understood.

    Raises:
        BadArguments: no object, one that lacks something, or a value that can't be read.
    """
    if given is None:
        raise BadArguments("the arguments are no JSON object")
    schema = TOOLS[name].parameters
    read = {
        field: _value(field, given[field], kind)
        for field, kind in schema["properties"].items()
        if given.get(field) is not None
    }
    for field in schema["required"]:
        if read.get(field) in (None, []) or (field == "query" and not read[field].strip()):
            raise BadArguments(f"'{field}' is missing")
    return read


def _value(field: str, value: Any, kind: Mapping[str, Any]) -> Any:
    wanted = kind["type"]
    if wanted == "string" and isinstance(value, str):
        if "enum" in kind and value not in kind["enum"]:
            raise BadArguments(f"'{field}' must be one of: {', '.join(kind['enum'])}")
        return value if field == "answer" else value[:_LONGEST_TEXT]
    if wanted == "integer":
        return _integer(field, value)
    if wanted == "boolean" and isinstance(value, bool):
        return value
    if wanted == "array":
        items = [value] if isinstance(value, str) else value
        if isinstance(items, list) and all(isinstance(item, str) for item in items):
            return items[:_MOST_IDS] if field != "memory_ids" else items
    raise BadArguments(f"'{field}' must be {_NAMES[wanted]}")


def _integer(field: str, value: Any) -> int:
    try:
        if isinstance(value, bool):
            raise ValueError
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise BadArguments(f"'{field}' must be {_NAMES['integer']}") from None


_NAMES = {"string": "text", "integer": "a whole number", "boolean": "true or false", "array": "a list of ids"}


def offered(names: Iterable[str]) -> tuple[Tool, ...]:
    """The tools of these names, in their usual order."""
    wanted = frozenset(names)
    return tuple(tool for name, tool in TOOLS.items() if name in wanted)
