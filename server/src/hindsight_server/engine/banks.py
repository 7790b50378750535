"""Banks: profile, settings, counts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from hindsight_server.domain.errors import BankNotFound, InvalidInput
from hindsight_server.domain.text import clean_text
from hindsight_server.engine import config as settings
from hindsight_server.engine.retain.items import check_bank_id
from hindsight_server.engine.transfer.withdrawal import OnForget, forgetting, no_exports
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.records import Bank, BankChange, BankStats, Page
from hindsight_server.ports.store import Store

_TRAITS = ("skepticism", "literalism", "empathy")
_MISSION = "reflect_mission"


@dataclass(frozen=True, slots=True, kw_only=True)
class BankInput:
    """What a create or update sets on a bank; None leaves a value as it is.

    Args:
        mission, background: older names of the setting ``reflect_mission``; the newest name wins.
        config: other settings, by name (``retain_mission``, ``disposition_empathy``, ...); null values are ignored.
    """

    name: str | None = None
    mission: str | None = None
    background: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BankConfig:
    """The settings of a bank.

    Args:
        config: every setting, resolved.
        overrides: those that the bank sets itself.
        not_applied: overrides that are kept but have no effect in this server as it runs now.
    """

    bank_id: str
    config: Mapping[str, Any]
    overrides: Mapping[str, Any]
    not_applied: tuple[str, ...]


class Banks:
    """Use cases on banks. The mission and the traits are settings; the bank's profile repeats them.

    Args:
        defaults: settings of banks that set none themselves, where the server was given any.
        models: the kinds of work that a language model does, among ``retain``, ``reflect`` and ``consolidation``.

    Example:
        >>> bank = await banks.put("ann", BankInput(config={"disposition_empathy": 5}))
        >>> bank.empathy
        5
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        defaults: Mapping[str, Any] | None = None,
        *,
        on_forget: OnForget = no_exports,
        models: Collection[str] = (),
    ) -> None:
        self._models = models
        self._on_forget = on_forget
        self._defaults = defaults or {}
        self._store = store
        self._clock = clock

    async def put(self, bank_id: str, given: BankInput) -> Bank:
        """Create a bank, or change the one there is. Raises InvalidInput."""
        check_bank_id(bank_id)
        return await self._save(bank_id, given)

    async def patch(self, bank_id: str, given: BankInput) -> Bank:
        """Change a bank. Raises BankNotFound, InvalidInput."""
        await self._store.get_bank(bank_id)
        return await self._save(bank_id, given)

    async def get(self, bank_id: str) -> Bank:
        """Raises BankNotFound."""
        return await self._store.get_bank(bank_id)

    async def list(self, query: str | None = None, limit: int = 100, offset: int = 0) -> Page[Bank]:
        """Banks whose id or name holds `query`, most recently written first."""
        return await self._store.list_banks(query or None, limit, offset)

    async def delete(self, bank_id: str) -> int:
        """Delete a bank with everything in it; the number of facts deleted. Raises BankNotFound."""
        async with forgetting(self._on_forget, bank_id):
            return await self._store.delete_bank(bank_id)

    async def stats(self, bank_id: str) -> BankStats:
        """Counts of what a bank holds. Raises BankNotFound."""
        return await self._store.bank_stats(bank_id)

    async def config(self, bank_id: str) -> BankConfig:
        """Raises BankNotFound."""
        return self._config(await self._store.get_bank(bank_id))

    async def update_config(self, bank_id: str, updates: Mapping[str, Any]) -> BankConfig:
        """Merge settings into the bank's own; null resets one to its default. Raises BankNotFound, InvalidInput."""
        held = await self._store.get_bank(bank_id)
        changed = self._fitting(held, updates)
        return self._config(await self._store.save_bank(bank_id, _change(changed), self._clock.now()))

    async def reset_config(self, bank_id: str) -> BankConfig:
        """Drop all of the bank's own settings. Raises BankNotFound."""
        await self._store.get_bank(bank_id)
        profile = _profile({_MISSION: None, **{f"disposition_{trait}": None for trait in _TRAITS}})
        change = BankChange(config={}, replace_config=True, **profile)
        return self._config(await self._store.save_bank(bank_id, change, self._clock.now()))

    def checked(self, updates: Mapping[str, Any]) -> dict[str, Any]:
        """Settings with Python names and checked values. Raises InvalidInput."""
        return settings.checked_updates(updates, has_model="retain" in self._models)

    def _fitting(self, held: Bank | None, updates: Mapping[str, Any]) -> dict[str, Any]:
        """Settings as they are stored, checked with those that the bank has."""
        changed: dict[str, Any] = _cleaned(self.checked(updates))
        if "retain_default_strategy" in changed or "retain_strategies" in changed:
            settings.check_default_strategy({**(held.config if held else {}), **changed})
        return changed

    def _config(self, bank: Bank) -> BankConfig:
        overrides = dict(bank.config)
        resolved = settings.resolve({**self._defaults, **overrides})
        idle = settings.not_applied(overrides, self._models)
        return BankConfig(bank.bank_id, resolved, overrides, idle)

    async def _save(self, bank_id: str, given: BankInput) -> Bank:
        wanted = {name: value for name, value in given.config.items() if value is not None}
        for older in (given.mission, given.background):
            if older is not None:
                wanted.setdefault(_MISSION, older)
        name = clean_text(given.name).strip() if given.name is not None else None
        try:
            held = await self._store.get_bank(bank_id)
        except BankNotFound:
            held = None
        change = _change(self._fitting(held, wanted), name=name or None)
        return await self._store.save_bank(bank_id, change, self._clock.now())


def _change(updates: Mapping[str, Any], *, name: str | None = None) -> BankChange:
    return BankChange(name=name, config=updates, **_profile(updates))


def _profile(updates: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of the profile that settings hold, to be changed in the same write."""
    profile: dict[str, Any] = {}
    if _MISSION in updates:
        profile["mission"] = updates[_MISSION] or ""
    for trait in _TRAITS:
        key = f"disposition_{trait}"
        if key in updates:
            value = updates[key]
            profile[trait] = settings.CONFIG_KEYS[key].default if value is None else value
    return profile


def _cleaned(value: Any) -> Any:
    """Settings are stored as JSON text: without what no store can keep."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        return {clean_text(str(key)): _cleaned(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(inner) for inner in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    raise InvalidInput(f"A setting can't hold a {type(value).__name__}.", field="updates")
