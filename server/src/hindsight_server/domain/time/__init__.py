"""Time expressions: one parser for what is stored and for what is asked."""

from hindsight_server.domain.time.event_finder import find_events
from hindsight_server.domain.time.events import EventPhrase, day_of
from hindsight_server.domain.time.finder import find_times
from hindsight_server.domain.time.mention import Grain, Relation, TimeMention
from hindsight_server.domain.time.stamp import parse_stamp

__all__ = ["EventPhrase", "Grain", "Relation", "TimeMention", "day_of", "find_events", "find_times", "parse_stamp"]
