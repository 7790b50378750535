"""Dumps without secrets: the one place where adapters turn their options into plain data and back."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from .errors import SettingsError
from .settings import Deadlines, MemoryOptions
from .urls import safe_url

__all__ = ["DUMPED_OPTIONS", "dump_options", "load_options", "safe_url", "scrub"]

#: The keys of every dump, in order: the names that saved pipelines of the ecosystem hold.
DUMPED_OPTIONS: tuple[str, ...] = (
    "bank_id",
    "hindsight_api_url",
    "budget",
    "max_tokens",
    "tags",
    "recall_tags",
    "recall_tags_match",
    "retain_metadata",
    "retain_document_id",
    "retain_context",
    "recall_types",
    "recall_include_entities",
    "reflect_context",
    "reflect_max_tokens",
    "reflect_response_schema",
    "reflect_tags",
    "reflect_tags_match",
    "mission",
)
#: Written only when they differ from their default, so that older readers meet no unknown key.
_OPTIONAL = ("source_tag", "retain_async", "tag_groups", "min_scores", "deadlines")

#: A key behind the word that announces it, in headers, JSON, settings and prose.
_ANNOUNCED_KEY = re.compile(
    r"(?i)\b(authorization['\"]?\s*[:=]\s*['\"]?(?:(?:bearer|basic)\s+)?|bearer\s+|api[-_]?key['\"]?\s*[:=]\s*['\"]?)"
    r"[^\s'\",}]+"
)
_URL_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


def dump_options(options: MemoryOptions, *, hindsight_api_url: str | None = None) -> dict[str, Any]:
    """Options as plain data (JSON and YAML can hold it). There is no key among them.

    Args:
        options: what to dump; the raw arguments, so that ``configure()`` values stay the loading host's business.
        hindsight_api_url: written when the options themselves name no address.
    """
    dumped: dict[str, Any] = {name: copy.deepcopy(getattr(options, name)) for name in DUMPED_OPTIONS}
    url = options.hindsight_api_url or hindsight_api_url
    dumped["hindsight_api_url"] = safe_url(url) if url else None
    defaults = MemoryOptions()
    for name in _OPTIONAL:
        value = getattr(options, name)
        if value != getattr(defaults, name):
            dumped[name] = asdict(value) if isinstance(value, Deadlines) else copy.deepcopy(value)
    return dumped


def load_options(data: Mapping[str, Any]) -> MemoryOptions:
    """Options from :func:`dump_options` data.

    Raises:
        SettingsError: an unknown key, or a value out of range.
    """
    known = {f.name for f in fields(MemoryOptions)}
    unknown = sorted(set(data) - known)
    if unknown:
        raise SettingsError(f"unknown memory option {', '.join(unknown)}; this package may be older than the dump")
    values = dict(copy.deepcopy(dict(data)))
    if isinstance(values.get("deadlines"), Mapping):
        values["deadlines"] = Deadlines(**values["deadlines"])
    return MemoryOptions(**values)


def scrub(text: str, *secrets: str | None) -> str:
    """``text`` with the given secrets, announced keys (``Authorization: ...``) and URL credentials blotted out."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "***")
    return _URL_CREDENTIALS.sub("***@", _ANNOUNCED_KEY.sub(r"\1***", text))
