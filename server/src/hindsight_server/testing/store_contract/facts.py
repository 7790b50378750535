"""What every store does with facts, entities and tags."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hindsight_server.domain.errors import BankNotFound, NotFound
from hindsight_server.domain.model import EntityMention, FactState, FactType
from hindsight_server.domain.tags import TagAnd, TagFilter, TagLeaf, TagNot, TagOr, TagsMatch
from hindsight_server.ports.records import DocumentFilter, FactChange, FactFilter
from hindsight_server.ports.store import Store
from hindsight_server.testing.store_contract.builders import (
    NOW,
    SPACE,
    TOKEN_DIMENSION,
    document,
    encoding_of,
    fact,
    later,
    put,
    write,
)
from hindsight_server.testing.store_contract.retaining import texts_of

TAGGED = {"none": (), "a": ("a",), "b": ("b",), "ab": ("a", "b"), "abc": ("c", "b", "a")}
FILTERS: list[tuple[TagFilter, set[str]]] = [
    (TagLeaf(frozenset("a"), TagsMatch.ANY), {"none", "a", "ab", "abc"}),
    (TagLeaf(frozenset("ab"), TagsMatch.ALL), {"none", "ab", "abc"}),
    (TagLeaf(frozenset("ac"), TagsMatch.ANY_STRICT), {"a", "ab", "abc"}),
    (TagLeaf(frozenset("ab"), TagsMatch.ALL_STRICT), {"ab", "abc"}),
    (TagLeaf(frozenset("ba"), TagsMatch.EXACT), {"ab"}),
    (TagLeaf(frozenset(), TagsMatch.EXACT), {"none"}),
    (TagLeaf(frozenset(), TagsMatch.ANY_STRICT), set(TAGGED)),
    (TagNot(TagLeaf(frozenset("a"), TagsMatch.ANY_STRICT)), {"none", "b"}),
    (
        TagAnd((TagLeaf(frozenset("a"), TagsMatch.ANY_STRICT), TagNot(TagLeaf(frozenset("c"), TagsMatch.ANY_STRICT)))),
        {"a", "ab"},
    ),
    (
        TagOr((TagLeaf(frozenset(), TagsMatch.EXACT), TagLeaf(frozenset("c"), TagsMatch.ALL_STRICT))),
        {"none", "abc"},
    ),
]


class FactContract:
    async def test_facts_without_vectors_are_known_until_they_get_them(self, store: Store) -> None:
        for bank_id, state in (("c", FactState.VALID), ("b", FactState.VALID), ("b", FactState.PENDING)):
            facts = tuple(replace(fact(text, state=state), encoding=None) for text in ("one", "two"))
            await store.retain(write(bank_id, document(f"{state} d", "one", "two", facts=facts)))
        waiting = await store.unencoded_facts(("", 0), 3)
        assert [(bank_id, found.text) for bank_id, found in waiting] == [("b", "one"), ("b", "two"), ("c", "one")]
        rest = await store.unencoded_facts(("c", waiting[-1][1].seq), 3)
        assert [(bank_id, found.text) for bank_id, found in rest] == [("c", "two")]
        before = await store.snapshot("b", 0, 0)
        one, two = (found.seq for bank_id, found in waiting if bank_id == "b")
        await store.delete_document("c", "valid d", NOW)
        encodings = {one: encoding_of("one"), two + 1000: encoding_of("two")}
        assert await store.add_encodings("b", encodings, later(1)) == 1
        assert await store.add_encodings("b", encodings, later(1)) == 0
        assert [found.text for _, found in await store.unencoded_facts(("", 0), 9)] == ["two"]
        # Readers are told of the fact anew, with its vector.
        changed = await store.snapshot("b", max(row.seq for row in before.rows), before.version)
        assert (changed.removed.tolist(), len(changed.rows), len(changed.vectors[SPACE][0])) == ([one], 1, 1)
        assert len((await store.postings("b", {"one": 0}))["one"][0]) == 2

    async def test_a_correction_without_a_vector_waits_for_it(self, store: Store) -> None:
        (fact_id,) = await put(store, "b", "d", "one")
        assert await store.unencoded_facts(("", 0), 9) == []
        change = FactChange(text="two", terms={"two": 1})
        assert (await store.update_fact("b", fact_id, change, NOW)).text == "two"
        ((_, found),) = await store.unencoded_facts(("", 0), 9)
        assert await store.add_encodings("b", {found.seq: encoding_of("two")}, NOW) == 1
        assert await store.unencoded_facts(("", 0), 9) == []

    """Listing, filtering, correcting and deleting facts."""

    async def test_paging_reaches_everything_newest_first(self, store: Store) -> None:
        await put(store, "b", "d", *(f"t{number}" for number in range(47)))
        seen: list[str] = []
        for offset in range(0, 60, 10):
            page = await store.list_facts("b", FactFilter(), 10, offset)
            assert (page.total, page.limit, page.offset) == (47, 10, offset)
            seen += [found.text for found in page.items]
        assert seen == [f"t{number}" for number in reversed(range(47))]

    @pytest.mark.parametrize(("wanted", "expected"), FILTERS)
    async def test_tag_filters(self, store: Store, wanted: TagFilter, expected: set[str]) -> None:
        for name, tags in TAGGED.items():
            await put(store, "b", name, name, tags=tags, names=[f"E-{name}"])
        facts = await store.list_facts("b", FactFilter(tags=wanted), 10, 0)
        assert ({found.text for found in facts.items}, facts.total) == (expected, len(expected))
        documents = await store.list_documents("b", DocumentFilter(tags=wanted), 10, 0)
        assert ({found.document_id for found in documents.items}, documents.total) == (expected, len(expected))
        entities = await store.list_entities("b", wanted, 10, 0)
        assert ({found.name for found in entities.items}, entities.total) == (
            {f"E-{name}" for name in expected},
            len(expected),
        )

    async def test_other_filters(self, store: Store) -> None:
        await put(store, "b", "d", "STRASSE one", "two", names=["Ann"], context="Kitchen")
        await put(store, "b", "e", "three", fact_type=FactType.EXPERIENCE)
        ann = (await store.find_entities("b", ["ann"]))[0]
        assert await texts_of(store, query="straße") == ["STRASSE one"]
        assert await texts_of(store, query="kitchen") == ["STRASSE one", "two"]
        assert await texts_of(store, query="%") == []
        assert await texts_of(store, fact_type="experience") == ["three"]
        assert await texts_of(store, document_id="e") == ["three"]
        assert await texts_of(store, entity_id=ann.entity_id) == ["STRASSE one", "two"]
        assert await texts_of(store, entity_id="none") == []
        assert await texts_of(store, entity_id=ann.entity_id, query="two", document_id="d") == ["two"]

    async def test_time_filters_order_by_the_time_and_leave_out_what_has_none(self, store: Store) -> None:
        days = (
            fact("second", mentioned_at=later(20)),
            fact("first", mentioned_at=later(10)),
            fact("never", mentioned_at=None),
            fact("third", mentioned_at=later(30)),
        )
        await store.retain(write("b", document("d", "x", facts=days)))
        page = await store.list_facts("b", FactFilter(time_field="mentioned_at"), 2, 0)
        assert ([found.text for found in page.items], page.total) == (["third", "second"], 3)
        assert await texts_of(store, time_field="mentioned_at", start=later(15), end=later(20)) == ["second"]
        assert len(await texts_of(store, start=NOW, end=NOW)) == 4
        assert await texts_of(store, start=later(1)) == []

    async def test_what_was_mentioned_last_comes_first(self, store: Store) -> None:
        times = {"second": later(20), "never": None, "third": later(10), "first": later(30)}
        facts = [fact(text, mentioned_at=time) for text, time in times.items()]
        await store.retain(write("b", document("d", "x", facts=facts)))
        page = await store.list_facts("b", FactFilter(), 9, 0)
        assert [found.text for found in page.items] == ["first", "second", "third", "never"]

    async def test_facts_come_in_the_order_asked_for(self, store: Store) -> None:
        await put(store, "b", "d", "one", "two", "three")
        one, two, three = (row.seq for row in (await store.snapshot("b", 0, 0)).rows)
        found = await store.facts("b", [three, 10_000, one, two])
        assert [kept.text for kept in found] == ["three", "one", "two"]
        assert await store.facts("b", []) == []

    async def test_a_corrected_fact_is_another_for_recall(self, store: Store) -> None:
        (fact_id,) = await put(store, "b", "d", "wrong words", names=["Ann", "Bo"])
        change = FactChange(
            text="right",
            terms={"right": 1},
            length=1,
            tokens=1,
            encoding=encoding_of("right"),
            fact_type=FactType.EXPERIENCE,
            context="ctx",
            occurred_start=later(1),
            occurred_end=later(2),
            mentioned_at=later(3),
            tags=("x",),
            entities=(EntityMention(name="Bo"), EntityMention(name="Cy")),
        )
        changed = await store.update_fact("b", fact_id, change, later(9))
        assert changed == await store.get_fact("b", fact_id)
        assert (changed.text, changed.fact_type, changed.context) == ("right", FactType.EXPERIENCE, "ctx")
        assert (changed.occurred_start, changed.occurred_end, changed.mentioned_at) == (later(1), later(2), later(3))
        assert (changed.tags, changed.entities, changed.tokens) == (("x",), ("Bo", "Cy"), 1)
        found = await store.postings("b", {"wrong": 0, "right": 0})
        assert (found["wrong"][0].size, found["right"][0].tolist()) == (0, [changed.seq])
        assert {entity.name for entity in (await store.list_entities("b", None, 9, 0)).items} == {"Bo", "Cy"}
        vectors = (await store.snapshot("b", 0, 0)).vectors[SPACE][1]
        np.testing.assert_allclose(vectors, [encoding_of("right").vector], atol=1e-3)
        assert (await store.token_vectors("b", SPACE, [changed.seq]))[changed.seq].shape == (1, TOKEN_DIMENSION)
        emptied = await store.update_fact(
            "b", fact_id, FactChange(cleared=frozenset({"context", "occurred_end", "mentioned_at"})), NOW
        )
        assert (emptied.context, emptied.occurred_end, emptied.mentioned_at) == (None, None, None)
        assert (emptied.occurred_start, emptied.text, emptied.created_at) == (later(1), "right", NOW)
        with pytest.raises(NotFound):
            await store.update_fact("b", "none", change, NOW)
        with pytest.raises(NotFound):
            await store.get_fact("b", "none")

    async def test_invalidated_facts_are_listed_and_not_counted(self, store: Store) -> None:
        one, _ = await put(store, "b", "d", "one", "two", tags=("t",))
        await store.update_fact("b", one, FactChange(state=FactState.INVALIDATED), NOW)
        assert await texts_of(store, state="invalidated") == ["one"]
        assert await texts_of(store) == ["one", "two"]
        assert (await store.get_bank("b")).fact_count == 1
        assert (await store.get_document("b", "d")).fact_count == 1
        assert (await store.list_tags("b", None, 9, 0)).items == (("t", 1),)
        assert await store.delete_document("b", "d", NOW) == 2
        assert (await store.get_bank("b")).fact_count == 0

    async def test_it_is_kept_when_and_why_a_fact_was_changed(self, store: Store) -> None:
        (fact_id,) = await put(store, "b", "d", "one")
        retire = FactChange(state=FactState.INVALIDATED, reason="out of date")
        first = await store.update_fact("b", fact_id, retire, later(1))
        assert (first.invalidated_at, first.invalidation_reason, first.edited_at) == (later(1), "out of date", None)
        again = await store.update_fact("b", fact_id, replace(retire, reason="a joke"), later(2))
        assert (again.invalidated_at, again.invalidation_reason, again.updated_at) == (later(1), "a joke", later(2))
        edited = await store.update_fact("b", fact_id, FactChange(context="ctx"), later(3))
        assert (edited.invalidated_at, edited.edited_at) == (later(1), later(3))
        valid = await store.update_fact("b", fact_id, FactChange(state=FactState.VALID), later(4))
        assert (valid.invalidated_at, valid.invalidation_reason, valid.edited_at) == (None, None, later(3))

    async def test_facts_by_id_come_in_the_order_asked_for(self, store: Store) -> None:
        await put(store, "b", "d", "one", "two", "three")
        ids = {fact.text: fact.fact_id for fact in (await store.list_facts("b", FactFilter(), 9, 0)).items}
        asked = [ids["three"], "none", ids["one"], ids["three"]]
        assert [fact.text for fact in await store.facts_by_id("b", asked)] == ["three", "one"]
        assert await store.facts_by_id("b", []) == []
        with pytest.raises(BankNotFound):
            await store.facts_by_id("nobody", asked)

    async def test_clearing_facts_leaves_documents(self, store: Store) -> None:
        await put(store, "b", "d", "one", "two", names=["Ann"])
        await put(store, "b", "e", "three", fact_type=FactType.EXPERIENCE)
        assert await store.clear_facts("b", "experience", NOW) == 1
        assert await store.clear_facts("b", "observation", NOW) == 0
        assert await texts_of(store) == ["one", "two"]
        assert await store.clear_facts("b", None, NOW) == 2
        assert (await store.list_documents("b", DocumentFilter(), 9, 0)).total == 2
        assert (await store.list_entities("b", None, 9, 0)).total == 0

    async def test_entities_are_found_whatever_the_spelling(self, store: Store) -> None:
        await put(store, "b", "d", "one", names=["DGIA", "Dr. Waller", "Dr Wall"])
        await put(store, "b", "e", "two", names=["dgia 🚀", " ＤＧＩＡ ", "Dr.  waller"])
        page = await store.list_entities("b", None, 10, 0)
        assert [(entity.name, entity.mention_count) for entity in page.items] == [
            ("DGIA", 2),
            ("Dr. Waller", 2),
            ("Dr Wall", 1),
        ]
        found = await store.find_entities("b", ["dgia", "DR WALL", "nobody"])
        assert [entity.name for entity in found] == ["DGIA", "Dr Wall"]
        assert await store.entities("b", [found[1].number, 999]) == [found[1]]
        assert await store.get_entity("b", found[0].entity_id) == found[0]
        with pytest.raises(NotFound):
            await store.get_entity("b", "none")

    async def test_mentions_stay_true(self, store: Store) -> None:
        for name, seconds in (("d1", 10), ("d2", 20), ("d3", 30)):
            said = fact(name, names=["Ann", name], mentioned_at=later(seconds))
            await store.retain(write("b", document(name, name, facts=(said,))))
        (ann,) = await store.find_entities("b", ["Ann"])
        assert (ann.mention_count, ann.first_seen, ann.last_seen) == (3, later(10), later(30))
        await store.delete_document("b", "d3", NOW)
        await store.update_document("b", "d2", ("t",), NOW)
        (ann,) = await store.find_entities("b", ["Ann"])
        assert (ann.mention_count, ann.first_seen, ann.last_seen) == (2, later(10), later(20))
        assert await store.find_entities("b", ["d3"]) == []
        await store.delete_document("b", "d1", NOW)
        await store.delete_document("b", "d2", NOW)
        assert (await store.list_entities("b", None, 10, 0)).total == 0

    async def test_tags_with_their_facts(self, store: Store) -> None:
        await put(store, "b", "d", "1", "2", tags=("user:ann", "x"))
        await put(store, "b", "e", "3", tags=("user:bo", "x", "%"))
        page = await store.list_tags("b", None, 2, 0)
        assert (page.items, page.total) == ((("x", 3), ("user:ann", 2)), 4)
        assert (await store.list_tags("b", "USER:*", 9, 0)).items == (("user:ann", 2), ("user:bo", 1))
        assert (await store.list_tags("b", "*:*n", 9, 0)).items == (("user:ann", 2),)
        assert (await store.list_tags("b", "user", 9, 0)).total == 0
        assert (await store.list_tags("b", "%", 9, 0)).items == (("%", 1),)
        assert (await store.list_tags("b", "*x*x*", 9, 0)).total == 0

    async def test_retagging_a_document(self, store: Store) -> None:
        await put(store, "b", "d", "1", "2", tags=("old",))
        assert await store.update_document("b", "d", ("new",), later(1)) == 2
        assert (await store.list_tags("b", None, 9, 0)).items == (("new", 2),)
        assert await texts_of(store) == ["1", "2"]
        assert await store.update_document("b", "d", None, later(2), observation_scopes="per_tag") == 0
        found = await store.get_document("b", "d")
        assert (found.tags, found.observation_scopes, found.updated_at) == (("new",), "per_tag", later(2))
        with pytest.raises(NotFound):
            await store.update_document("b", "none", (), NOW)

    async def test_documents_most_recently_updated_first(self, store: Store) -> None:
        for second, name in enumerate(["a", "b", "c", "d"]):
            await store.retain(write("b", document(name, f"Text {name}", context="x"), now=later(second)))
        await store.retain(write("b", document("a", "again"), now=later(9)))
        page = await store.list_documents("b", DocumentFilter(), 2, 0)
        assert ([found.document_id for found in page.items], page.total) == (["a", "d"], 4)
        assert page.items[0].text is None
        assert page.items[1] == replace(await store.get_document("b", "d"), text=None)
        by_text = await store.list_documents("b", DocumentFilter(query="TEXT C"), 9, 0)
        assert [found.document_id for found in by_text.items] == ["c"]
        between = DocumentFilter(time_field="created_at", start=later(0), end=later(1))
        found = await store.list_documents("b", between, 9, 0)
        assert [one.document_id for one in found.items] == ["b", "a"]
        with pytest.raises(NotFound):
            await store.get_document("b", "none")
        with pytest.raises(NotFound):
            await store.delete_document("b", "none", NOW)
        with pytest.raises(NotFound):
            await store.list_chunks("b", "none", 9, 0)
