"""Images of banks: files beside the database that can be made again from it.

A file is named by a hash of the bank's id. It holds a line of JSON that describes it, then each array as it lies in
memory and each list of texts as JSON. Checksums tell a whole file from one that a
crash cut short. A write that removes or changes facts deletes the file before it commits: what is
forgotten is in no file, and if the commit fails, only a cache is lost.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import uuid
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

import apsw
import numpy as np
import orjson

from hindsight_server.adapters.sqlite.queries import one_row
from hindsight_server.ports.records import BankImage

FOLDER = "images"
_FORMAT = "hindsight-image-1"
_UNFINISHED = ".part"
_TEXTS_AT_ONCE = 20_000  # between two such pieces other threads get their turn
_BYTES_AT_ONCE = 1 << 24


class Images:
    """The images in one data folder.

    Args:
        folder: the data folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER

    def clear_unfinished(self) -> None:
        """Delete what a crash left half written."""
        for path in self._folder.glob(f"*{_UNFINISHED}"):
            path.unlink(missing_ok=True)

    def write(self, bank_id: str, image: BankImage) -> Path:
        """Write an image to a file that nobody reads yet; `keep` puts it in its place."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        path = self._folder / f"{uuid.uuid4().hex}{_UNFINISHED}"
        try:
            with path.open("wb") as file:
                os.chmod(path, 0o600)
                _write(file, bank_id, image)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return path

    def keep(self, connection: apsw.Connection, bank_id: str, version: int, path: Path) -> bool:
        """Put a written image in its place, unless facts were removed since; for the thread that writes."""
        fits = one_row(connection, "snapshots.image_fits", {"bank_id": bank_id, "version": version}) is not None
        if fits:
            path.replace(_path(self._folder, bank_id))
        else:
            path.unlink(missing_ok=True)
        return fits

    def load(self, bank_id: str) -> BankImage | None:
        """The kept image; None when there is none that can be read."""
        try:
            with _path(self._folder, bank_id).open("rb") as file:
                return _read(file, bank_id)
        except (OSError, ValueError, KeyError, TypeError):
            return None


def drop_image(connection: apsw.Connection, bank_id: str) -> None:
    """Delete the image of a bank that is being written to."""
    with contextlib.suppress(FileNotFoundError):
        _path(Path(connection.filename).parent / FOLDER, bank_id).unlink()


def _path(folder: Path, bank_id: str) -> Path:
    return folder / f"{hashlib.sha256(bank_id.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}.image"


def _write(file: BinaryIO, bank_id: str, image: BankImage) -> None:
    head = {
        "format": _FORMAT,
        "bank_id": bank_id,
        "version": image.version,
        "last_seq": image.last_seq,
        "arrays": [(name, array.dtype.str, array.shape) for name, array in image.arrays.items()],
        "texts": {name: len(texts) for name, texts in image.texts.items()},
    }
    described = orjson.dumps(head)
    checksum = zlib.crc32(described)
    # The checksum of the rest is known only at the end; its place has a fixed width.
    file.write(b"%08x %08x %d\n" % (0, checksum, len(described)))
    file.write(described)
    for piece in _pieces(image):
        checksum = zlib.crc32(piece, checksum)
        file.write(piece)
    file.seek(0)
    file.write(b"%08x" % checksum)


def _pieces(image: BankImage) -> Iterator[Any]:
    for array in image.arrays.values():
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        for start in range(0, len(flat), _BYTES_AT_ONCE):
            yield flat[start : start + _BYTES_AT_ONCE]
    for texts in image.texts.values():
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            yield orjson.dumps(list(texts[start : start + _TEXTS_AT_ONCE])) + b"\n"


def _read(file: BufferedReader, bank_id: str) -> BankImage | None:
    whole, own, size = file.readline(64).split()
    described = file.read(int(size))
    checksum = zlib.crc32(described)
    if checksum != int(own, 16):
        return None
    head = orjson.loads(described)
    if head["format"] != _FORMAT or head["bank_id"] != bank_id:
        return None
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for name, dtype, shape in head["arrays"]:
        array = arrays[name] = np.empty(shape, dtype)
        flat = array.reshape(-1).view(np.uint8).data
        for start in range(0, len(flat), _BYTES_AT_ONCE):
            piece = flat[start : start + _BYTES_AT_ONCE]
            if file.readinto(piece) != len(piece):
                return None
            checksum = zlib.crc32(piece, checksum)
    texts: dict[str, list[str]] = {}
    for name, count in head["texts"].items():
        held = texts[name] = []
        while len(held) < count:
            line = file.readline()
            checksum = zlib.crc32(line, checksum)
            held += orjson.loads(line)
    if checksum != int(whole, 16):
        return None
    return BankImage(version=head["version"], last_seq=head["last_seq"], arrays=arrays, texts=texts)
