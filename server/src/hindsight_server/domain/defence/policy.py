"""What a bank does about unwanted content: rules, each of a detector and an action."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from hindsight_server.domain.defence.labels import SENSITIVE_LABELS
from hindsight_server.domain.defence.size import SizeLimits
from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.tags import tag_fits


class Detector(StrEnum):
    """What a rule looks for."""

    SENSITIVE_DATA = "sensitive_data"
    PROMPT_INJECTION = "prompt_injection"
    SIZE_ANOMALY = "size_anomaly"
    PROTECTED_TAGS = "protected_tags"
    IMMUTABLE_TAGS = "immutable_tags"


class Action(StrEnum):
    """What a rule does with what it finds."""

    REDACT = "redact"
    BLOCK = "block"


_REDACTABLE = (Detector.SENSITIVE_DATA, Detector.PROMPT_INJECTION)
_TAGGED = (Detector.PROTECTED_TAGS, Detector.IMMUTABLE_TAGS)
_SIZES = tuple(limit.name for limit in fields(SizeLimits))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule.

    Args:
        labels: of `sensitive_data`, the kinds that count; None is all of `SENSITIVE_LABELS`.
        tags: of the tag rules, the tags that they are about; ``*`` stands for anything.
        limits: of `size_anomaly`.
    """

    on: Detector
    action: Action
    labels: frozenset[str] | None = None
    tags: tuple[str, ...] = ()
    limits: SizeLimits = field(default_factory=SizeLimits)

    def covers(self, tag: str) -> bool:
        """Whether the rule is about a tag, whatever its case.

        Example:
            >>> rule = Rule(on=Detector.PROTECTED_TAGS, action=Action.BLOCK, tags=("system:*",))
            >>> rule.covers("System:audit"), rule.covers("my-system:audit")
            (True, False)
        """
        return any(tag_fits(pattern.casefold(), tag.casefold()) for pattern in self.tags)


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of a bank; none when it has no defence."""

    rules: tuple[Rule, ...] = ()

    def of(self, *detectors: Detector) -> tuple[Rule, ...]:
        """The rules on some detectors, in their order."""
        return tuple(rule for rule in self.rules if rule.on in detectors)


def read_policy(value: Mapping[str, Any] | None, where: str) -> Policy:
    """A policy as it is written: ``{"enabled": true, "rules": [{"on": "sensitive_data", "action": "redact"}]}``.

    Args:
        value: None, and one that is not enabled, has no rules; its rules are checked all the same.
        where: what the policy is called, for errors.

    Raises:
        InvalidInput: names the field that can't be used.
    """
    if value is None:
        return Policy()
    _known(value, ("enabled", "rules"), where)
    enabled, rules = value.get("enabled", False), value.get("rules", [])
    if not isinstance(enabled, bool):
        raise _wrong(f"{where}.enabled", "must be true or false")
    if not isinstance(rules, list):
        raise _wrong(f"{where}.rules", "must be a list")
    read = tuple(_rule(rule, f"{where}.rules[{index}]") for index, rule in enumerate(rules))
    return Policy(read if enabled else ())


def _rule(value: Any, where: str) -> Rule:
    if not isinstance(value, Mapping):
        raise _wrong(where, "must be an object with 'on' and 'action'")
    detector = Detector(_choice(value, "on", tuple(Detector), where))
    actions = tuple(Action) if detector in _REDACTABLE else (Action.BLOCK,)
    read = _OPTIONS.get(detector)
    action = Action(_choice(value, "action", actions, where))
    names = {Detector.SENSITIVE_DATA: ("labels",), Detector.SIZE_ANOMALY: _SIZES} | dict.fromkeys(_TAGGED, ("tags",))
    _known(value, ("on", "action", *names.get(detector, ())), where)
    return Rule(on=detector, action=action, **(read(value, where) if read else {}))


def _labels(value: Mapping[str, Any], where: str) -> dict[str, Any]:
    labels = value.get("labels")
    if labels is None:
        return {}
    wrong = [label for label in _texts(labels, f"{where}.labels") if label not in SENSITIVE_LABELS]
    if wrong:
        raise _wrong(f"{where}.labels", f"has no kind '{wrong[0][:80]}'; known are: {', '.join(SENSITIVE_LABELS)}")
    return {"labels": frozenset(labels)}


def _tags(value: Mapping[str, Any], where: str) -> dict[str, Any]:
    tags = _texts(value.get("tags"), f"{where}.tags")
    if any(not tag.strip() for tag in tags):
        raise _wrong(f"{where}.tags", "holds a blank tag")
    return {"tags": tuple(tags)}


def _sizes(value: Mapping[str, Any], where: str) -> dict[str, Any]:
    given = {name: value[name] for name in _SIZES if value.get(name) is not None}
    for name, number in given.items():
        kinds = (int, float) if name == "min_variety" else (int,)
        if isinstance(number, bool) or not isinstance(number, kinds):
            raise _wrong(f"{where}.{name}", "must be a number" if float in kinds else "must be a whole number")
        if name == "min_variety" and not 0 <= number <= 1:
            raise _wrong(f"{where}.{name}", "must lie between 0 and 1")
        if name != "min_variety" and number < 1:
            raise _wrong(f"{where}.{name}", "must be 1 or more")
    return {"limits": SizeLimits(**given)}


_OPTIONS: Mapping[Detector, Callable[[Mapping[str, Any], str], dict[str, Any]]] = {
    Detector.SENSITIVE_DATA: _labels,
    Detector.SIZE_ANOMALY: _sizes,
    Detector.PROTECTED_TAGS: _tags,
    Detector.IMMUTABLE_TAGS: _tags,
}


def _choice(value: Mapping[str, Any], name: str, choices: tuple[str, ...], where: str) -> str:
    given = value.get(name)
    if given not in choices:
        raise _wrong(f"{where}.{name}", f"must be one of: {', '.join(choices)}")
    return str(given)


def _texts(value: Any, where: str) -> list[str]:
    if not isinstance(value, list) or not value or not all(isinstance(text, str) for text in value):
        raise _wrong(where, "must be a list of texts that is not empty")
    return value


def _known(value: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    for name in value:
        if name not in names:
            raise _wrong(f"{where}.{str(name)[:80]}", f"is unknown; there are: {', '.join(names)}")


def _wrong(field: str, what: str) -> InvalidInput:
    return InvalidInput(f"{field} {what}.", field=field)
