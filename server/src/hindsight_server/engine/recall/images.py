"""Views as images that a store keeps, so that a start on a big bank need not read it fact by fact.

An image holds living rows only, and of the names that rows refer to only those that they still use: what was forgotten
is in no image.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hindsight_server.engine.recall.columns import Interner
from hindsight_server.engine.recall.vectors import VectorBuffers
from hindsight_server.engine.recall.view import COLUMNS, BankView, Buffers, ViewBuilder
from hindsight_server.ports.records import BankImage
from hindsight_server.ports.store import Store

_log = logging.getLogger(__name__)

_NAMED = {
    "document": "documents",
    "context": "contexts",
    "explicit": "sessions",
    "speaker": "speakers",
    "tagset": "tagsets",
}
"""Columns of numbers, and the texts that the numbers stand for."""

_FEW = 50_000  # facts; fewer are read from the store in half a second
_GROWN = 20  # an image that lacks more than this part of the rows is made anew
_PAUSE_SECONDS = 60.0  # between two images of one bank, so that a row of edits does not write it each time


def image_of(view: BankView) -> BankImage:
    """The living rows of a view."""
    alive, all_alive = view.alive, view.all_alive
    arrays: dict[str, npt.NDArray[Any]] = {}
    texts: dict[str, Sequence[str]] = {}
    for name in COLUMNS:
        column = getattr(view, name)
        arrays[name] = column if all_alive else column[alive]
    for name, of in _NAMED.items():
        values = _texts(getattr(view.buffers, of))
        arrays[name], texts[of] = _renamed(arrays[name], values)
    lengths = np.diff(view.entity_offsets)
    arrays["entity_lengths"] = lengths if all_alive else lengths[alive]
    arrays["entity_numbers"] = view.entity_numbers if all_alive else view.entity_numbers[alive[view.entity_owners]]
    texts["spaces"] = list(view.vectors)
    moved = np.cumsum(alive, dtype=np.int32) - 1
    for number, held in enumerate(view.vectors.values()):
        kept = slice(None) if all_alive else alive[held.rows]
        arrays[f"rows{number}"] = moved[held.rows[kept]]
        arrays[f"codes{number}"] = held.codes[kept]
        arrays[f"inverse{number}"] = held.inverse[kept]
    return BankImage(version=view.version, last_seq=view.last_seq, arrays=arrays, texts=texts)


def begun_with(image: BankImage) -> ViewBuilder | None:
    """A builder that begins with an image's rows; None for an image of another layout than today's."""
    arrays, texts = image.arrays, image.texts
    if any(name not in arrays or arrays[name].dtype != dtype for name, dtype in COLUMNS.items()):
        return None
    buffers = Buffers()
    for of in _NAMED.values():
        interner = getattr(buffers, of)
        for text in texts[of]:
            interner.number(frozenset(json.loads(text)) if of == "tagsets" else text)
    buffers.entities.reserve(len(arrays["seq"]), len(arrays["entity_numbers"]))
    buffers.entities.extend_flat(arrays["entity_numbers"], arrays["entity_lengths"])
    for number, space in enumerate(texts["spaces"]):
        held = buffers.vectors[space] = VectorBuffers(arrays[f"codes{number}"].shape[1])
        held.reserve(len(arrays[f"rows{number}"]))
        held.rows.extend(arrays[f"rows{number}"])
        held.codes.extend(arrays[f"codes{number}"])
        held.inverse.extend(arrays[f"inverse{number}"])
    return ViewBuilder.of_columns(arrays, buffers, image.version)


def _texts(interner: Interner[Any]) -> list[str]:
    return [value if isinstance(value, str) else json.dumps(sorted(value)) for value in interner.values]


def _renamed(column: npt.NDArray[np.int32], values: Sequence[str]) -> tuple[npt.NDArray[np.int32], list[str]]:
    """The column with numbers for only those values that it uses, and these; -1 stays."""
    used = np.zeros(len(values) + 1, np.bool_)
    used[column] = True  # -1 marks the last place, which stands for no value
    used[-1] = False
    chosen = np.flatnonzero(used)
    numbers = np.full(len(values) + 1, -1, np.int32)
    numbers[chosen] = np.arange(len(chosen), dtype=np.int32)
    return numbers[column], [values[number] for number in chosen.tolist()]


class ImageKeeper:
    """Sees to it that the images of big banks are there and not too old, in the background.

    Args:
        store: keeps them.
        few: banks of fewer facts get none.
        pause_seconds: time between two images of one bank.
    """

    def __init__(self, store: Store, *, few: int = _FEW, pause_seconds: float = _PAUSE_SECONDS) -> None:
        self._store = store
        self.few = few
        self._pause = pause_seconds
        self._rows: dict[str, int] = {}
        self._not_before: dict[str, float] = {}
        self._saving: dict[str, asyncio.Task[None]] = {}

    async def load(self, bank_id: str) -> ViewBuilder | None:
        """A builder that begins with the bank's image, or None."""
        image = await self._store.load_image(bank_id)
        if image is None:
            return None
        try:
            builder = await asyncio.to_thread(begun_with, image)
        except (KeyError, ValueError, TypeError, IndexError):
            _log.warning("An image of bank %r does not fit; the bank is read anew", bank_id, exc_info=True)
            return None
        if builder is not None:
            self._rows[bank_id] = len(image.arrays["seq"])
        return builder

    def removed(self, bank_id: str) -> None:
        """Facts were removed: the store has dropped the image."""
        self._rows.pop(bank_id, None)

    def offer(self, bank_id: str, view: BankView) -> None:
        """Save an image of this view, when the one that is kept lacks too much."""
        lacking = len(view) - self._rows.get(bank_id, 0)
        now = time.monotonic()
        if len(view) < self.few or lacking * _GROWN <= len(view) or bank_id in self._saving:
            return
        if now < self._not_before.get(bank_id, now):
            return
        self._not_before[bank_id] = now + self._pause
        task = self._saving[bank_id] = asyncio.create_task(self._save(bank_id, view))
        task.add_done_callback(lambda _: self._saving.pop(bank_id, None))

    async def close(self) -> None:
        """Wait for images that are being saved."""
        await asyncio.gather(*self._saving.values())

    async def _save(self, bank_id: str, view: BankView) -> None:
        try:
            image = await asyncio.to_thread(image_of, view)
            if await self._store.save_image(bank_id, image):
                self._rows[bank_id] = len(view)
        except Exception:  # the next start is slower, nothing else
            _log.warning("No image of bank %r could be saved", bank_id, exc_info=True)
