"""The use case: what is to be stored goes through the bank's policy first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hindsight_server.domain.defence.events import SecurityEvent, Violation
from hindsight_server.domain.defence.policy import Detector, Policy, Rule, read_policy
from hindsight_server.domain.defence.size import size_anomalies
from hindsight_server.domain.errors import Blocked
from hindsight_server.domain.model import Fact, RetainItem, UpdateMode
from hindsight_server.engine.defence.scanning import (
    Change,
    Scan,
    Scanner,
    mapped_entities,
    mapped_item,
    mapped_scopes,
    mapped_tags,
)
from hindsight_server.engine.defence.verdicts import Subject, Verdict
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.detector import SensitiveDetector
from hindsight_server.ports.records import Bank, FactChange
from hindsight_server.ports.security import EventFilter, EventPage
from hindsight_server.ports.store import Store

if TYPE_CHECKING:  # retain works with this module
    from hindsight_server.engine.retain.items import CheckedItem

SETTING = "memory_defense"
_TAGS_SEVERITY = "high"
_SIZE_SEVERITY = "medium"

OnEvents = Callable[[Sequence[SecurityEvent]], None]


@dataclass(frozen=True, slots=True)
class Screened:
    """The items of a request behind the policy.

    Args:
        items: those that may be stored, with what was taken out gone.
        indexes: their places in the request.
        violations: why others may not.
        events: what was decided; they are to be stored together with the items.
    """

    items: tuple[CheckedItem, ...]
    indexes: tuple[int, ...]
    policy: Policy = field(default_factory=Policy)
    violations: tuple[Violation, ...] = ()
    events: tuple[SecurityEvent, ...] = ()


class NoDefence:
    """Lets everything in, for use cases that are put together without a `Defender`."""

    def told(self, events: Sequence[SecurityEvent]) -> None:
        """There is nobody to tell."""

    async def screen(self, bank: Bank | None, items: Sequence[CheckedItem]) -> Screened:
        return _untouched(items)

    async def settle(self, bank_id: str, screened: Screened, operation_id: str | None) -> Screened:
        return screened

    async def edited(self, bank_id: str, fact: Fact, change: FactChange) -> FactChange:
        return change

    async def retagged(
        self, bank_id: str, document_id: str, tags: tuple[str, ...] | None, scopes: object | None
    ) -> tuple[tuple[str, ...] | None, object | None]:
        return tags, scopes

    async def named(self, bank_id: str, name: str) -> None:
        """Every name will do."""


class Defender:
    """Applies the policies of banks.

    Args:
        default: the policy of banks that set none.
        on_events: told of events once they are stored.
    """

    def __init__(
        self,
        store: Store,
        detector: SensitiveDetector,
        clock: Clock,
        *,
        default: Policy | None = None,
        on_events: OnEvents = lambda events: None,
    ) -> None:
        self._store = store
        self._detector = detector
        self._clock = clock
        self._default = default or Policy()
        self.told = on_events

    def policy(self, bank: Bank | None) -> Policy:
        """The policy of a bank, or of one that is yet to be made."""
        given = bank.config.get(SETTING) if bank else None
        return self._default if given is None else read_policy(given, SETTING)

    async def screen(self, bank: Bank | None, items: Sequence[CheckedItem]) -> Screened:
        """The items behind the content rules of the bank's policy. The same items give the same result."""
        policy = self.policy(bank)
        if not policy.rules:
            return _untouched(items)
        return await asyncio.to_thread(self._screened, policy, items)

    async def settle(self, bank_id: str, screened: Screened, operation_id: str | None) -> Screened:
        """The same behind the rules on tags, which ask what is stored already.

        Raises:
            Blocked: no item is left. The decisions are kept.
        """
        if not screened.policy.rules:
            return screened
        stored = await self._stored_tags(bank_id, screened)
        kept, violations, events = [], list(screened.violations), list(screened.events)
        for index, item in zip(screened.indexes, screened.items, strict=True):
            verdict = self._verdict(item.item, index)
            _check_stored(screened.policy, item.item, stored.get(item.item.document_id), verdict)
            violations += verdict.violations
            events += verdict.events
            if not verdict.violations:
                kept.append((index, item))
        events = [replace(event, operation_id=operation_id) for event in events]
        if not kept:
            await self.keep(bank_id, events)
            raise Blocked(sorted(violations, key=lambda violation: violation.index))
        return replace(
            screened,
            items=tuple(item for _, item in kept),
            indexes=tuple(index for index, _ in kept),
            violations=tuple(violations),
            events=tuple(events),
        )

    async def edited(self, bank_id: str, fact: Fact, change: FactChange) -> FactChange:
        """A correction of a fact behind the bank's policy.

        Raises:
            Blocked: it may not be stored. The decision is kept.
        """
        policy = self.policy(await self._store.get_bank(bank_id))
        if not policy.rules:
            return change
        subject = Subject(source="memory", document_id=fact.document_id, memory_id=fact.fact_id)
        verdict = Verdict(subject, self._clock.now())
        if change != FactChange(state=change.state, reason=change.reason):
            check_immutable(policy, fact.tags, verdict)
        if change.tags is not None:
            _check_tags(policy, fact.tags, change.tags, verdict)
        changed = await asyncio.to_thread(self._changed, policy, change, verdict)
        await self._conclude(bank_id, verdict)
        return changed

    async def retagged(
        self, bank_id: str, document_id: str, tags: tuple[str, ...] | None, scopes: object | None
    ) -> tuple[tuple[str, ...] | None, object | None]:
        """New tags and scopes of a document behind the bank's policy.

        Raises:
            Blocked: they may not be stored. The decision is kept.
        """
        policy = self.policy(await self._store.get_bank(bank_id))
        if not policy.rules:
            return tags, scopes
        verdict = Verdict(Subject(source="document", document_id=document_id), self._clock.now())
        stored = (await self._store.document_tags(bank_id, [document_id])).get(document_id, ())
        check_immutable(policy, stored, verdict)
        if tags is not None:
            _check_tags(policy, stored, tags, verdict)
        scanner = Scanner(policy, self._detector)

        def mapped(change: Change) -> tuple[tuple[str, ...] | None, object | None]:
            return (None if tags is None else mapped_tags(tags, change)), mapped_scopes(scopes, change)

        (tags, scopes), scan = scanner.scan(mapped)
        verdict.judge(scan, scanner)
        await self._conclude(bank_id, verdict)
        return tags, scopes

    async def named(self, bank_id: str, name: str) -> None:
        """A name that a user gives an entity behind the bank's policy; it is let in as it is, or not at all.

        Raises:
            Blocked: it holds what the policy is about. The decision is kept.
        """
        policy = self.policy(await self._store.get_bank(bank_id))
        scanner = Scanner(policy, self._detector)
        if scanner.idle:
            return
        verdict = Verdict(Subject(source="entity"), self._clock.now())
        changed, scan = scanner.scan(lambda change: change(name, "", "entities"))
        if changed != name:
            verdict.judge(scan, scanner, whole=True)
        await self._conclude(bank_id, verdict)

    async def list(self, bank_id: str, wanted: EventFilter, limit: int = 100, offset: int = 0) -> EventPage:
        """Decisions about what was to be stored in a bank, the newest first. Raises BankNotFound."""
        return await self._store.list_security_events(bank_id, wanted, limit, offset)

    def _screened(self, policy: Policy, items: Sequence[CheckedItem]) -> Screened:
        scanner = Scanner(policy, self._detector)
        kept: list[tuple[int, CheckedItem]] = []
        violations: list[Violation] = []
        events: list[SecurityEvent] = []
        for index, checked in enumerate(items):
            item, verdict = self._item(policy, scanner, checked.item, index)
            violations += verdict.violations
            events += verdict.events
            if not verdict.violations:
                kept.append((index, replace(checked, item=item)))
        return Screened(
            tuple(item for _, item in kept), tuple(index for index, _ in kept), policy, tuple(violations), tuple(events)
        )

    def _item(self, policy: Policy, scanner: Scanner, item: RetainItem, index: int) -> tuple[RetainItem, Verdict]:
        if scanner.idle:
            verdict = self._verdict(item, index)
        else:
            item, scan = _scanned(scanner, item)
            verdict = self._verdict(item, index)
            verdict.judge(scan, scanner)
        _check_size(policy, item, verdict)
        _check_tags(policy, (), item.tags, verdict)
        return item, verdict

    def _verdict(self, item: RetainItem, index: int) -> Verdict:
        subject = Subject(source="retain", document_id=item.document_id, receipt_uri=item.receipt_uri)
        return Verdict(subject, self._clock.now(), index)

    def _changed(self, policy: Policy, change: FactChange, verdict: Verdict) -> FactChange:
        scanner = Scanner(policy, self._detector)

        def mapped(changed: Change) -> FactChange:
            return replace(
                change,
                text=None if change.text is None else changed(change.text, "", "text"),
                context=None if change.context is None else changed(change.context, "", "context"),
                reason=None if change.reason is None else changed(change.reason, "", "reason"),
                tags=None if change.tags is None else mapped_tags(change.tags, changed),
                entities=None if change.entities is None else mapped_entities(change.entities, changed),
            )

        result, scan = scanner.scan(mapped)
        verdict.judge(scan, scanner)
        assert isinstance(result, FactChange)
        for rule in policy.of(Detector.SIZE_ANOMALY):
            check_one_size(rule, change.text or "", verdict)
        return result

    async def _stored_tags(self, bank_id: str, screened: Screened) -> Mapping[str, tuple[str, ...]]:
        if not screened.policy.of(Detector.PROTECTED_TAGS, Detector.IMMUTABLE_TAGS):
            return {}
        named = {item.item.document_id for item in screened.items if item.item.document_given}
        return await self._store.document_tags(bank_id, sorted(named)) if named else {}

    async def _conclude(self, bank_id: str, verdict: Verdict) -> None:
        await self.keep(bank_id, verdict.events)
        if verdict.violations:
            raise Blocked(verdict.violations)

    async def keep(self, bank_id: str, events: Sequence[SecurityEvent]) -> None:
        """Keep decisions, and tell of them."""
        if events:
            await self._store.add_security_events(bank_id, events, self._clock.now())
            self.told(events)


def _untouched(items: Sequence[CheckedItem]) -> Screened:
    return Screened(tuple(items), tuple(range(len(items))))


def _scanned(scanner: Scanner, item: RetainItem) -> tuple[RetainItem, Scan]:
    changed, scan = scanner.scan(lambda change: mapped_item(item, change))
    assert isinstance(changed, RetainItem)
    return changed, scan


def _check_size(policy: Policy, item: RetainItem, verdict: Verdict) -> None:
    rules = policy.of(Detector.SIZE_ANOMALY)
    if rules:
        text = "\n".join(part for part in (item.content, item.context, *item.metadata.values()) if part)
        for rule in rules:
            check_one_size(rule, text, verdict)


def check_one_size(rule: Rule, text: str, verdict: Verdict) -> None:
    """A text of an odd size or shape is kept out."""
    problems = list(size_anomalies(text, rule.limits))
    if problems:
        verdict.block(rule.on, _SIZE_SEVERITY, f"It {'; it '.join(problems)}.")


def _check_tags(policy: Policy, before: Sequence[str], after: Sequence[str], verdict: Verdict) -> None:
    """Protected tags are neither put on nor taken off."""
    for rule in policy.of(Detector.PROTECTED_TAGS):
        if any(rule.covers(tag) for tag in set(before) ^ set(after)):
            verdict.block(rule.on, _TAGS_SEVERITY, f"It puts on or takes off a protected tag ({_patterns(rule)}).")


def check_immutable(policy: Policy, stored: Sequence[str], verdict: Verdict) -> None:
    """What bears an immutable tag is not changed."""
    for rule in policy.of(Detector.IMMUTABLE_TAGS):
        if any(rule.covers(tag) for tag in stored):
            verdict.block(rule.on, _TAGS_SEVERITY, f"The document is immutable by its tags ({_patterns(rule)}).")


def _check_stored(policy: Policy, item: RetainItem, stored: Sequence[str] | None, verdict: Verdict) -> None:
    """What an item would do to the document that is there."""
    if stored is None:
        return
    check_immutable(policy, stored, verdict)
    if item.update_mode is UpdateMode.REPLACE:
        _check_tags(policy, stored, (*item.tags,), verdict)


def _patterns(rule: Rule) -> str:
    return ", ".join(rule.tags)
