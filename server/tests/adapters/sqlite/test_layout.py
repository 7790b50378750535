"""The database itself: its statements, its steps, its keys, and what is left in the file."""

from __future__ import annotations

import re
import threading
from importlib.resources import files
from pathlib import Path

import apsw
import pytest

from hindsight_server.adapters.sqlite import SqliteStore, migrate
from hindsight_server.adapters.sqlite.connection import open_reader, open_writer
from hindsight_server.adapters.sqlite.migrate import Migration, check_migrations, known_migrations
from hindsight_server.adapters.sqlite.statements import statements
from hindsight_server.testing.store_contract.builders import NOW, put

_PACKAGE = files("hindsight_server.adapters.sqlite")
_SQL_FILES = sorted(file.name.removesuffix(".sql") for file in (_PACKAGE / "sql").iterdir())
# These know no bank: they are about the file, about all banks, or about work of whatever bank.
_NO_BANK = {
    "attachments.released",
    "banks.count",
    "banks.list",
    "facts.unencoded",
    "llm_requests.banks_with_old",
    "operations.anywhere",
    "operations.next",
    "operations.release",
    "webhooks.next",
    "webhooks.next_of",
    "webhooks.next_receiver",
    "webhooks.release",
}
_NO_BANK_INDEXES = {
    "operations_by_id",
    "operations_to_do",
    "webhook_deliveries_to_do",
    "webhook_deliveries_by_receiver",
}
# These are about all facts, documents, entities or operations of a bank.
_WHOLE_BANK = {
    *("mental_models.list", "mental_models.any_in_bank", "mental_models.nodes", "mental_models.first_withdrawal"),
    *("mental_models.last_withdrawal", "mental_models.below", "mental_models.node_of_name", "mental_models.restore"),
    *("attachments.drawn", "directives.list"),
    *("banks.facts_by_type", "banks.count_documents", "banks.count_entity_links", "banks.operations_by_status"),
    *("banks.count_facts", "documents.chunks_lost_facts", "documents.count", "documents.list", "documents.tag_sets"),
    *("entities.count", "entities.list", "entities.count_tagged", "entities.list_tagged", "facts.seqs_of_type"),
    *("entities.groups", "entities.mentions_of_facts", "forgetting.documents_of_tag_sets"),
    *("facts.count", "facts.list", "facts.list_by_time", "facts.tag_sets", "facts.recallable_tag_sets"),
    *("llm_requests.count", "llm_requests.list", "llm_requests.list_runs", "llm_requests.sums"),
    *("llm_requests.next_number", "llm_requests.count_texts", "llm_requests.forget_texts"),
    *("security.count", "security.list", "security.next_number"),
    *("transfer.documents", "transfer.facts", "transfer.given", "transfer.rules", "transfer.holds_anything"),
    *("transfer.causes", "transfer.done", "transfer.observations", "transfer.passes"),
    *("observations.all_done", "observations.all_passes", "observations.failed", "observations.count_failed"),
    *("observations.exists", "observations.scopes", "observations.seqs", "observations.banks_waiting"),
    # These take the one row that a bank has in a table, or the first.
    "causes.any",
    *("observations.last_at", "observations.lower_mark", "observations.waiting", "observations.count_waiting"),
    *("webhooks.count", "webhooks.list", "webhooks.listening", "webhooks.next_number", "webhooks.any"),
    *("webhooks.answered", "webhooks.forget_answers"),
    *("operations.count", "operations.list", "operations.drop_pointless", "operations.drop_extractions"),
    "snapshots.forget_removed",
}
_ALL = {f"{name}.{statement}": text for name in _SQL_FILES for statement, text in statements(name).items()}


def test_every_statement_is_used_and_every_name_exists() -> None:
    code = "\n".join(file.read_text() for file in _PACKAGE.iterdir() if file.name.endswith(".py"))
    used = set(re.findall(rf'"((?:{"|".join(_SQL_FILES)})\.[a-z_]+)"', code))
    used |= {f"banks.delete_{table}" for table in re.findall(r'^    "(\w+)",$', code, re.MULTILINE)}
    assert {name for name in used if name in _ALL or not name.startswith("banks.delete_")} == set(_ALL)


@pytest.mark.parametrize("name", sorted(set(_ALL) - _NO_BANK))
def test_every_statement_names_its_bank(name: str) -> None:
    if not name.startswith("migrations."):
        assert "bank_id" in _ALL[name]


@pytest.mark.parametrize(
    "name", sorted(name for name in set(_ALL) - _WHOLE_BANK if not name.startswith("banks.delete_"))
)
async def test_no_statement_reads_more_of_a_bank_than_it_needs(store: SqliteStore, tmp_path: Path, name: str) -> None:
    connection = open_reader(tmp_path / "memory.db")
    named = set(re.findall(r":([a-z_]+)", _ALL[name]))
    values = dict.fromkeys(named) if named else (None,) * _ALL[name].count("?")
    plan = [step for _, _, _, step in connection.execute(f"EXPLAIN QUERY PLAN {_ALL[name]}", values)]
    connection.close()
    whole = [step for step in plan if "(bank_id=?)" in step and not re.search(r"banks|\bb USING", step)]
    assert whole == []


async def test_the_listing_of_memories_is_not_sorted(store: SqliteStore, tmp_path: Path) -> None:
    connection = open_reader(tmp_path / "memory.db")
    values = dict.fromkeys(re.findall(r":([a-z_]+)", _ALL["facts.list"]))
    plan = [step for _, _, _, step in connection.execute(f"EXPLAIN QUERY PLAN {_ALL['facts.list']}", values)]
    connection.close()
    assert "SEARCH f USING INDEX facts_by_mention (bank_id=?)" in plan
    assert not [step for step in plan if "ORDER BY" in step]


async def test_every_key_leads_with_the_bank(store: SqliteStore, tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    for table in {name for name in tables if not name.startswith("sqlite_stat")} - {"migrations", "floors"}:
        for _, index, *_ in connection.execute(f"PRAGMA index_list('{table}')").fetchall():
            first = connection.execute(f"PRAGMA index_info('{index}')").fetchone()
            assert first is not None
            assert first[2] == "bank_id" or index in _NO_BANK_INDEXES, index
    strict = {name for _, name, kind, _, _, strict in connection.execute("PRAGMA table_list") if strict}
    assert strict >= {name for name in tables if not name.startswith("sqlite_stat")}
    connection.close()


async def test_a_commit_is_on_the_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    connection = open_writer(tmp_path / "memory.db")
    assert (connection.pragma("journal_mode"), connection.pragma("synchronous")) == ("wal", 2)
    connection.close()


async def test_steps_are_run_once_and_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.db"
    connection = open_writer(path)
    migrate.migrate(connection, known_migrations())
    further = Migration(number=9000, name="more", text="CREATE TABLE more (bank_id TEXT) STRICT;")
    known = (*known_migrations(), further)
    migrate.migrate(connection, known)
    migrate.migrate(connection, known)
    check_migrations(connection, path, known)
    recorded = connection.execute("SELECT number, name, hash FROM migrations ORDER BY number").fetchall()
    assert recorded == [(step.number, step.name, step.hash) for step in known]
    connection.close()


async def test_a_step_that_fails_changes_nothing(tmp_path: Path) -> None:
    connection = open_writer(tmp_path / "memory.db")
    migrate.migrate(connection, known_migrations())
    before = connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
    broken = Migration(number=9000, name="broken", text="CREATE TABLE more (x); INSERT INTO nowhere VALUES (1);")
    with pytest.raises(apsw.SQLError):
        migrate.migrate(connection, (*known_migrations(), broken))
    assert connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall() == before
    connection.close()


def holding(folder: Path, words: bytes) -> list[str]:
    """The files that hold these bytes."""
    return [path.name for path in folder.iterdir() if words in path.read_bytes()]


async def test_the_words_of_a_deleted_document_are_not_in_the_files(store: SqliteStore, tmp_path: Path) -> None:
    await put(store, "b", "d", "the xylophone of the museum", names=["Xylophone"], tags=("xylophone",))
    await put(store, "b", "e", "other words")
    await store.delete_document("b", "d", NOW)
    await store.close()
    assert holding(tmp_path, b"other words") == ["memory.db"]
    assert holding(tmp_path, b"ylophone") == []


async def test_a_reader_that_lags_far_behind_reads_anew(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hindsight_server.adapters.sqlite.session._MOST_REMOVED", 5)
    await put(store, "b", "keep", "kept")
    mark = await store.snapshot("b", 0, 0)
    for number in range(4):
        await put(store, "b", f"d{number}", "one", "two")
        await store.delete_document("b", f"d{number}", NOW)
    seen = await store.snapshot("b", mark.rows[-1].seq, mark.version)
    assert (seen.rebuild, [row.document_id for row in seen.rows]) == (True, ["keep"])
    fresh = await store.snapshot("b", seen.rows[-1].seq, seen.version)
    assert not fresh.rebuild


async def test_threads_come_and_go_with_the_store(tmp_path: Path) -> None:
    def running() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread.name.startswith("hindsight-store")]

    assert running() == []
    store = SqliteStore(tmp_path)
    assert running() == []
    await store.open()
    for number in range(30):
        await put(store, "b", f"d{number}", "one")
        await store.get_bank("b")
    assert len(running()) <= 5
    await store.close()
    assert running() == []
