"""Checking the items of a request and bringing them into shape."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hindsight_server.domain.errors import BadRequest, InvalidInput
from hindsight_server.domain.model import EntityMention, RetainItem, UpdateMode
from hindsight_server.domain.text import clean_text
from hindsight_server.engine.attachments.blocks import BlockContent, read_blocks
from hindsight_server.engine.retain.types import ItemInput, RetainLimits
from hindsight_server.engine.times import parse_time

_UNSET = "unset"
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
_SCOPE_WORDS = ("per_tag", "combined", "all_combinations", "shared")


@dataclass(frozen=True, slots=True)
class CheckedItem:
    """An item in shape; `given_time` is the time as the caller gave it ("" when it was left to the clock).

    `uploads` are the bytes of its attachments, by digest, as long as they are at hand.
    """

    item: RetainItem
    given_time: str
    uploads: Mapping[str, bytes] = field(default_factory=dict, repr=False, compare=False)

    def signature(self) -> str:
        """All of the item that shapes its facts, besides its text; the clock's time is not part of it."""
        item = self.item
        entities = [(mention.name, mention.type, mention.literal) for mention in item.entities]
        parts = (self.given_time, item.context, sorted(item.metadata.items()), sorted(item.tags), entities)
        return repr(parts)


def check_bank_id(bank_id: str) -> str:
    """The id as it is: any script, slashes, spaces and emoji are fine. InvalidInput when it is blank or unstorable."""
    return _identifier(bank_id, "bank_id", RetainLimits().short_chars)


def check_items(
    items: Sequence[ItemInput],
    document_tags: Sequence[str],
    new_document_id: Callable[[int], str],
    now: datetime,
    limits: RetainLimits,
) -> list[CheckedItem]:
    """All items in shape, or InvalidInput naming the first item and field that can't be stored.

    Args:
        new_document_id: makes the document id of an item (by its index) that names none.
        now: the time of items that give none.
    """
    if not items:
        raise InvalidInput("items is empty; send at least one item.", field="items")
    if len(items) > limits.items:
        raise InvalidInput(f"items holds {len(items)} items; at most {limits.items} fit one request.", field="items")
    request = _Request(check_tags(document_tags, "document_tags", limits), now, limits)
    return [_check(item, f"items[{index}]", new_document_id(index), request) for index, item in enumerate(items)]


def fingerprint(items: Sequence[CheckedItem]) -> str:
    """What a request asks for, as a hash: equal for a repeated request, whenever it comes."""
    digest = hashlib.sha256()
    for checked in items:
        item = checked.item
        scopes = json.dumps(item.observation_scopes, sort_keys=True)
        document_id = item.document_id if item.document_given else None
        rest = repr((item.content, document_id, item.update_mode.value, item.strategy, scopes))
        if item.receipt_uri is not None:
            rest += repr(item.receipt_uri)
        digest.update(f"{checked.signature()}\0{rest}\0".encode())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class _Request:
    """What all items of a request share."""

    tags: tuple[str, ...]
    now: datetime
    limits: RetainLimits


def _check(given: ItemInput, path: str, new_document_id: str, request: _Request) -> CheckedItem:
    limits = request.limits
    document_id = _document_id(given.document_id, f"{path}.document_id", limits)
    timestamp, given_time = _timestamp(given.timestamp, f"{path}.timestamp", request.now)
    tags = check_tags(given.tags or (), f"{path}.tags", limits)
    content = _content(given.content, f"{path}.content", limits)
    item = RetainItem(
        content=content.text,
        document_id=document_id or new_document_id,
        document_given=document_id is not None,
        timestamp=timestamp,
        context=clean_text(given.context).strip() or None if given.context else None,
        metadata=_metadata(given.metadata, f"{path}.metadata", limits),
        entities=_entities(given, f"{path}.entities", limits),
        tags=tuple(dict.fromkeys((*tags, *request.tags))),
        update_mode=_mode(given.update_mode, document_id, path),
        observation_scopes=check_scopes(given.observation_scopes, f"{path}.observation_scopes"),
        strategy=given.strategy or None,
        receipt_uri=_uri(given.receipt_uri, f"{path}.receipt_uri", limits),
        attachments=(*content.attachments, *given.attachments),
    )
    return CheckedItem(item, given_time, content.uploads)


def _document_id(given: str | None, field: str, limits: RetainLimits) -> str | None:
    if given is None or not given.strip():
        return None
    return _identifier(given, field, limits.short_chars)


def _mode(value: str | None, document_id: str | None, path: str) -> UpdateMode:
    field = f"{path}.update_mode"
    try:
        mode = UpdateMode(value or UpdateMode.REPLACE)
    except ValueError:
        raise InvalidInput(f"{field} must be 'replace' or 'append'.", field=field) from None
    if mode is UpdateMode.APPEND and document_id is None:
        raise BadRequest(f"{field} 'append' needs a document_id: there is nothing to append to.", field=field)
    return mode


def _content(content: str | Sequence[Mapping[str, Any]], field: str, limits: RetainLimits) -> BlockContent:
    if isinstance(content, str):
        read = BlockContent(text=clean_text(content))
    else:
        read = read_blocks(content, field, limits.attachments)
    if not read.text or read.text.isspace():
        raise InvalidInput(f"{field} is empty; there is nothing to remember.", field=field)
    if len(read.text) > limits.content_chars:
        raise InvalidInput(
            f"{field} has {len(read.text)} characters; at most {limits.content_chars} are taken. Split it into items.",
            field=field,
        )
    return read


def _timestamp(value: datetime | str | None, field: str, now: datetime) -> tuple[datetime | None, str]:
    if value is None or (isinstance(value, str) and not value.strip()):
        return now, ""
    if isinstance(value, str) and value.strip().lower() == _UNSET:
        return None, _UNSET
    parsed = parse_time(value, field)
    return parsed, parsed.isoformat()


def _uri(given: str | None, field: str, limits: RetainLimits) -> str | None:
    if given is None or not given.strip():
        return None
    uri = _short(given, field, limits.uri_chars)
    if not _URI.fullmatch(uri):
        raise InvalidInput(f"{field} must be a URI, such as https://...: a scheme, a colon, no spaces.", field=field)
    return uri


def _metadata(given: Mapping[str, Any] | None, field: str, limits: RetainLimits) -> dict[str, str]:
    kept = {}
    for key, value in (given or {}).items():
        if value is None:
            continue
        if not isinstance(value, str):
            raise InvalidInput(f"{field}.{key[:80]} must be text; write numbers as text.", field=f"{field}.{key[:80]}")
        kept[_short(key, f"{field} key", limits.short_chars)] = clean_text(value)
    return kept


def _entities(given: ItemInput, field: str, limits: RetainLimits) -> tuple[EntityMention, ...]:
    mentions = []
    for index, entity in enumerate(given.entities or ()):
        name = entity.get("text") or entity.get("name")
        if not isinstance(name, str) or not clean_text(name).strip():
            raise InvalidInput(f"{field}[{index}].text must be a name.", field=f"{field}[{index}].text")
        name = _short(name, f"{field}[{index}].text", limits.short_chars)
        kind = str(entity.get("type") or "CONCEPT")
        mentions.append(EntityMention(name=name, type=clean_text(kind), literal=not given.resolve_entities))
    return tuple(mentions)


def check_tags(given: Sequence[str], field: str, limits: RetainLimits) -> tuple[str, ...]:
    """The tags of an item, document or memory as they will be stored, each once.

    Raises:
        InvalidInput: there are too many, or one is blank or too long.
    """
    if len(given) > limits.tags:
        raise InvalidInput(f"{field} holds {len(given)} tags; at most {limits.tags} are taken.", field=field)
    return tuple(dict.fromkeys(_tag(tag, f"{field}[{index}]", limits) for index, tag in enumerate(given)))


def _tag(tag: str, field: str, limits: RetainLimits) -> str:
    if not isinstance(tag, str):
        raise InvalidInput(f"{field} must be text.", field=field)
    return _short(tag, field, limits.short_chars)


def check_scopes(scopes: object | None, field: str) -> object | None:
    """Observation scopes: one of four words, or lists of tags; InvalidInput otherwise."""
    if scopes is None or (isinstance(scopes, str) and scopes in _SCOPE_WORDS):
        return scopes
    if isinstance(scopes, list) and all(
        isinstance(scope, list) and all(isinstance(tag, str) for tag in scope) for scope in scopes
    ):
        return [[clean_text(tag) for tag in scope] for scope in scopes]
    raise InvalidInput(f"{field} must be one of {', '.join(_SCOPE_WORDS)}, or lists of tags.", field=field)


def _short(text: str, field: str, limit: int) -> str:
    cleaned = clean_text(text).strip()
    if not cleaned:
        raise InvalidInput(f"{field} is blank; leave it out.", field=field)
    if len(cleaned) > limit:
        raise InvalidInput(f"{field} has {len(cleaned)} characters; at most {limit} are taken.", field=field)
    return cleaned


def _identifier(text: str, field: str, limit: int) -> str:
    # An id is never altered: two ids that differ must stay two.
    if clean_text(text) != text:
        raise InvalidInput(f"{field} holds a NUL character or half a surrogate pair; take it out.", field=field)
    if not text.strip():
        raise InvalidInput(f"{field} is blank.", field=field)
    if len(text) > limit:
        raise InvalidInput(f"{field} has {len(text)} characters; at most {limit} are taken.", field=field)
    return text
