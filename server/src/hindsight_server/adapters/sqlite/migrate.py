"""The layout of the database: numbered steps, each recorded with the hash of what was run."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

import apsw

from hindsight_server.adapters.sqlite.connection import APPLICATION_ID
from hindsight_server.adapters.sqlite.queries import scalar
from hindsight_server.adapters.sqlite.session import micros_of
from hindsight_server.adapters.sqlite.statements import sql
from hindsight_server.domain.errors import DataFolderCorrupt, DataFolderNewer

_FILE = re.compile(r"(\d{4})_(\w+)\.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step. `hash` is the SHA-256 of its text, line ends normalised."""

    number: int
    name: str
    text: str

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def known_migrations() -> tuple[Migration, ...]:
    """The steps this version of the server knows, in order."""
    found = []
    for file in (files(__package__) / "migrations").iterdir():
        match = _FILE.fullmatch(file.name)
        if match is not None:
            text = file.read_text(encoding="utf-8").replace("\r\n", "\n")
            found.append(Migration(number=int(match[1]), name=match[2], text=text))
    return tuple(sorted(found, key=lambda migration: migration.number))


def check_migrations(connection: apsw.Connection, path: Path, known: tuple[Migration, ...]) -> None:
    """Compare what a database went through with what is known here. Only reads.

    Raises DataFolderNewer for a step that is not known here, DataFolderCorrupt for one that differs, or when the file
    is no database of this server.
    """
    if not scalar(connection, "migrations.tables"):
        return
    if connection.pragma("application_id") != APPLICATION_ID:
        raise DataFolderCorrupt(
            f"{path} is an SQLite database, but not one of this server. Point the server at another data folder."
        )
    by_number = {migration.number: migration for migration in known}
    for number, name, digest in connection.execute(sql("migrations.applied")):
        expected = by_number.get(number)
        if expected is None:
            raise DataFolderNewer(
                f"{path} was written by a newer version of the server (step {number:04d}_{name} is not known here). "
                "Install that version or a later one, or restore a backup made before the upgrade."
            )
        if expected.hash != digest:
            raise DataFolderCorrupt(
                f"{path} went through another step {number:04d}_{name} than this server knows. Use the build that "
                "wrote it, or restore a backup."
            )


def migrate(connection: apsw.Connection, known: tuple[Migration, ...]) -> None:
    """Run the steps that are missing, all in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(sql("migrations.create_table"))
        done = {number for number, _, _ in connection.execute(sql("migrations.applied"))}
        for migration in known:
            if migration.number not in done:
                connection.execute(migration.text)
                values = (migration.number, migration.name, migration.hash, micros_of(datetime.now(UTC)))
                connection.execute(sql("migrations.record"), values)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
