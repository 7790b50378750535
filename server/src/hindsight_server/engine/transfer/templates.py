"""Bank templates: a bank's settings, mental models and directives as a manifest that sets up other banks likewise."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hindsight_server.domain.directives import Directive
from hindsight_server.domain.errors import BankNotFound, InvalidInput, NotFound
from hindsight_server.domain.pages.trigger import TRIGGER_FIELDS
from hindsight_server.engine import config as settings
from hindsight_server.engine.banks import BankInput, Banks
from hindsight_server.engine.directives import DirectiveInput, Directives, check_directive
from hindsight_server.engine.mental_models.models import MentalModels
from hindsight_server.engine.mental_models.types import (
    LEAST_TOKENS,
    MOST_TOKENS,
    MentalModelInput,
    MentalModelPatch,
)
from hindsight_server.engine.retain.items import check_bank_id
from hindsight_server.engine.transfer.transfers import without_secrets
from hindsight_server.ports.records import Page

VERSION = "1"
_MOST = 10_000  # of one kind in a manifest that is applied: all of it is checked at once
_PAGE = 1000
_One = TypeVar("_One")


@dataclass(frozen=True, slots=True)
class TemplateOutcome:
    """What an import of a manifest did, or would do."""

    bank_id: str
    config_applied: bool
    dry_run: bool
    mental_models_created: list[str] = field(default_factory=list)
    mental_models_updated: list[str] = field(default_factory=list)
    directives_created: list[str] = field(default_factory=list)
    directives_updated: list[str] = field(default_factory=list)
    operation_ids: list[str] = field(default_factory=list)


class Templates:
    """Use cases on manifests. They hold no memories, and none of what mental models say: only what they are to say.

    Mental models are known by their ids, directives by their names: an import changes those that are there. Of several
    directives of one name, the first of a manifest changes the first of the bank.
    """

    def __init__(self, banks: Banks, models: MentalModels, directives: Directives) -> None:
        self._banks = banks
        self._models = models
        self._directives = directives

    async def export(self, bank_id: str) -> dict[str, Any]:
        """The manifest of a bank: what it sets itself, nothing that is a secret. Raises BankNotFound."""
        config = await self._banks.config(bank_id)
        models = await _all(lambda offset: self._models.list(bank_id, limit=_PAGE, offset=offset, pages=False))
        rules = await self._rules(bank_id)
        return {
            "version": VERSION,
            "bank": without_secrets(config.overrides),
            "mental_models": [
                {
                    "id": seen.model.mental_model_id,
                    "name": seen.model.name,
                    "source_query": seen.model.source_query,
                    "tags": list(seen.model.tags),
                    "max_tokens": seen.model.max_tokens,
                    "trigger": seen.model.trigger.as_json(),
                }
                for seen in models
            ]
            or None,
            "directives": [
                {
                    "name": rule.name,
                    "content": rule.content,
                    "priority": rule.priority,
                    "is_active": rule.is_active,
                    "tags": list(rule.tags),
                }
                for rule in rules
            ]
            or None,
        }

    async def apply(self, bank_id: str, manifest: Mapping[str, Any], *, dry_run: bool = False) -> TemplateOutcome:
        """Set a bank up, making it when it is not there; `dry_run` only checks.

        Everything is checked before anything is done.

        Raises:
            InvalidInput: another version, or a value that can't be one; the field says where.
        """
        check_bank_id(bank_id)
        if str(manifest.get("version")) != VERSION:
            raise InvalidInput(f"version must be '{VERSION}', not {manifest.get('version')!r}.", field="version")
        given = manifest.get("bank") or {}
        if not isinstance(given, Mapping):
            raise InvalidInput("bank must be an object of settings.", field="bank")
        wanted = {name: value for name, value in given.items() if value is not None}
        self._banks.checked(wanted)
        models = self._checked_models(bank_id, manifest.get("mental_models"))
        rules = _checked_rules(manifest.get("directives"))
        outcome = TemplateOutcome(bank_id, bool(wanted) and not dry_run, dry_run)
        if not dry_run and (wanted or not await self._exists(bank_id)):
            await self._banks.put(bank_id, BankInput(config=wanted))
        for model in models:
            await self._put_model(bank_id, model, outcome)
        await self._put_rules(bank_id, rules, outcome)
        return outcome

    def _checked_models(self, bank_id: str, given: Any) -> list[MentalModelInput]:
        found = []
        for place, one in _objects(given, "mental_models"):
            try:
                wanted = MentalModelInput(
                    mental_model_id=_text(one, "id"),
                    name=_text(one, "name"),
                    source_query=_text(one, "source_query"),
                    tags=_texts(one, "tags"),
                    max_tokens=_value(one, "max_tokens", int, 2048),
                    trigger=_value(one, "trigger", dict, {}),
                )
                self._models.checked(bank_id, wanted)
            except InvalidInput as problem:
                raise InvalidInput(f"{place}: {problem}", field=f"{place}.{problem.field}") from None
            found.append(wanted)
        ids = [one.mental_model_id for one in found]
        if len(set(ids)) < len(ids):
            raise InvalidInput("Two of the mental models have one id.", field="mental_models")
        return found

    async def _put_model(self, bank_id: str, wanted: MentalModelInput, outcome: TemplateOutcome) -> None:
        assert wanted.mental_model_id is not None
        if not await self._has_model(bank_id, wanted.mental_model_id):
            outcome.mental_models_created.append(wanted.mental_model_id)
            if not outcome.dry_run:
                _, refresh = await self._models.create(bank_id, wanted)
                outcome.operation_ids.append(refresh.operation_id)
            return
        outcome.mental_models_updated.append(wanted.mental_model_id)
        if not outcome.dry_run:
            patch = MentalModelPatch(
                name=wanted.name,
                source_query=wanted.source_query,
                tags=wanted.tags,
                max_tokens=wanted.max_tokens,
                trigger=wanted.trigger,
            )
            _, changed = await self._models.update(bank_id, wanted.mental_model_id, patch)
            if changed is not None:
                outcome.operation_ids.append(changed.operation_id)

    async def _put_rules(self, bank_id: str, rules: Sequence[DirectiveInput], outcome: TemplateOutcome) -> None:
        held: dict[str, list[str]] = {}
        if rules and await self._exists(bank_id):
            for known in await self._rules(bank_id):
                held.setdefault(known.name, []).append(known.directive_id)
        for rule in rules:
            assert rule.name is not None
            same = held.get(rule.name)
            (outcome.directives_updated if same else outcome.directives_created).append(rule.name)
            directive_id = same.pop(0) if same else None
            if outcome.dry_run:
                continue
            if directive_id is not None:
                await self._directives.update(bank_id, directive_id, rule)
            else:
                await self._directives.create(bank_id, rule)

    async def _rules(self, bank_id: str) -> list[Directive]:
        return await _all(lambda offset: self._directives.list(bank_id, active_only=False, limit=_PAGE, offset=offset))

    async def _has_model(self, bank_id: str, mental_model_id: str) -> bool:
        try:
            await self._models.get(bank_id, mental_model_id)
        except NotFound:
            return False
        return True

    async def _exists(self, bank_id: str) -> bool:
        try:
            await self._banks.get(bank_id)
        except BankNotFound:
            return False
        return True


async def _all(read: Callable[[int], Awaitable[Page[_One]]]) -> list[_One]:
    """What is listed, page by page. `read` is given how many to skip."""
    found: list[_One] = []
    while True:
        page = await read(len(found))
        found += page.items
        if not page.items or len(found) >= page.total:
            return found


def _checked_rules(given: Any) -> list[DirectiveInput]:
    found = []
    for place, one in _objects(given, "directives"):
        try:
            rule = DirectiveInput(
                name=_text(one, "name"),
                content=_text(one, "content"),
                priority=_value(one, "priority", int, 0),
                is_active=_value(one, "is_active", bool, True),
                tags=_texts(one, "tags"),
            )
            check_directive(rule)
            found.append(rule)
        except InvalidInput as problem:
            raise InvalidInput(f"{place}: {problem}", field=f"{place}.{problem.field}") from None
    return found


def _objects(given: Any, name: str) -> list[tuple[str, Mapping[str, Any]]]:
    if given is None:
        return []
    if not isinstance(given, list) or not all(isinstance(one, Mapping) for one in given):
        raise InvalidInput(f"{name} must be a list of objects.", field=name)
    if len(given) > _MOST:
        raise InvalidInput(
            f"{name} holds {len(given)} objects; one import takes at most {_MOST}. Import them in several manifests, "
            "those of one name in the same one.",
            field=name,
        )
    return [(f"{name}[{index}]", one) for index, one in enumerate(given)]


def _text(one: Mapping[str, Any], name: str) -> str:
    value = one.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{name} must be text that is not blank.", field=name)
    return value


def _texts(one: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = _value(one, name, list, [])
    if not all(isinstance(tag, str) for tag in value):
        raise InvalidInput(f"{name} must be a list of texts.", field=name)
    return tuple(value)


def _value(one: Mapping[str, Any], name: str, kind: type, default: Any) -> Any:
    value = one.get(name)
    if value is None:
        return default
    # In Python a bool is an int; in a manifest it is not.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise InvalidInput(f"{name} must be {settings.TYPE_NAMES[kind]}.", field=name)
    return value


def manifest_schema() -> dict[str, Any]:
    """The JSON Schema of a manifest, as this server takes it."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "BankTemplateManifest",
        "type": "object",
        "required": ["version"],
        "properties": {
            "version": {"const": VERSION},
            "bank": {
                "type": ["object", "null"],
                "properties": {name: _schema_of(key) for name, key in settings.CONFIG_KEYS.items()},
                "additionalProperties": False,
            },
            "mental_models": {"type": ["array", "null"], "maxItems": _MOST, "items": _MODEL},
            "directives": {"type": ["array", "null"], "maxItems": _MOST, "items": _DIRECTIVE},
        },
    }


_TAGS = {"type": "array", "items": {"type": "string"}}
_MODEL: Mapping[str, Any] = {
    "type": "object",
    "required": ["id", "name", "source_query"],
    "properties": {
        "id": {"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]{0,198}[a-z0-9])?$"},
        "name": {"type": "string"},
        "source_query": {"type": "string"},
        "tags": _TAGS,
        "max_tokens": {"type": "integer", "minimum": LEAST_TOKENS, "maximum": MOST_TOKENS},
        "trigger": {"type": "object", "properties": {name: {} for name in TRIGGER_FIELDS}},
    },
}
_DIRECTIVE: Mapping[str, Any] = {
    "type": "object",
    "required": ["name", "content"],
    "properties": {
        "name": {"type": "string"},
        "content": {"type": "string"},
        "priority": {"type": "integer"},
        "is_active": {"type": "boolean"},
        "tags": _TAGS,
    },
}
_JSON_TYPES: Mapping[type, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
}


def _schema_of(key: settings.ConfigKey) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": [*(_JSON_TYPES[kind] for kind in key.types), "null"]}
    if key.choices:
        schema["enum"] = [*key.choices, None]
    if key.minimum is not None:
        schema["minimum"] = key.minimum
    if key.maximum is not None:
        schema["maximum"] = key.maximum
    return schema
