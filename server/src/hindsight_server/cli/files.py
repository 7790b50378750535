"""Which files `retain-files` takes: kinds that are text. Others are refused with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_PROSE_SUFFIXES = (".txt", ".text", ".md", ".markdown", ".rst", ".adoc", ".org", ".tex", ".log")
_DATA_SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".toml")
TEXT_SUFFIXES = frozenset((*_PROSE_SUFFIXES, *_DATA_SUFFIXES))
MAX_FILE_BYTES = 16 * 1024 * 1024


class Refused(Exception):
    """The file can't be retained; the message says why."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file to retain, and the document id it gets: its path as it was named."""

    path: Path
    document_id: str


def collect(paths: Sequence[Path]) -> Iterator[Candidate]:
    """The given files, and those in the given directories (hidden ones left out), in order of name."""
    for path in paths:
        if not path.is_dir():
            yield Candidate(path, path.as_posix())
            continue
        for found in sorted(path.rglob("*")):
            inside = found.relative_to(path)
            if found.is_file() and not any(part.startswith(".") for part in inside.parts):
                yield Candidate(found, found.as_posix())


def read(path: Path) -> str:
    """A file's text. Raises Refused."""
    if not path.exists():
        raise Refused("there is no such file")
    if not path.is_file():
        raise Refused("not a regular file")
    if path.suffix.lower() not in TEXT_SUFFIXES:
        kind = path.suffix or "a name without suffix"
        raise Refused(f"{kind} is no text kind; `hindsight document upload` takes PDF, DOCX and more")
    if path.stat().st_size > MAX_FILE_BYTES:
        raise Refused(f"larger than {MAX_FILE_BYTES // 2**20} MiB; split it")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise Refused("not UTF-8 text; convert it to UTF-8 first") from None
    except OSError as error:
        raise Refused(error.strerror or str(error)) from None
    if not text.strip():
        raise Refused("empty")
    return text
