"""Bank templates: a bank's settings as a manifest that sets up other banks likewise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hindsight_server.domain.errors import BankNotFound, InvalidInput
from hindsight_server.engine import config as settings
from hindsight_server.engine.banks import BankInput, Banks
from hindsight_server.engine.retain.items import check_bank_id
from hindsight_server.engine.transfer.transfers import without_secrets

VERSION = "1"
_MISSING_HERE = ("mental_models", "directives")


@dataclass(frozen=True, slots=True)
class TemplateOutcome:
    """What an import of a manifest did, or would do."""

    bank_id: str
    config_applied: bool
    dry_run: bool


class Templates:
    """Use cases on manifests. They hold settings only: this server has no mental models and no directives yet."""

    def __init__(self, banks: Banks) -> None:
        self._banks = banks

    async def export(self, bank_id: str) -> dict[str, Any]:
        """The manifest of a bank: the settings that it sets itself, nothing that is a secret. Raises BankNotFound."""
        config = await self._banks.config(bank_id)
        return {
            "version": VERSION,
            "bank": without_secrets(config.overrides),
            "mental_models": None,
            "directives": None,
        }

    async def apply(self, bank_id: str, manifest: Mapping[str, Any], *, dry_run: bool = False) -> TemplateOutcome:
        """Set a bank up, making it when it is not there; `dry_run` only checks.

        Raises:
            InvalidInput: another version, a setting or a value that there is not, or what this server can't set up.
        """
        check_bank_id(bank_id)
        if str(manifest.get("version")) != VERSION:
            raise InvalidInput(f"version must be '{VERSION}', not {manifest.get('version')!r}.", field="version")
        for name in _MISSING_HERE:
            if manifest.get(name):
                raise InvalidInput(
                    f"This server has no {name.replace('_', ' ')} yet, and applies no half of a template: "
                    f"leave '{name}' out to apply the settings alone.",
                    field=name,
                )
        given = manifest.get("bank") or {}
        if not isinstance(given, Mapping):
            raise InvalidInput("bank must be an object of settings.", field="bank")
        wanted = {name: value for name, value in given.items() if value is not None}
        self._banks.checked(wanted)
        if not dry_run and (wanted or not await self._exists(bank_id)):
            await self._banks.put(bank_id, BankInput(config=wanted))
        return TemplateOutcome(bank_id, bool(wanted) and not dry_run, dry_run)

    async def _exists(self, bank_id: str) -> bool:
        try:
            await self._banks.get(bank_id)
        except BankNotFound:
            return False
        return True


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
            **{name: {"type": ["array", "null"], "maxItems": 0} for name in _MISSING_HERE},
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
