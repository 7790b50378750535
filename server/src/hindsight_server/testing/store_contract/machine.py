"""Random operations on a bank, compared with a plain model of it after each one."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hindsight_server.domain.model import FactState
from hindsight_server.domain.names import normal_name
from hindsight_server.ports.records import FactChange, FactFilter, FactRow, Snapshot
from hindsight_server.ports.store import Store
from hindsight_server.testing.store_contract.builders import (
    NOW,
    SPACE,
    appended,
    document,
    encoding_of,
    terms_of,
    write,
)

T = TypeVar("T")
_BANK = "bank"
_WORDS = ("ann", "bo", "oslo", "bread", "漢字")
_documents = st.sampled_from(["d1", "d2", "d3"])
_texts = st.lists(
    st.lists(st.sampled_from(_WORDS), min_size=1, max_size=3).map(" ".join), min_size=1, max_size=3, unique=True
)
_tags = st.sets(st.sampled_from(["x", "y"]), max_size=2).map(lambda tags: tuple(sorted(tags)))


@dataclass(frozen=True)
class _Known:
    """A fact as the model knows it."""

    document_id: str
    text: str
    tags: tuple[str, ...]
    names: tuple[str, ...]
    valid: bool = True


class _Follower:
    """A reader that only ever asks for what is new, like the cache of recall."""

    def __init__(self) -> None:
        self.seq = self.version = 0
        self.rows: dict[int, FactRow] = {}
        self.vectors: dict[int, Any] = {}

    def take(self, snapshot: Snapshot) -> None:
        if snapshot.rebuild:
            self.rows, self.vectors, self.seq = {}, {}, 0
        for seq in snapshot.removed.tolist():
            del self.rows[seq]
            self.vectors.pop(seq, None)
        self.rows |= {row.seq: row for row in snapshot.rows}
        for seqs, matrix in snapshot.vectors.values():
            self.vectors |= dict(zip(seqs.tolist(), matrix, strict=True))
        self.seq = max([self.seq, *(row.seq for row in snapshot.rows)])
        self.version = snapshot.version


class StoreMachine(RuleBasedStateMachine):
    """Subclass it, give `make_store` and `drop_store`, and run its `TestCase`."""

    @abstractmethod
    def make_store(self) -> Store:
        """A store that is not open yet; the same data again when called again."""

    @abstractmethod
    def drop_store(self) -> None:
        """Remove the data."""

    def __init__(self) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self._store = self.make_store()
        self._run(self._store.open())
        self._run(self._store.ensure_bank(_BANK, NOW))
        self._facts: dict[str, _Known] = {}
        self._follower = _Follower()

    def teardown(self) -> None:
        self._run(self._store.close())
        self._runner.close()
        self.drop_store()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def _forget(self, document_id: str) -> None:
        self._facts = {key: kept for key, kept in self._facts.items() if kept.document_id != document_id}

    @rule(document_id=_documents, texts=_texts, tags=_tags, names=st.lists(st.sampled_from(["Ann", "ANN", "Bo"])))
    def replace_document(self, document_id: str, texts: list[str], tags: tuple[str, ...], names: list[str]) -> None:
        result = self._run(self._store.retain(write(_BANK, document(document_id, *texts, tags=tags, names=names))))
        self._forget(document_id)
        self._learn(document_id, result.fact_ids, texts, (tags, tuple(names)))

    @rule(document_id=_documents, texts=_texts, tags=_tags)
    def append_to_document(self, document_id: str, texts: list[str], tags: tuple[str, ...]) -> None:
        result = self._run(self._store.retain(write(_BANK, appended(document_id, *texts, tags=tags))))
        self._learn(document_id, result.fact_ids, texts, (tags, ()))

    @precondition(lambda self: self._facts)
    @rule(choice=st.integers(0, 99))
    def delete_document(self, choice: int) -> None:
        document_id = sorted(kept.document_id for kept in self._facts.values())[choice % len(self._facts)]
        deleted = self._run(self._store.delete_document(_BANK, document_id, NOW))
        before = len(self._facts)
        self._forget(document_id)
        assert deleted == before - len(self._facts)

    @precondition(lambda self: self._facts)
    @rule(choice=st.integers(0, 99), tags=_tags)
    def retag_document(self, choice: int, tags: tuple[str, ...]) -> None:
        document_id = sorted(kept.document_id for kept in self._facts.values())[choice % len(self._facts)]
        self._run(self._store.update_document(_BANK, document_id, tags, NOW))
        for key, kept in self._facts.items():
            if kept.document_id == document_id:
                self._facts[key] = replace(kept, tags=tags)

    @precondition(lambda self: self._facts)
    @rule(choice=st.integers(0, 99), text=st.sampled_from(_WORDS), state=st.sampled_from([None, True, False]))
    def change_fact(self, choice: int, text: str, state: bool | None) -> None:
        key = sorted(self._facts)[choice % len(self._facts)]
        if state is None:
            change = FactChange(text=text, terms=terms_of(text), length=1, tokens=1, encoding=encoding_of(text))
            self._facts[key] = replace(self._facts[key], text=text)
        else:
            change = FactChange(state=FactState.VALID if state else FactState.INVALIDATED)
            self._facts[key] = replace(self._facts[key], valid=state)
        self._run(self._store.update_fact(_BANK, key, change, NOW))

    @rule()
    def clear(self) -> None:
        assert self._run(self._store.clear_facts(_BANK, None, NOW)) == len(self._facts)
        self._facts = {}

    @rule()
    def delete_bank(self) -> None:
        assert self._run(self._store.delete_bank(_BANK)) == len(self._facts)
        self._facts = {}
        self._run(self._store.ensure_bank(_BANK, NOW))

    @rule()
    def restart(self) -> None:
        self._run(self._store.close())
        self._store = self.make_store()
        self._run(self._store.open())

    @rule()
    def look(self) -> None:
        """Only now and then, so that a mark is sometimes several writes old."""
        follower = self._follower
        follower.take(self._run(self._store.snapshot(_BANK, follower.seq, follower.version)))
        whole = _Follower()
        whole.take(self._run(self._store.snapshot(_BANK, 0, 0)))
        assert follower.rows == whole.rows
        assert sorted(follower.vectors) == sorted(whole.vectors) == sorted(whole.rows)
        self._compare_rows(whole)

    def _compare_rows(self, whole: _Follower) -> None:
        facts = {kept.seq: kept for kept in self._run(self._store.facts(_BANK, sorted(whole.rows)))}
        assert facts.keys() == whole.rows.keys()
        tokens = self._run(self._store.token_vectors(_BANK, SPACE, sorted(facts)))
        for seq, kept in facts.items():
            known, encoding = self._facts[kept.fact_id], encoding_of(kept.text)
            assert encoding.tokens is not None
            assert (kept.text, whole.rows[seq].tags, whole.rows[seq].document_id) == (
                known.text,
                known.tags,
                known.document_id,
            )
            np.testing.assert_allclose(whole.vectors[seq], encoding.vector, atol=1e-3)
            np.testing.assert_array_equal(tokens[seq], encoding.tokens.vectors)

    @invariant()
    def facts_are_those_of_the_model(self) -> None:
        page = self._run(self._store.list_facts(_BANK, FactFilter(), 1000, 0))
        found = {
            kept.fact_id: (kept.document_id, kept.text, set(kept.tags), kept.state is FactState.VALID)
            for kept in page.items
        }
        assert found == {
            key: (kept.document_id, kept.text, set(kept.tags), kept.valid) for key, kept in self._facts.items()
        }
        assert page.total == len(self._facts)
        assert [kept.seq for kept in page.items] == sorted((kept.seq for kept in page.items), reverse=True)
        valid = sum(kept.valid for kept in self._facts.values())
        assert self._run(self._store.get_bank(_BANK)).fact_count == valid

    @invariant()
    def postings_are_those_of_the_texts(self) -> None:
        found = self._run(self._store.postings(_BANK, dict.fromkeys(_WORDS, 0)))
        page = self._run(self._store.list_facts(_BANK, FactFilter(state="valid"), 1000, 0))
        for word in _WORDS:
            expected = [
                (kept.seq, terms_of(kept.text)[word]) for kept in reversed(page.items) if word in terms_of(kept.text)
            ]
            assert list(zip(found[word][0].tolist(), found[word][1].tolist(), strict=True)) == expected

    @invariant()
    def entities_are_those_of_the_facts(self) -> None:
        mentions = Counter(name for kept in self._facts.values() for name in {normal_name(name) for name in kept.names})
        page = self._run(self._store.list_entities(_BANK, None, 100, 0))
        assert {normal_name(entity.name): entity.mention_count for entity in page.items} == dict(mentions)
        assert page.total == len(mentions)

    def _learn(
        self,
        document_id: str,
        fact_ids: tuple[str, ...],
        texts: list[str],
        made: tuple[tuple[str, ...], tuple[str, ...]],
    ) -> None:
        tags, names = made
        self._facts |= {
            fact_id: _Known(document_id, text, tags, names) for fact_id, text in zip(fact_ids, texts, strict=True)
        }
