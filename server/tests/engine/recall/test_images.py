"""Images of views give back the same view, hold nothing that is gone, and are there after a restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.engine.recall.cache import ViewCache
from hindsight_server.engine.recall.images import ImageKeeper, begun_with, image_of
from hindsight_server.engine.recall.view import BankView
from hindsight_server.ports.records import BankImage, FactRow, Snapshot

from .conftest import Memory, fact_row
from .test_view import STEPS, described, snapshot


def from_image(image: BankImage) -> BankView:
    builder = begun_with(image)
    assert builder is not None
    return builder.finish()


@settings(max_examples=100, deadline=None)
@given(STEPS)
def test_an_image_gives_back_the_same_view(steps: list[tuple[list[FactRow], list[int]]]) -> None:
    view = BankView.built(snapshot(1, []))
    last = 0
    for version, (rows, removals) in enumerate(steps, start=2):
        added = [replace(row, seq=last + 1 + at) for at, row in enumerate(rows)]
        removed = [seq for seq in dict.fromkeys(removals) if seq in view.seq[view.alive]]
        last += len(added)
        view = view.advanced(snapshot(version, added, removed))
    again = from_image(image_of(view))
    assert again.version == view.version
    assert described(again) == described(view)
    # It can be followed like any other.
    more = snapshot(99, [fact_row(last + 1, document_id="a", turn_index=9, speaker="Ann", tags=("x",))])
    assert described(again.advanced(more)) == described(view.advanced(more))


def test_names_that_no_fact_uses_any_more_are_left_out() -> None:
    secret = fact_row(
        1, document_id="hush", context="hush", session="hush", speaker="hush", tags=("hush",), entities=(7,)
    )
    view = BankView.built(snapshot(1, [secret, fact_row(2, document_id="open")]))
    image = image_of(view.advanced(snapshot(2, [], [1])))
    assert "hush" not in repr(image.texts)
    assert image.texts["documents"] == ["open"]
    assert image.arrays["entity_numbers"].tolist() == []
    assert len(image.arrays["rows0"]) == len(image.arrays["codes0"]) == 1


def test_an_image_of_another_layout_is_not_used() -> None:
    image = image_of(BankView.built(snapshot(1, [fact_row(1)])))
    arrays: Mapping[str, Any] = {name: array for name, array in image.arrays.items() if name != "tokens"}
    assert begun_with(replace(image, arrays=arrays)) is None
    arrays = {**image.arrays, "tokens": image.arrays["tokens"].astype(np.int64)}
    assert begun_with(replace(image, arrays=arrays)) is None


class Recording:
    """The store, noting from which marks snapshots were asked."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.marks: list[tuple[int, int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def snapshot(self, bank_id: str, after_seq: int, after_version: int, **limit: int | None) -> Snapshot:
        self.marks.append((after_seq, after_version))
        found: Snapshot = await self._store.snapshot(bank_id, after_seq, after_version, **limit)
        return found


def cache_over(store: Any, *, pause_seconds: float = 0.0) -> ViewCache:
    return ViewCache(store, images=ImageKeeper(store, few=1, pause_seconds=pause_seconds))


async def test_a_new_start_reads_only_what_came_after_the_image(memory: Memory) -> None:
    await memory.retain("red apples", "green apples")
    first = cache_over(memory.engine.store)
    _, before = await first.get("b")
    await first.close()
    await memory.retain("blue plums")
    store = Recording(memory.engine.store)
    _, view = await cache_over(store).get("b")
    assert store.marks == [(0, 0), (before.last_seq, before.version)]
    assert described(view) == described((await ViewCache(memory.engine.store).get("b"))[1])
    assert len(view) == 3


async def test_a_removed_fact_is_in_no_image(memory: Memory) -> None:
    await memory.retain({"content": "red apples", "document_id": "one"}, "green apples")
    first = cache_over(memory.engine.store)
    await first.get("b")
    await first.close()
    assert await memory.engine.store.load_image("b") is not None
    await memory.engine.store.delete_document("b", "one", memory.engine.clock.now())
    assert await memory.engine.store.load_image("b") is None
    await first.get("b")
    await first.close()
    image = await memory.engine.store.load_image("b")
    assert image is not None
    assert "one" not in image.texts["documents"]
    assert len(image.arrays["seq"]) == 1


async def test_a_row_of_edits_does_not_write_an_image_each_time(memory: Memory) -> None:
    await memory.retain({"content": "red apples", "document_id": "one"}, "green apples")
    cache = cache_over(memory.engine.store, pause_seconds=600)
    await cache.get("b")
    await cache.close()
    await memory.engine.store.update_document("b", "one", ("new",), memory.engine.clock.now())
    await cache.get("b")
    await cache.close()
    assert await memory.engine.store.load_image("b") is None


@pytest.mark.parametrize("damage", ["cut", "flip", "header", "empty"])
async def test_a_damaged_image_is_not_used(memory: Memory, tmp_path: Path, damage: str) -> None:
    store = SqliteStore(tmp_path / "data")
    await store.open()
    try:
        await store.ensure_bank("b", memory.engine.clock.now())
        version = (await store.snapshot("b", 0, 0)).version
        image = image_of(BankView.built(snapshot(version, [fact_row(1), fact_row(2)])))
        assert await store.save_image("b", image)
        (path,) = (tmp_path / "data" / "images").iterdir()
        content = bytearray(path.read_bytes())
        if damage == "flip":
            content[-3] ^= 1
        elif damage == "header":
            content[30] ^= 1
        path.write_bytes({"cut": content[: len(content) // 2], "empty": b""}.get(damage, content))
        assert await store.load_image("b") is None
    finally:
        await store.close()
