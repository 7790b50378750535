"""From a request's bytes to validated values."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Annotated, Any, TypeVar

import orjson
from fastapi import Depends, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, ValidationError

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.engine.offload import offloaded
from hindsight_server.engine.times import parse_time
from hindsight_server.http.blocks import plain_rows
from hindsight_server.http.ignored import note_ignored, unknown_fields

M = TypeVar("M", bound=BaseModel)
BankId = Annotated[str, Path()]
MOST = 2**63 - 1  # a larger number fits no database
PageNumber = Annotated[int, Field(ge=0, le=MOST)]
Count = Annotated[PageNumber, Query()]
_ITEM_BYTES = 1000  # about as long as an item and what belongs to it
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def body_of(model: type[M]) -> Callable[[Request], Awaitable[M]]:
    """A dependency that reads the body as `model`, whatever its content type says.

    FastAPI's own reading is passed by: it is slower, and refuses bodies without the right content type.
    """

    async def read(request: Request) -> M:
        body = await request.body()

        def decoded() -> M:
            value = loads(body)
            note_ignored(request.scope, unknown_fields(model, value))
            return validate(model, value)

        return await offloaded(len(body) // _ITEM_BYTES, decoded)

    read.__annotations__ = {"request": Request}
    return read


def Body(model: type[M]) -> Any:
    return Depends(body_of(model))


def validate(model: type[M], value: Any) -> M:
    """A decoded body as `model`. Raises RequestValidationError."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        rows = plain_rows(error.errors(include_url=False, include_context=False, include_input=False), value)
        raise RequestValidationError([{**row, "loc": ("body", *row["loc"])} for row in rows]) from None


def loads(body: bytes) -> Any:
    """Decode JSON. A lone surrogate, which no UTF-8 text can hold, becomes NUL: that is refused in ids, so that two of
    them never become one, and taken out of texts.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        reason = str(error)
    try:
        return _without_surrogates(json.loads(body.decode("utf-8"), parse_constant=_no_constant))
    except (ValueError, RecursionError):
        message = f"The body is not JSON: {reason}" if body.strip() else "The body is empty; a JSON object is needed"
        raise RequestValidationError([{"type": "json_invalid", "loc": ("body",), "msg": message}]) from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\0", value)
    if isinstance(value, list):
        return [_without_surrogates(part) for part in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(part) for key, part in value.items()}
    return value


def optional_time(text: str | None, field: str) -> datetime | None:
    """An aware time from ISO 8601; None for None or blank. Raises InvalidInput."""
    return parse_time(text, field) if text and text.strip() else None


def last_before(text: str | None, field: str) -> datetime | None:
    """The last time before the end of a span, to which the end itself does not belong; stores count microseconds."""
    end = optional_time(text, field)
    try:
        return None if end is None else end - timedelta(microseconds=1)
    except OverflowError:
        raise InvalidInput(f"{field}: the year is out of range.", field=field) from None


def token_count(value: int | None, default: int, field: str, *, least: int = 0) -> int:
    """A budget of tokens; None is the default. Raises InvalidInput for one below `least`."""
    if value is None:
        return default
    if value < least:
        raise InvalidInput(f"{field} must be {least} or more, not {value}.", field=field)
    return value
