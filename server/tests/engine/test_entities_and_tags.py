"""What facts name, and the tags they carry."""

from __future__ import annotations

import pytest

from hindsight_server.domain.errors import BankNotFound, NotFound
from hindsight_server.domain.tags import TagLeaf, TagsMatch
from hindsight_server.engine.entities import Entities
from hindsight_server.engine.retain import ItemInput
from hindsight_server.engine.tags import Tags

from .conftest import Engine


@pytest.fixture
async def filled(engine: Engine) -> Engine:
    items = [
        ItemInput(content="Ann met Carol in Oslo.", tags=["user:a"], entities=[{"text": "Ann"}]),
        ItemInput(content="Carol likes Oslo.", tags=["user:b", "x"]),
    ]
    await engine.retain("b", items)
    return engine


async def test_entities_are_listed_and_shown_with_visible_facts_only(filled: Engine) -> None:
    entities = Entities(filled.store, filled.clock)
    page = await entities.list("b")
    oslo = next(entity for entity in page.items if entity.name == "Oslo")
    assert oslo.mention_count == 2
    detail = await entities.get("b", oslo.entity_id)
    assert len(detail.facts) == 2
    only_b = TagLeaf(frozenset({"user:b"}), TagsMatch.ANY_STRICT)
    filtered = await entities.get("b", oslo.entity_id, only_b)
    assert [fact.text for fact in filtered.facts] == ["Carol likes Oslo."]
    assert filtered.entity.mention_count == 1
    assert filtered.entity.first_seen == filtered.entity.last_seen == filtered.facts[0].mentioned_at
    ann = next(entity for entity in page.items if entity.name == "Ann")
    with pytest.raises(NotFound):
        await entities.get("b", ann.entity_id, only_b)
    assert "Ann" not in {entity.name for entity in (await entities.list("b", only_b)).items}
    with pytest.raises(NotFound):
        await entities.get("b", "no such entity")


async def test_tags_are_counted_and_matched_by_pattern(filled: Engine) -> None:
    tags = Tags(filled.store)
    assert dict((await tags.list("b")).items) == {"user:a": 1, "user:b": 1, "x": 1}
    assert {tag for tag, _ in (await tags.list("b", "USER:*")).items} == {"user:a", "user:b"}
    with pytest.raises(BankNotFound):
        await tags.list("other")


async def test_fuzzy_tags_in_a_listing(engine: Engine) -> None:
    await engine.retain("b", [ItemInput(content="Ann met Boris.", tags=["team:design"])])
    await engine.retain("b", [ItemInput(content="Cyrus met Dora.", tags=["team:sales"])])
    entities = Entities(engine.store, engine.clock)
    wanted = TagLeaf(frozenset({"team:designs"}), TagsMatch.ANY_STRICT, fuzzy=True)
    page = await entities.list("b", wanted)
    assert "Boris" in {entity.name for entity in page.items}
    assert "Dora" not in {entity.name for entity in page.items}
    detail = await entities.get("b", page.items[0].entity_id, wanted)
    assert [fact.text for fact in detail.facts] == ["Ann met Boris."]
