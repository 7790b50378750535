"""What every store does with causes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from hindsight_server.domain.errors import BankNotFound
from hindsight_server.ports.forgetting import ForgetWrite
from hindsight_server.ports.store import Store
from hindsight_server.testing.store_contract.builders import NOW, document, fact, write

Dump = Callable[[], Awaitable[list[str]]]


async def _chain(store: Store) -> tuple[str, str, str]:
    """Three facts: rain, because of it mud, because of that a fall."""
    rain, mud, fall = (fact(text, turn=turn) for turn, text in enumerate(("rain", "mud", "fall")))
    mud, fall = replace(mud, causes=(rain.fact_id,)), replace(fall, causes=(mud.fact_id, fall.fact_id, "unknown"))
    await store.retain(write("b", replace(document("d", "rain mud fall"), facts=(rain, mud, fall))))
    return rain.fact_id, mud.fact_id, fall.fact_id


class CauseContract:
    """Causes are told from both ends, and go with either."""

    @pytest.mark.feature("R11")
    async def test_causes_are_told_from_both_ends(self, store: Store) -> None:
        rain, mud, fall = await _chain(store)
        assert sorted(await store.causes("b", [rain, mud, fall])) == sorted([(mud, rain), (fall, mud)])
        assert await store.causes("b", [rain]) == [(mud, rain)]
        assert await store.causes("b", [fall]) == [(fall, mud)]
        assert await store.causes("b", []) == []
        with pytest.raises(BankNotFound):
            await store.causes("none", [rain])

    async def test_a_forgotten_fact_takes_its_causes_along(self, store: Store) -> None:
        rain, mud, fall = await _chain(store)
        await store.forget(ForgetWrite(bank_id="b", fact_ids=(mud,)), NOW)
        assert await store.causes("b", [rain, fall]) == []

    async def test_causes_stay_with_facts_that_change_and_go_with_their_bank(self, store: Store) -> None:
        rain, mud, fall = await _chain(store)
        await store.update_document("b", "d", ("tag",), NOW)
        assert await store.causes("b", [rain]) == [(mud, rain)]
        await store.delete_bank("b")
        await store.ensure_bank("b", NOW)
        assert await store.causes("b", [rain, mud, fall]) == []
