"""What SQLite leaves behind in its file, although it overwrites what is deleted.

When rows move from one page to another, their copy stays in the unused middle of the first page, between the cell
pointers and the cells (https://www.sqlite.org/fileformat2.html#b_tree_pages), where `secure_delete` does not see it.
Here that middle is filled with zeros. Nothing there has a meaning, so that readers may go on meanwhile.
"""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from hindsight_server.adapters.sqlite.connection import empty_log

_TREE_PAGES = {2: 12, 5: 12, 10: 8, 13: 8}  # kind of page: length of its head
_FILE_HEAD = 100
_PAGES_AT_ONCE = 512


class Scrubber:
    """Cleans one database file. Used by the thread that writes; closed when no connection is open any more, since on
    some systems closing a file gives up the locks that the whole process has on it.

    Args:
        path: the database file.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))

    def close(self) -> None:
        os.close(self._file)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return os.fstat(self._file).st_size

    def clean(self, connection: apsw.Connection) -> bool:
        """Empty the log, then overwrite what has no meaning in the file; outside of any transaction.

        False when a reader still needs the log: then nothing more was done.
        """
        if not empty_log(connection):
            return False
        # What the connection has in memory still holds it, and would be written back with the next change of its page.
        connection.release_memory()
        size = int(connection.pragma("page_size"))
        changed = False
        for start in range(0, self.size, size * _PAGES_AT_ONCE):
            changed |= self._clean_pages(start, size)
        if changed:
            os.fsync(self._file)
        return True

    def _clean_pages(self, start: int, size: int) -> bool:
        os.lseek(self._file, start, os.SEEK_SET)
        pages = os.read(self._file, size * _PAGES_AT_ONCE)
        changed = False
        for at in range(0, len(pages) - size + 1, size):
            first, last = unused(pages, at, size, _FILE_HEAD if start + at == 0 else 0)
            if pages.count(0, first, last) < last - first:
                os.lseek(self._file, start + first, os.SEEK_SET)
                os.write(self._file, bytes(last - first))
                changed = True
        return changed


def unused(pages: bytes, at: int, size: int, head: int) -> tuple[int, int]:
    """The middle of the page that begins at `at`; an empty stretch when it is no page of a tree."""
    begin = at + head
    length = _TREE_PAGES.get(pages[begin])
    if length is None:
        return at, at
    cells = int.from_bytes(pages[begin + 3 : begin + 5])
    content = int.from_bytes(pages[begin + 5 : begin + 7]) or 65536
    first, last = begin + length + 2 * cells, at + content
    return (first, last) if first <= last <= at + size else (at, at)
