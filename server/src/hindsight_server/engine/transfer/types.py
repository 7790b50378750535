"""What an export and an import can be told."""

from __future__ import annotations

from dataclasses import dataclass

from hindsight_server.domain.errors import InvalidInput

CONFLICTS = ("skip", "replace", "new-id")
MODES = ("restore", "merge")


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferLimits:
    """What is refused.

    Args:
        archive_bytes: size of an archive as it comes.
        unpacked_bytes: size of all its files unpacked, counted while they are read.
        ratio: how much larger a file may be unpacked, once it is larger than a mebibyte.
        line_bytes: one document or fact.
        encode_at_once: facts that get their vectors before they are stored; those beyond are found by words at once,
            and by likeness as soon as the server has encoded them.
        keep_hours: how long an export can be fetched, and an upload waits.
    """

    archive_bytes: int = 1 << 30
    unpacked_bytes: int = 4 << 30
    ratio: int = 200
    line_bytes: int = 64 << 20
    encode_at_once: int = 20_000
    keep_hours: int = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportInput:
    """What an archive is to carry.

    Args:
        document_ids: only these documents, without anything that belongs to the bank as a whole; None for all.
        include_data: documents and memories.
        include_config: the bank's own settings.
        include_observations: memories that were drawn from others, too.
        include_pages: mental models and the tree of knowledge pages, too.
    """

    document_ids: tuple[str, ...] | None = None
    include_data: bool = True
    include_config: bool = True
    include_observations: bool = True
    include_pages: bool = False

    def __post_init__(self) -> None:
        if not (self.include_data or self.include_config):
            told = "Nothing would be exported: set include_data or include_bank_config."
            raise InvalidInput(told, field="include_data")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportInput:
    """How an archive is taken in.

    Args:
        mode: ``restore`` into a bank that holds nothing, or ``merge`` into this one.
        target_bank_id: the bank to restore into; None for the one the archive came from.
        conflict: when merging, what becomes of a document whose id is taken: ``skip``, ``replace`` or ``new-id``.
        include_data, include_config: take only a part of what the archive carries; a merge never takes settings.
    """

    mode: str = "restore"
    target_bank_id: str | None = None
    conflict: str = "skip"
    include_data: bool = True
    include_config: bool = True

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise InvalidInput(f"mode must be one of: {', '.join(MODES)}.", field="mode")
        if self.conflict not in CONFLICTS:
            raise InvalidInput(
                f"What becomes of a document whose id is taken must be one of: {', '.join(CONFLICTS)}.",
                field="on_conflict",
            )
