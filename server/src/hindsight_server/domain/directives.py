"""Directives: rules of a bank that reflect follows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from hindsight_server.domain.tags import TagFilter


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    """One rule.

    Args:
        name: for people; it need not be the only one of its bank.
        content: the rule, as the model is told it.
        priority: a higher one is told first.
        is_active: one that is not is never told.
        tags: a request must match them; without any the rule holds for every request.
    """

    directive_id: str
    name: str
    content: str
    priority: int = 0
    is_active: bool = True
    tags: tuple[str, ...] = ()
    created_at: datetime
    updated_at: datetime


def in_order(directives: Iterable[Directive]) -> list[Directive]:
    """The highest priority first; of equal ones the oldest."""
    return sorted(directives, key=lambda one: (-one.priority, one.created_at, one.directive_id))


def holds_for(directive: Directive, scope: TagFilter | None) -> bool:
    """Whether a rule applies to a request with these tags; None is a request without any.

    A rule without tags holds everywhere; one with tags only where the request asks for them.

    Example:
        >>> holds_for(rule_with_tag_a, TagLeaf(frozenset({"a"})))
        True
    """
    if not directive.tags:
        return True
    return scope is not None and scope.matches(directive.tags)
