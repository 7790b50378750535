"""The tree of pages: defaults, filters, search, names, export."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
import yaml

from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.adapters.text import Analyzer
from hindsight_server.domain.errors import Conflict, InvalidInput, NotFound
from hindsight_server.domain.tags import TagLeaf, TagsMatch
from hindsight_server.engine.directives import DirectiveInput, Directives
from hindsight_server.engine.knowledge import (
    KnowledgeBase,
    NodeMove,
    SeenNode,
    default_page_input,
    page_markdown,
    page_type,
)
from hindsight_server.engine.memories import MemoryPatch
from hindsight_server.engine.mental_models.refresher import Refresher
from hindsight_server.engine.mental_models.search import PageSearch
from hindsight_server.engine.mental_models.types import MentalModelPatch
from hindsight_server.ports.mental_models import MentalModel, PageIndex
from hindsight_server.ports.records import BankChange

from .conftest import BANK, Brain, Pages

pytestmark = pytest.mark.feature("F7")


def names(nodes: tuple[SeenNode, ...]) -> list[object]:
    return [[one.node.name, names(one.children)] if one.children else one.node.name for one in nodes]


async def add(pages: Pages, name: str, question: str = "What of it?", **options: object) -> str:
    parent = options.pop("parent_id", None)
    wanted = default_page_input(name, question, **options)
    seen, _ = await pages.knowledge.add_page(BANK, wanted, parent)  # type: ignore[arg-type]
    return seen.model.mental_model_id


async def test_a_page_begins_with_the_triggers_of_pages(pages: Pages) -> None:
    model = await pages.knowledge.page(BANK, await add(pages, "Tea"))
    trigger = model.trigger
    assert (trigger.mode, trigger.refresh_after_consolidation, trigger.fact_types) == ("delta", True, ("observation",))
    assert (trigger.exclude_mental_models, model.max_tokens, model.is_page) == (True, 4096, True)
    by_cron = await pages.knowledge.page(BANK, await add(pages, "Rum", trigger={"refresh_cron": "0 3 * * *"}))
    assert (by_cron.trigger.refresh_after_consolidation, by_cron.trigger.mode) == (False, "delta")


async def test_a_bank_sets_other_triggers_for_its_pages(pages: Pages) -> None:
    await pages.engine.banks.put(BANK, _settings(knowledge_page_default_trigger={"refresh_cron": "0 4 * * *"}))
    model = await pages.knowledge.page(BANK, await add(pages, "Tea"))
    assert (model.trigger.refresh_cron, model.trigger.refresh_after_consolidation) == ("0 4 * * *", False)
    after = await pages.knowledge.page(
        BANK, await add(pages, "Rum", trigger={"refresh_after_consolidation": True, "fact_types": ["world"]})
    )
    assert (after.trigger.refresh_cron, after.trigger.fact_types) == (None, ("world",))
    with pytest.raises(InvalidInput, match=r"refresh_cron|refresh_after_consolidation"):
        await pages.engine.banks.update_config(
            BANK,
            {"knowledge_page_default_trigger": {"refresh_cron": "0 4 * * *", "refresh_after_consolidation": True}},
        )


async def test_a_blank_schedule_is_refused_instead_of_leaving_a_page_to_itself(pages: Pages) -> None:
    with pytest.raises(InvalidInput, match=r"refresh_cron.* null") as refused:
        await add(pages, "Tea", trigger={"refresh_cron": " "})
    assert refused.value.field == "trigger.refresh_cron"
    page = await add(pages, "Rum")
    with pytest.raises(InvalidInput, match="blank"):
        await pages.models.update(BANK, page, MentalModelPatch(trigger={"refresh_cron": ""}))
    assert (await pages.get(page)).trigger.refresh_after_consolidation, "a patch that is refused turns nothing off"
    held = BankChange(config={"knowledge_page_default_trigger": {"refresh_cron": " ", "full_refresh_cron": ""}})
    await pages.store.save_bank(BANK, held, pages.clock.now())
    trigger = (await pages.get(await add(pages, "Beer"))).trigger
    assert (trigger.refresh_after_consolidation, trigger.refresh_cron, trigger.full_refresh_cron) == (True, None, None)


def _settings(**config: object) -> object:
    from hindsight_server.engine.banks import BankInput

    return BankInput(config=config)


async def test_without_observations_pages_use_all_memories(pages: Pages) -> None:
    base = KnowledgeBase(
        pages.store, pages.models, PageSearch(Analyzer(), HashingEmbedder()), pages.clock, observations=False
    )
    seen, _ = await base.add_page(BANK, default_page_input("Tea", "What?"))
    assert seen.model.trigger.fact_types is None


async def test_the_tree_shows_what_passes_the_filter(pages: Pages) -> None:
    people = (await pages.knowledge.add_folder(BANK, "People")).node.node_id
    inner = (await pages.knowledge.add_folder(BANK, "Friends", people)).node.node_id
    await add(pages, "Ann", parent_id=inner, tags=("user:ann",))
    await add(pages, "Rules")
    assert names(await pages.knowledge.tree(BANK)) == [["People", [["Friends", ["Ann"]]]], "Rules"]
    strict = TagLeaf(frozenset({"user:bob"}), TagsMatch.ANY_STRICT)
    assert names(await pages.knowledge.tree(BANK, strict)) == []
    assert names(await pages.knowledge.tree(BANK, TagLeaf(frozenset({"user:bob"})))) == ["Rules"]


async def test_fuzzy_tags_of_a_filter_mean_those_of_the_pages(pages: Pages) -> None:
    await add(pages, "Travel", tags=("travel-plans",))
    await add(pages, "Rules", tags=("team",))
    fuzzy = TagLeaf(frozenset({"travel plans"}), TagsMatch.ANY_STRICT, fuzzy=True)
    assert names(await pages.knowledge.tree(BANK, fuzzy)) == ["Travel"]
    assert [hit.model.name for hit in await pages.knowledge.search(BANK, "Travel rules", fuzzy, 5)] == ["Travel"]


async def test_nodes_are_named_moved_and_deleted(pages: Pages) -> None:
    folder = (await pages.knowledge.add_folder(BANK, "People")).node.node_id
    ann = await add(pages, "Ann", parent_id=folder)
    with pytest.raises(Conflict):
        await add(pages, "Ann", parent_id=folder)
    moved = await pages.knowledge.update(BANK, ann, NodeMove(name="Ann Lee", moves=True))
    assert (moved.node.name, moved.node.parent_id) == ("Ann Lee", None)
    assert (await pages.get(ann)).name == "Ann Lee"
    await pages.models.update(BANK, ann, MentalModelPatch(name="Annie"))
    assert names(await pages.knowledge.tree(BANK)) == ["Annie", "People"]
    with pytest.raises(InvalidInput):
        await pages.knowledge.update(BANK, folder, NodeMove(page=MentalModelPatch(source_query="?")))
    with pytest.raises(InvalidInput):
        await pages.knowledge.update(BANK, folder, NodeMove(parent_id=folder, moves=True))
    changed = await pages.knowledge.update(BANK, ann, NodeMove(page=MentalModelPatch(source_query="Who is Ann?")))
    assert changed.page is not None
    assert changed.page.model.source_query == "Who is Ann?"
    assert await pages.knowledge.delete(BANK, ann) == 1
    with pytest.raises(NotFound):
        await pages.get(ann)


async def test_a_name_is_the_same_in_the_tree_and_in_the_model(pages: Pages) -> None:
    one, other = await add(pages, "Ann \n Lee"), await add(pages, "Bob")
    assert (await pages.get(one)).name == "Ann Lee"
    with pytest.raises(Conflict):
        await pages.models.update(BANK, other, MentalModelPatch(name="Ann\tLee"))
    await pages.models.update(BANK, other, MentalModelPatch(name="Bob\nRay"))
    assert names(await pages.knowledge.tree(BANK)) == ["Ann Lee", "Bob Ray"]


async def test_pages_are_found_by_words_and_by_their_question(pages: Pages, brain: Brain) -> None:
    tea = await pages.say("Ann: I drink sencha from Uji.")
    brain.answer, brain.ids = "# Drinks\n\nShe likes sencha from Uji.", [tea]
    found = await add(pages, "Drinks", "What does Ann drink?", trigger={"fact_types": None}, tags=())
    other = await add(pages, "Clocks", "Who repairs clocks?", trigger={"fact_types": None}, tags=("x",))
    await pages.run()
    tagged = await pages.knowledge.search(BANK, "sencha clocks", TagLeaf(frozenset({"x"}), TagsMatch.EXACT), 5)
    assert [hit.model.mental_model_id for hit in tagged] == [other]
    best = (await pages.knowledge.search(BANK, "sencha Uji", None, 5))[0]
    assert (best.model.mental_model_id, best.score <= 1) == (found, True)
    assert "sencha" in best.snippet
    assert (await pages.knowledge.search(BANK, "clocks", None, 5))[0].model.mental_model_id == other
    assert await pages.knowledge.search(BANK, "   ", None, 5) == []


async def test_the_export_is_a_set_of_markdown_files(pages: Pages, brain: Brain) -> None:
    tea = await pages.say("Ann: I drink green tea.")
    brain.answer, brain.ids = "# Drinks\n\nGreen tea.", [tea]
    folder = (await pages.knowledge.add_folder(BANK, "Ann's")).node.node_id
    page = await add(pages, 'Tea: "green" [x]', parent_id=folder, tags=None, trigger={"fact_types": None})
    await pages.run()
    files = {file.path: file.content for file in await pages.knowledge.export(BANK)}
    assert files["index.md"] == f'# Knowledge base\n\n- **Ann\'s**\n  - [Tea: "green" \\[x\\]]({page}.md)\n'
    assert files[f"{page}.md"].startswith(f'---\nid: "{page}"\ntitle: "Tea: \\"green\\" [x]"\ntype: "knowledge-page"\n')
    assert files[f"{page}.md"].endswith("---\n\n# Drinks\n\nGreen tea.\n")
    assert set(files) == {"index.md", f"{page}.md", f"log/{page}.md"}
    assert page_type(["type:", "type:note"]) == "note"


async def test_every_reader_of_yaml_reads_the_head_of_a_page(pages: Pages) -> None:
    name = 'Tea: "green"\x7f\x85\u2028\ufeff # 茶🍵'
    page = await pages.knowledge.page(BANK, await add(pages, "Tea"))
    head = page_markdown(replace(page, name=name), notice=False).split("---\n")[1]
    assert yaml.safe_load(head)["title"] == name


async def test_a_refresh_never_reads_the_page_itself(pages: Pages, brain: Brain) -> None:
    tea = await pages.say("Ann: I drink green tea.")
    brain.answer, brain.ids = "# Drinks\n\nGreen tea, says the zorblax page.", [tea]
    await pages.make(trigger={"keep_trace": True})
    brain.answer = "# Drinks\n\nGreen tea."
    brain.asked.clear()
    await pages.refresh(full=True)
    shown = "\n".join(message.text for request in brain.asked for message in request.messages)
    assert "zorblax" not in shown


async def test_folders_are_not_nested_without_end(pages: Pages) -> None:
    """A tree of a thousand levels could neither be listed nor be deleted any more."""
    from hindsight_server.ports.mental_models import MOST_LEVELS

    parent = None
    for level in range(MOST_LEVELS):
        parent = (await pages.knowledge.add_folder(BANK, f"level {level}", parent)).node.node_id
    with pytest.raises(InvalidInput, match="32 deep"):
        await pages.knowledge.add_folder(BANK, "one more", parent)
    with pytest.raises(InvalidInput, match="32 deep"):
        await add(pages, "Tea", parent_id=parent)
    tall = (await pages.knowledge.add_folder(BANK, "tall")).node.node_id
    await pages.knowledge.add_folder(BANK, "inner", tall)
    (above,) = [node.parent_id for node in await pages.store.list_knowledge_nodes(BANK) if node.node_id == parent]
    with pytest.raises(InvalidInput, match="32 deep"):
        await pages.knowledge.update(BANK, tall, NodeMove(parent_id=above, moves=True))
    roots = await pages.knowledge.tree(BANK)
    assert [one.node.name for one in roots] == ["level 0", "tall"]
    assert await pages.knowledge.delete(BANK, roots[0].node.node_id) == MOST_LEVELS


async def test_a_page_that_can_not_be_changed_is_not_moved_either(pages: Pages) -> None:
    page = await add(pages, "Tea")
    folder = (await pages.knowledge.add_folder(BANK, "Drinks")).node.node_id
    await add(pages, "Rum", parent_id=folder)
    before = await pages.store.list_knowledge_nodes(BANK)
    into = {"parent_id": folder, "moves": True}
    with pytest.raises(InvalidInput, match="max_tokens"):
        await pages.knowledge.update(BANK, page, NodeMove(name="Chai", page=MentalModelPatch(max_tokens=1), **into))
    with pytest.raises(Conflict):
        await pages.knowledge.update(BANK, page, NodeMove(name="Rum", page=MentalModelPatch(max_tokens=999), **into))
    assert await pages.store.list_knowledge_nodes(BANK) == before
    await pages.knowledge.update(BANK, page, NodeMove(name="Chai", page=MentalModelPatch(max_tokens=999), **into))
    assert names(await pages.knowledge.tree(BANK)) == [["Drinks", ["Chai", "Rum"]]]
    await pages.knowledge.update(BANK, page, NodeMove(moves=True))
    assert names(await pages.knowledge.tree(BANK)) == ["Chai", ["Drinks", ["Rum"]]]


async def test_default_triggers_that_no_page_could_have_are_refused(pages: Pages) -> None:
    for wrong in ({"refresh_cron": "soon"}, {"response_schema": {"type": "list"}}):
        with pytest.raises(InvalidInput, match="knowledge_page_default_trigger"):
            await pages.engine.banks.put(BANK, _settings(knowledge_page_default_trigger=wrong))  # type: ignore[arg-type]


async def test_words_forgotten_while_a_page_is_renamed_are_not_found_by(
    pages: Pages, brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    tea = await pages.say("Ann drinks oolong.")
    brain.answer, brain.ids = "Ann drinks oolong.", [tea]
    assert "oolong" in (await pages.make()).index.terms
    indexed = Refresher.index

    async def slowly(refresher: Refresher, model: MentalModel, words: str) -> PageIndex:
        index = await indexed(refresher, model, words)
        await pages.forget(tea)
        return index

    monkeypatch.setattr(Refresher, "index", slowly)
    await pages.models.update(BANK, "tea", MentalModelPatch(name="Chai"))
    index = (await pages.get()).index
    assert (index.terms, index.encoding) == ({}, None)


async def test_a_page_says_nothing_from_outside_of_the_scope_that_it_is_given(
    pages: Pages, brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    tea = await pages.say("Ann drinks oolong.", tags=["a"])
    brain.answer, brain.ids = "Ann drinks oolong.", [tea]
    await pages.make()
    types = [{"fact_types": list(some)} for some in (("world", "experience"), ("experience", "world"))]
    _, queued = await pages.models.update(BANK, "tea", MentalModelPatch(trigger=types[0]))
    assert queued is not None
    _, queued = await pages.models.update(BANK, "tea", MentalModelPatch(trigger=types[1]))
    assert queued is None  # the same in another order is no other scope
    await pages.models.update(BANK, "tea", MentalModelPatch(tags=("a",)))
    assert await pages.words() == "Ann drinks oolong."  # all that it rests on is in the narrower scope
    await pages.run()

    indexed = Refresher.index

    async def slowly(refresher: Refresher, model: MentalModel, words: str) -> PageIndex:
        monkeypatch.setattr(Refresher, "index", indexed)
        await pages.models.update(BANK, "tea", MentalModelPatch(tags=("b",)))
        return await indexed(refresher, model, words)

    # No memory bears the other tag: neither the page nor a refresh that was running leaves its words behind.
    monkeypatch.setattr(Refresher, "index", slowly)
    await pages.refresh(full=True)
    assert await pages.words() == ""
    assert (await pages.get()).index.terms == {}


async def test_patches_at_one_time_are_all_kept(pages: Pages) -> None:
    await pages.make()
    for budget in ("low", "high"):
        patches = [MentalModelPatch(trigger=one) for one in ({"keep_trace": budget == "low"}, {"budget": budget})]
        await asyncio.gather(*(pages.models.update(BANK, "tea", patch) for patch in patches))
        trigger = (await pages.get()).trigger
        assert (trigger.keep_trace, trigger.budget) == (budget == "low", budget)
    folder, into = [(await pages.knowledge.add_folder(BANK, name)).node.node_id for name in ("a", "b")]
    moves = (NodeMove(name="A"), NodeMove(parent_id=into, moves=True))
    await asyncio.gather(*(pages.knowledge.update(BANK, folder, one) for one in moves))
    assert names(await pages.knowledge.tree(BANK)) == [["b", ["A"]]]
    rules = Directives(pages.store, pages.clock)
    made = (await rules.create(BANK, DirectiveInput(name="n", content="c"))).directive_id
    given = (DirectiveInput(name="N"), DirectiveInput(content="C"))
    await asyncio.gather(*(rules.update(BANK, made, one) for one in given))
    held = await rules.get(BANK, made)
    assert (held.name, held.content) == ("N", "C")
    await asyncio.gather(rules.update(BANK, made, given[0]), rules.delete(BANK, made))
    with pytest.raises(NotFound):
        await rules.get(BANK, made)


async def test_a_page_loses_what_is_retagged_out_of_its_scope(pages: Pages, brain: Brain) -> None:
    tea = await pages.say("Ann drinks oolong.", tags=["a"], document_id="d")
    brain.answer, brain.ids = "Ann drinks oolong.", [tea]
    await pages.make(tags=("a",))
    await pages.make(mental_model_id="whole", name="Whole")

    async def words() -> list[str]:
        return [await pages.words(one) for one in ("tea", "whole")]

    kept = await words()
    assert kept == ["Ann drinks oolong."] * 2
    await pages.engine.memories.update(BANK, tea, MemoryPatch(tags=["a", "x"]))
    await pages.engine.documents.update(BANK, "d", tags=["x", "a"])
    assert (await words(), await pages.waiting()) == (kept, [])
    await pages.engine.memories.update(BANK, tea, MemoryPatch(tags=["x"]))
    assert (await words(), len(await pages.waiting())) == (["", kept[1]], 1)
    await pages.run()
    await pages.engine.memories.update(BANK, tea, MemoryPatch(tags=["a"]))
    await pages.refresh(full=True)
    assert await words() == kept
    await pages.engine.documents.update(BANK, "d", tags=[])
    await pages.run()
    assert await words() == ["", kept[1]]
