"""What a time expression in a text means."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from hindsight_server.domain.model import Interval

_TICK = timedelta(microseconds=1)
_LEAST_AROUND = timedelta(days=5)


class Grain(StrEnum):
    """How exact a time is given."""

    MOMENT = "moment"
    HOUR = "hour"
    PART_OF_DAY = "part_of_day"
    DAY = "day"
    WEEKEND = "weekend"
    WEEK = "week"
    MONTH = "month"
    SEASON = "season"
    QUARTER = "quarter"
    YEAR = "year"
    DECADE = "decade"
    RANGE = "range"


class Relation(StrEnum):
    """How the text relates to the time it names: in it, or on one side of it."""

    AT = "at"
    SINCE = "since"
    AFTER = "after"
    BEFORE = "before"
    UNTIL = "until"
    AROUND = "around"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeMention:
    """A time expression in a text.

    Args:
        start, end: character positions of the expression, without words such as "since".
        text: the expression, as written.
        interval: everything the named time covers, in the anchor's time zone.
        grain: how exact it is given.
        is_relative: whether it depends on when it was said.
        relation: the side of the interval that is meant.
        is_yearless: whether it comes again every year ("in May"), and the interval is only the nearest.
    """

    start: int
    end: int
    text: str
    interval: Interval
    grain: Grain
    is_relative: bool
    relation: Relation = Relation.AT
    is_yearless: bool = False

    @property
    def bounds(self) -> tuple[datetime | None, datetime | None]:
        """What the text speaks of; None is an open side: "since 2015" is (2015-01-01, None).

        "Around" is a quarter of the time more on either side, at least five days.
        """
        if self.relation is Relation.SINCE:
            return self.interval.start, None
        if self.relation is Relation.AFTER:
            return self.interval.end + _TICK, None
        if self.relation is Relation.BEFORE:
            return None, self.interval.start - _TICK
        if self.relation is Relation.UNTIL:
            return None, self.interval.end
        if self.relation is Relation.AROUND and self.grain not in (Grain.MOMENT, Grain.HOUR, Grain.PART_OF_DAY):
            beside = max(_LEAST_AROUND, timedelta(days=(self.interval.end - self.interval.start).days // 4))
            return self.interval.start - beside, self.interval.end + beside
        return self.interval.start, self.interval.end
