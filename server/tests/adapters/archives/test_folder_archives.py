"""Archives in a folder that fails, and what a crash leaves in one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import pytest

from hindsight_server.adapters.archives import FolderArchives
from hindsight_server.domain.errors import HindsightServerError
from hindsight_server.ports.archives import ArchiveKind

LATER = datetime(2100, 1, 1, tzinfo=UTC)


def words(file: BinaryIO) -> None:
    file.write(b"words")


def test_what_a_crash_left_of_an_export_is_withdrawn_too(tmp_path: Path) -> None:
    archives = FolderArchives(tmp_path / "archives")
    kept = archives.put("ann", ArchiveKind.EXPORT, LATER, words)
    other = archives.put("bob", ArchiveKind.EXPORT, LATER, words)
    (path,) = (tmp_path / "archives").glob(f"*{kept.key}*")
    path.rename(path.with_name(path.name + ".part"))
    archives.withdraw("ann")
    assert [left.name for left in (tmp_path / "archives").iterdir()] == [f"{ArchiveKind.EXPORT}-{other.key}.zip"]


def test_a_place_that_can_not_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "archives").write_text("a file where the folder belongs")
    with pytest.raises(HindsightServerError, match="can't be kept"):
        FolderArchives(tmp_path / "archives").put("ann", ArchiveKind.EXPORT, LATER, lambda _: None)
