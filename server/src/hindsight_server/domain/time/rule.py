"""How the patterns of a language are written down."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from hindsight_server.domain.time.calendar import Anchor, Span

Resolver = Callable[[re.Match[str], Anchor], Span | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern and what a match of it means.

    Args:
        pattern: matched at the beginning of a word (of a script without spaces: anywhere).
        resolve: the span that a match means; None or ValueError when it means none.
        triggers: lower-case words (without spaces: characters) of which at least one is in every match; ``#4`` stands
            for four digits, ``#2`` for one or two, ``#4-`` and ``#2-`` for these before a hyphen, slash, dot or space.
        starts: lower-case words of which one begins every match, ``#`` for digits; empty when not told. A match is then
            tried nowhere else, which saves most of the time.
        lead: how many words a match may have before its first trigger; digits and the letters behind them are one each.
    """

    pattern: re.Pattern[str]
    resolve: Resolver
    triggers: frozenset[str]
    lead: int = 0
    starts: frozenset[str] = frozenset()
