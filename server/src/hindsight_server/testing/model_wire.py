"""Both wire formats as a server sees them; for `model_server`. Independent of what the adapters make of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hindsight_server.testing.model_server import Say


def read_question(body: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a `Question`, from a body of either API."""
    messages = body.get("messages", [])
    system = [_text(body.get("system", ""))]
    system += [_text(message["content"]) for message in messages if message["role"] == "system"]
    others = [message for message in messages if message["role"] not in ("system", "assistant")]
    tools = [tool.get("function", tool) for tool in body.get("tools", [])]
    schema, choice = _schema(body, tools), _choice(body.get("tool_choice"))
    return {
        "system": "\n".join(part for part in system if part),
        "text": _text(others[-1]["content"]) if others else "",
        "tools": () if schema is not None else tuple(tool["name"] for tool in tools),
        "tool_choice": choice if tools and schema is None else None,
        "schema": schema,
        "image_count": sum(_images(message["content"]) for message in messages),
    }


def openai_answer(said: Say) -> dict[str, Any]:
    calls = [
        {
            "id": f"call_{position}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for position, (name, given) in enumerate(said.tools)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": said.text}
    if calls:
        message["tool_calls"] = calls
    if said.reasoning is not None:
        message |= {"reasoning_content": said.reasoning, "reasoning": said.reasoning}
    finish = said.finish or ("tool_calls" if calls else "stop")
    return {
        "id": "answer",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": said.input_tokens,
            "completion_tokens": said.output_tokens,
            "total_tokens": said.input_tokens + said.output_tokens,
        },
    }


def anthropic_answer(said: Say, *, schema: bool) -> dict[str, Any]:
    """An answer as Anthropic's API gives it; with `schema`, a JSON object becomes the input of the forced tool."""
    blocks: list[dict[str, Any]] = []
    if said.reasoning is not None:
        blocks.append({"type": "thinking", "thinking": said.reasoning, "signature": "s"})
    called = list(said.tools)
    given = _object(said.text) if schema else None
    if given is not None:
        called.append(("answer", given))
    elif said.text:
        blocks.append({"type": "text", "text": said.text})
    for position, (name, arguments) in enumerate(called):
        blocks.append({"type": "tool_use", "id": f"call_{position}", "name": name, "input": arguments})
    stop = {"length": "max_tokens", None: "tool_use" if called else "end_turn"}.get(said.finish, said.finish)
    return {
        "id": "answer",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": blocks,
        "stop_reason": stop,
        "usage": {"input_tokens": said.input_tokens, "output_tokens": said.output_tokens},
    }


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = [part for part in content or [] if isinstance(part, dict)]
    return "\n".join(part["text"] if part.get("type") == "text" else _text(part.get("content", "")) for part in parts)


def _images(content: Any) -> int:
    parts = content if isinstance(content, list) else []
    return sum(part.get("type") in ("image", "image_url") for part in parts)


def _schema(body: Mapping[str, Any], tools: list[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    asked = body.get("response_format", {}).get("json_schema", {}).get("schema")
    if asked is not None:
        return dict(asked)
    # Anthropic's way of a structured answer: one tool that must be called once.
    if body.get("tool_choice", None) and body["tool_choice"] != "auto" and len(tools) == 1:
        choice = body["tool_choice"]
        if isinstance(choice, dict) and choice.get("disable_parallel_tool_use"):
            return dict(tools[0]["input_schema"])
    return None


def _choice(choice: Any) -> str | None:
    if not isinstance(choice, dict):
        return None if choice is None else str(choice)
    kind = str(choice["type"])
    named = choice.get("function", choice).get("name")
    return str(named) if named else {"any": "required"}.get(kind, kind)


def _object(text: str | None) -> Mapping[str, Any] | None:
    try:
        value = json.loads(text or "")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
