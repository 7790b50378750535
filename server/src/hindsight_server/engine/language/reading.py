"""Reading what a model wrote: reasoning dropped, JSON found wherever it stands. Pure functions.

What can be read in two ways is not read at all: a broken object, a list where an object is wanted, two values for one
key, or a number that JSON does not have. The model is asked again then; nothing is guessed. NUL characters are taken
out, as of users' texts.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from hindsight_server.domain.text import clean_text
from hindsight_server.ports.llm import ToolRequest

# Tags by which open models mark their thoughts: DeepSeek, Qwen and most others; Mistral; Kimi; ByteDance; gpt-oss.
_TAGS = r"think|thinking|thought|thoughts|reasoning|reflection|scratchpad|inner_thoughts|seed:think"
_REASONING = re.compile(
    rf"<\s*(?:\|?begin_of_)?({_TAGS})\b[^<>]*>.*?(?:<\s*(?:/\s*|\|?end_of_)\1\s*\|?>|\Z)"
    r"|\[THINK\].*?(?:\[/THINK\]|\Z)"
    r"|◁think▷.*?(?:◁/think▷|\Z)"
    r"|<\|channel\|>\s*analysis.*?(?:<\|channel\|>\s*final[^<]*<\|message\|>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_ENDED_REASONING = re.compile(
    rf"\A.*(?:<\s*(?:/\s*|\|end_of_)(?:{_TAGS})\s*\|?>|\[/THINK\]|◁/think▷)", re.DOTALL | re.IGNORECASE
)
_MARKS = re.compile(r"<\|[a-z_]{1,20}\|>")
_FENCE = re.compile(r"```[\w-]*[ \t]*\n?(.*?)```", re.DOTALL)
_CALL = re.compile(r"<(tool_call|function_call)>\s*(.*?)\s*(?:</\1>|\Z)", re.DOTALL)
_BEGIN = re.compile(r"[{\[]")
_LIKE_JSON = re.compile(r'\{\s*(?:"|\})')
_SURROGATE = re.compile("[\ud800-\udfff]")
# A NUL of a JSON text, as it is or escaped; the two backslashes are one that is escaped itself.
_NUL = re.compile(r"(\\\\)|\\u0000|\0")
_MOST_BEGINNINGS = 200


def without_reasoning(text: str) -> str:
    """The text without what stands in reasoning tags, also when only the closing or the opening tag is there."""
    kept = _ENDED_REASONING.sub("", _REASONING.sub("", text.replace("\0", "")))
    return _SURROGATE.sub("\ufffd", _MARKS.sub("", kept)).strip().strip("\ufeff").strip()


def has_reasoning(text: str) -> bool:
    """Whether a text holds a reasoning tag."""
    may = "<" in text or "[" in text or "◁" in text  # one of these begins each tag; looking for them is quicker
    return may and bool(_REASONING.search(text) or _ENDED_REASONING.search(text))


def json_objects(text: str) -> Iterator[Mapping[str, Any]]:
    """The JSON objects of a text, in order; those in code fences before those in prose, none of them inside another."""
    text = _without_nul(text)
    whole = _whole(text)
    if whole is not None:
        if isinstance(whole, dict):
            yield whole
        return
    said = without_reasoning(text)
    for match in _FENCE.finditer(said):
        inside = _whole(match.group(1))
        if isinstance(inside, dict):
            yield inside
    yield from _in_prose(said)


def tool_requests_in(text: str, names: Collection[str]) -> tuple[ToolRequest, ...]:
    """The calls of offered tools that a model wrote into its text instead of asking for them.

    Small local models do: in ``<tool_call>`` tags, or as a JSON object that is all they say.

    Args:
        names: the tools that were offered; nothing else is taken for a call.
    """
    said = _without_nul(without_reasoning(text))
    pieces = [match.group(2) for match in _CALL.finditer(said)] or [_unfenced(said)]
    asked: list[ToolRequest] = []
    for piece in pieces:
        value = _whole(piece)
        call = _named_call(value, names) if isinstance(value, dict) else None
        if call is None:
            return ()
        name, arguments = call
        raw = json.dumps(arguments, ensure_ascii=False)
        asked.append(ToolRequest(request_id=f"call_{len(asked)}", name=name, arguments=arguments, raw=raw))
    return tuple(asked)


def readable_request(asked: ToolRequest) -> ToolRequest:
    """A tool call as a provider gave it, without characters that can't be sent back or kept."""
    arguments = asked.arguments
    if arguments is not None:
        # As text, which is as deep as the model made it: code that walks through it would get too deep.
        arguments = json.loads(_without_nul(clean_text(_encoder.encode(arguments))))
    return ToolRequest(
        request_id=clean_text(asked.request_id),
        name=clean_text(asked.name),
        arguments=arguments,
        raw=clean_text(_without_nul(asked.raw)),
    )


def without_reasoning_inside(value: Any) -> Any:
    """A JSON value whose texts hold no reasoning either."""
    if isinstance(value, str):
        return without_reasoning(value) if has_reasoning(value) else value
    if isinstance(value, list):
        return [without_reasoning_inside(part) for part in value]
    if isinstance(value, dict):
        return {key: without_reasoning_inside(part) for key, part in value.items()}
    return value


def _without_nul(text: str) -> str:
    """A text that holds JSON, with no NUL in it nor in what it says."""
    if "\0" not in text and r"\u0000" not in text:
        return text
    return _NUL.sub(lambda found: found.group(1) or "", text)


def _in_prose(said: str) -> Iterator[Mapping[str, Any]]:
    position = 0
    for _ in range(_MOST_BEGINNINGS):
        begin = _BEGIN.search(said, position)
        if begin is None:
            return
        found, end = _value_at(said, begin.start())
        if end is None:
            if _LIKE_JSON.match(said, begin.start()):
                return  # a broken object: the ones inside it are not what was meant
            position = begin.start() + 1
            continue
        if isinstance(found, dict):
            yield found
        elif any(isinstance(part, dict) for part in found):
            return  # a list of objects, where one was wanted
        position = end


def _whole(text: str) -> Any:
    """The value of a text that is JSON and nothing else; None when it is not."""
    bare = text.strip().strip("\ufeff").strip()
    if not bare.startswith(("{", "[")):
        return None
    found, end = _value_at(bare, 0)
    return found if end == len(bare) else None


def _value_at(text: str, position: int) -> tuple[Any, int | None]:
    """The value that begins there and where it ends; no end when there is none that can be stored."""
    try:
        value, end = _decoder.raw_decode(text, position)
        _encoder.encode(value).encode()  # a lone surrogate fits no UTF-8 text
    except (ValueError, RecursionError):
        return None, None
    return value, end


def _unfenced(said: str) -> str:
    match = _FENCE.fullmatch(said)
    return match.group(1) if match else said


def _named_call(value: Mapping[str, Any], names: Collection[str]) -> tuple[str, Mapping[str, Any]] | None:
    inner = value.get("function")
    call = inner if isinstance(inner, dict) else value
    name = call.get("name", call.get("tool"))
    arguments = call.get("arguments", call.get("parameters", {}))
    if isinstance(arguments, str):
        arguments = _whole(arguments)
    if not isinstance(name, str) or name not in names or not isinstance(arguments, dict):
        return None
    return name, arguments


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs) and any(value[key] != given for key, given in pairs):
        raise ValueError("a key has two values")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("the number is too large")
    return number


_encoder = json.JSONEncoder(ensure_ascii=False)
_decoder = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite)
