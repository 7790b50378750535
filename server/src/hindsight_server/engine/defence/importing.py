"""The use case for archives: what they bring goes through the policy of the bank that takes them in."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hindsight_server.domain.defence.events import SecurityEvent
from hindsight_server.domain.defence.policy import Detector, Policy
from hindsight_server.domain.errors import BankNotFound
from hindsight_server.engine.defence.defender import Defender, check_immutable, check_one_size
from hindsight_server.engine.defence.imports import Imported, mapped_document, mapped_names, mapped_observation
from hindsight_server.engine.defence.scanning import Scanner
from hindsight_server.engine.defence.verdicts import Subject, Verdict
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.detector import SensitiveDetector
from hindsight_server.ports.store import Store
from hindsight_server.ports.transfer import TransferDocument, TransferFact, TransferNames, TransferObservation


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """What an import brings."""

    documents: tuple[TransferDocument, ...]
    facts: tuple[TransferFact, ...]
    names: TransferNames
    observations: tuple[TransferObservation, ...] = ()


class ImportDefender:
    """Applies the policies of banks to archives. Tags are let in as they are: an import is the work of whoever runs it.

    Args:
        defender: knows the policies, and keeps the decisions.
    """

    def __init__(self, store: Store, detector: SensitiveDetector, clock: Clock, defender: Defender) -> None:
        self._store = store
        self._detector = detector
        self._clock = clock
        self._defender = defender

    async def screen(
        self, bank_id: str, incoming: Incoming, *, replaces: bool, operation_id: str
    ) -> tuple[Incoming, tuple[SecurityEvent, ...]]:
        """What may be taken in, with what was taken out gone, and the decisions; those are to be kept with `keep`.

        Args:
            replaces: whether documents that are there already are replaced; immutable ones are not.
        """
        try:
            bank = await self._store.get_bank(bank_id)
        except BankNotFound:
            bank = None
        policy = self._defender.policy(bank)
        if not policy.rules:
            return incoming, ()
        stored: dict[str, tuple[str, ...]] = {}
        if replaces and policy.of(Detector.IMMUTABLE_TAGS):
            ids = [document.document_id for document in incoming.documents]
            stored = dict(await self._store.document_tags(bank_id, ids))
        screened, events = await asyncio.to_thread(self._screened, policy, incoming, stored)
        return screened, tuple(replace(event, operation_id=operation_id) for event in events)

    async def keep(self, bank_id: str, events: Sequence[SecurityEvent]) -> None:
        """Keep decisions once what they are about is stored."""
        await self._defender.keep(bank_id, events)

    def _screened(
        self, policy: Policy, incoming: Incoming, stored: dict[str, tuple[str, ...]]
    ) -> tuple[Incoming, list[SecurityEvent]]:
        scanner = Scanner(policy, self._detector)
        facts_of: dict[str, list[TransferFact]] = defaultdict(list)
        for fact in incoming.facts:
            facts_of[fact.document_id].append(fact)
        documents: list[TransferDocument] = []
        kept: dict[str, TransferFact] = {}
        events: list[SecurityEvent] = []
        for document in incoming.documents:
            imported = (document, tuple(facts_of[document.document_id]))
            (document, facts), verdict = self._document(policy, scanner, imported)
            check_immutable(policy, stored.get(document.document_id, ()), verdict)
            events += verdict.events
            if not verdict.violations:
                documents.append(document)
                kept.update((fact.fact_id, fact) for fact in facts)
        names, _ = scanner.scan(lambda change: mapped_names(incoming.names, change))
        # In the order of the archive: the oldest come first.
        facts_kept = tuple(kept[fact.fact_id] for fact in incoming.facts if fact.fact_id in kept)
        observations = tuple(one for one in incoming.observations if scanner.idle or _clean(scanner, one))
        return Incoming(documents=tuple(documents), facts=facts_kept, names=names, observations=observations), events

    def _document(self, policy: Policy, scanner: Scanner, imported: Imported) -> tuple[Any, Verdict]:
        document = imported[0]
        verdict = Verdict(Subject(source="import", document_id=document.document_id), self._clock.now())
        changed: Any = imported
        if not scanner.idle:
            changed, scan = scanner.scan(lambda change: mapped_document(imported, change))
            verdict.judge(scan, scanner)
        for rule in policy.of(Detector.SIZE_ANOMALY):
            for part in document.parts:
                check_one_size(rule, part.text, verdict)
        return changed, verdict


def _clean(scanner: Scanner, observation: TransferObservation) -> bool:
    """Whether nothing is found in an observation; else it is drawn anew from its facts."""
    _, scan = scanner.scan(lambda change: mapped_observation(observation, change))
    return not scan.seen
