"""Instructions for a model that carry memories: for prompts that are made anew before each run."""

from __future__ import annotations

from typing import Any

from hindsight_adapter_core import (
    Connected,
    Deadlines,
    HindsightError,
    MemoryOperations,
    MemoryOptions,
    RecallOutcome,
    check_positive,
    memory_lines,
    memory_texts,
    open_memory,
)

from ._client import PACKAGE
from .failures import told
from .run_context import BankChoice, BankId, RunContext, static_bank

__all__ = ["DEFAULT_PREFIX", "DEFAULT_QUERY", "MemoryInstructions", "memory_instructions"]

DEFAULT_QUERY = "relevant context about the user"
DEFAULT_PREFIX = "\n\nRelevant memories:\n"


class MemoryInstructions(Connected):
    """Instructions to await. Made by :func:`memory_instructions`."""

    def __init__(
        self,
        operations: MemoryOperations,
        bank: BankChoice,
        *,
        base_instructions: str,
        query: str,
        max_results: int,
        prefix: str,
    ) -> None:
        self._operations, self._bank = operations, bank
        self._base, self._query = base_instructions, query
        self._max_results, self._prefix = max_results, prefix

    async def __call__(self, *args: Any, **kwargs: Any) -> str:
        """The instructions. Takes any arguments and heeds none, so that it fits wherever a callable is asked for."""
        try:
            bank = self._bank.of(RunContext.current())
            return self._joined(await self._operations.arecall(self._query, bank_id=bank))
        except HindsightError as error:
            return self._failed(error)

    def sync(self, *args: Any, **kwargs: Any) -> str:
        """Sync twin of calling the object."""
        try:
            bank = self._bank.of(RunContext.current())
            return self._joined(self._operations.recall(self._query, bank_id=bank))
        except HindsightError as error:
            return self._failed(error)

    def _joined(self, outcome: RecallOutcome) -> str:
        texts = memory_texts(outcome.memories, limit=self._max_results)
        return self._base + self._prefix + memory_lines(texts) if texts else self._base

    def _failed(self, error: HindsightError) -> str:
        told("recall", error, self._operations)
        return self._base


def memory_instructions(  # noqa: PLR0913 - the documented signature
    *,
    bank_id: BankId = None,
    base_instructions: str = "",
    client: Any = None,
    hindsight_api_url: str | None = None,
    api_key: str | None = None,
    query: str = DEFAULT_QUERY,
    budget: str | None = None,
    max_results: int = 5,
    max_tokens: int | None = None,
    prefix: str = DEFAULT_PREFIX,
    tags: list[str] | None = None,
    tags_match: str | None = None,
    bank_id_from_config: str = "user_id",
    deadlines: Deadlines | None = None,
) -> MemoryInstructions:
    """Instructions followed by memories, searched for anew each time the returned object is called.

    ``await instructions()`` in async code, ``instructions.sync()`` in sync code; both take any arguments. Without
    memories, and when the search fails (which is logged), the instructions come alone.

    Args:
        bank_id: the memory bank, or a function from :class:`RunContext` to one; default as for
            :func:`create_hindsight_tools`.
        base_instructions: the instructions themselves.
        client, hindsight_api_url, api_key, budget, max_tokens, bank_id_from_config, deadlines: as for
            :func:`create_hindsight_tools`.
        query: what to search for.
        max_results: how many memories at most.
        prefix: what stands between the instructions and the numbered memories.
        tags: tags to filter by; default the ``recall_tags`` of ``configure()``.
        tags_match: ``any``, ``all``, ``any_strict``, ``all_strict`` or ``exact``; default ``any``.

    Raises:
        SettingsError: an argument is out of its range.

    Example:
        >>> instructions = memory_instructions(bank_id="ada", base_instructions="Be brief.")
        >>> instructions.sync()  # no server, no key                                  # doctest: +SKIP
        'Be brief.'
    """
    options = MemoryOptions(
        bank_id=static_bank(bank_id),
        hindsight_api_url=hindsight_api_url,
        budget=budget,
        max_tokens=max_tokens,
        recall_tags=tags,
        recall_tags_match=tags_match,
        deadlines=deadlines,
    )
    check_positive("max_results", max_results)
    operations = open_memory(PACKAGE, options, client=client, api_key=api_key)
    return MemoryInstructions(
        operations,
        BankChoice.make(bank_id, bank_id_from_config, operations),
        base_instructions=base_instructions,
        query=query,
        max_results=max_results,
        prefix=prefix,
    )
