"""Questions and answers in the format of Anthropic's messages. Pure functions.

A structured answer is asked for as the input of one tool that must be called; of what refuses that, in words.
"""

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
from hindsight_server.ports.llm import ChatReply, ChatRequest, Message, Usage

# The format demands a limit; every model that is still served can write this much.
_MOST_TOKENS = 8192


def request_body(model: str, request: ChatRequest, manner: Manner) -> dict[str, Any]:
    """The body of a question, put in the manner that the model understands."""
    messages, schema = request.messages, request.schema
    if schema is not None and manner.schema == "prompt":
        messages, schema = (*messages, Message(role="user", text=asked_in_words(schema))), None
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens or _MOST_TOKENS,
        "messages": _messages(messages),
    }
    system = "\n\n".join(message.text for message in request.messages if message.role == "system")
    if system:
        body["system"] = system
    if request.temperature is not None and manner.temperature:
        body["temperature"] = min(request.temperature, 1.0)
    if schema is not None:
        body["tools"] = [{"name": schema.name, "description": "Gives the answer.", "input_schema": schema.schema}]
        body["tool_choice"] = {"type": "tool", "name": schema.name, "disable_parallel_tool_use": True}
    elif request.tools:
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        ]
        body["tool_choice"] = _choice(manner.tool_choice(request.tool_choice))
    return body


def _choice(wanted: str) -> dict[str, Any]:
    if wanted == "auto":
        return {"type": "auto"}
    return {"type": "any"} if wanted == "required" else {"type": "tool", "name": wanted}


def _messages(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """The conversation without its system messages; neighbours of one role are joined, as the format demands."""
    told: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        parts = _parts(message)
        if told and told[-1]["role"] == role:
            told[-1]["content"] += parts
        elif parts:
            told.append({"role": role, "content": parts})
    return told


def _parts(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.tool_request_id, "content": message.text or "(nothing)"}]
    parts: list[dict[str, Any]] = [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": image.media_type, "data": base64_of(image)},
        }
        for image in message.images
    ]
    if message.text.strip():
        parts.append({"type": "text", "text": message.text})
    for asked in message.tool_requests:
        parts.append(
            {"type": "tool_use", "id": asked.request_id, "name": asked.name, "input": dict(asked.arguments or {})}
        )
    return parts


def read_reply(body: Mapping[str, Any], request: ChatRequest, name: str) -> ChatReply:
    """The answer in a decoded body; blocks of thinking are not read.

    Raises:
        BadModelAnswer: there is none in it.
    """
    if not isinstance(body.get("content"), list):
        raise BadModelAnswer(f"{name} sent no answer.")
    blocks = [as_mapping(block) for block in as_list(body.get("content"))]
    text = "".join(as_text(block.get("text")) for block in blocks if block.get("type") == "text")
    asked = tuple(
        tool_request(block.get("id"), block.get("name"), block.get("input"), position)
        for position, block in enumerate(blocks)
        if block.get("type") == "tool_use"
    )
    if not text and not asked and body.get("stop_reason") == "refusal":
        raise BadModelAnswer(f"{name} declined to answer.")
    if request.schema is not None and asked:
        text, asked = json.dumps(asked[0].arguments, ensure_ascii=False), ()
    return ChatReply(
        text=text,
        tool_requests=asked,
        truncated=body.get("stop_reason") in ("max_tokens", "model_context_window_exceeded"),
        usage=_usage(as_mapping(body.get("usage"))),
    )


def _usage(usage: Mapping[str, Any]) -> Usage:
    """The format counts cached tokens beside the others; here they are among them."""
    cached = count(usage.get("cache_read_input_tokens"))
    return Usage(
        input_tokens=count(usage.get("input_tokens")) + cached + count(usage.get("cache_creation_input_tokens")),
        output_tokens=count(usage.get("output_tokens")),
        cached_tokens=cached,
    )
