"""Random histories of a bank on disk, compared after each step with what a plain model says must be there."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.adapters.text import Analyzer
from hindsight_server.domain.errors import NotFound
from hindsight_server.engine.memories import ForgetInput, MemoryPatch
from hindsight_server.engine.recall.recaller import Recaller
from hindsight_server.engine.recall.types import RecallQuery
from hindsight_server.engine.retain import ItemInput
from hindsight_server.ports.records import DocumentFilter, FactFilter

from .conftest import SteppingClock, build

T = TypeVar("T")
BANK, OTHER = "bank", "other"
SAID = "2024-05-01T10:00:00Z"
SPEAKERS = ("Ann", "Bob", "Zed")
THINGS = ("ladder", "kettle", "violin", "蓝鲸")
PLACES = ("cellar", "attic", "garden")
DOCUMENTS = ("d1", "d2", "d3")

turns = st.lists(
    st.tuples(st.sampled_from(SPEAKERS), st.sampled_from(THINGS), st.sampled_from(PLACES)), min_size=1, max_size=4
)
tag_sets = st.sets(st.sampled_from(["x", "y"]), max_size=2).map(lambda tags: tuple(sorted(tags)))


def written(turn: tuple[str, str, str]) -> dict[str, str]:
    speaker, thing, place = turn
    return {"speaker": speaker, "text": f"the {thing} is in the {place} these days"}


@dataclass
class Known:
    """A fact as the model has it; `said` is what stands in its document."""

    said: dict[str, str]
    text: str
    tags: tuple[str, ...]
    fact_id: str = ""
    valid: bool = True
    is_edited: bool = False


@dataclass
class Part:
    """What one retain brought. `complete` until something of it was forgotten: then it is read anew."""

    content: str
    tags: tuple[str, ...]
    facts: list[Known]
    complete: bool = True


@dataclass
class Model:
    documents: dict[str, list[Part]] = field(default_factory=dict)

    def facts(self) -> list[tuple[str, Known]]:
        return [(name, fact) for name, parts in self.documents.items() for part in parts for fact in part.facts]

    def forget(self, fact_ids: set[str]) -> None:
        for name, parts in list(self.documents.items()):
            for part in parts:
                left = [fact for fact in part.facts if fact.fact_id not in fact_ids]
                part.complete &= len(left) == len(part.facts)
                part.facts = left
            self.documents[name] = [part for part in parts if part.facts]
            if not self.documents[name]:
                del self.documents[name]


class BankMachine(RuleBasedStateMachine):
    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="hindsight-history-"))
        self.runner = asyncio.Runner()
        self.clock = SteppingClock()
        self.model = Model()
        self.start()
        item = ItemInput(content=json.dumps([written(("Ann", "ladder", "attic"))]), document_id="d1", timestamp=SAID)
        self.run(self.engine.retain(OTHER, [item]))
        self.other = self.listed(OTHER)
        self.run(self.store.ensure_bank(BANK, self.engine.clock.now()))

    def start(self) -> None:
        self.store = SqliteStore(self.folder)
        self.run(self.store.open())
        self.engine = build(self.store, self.clock)
        self.recaller = Recaller(self.store, HashingEmbedder(), Analyzer(), self.clock)

    def teardown(self) -> None:
        self.run(self.recaller.close())
        self.run(self.store.close())
        self.runner.close()
        shutil.rmtree(self.folder)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def listed(self, bank: str) -> list[Any]:
        return list(self.run(self.engine.memories.list(bank, FactFilter(), 1000)).items)

    def chosen(self, choice: int) -> Known:
        facts = sorted((fact for _, fact in self.model.facts()), key=lambda fact: fact.fact_id)
        return facts[choice % len(facts)]

    # what is done

    @rule(name=st.sampled_from(DOCUMENTS), said=turns, tags=tag_sets, mode=st.sampled_from(["replace", "append"]))
    def retain(self, name: str, said: list[tuple[str, str, str]], tags: tuple[str, ...], mode: str) -> None:
        elements = [written(turn) for turn in said]
        content = json.dumps(elements)
        before = self.model.documents.get(name, [])
        if mode == "replace" and not any(old.content == content for old in before):
            # What a person changed holds when its words are told again among others: `test_delta.py` shows that.
            changed = [fact.said for part in before for fact in part.facts if not fact.valid or fact.is_edited]
            elements = [one for one in elements if one not in changed]
            content = json.dumps(elements)
            if not elements:
                return
        item = ItemInput(content=content, document_id=name, tags=tags, timestamp=SAID, update_mode=mode)
        self.run(self.engine.retain(BANK, [item], run_async=len(said) == 3))
        self.run(self.engine.jobs.run_until_idle())
        facts = [Known(one, f"{one['speaker']}: {one['text']}", tags) for one in elements]
        part = Part(content, tags, facts)
        if mode == "append":
            self.model.documents[name] = [*before, part]
        else:
            same = [old for old in before if old.complete and (old.content, old.tags) == (content, tags)]
            self.model.documents[name] = same[:1] or [part]
        self.learn(name)

    def learn(self, name: str) -> None:
        """Find the ids of the facts of a document, which stand in the order of its text."""
        known = [fact for part in self.model.documents[name] for fact in part.facts]
        found = [fact for fact in self.listed(BANK) if fact.document_id == name]
        found.sort(key=lambda fact: (fact.turn_index, fact.seq))
        assert [fact.text for fact in found] == [fact.text for fact in known]
        for fact, stored in zip(known, found, strict=True):
            assert fact.fact_id in ("", stored.fact_id)
            fact.fact_id = stored.fact_id

    @precondition(lambda self: self.model.documents)
    @rule(choice=st.integers(0, 99), thing=st.sampled_from(THINGS), place=st.sampled_from(PLACES))
    def edit(self, choice: int, thing: str, place: str) -> None:
        fact = self.chosen(choice)
        fact.text, fact.is_edited = f"{fact.said['speaker']}: a {thing} was taken to the {place}", True
        self.run(self.engine.memories.update(BANK, fact.fact_id, MemoryPatch(text=fact.text)))

    @precondition(lambda self: self.model.documents)
    @rule(choice=st.integers(0, 99), valid=st.booleans())
    def set_state(self, choice: int, valid: bool) -> None:
        fact = self.chosen(choice)
        fact.valid = valid
        patch = MemoryPatch(state="valid" if valid else "invalidated")
        self.run(self.engine.memories.update(BANK, fact.fact_id, patch))

    @precondition(lambda self: self.model.documents)
    @rule(choices=st.sets(st.integers(0, 99), min_size=1, max_size=3))
    def forget_facts(self, choices: set[int]) -> None:
        ids = {self.chosen(choice).fact_id for choice in choices}
        done = self.run(self.engine.memories.forget(BANK, ForgetInput(ids=sorted(ids))))
        assert (done.facts, done.missing) == (len(ids), ())
        self.model.forget(ids)
        again = self.run(self.engine.memories.forget(BANK, ForgetInput(ids=sorted(ids))))
        assert (again.facts, set(again.missing)) == (0, ids)

    @rule(tags=st.sampled_from([("x",), ("x", "y")]), match=st.sampled_from(["any_strict", "all_strict", "exact"]))
    def forget_by_tags(self, tags: tuple[str, ...], match: str) -> None:
        def fits(held: tuple[str, ...]) -> bool:
            wanted, has = set(tags), set(held)
            return has == wanted if match == "exact" else bool(has & wanted) if match == "any_strict" else wanted <= has

        ids = {fact.fact_id for _, fact in self.model.facts() if fits(fact.tags)}
        asked = ForgetInput(tags=tags, tags_match=match, dry_run=True)
        assert self.run(self.engine.memories.forget(BANK, asked)).facts == len(ids)
        assert self.run(self.engine.memories.forget(BANK, ForgetInput(tags=tags, tags_match=match))).facts == len(ids)
        self.model.forget(ids)

    @precondition(lambda self: self.model.documents)
    @rule(choice=st.integers(0, 9), forget=st.booleans())
    def delete_document(self, choice: int, forget: bool) -> None:
        name = sorted(self.model.documents)[choice % len(self.model.documents)]
        if forget:
            self.run(self.engine.memories.forget(BANK, ForgetInput(document_ids=[name])))
        else:
            self.run(self.engine.documents.delete(BANK, name))
        del self.model.documents[name]

    @rule()
    def delete_bank(self) -> None:
        assert self.run(self.engine.banks.delete(BANK)) == len(self.model.facts())
        self.model = Model()
        with pytest.raises(NotFound):
            self.run(self.engine.banks.get(BANK))
        self.run(self.store.ensure_bank(BANK, self.engine.clock.now()))

    @rule()
    def restart(self) -> None:
        self.run(self.recaller.close())
        self.run(self.store.close())
        self.start()

    # what must be true

    @invariant()
    def facts_and_documents_are_those_of_the_model(self) -> None:
        BankMachine.steps += 1
        facts = self.model.facts()
        found = {
            fact.fact_id: (fact.document_id, fact.text, set(fact.tags), fact.state == "valid")
            for fact in self.listed(BANK)
        }
        assert found == {fact.fact_id: (name, fact.text, set(fact.tags), fact.valid) for name, fact in facts}
        valid = [fact for _, fact in facts if fact.valid]
        assert self.run(self.engine.banks.get(BANK)).fact_count == len(valid)
        documents = self.run(self.engine.documents.list(BANK, DocumentFilter())).items
        assert {one.document_id for one in documents} == set(self.model.documents)
        for one in documents:
            text = self.run(self.engine.documents.get(BANK, one.document_id)).text
            said = [fact.said for part in self.model.documents[one.document_id] for fact in part.facts]
            assert json.loads(text or "") == said
            assert one.fact_count == sum(
                fact.valid for part in self.model.documents[one.document_id] for fact in part.facts
            )
        assert self.listed(OTHER) == self.other

    @invariant()
    def names_and_tags_are_those_of_the_facts(self) -> None:
        facts = [fact for _, fact in self.model.facts()]
        entities = self.run(self.store.list_entities(BANK, None, 100, 0)).items
        expected = Counter(fact.said["speaker"] for fact in facts)
        expected.update(name for fact in facts for name in ("蓝鲸",) if name in fact.said["text"])
        assert {one.name: one.mention_count for one in entities} == expected
        tags = Counter(tag for fact in facts if fact.valid for tag in fact.tags)
        assert dict(self.run(self.store.list_tags(BANK, None, 100, 0)).items) == dict(tags)

    @rule(thing=st.sampled_from(THINGS), tags=st.sampled_from([(), ("x",)]))
    def recall(self, thing: str, tags: tuple[str, ...]) -> None:
        from hindsight_server.domain.tags import TagLeaf, TagsMatch

        wanted = TagLeaf(frozenset(tags), TagsMatch.ANY_STRICT) if tags else None
        query = RecallQuery(query=f"where is the {thing}?", max_tokens=20_000, tags=wanted)
        outcome = self.run(self.recaller.recall(BANK, query))
        shown = {result.fact.text for result in outcome.results}
        may = {fact.text for _, fact in self.model.facts() if fact.valid and (not tags or set(tags) & set(fact.tags))}
        assert shown <= may
        assert {text for text in may if thing in text} <= shown
        for result in outcome.results:
            assert self.run(self.engine.memories.get(BANK, result.fact.fact_id)).text == result.fact.text


# Shrinking a history takes minutes and says little more than the history itself.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
QUICK = settings(
    max_examples=4, stateful_step_count=25, deadline=None, phases=PHASES, suppress_health_check=list(HealthCheck)
)

TestRandomHistories = BankMachine.TestCase
TestRandomHistories.settings = QUICK


@pytest.mark.slow
def test_two_thousand_steps() -> None:
    long = settings(QUICK, max_examples=5, stateful_step_count=100, database=None)
    BankMachine.steps = 0
    while BankMachine.steps < 2000:
        run_state_machine_as_test(BankMachine, settings=long)
