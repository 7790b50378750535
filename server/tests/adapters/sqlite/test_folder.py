"""What happens to data folders that can't be opened: nothing."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from hindsight_server.adapters.sqlite import SqliteStore, opened
from hindsight_server.adapters.sqlite import folder as folder_module
from hindsight_server.adapters.sqlite.folder import FolderLock
from hindsight_server.domain.errors import (
    DataFolderCorrupt,
    DataFolderError,
    DataFolderLocked,
    DataFolderNewer,
)
from hindsight_server.testing.store_contract.builders import put

# A process that opens a folder, retains one document, says so and waits.
_HOLDER = """
import asyncio, sys, time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from hindsight_server.adapters.sqlite import SqliteStore
from hindsight_server.testing.store_contract.builders import put

async def main() -> None:
    store = SqliteStore(Path(sys.argv[1]))
    await store.open()
    await put(store, "b", "d", "kept words")
    print("ready", flush=True)
    time.sleep(60)

asyncio.run(main())
"""


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


async def filled(folder: Path) -> None:
    store = SqliteStore(folder)
    await store.open()
    for number in range(30):
        await put(store, "b", f"d{number}", f"words {number} " * 20)
    await store.close()


def held_by_another(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(_HOLDER), str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


async def refused(folder: Path, error: type[DataFolderError], *words: str) -> None:
    """The folder is refused, says why in those words, and not a byte in it changes."""
    before = contents(folder)
    with pytest.raises(error) as caught:
        await SqliteStore(folder).open()
    for word in words:
        assert word in str(caught.value)
    assert contents(folder) == before


async def test_folders_are_made(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a" / "b ✓")
    await store.open()
    await store.open()
    await put(store, "b", "d", "one")
    await store.close()
    assert sorted(path.name for path in (tmp_path / "a" / "b ✓").iterdir()) == ["memory.db", "memory.lock"]


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
async def test_only_the_owner_reads_what_is_made(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = SqliteStore(tmp_path / "data")
        await store.open()
        await put(store, "b", "d", "one")
        made = modes(tmp_path / "data")
        await store.close()
    finally:
        os.umask(before)
    assert made == {
        "data": 0o700,
        "memory.db": 0o600,
        "memory.db-wal": 0o600,
        "memory.db-shm": 0o600,
        "memory.lock": 0o600,
    }


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
async def test_modes_that_were_chosen_stay(tmp_path: Path) -> None:
    await filled(tmp_path)
    for path, mode in ((tmp_path, 0o750), (tmp_path / "memory.db", 0o640), (tmp_path / "memory.lock", 0o640)):
        os.chmod(path, mode)
    store = SqliteStore(tmp_path)
    await store.open()
    found = modes(tmp_path)
    await store.close()
    assert found.pop(tmp_path.name) == 0o750
    assert set(found.values()) == {0o640}


async def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataFolderError, match="Choose another"):
        await SqliteStore(tmp_path / "file").open()


async def test_a_lock_that_can_not_be_opened(tmp_path: Path) -> None:
    (tmp_path / "memory.lock").mkdir()
    with pytest.raises(DataFolderError, match=r"memory\.lock can't be written.*owner and permissions"):
        await SqliteStore(tmp_path).open()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everything")
async def test_a_database_that_may_not_be_written(tmp_path: Path) -> None:
    await filled(tmp_path)
    (tmp_path / "memory.db").chmod(0o444)
    with pytest.raises(DataFolderError, match=r"memory\.db may not be read and written"):
        await SqliteStore(tmp_path).open()


async def test_a_newer_layout(tmp_path: Path) -> None:
    await filled(tmp_path)
    database = apsw.Connection(str(tmp_path / "memory.db"))
    database.execute("INSERT INTO migrations VALUES (9999, 'from_the_future', 'x', 0)")
    database.close()
    await refused(tmp_path, DataFolderNewer, "9999_from_the_future", "Install")


async def test_a_step_that_differs(tmp_path: Path) -> None:
    await filled(tmp_path)
    database = apsw.Connection(str(tmp_path / "memory.db"))
    database.execute("UPDATE migrations SET hash = 'other' WHERE number = 1")
    database.close()
    await refused(tmp_path, DataFolderCorrupt, "0001_initial", "backup")


async def test_another_programs_database(tmp_path: Path) -> None:
    database = apsw.Connection(str(tmp_path / "memory.db"))
    database.execute("CREATE TABLE banks (x)")
    database.close()
    await refused(tmp_path, DataFolderCorrupt, "not one of this server")


@pytest.mark.parametrize("keep", [10, 100, 5000, 9000])
async def test_a_database_cut_short(tmp_path: Path, keep: int) -> None:
    await filled(tmp_path)
    with (tmp_path / "memory.db").open("r+b") as file:
        file.truncate(keep)
    await refused(tmp_path, DataFolderCorrupt, "memory.db", "backup")


@pytest.mark.parametrize("page", [0, 1, 2, 5, 9])
async def test_a_database_with_a_page_of_rubbish(tmp_path: Path, page: int) -> None:
    await filled(tmp_path)
    with (tmp_path / "memory.db").open("r+b") as file:
        file.seek(page * 8192)
        file.write(b"\xa5" * 8192)
    await refused(tmp_path, DataFolderCorrupt, "memory.db", "backup")


async def test_a_log_without_its_database(tmp_path: Path) -> None:
    (tmp_path / "memory.db-wal").write_bytes(b"x" * 100)
    await refused(tmp_path, DataFolderCorrupt, "memory.db-wal")


async def test_a_newer_layout_that_is_only_in_the_log(tmp_path: Path) -> None:
    """As a crash leaves it: the log must be read to know, and still nothing may change."""
    source, copy = tmp_path / "source", tmp_path / "copy"
    await filled(source)
    database = apsw.Connection(str(source / "memory.db"))
    database.execute("INSERT INTO migrations VALUES (9999, 'from_the_future', 'x', 0)")
    copy.mkdir()
    for name in ("memory.db", "memory.db-wal"):
        shutil.copy(source / name, copy / name)
    database.close()
    assert (copy / "memory.db-wal").stat().st_size > 0
    await refused(copy, DataFolderNewer, "9999")


async def test_case_a38_a_folder_held_by_another_process_is_refused_and_unharmed(tmp_path: Path) -> None:
    process = held_by_another(tmp_path)
    try:
        await refused(tmp_path, DataFolderLocked, str(process.pid))
    finally:
        end(process)
    store = SqliteStore(tmp_path)
    await store.open()
    assert [bank.bank_id for bank in (await store.list_banks(None, 9, 0)).items] == ["b"]
    await store.close()


async def test_a_folder_held_by_this_process(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    await store.open()
    with pytest.raises(DataFolderLocked, match=str(os.getpid())):
        await SqliteStore(tmp_path).open()
    await store.close()
    await store.open()
    await store.close()


async def test_after_a_kill_the_log_is_read(tmp_path: Path) -> None:
    end(held_by_another(tmp_path))
    assert (tmp_path / "memory.db-wal").stat().st_size > 0
    store = SqliteStore(tmp_path)
    await store.open()
    assert (await store.get_bank("b")).fact_count == 1
    await store.close()


@contextmanager
def no_room(bytes_of_a_file: int) -> Iterator[None]:
    """No file of this process grows beyond that size, as on a disk without room."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_of_a_file, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_disk_without_room_refuses_writes_by_name_and_takes_them_again_later(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    await store.open()
    with no_room((tmp_path / "memory.db-wal").stat().st_size):
        puts = [put(store, "b", f"d{number}", "words " * 9000) for number in range(3)]
        for failure in await asyncio.gather(*puts, return_exceptions=True):
            assert isinstance(failure, DataFolderError)
    await put(store, "b", "d", "words")
    assert (await store.get_bank("b")).fact_count == 1
    await store.close()


async def test_a_folder_on_a_disk_without_room_is_refused_by_name(tmp_path: Path) -> None:
    with no_room(0), pytest.raises(DataFolderError, match="full"):
        await SqliteStore(tmp_path).open()
    store = SqliteStore(tmp_path)
    await store.open()
    await store.close()


def test_a_lock_that_is_taken_away_while_another_takes_it_is_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes held the folder then, each another file of that name."""
    looking = FolderLock(tmp_path)
    lock = folder_module._lock

    def lock_late(file: int) -> None:
        monkeypatch.setattr(folder_module, "_lock", lock)
        looking.undo()
        lock(file)

    monkeypatch.setattr(folder_module, "_lock", lock_late)
    first = FolderLock(tmp_path)
    with pytest.raises(DataFolderLocked):
        FolderLock(tmp_path)
    first.release()


async def test_a_folder_that_can_not_be_read_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path) -> apsw.Connection:
        raise apsw.CantOpenError("too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(opened, "open_reader", refused)
        with pytest.raises(DataFolderError, match="too many open files"):
            await SqliteStore(tmp_path).open()
    store = SqliteStore(tmp_path)
    await store.open()
    await store.close()
