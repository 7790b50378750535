"""What every store that keeps images of banks must see to. A store that keeps none passes as well."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import numpy as np

from hindsight_server.domain.model import FactState
from hindsight_server.ports.records import BankImage, FactChange, FactRow
from hindsight_server.ports.store import Store
from hindsight_server.testing.store_contract.builders import NOW, SPACE, put

Write = Callable[[Store, str], Awaitable[object]]


async def image_of(store: Store, bank_id: str = "b") -> BankImage:
    """An image as of now."""
    snapshot = await store.snapshot(bank_id, 0, 0)
    seqs = np.array([row.seq for row in snapshot.rows], np.int64)
    return BankImage(
        version=snapshot.version,
        last_seq=int(seqs[-1]) if len(seqs) else 0,
        arrays={"seq": seqs, "codes": np.arange(12, dtype=np.int8).reshape(3, 4), "nothing": np.empty(0, np.float64)},
        texts={"documents": ["d", "line\nbreak", "雪"], "nothing": []},
    )


async def _forget(store: Store, fact_id: str) -> object:
    return await store.update_fact("b", fact_id, FactChange(state=FactState.INVALIDATED), NOW)


async def _change(store: Store, fact_id: str) -> object:
    return await store.update_fact("b", fact_id, FactChange(tags=("new",)), NOW)


async def _delete_document(store: Store, fact_id: str) -> object:
    return await store.delete_document("b", "d", NOW)


async def _clear(store: Store, fact_id: str) -> object:
    return await store.clear_facts("b", None, NOW)


async def _replace(store: Store, fact_id: str) -> object:
    return await put(store, "b", "d", "other words")


REMOVALS: tuple[Write, ...] = (_forget, _change, _delete_document, _clear, _replace)


class ImageContract:
    """Images come back as they were saved, and never outlive what they hold."""

    async def test_an_image_comes_back_as_it_was(self, store: Store) -> None:
        await put(store, "b", "d", "one", "two")
        image = await image_of(store)
        if not await store.save_image("b", image):
            assert await store.load_image("b") is None
            return
        await put(store, "b", "later", "three")  # what only adds leaves it
        held = await store.load_image("b")
        assert held is not None
        assert (held.version, held.last_seq) == (image.version, image.last_seq)
        assert {name: list(texts) for name, texts in held.texts.items()} == image.texts
        assert set(held.arrays) == set(image.arrays)
        for name, array in image.arrays.items():
            np.testing.assert_array_equal(held.arrays[name], array)
            assert held.arrays[name].dtype == array.dtype

    async def test_an_image_goes_with_what_it_holds(self, store: Store) -> None:
        for number, remove in enumerate(REMOVALS):  # what was edited or invalidated stays when its words come again
            fact_id = (await put(store, "b", "d", f"one {number}", "two"))[0]
            await store.save_image("b", await image_of(store))
            await remove(store, fact_id)
            assert await store.load_image("b") is None, remove.__name__

    async def test_an_image_that_comes_after_a_removal_is_not_kept(self, store: Store) -> None:
        for number, remove in enumerate(REMOVALS):  # what was edited or invalidated stays when its words come again
            fact_id = (await put(store, "b", "d", f"one {number}", "two"))[0]
            image = await image_of(store)
            await remove(store, fact_id)
            assert not await store.save_image("b", image), remove.__name__
            assert await store.load_image("b") is None, remove.__name__

    async def test_a_bank_takes_its_image_along(self, store: Store) -> None:
        await put(store, "b", "d", "one")
        image = await image_of(store)
        await store.save_image("b", image)
        await store.delete_bank("b")
        assert await store.load_image("b") is None
        assert not await store.save_image("b", image)
        await put(store, "b", "d", "one")
        assert not await store.save_image("b", image)  # of another bank with the same name
        assert await store.load_image("b") is None

    async def test_no_bank_gets_the_image_of_another(self, store: Store) -> None:
        await put(store, "b", "d", "one")
        await put(store, "c", "d", "one")
        await store.save_image("b", await image_of(store))
        assert await store.load_image("c") is None
        assert await store.load_image("nobody") is None


class PieceContract:
    """A bank that is read piece by piece gives what it gives at once."""

    async def test_pieces_make_the_whole(self, store: Store) -> None:
        await put(store, "b", "d", *(f"fact {number}" for number in range(7)))
        whole = await store.snapshot("b", 0, 0)
        for limit in (1, 3, 7, 8):
            seq, version = 0, 0
            rows: list[FactRow] = []
            seqs: list[int] = []
            for _ in range(20):
                piece = await store.snapshot("b", seq, version, limit=limit)
                assert len(piece.rows) <= limit
                rows += piece.rows
                seqs += piece.vectors[SPACE][0].tolist() if SPACE in piece.vectors else []
                if piece.complete:
                    break
                seq, version = piece.rows[-1].seq, piece.version
            assert rows == list(whole.rows)
            assert seqs == whole.vectors[SPACE][0].tolist()

    async def test_what_goes_between_two_pieces_is_told(self, store: Store) -> None:
        ids = await put(store, "b", "d", "one", "two", "three", "four")
        first = await store.snapshot("b", 0, 0, limit=2)
        assert not first.complete
        gone = await store.get_fact("b", ids[0])
        later = await store.get_fact("b", ids[3])
        await store.update_fact("b", ids[0], FactChange(state=FactState.INVALIDATED), NOW)
        await store.update_fact("b", ids[3], FactChange(state=FactState.INVALIDATED), NOW)
        await put(store, "b", "e", "five")
        second = await store.snapshot("b", first.rows[-1].seq, first.version, limit=10)
        assert second.complete
        assert second.removed.tolist() == [gone.seq]
        assert later.seq not in [row.seq for row in second.rows]
        assert len(second.rows) == 2
