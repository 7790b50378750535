"""Questions and answers in the format of OpenAI's chat completions. Pure functions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hindsight_server.adapters.llm.dialect import Manner
from hindsight_server.adapters.llm.wire import (
    as_list,
    as_mapping,
    as_text,
    asked_in_words,
    base64_of,
    count,
    tool_request,
)
from hindsight_server.domain.errors import BadModelAnswer
from hindsight_server.domain.remembering import RememberedOf
from hindsight_server.ports.llm import ChatReply, ChatRequest, Message, Schema, Tool, ToolRequest, Usage

_CUT = frozenset({"length", "max_tokens", "model_length"})


def request_body(model: str, request: ChatRequest, manner: Manner) -> dict[str, Any]:
    """The body of a question, put in the manner that the server understands."""
    messages = [_message(message) for message in request.messages]
    body: dict[str, Any] = {"model": model, "messages": messages}
    if request.max_tokens is not None:
        body[manner.limit] = request.max_tokens
    if request.temperature is not None and manner.temperature:
        body["temperature"] = request.temperature
    if request.schema is not None:
        _ask_for_json(body, request.schema, manner.schema)
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        body["tool_choice"] = _choice(manner.tool_choice(request.tool_choice))
    return body


def _ask_for_json(body: dict[str, Any], schema: Schema, way: str) -> None:
    if way == "json_schema":
        strict = is_strict(schema.schema) if schema.from_caller else _is_strict(schema.schema)
        shape = {"name": schema.name, "schema": schema.schema, "strict": strict}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
        return
    if way == "json_object":
        body["response_format"] = {"type": "json_object"}
    body["messages"].append({"role": "user", "content": asked_in_words(schema)})


def is_strict(schema: Any) -> bool:
    """Whether a schema keeps to what OpenAI enforces strictly: closed objects whose properties are all required.

    Source: "Supported schemas" in OpenAI's guide to structured outputs.
    """
    if isinstance(schema, list):
        return all(is_strict(part) for part in schema)
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if schema.get("type") == "object" or properties is not None:
        if schema.get("additionalProperties") is not False:
            return False
        if set(schema.get("required", ())) != set(properties or ()):
            return False
    inside = list(properties.values()) if isinstance(properties, dict) else []
    inside += [schema[key] for key in ("items", "anyOf") if key in schema]
    inside += list(as_mapping(schema.get("$defs")).values())
    return not ({"oneOf", "allOf", "not", "patternProperties"} & schema.keys()) and all(map(is_strict, inside))


_is_strict = RememberedOf(is_strict, most=16)


def _message(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_request_id, "content": message.text}
    if message.images:
        parts: list[dict[str, Any]] = [{"type": "text", "text": message.text}] if message.text else []
        for image in message.images:
            url = f"data:{image.media_type};base64,{base64_of(image)}"
            parts.append({"type": "image_url", "image_url": {"url": url}})
        return {"role": message.role, "content": parts}
    if message.tool_requests:
        calls = [_call(asked) for asked in message.tool_requests]
        return {"role": message.role, "content": message.text or None, "tool_calls": calls}
    return {"role": message.role, "content": message.text}


def _call(asked: ToolRequest) -> dict[str, Any]:
    # Arguments that are no JSON object would make some servers refuse the whole conversation.
    arguments = json.dumps(asked.arguments or {}, ensure_ascii=False)
    return {"id": asked.request_id, "type": "function", "function": {"name": asked.name, "arguments": arguments}}


def _tool(tool: Tool) -> dict[str, Any]:
    described = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": described}


def _choice(wanted: str) -> Any:
    if wanted in ("auto", "required"):
        return wanted
    return {"type": "function", "function": {"name": wanted}}


def read_reply(body: Any, name: str) -> ChatReply:
    """The answer in a decoded body. Reasoning stands in fields of its own, which are not read.

    Raises:
        BadModelAnswer: there is none in it.
    """
    choice = as_mapping(next(iter(as_list(as_mapping(body).get("choices"))), None))
    message = as_mapping(choice.get("message"))
    if not message:
        raise BadModelAnswer(f"{name} sent no answer.")
    text, asked = _text(message.get("content")), _requests(message)
    if not text and not asked and (message.get("refusal") or choice.get("finish_reason") == "content_filter"):
        raise BadModelAnswer(f"{name} declined to answer.")
    return ChatReply(
        text=text,
        tool_requests=asked,
        truncated=as_text(choice.get("finish_reason")).lower() in _CUT,
        usage=_usage(as_mapping(as_mapping(body).get("usage"))),
    )


def _text(content: Any) -> str:
    """The text of a content: a string, or parts of which only those of text count."""
    if isinstance(content, str):
        return content
    parts = [as_mapping(part) for part in as_list(content)]
    return "".join(as_text(part.get("text")) for part in parts if part.get("type") in ("text", "output_text"))


def _requests(message: Mapping[str, Any]) -> tuple[ToolRequest, ...]:
    calls = [as_mapping(call) for call in as_list(message.get("tool_calls"))]
    asked = [
        tool_request(call.get("id"), function.get("name"), function.get("arguments", ""), position)
        for position, call in enumerate(calls)
        if (function := as_mapping(call.get("function")))
    ]
    legacy = as_mapping(message.get("function_call"))
    if legacy and not asked:
        asked = [tool_request(None, legacy.get("name"), legacy.get("arguments", ""), 0)]
    return tuple(asked)


def _usage(usage: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=count(usage.get("prompt_tokens")),
        output_tokens=count(usage.get("completion_tokens")),
        cached_tokens=count(as_mapping(usage.get("prompt_tokens_details")).get("cached_tokens")),
        thought_tokens=count(as_mapping(usage.get("completion_tokens_details")).get("reasoning_tokens")),
    )
