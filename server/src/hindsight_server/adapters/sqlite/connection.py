"""Connections to the database file, and what SQLite's errors mean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from hindsight_server.domain.errors import DataFolderCorrupt, DataFolderError, Overloaded

APPLICATION_ID = 0x48534D31
_BUSY_MILLISECONDS = 10_000
_EMPTYING_MILLISECONDS = 100  # writes wait as long at most
_WRITER_CACHE_KIB = 64 * 1024
# There are several readers, and the operating system keeps the pages of all of them once: a larger cache of each made
# no recall quicker.
_READER_CACHE_KIB = 8 * 1024


def open_writer(path: Path) -> apsw.Connection:
    """The connection that writes: write-ahead log, and every commit on the disk before it is acknowledged."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    connection.set_busy_timeout(_BUSY_MILLISECONDS)
    for pragma in (
        # Two or three facts' token vectors fill such a page; in one of 4096 bytes a third of it would stay empty.
        "page_size = 8192",
        "journal_mode = WAL",
        # Pages that many retains touch are folded into the database once, not every few retains. 32 MB at most.
        "wal_autocheckpoint = 4000",
        "synchronous = FULL",
        "foreign_keys = ON",
        # What is deleted is overwritten with zeros, not only taken off the lists.
        "secure_delete = ON",
        "temp_store = MEMORY",
        f"cache_size = -{_WRITER_CACHE_KIB}",
    ):
        connection.execute(f"PRAGMA {pragma}")
    _add_functions(connection)
    return connection


def open_reader(path: Path) -> apsw.Connection:
    """A connection that only reads."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(_BUSY_MILLISECONDS)
    for pragma in ("query_only = ON", "temp_store = MEMORY", f"cache_size = -{_READER_CACHE_KIB}"):
        connection.execute(f"PRAGMA {pragma}")
    _add_functions(connection)
    return connection


def empty_log(connection: apsw.Connection) -> bool:
    """Fold the write-ahead log into the database and cut it to nothing, so that pages of before are in no file.

    False when a reader still sees a state that only the log holds.
    """
    connection.set_busy_timeout(_EMPTYING_MILLISECONDS)
    try:
        row = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
    return row is not None and row[0] == 0


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors about the file and the disk into ours, with the remedy."""
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise DataFolderCorrupt(
            f"The database {path} is damaged ({error}). Stop the server and restore the folder from a backup."
        ) from error
    except apsw.FullError as error:
        raise Overloaded(f"The disk that holds {path} is full; nothing was stored. Free some space.") from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise Overloaded(f"Another program holds {path}; nothing was stored. Close what has it open.") from error
    except apsw.IOError as error:
        raise DataFolderError(f"The disk that holds {path} fails or is full ({error}). Check it.") from error
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise DataFolderError(
            f"The database {path} can't be opened for writing ({error}). Check the folder's owner and permissions."
        ) from error


def _add_functions(connection: apsw.Connection) -> None:
    connection.create_scalar_function("holds", _holds, 2, deterministic=True)


def _holds(*arguments: Any) -> bool:
    """True when the text holds the case-folded words: SQLite itself folds ASCII only."""
    text, folded = arguments
    return text is not None and folded in text.casefold()
