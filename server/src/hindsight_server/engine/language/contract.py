"""What a model can do of what the server asks for, found out with real questions. Nothing is stored.

Five things are tried: prose, a structured answer, a tool call, a forced tool call, and a picture.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from enum import StrEnum

from hindsight_server.domain.errors import AnswerTooLong, BadModelAnswer, ModelError, ModelRefused
from hindsight_server.engine.language.model import LanguageModel
from hindsight_server.engine.language.types import CallAbout
from hindsight_server.ports.llm import Image, Message, Schema, Tool

_ABOUT = CallAbout(bank_id="-", purpose="doctor")
# Models that think first need room for it.
_TOKENS = 1024
_FRUIT = Schema(
    name="fruit",
    schema={
        "type": "object",
        "properties": {
            "fruit": {"type": "string", "enum": ["apple", "pear", "plum"]},
            "count": {"type": "integer"},
        },
        "required": ["fruit", "count"],
        "additionalProperties": False,
    },
)
_SEARCH = Tool(
    name="search_memories",
    description="Searches what was remembered. Returns the memories found.",
    parameters={
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What to search for."}},
        "required": ["query"],
        "additionalProperties": False,
    },
)


class State(StrEnum):
    """What came of a check."""

    WORKS = "works"
    PARTLY = "partly"
    FAILS = "fails"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was tried.

    Args:
        check: ``completion``, ``structured output``, ``tool call``, ``forced tool call`` or ``image``.
        detail: what happened, and what it means for the server.
        remedy: what can be done; empty when there is nothing to do.
    """

    check: str
    state: State
    detail: str
    remedy: str = ""


async def check_model(model: LanguageModel) -> AsyncIterator[Finding]:
    """Try everything, one thing after the other. When the model does not answer at all, only that is told."""
    first = await _completion(model)
    yield first
    if first.state is not State.FAILS:
        yield await _structured(model)
        for found in await _tool_calls(model):
            yield found
        yield await _picture(model)


async def _completion(model: LanguageModel) -> Finding:
    name = "completion"
    try:
        answer = await model.complete([_user("Answer with one word: OK.")], about=_ABOUT, max_tokens=_TOKENS)
    except AnswerTooLong as error:
        return Finding(check=name, state=State.PARTLY, detail=str(error), remedy="Choose a model that thinks less.")
    except ModelError as error:
        remedy = "Check provider, model, key and address (HINDSIGHT_API_LLM_...), and that the provider runs."
        return Finding(check=name, state=State.FAILS, detail=str(error), remedy=remedy)
    spent = f"{answer.usage.input_tokens} + {answer.usage.output_tokens} tokens"
    return Finding(check=name, state=State.WORKS, detail=f"It answers ({spent}).")


async def _structured(model: LanguageModel) -> Finding:
    name, remedy = "structured output", "Choose a model or server that knows structured output (JSON schema)."
    asked = _user("In the basket lie three pears and nothing else. Which fruit, and how many?")
    try:
        found = await model.structured([asked], _FRUIT, about=_ABOUT, max_tokens=_TOKENS)
    except ModelError as error:
        detail = f"Extraction and consolidation will fail: {error}"
        return Finding(check=name, state=State.FAILS, detail=detail, remedy=remedy)
    if found.value != {"fruit": "pear", "count": 3}:
        detail = "It keeps to the schema, but its answer is wrong: expect little of what it extracts."
        return Finding(check=name, state=State.PARTLY, detail=detail, remedy="Choose a stronger model.")
    if found.repaired:
        detail = "It kept to the schema only when asked again: extraction costs twice the questions."
        return Finding(check=name, state=State.PARTLY, detail=detail, remedy=remedy)
    return Finding(check=name, state=State.WORKS, detail="It keeps to a schema.")


async def _tool_calls(model: LanguageModel) -> tuple[Finding, Finding]:
    """Reflect forces its calls; where one comes out as prose it searches by itself, once."""
    free = await _called(model, "tool call", _user("Search the memories for the word 'boat'. Use the tool."), "auto")
    forced = await _called(model, "forced tool call", _user("Where is the boat?"), _SEARCH.name)
    useless = forced.state is State.FAILS or State.WORKS not in (free.state, forced.state)
    return (
        _for_reflect(free, useless, "Reflect forces its calls, which works."),
        _for_reflect(
            forced, useless, "Reflect makes one search by itself, and fails when the next call is none either."
        ),
    )


async def _called(model: LanguageModel, name: str, asked: Message, choice: str) -> Finding:
    try:
        turn = await model.tool_turn([asked], [_SEARCH], about=_ABOUT, choice=choice, max_tokens=_TOKENS)
    except ModelError as error:
        return Finding(check=name, state=State.FAILS, detail=str(error))
    if not turn.requests:
        return Finding(check=name, state=State.PARTLY, detail="It answers in prose instead.")
    request = turn.requests[0]
    if request.name != _SEARCH.name or not isinstance((request.arguments or {}).get("query"), str):
        return Finding(check=name, state=State.PARTLY, detail="It calls, but not as it was told.")
    return Finding(check=name, state=State.WORKS, detail="It calls the tool.")


def _for_reflect(found: Finding, useless: bool, otherwise: str) -> Finding:
    """What a call that did not come means for reflect."""
    if found.state is State.WORKS:
        return found
    return replace(
        found,
        state=State.FAILS if useless else State.PARTLY,
        detail=f"{found.detail} {'Reflect will fail with this model.' if useless else otherwise}",
        remedy="Choose a model that knows tools, or start its server with them (llama.cpp: --jinja); with "
        "HINDSIGHT_API_REFLECT_LLM_PROVIDER=none reflect quotes memories instead.",
    )


async def _picture(model: LanguageModel) -> Finding:
    name, remedy = "image", "Name a model that sees in HINDSIGHT_API_VLM_MODEL, or retain text only."
    picture = Image(media_type="image/png", data=red_square())
    asked = Message(role="user", text="Which colour is this? Answer with one word, in English.", images=(picture,))
    try:
        answer = await model.complete([asked], about=_ABOUT, max_tokens=_TOKENS)
    except (ModelRefused, BadModelAnswer) as error:
        return Finding(check=name, state=State.FAILS, detail=f"It takes no pictures: {error}", remedy=remedy)
    except ModelError as error:
        return Finding(check=name, state=State.FAILS, detail=str(error), remedy=remedy)
    if "red" not in answer.text.lower():
        detail = "It takes pictures, but does not tell a red square: it may not see them."
        return Finding(check=name, state=State.PARTLY, detail=detail, remedy=remedy)
    return Finding(check=name, state=State.WORKS, detail="It sees pictures.")


def red_square(side: int = 64) -> bytes:
    """A PNG that is all red (https://www.w3.org/TR/png-3/)."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    row = b"\0" + b"\xff\0\0" * side
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(row * side)) + chunk(b"IEND", b"")


def _user(text: str) -> Message:
    return Message(role="user", text=text)
