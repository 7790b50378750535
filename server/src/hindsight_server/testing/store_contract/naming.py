"""What every store does with names: which are one entity, and what users say of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from hindsight_server.domain.errors import Conflict, InvalidInput, NotFound
from hindsight_server.domain.model import EntityMention, NameLink
from hindsight_server.domain.tags import TagLeaf, TagsMatch
from hindsight_server.ports.entities import Entity
from hindsight_server.ports.records import FactChange, FactFilter
from hindsight_server.ports.store import Store
from hindsight_server.testing.store_contract.builders import NOW, document, fact, later, put, write

_YEAR = 365 * 86_400


def person(name: str, *, literal: bool = False) -> EntityMention:
    return EntityMention(name=name, type="PERSON", literal=literal)


async def tell(store: Store, document_id: str, *names: str | EntityMention, **options: Any) -> None:
    """Retain one fact that names these; `links` are what it says of names, `after` seconds after NOW."""
    at, links = later(options.pop("after", 0)), tuple(options.pop("links", ()))
    told = fact(options.pop("text", document_id), names=names, mentioned_at=at, name_links=links)
    await store.retain(write("b", document(document_id, document_id, facts=(told,), **options)))


async def groups(store: Store) -> set[frozenset[str]]:
    """The names of each entity, together."""
    page = await store.list_entities("b", None, 500, 0)
    return {frozenset({entity.name, *entity.aliases}) for entity in page.items}


async def found(store: Store, name: str) -> Entity:
    (entity,) = await store.find_entities("b", [name])
    return entity


def sets(*names: Sequence[str]) -> set[frozenset[str]]:
    return {frozenset(one) for one in names}


class NamingContract:
    async def test_a_short_name_is_the_one_that_it_can_be(self, store: Store) -> None:
        await tell(store, "d1", "Alice Chen")
        await tell(store, "d2", "Alice")
        await tell(store, "d3", "Alice C.", "Room 101")
        await tell(store, "d4", "Room 102")
        assert await groups(store) == sets(["Alice Chen", "Alice", "Alice C."], ["Room 101"], ["Room 102"])
        alice = await found(store, "Alice")
        assert (alice.name, alice.mention_count, alice.is_ambiguous) == ("Alice Chen", 3, False)
        assert (await found(store, "alice c")).entity_id == alice.entity_id
        listed = await store.list_facts("b", FactFilter(entity_id=alice.entity_id), 10, 0)
        assert {one.document_id for one in listed.items} == {"d1", "d2", "d3"}
        assert {one.entities[0] for one in listed.items} == {"Alice Chen"}

    async def test_a_second_one_leaves_the_short_name_to_none(self, store: Store) -> None:
        await tell(store, "d1", "Victor Hale")
        await tell(store, "d2", "Victor")
        hale = await found(store, "Victor")
        assert hale.name == "Victor Hale"
        await tell(store, "d3", "Victor Cruz")
        victor = await found(store, "Victor")
        assert (victor.name, victor.aliases, victor.is_ambiguous) == ("Victor", (), True)
        assert set(victor.could_be) == {hale.entity_id, (await found(store, "Victor Cruz")).entity_id}
        assert await groups(store) == sets(["Victor Hale"], ["Victor"], ["Victor Cruz"])
        await store.delete_document("b", "d3", NOW)
        assert await groups(store) == sets(["Victor Hale", "Victor"])
        assert not (await found(store, "Victor")).is_ambiguous

    @pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5])
    async def test_the_order_of_writes_does_not_matter(self, store: Store, order: tuple[int, ...]) -> None:
        told = [["Alice Chen", "Oslo"], ["Alice"], ["Dr. Chen", "Oslo"], ["Bob Chen", "Bob"]]
        for number in order:
            await tell(store, f"d{number}", *told[number])
        assert await groups(store) == sets(["Alice Chen", "Alice"], ["Dr. Chen"], ["Bob Chen", "Bob"], ["Oslo"])
        assert (await found(store, "Dr. Chen")).is_ambiguous

    async def test_one_batch_is_as_good_as_many(self, store: Store) -> None:
        names = ["Wren 🕯️", "Wren 🗯️", "Merrivale", "Merryvale", "王芳", "Wang Fang", "DGIA", "dgia"]
        facts = tuple(fact(f"told {name}", chunk=0, names=[name]) for name in names)
        await store.retain(write("b", document("d", "d", facts=facts)))
        expected = sets(["Wren 🕯️"], ["Merrivale"], ["Merryvale"], ["王芳", "Wang Fang"], ["DGIA"])
        assert await groups(store) == expected
        assert (await found(store, "wren")).mention_count == 2

    async def test_it_takes_evidence(self, store: Store) -> None:
        await tell(store, "d1", "Alice Chen")
        await tell(store, "d2", "Alice", after=_YEAR)
        assert await groups(store) == sets(["Alice Chen"], ["Alice"])
        await tell(store, "d3", "Alice", "Mount Fuji", after=_YEAR)
        await tell(store, "d4", "Alice Chen", "Mount Fuji", after=-_YEAR)
        assert await groups(store) == sets(["Alice Chen", "Alice"], ["Mount Fuji"])
        await store.delete_document("b", "d4", NOW)
        assert await groups(store) == sets(["Alice Chen"], ["Alice"], ["Mount Fuji"])

    async def test_what_a_forgotten_fact_said_of_names_is_forgotten(self, store: Store) -> None:
        said = NameLink(one="Theodora Vance", other="Teddy", same=True)
        await tell(store, "d1", "Theodora Vance", after=-_YEAR)
        await tell(store, "d2", "Theodora Vance", "Teddy", links=[said])
        await tell(store, "d3", "Teddy", after=_YEAR)
        assert await groups(store) == sets(["Theodora Vance", "Teddy"])
        (known,) = (await store.list_facts("b", FactFilter(document_id="d2"), 1, 0)).items
        await store.update_fact("b", known.fact_id, FactChange(tags=("moved",)), NOW)
        assert await groups(store) == sets(["Theodora Vance", "Teddy"])
        await store.delete_document("b", "d2", NOW)
        assert await groups(store) == sets(["Theodora Vance"], ["Teddy"])

    async def test_who_a_text_tells_apart_is_two(self, store: Store) -> None:
        apart = NameLink(one="Alice", other="Alice Chen", same=False)
        await tell(store, "d1", "Alice", "Alice Chen", links=[apart])
        assert await groups(store) == sets(["Alice Chen"], ["Alice"])
        await store.delete_document("b", "d1", NOW)
        await tell(store, "d2", "Alice", "Alice Chen")
        assert await groups(store) == sets(["Alice Chen", "Alice"])

    async def test_a_literal_name_is_merged_with_none(self, store: Store) -> None:
        await tell(store, "d1", "Alice Chen")
        await tell(store, "d2", "Alice")
        await tell(store, "d3", person("Alice", literal=True))
        assert await groups(store) == sets(["Alice Chen"], ["Alice"])
        alice = await found(store, "Alice")
        assert (alice.mention_count, alice.is_literal) == (2, True)
        await store.delete_document("b", "d3", NOW)
        assert await groups(store) == sets(["Alice Chen", "Alice"])

    async def test_merging_splitting_and_back(self, store: Store) -> None:
        await tell(store, "d1", "Room 101", "Alice Chen")
        await tell(store, "d2", "Room 102", "Alice")
        first, second = await found(store, "Room 101"), await found(store, "Room 102")
        merged = await store.merge_entities("b", [first.entity_id, second.entity_id], NOW)
        assert {merged.name, *merged.aliases} == {"Room 101", "Room 102"}
        assert merged.mention_count == 2
        await tell(store, "d3", "Room 101")
        assert (await found(store, "Room 102")).mention_count == 3
        parts = await store.split_entity("b", first.entity_id, ["room 102"], NOW)
        assert [part.name for part in parts] == ["Room 101", "Room 102"]
        alice = await found(store, "Alice")
        await store.split_entity("b", alice.entity_id, ["Alice"], NOW)
        await tell(store, "d4", "Alice", "Alice Chen")
        assert frozenset({"Alice"}) in await groups(store)
        ids = [(await found(store, name)).entity_id for name in ("Alice Chen", "Alice")]
        await store.merge_entities("b", ids, NOW)
        assert frozenset({"Alice Chen", "Alice"}) in await groups(store)
        with pytest.raises(InvalidInput):
            await store.split_entity("b", first.entity_id, ["Nobody"], NOW)
        with pytest.raises(InvalidInput):
            await store.split_entity("b", first.entity_id, ["Room 101"], NOW)
        with pytest.raises(NotFound):
            await store.merge_entities("b", [first.entity_id, "none"], NOW)

    async def test_what_was_merged_stays_one_without_the_name_that_it_was_merged_with(self, store: Store) -> None:
        names = ("Room 101", "Villa Rosa", "Project Zephyr", "Acme")
        for place, name in enumerate(names):
            await tell(store, f"d{place}", name)
        ids = [(await found(store, name)).entity_id for name in names]
        await store.merge_entities("b", ids[1:3], NOW)
        await store.split_entity("b", ids[1], [names[2]], NOW)
        await store.merge_entities("b", ids[:3], NOW)
        await store.merge_entities("b", [ids[2], ids[3]], NOW)
        for place in (0, 3):
            await store.delete_document("b", f"d{place}", NOW)
            assert (await found(store, names[1])).entity_id == (await found(store, names[2])).entity_id
        await store.delete_document("b", "d1", NOW)
        assert await groups(store) == {frozenset({names[2]})}

    async def test_aliases_and_the_name_to_go_by(self, store: Store, dump: Any) -> None:
        await tell(store, "d1", "Alice Chen")
        await tell(store, "d2", "Victor Hale")
        await tell(store, "d3", "Victor")
        alice = await found(store, "Alice Chen")
        named = await store.name_entity("b", alice.entity_id, "The Quokka", NOW, shown=False)
        assert (named.name, named.aliases, named.mention_count) == ("Alice Chen", ("The Quokka",), 1)
        assert (await found(store, "quokka")).entity_id == alice.entity_id
        shown = await store.name_entity("b", alice.entity_id, "Dr Zyx", NOW, shown=True)
        assert (shown.name, set(shown.aliases)) == ("Dr Zyx", {"Alice Chen", "The Quokka"})
        (named_fact,) = (await store.list_facts("b", FactFilter(document_id="d1"), 1, 0)).items
        assert named_fact.entities == ("Dr Zyx",)
        with pytest.raises(Conflict):
            await store.name_entity("b", alice.entity_id, "Victor", NOW, shown=False)
        await tell(store, "d4", "Room 101")
        room = await found(store, "Room 101")
        with pytest.raises(Conflict, match=f"Room 101.*{room.entity_id}.*[Mm]erge"):
            await store.name_entity("b", alice.entity_id, "room 101", NOW, shown=True)
        assert (await found(store, "Room 101")).name == "Room 101"
        (left,) = (await store.split_entity("b", alice.entity_id, ["The Quokka"], NOW))[:1]
        assert left.aliases == ("Alice Chen",)
        assert await store.find_entities("b", ["The Quokka"]) == []
        await store.delete_document("b", "d1", NOW)
        assert await store.find_entities("b", ["Dr Zyx", "Alice Chen"]) == []
        assert "zyx" not in (await dump()).casefold()

    async def test_a_tag_filter_hides_names(self, store: Store) -> None:
        await tell(store, "d1", "Alice Chen", tags=("mine",))
        await tell(store, "d2", "Alice", tags=("yours",))
        yours = TagLeaf(frozenset({"yours"}), TagsMatch.ANY_STRICT)
        page = await store.list_entities("b", yours, 10, 0)
        assert [(one.name, one.aliases, one.mention_count) for one in page.items] == [("Alice", (), 1)]
        alice = await found(store, "Alice")
        assert (await store.get_entity("b", alice.entity_id, yours)).name == "Alice"
        (shown,) = (await store.list_facts("b", FactFilter(tags=yours), 10, 0)).items
        assert shown.entities == ("Alice",)
        with pytest.raises(NotFound):
            await store.get_entity("b", alice.entity_id, TagLeaf(frozenset({"none"}), TagsMatch.ANY_STRICT))

    async def test_names_that_are_named_together(self, store: Store) -> None:
        await tell(store, "d1", "Alice Chen", "Oslo", tags=("t",))
        await tell(store, "d2", "Alice", "Oslo", "Rome", after=60)
        graph = await store.entity_graph("b", None, 10, 1)
        pairs = {frozenset({edge.one.name, edge.other.name}): edge.count for edge in graph.edges}
        assert pairs[frozenset({"Alice Chen", "Oslo"})] == 2
        assert (graph.total_entities, graph.total_edges) == (3, 3)
        assert graph.edges[0].last_seen == later(60)
        assert (await store.entity_graph("b", None, 1, 2)).total_edges == 1
        tagged = await store.entity_graph("b", TagLeaf(frozenset({"t"}), TagsMatch.ANY_STRICT), 10, 1)
        assert [entity.mention_count for entity in tagged.entities] == [1, 1]

    async def test_groups_are_told_when_they_change(self, store: Store) -> None:
        await put(store, "b", "d1", "one", names=["Alice Chen", "Oslo"])
        before = await store.name_groups("b", ["Oslo"], 0)
        assert before.groups is None
        await tell(store, "d2", "Alice")
        after = await store.name_groups("b", ["Alice"], before.version)
        chen = await found(store, "Alice Chen")
        assert after.named == (chen.number,)
        assert after.groups is not None
        assert list(after.groups.values()) == [chen.number]
        written = await store.names_as_written("b", list(after.groups))
        assert list(written.values()) == ["Alice"]
        assert (await store.name_groups("b", ["Alice"], after.version)).groups is None

    async def test_an_id_that_was_told_stays_good(self, store: Store) -> None:
        await tell(store, "d1", "Alice")
        alice = await found(store, "Alice")
        await tell(store, "d2", "Alice Chen")
        assert (await store.get_entity("b", alice.entity_id)).name == "Alice Chen"
        await put(store, "b", "d1", "other words", names=["Alice"])
        assert (await store.get_entity("b", alice.entity_id)).mention_count == 2

    async def test_labels_that_are_tags_stay_with_their_fact(self, store: Store) -> None:
        label = EntityMention(name="mood:happy", type="LABEL", literal=True, tag=True)
        await tell(store, "d1", label, "Ann", tags=("t",))
        (told,) = (await store.list_facts("b", FactFilter(), 10, 0)).items
        assert told.tags == ("t", "mood:happy")
        await store.update_document("b", "d1", ("u",), NOW)
        (told,) = (await store.list_facts("b", FactFilter(), 10, 0)).items
        assert told.tags == ("u", "mood:happy")
