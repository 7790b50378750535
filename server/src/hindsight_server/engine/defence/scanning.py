"""Looking through every text of something that is to be stored, and taking out what its policy takes out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hindsight_server.domain.defence.findings import SEVERITIES, Finding, merged, redacted
from hindsight_server.domain.defence.injection import LABEL as INJECTION
from hindsight_server.domain.defence.injection import find_injections
from hindsight_server.domain.defence.json_text import changed_json, is_json
from hindsight_server.domain.defence.policy import Action, Detector, Policy
from hindsight_server.domain.model import EntityMention, RetainItem
from hindsight_server.ports.detector import SensitiveDetector

Change = Callable[[str, str, str], str]
"""Gives the text that takes the place of a text, from it, its name among its neighbours (or blank) and its field."""

_MOST_POSITIONS = 20
_SHORTEST = 6  # characters, with the name; nothing shorter is any kind of data
# Conversations repeat short texts ("role": "user"); each look at one costs as much as at a hundred characters.
_SHORT = 64
_MOST_CLEAN = 10_000
_MOST_ECHOES = 50  # secrets of an item that are looked for elsewhere in it; each is one more search
_SHORTEST_ECHO = 6  # characters; shorter ones with a digit in them are found in any text


@dataclass(slots=True)
class Seen:
    """How often a kind of thing was found in a field, and the first places."""

    severity: str
    count: int = 0
    positions: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Scan:
    """What was found, by kind and field."""

    seen: Mapping[tuple[str, str], Seen]

    def of(self, labels: Callable[[str], bool]) -> dict[tuple[str, str], Seen]:
        """The part of it that is of some kinds."""
        return {key: seen for key, seen in self.seen.items() if labels(key[0])}


class Scanner:
    """Finds what the content rules of a policy are about.

    Args:
        policy: its rules on sensitive data and orders to models.
        detector: finds sensitive data.
    """

    def __init__(self, policy: Policy, detector: SensitiveDetector) -> None:
        self._detector = detector
        sensitive = policy.of(Detector.SENSITIVE_DATA)
        self._sensitive = bool(sensitive)
        every = any(rule.labels is None for rule in sensitive)
        self._labels = None if every else frozenset(label for rule in sensitive for label in rule.labels or ())
        self._injection = bool(policy.of(Detector.PROMPT_INJECTION))
        self._blocking = tuple(rule for rule in policy.rules if rule.action is Action.BLOCK)

    @property
    def idle(self) -> bool:
        """Whether there is nothing to look for."""
        return not self._sensitive and not self._injection

    def blocks(self, label: str) -> bool:
        """Whether something of a kind keeps what holds it out."""
        return any(
            rule.on is detector_of(label) and (rule.labels is None or label in rule.labels) for rule in self._blocking
        )

    def scan(self, mapped: Callable[[Change], Any]) -> tuple[Any, Scan]:
        """What `mapped` makes of something when each of its texts is changed, with the findings taken out; and those.

        A secret that was told by the words before it (a password) is taken out wherever else its characters stand.
        """
        pass_ = _Pass(self._find, {})
        changed = mapped(pass_.change)
        if pass_.echoes:
            pass_ = _Pass(self._find, pass_.echoes)
            changed = mapped(pass_.change)
        return changed, Scan(pass_.seen)

    def _find(self, text: str) -> list[Finding]:
        found = self._detector.find(text, self._labels) if self._sensitive else []
        return merged([*found, *find_injections(text)]) if self._injection else found


class _Pass:
    """One look at all texts of a thing."""

    def __init__(self, find: Callable[[str], list[Finding]], known: Mapping[str, Finding]) -> None:
        self._find = find
        self._known = known
        self._clean: set[tuple[str, str]] = set()
        self.echoes: dict[str, Finding] = {}
        self.seen: dict[tuple[str, str], Seen] = {}

    def change(self, text: str, name: str, field: str) -> str:
        if field == "content" and is_json(text):
            return changed_json(text, lambda plain, inner: self._changed(plain, inner, field, placed=False))
        return self._changed(text, name, field, placed=not name)

    def _changed(self, text: str, name: str, field: str, *, placed: bool) -> str:
        if len(text) + len(name) < _SHORTEST or (name, text) in self._clean:
            return text
        before = f"{name}: " if name else ""
        found = _behind(self._find(before + text), len(before)) if text else []
        if self._known:
            found = merged([*found, *self._repeated(text)])
        for finding in found:
            self._note(finding, text, field, placed=placed)
        if found:
            return redacted(text, found)
        if len(text) <= _SHORT and len(self._clean) < _MOST_CLEAN:
            self._clean.add((name, text))
        return text

    def _note(self, finding: Finding, text: str, field: str, *, placed: bool) -> None:
        seen = self.seen.setdefault((finding.label, field), Seen(finding.severity))
        seen.count += 1
        if placed and len(seen.positions) < _MOST_POSITIONS:
            seen.positions.append(finding.start)
        secret = text[finding.start : finding.end]
        if (
            finding.echoes
            and len(self.echoes) < _MOST_ECHOES
            and len(secret) >= _SHORTEST_ECHO
            and any(map(str.isdigit, secret))
        ):
            self.echoes[secret] = finding

    def _repeated(self, text: str) -> list[Finding]:
        return [
            replace(finding, start=start, end=start + len(secret))
            for secret, finding in self._known.items()
            for start in _places(text, secret)
        ]


def _places(text: str, secret: str) -> list[int]:
    places, start = [], text.find(secret)
    while start >= 0:
        places.append(start)
        start = text.find(secret, start + len(secret))
    return places


def _behind(found: Sequence[Finding], start: int) -> list[Finding]:
    """Findings as places in the text that begins at `start`; what lies before it is left out."""
    if not start:
        return list(found)
    return [
        replace(finding, start=max(finding.start - start, 0), end=finding.end - start)
        for finding in found
        if finding.end > start
    ]


def detector_of(label: str) -> Detector:
    """Which detector finds things of a kind."""
    return Detector.PROMPT_INJECTION if label == INJECTION else Detector.SENSITIVE_DATA


def worst(severities: Sequence[str]) -> str:
    """The highest of some severities."""
    return max(severities, key=SEVERITIES.index)


def mapped_item(item: RetainItem, change: Change) -> RetainItem:
    """An item with each of its texts changed. A name of an entity that changes is dropped: it would join strangers."""
    return replace(
        item,
        content=change(item.content, "", "content"),
        document_id=change(item.document_id, "", "document_id") if item.document_given else item.document_id,
        context=None if item.context is None else change(item.context, "", "context"),
        metadata=mapped_metadata(item.metadata, change),
        entities=mapped_entities(item.entities, change),
        tags=mapped_tags(item.tags, change),
        observation_scopes=mapped_scopes(item.observation_scopes, change),
        receipt_uri=None if item.receipt_uri is None else change(item.receipt_uri, "", "receipt_uri"),
    )


def mapped_metadata(metadata: Mapping[str, str], change: Change) -> dict[str, str]:
    """Metadata with names and values changed."""
    return {change(name, "", "metadata"): change(value, name, "metadata") for name, value in metadata.items()}


def mapped_entities(entities: Sequence[EntityMention], change: Change) -> tuple[EntityMention, ...]:
    """The entities whose names are not changed."""
    return tuple(mention for mention in entities if change(mention.name, "", "entities") == mention.name)


def mapped_tags(tags: Sequence[str], change: Change) -> tuple[str, ...]:
    """Tags, each once."""
    return tuple(dict.fromkeys(change(tag, "", "tags") for tag in tags))


def mapped_scopes(scopes: object | None, change: Change) -> object | None:
    """Observation scopes, where they are lists of tags."""
    if not isinstance(scopes, list):
        return scopes
    return [[change(tag, "", "observation_scopes") for tag in scope] for scope in scopes]


def by_detector(seen: Mapping[tuple[str, str], Seen]) -> dict[Detector, dict[tuple[str, str], Seen]]:
    """What was found, told apart by who finds it."""
    parts: dict[Detector, dict[tuple[str, str], Seen]] = defaultdict(dict)
    for key, value in seen.items():
        parts[detector_of(key[0])][key] = value
    return parts
