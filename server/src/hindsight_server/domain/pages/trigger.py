"""When and from what a page is written: the trigger of the API, as a value that is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.model import FactType
from hindsight_server.domain.tags import TagAnd, TagFilter, TagLeaf, TagNot, TagOr, TagsMatch

MODES = ("full", "delta")
BUDGETS = ("low", "mid", "high")
_DEEPEST = 20
_CENTURY_SECONDS = 100 * 366 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """How a page is kept current. Names and meanings are those of the API.

    Args:
        budget: of the reflect that writes it; None is ``mid``.
        mode: ``full`` writes the page anew, ``delta`` edits it.
        refresh_after_consolidation, refresh_cron: what begins a refresh; one of the two at most.
        full_refresh_cron: when it is written anew, whatever `mode` says.
        min_refresh_interval_seconds: between two refreshes that nobody asked for; None is the bank's setting.
        fact_types: memories to use; None is all.
        tags_match: how the page's own tags choose memories; None is ``all_strict`` with tags, ``any`` without.
        tag_groups: chooses memories in the place of the page's own tags.
        keep_trace: keep how the latest refresh came to its result.
    """

    budget: str | None = None
    mode: str = "full"
    refresh_after_consolidation: bool = False
    refresh_cron: str | None = None
    full_refresh_cron: str | None = None
    min_refresh_interval_seconds: int | None = None
    fact_types: tuple[str, ...] | None = None
    exclude_mental_models: bool = False
    exclude_mental_model_ids: tuple[str, ...] | None = None
    tags_match: str | None = None
    tag_groups: tuple[Any, ...] | None = None
    include_chunks: bool | None = None
    recall_max_tokens: int | None = None
    recall_chunks_max_tokens: int | None = None
    reflect_search_observations_max_tokens: int | None = None
    reflect_search_observations_include_entities: bool | None = None
    response_schema: Mapping[str, Any] | None = None
    keep_trace: bool = False

    def as_json(self) -> dict[str, Any]:
        """Every field as a plain value."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


TRIGGER_FIELDS = tuple(one.name for one in fields(Trigger))
SCHEDULES = ("refresh_cron", "full_refresh_cron")
_FLAGS = ("refresh_after_consolidation", "exclude_mental_models", "keep_trace")
_OPTIONAL_FLAGS = ("include_chunks", "reflect_search_observations_include_entities")
_NUMBERS = {
    "min_refresh_interval_seconds": 0,
    "recall_max_tokens": 1,
    "recall_chunks_max_tokens": 0,
    "reflect_search_observations_max_tokens": 1,
}
_LISTS = ("fact_types", "exclude_mental_model_ids", "tag_groups")
_KINDS: Mapping[str, tuple[Any, str]] = {
    **dict.fromkeys((*_FLAGS, *_OPTIONAL_FLAGS), (bool, "true or false")),
    **dict.fromkeys(_LISTS, (list | tuple, "a list")),
    **dict.fromkeys(SCHEDULES, (str, "a cron expression")),
    "response_schema": (Mapping, "a JSON Schema object"),
}
_ONCE = ("refresh_after_consolidation", "refresh_cron")
_MATCHES = frozenset(TagsMatch)


def read_trigger(given: Mapping[str, Any], field: str, *, onto: Trigger | None = None) -> Trigger:
    """A trigger from plain values; those that are not given keep what `onto` has. Unknown names are left out.

    In a patch, one of ``refresh_after_consolidation`` and ``refresh_cron`` that is turned on turns the other off.

    Raises:
        InvalidInput: a value can't be one, or both are on.

    Example:
        >>> read_trigger({"mode": "delta"}, "trigger").mode
        'delta'
    """
    values = (onto or Trigger()).as_json()
    values |= {name: value for name, value in given.items() if name in TRIGGER_FIELDS}
    for name in (*_FLAGS, "mode"):
        if values[name] is None:
            values[name] = getattr(Trigger(), name)
    if onto is not None:
        for name, other in (_ONCE, _ONCE[::-1]):
            if given.get(name) and not given.get(other):
                values[other] = Trigger().as_json()[other]
    _check(values, field)
    for name in _LISTS:
        values[name] = tuple(values[name]) if values[name] is not None else None
    trigger = Trigger(**values)
    scope_filter((), trigger, field)
    return trigger


def scope_filter(tags: tuple[str, ...], trigger: Trigger, field: str = "trigger") -> TagFilter | None:
    """Which memories a page is written from, by its tags; None is all. Raises InvalidInput for groups of no sense."""
    if trigger.tag_groups:
        place = f"{field}.tag_groups"
        return TagAnd(tuple(_group(one, f"{place}[{index}]", 1) for index, one in enumerate(trigger.tag_groups)))
    match = TagsMatch(trigger.tags_match or ("all_strict" if tags else "any"))
    if not tags and match is not TagsMatch.EXACT:
        return None
    return TagLeaf(frozenset(tags), match)


def sources_of(tags: tuple[str, ...], trigger: Trigger) -> tuple[Any, ...]:
    """What decides which memories a page is written from; equal for two pages that use the same ones."""
    return frozenset(tags), trigger.tags_match, trigger.tag_groups, frozenset(trigger.fact_types or ())


def free_again(refreshed_at: datetime | None, least_seconds: int | None) -> datetime | None:
    """From when on a page may be refreshed by itself again; None for at any time. More than a century is one."""
    if refreshed_at is None or not least_seconds:
        return None
    return refreshed_at + timedelta(seconds=min(least_seconds, _CENTURY_SECONDS))


def _check(values: Mapping[str, Any], field: str) -> None:
    for name, choices in (("mode", MODES), ("budget", (*BUDGETS, None)), ("tags_match", (*TagsMatch, None))):
        if values[name] not in choices:
            raise _bad(field, name, f"must be one of: {', '.join(str(one) for one in choices if one)}")
    for name, (kind, wanted) in _KINDS.items():
        if values[name] is not None and not isinstance(values[name], kind):
            raise _bad(field, name, f"must be {wanted}")
    for name in SCHEDULES:
        if values[name] is not None and not values[name].strip():
            raise _bad(field, name, "is blank; give five fields, such as '0 3 * * *', or null for no schedule")
    for name, least in _NUMBERS.items():
        value = values[name]
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**53):
            raise _bad(field, name, f"must be a whole number, {least} or more")
    _check_texts(values, field)
    if values["refresh_after_consolidation"] and values["refresh_cron"]:
        raise _bad(field, "refresh_cron", "can't stand beside refresh_after_consolidation; choose one of the two")


def _check_texts(values: Mapping[str, Any], field: str) -> None:
    for name in ("fact_types", "exclude_mental_model_ids"):
        if not all(isinstance(one, str) for one in values[name] or ()):
            raise _bad(field, name, "must be a list of texts")
    if set(values["fact_types"] or ()) - set(FactType):
        raise _bad(field, "fact_types", f"may hold: {', '.join(FactType)}")


def _group(group: Any, place: str, depth: int) -> TagFilter:
    if depth > _DEEPEST or not isinstance(group, Mapping):
        raise InvalidInput(f"{place} must be a group of tags, nested at most {_DEEPEST} deep.", field=place)
    for name, kind in (("and", TagAnd), ("or", TagOr)):
        parts = group.get(name)
        if isinstance(parts, list | tuple):
            return kind(tuple(_group(one, f"{place}.{name}[{index}]", depth + 1) for index, one in enumerate(parts)))
    if group.get("not") is not None:
        return TagNot(_group(group["not"], f"{place}.not", depth + 1))
    tags, match = group.get("tags"), group.get("match") or TagsMatch.ANY_STRICT
    if not isinstance(tags, list | tuple) or not all(isinstance(tag, str) for tag in tags) or match not in _MATCHES:
        raise InvalidInput(f"{place} must have 'tags' (and 'match'), 'and', 'or' or 'not'.", field=place)
    return TagLeaf(frozenset(tags), TagsMatch(match), fuzzy=group.get("resolve") == "fuzzy")


def _bad(field: str, name: str, what: str) -> InvalidInput:
    return InvalidInput(f"{field}.{name} {what}.", field=f"{field}.{name}")
