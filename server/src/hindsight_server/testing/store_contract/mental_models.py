"""What every store does with mental models, their history, and the tree of pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from hindsight_server.domain.errors import BankNotFound, Conflict, InvalidInput, NotFound
from hindsight_server.domain.ids import new_id
from hindsight_server.domain.model import FactState
from hindsight_server.domain.pages.text import PageText, Section, rendered
from hindsight_server.domain.pages.trigger import Trigger
from hindsight_server.domain.tags import TagLeaf, TagsMatch
from hindsight_server.ports.embedder import Encoding
from hindsight_server.ports.forgetting import ForgetWrite
from hindsight_server.ports.mental_models import (
    MOST_VERSIONS,
    REFRESH,
    KnowledgeNode,
    MemoryScope,
    MentalModel,
    MentalModelChange,
    PageContent,
    PageIndex,
    RefreshWrite,
    refresh_payload,
)
from hindsight_server.ports.records import FactChange, FactFilter, Operation
from hindsight_server.ports.store import Store
from hindsight_server.testing.store_contract.builders import NOW, later, put

ALL = MemoryScope()


def model(model_id: str = "tea", bank_id: str = "a", **options: Any) -> MentalModel:
    """A mental model that says nothing yet; `options` are its fields."""
    values: dict[str, Any] = {"name": model_id.title(), "source_query": f"What about {model_id}?"}
    return MentalModel(bank_id=bank_id, mental_model_id=model_id, created_at=NOW, updated_at=NOW, **(values | options))


def refresh(model_id: str = "tea", bank_id: str = "a", *, full: bool = False, **options: Any) -> Operation:
    """An operation that refreshes."""
    return Operation(
        bank_id=bank_id,
        operation_id=new_id(),
        type=REFRESH,
        status="pending",
        payload=refresh_payload(model_id, full=full),
        created_at=NOW,
        updated_at=NOW,
        **options,
    )


def content(*sections: tuple[str, str, tuple[str, ...]], seen: tuple[str, ...] = (), **options: Any) -> PageContent:
    """Sections of heading, words and the memories that they cite; every word is a term."""
    made = tuple(
        Section(section_id=f"s{number}", heading=heading, text=text, fact_ids=ids)
        for number, (heading, text, ids) in enumerate(sections, start=1)
    )
    cited = tuple(dict.fromkeys(one for section in made for one in section.fact_ids))
    return PageContent(
        text=PageText(sections=made, next_number=len(made) + 1),
        fact_ids=cited,
        seen_ids=tuple(dict.fromkeys((*cited, *seen))),
        section_terms={one.section_id: tuple(f"{one.heading} {one.text}".lower().split()) for one in made},
        **options,
    )


async def written(store: Store, said: PageContent | None, seconds: int = 1, **options: Any) -> MentalModel:
    """A refresh of the model ``tea`` that ends now."""
    mark = await store.scope_mark("a", ALL)
    base = (await store.get_mental_model("a", "tea")).version
    values: dict[str, Any] = {"outcome": "content_written", "base_version": base}
    return await store.save_refresh(
        RefreshWrite(
            bank_id="a",
            mental_model_id="tea",
            now=later(seconds),
            mark=mark,
            content=said,
            **(values | options),
        )
    )


async def facts(store: Store, *texts: str) -> dict[str, str]:
    """Memories of these texts, each of a document of its own; their ids by text."""
    for text in texts:
        await put(store, "a", f"d-{text}", text)
    page = await store.list_facts("a", FactFilter(), 1000, 0)
    return {fact.text: fact.fact_id for fact in page.items}


def words(found: MentalModel) -> str:
    return rendered(found.content.text)


class MentalModelContract:
    """Kept as they are, refreshed in one transaction, and cut when what they rest on is gone."""

    async def test_a_mental_model_is_given_back_as_it_was(self, store: Store) -> None:
        trigger = Trigger(mode="delta", refresh_cron="0 3 * * *", fact_types=("world",), tag_groups=({"tags": ["x"]},))
        made = model(tags=("user:ann", "x"), max_tokens=512, trigger=trigger)
        first = refresh()
        await store.add_mental_model(made, refresh=first)
        assert await store.get_mental_model("a", "tea") == replace(made, refresh_id=first.operation_id)
        assert [one.mental_model_id for one in await store.scheduled_mental_models()] == ["tea"]
        with pytest.raises(Conflict):
            await store.add_mental_model(model())
        await store.add_mental_model(model(bank_id="b"))
        assert [one.bank_id for one in await store.list_mental_models("b")] == ["b"]

    async def test_what_is_not_there_is_not_found(self, store: Store) -> None:
        with pytest.raises(BankNotFound):
            await store.get_mental_model("a", "tea")
        await store.ensure_bank("a", NOW)
        for asked in (
            lambda: store.get_mental_model("a", "tea"),
            lambda: store.change_mental_model("a", "tea", MentalModelChange(name="x"), NOW),
            lambda: store.delete_mental_model("a", "tea", NOW),
            lambda: store.mental_model_history("a", "tea"),
            lambda: store.queue_refresh("a", "tea", refresh()),
            lambda: store.delete_knowledge_node("a", "n", NOW),
        ):
            with pytest.raises(NotFound):
                await asked()

    async def test_a_change_sets_what_it_names(self, store: Store) -> None:
        await store.add_mental_model(model(tags=("x",)))
        change = MentalModelChange(name="Green tea", tags=(), trigger=Trigger(mode="delta"))
        changed = await store.change_mental_model("a", "tea", change, later(1))
        assert (changed.name, changed.tags, changed.trigger.mode) == ("Green tea", (), "delta")
        assert (changed.source_query, changed.updated_at) == ("What about tea?", later(1))

    async def test_a_refresh_is_written_with_its_operation(self, store: Store) -> None:
        ids = await facts(store, "Ann likes tea")
        await store.add_mental_model(model(), refresh=refresh())
        job = await store.claim_operation([REFRESH], NOW, 30)
        assert job is not None
        vector = np.array([0.5, -0.25], np.float32)
        index = PageIndex(terms={"tea": 2}, encoding=Encoding("s", vector))
        said = content(
            ("Drinks", "Ann likes tea.", (ids["Ann likes tea"],)),
            answered_query="What about tea?",
            structured_output={"drink": "tea"},
            trace={"effective_mode": "full"},
        )
        done = await written(store, said, index=index, full=True, finishes=job, result={"outcome": "content_written"})
        assert done.content == said
        assert (done.version, done.last_refreshed_at, done.last_full_refreshed_at) == (1, later(1), later(1))
        assert done.seen_seq > 0
        assert done.index.terms == {"tea": 2}
        assert done.index.encoding is not None
        np.testing.assert_array_equal(done.index.encoding.vector, vector)
        stored = await store.get_operation("a", job.operation_id)
        assert stored is not None
        assert (stored.status, stored.result) == ("completed", {"outcome": "content_written"})
        with pytest.raises(Conflict):
            await written(store, said, finishes=job)

    async def test_a_cancelled_refresh_writes_nothing(self, store: Store) -> None:
        await store.add_mental_model(model(), refresh=refresh())
        job = await store.claim_operation([REFRESH], NOW, 30)
        assert job is not None
        assert await store.cancel_operation("a", job.operation_id, NOW)
        with pytest.raises(Conflict):
            await written(store, content(("", "Tea.", ())), finishes=job)
        assert words(await store.get_mental_model("a", "tea")) == ""

    async def test_refreshes_are_one_while_they_wait(self, store: Store) -> None:
        await store.add_mental_model(model())
        parked = await store.queue_refresh("a", "tea", refresh(next_attempt_at=later(60)))
        assert parked.next_attempt_at == later(60)
        sooner = await store.queue_refresh("a", "tea", refresh(next_attempt_at=later(30), full=True))
        assert (sooner.operation_id, sooner.next_attempt_at) == (parked.operation_id, later(30))
        assert sooner.payload == refresh_payload("tea", full=True)
        asked = await store.queue_refresh("a", "tea", refresh())
        assert (asked.operation_id, asked.next_attempt_at) == (parked.operation_id, None)
        assert asked.payload == refresh_payload("tea", full=True)
        assert (await store.claim_operation([REFRESH], NOW, 30)) is not None
        another = await store.queue_refresh("a", "tea", refresh())
        assert another.operation_id != parked.operation_id

    async def test_a_history_keeps_the_contents_of_before(self, store: Store) -> None:
        await store.add_mental_model(model())
        for number in range(MOST_VERSIONS + 4):
            await written(store, content(("", f"Tea {number}.", ())), seconds=number)
        kept = await store.mental_model_history("a", "tea")
        assert len(kept) == MOST_VERSIONS
        assert (kept[0].previous_content, kept[-1].previous_content) == ("Tea 52.", "Tea 3.")
        assert kept[0].changed_at == later(MOST_VERSIONS + 3)

    async def test_the_same_words_are_no_new_version(self, store: Store) -> None:
        await store.add_mental_model(model())
        await written(store, content(("", "Tea.", ())))
        again = await written(store, content(("", "Tea.", ())), seconds=2, outcome="content_unchanged")
        assert (again.version, again.last_refreshed_at) == (1, later(2))
        assert await store.mental_model_history("a", "tea") == []

    async def test_failures_keep_the_content_and_are_told_once(self, store: Store) -> None:
        await store.add_mental_model(model())
        await written(store, content(("", "Tea.", ())))
        for seconds in (2, 3):
            failed = await written(
                store, None, seconds, outcome="refresh_failed_error", failure="no_answer", error="It said nothing."
            )
            assert (words(failed), failed.last_refresh_failed_at) == ("Tea.", later(seconds))
            assert (failed.last_refreshed_at, failed.failed_seq) == (later(1), 0)
        kept = await store.mental_model_history("a", "tea")
        assert [(one.failure, one.error, one.changed_at) for one in kept] == [
            ("no_answer", "It said nothing.", later(3))
        ]
        again = await written(store, content(("", "Green tea.", ())), 4)
        assert (again.failed_seq, again.last_refresh_failed_at) == (None, None)

    async def test_a_refresh_that_began_with_another_content_writes_nothing(self, store: Store) -> None:
        await store.add_mental_model(model())
        await written(store, content(("", "Tea.", ())))
        with pytest.raises(Conflict):
            await written(store, content(("", "Rum.", ())), base_version=0)
        assert words(await store.get_mental_model("a", "tea")) == "Tea."

    async def test_a_cleared_model_keeps_its_definition(self, store: Store) -> None:
        await store.add_mental_model(model())
        await written(store, content(("", "Tea.", ())), full=True)
        emptied = await store.change_mental_model("a", "tea", MentalModelChange(clear=True), later(2))
        assert (words(emptied), emptied.last_refreshed_at, emptied.seen_seq) == ("", None, 0)
        assert emptied.source_query == "What about tea?"
        assert [one.previous_content for one in await store.mental_model_history("a", "tea")] == ["Tea."]

    async def test_a_scope_tells_what_is_new_in_it(self, store: Store) -> None:
        await put(store, "a", "d1", "Ann likes tea", tags=("ann",))
        mark = await store.scope_mark("a", ALL)
        tagged = MemoryScope(tags=TagLeaf(frozenset({"bob"}), TagsMatch.ALL_STRICT))
        assert (mark.facts, mark.bank_facts) == (1, 1)
        assert (await store.scope_mark("a", tagged)).facts == 0
        assert await store.scope_news("a", [(mark.last_seq, ALL), (0, ALL), (0, tagged)]) == [False, True, False]
        await put(store, "a", "d2", "Bob likes rum", tags=("bob",))
        assert await store.scope_news("a", [(mark.last_seq, ALL), (mark.last_seq, tagged)]) == [True, True]
        assert [fact.text for fact in await store.facts_after("a", mark.last_seq, ALL, 10)] == ["Bob likes rum"]
        assert await store.facts_after("a", 0, MemoryScope(fact_types=("observation",)), 10) == []

    async def test_a_forgotten_memory_takes_its_sections_along(
        self, store: Store, dump: Callable[[], Awaitable[str]]
    ) -> None:
        ids = await facts(store, "Ann likes tea", "Bob hides zorblax", "Ann moved north")
        tea, zorblax, north = (ids[text] for text in ("Ann likes tea", "Bob hides zorblax", "Ann moved north"))
        await store.add_mental_model(model())
        await written(store, content(("Old", "Zorblax of before.", (zorblax,))), 1)
        await written(
            store,
            content(
                ("Drinks", "ann likes tea", (tea,)),
                ("Secrets", "Bob hides a thing.", (zorblax,)),
                ("Hints", "likes zorblax", (tea,)),
                ("Place", "Ann moved north.", (north,)),
                seen=(zorblax,),
                structured_output={"secret": "zorblax"},
                trace={"query": "zorblax"},
            ),
            2,
            index=PageIndex(terms={"tea": 1, "zorblax": 1}, encoding=Encoding("s", np.ones(2, np.float32))),
        )
        assert len(await store.mental_model_history("a", "tea")) == 1
        await store.forget(ForgetWrite(bank_id="a", fact_ids=(zorblax,)), later(3))
        left = await store.get_mental_model("a", "tea")
        assert [one.heading for one in left.content.text.sections] == ["Drinks", "Place"]
        assert left.content.fact_ids == (tea, north)
        assert (left.content.structured_output, left.content.trace, left.index.encoding) == (None, None, None)
        assert left.cut_at == later(3)
        assert await store.mental_model_history("a", "tea") == []
        assert "zorblax" not in (await dump()).casefold()
        waiting = await store.list_operations("a", "pending", REFRESH, 10, 0)
        assert [one.operation_id for one in waiting.items] == [left.refresh_id]
        again = await written(store, content(("Drinks", "ann likes tea", (tea,))), 4)
        assert again.cut_at is None

    async def test_words_that_cite_nothing_rest_on_everything(self, store: Store) -> None:
        ids = await facts(store, "Ann likes tea", "Bob hides zorblax")
        await store.add_mental_model(model())
        await written(store, content(("", "They drink.", ()), seen=tuple(ids.values())))
        await store.delete_document("a", "d-Bob hides zorblax", later(2))
        assert words(await store.get_mental_model("a", "tea")) == ""

    async def test_an_edited_or_retired_memory_takes_its_sections_along(self, store: Store) -> None:
        ids = await facts(store, "Ann likes tea", "Ann moved north")
        await store.add_mental_model(model())
        said = content(
            ("Drinks", "likes tea", (ids["Ann likes tea"],)), ("Place", "moved north", (ids["Ann moved north"],))
        )
        await written(store, said)
        change = FactChange(text="Ann likes rum", terms={"rum": 1}, length=1, tokens=1)
        await store.update_fact("a", ids["Ann likes tea"], change, later(2))
        assert words(await store.get_mental_model("a", "tea")) == "## Place\n\nmoved north"
        await store.update_fact("a", ids["Ann moved north"], FactChange(state=FactState.INVALIDATED), later(3))
        assert words(await store.get_mental_model("a", "tea")) == ""

    async def test_a_refresh_that_read_what_is_gone_meanwhile_writes_nothing(self, store: Store) -> None:
        ids = await facts(store, "Ann likes tea", "Bob hides zorblax")
        await store.add_mental_model(model())
        mark = await store.scope_mark("a", ALL)
        await store.forget(ForgetWrite(bank_id="a", fact_ids=(ids["Bob hides zorblax"],)), later(1))
        said = content(("", "tea", (ids["Ann likes tea"],)), seen=(ids["Bob hides zorblax"],))
        late = RefreshWrite(
            bank_id="a",
            mental_model_id="tea",
            now=later(2),
            mark=mark,
            base_version=0,
            content=said,
            outcome="content_written",
        )
        with pytest.raises(Conflict):
            await store.save_refresh(late)
        fine = replace(said, seen_ids=(ids["Ann likes tea"],))
        assert words(await store.save_refresh(replace(late, content=fine))) == "tea"

    async def test_a_deleted_bank_leaves_nothing_of_them(
        self, store: Store, dump: Callable[[], Awaitable[str]]
    ) -> None:
        await store.add_mental_model(model(source_query="zorblax?"), refresh=refresh())
        await written(store, content(("", "zorblax", ())))
        await written(store, content(("", "zorblax 2", ())), 2)
        folder = KnowledgeNode(node_id="f", kind="folder", name="zorblax", created_at=NOW, updated_at=NOW)
        await store.add_knowledge_node("a", folder)
        await store.delete_bank("a")
        assert "zorblax" not in await dump()

    async def test_a_deleted_model_takes_its_refresh_along(self, store: Store) -> None:
        asked = refresh()
        await store.add_mental_model(model(), refresh=asked)
        await store.delete_mental_model("a", "tea", later(1))
        stored = await store.get_operation("a", asked.operation_id)
        assert stored is not None
        assert stored.status == "cancelled"
        assert await store.list_mental_models("a") == []


class KnowledgeContract:
    """The tree: names are unique in a folder, nothing is within itself, and deleting goes down."""

    async def test_the_tree_is_kept(self, store: Store) -> None:
        for node in (_folder("f"), _folder("g", parent_id="f")):
            await store.add_knowledge_node("a", node)
        page = KnowledgeNode(node_id="tea", kind="page", name="Tea", parent_id="g", created_at=NOW, updated_at=NOW)
        await store.add_mental_model(model(is_page=True), node=page)
        assert [node.node_id for node in await store.list_knowledge_nodes("a")] == ["tea", "f", "g"]
        await store.change_knowledge_node("a", "g", "Top", None, later(1))
        moved = {node.node_id: node for node in await store.list_knowledge_nodes("a")}
        assert (moved["g"].name, moved["g"].parent_id, moved["g"].updated_at) == ("Top", None, later(1))
        assert await store.delete_knowledge_node("a", "g", later(2)) == 2
        assert [node.node_id for node in await store.list_knowledge_nodes("a")] == ["f"]
        assert await store.list_mental_models("a") == []

    async def test_names_are_unique_in_a_folder(self, store: Store) -> None:
        await store.add_knowledge_node("a", _folder("f", name="Tea"))
        with pytest.raises(Conflict):
            await store.add_knowledge_node("a", _folder("g", name="Tea"))
        await store.add_knowledge_node("a", _folder("g", name="Tea", parent_id="f"))
        with pytest.raises(Conflict):
            await store.change_knowledge_node("a", "g", "Tea", None, NOW)
        page = KnowledgeNode(node_id="tea", kind="page", name="Tea", created_at=NOW, updated_at=NOW)
        with pytest.raises(Conflict):
            await store.add_mental_model(model(is_page=True), node=page)
        assert await store.list_mental_models("a") == []

    async def test_no_folder_is_within_itself_or_within_a_page(self, store: Store) -> None:
        for node in (_folder("f"), _folder("g", parent_id="f")):
            await store.add_knowledge_node("a", node)
        for parent in ("f", "g"):
            with pytest.raises(InvalidInput):
                await store.change_knowledge_node("a", "f", "f", parent, NOW)
        page = KnowledgeNode(node_id="tea", kind="page", name="Tea", created_at=NOW, updated_at=NOW)
        await store.add_mental_model(model(is_page=True), node=page)
        with pytest.raises(InvalidInput):
            await store.add_knowledge_node("a", _folder("h", parent_id="tea"))
        with pytest.raises(NotFound):
            await store.add_knowledge_node("a", _folder("h", parent_id="nowhere"))

    async def test_a_page_has_one_name(self, store: Store) -> None:
        page = KnowledgeNode(node_id="tea", kind="page", name="Tea", created_at=NOW, updated_at=NOW)
        await store.add_mental_model(model(is_page=True), node=page)
        await store.change_mental_model("a", "tea", MentalModelChange(name="Rum"), later(1))
        assert [node.name for node in await store.list_knowledge_nodes("a")] == ["Rum"]


def _folder(node_id: str, *, name: str | None = None, parent_id: str | None = None) -> KnowledgeNode:
    made = NOW + timedelta(0)
    return KnowledgeNode(
        node_id=node_id, kind="folder", name=name or node_id, parent_id=parent_id, created_at=made, updated_at=made
    )
