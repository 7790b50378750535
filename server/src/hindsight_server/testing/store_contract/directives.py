"""What every store does with directives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hindsight_server.domain.directives import Directive
from hindsight_server.domain.errors import BankNotFound, NotFound
from hindsight_server.ports.store import Store
from hindsight_server.testing.store_contract.builders import NOW, later


def directive(directive_id: str, **options: Any) -> Directive:
    """A rule; `options` are its fields."""
    values: dict[str, Any] = {"name": "n", "content": "Be brief.", "created_at": NOW, "updated_at": NOW}
    return Directive(directive_id=directive_id, **(values | options))


class DirectiveContract:
    """Directives: kept, changed, listed, deleted, apart by bank, gone with it."""

    async def test_a_directive_is_given_back_as_it_was(self, store: Store) -> None:
        given = directive("x", priority=-3, is_active=False, tags=("b", "a"), content="规则\n{{x}}")
        await store.save_directive("a", given, NOW)
        assert await store.directive("a", "x") == given
        assert (await store.get_bank("a")).fact_count == 0

    async def test_saving_it_again_changes_it(self, store: Store) -> None:
        await store.save_directive("a", directive("x"), NOW)
        changed = replace(directive("x"), content="Be long.", tags=("t",), updated_at=later(5))
        await store.save_directive("a", changed, later(5))
        assert list(await store.directives("a")) == [changed]

    async def test_only_active_ones_when_asked(self, store: Store) -> None:
        await store.save_directive("a", directive("x"), NOW)
        await store.save_directive("a", directive("y", is_active=False), NOW)
        assert {one.directive_id for one in await store.directives("a")} == {"x", "y"}
        assert [one.directive_id for one in await store.directives("a", active_only=True)] == ["x"]

    async def test_directives_of_banks_are_apart_and_go_with_their_bank(self, store: Store) -> None:
        await store.save_directive("a", directive("x", content="of a"), NOW)
        await store.save_directive("b", directive("x", content="of b"), NOW)
        assert (await store.directive("b", "x")).content == "of b"
        await store.delete_bank("a")
        with pytest.raises(BankNotFound):
            await store.directives("a")
        await store.ensure_bank("a", NOW)
        assert list(await store.directives("a")) == []
        assert len(await store.directives("b")) == 1

    async def test_a_directive_is_deleted_once(self, store: Store) -> None:
        await store.save_directive("a", directive("x"), NOW)
        assert await store.delete_directive("a", "x")
        assert not await store.delete_directive("a", "x")
        with pytest.raises(NotFound):
            await store.directive("a", "x")
        with pytest.raises(BankNotFound):
            await store.delete_directive("nobody", "x")
