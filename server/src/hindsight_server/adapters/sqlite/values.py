"""How Python values are written into columns and read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import orjson

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(moment: datetime | None) -> int | None:
    """Microseconds since 1970 (UTC): exact, sortable, and the same instant whatever the zone it was given in."""
    return None if moment is None else (moment - _EPOCH) // _MICROSECOND


@lru_cache(maxsize=1024)  # facts that came together share their times
def from_micros(micros: int | None) -> datetime | None:
    """The moment, in UTC; see `moment`."""
    return None if micros is None else moment(micros)


def moment(micros: int) -> datetime:
    """The moment, in UTC, of a column that always holds one.

    One outside of the calendar is its first or last: older servers kept such times, given with a zone in which they
    were inside.
    """
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return _FIRST if micros < 0 else _LAST


def to_json(value: object) -> str:
    """JSON text. orjson refuses integers over 64 bits and lone surrogates, which the standard library takes."""
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        return json.dumps(value)


def from_json(text: str | None) -> Any:
    """What `to_json` wrote; None for an empty column."""
    if text is None:
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)


def mapping_json(value: Mapping[str, Any] | None) -> str | None:
    """JSON text of a mapping, None for none."""
    return None if value is None else to_json(dict(value))
