"""Finding the times of a text that are given by an event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hindsight_server.domain.time.events import EventPhrase
from hindsight_server.domain.time.finder import grammar_for, readable
from hindsight_server.domain.time.mention import Relation, TimeMention


def find_events(text: str, mentions: Sequence[TimeMention]) -> list[EventPhrase]:
    """Find the times of a text that are given by an event, in order.

    Args:
        text: a question.
        mentions: its other times, which are no events ("before last Christmas").

    Example:
        >>> [(one.event, one.relation.value) for one in find_events("Where did Ann live before her marriage?", [])]
        [('her marriage', 'before')]
    """
    written, text = text, readable(text)
    lowered = text.lower()
    taken = [(mention.start, mention.end) for mention in mentions]
    found = [
        phrase
        for grammar in grammar_for(text, lowered).events
        if any(cue in lowered for cue in (grammar.characters or grammar.cues))
        for phrase in grammar.find(text, taken)
    ]
    found.sort(key=lambda one: one.start)
    return _joined(written, [replace(one, text=written[one.start : one.end].strip()) for one in found])


def _joined(written: str, found: list[EventPhrase]) -> list[EventPhrase]:
    """Two phrases, after one event and before another, are one time."""
    if len(found) != 2 or found[0].until or found[1].until:
        return found
    first, last = found
    if first.relation in (Relation.AFTER, Relation.SINCE) and last.relation in (Relation.BEFORE, Relation.UNTIL):
        return [replace(first, until=last, end=last.end, text=written[first.start : last.end].strip())]
    return found
