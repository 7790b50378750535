"""Which kinds of files there are, and how a file is told to be of one."""

from __future__ import annotations

from enum import StrEnum
from pathlib import PurePath


class Kind(StrEnum):
    """A kind of file; `IMAGE` and `AUDIO` are known, and read by models only."""

    TEXT = "text"
    CSV = "csv"
    TSV = "tsv"
    HTML = "html"
    PDF = "pdf"
    DOCX = "docx"
    PPTX = "pptx"
    XLSX = "xlsx"
    IMAGE = "image"
    AUDIO = "audio"


_TEXT_SUFFIXES = (
    "txt text md markdown rst log json jsonl ndjson yaml yml toml ini cfg xml srt vtt tex org adoc eml "
    "py js ts java c h cpp go rs rb sh sql css"
)
_SUFFIXES: dict[str, Kind] = {
    **dict.fromkeys(_TEXT_SUFFIXES.split(), Kind.TEXT),
    "csv": Kind.CSV,
    "tsv": Kind.TSV,
    **dict.fromkeys(("html", "htm", "xhtml"), Kind.HTML),
    "pdf": Kind.PDF,
    **dict.fromkeys(("docx", "docm"), Kind.DOCX),
    **dict.fromkeys(("pptx", "pptm"), Kind.PPTX),
    **dict.fromkeys(("xlsx", "xlsm"), Kind.XLSX),
    **dict.fromkeys(("png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "heic", "avif"), Kind.IMAGE),
    **dict.fromkeys(("mp3", "wav", "m4a", "ogg", "oga", "flac", "aac", "opus", "webm", "mp4"), Kind.AUDIO),
}
_OFFICE = "application/vnd.openxmlformats-officedocument."
_MEDIA_TYPES: dict[str, Kind] = {
    "text/csv": Kind.CSV,
    "text/tab-separated-values": Kind.TSV,
    "text/html": Kind.HTML,
    "application/xhtml+xml": Kind.HTML,
    "application/pdf": Kind.PDF,
    f"{_OFFICE}wordprocessingml.document": Kind.DOCX,
    f"{_OFFICE}presentationml.presentation": Kind.PPTX,
    f"{_OFFICE}spreadsheetml.sheet": Kind.XLSX,
    **dict.fromkeys(
        (
            "application/json",
            "application/jsonl",
            "application/x-ndjson",
            "application/yaml",
            "application/x-yaml",
            "application/toml",
            "application/xml",
        ),
        Kind.TEXT,
    ),
}
SUFFIXES = tuple(_SUFFIXES)
"""All endings of names that are known."""


def kind_of(filename: str, media_type: str) -> Kind | None:
    """The kind of a file by the ending of its name, else by its media type; None for an unknown one."""
    suffix = PurePath(filename).suffix.lower().removeprefix(".")
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    plain = media_type.partition(";")[0].strip().lower()
    if plain in _MEDIA_TYPES:
        return _MEDIA_TYPES[plain]
    main = plain.partition("/")[0]
    return {"text": Kind.TEXT, "image": Kind.IMAGE, "audio": Kind.AUDIO}.get(main)
