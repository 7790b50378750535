"""Causes and effects of the best candidates, which join them.

"Why did Ann fall?" shares no word with "It had rained all night." They come as candidates of the graph arm alone: the
weights were fitted without causes, so where they end is for their other evidence to say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import numpy as np

from hindsight_server.engine.recall.arms import SEEDS
from hindsight_server.engine.recall.gather import guarded
from hindsight_server.engine.recall.ranking import FirstPass, with_rows
from hindsight_server.engine.recall.run import Run
from hindsight_server.engine.recall.scope import Scope
from hindsight_server.engine.recall.types import ArmStatus
from hindsight_server.engine.recall.view import Int32Array
from hindsight_server.ports.causes import CauseStore

_MEMO = "no causes"


async def with_causes(store: CauseStore, run: Run, first: FirstPass) -> FirstPass:
    """The first pass with the causes and effects of its best candidates, as far as the question may see them.

    A bank without causes is looked at once for each of its versions.
    """
    view = run.scope.view
    graph = next((report for report in first.reports if report.name == "graph"), None)
    if graph is None or graph.status is not ArmStatus.OK or not len(first.rows) or _MEMO in view.memo:
        return first
    seqs = view.seq[first.rows[:SEEDS]].tolist()
    linked, _ = await guarded("graph", store.linked_by_cause(run.bank_id, seqs), run.until)
    if linked is None:
        return first
    if not linked.any:
        view.memo[_MEMO] = True
        return first
    rows = np.setdiff1d(_visible(run.scope, linked.seqs), first.rows).astype(np.int32)
    return await asyncio.to_thread(with_rows, first, rows) if len(rows) else first


def _visible(scope: Scope, seqs: Iterable[int]) -> Int32Array:
    view = scope.view
    wanted = np.array(sorted(seqs), view.seq.dtype)
    rows = np.searchsorted(view.seq, wanted)
    rows = rows[rows < len(view.seq)]
    rows = rows[np.isin(view.seq[rows], wanted) & view.alive[rows]]
    return (rows if scope.mask is None else rows[scope.mask[rows]]).astype(np.int32)
