"""Which of the names that a view's facts mention are one entity.

Facts keep the names as they are written; which of them are one may change without any fact. So it is read beside the
view, once for each view, and again when it changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from hindsight_server.domain.names import normal_name
from hindsight_server.domain.naming import Known, fuller, read_name
from hindsight_server.engine.recall.scope import Scope
from hindsight_server.engine.recall.view import BankView, Int32Array
from hindsight_server.ports.entities import Entity, NameGroups

_MEMO = "name groups"


@dataclass(frozen=True, slots=True)
class _Known:
    version: int
    entity_of: Int32Array | None


def known_version(view: BankView) -> int:
    """The version of the groups that the view knows, 0 for none."""
    known = view.memo.get(_MEMO)
    return known.version if isinstance(known, _Known) else 0


def learn(view: BankView, groups: NameGroups) -> None:
    """Keep the groups with the view."""
    if groups.groups is None:
        return
    entity_of = None
    if groups.groups:
        size = max(int(view.entity_numbers.max(initial=0)), max(groups.groups), max(groups.groups.values())) + 1
        entity_of = np.arange(size, dtype=np.int32)
        entity_of[list(groups.groups)] = list(groups.groups.values())
    view.memo[_MEMO] = _Known(groups.version, entity_of)


def entity_of_names(view: BankView, names: int) -> Int32Array | None:
    """For the first so many name numbers the number of the entity; None when each name is its own."""
    known = view.memo.get(_MEMO)
    if not isinstance(known, _Known) or known.entity_of is None:
        return None
    held = known.entity_of
    if len(held) < names:
        held = np.concatenate([held, np.arange(len(held), names, dtype=np.int32)])
    return held[:names]


def hides_names(scope: Scope) -> bool:
    """Whether an entity may have names that only facts mention which a tag filter hides."""
    return scope.tag_mask is not None and entity_of_names(scope.view, 1) is not None


def shown_by(entities: Iterable[Entity], names: Mapping[int, str], view: BankView) -> list[Entity]:
    """The entities under the fullest of some names, given by number."""
    entity_of = entity_of_names(view, max(names, default=0) + 1)
    by_entity: dict[int, list[Known]] = {}
    for number, name in names.items():
        known = Known(number=number, form=read_name(normal_name(name)))
        by_entity.setdefault(number if entity_of is None else int(entity_of[number]), []).append(known)
    return [
        replace(entity, name=names[max(by_entity[entity.number], key=fuller).number], aliases=())
        for entity in entities
        if entity.number in by_entity
    ]
