"""Which memories a tag filter lets through.

The five modes: ``any`` and ``all`` let untagged memories through, ``any_strict`` and ``all_strict`` do not,
``exact`` wants the same set. No tags mean no filter, except with ``exact``, where they mean untagged only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class TagsMatch(StrEnum):
    ANY = "any"
    ALL = "all"
    ANY_STRICT = "any_strict"
    ALL_STRICT = "all_strict"
    EXACT = "exact"


@dataclass(frozen=True, slots=True)
class TagLeaf:
    """One filter by tags. A `fuzzy` one means similar tags as well, and must be resolved before it can match.

    Example:
        >>> TagLeaf(frozenset({"user:a"}), TagsMatch.ANY_STRICT).matches({"user:a", "x"})
        True
    """

    tags: frozenset[str]
    match: TagsMatch = TagsMatch.ANY
    fuzzy: bool = False

    def matches(self, tags: Iterable[str]) -> bool:
        """Raises ValueError for a fuzzy leaf: read as it stands, it would hide or show the wrong memories."""
        if self.fuzzy:
            raise ValueError("a fuzzy leaf must be resolved first (domain.fuzzy_tags)")
        held = frozenset(tags)
        if self.match is TagsMatch.EXACT:
            return held == self.tags
        if not self.tags:
            return True
        if not held:
            return self.match in (TagsMatch.ANY, TagsMatch.ALL)
        if self.match in (TagsMatch.ANY, TagsMatch.ANY_STRICT):
            return not held.isdisjoint(self.tags)
        return self.tags <= held


@dataclass(frozen=True, slots=True)
class TagAnd:
    parts: tuple[TagFilter, ...]

    def matches(self, tags: Iterable[str]) -> bool:
        held = frozenset(tags)
        return all(part.matches(held) for part in self.parts)


@dataclass(frozen=True, slots=True)
class TagOr:
    parts: tuple[TagFilter, ...]

    def matches(self, tags: Iterable[str]) -> bool:
        held = frozenset(tags)
        return any(part.matches(held) for part in self.parts)


@dataclass(frozen=True, slots=True)
class TagNot:
    part: TagFilter

    def matches(self, tags: Iterable[str]) -> bool:
        return not self.part.matches(tags)


TagFilter = TagLeaf | TagAnd | TagOr | TagNot


def tag_fits(pattern: str, tag: str) -> bool:
    """Whether a tag is the pattern, in which each ``*`` stands for any characters.

    From left to right, each piece at its first place, so that the time is linear.

    Example:
        >>> tag_fits("user:*", "user:ann"), tag_fits("user:*", "team:ann")
        (True, False)
    """
    first, *rest = pattern.split("*")
    if not rest:
        return tag == first
    if not tag.startswith(first):
        return False
    position = len(first)
    for piece in rest[:-1]:
        found = tag.find(piece, position)
        if found < 0:
            return False
        position = found + len(piece)
    return len(tag) - position >= len(rest[-1]) and tag.endswith(rest[-1])


def most_used(counts: Mapping[str, int], pattern: str | None) -> list[tuple[str, int]]:
    """Tags with how often each is used, most used first, then by name.

    Args:
        pattern: as `tag_fits` takes it, in any case; None lists all.
    """
    found = [item for item in counts.items() if pattern is None or tag_fits(pattern.casefold(), item[0].casefold())]
    return sorted(found, key=lambda item: (-item[1], item[0]))
