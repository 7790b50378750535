"""One behaviour of blobs, over a folder, over a store of objects in memory and in a folder, and over S3 on a local
stand-in.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from hindsight_server.adapters.blobs import FolderBlobs
from hindsight_server.adapters.blobs.objects import ObjectBlobs, make_store
from hindsight_server.domain.errors import HindsightServerError, NotFound
from hindsight_server.ports.blobs import BlobStore

from .s3_stand_in import s3_stand_in

ONE, OTHER = "a" * 32, "b" * 32
NOBODY = hashlib.sha256(b"nobody").hexdigest()


@pytest.fixture(scope="module")
def s3_address() -> Iterator[str]:
    """A stand-in for S3 on this machine, with one bucket."""
    with s3_stand_in("memories") as address:
        yield address


@pytest.fixture(params=["folder", "memory", "local", "s3"])
async def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[BlobStore]:
    kind = request.param
    made: BlobStore
    if kind == "folder":
        made = FolderBlobs(tmp_path / "blobs")
    elif kind == "s3":
        values = {
            "container": "memories",
            "endpoint": request.getfixturevalue("s3_address"),
            "region": "us-east-1",
            "access_key_id": "key",
            "secret_access_key": "secret",
        }
        made = ObjectBlobs(make_store("s3", values))
    else:
        from obstore.store import LocalStore, MemoryStore

        made = ObjectBlobs(MemoryStore() if kind == "memory" else LocalStore(str(tmp_path)))
    yield made
    async for stored in made.list():
        await made.delete(stored.space, stored.digest)
    await made.close()


async def held(blobs: BlobStore, space: str | None = None) -> set[tuple[str, str, int]]:
    return {(stored.space, stored.digest, stored.byte_size) async for stored in blobs.list(space)}


async def test_bytes_come_back_by_their_hash(blobs: BlobStore) -> None:
    data = bytes(range(256)) * 5000
    digest = await blobs.put(ONE, data)
    assert digest == hashlib.sha256(data).hexdigest()
    assert await blobs.get(ONE, digest) == data


async def test_the_same_bytes_are_kept_once_in_a_space_and_apart_between_spaces(blobs: BlobStore) -> None:
    first = await blobs.put(ONE, b"same")
    assert await blobs.put(ONE, b"same") == first
    await blobs.put(OTHER, b"same")
    assert await held(blobs) == {(ONE, first, 4), (OTHER, first, 4)}
    await blobs.delete(ONE, first)
    assert await held(blobs, ONE) == set()
    assert await blobs.get(OTHER, first) == b"same"


async def test_what_is_not_there(blobs: BlobStore) -> None:
    assert await held(blobs) == set()
    await blobs.delete(ONE, NOBODY)
    with pytest.raises(NotFound):
        await blobs.get(ONE, NOBODY)


@pytest.mark.parametrize("digest", ["", "..", "../../etc/passwd", "A" * 64, "a" * 63, NOBODY + "/x"])
async def test_a_digest_leads_nowhere_else(blobs: BlobStore, digest: str) -> None:
    with pytest.raises(NotFound):
        await blobs.get(ONE, digest)


@pytest.mark.parametrize("space", ["", "..", "../up", "ABCDEF0123", "a/b"])
async def test_a_space_leads_nowhere_else(blobs: BlobStore, space: str) -> None:
    with pytest.raises(ValueError, match="hexadecimal"):
        await blobs.put(space, b"x")


async def test_an_empty_blob(blobs: BlobStore) -> None:
    assert await blobs.get(ONE, await blobs.put(ONE, b"")) == b""


async def test_files_are_private_and_half_written_ones_are_cleared(tmp_path: Path) -> None:
    folder = tmp_path / "blobs"
    blobs = FolderBlobs(folder)
    digest = await blobs.put(ONE, b"mine")
    assert stat.S_IMODE((folder / ONE / digest).stat().st_mode) == 0o600
    (folder / ONE / f"{NOBODY}.00.part").write_bytes(b"half")
    assert await held(blobs) == {(ONE, digest, 4)}
    assert await blobs.clear_unfinished() == 1
    assert [path.name for path in (folder / ONE).iterdir()] == [digest]


async def test_damaged_bytes_are_told_and_not_handed_out(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    digest = await blobs.put(ONE, b"mine")
    (tmp_path / ONE / digest).write_bytes(b"mime")
    with pytest.raises(HindsightServerError, match="damaged"):
        await blobs.get(ONE, digest)
    await blobs.put(ONE, b"mine")
    assert await blobs.get(ONE, digest) == b"mine"


async def test_a_place_that_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("a file where the folder belongs")
    with pytest.raises(HindsightServerError, match="can't be kept"):
        await FolderBlobs(tmp_path / "blobs").put(ONE, b"mine")
    with pytest.raises(HindsightServerError, match="can't be deleted"):
        await FolderBlobs(tmp_path / "blobs").delete(ONE, NOBODY)


async def test_a_store_that_is_away_is_told_without_its_keys() -> None:
    values = {
        "container": "memories",
        "endpoint": "http://127.0.0.1:9",
        "region": "us-east-1",
        "access_key_id": "key-of-ours",
        "secret_access_key": "secret-of-ours",
        "retry_config": {"max_retries": 0},
    }
    with pytest.raises(HindsightServerError) as told:
        await ObjectBlobs(make_store("s3", values)).get(ONE, NOBODY)
    assert "of-ours" not in str(told.value)
    assert "could not be read" in str(told.value)


def test_options_that_a_store_does_not_know() -> None:
    with pytest.raises(HindsightServerError, match="can't be used"):
        make_store("azure", {"container": "memories", "account_key": "not base64!", "nonsense": "x"})
