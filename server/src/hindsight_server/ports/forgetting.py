"""Changing, completing, deleting and forgetting what is stored. It is part of `Store`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from hindsight_server.domain.model import Fact
from hindsight_server.domain.tags import TagFilter
from hindsight_server.ports.embedder import Encoding
from hindsight_server.ports.records import FactChange


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetWrite:
    """What to forget: facts by id, or by their tags, or whole documents; one of the three.

    Args:
        dry_run: only tell what would be forgotten.
    """

    bank_id: str
    fact_ids: tuple[str, ...] = ()
    tags: TagFilter | None = None
    document_ids: tuple[str, ...] = ()
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What was forgotten, or would be.

    Args:
        facts: their number.
        documents_changed: documents whose text lost words.
        documents_deleted: documents of which nothing is left (in a dry run, only those that were asked for whole).
        missing: ids that were asked for and are not in the bank.
    """

    facts: int
    documents_changed: tuple[str, ...] = ()
    documents_deleted: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class ForgettingStore(Protocol):
    async def update_document(
        self,
        bank_id: str,
        document_id: str,
        tags: tuple[str, ...] | None,
        now: datetime,
        *,
        observation_scopes: object | None = None,
    ) -> int:
        """Give a document and its facts new tags, or the document new scopes; None leaves each as it is.

        The number of facts changed. Raises NotFound.
        """
        ...

    async def unencoded_facts(self, after: tuple[str, int], limit: int) -> list[tuple[str, Fact]]:
        """Facts of all banks that were stored without a vector because no model could encode them, with their banks.

        Ordered by bank and `seq`, beginning after the given ones. Pending facts are none of them.
        """
        ...

    async def add_encodings(self, bank_id: str, encodings: Mapping[int, Encoding], now: datetime) -> int:
        """Give such facts, by `seq`, their vectors; those that are gone or changed since are left out.

        The number that got theirs.
        """
        ...

    async def delete_document(self, bank_id: str, document_id: str, now: datetime) -> int:
        """Delete a document with everything that rests on it; the number of facts deleted. Raises NotFound.

        Unfinished operations of which no document is left are cancelled, and forget their payload.
        """
        ...

    async def update_fact(self, bank_id: str, fact_id: str, change: FactChange, now: datetime) -> Fact: ...

    async def clear_facts(self, bank_id: str, fact_type: str | None, now: datetime) -> int:
        """Delete all facts (of one type); documents stay. The number deleted.

        Without a type, unfinished retains are cancelled, and they and failed ones forget their payload, so that no job
        brings back facts of what is stored.
        """
        ...

    async def forget(self, write: ForgetWrite, now: datetime) -> Forgotten:
        """Forget facts with everything that rests on them, and take their words out of the texts they came from.

        A document of which nothing is left is deleted. By tags, a document that bears them itself goes as a whole when
        no fact of it lacks them, even one without facts. Once this returns, the words are in no file of the store, if
        no other memory holds them, and no reader was busy meanwhile: then that follows as soon as it is done.
        """
        ...
