"""A data folder that is held, with its threads running."""

from __future__ import annotations

import os
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import apsw

from hindsight_server.adapters.sqlite.connection import named_errors, open_reader, open_writer
from hindsight_server.adapters.sqlite.deliveries import release_deliveries
from hindsight_server.adapters.sqlite.folder import (
    DATABASE,
    FolderLock,
    inspect_database,
    prepare_database,
    prepare_folder,
)
from hindsight_server.adapters.sqlite.migrate import known_migrations, migrate
from hindsight_server.adapters.sqlite.operations import release_operations
from hindsight_server.adapters.sqlite.scrubbing import Scrubber
from hindsight_server.adapters.sqlite.threads import Readers, Work, Writer
from hindsight_server.domain.errors import DataFolderError, Overloaded

T = TypeVar("T")


def look_through(folder: Path) -> None:
    """Raise the DataFolderError that opening a folder would raise. Nothing in it is changed or made."""
    if not folder.is_dir():
        above = next(parent for parent in folder.absolute().parents if parent.exists())
        if folder.exists() or not above.is_dir() or not os.access(above, os.W_OK):
            raise DataFolderError(f"The data folder {folder} is not there, and can't be made.")
        return
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise DataFolderError(f"The data folder {folder} may not be read and written by this user.")
    lock = FolderLock(folder)
    try:
        with named_errors(folder / DATABASE):
            inspect_database(folder / DATABASE, known_migrations())
    finally:
        lock.undo()


class OpenedFolder:
    """Locks, looks through, migrates and opens a folder. Raises DataFolderError, and then nothing in it has changed."""

    def __init__(self, folder: Path, *, readers: int) -> None:
        self._path = folder / DATABASE
        prepare_folder(folder)
        self._lock = FolderLock(folder)
        known = known_migrations()
        try:
            with named_errors(self._path):
                inspect_database(self._path, known)
        except BaseException:
            self._lock.undo()
            raise
        self._held = ExitStack()  # closed in the opposite order
        self._held.callback(self._lock.release)
        try:
            with named_errors(self._path):
                prepare_database(self._path)
                self._writer = Writer(self._open_writer, lambda: named_errors(self._path))
                self._held.callback(self._writer.close)
                self._scrubber = Scrubber(self._path)
                self._held.callback(self._scrubber.close)
                self._readers = Readers(lambda: open_reader(self._path), threads=readers)
                self._held.callback(self._readers.close)
        except BaseException as error:
            self._held.close()
            if isinstance(error, Overloaded):
                raise DataFolderError(str(error)) from error
            raise

    def read(self, work: Work[T]) -> Future[T]:
        return self._readers.submit(self._named(work))

    def glance(self, work: Work[T]) -> Future[T]:
        return self._readers.glance(self._named(work))

    def write(self, work: Work[T]) -> Future[T]:
        return self._writer.submit(self._named(work))

    @property
    def size(self) -> int:
        """Bytes of the database file."""
        return self._scrubber.size

    def clean(self) -> Future[bool]:
        """Leave nothing of what was deleted in the files; False when a reader still needs some of it."""
        return self._writer.submit_outside(self._named(self._scrubber.clean))

    def close(self) -> None:
        """Finish what was begun, fold the log into the database, and give the folder up."""
        self._held.close()

    def _open_writer(self) -> apsw.Connection:
        connection = open_writer(self._path)
        try:
            migrate(connection, known_migrations())
            # The folder has one owner: whoever held these leases has ended.
            release_operations(connection)
            release_deliveries(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _named(self, work: Work[T]) -> Work[T]:
        def named(connection: apsw.Connection) -> T:
            with named_errors(self._path):
                return work(connection)

        return named
