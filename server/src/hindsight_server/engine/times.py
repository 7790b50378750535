"""Reading the times that callers write."""

from __future__ import annotations

from datetime import UTC, datetime

from hindsight_server.domain.errors import InvalidInput


def parse_time(value: datetime | str, field: str) -> datetime:
    """An aware datetime from ISO 8601 text or a datetime; a time without an offset is taken as UTC.

    Raises:
        InvalidInput: it is no such time, or so far out that it can't be told in UTC.

    Example:
        >>> parse_time("2024-01-15T10:30:00Z", "timestamp")
        datetime.datetime(2024, 1, 15, 10, 30, tzinfo=datetime.timezone.utc)
    """
    if isinstance(value, str):
        text = value.strip()
        try:
            value = datetime.fromisoformat(text)
        except ValueError:
            raise InvalidInput(
                f"{field}: {text[:60]!r} is no time; write ISO 8601, for example 2024-01-15T10:30:00Z.", field=field
            ) from None
    elif not isinstance(value, datetime):
        raise InvalidInput(f"{field} must be ISO 8601 text, for example 2024-01-15T10:30:00Z.", field=field)
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    try:
        utc = value.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{field}: the year is out of range.", field=field) from None
    # The same instant with a fixed offset: offsets with seconds and named zones do not survive being written as text.
    return utc if value.tzinfo is UTC or not value.utcoffset() else value
