"""What is kept in memory stays equal with the store, and within its bounds."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import numpy as np
import pytest

from hindsight_server.domain.errors import BankNotFound
from hindsight_server.engine.recall.cache import ViewCache
from hindsight_server.engine.recall.scope import scope_of

from .conftest import Memory, talk


class Counting:
    """The store, counting its reads."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.reads: list[tuple[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        async def read(*args: Any, **kwargs: Any) -> Any:
            self.reads.append((name, args))
            return await method(*args, **kwargs)

        return read


async def held(cache: ViewCache, term: str, bank_id: str = "b") -> list[int]:
    """`seq`s of the living facts that hold a term."""
    warm, view = await cache.get(bank_id)
    found = (await cache.postings(bank_id, warm, view, [term]))[term]
    return [int(seq) for seq in view.seq[found.rows[view.alive[found.rows]]]]


async def stored(memory: Memory, term: str) -> list[int]:
    found = await memory.engine.store.postings("b", {term: 0})
    return [int(seq) for seq in found[term][0]] if term in found else []


async def test_posting_lists_follow_writes(memory: Memory) -> None:
    cache = ViewCache(memory.engine.store)
    await memory.retain({"content": "red apples", "document_id": "one"}, "green apples")
    assert await held(cache, "appl") == await stored(memory, "appl")
    await memory.retain("more apples", "no fruit")
    assert await held(cache, "appl") == await stored(memory, "appl")
    assert len(await held(cache, "appl")) == 3
    await memory.engine.store.delete_document("b", "one", memory.engine.clock.now())
    assert await held(cache, "appl") == await stored(memory, "appl")
    await memory.retain({"content": "apples again", "document_id": "one"})
    assert await held(cache, "appl") == await stored(memory, "appl")
    assert await held(cache, "pear") == []


async def test_changed_tags_and_words_are_seen(memory: Memory) -> None:
    cache = ViewCache(memory.engine.store)
    await memory.retain({"content": "red apples", "document_id": "one", "tags": ["old"]}, "green apples")
    await cache.get("b")
    await memory.engine.store.update_document("b", "one", ("new",), memory.engine.clock.now())
    _, view = await cache.get("b")
    tags = [view.buffers.tagsets.values[view.tagset[row]] for row in np.flatnonzero(view.alive)]
    assert sorted(tags, key=len) == [frozenset(), frozenset({"new"})]
    assert await held(cache, "appl") == await stored(memory, "appl")


async def test_nothing_is_read_twice_while_nothing_changes(memory: Memory) -> None:
    await memory.retain("red apples", "green pears")
    store = Counting(memory.engine.store)
    cache = ViewCache(store)  # type: ignore[arg-type]
    await held(cache, "appl")
    warm, view = await cache.get("b")
    await cache.facts("b", warm, view, [1, 2])
    await cache.token_vectors("b", warm, "hashing-384", [1, 2])
    store.reads.clear()
    await held(cache, "appl")
    await cache.facts("b", warm, view, [2, 1])
    await cache.token_vectors("b", warm, "hashing-384", [1])
    assert {name for name, _ in store.reads} == {"snapshot"}
    await memory.retain("blue plums")
    store.reads.clear()
    await held(cache, "appl")
    assert ("postings", ("b", {"appl": 2})) in store.reads  # only what is new


async def test_facts_are_read_again_after_a_write(memory: Memory) -> None:
    cache = ViewCache(memory.engine.store)
    await memory.retain({"content": "red apples", "document_id": "one", "tags": ["old"]})
    warm, view = await cache.get("b")
    (fact,) = (await cache.facts("b", warm, view, [1])).values()
    assert fact.tags == ("old",)
    await memory.engine.store.update_document("b", "one", ("new",), memory.engine.clock.now())
    warm, view = await cache.get("b")
    (fact,) = (await cache.facts("b", warm, view, view.seq[view.alive].tolist())).values()
    assert fact.tags == ("new",)


async def test_banks_used_longest_ago_make_room(memory: Memory) -> None:
    store = Counting(memory.engine.store)
    cache = ViewCache(store, max_bytes=1)  # type: ignore[arg-type]
    for bank_id in ("b", "c"):
        await memory.retain("red apples", bank_id=bank_id)
        await cache.get(bank_id)
    store.reads.clear()
    await cache.get("c")
    await cache.get("b")
    marks = [args for name, args in store.reads if name == "snapshot"]
    assert marks[0][1:] != (0, 0)  # still warm
    assert marks[-1][1:] == (0, 0)  # read anew


async def test_tiny_bounds_cost_reads_only(memory: Memory) -> None:
    await memory.retain("red apples", "green apples", "red pears")
    cache = ViewCache(memory.engine.store, posting_bytes=1, vector_bytes=1)
    warm, view = await cache.get("b")
    found = await cache.postings("b", warm, view, ["red", "appl"])
    assert {term: len(entry.rows) for term, entry in found.items()} == {"red": 2, "appl": 2}
    assert set(await cache.token_vectors("b", warm, "hashing-384", [1, 2, 3])) == {1, 2, 3}
    assert (warm.posting_bytes, warm.vector_bytes) == (0, 0)


async def test_words_that_nobody_wrote_fill_no_more_than_the_cache_may_hold(memory: Memory) -> None:
    await memory.retain("red apples")
    cache = ViewCache(memory.engine.store, max_bytes=100_000)
    warm, view = await cache.get("b")
    for start in range(0, 1000, 50):
        found = await cache.postings(
            "b", warm, view, ["red", *(f"word{number}" for number in range(start, start + 50))]
        )
        assert [len(entry.rows) for entry in found.values()] == [1] + [0] * 50
    assert 0 < warm.posting_bytes <= 50_000
    assert len(warm.postings) <= 100


async def test_recalls_side_by_side_with_writes(memory: Memory) -> None:
    await memory.retain("red apples")

    async def write() -> None:
        for at in range(15):
            await memory.retain({"content": f"apples of kind {at}", "document_id": f"kind-{at}"})
            if at % 4 == 3:
                await memory.engine.store.delete_document("b", f"kind-{at}", memory.engine.clock.now())

    async def read() -> list[int]:
        counts = []
        for _ in range(15):
            outcome = await memory.ask("apples")
            assert outcome.trace.degraded == ()
            counts.append(len(outcome.results))
        return counts

    _, *seen = await asyncio.gather(write(), read(), read(), read())
    assert all(count >= 1 for counts in seen for count in counts)
    assert len((await memory.ask("apples")).results) == 1 + 15 - 3


async def test_many_removals_lead_to_a_view_without_dead_rows(memory: Memory) -> None:
    cache = ViewCache(memory.engine.store)
    words = talk(*(("Ann", f"apple {at}") for at in range(1200)))
    await memory.retain({"content": words, "document_id": "talk"}, *(f"apple pie {at}" for at in range(1200)))
    await cache.get("b")
    await memory.engine.store.delete_document("b", "talk", memory.engine.clock.now())
    _, view = await cache.get("b")
    assert view.all_alive
    assert len(view) == 1200
    assert len(await held(cache, "appl")) == 1200


async def test_a_step_that_fails_leaves_no_half_made_view(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ViewCache(memory.engine.store)
    await memory.retain("red apples", "green apples")
    await cache.get("b")
    await memory.retain("blue apples")
    with monkeypatch.context() as patched:
        patched.setattr("hindsight_server.engine.recall.view.derive", None)
        with pytest.raises(TypeError):
            await cache.get("b")
    _, view = await cache.get("b")
    assert len(view) == 3
    assert await held(cache, "appl") == await stored(memory, "appl")


async def test_unknown_bank(memory: Memory) -> None:
    with pytest.raises(BankNotFound):
        await ViewCache(memory.engine.store).get("nobody")


async def test_all_that_is_kept_counts_against_the_bound(memory: Memory) -> None:
    for number in range(6):
        await memory.retain(*(f"apple {number} {at}" for at in range(40)), bank_id=f"bank-{number}")
    cache = ViewCache(memory.engine.store)
    sizes = []
    for number in range(6):
        warm, view = await cache.get(f"bank-{number}")
        bare = warm.nbytes
        await cache.postings(f"bank-{number}", warm, view, ["appl"])
        await cache.token_vectors(f"bank-{number}", warm, "hashing-384", view.seq.tolist())
        await cache.facts(f"bank-{number}", warm, view, view.seq.tolist())
        assert warm.nbytes > 2 * bare
        sizes.append(warm.nbytes)
    assert cache.nbytes == sum(sizes)
    small = ViewCache(memory.engine.store, max_bytes=2 * max(sizes))
    for number in range(6):
        warm, view = await small.get(f"bank-{number}")
        await small.facts(f"bank-{number}", warm, view, view.seq.tolist())
        await small.token_vectors(f"bank-{number}", warm, "hashing-384", view.seq.tolist())
        assert small.nbytes <= 2 * max(sizes)


async def test_a_view_that_is_not_used_any_more_is_freed_at_once(memory: Memory) -> None:
    await memory.retain("red apples")
    cache = ViewCache(memory.engine.store, max_bytes=1)
    gc.disable()
    try:
        view = (await cache.get("b"))[1]
        scope_of(view)
        old = weakref.ref(view.alive)
        await memory.retain("green apples")
        view = (await cache.get("b"))[1]
        assert old() is None
        scope_of(view)
        old = weakref.ref(view.alive)
        del view
        await memory.retain("plums", bank_id="c")
        await cache.get("c")
        assert old() is None
    finally:
        gc.enable()
