"""The archive: a ZIP file of a manifest and of JSON lines.

``manifest.json`` names the format and, for each other file, its size, its number of lines and its SHA-256. The others
are ``bank.json``, ``documents.jsonl``, ``facts.jsonl`` (the oldest first), ``observations.jsonl``, ``names.json``,
``mental_models.jsonl`` and ``knowledge.jsonl``. Vectors are in none: they belong to a model, and are made again where
the archive is taken in. The bytes of attachments are files of their own, ``blobs/SHA-256``.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from typing import Any, BinaryIO, TypeVar

from pydantic import TypeAdapter, ValidationError

from hindsight_server.domain.attachments import from_untrusted
from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.model import FactType
from hindsight_server.engine.transfer.types import TransferLimits
from hindsight_server.ports.observations import MOST_VERSIONS
from hindsight_server.ports.transfer import (
    TransferBank,
    TransferDocument,
    TransferFact,
    TransferModel,
    TransferNames,
    TransferNode,
    TransferObservation,
    TransferRecord,
)

FORMAT = "hindsight-archive"
VERSION = 1
MANIFEST = "manifest.json"
_BANK, _DOCUMENTS, _FACTS, _NAMES = "bank.json", "documents.jsonl", "facts.jsonl", "names.json"
_OBSERVATIONS, _MODELS, _NODES = "observations.jsonl", "mental_models.jsonl", "knowledge.jsonl"
_FILES = (_BANK, _DOCUMENTS, _FACTS, _OBSERVATIONS, _NAMES, _MODELS, _NODES)
_BLOBS = "blobs/"
_BLOB = re.compile(r"blobs/[0-9a-f]{64}")
_FREE_BYTES = 1 << 20
_PIECE = 1 << 16
_LONGEST_ID = 1024
_LARGEST_HASH = 2**63 - 1
_LARGEST_COUNT = 2**53  # a store counts in 64 bits, and goes on counting from what it is given
_KINDS: dict[type, str] = {
    TransferBank: _BANK,
    TransferDocument: _DOCUMENTS,
    TransferFact: _FACTS,
    TransferObservation: _OBSERVATIONS,
    TransferNames: _NAMES,
    TransferModel: _MODELS,
    TransferNode: _NODES,
}
_ADAPTERS: dict[str, TypeAdapter[Any]] = {}

T = TypeVar("T")


@dataclass(slots=True)
class Archive:
    """What an archive carries."""

    manifest: Mapping[str, Any]
    bank: TransferBank | None = None
    documents: list[TransferDocument] = field(default_factory=list)
    facts: list[TransferFact] = field(default_factory=list)
    observations: list[TransferObservation] = field(default_factory=list)
    names: TransferNames = field(default_factory=TransferNames)
    models: list[TransferModel] = field(default_factory=list)
    nodes: list[TransferNode] = field(default_factory=list)
    blobs: set[str] = field(default_factory=set)


class ArchiveWriter:
    """Writes records, in the order of `TransferRecord`, into an archive."""

    def __init__(self, file: BinaryIO, *, source_bank: str, made_at: datetime) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self._head = {
            "format": FORMAT,
            "version": VERSION,
            "source_bank": source_bank,
            "created_at": made_at.isoformat(),
        }
        self._files: dict[str, dict[str, Any]] = {}
        self._stack = ExitStack()
        self._name = ""
        self._open: Any = None
        self._digest = hashlib.sha256()
        self.counts = {"documents": 0, "facts": 0, "observations": 0}

    def add(self, record: TransferRecord) -> None:
        """Append one record."""
        name = _KINDS[type(record)]
        if name != self._name:
            self._end_file()
            self._name, self._digest = name, hashlib.sha256()
            self._files[name] = {"bytes": 0, "lines": 0}
            self._open = self._stack.enter_context(self._zip.open(name, "w", force_zip64=True))
        line = _adapter(name).dump_json(record) + b"\n"
        self._open.write(line)
        self._digest.update(line)
        held = self._files[name]
        held["bytes"] += len(line)
        held["lines"] += 1
        if name in (_DOCUMENTS, _FACTS, _OBSERVATIONS):
            self.counts[name.removesuffix(".jsonl")] += 1

    def add_blob(self, digest: str, data: bytes) -> None:
        """Add the bytes of an attachment, behind all records."""
        self._end_file()
        self._zip.writestr(f"{_BLOBS}{digest}", data, zipfile.ZIP_STORED)

    def close(self) -> None:
        """Write the manifest and end the archive."""
        self._end_file()
        manifest = {**self._head, "counts": self.counts, "files": self._files}
        self._zip.writestr(MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=1))
        self._zip.close()

    def _end_file(self) -> None:
        self._stack.close()
        if self._name:
            self._files[self._name]["sha256"] = self._digest.hexdigest()
        self._name = ""


def read_blob(file: BinaryIO, digest: str) -> bytes:
    """The bytes of an attachment in an archive that was read before."""
    with zipfile.ZipFile(file) as opened:
        return opened.read(f"{_BLOBS}{digest}")


def read_archive(file: BinaryIO, limits: TransferLimits) -> Archive:
    """All of an archive, checked before anything of it is used. Raises InvalidInput for one that can't be trusted."""
    try:
        with zipfile.ZipFile(file) as opened:
            return _Reader(opened, limits).read()
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise _bad(f"it is no ZIP file that can be read ({error})") from error
    except zlib.error as error:
        raise _bad("it is damaged") from error


class _Reader:
    def __init__(self, opened: zipfile.ZipFile, limits: TransferLimits) -> None:
        self._zip = opened
        self._limits = limits
        self._left = limits.unpacked_bytes

    def read(self) -> Archive:
        names = [entry.filename for entry in self._zip.infolist()]
        blobs = [name.removeprefix(_BLOBS) for name in names if _BLOB.fullmatch(name)]
        unknown = [name for name in names if name not in (MANIFEST, *_FILES) and not _BLOB.fullmatch(name)]
        if unknown or len(set(names)) < len(names):
            raise _bad(f"it holds {(unknown or names)[0][:80]!r}, which is no file of such an archive")
        manifest = self._manifest()
        archive = Archive(manifest)
        for name in _FILES:
            listed = manifest["files"].get(name)
            if (listed is None) != (name not in names):
                raise _bad(f"its manifest and its files disagree about {name}")
            if listed is not None:
                self._records(name, listed, archive)
        _check(archive)
        for digest in blobs:
            self._check_blob(digest)
        archive.blobs.update(blobs)
        return archive

    def _check_blob(self, digest: str) -> None:
        found = hashlib.sha256()
        for piece in self._pieces(f"{_BLOBS}{digest}"):
            found.update(piece)
        if found.hexdigest() != digest:
            raise _bad(f"the bytes of attachment {digest[:16]} are not those of its hash")

    def _manifest(self) -> dict[str, Any]:
        try:
            manifest = json.loads(b"".join(self._pieces(MANIFEST)))
        except KeyError:
            raise _bad(f"it has no {MANIFEST}") from None
        except (ValueError, RecursionError):
            raise _bad(f"its {MANIFEST} is not JSON") from None
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise _bad("it was not written by an export")
        if manifest.get("version") != VERSION:
            raise _bad(f"it has version {manifest.get('version')!r}; this server reads version {VERSION}")
        if not isinstance(manifest.get("files"), dict):
            raise _bad("its manifest lists no files")
        return manifest

    def _records(self, name: str, listed: Any, archive: Archive) -> None:
        digest, lines = hashlib.sha256(), 0
        adapter = _adapter(name)
        for line in self._lines(name):
            digest.update(line)
            lines += 1
            try:
                record = adapter.validate_json(line)
            except ValidationError as error:
                first = error.errors(include_url=False, include_context=False, include_input=False)[0]
                where = ".".join(map(str, first["loc"]))
                raise _bad(f"line {lines} of {name} is wrong at {where!r}: {first['msg']}") from None
            if (wrong := _out_of_range(record)) is not None:
                told = "it is out of range, holds a NUL, or is a time without its zone"
                raise _bad(f"line {lines} of {name} is wrong at {wrong!r}: {told}")
            _put(archive, record)
        if not isinstance(listed, dict) or listed.get("sha256") != digest.hexdigest() or listed.get("lines") != lines:
            raise _bad(f"the checksum of {name} is wrong")

    def _lines(self, name: str) -> Iterator[bytes]:
        held = b""
        for piece in self._pieces(name):
            held += piece
            *lines, held = held.split(b"\n")
            for line in lines:
                yield line + b"\n"
            if len(held) > self._limits.line_bytes:
                raise _bad(f"a line of {name} is too long")
        if held:
            raise _bad(f"{name} ends in the middle of a line")

    def _pieces(self, name: str) -> Iterator[bytes]:
        packed, size = self._zip.getinfo(name).compress_size, 0
        with self._zip.open(name) as file:
            while piece := file.read(_PIECE):
                size += len(piece)
                self._left -= len(piece)
                if self._left < 0 or size > max(_FREE_BYTES, packed * self._limits.ratio):
                    raise _bad("unpacked it is too large")
                yield piece


def _put(archive: Archive, record: TransferRecord) -> None:
    if isinstance(record, TransferBank):
        archive.bank = record
    elif isinstance(record, TransferDocument):
        archive.documents.append(record)
    elif isinstance(record, TransferFact):
        archive.facts.append(record)
    elif isinstance(record, TransferObservation):
        archive.observations.append(record)
    elif isinstance(record, TransferModel):
        archive.models.append(record)
    elif isinstance(record, TransferNode):
        archive.nodes.append(record)
    else:
        archive.names = record


def _check(archive: Archive) -> None:
    """What the shape of the records alone does not tell."""
    documents = {document.document_id for document in archive.documents}
    if len(documents) < len(archive.documents) or not all(one.strip() for one in documents):
        raise _bad("two of its documents have one id, or one has none")
    try:
        for document in archive.documents:
            for part in document.parts:
                from_untrusted(part.source.get("attachments", ()))
    except ValueError as error:
        raise _bad(f"of document '{document.document_id[:80]}', {error}") from None
    memories = [*archive.facts, *(one.fact for one in archive.observations)]
    facts = {fact.fact_id for fact in memories}
    if len(facts) < len(memories) or not all(one.strip() for one in facts):
        raise _bad("two of its memories have one id, or one has none")
    blank = next((fact for fact in memories if not fact.text.strip()), None)
    if blank is not None:
        raise _bad(f"memory '{blank.fact_id[:80]}' has no text")
    if any(len(one) > _LONGEST_ID for one in (*documents, *facts)):
        raise _bad(f"one of its ids is longer than {_LONGEST_ID} characters")
    lost = next((fact for fact in archive.facts if fact.document_id not in documents), None)
    if lost is not None:
        raise _bad(f"memory '{lost.fact_id[:80]}' belongs to a document that is not in it")
    _check_observations(archive)


def _check_observations(archive: Archive) -> None:
    texts = {fact.fact_id: fact.text for fact in archive.facts}
    for one in archive.observations:
        named = f"observation '{one.fact.fact_id[:80]}'"
        if one.fact.fact_type is not FactType.OBSERVATION or one.fact.document_id or one.version < 1:
            raise _bad(f"{named} is none")
        if not one.sources or not all(
            source.fact_id in texts and source.quote in texts[source.fact_id] for source in one.sources
        ):
            raise _bad(f"{named} rests on nothing, or quotes what its sources do not say")
        if len(one.history) > MOST_VERSIONS or tuple(sorted(set(one.scope))) != one.scope:
            raise _bad(f"the history or the scope of {named} can't be")


def _out_of_range(value: object, place: str = "") -> str | None:
    """Where a record holds a number, a time or a text that no store could keep, or give back in UTC."""
    inner: Iterable[tuple[str, object]] = ()
    if isinstance(value, int):
        if place.rpartition(".")[2] == "fold":
            return None if -_LARGEST_HASH - 1 <= value <= _LARGEST_HASH else place
        return None if 0 <= value <= _LARGEST_COUNT else place
    if isinstance(value, str):
        return place if "\0" in value else None
    if isinstance(value, datetime):
        if value.tzinfo is None:
            return place
        try:
            value.astimezone(UTC)
        except (OverflowError, ValueError):
            return place
    elif isinstance(value, tuple):
        inner = ((f"{place}.{index}", one) for index, one in enumerate(value))
    elif is_dataclass(value):
        inner = ((f"{place}.{one.name}", getattr(value, one.name)) for one in fields(value))
    wrong = (_out_of_range(one, name.lstrip(".")) for name, one in inner)
    return next((name for name in wrong if name is not None), None)


def _bad(reason: str) -> InvalidInput:
    return InvalidInput(f"The archive can't be imported: {reason}.", field="file")


def _adapter(name: str) -> TypeAdapter[Any]:
    """Built when it is needed first, since that takes some milliseconds."""
    if name not in _ADAPTERS:
        kind = next(kind for kind, of in _KINDS.items() if of == name)
        _ADAPTERS[name] = TypeAdapter(kind)
    return _ADAPTERS[name]
