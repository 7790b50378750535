"""From the tag fields of a request to one tag filter."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import TypeAdapter, ValidationError

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.tags import TagAnd, TagFilter, TagLeaf, TagNot, TagOr, TagsMatch
from hindsight_server.http.wire.requests import TagGroupAnd, TagGroupLeaf, TagGroupNot, TagGroupOr

TagGroup = TagGroupLeaf | TagGroupAnd | TagGroupOr | TagGroupNot
MAX_DEPTH = 20


def tag_filter(
    tags: Sequence[str] | None, match: str | None, groups: Sequence[TagGroup] | None = None
) -> TagFilter | None:
    """The filter that `tags` with `match`, or `groups`, ask for; None lets everything through.

    Raises:
        InvalidInput: both are given, or a group is nested too deeply.
    """
    if tags and groups:
        raise InvalidInput("Give either 'tags' or 'tag_groups', not both.", field="tag_groups")
    if groups:
        return TagAnd(tuple(_group(group, f"tag_groups[{index}]", 1) for index, group in enumerate(groups)))
    wanted = TagsMatch(match or TagsMatch.ANY)
    if not tags and wanted is not TagsMatch.EXACT:
        return None
    return TagLeaf(frozenset(tags or ()), wanted)


def groups_from_text(text: str | None) -> list[TagGroup] | None:
    """The groups of a `tag_groups` query parameter, which is JSON. Raises InvalidInput."""
    if not text:
        return None
    try:
        return TypeAdapter(list[TagGroup]).validate_json(text)
    except ValidationError:
        raise InvalidInput("tag_groups must be a JSON list of tag groups.", field="tag_groups") from None


def _group(group: TagGroup, field: str, depth: int) -> TagFilter:
    if depth > MAX_DEPTH:
        raise InvalidInput(f"Tag groups may be nested at most {MAX_DEPTH} deep.", field="tag_groups")
    if isinstance(group, TagGroupAnd):
        return TagAnd(tuple(_group(part, f"{field}.and[{index}]", depth + 1) for index, part in enumerate(group.and_)))
    if isinstance(group, TagGroupOr):
        return TagOr(tuple(_group(part, f"{field}.or[{index}]", depth + 1) for index, part in enumerate(group.or_)))
    if isinstance(group, TagGroupNot):
        return TagNot(_group(group.not_, f"{field}.not", depth + 1))
    match = TagsMatch(group.match or TagsMatch.ANY_STRICT)
    return TagLeaf(frozenset(group.tags), match, fuzzy=group.resolve == "fuzzy")
