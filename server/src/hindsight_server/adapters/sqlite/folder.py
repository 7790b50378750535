"""The data folder: held by one server at a time, and looked through before anything in it is changed."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from hindsight_server.adapters.sqlite.migrate import Migration, check_migrations
from hindsight_server.domain.errors import DataFolderCorrupt, DataFolderError, DataFolderLocked

DATABASE = "memory.db"
LOCK = "memory.lock"
# A full check of a large database takes longer than a server may take to start.
_CHECK_SECONDS = 0.25
# Windows locks bytes, and a locked byte can't be read: lock one that holds nothing.
_LOCKED_BYTE = 4096


class FolderLock:
    """An exclusive lock on a data folder. The operating system releases it when the process ends, however it ends.

    Raises DataFolderLocked when another process holds it, DataFolderError when its file can't be opened.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK
        existed = self._path.exists()
        self._file = self._locked(folder)
        while not self._is_current():
            # Whoever held it before took it away when this one had it open already: the next would lock a new file.
            os.close(self._file)
            existed, self._file = False, self._locked(folder)
        self._before = os.read(self._file, 32) if existed else None
        with suppress(OSError):  # no space left: only who holds it is not told
            self._write(f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """Give the folder up."""
        os.close(self._file)

    def undo(self) -> None:
        """Give the folder up and leave no trace of having held it."""
        if self._before is None:
            self._path.unlink()
        else:
            self._write(self._before)
        os.close(self._file)

    def _locked(self, folder: Path) -> int:
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise DataFolderError(
                f"{self._path} can't be written: {error.strerror}. Check the folder's owner and permissions."
            ) from error
        try:
            _lock(file)
        except OSError:
            holder = os.read(file, 32).decode("ascii", "replace").strip() or "unknown"
            os.close(file)
            raise DataFolderLocked(
                f"The data folder {folder} is in use by another server (process {holder}). "
                "Stop that one, or choose another data folder."
            ) from None
        return file

    def _is_current(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._file), os.stat(self._path))
        except FileNotFoundError:
            return False

    def _write(self, content: bytes) -> None:
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        os.write(self._file, content)


def inspect_database(path: Path, known: tuple[Migration, ...]) -> None:
    """Look whether a database can be opened by this server, without changing a byte in its folder.

    The whole log is read as well, into memory: a connection that locks the file for itself needs no shared index beside
    it. Raises DataFolderError as `Store.open` says.
    """
    log = path.with_name(path.name + "-wal")
    with_log = log.exists() and log.stat().st_size > 0
    if not path.exists() or path.stat().st_size == 0:
        if with_log:
            raise DataFolderCorrupt(
                f"{log} is there, but not the database it belongs to. Restore {path} from a backup."
            )
        return
    for file in (path, log):
        if file.exists() and not os.access(file, os.R_OK | os.W_OK):
            raise DataFolderError(f"{file} may not be read and written by this user. Check its owner and permissions.")
    with _read_only(path, with_log=with_log) as connection:
        check_migrations(connection, path, known)
        _check_pages(connection, path)


@contextmanager
def _read_only(path: Path, *, with_log: bool) -> Iterator[apsw.Connection]:
    if with_log:
        # A log that a crash left is read with a lock for itself alone, and that needs a file opened for writing.
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    else:
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(f"{path.absolute().as_uri()}?immutable=1", flags=flags)
    try:
        # Closing would otherwise write the log into the database.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        yield connection
    finally:
        connection.close()


def _check_pages(connection: apsw.Connection, path: Path) -> None:
    until = time.monotonic() + _CHECK_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > until, 1000)
    try:
        found = connection.pragma("quick_check", 1)
    except apsw.InterruptError:
        return
    finally:
        connection.set_progress_handler(None)
    if found != "ok":
        raise DataFolderCorrupt(f"The database {path} is damaged ({found}). Restore the folder from a backup.")


def prepare_folder(folder: Path) -> None:
    """Make the folder, for its owner alone, when it is not there. Raises DataFolderError."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise DataFolderError(f"The data folder {folder} can't be made: {error.strerror}. Choose another.") from error


def prepare_database(path: Path) -> None:
    """Make the empty file, for its owner alone, when it is not there; SQLite gives its own files beside it that mode.

    Raises DataFolderError.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise DataFolderError(
            f"The database {path} can't be made: {error.strerror}. Check the folder's owner and permissions."
        ) from error


def _lock(file: int) -> None:
    if os.name == "nt":
        windows: Any = importlib.import_module("msvcrt")
        os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
        windows.locking(file, windows.LK_NBLCK, 1)
        os.lseek(file, 0, os.SEEK_SET)
    else:
        posix: Any = importlib.import_module("fcntl")
        posix.flock(file, posix.LOCK_EX | posix.LOCK_NB)
