"""Which of the names that a view's facts mention are one entity.

Facts keep the names as they are written; which of them are one may change without any fact. So it is read beside the
view, once for each view, and again when it changed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hindsight_server.engine.recall.view import BankView, Int32Array
from hindsight_server.ports.records import NameGroups

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
