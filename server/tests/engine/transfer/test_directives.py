"""Directives go with the settings of their bank."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from hindsight_server.domain.directives import Directive
from hindsight_server.engine.directives import DirectiveInput, Directives, storable

from .conftest import Movers

pytestmark = pytest.mark.feature("F4")
THEN = datetime(2026, 1, 1, tzinfo=UTC)
RULE = Directive(directive_id="x", name="n", content="Be brief.", created_at=THEN, updated_at=THEN)


async def test_they_are_in_an_archive_and_in_a_clone(movers: Movers) -> None:
    directives = Directives(movers.engine.store, movers.engine.clock)
    await directives.create("a", DirectiveInput(name="tone", content="Be brief.", priority=3, tags=("t",)))
    await directives.create("a", DirectiveInput(name="off", content="Be long.", is_active=False))
    data = await movers.exported("a")
    await movers.imported("b", data, target_bank_id="b")
    assert await directives.list("b", active_only=False) == await directives.list("a", active_only=False)
    await movers.imported("c", data, mode="merge")
    assert (await directives.list("c", active_only=False)).total == 0
    await movers.imported("d", data, target_bank_id="d", include_config=False)
    assert (await directives.list("d", active_only=False)).total == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"content": " "},
        {"name": "x" * 201},
        {"tags": ("",)},
        {"priority": 10**9},
        {"directive_id": " "},
        {"content": "y" * 10_001},
    ],
)
def test_one_that_can_not_be_kept_is_left_out(wrong: dict[str, object]) -> None:
    assert storable(RULE) == RULE
    assert storable(replace(RULE, **wrong)) is None  # type: ignore[arg-type]
