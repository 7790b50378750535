"""Tag filters: judged by the domain's own rule over the distinct tag sets of a bank, which are few."""

from __future__ import annotations

from collections.abc import Iterable

import apsw

from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.adapters.sqlite.values import from_json, to_json
from hindsight_server.domain.tags import TagFilter, most_used
from hindsight_server.ports.records import Page


def matching_fact_tag_sets(connection: apsw.Connection, bank_id: str, wanted: TagFilter) -> str:
    """The tag sets of facts that pass a filter, as a JSON list of column values."""
    return _matching(connection.execute(sql("facts.tag_sets"), (bank_id,)), wanted)


def matching_document_tag_sets(connection: apsw.Connection, bank_id: str, wanted: TagFilter) -> str:
    """The tag sets of documents that pass a filter, as a JSON list of column values."""
    return _matching(connection.execute(sql("documents.tag_sets"), (bank_id,)), wanted)


def list_tags(
    connection: apsw.Connection, bank_id: str, query: str | None, limit: int, offset: int
) -> Page[tuple[str, int]]:
    """Most used first, then by name."""
    counts: dict[str, int] = {}
    for tags, facts in connection.execute(sql("facts.recallable_tag_sets"), (bank_id,)):
        for tag in set(from_json(tags)):
            counts[tag] = counts.get(tag, 0) + facts
    found = most_used(counts, query)
    return Page(tuple(found[offset : offset + limit]), len(found), limit, offset)


def _matching(rows: Iterable[tuple[str, int]], wanted: TagFilter) -> str:
    return to_json([tags for tags, _ in rows if wanted.matches(from_json(tags))])
