"""Whose memory a run uses: bank, tags and conversation, taken from the run and never from the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hindsight_adapter_core import MemoryOperations, MemoryOptions, SettingsError
from hindsight_adapter_core.recent import RecentMap

__all__ = ["RUN_INPUTS", "RunScope", "ScopedMemories", "check_inputs_from_state"]

#: What a tool can take from the agent's state.
RUN_INPUTS = ("bank_id", "tags")


@dataclass(frozen=True, kw_only=True)
class RunScope:
    """What one run says of its memory; ``None`` means that it says nothing.

    Attributes:
        bank_id: instead of the configured bank.
        tags: added to what is stored; recall and reflect filter by them instead of by the configured tags.
        conversation_id: which conversation the turns belong to.
    """

    bank_id: Any = None
    tags: Any = None
    conversation_id: Any = None

    @classmethod
    def found_in(cls, names: Mapping[str, str], *sources: Mapping[str, Any]) -> RunScope:
        """Look each attribute up under its name; the first source that holds a value wins.

        Args:
            names: name in the sources for each attribute.
            sources: e.g. the hook context and the agent's state.
        """

        def first(name: str) -> Any:
            return next((source[name] for source in sources if source.get(name) is not None), None)

        return cls(**{attribute: first(name) for attribute, name in names.items()})

    def bank(self) -> str | None:
        """The run's own bank.

        Raises:
            SettingsError: it is blank. A run that was to name its user and did not must not get someone else's memory.
        """
        return _text("bank_id", self.bank_id)

    def conversation(self) -> str | None:
        """The run's conversation.

        Raises:
            SettingsError: it is blank.
        """
        return _text("conversation_id", self.conversation_id)

    def tag_names(self) -> tuple[str, ...] | None:
        """The run's tags.

        Raises:
            SettingsError: they are no strings.
        """
        if self.tags is None:
            return None
        tags = (self.tags,) if isinstance(self.tags, str) else self.tags
        if not isinstance(tags, list | tuple | set | frozenset) or not all(
            isinstance(tag, str) and tag.strip() for tag in tags
        ):
            raise SettingsError(f"tags of a run must be non-empty strings, not {self.tags!r}")
        return tuple(tags)


def _text(name: str, value: Any) -> str | None:
    if value is None:
        return None
    text = str(value)
    if not text.strip():
        raise SettingsError(f"this run gives a blank {name}; give a value, or leave it out to use the configured one")
    return text


def check_inputs_from_state(mapping: Mapping[str, str] | None) -> dict[str, str]:
    """``{state key: "bank_id" or "tags"}`` as a dict of its own.

    Raises:
        SettingsError: a value is neither, or one is named twice.
    """
    inputs = dict(mapping or {})
    if not set(inputs.values()) <= set(RUN_INPUTS) or len(set(inputs.values())) < len(inputs):
        raise SettingsError(
            f"inputs_from_state maps state keys to {' or '.join(RUN_INPUTS)}, each once, not {dict(inputs)!r}"
        )
    return inputs


class ScopedMemories:
    """One memory under the tags and filters of single runs. All share its client and its background queue.

    Args:
        memory: the memory as configured.
        limit: how many are kept; the least recently used is made anew when it is wanted again.
    """

    def __init__(self, memory: MemoryOperations, limit: int = 256) -> None:
        self.memory = memory
        self._made: RecentMap[str, MemoryOperations] = RecentMap(limit)

    def tagged(self, tags: Iterable[str] | None) -> MemoryOperations:
        """The memory that adds ``tags`` to what it stores and filters by them; itself for ``None``."""
        if tags is None:
            return self.memory
        names = list(dict.fromkeys(tags))
        settings = self.memory.settings
        added = list(dict.fromkeys((*settings.tags, *names)))
        return self._changed(tags=added, recall_tags=names, reflect_tags=None, tag_groups=self._groups(names))

    def filtered(
        self, *, tag_groups: Sequence[Mapping[str, Any]] = (), types: Sequence[str] | None = None
    ) -> MemoryOperations:
        """The memory that searches only what fits ``tag_groups`` (besides its own filter) and ``types``."""
        settings, options = self.memory.settings, self.memory.options
        changes: dict[str, Any] = {"recall_types": list(types) if types is not None else options.recall_types}
        if tag_groups:
            own = list(options.tag_groups or ())
            if settings.recall_tags:
                own = [{"tags": list(settings.recall_tags), "match": settings.recall_tags_match}]
            changes["tag_groups"] = [*own, *(dict(one) for one in tag_groups)]
        return self._changed(**changes)

    def _groups(self, names: list[str]) -> list[dict[str, Any]] | None:
        own = self.memory.options.tag_groups
        return [*own, {"tags": names, "match": self.memory.settings.recall_tags_match}] if own and names else own

    def _changed(self, **changes: Any) -> MemoryOperations:
        memory = self.memory
        return self._made.get_or_make(
            repr(sorted(changes.items())),
            lambda: MemoryOperations(
                memory.package,
                memory.handle,
                _settled(memory, changes),
                raise_on_error=memory.raise_on_error,
                delivery=memory.delivery,
            ),
        )

    def __reduce__(self) -> tuple[object, ...]:
        return ScopedMemories, (self.memory, self._made.limit)


def _settled(memory: MemoryOperations, changes: dict[str, Any]) -> MemoryOptions:
    """The options with what was resolved for ``memory`` fixed, so that a later ``configure()`` changes neither."""
    settings = memory.settings
    fixed: dict[str, Any] = {
        "bank_id": settings.bank_id,
        "budget": settings.budget,
        "max_tokens": settings.max_tokens,
        "tags": list(settings.tags),
        "recall_tags": list(settings.recall_tags),
        "recall_tags_match": settings.recall_tags_match,
        "retain_context": settings.context,
        "mission": settings.mission,
        "deadlines": settings.deadlines,
    }
    merged = {"tag_groups": memory.options.tag_groups, **fixed, **changes}
    if merged["tag_groups"]:
        merged.update(recall_tags=[], reflect_tags=None)
    return replace(memory.options, **merged)
