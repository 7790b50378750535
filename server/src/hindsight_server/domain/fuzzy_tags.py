"""Tags that are meant though they are spelled differently: a fuzzy filter is resolved against the tags that there are.

Two tags are alike when they have the same namespace (the part before the first colon), the same digits in the same
order, and of the trigrams of the rest at least 0.45 in common: shared / all of both, as PostgreSQL's pg_trgm counts.
Digits must agree because ``ticket-1001`` and ``ticket-1002`` are no two spellings of one thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.tags import TagAnd, TagFilter, TagLeaf, TagNot, TagOr, TagsMatch

SIMILAR = 0.45
MOST_TAGS = 5000
MOST_FUZZY = 32
MOST_COMBINATIONS = 32

_LONGEST = 300  # characters; a longer text is compared with nothing
_DIGIT = re.compile(r"\d")
_UNTAGGED = TagLeaf(frozenset(), TagsMatch.EXACT)


class Vocabulary:
    """The tags of a bank, made ready to find those that are like a given one.

    Raises:
        InvalidInput: there are more than 5000; comparing would take too long.
    """

    def __init__(self, tags: Iterable[str]) -> None:
        self._folded: dict[str, list[str]] = {}
        self._groups: dict[tuple[str, str], list[tuple[str, frozenset[str]]]] = {}
        for number, tag in enumerate(sorted(tags)):
            if number == MOST_TAGS:
                raise InvalidInput(
                    f"The bank has more than {MOST_TAGS} tags, too many for resolve='fuzzy'; use 'exact'.",
                    field="tag_groups",
                )
            folded = tag.casefold()
            self._folded.setdefault(folded, []).append(tag)
            if len(folded) > _LONGEST:
                continue
            group, value = _grouped(folded)
            self._groups.setdefault(group, []).append((tag, _trigrams(value)))

    def like(self, wanted: str) -> tuple[str, ...]:
        """Tags that `wanted` means: those equal but for case, else all similar ones, else just itself.

        Example:
            >>> Vocabulary(["lang:typescript", "lang:python"]).like("lang:typsecript")
            ('lang:typescript',)
        """
        folded = wanted.casefold()
        if folded in self._folded:
            return tuple(self._folded[folded])
        if len(folded) > _LONGEST:
            return (wanted,)
        group, value = _grouped(folded)
        trigrams = _trigrams(value)
        similar = (tag for tag, held in self._groups.get(group, ()) if _share(trigrams, held) >= SIMILAR)
        return tuple(similar) or (wanted,)


@dataclass(frozen=True, slots=True)
class Resolved:
    """A filter without fuzzy leaves, and for each fuzzy tag those that it was taken for."""

    tags: TagFilter
    meanings: tuple[tuple[str, tuple[str, ...]], ...]


def fuzzy_tags(tags: TagFilter | None) -> tuple[str, ...]:
    """The distinct tags of the fuzzy leaves, in order."""
    return tuple(dict.fromkeys(_fuzzy(tags))) if tags is not None else ()


def resolve(tags: TagFilter, vocabulary: Vocabulary) -> Resolved:
    """Replace fuzzy leaves by what they mean.

    Every way of matching keeps its meaning: with ``all``, a memory needs one of the similar tags for each wanted one.

    Raises:
        InvalidInput: more than 32 fuzzy tags, or an ``exact`` leaf that could mean more than 32 sets.
    """
    wanted = fuzzy_tags(tags)
    if len(wanted) > MOST_FUZZY:
        raise InvalidInput(f"At most {MOST_FUZZY} tags may be fuzzy in one request.", field="tag_groups")
    meanings = {tag: vocabulary.like(tag) for tag in wanted}
    return Resolved(_replaced(tags, meanings), tuple(meanings.items()))


def _fuzzy(tags: TagFilter) -> Iterator[str]:
    match tags:
        case TagLeaf():
            yield from sorted(tags.tags) if tags.fuzzy else ()
        case TagNot():
            yield from _fuzzy(tags.part)
        case TagAnd() | TagOr():
            for part in tags.parts:
                yield from _fuzzy(part)


def _replaced(tags: TagFilter, meanings: dict[str, tuple[str, ...]]) -> TagFilter:
    match tags:
        case TagLeaf():
            return _leaf(tags, meanings) if tags.fuzzy else tags
        case TagNot():
            return TagNot(_replaced(tags.part, meanings))
        case TagAnd():
            return TagAnd(tuple(_replaced(part, meanings) for part in tags.parts))
        case TagOr():
            return TagOr(tuple(_replaced(part, meanings) for part in tags.parts))


def _leaf(leaf: TagLeaf, meanings: dict[str, tuple[str, ...]]) -> TagFilter:
    choices = [meanings[tag] for tag in sorted(leaf.tags)]
    if leaf.match in (TagsMatch.ANY, TagsMatch.ANY_STRICT) or not choices:
        return TagLeaf(frozenset(tag for choice in choices for tag in choice), leaf.match)
    if leaf.match is TagsMatch.EXACT:
        return _one_of_sets(choices)
    every = TagAnd(tuple(TagLeaf(frozenset(choice), TagsMatch.ANY_STRICT) for choice in choices))
    return every if leaf.match is TagsMatch.ALL_STRICT else TagOr((_UNTAGGED, every))


def _one_of_sets(choices: list[tuple[str, ...]]) -> TagFilter:
    sets = 1
    for choice in choices:
        sets *= len(choice)
    if sets > MOST_COMBINATIONS:
        raise InvalidInput(
            f"A fuzzy leaf with match='exact' could mean {sets} sets of tags, more than {MOST_COMBINATIONS};"
            " write its tags more exactly.",
            field="tag_groups",
        )
    return TagOr(tuple(TagLeaf(frozenset(chosen), TagsMatch.EXACT) for chosen in product(*choices)))


def _grouped(folded: str) -> tuple[tuple[str, str], str]:
    """What must be equal (namespace and digits), and what may differ."""
    namespace, colon, value = folded.partition(":")
    if not colon:
        namespace, value = "", folded
    return (namespace + colon, "".join(_DIGIT.findall(value))), value


def _trigrams(text: str) -> frozenset[str]:
    padded = f"  {text} "
    return frozenset(padded[at : at + 3] for at in range(len(padded) - 2))


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)
