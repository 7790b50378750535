"""A retriever over a memory bank."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from pydantic import ConfigDict, Field, PrivateAttr

from hindsight_adapter_core import (
    Connected,
    Deadlines,
    HindsightError,
    MemoryOperations,
    MemoryOptions,
    RecalledMemory,
    RecallOutcome,
    check_positive,
    open_memory,
)

from ._client import PACKAGE
from .failures import told
from .run_context import BankChoice, BankId, RunContext, static_bank
from .tools import memory_data

__all__ = ["HindsightRetriever"]


class HindsightRetriever(Connected, BaseRetriever):
    """Memories as LangChain documents, the best first.

    A document holds one memory; its metadata holds ``id``, ``type``, ``document_id``, ``context``, ``occurred_start``,
    ``occurred_end``, ``mentioned_at``, ``score``, ``tags`` and ``entities``, as far as the server gave them, and the
    memory's own metadata under ``metadata``.

    A search that fails raises nothing: the answer is one document that says why, with ``{"type": "error"}`` as
    metadata, so that a model reading it knows. Use ``raise_on_error=True`` with ``with_retry`` or ``with_fallbacks``.

    Args:
        bank_id: the memory bank, or a function from :class:`RunContext` to one, called anew at each search. By default
            the bank is what the run says under ``bank_id_from_config``, else ``HINDSIGHT_BANK_ID``.
        client: a client of yours; it wins over address and key, and stays yours to close.
        hindsight_api_url: server address; default ``configure()``, ``HINDSIGHT_API_URL``, the vendor's cloud.
        api_key: bearer key; default ``configure()``, ``HINDSIGHT_API_KEY``. It is no field and in no dump.
        k: how many documents at most; ``invoke(query, k=3)`` sets it for one search.
        budget: search depth ``low``, ``mid`` or ``high``; default ``configure()``, else ``mid``.
        max_tokens: upper bound of all documents together, in tokens; default ``configure()``, else 4096.
        recall_tags: tags to filter by. (``tags`` is LangChain's own field: labels of traces.)
        recall_tags_match: ``any``, ``all``, ``any_strict``, ``all_strict`` or ``exact``; default ``any``.
        recall_types: fact types to search: ``world``, ``experience``, ``observation``; default all.
        recall_include_entities: ask for entities as well.
        tag_groups: boolean tag filter, instead of ``recall_tags``.
        min_scores: score floors, e.g. ``{"final": 0.2}``.
        bank_id_from_config: where a run names its bank: a key of ``config["configurable"]`` or of the run's context.
        deadlines: time limits in seconds; default recall 10.
        raise_on_error: raise :class:`HindsightError` when a search fails.

    Raises:
        SettingsError: an argument is out of its range.

    Example:
        >>> retriever = HindsightRetriever(bank_id="ada", hindsight_api_url="http://localhost:8888", k=3)
        >>> retriever.invoke("Which theme does Ada prefer?")                          # doctest: +SKIP
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    k: int = Field(default=10, gt=0, description="How many documents at most.")

    _operations: MemoryOperations = PrivateAttr()
    _bank: BankChoice = PrivateAttr()

    def __init__(  # noqa: PLR0913 - the documented signature
        self,
        *,
        bank_id: BankId = None,
        client: Any = None,
        hindsight_api_url: str | None = None,
        api_key: str | None = None,
        k: int = 10,
        budget: str | None = None,
        max_tokens: int | None = None,
        recall_tags: list[str] | None = None,
        recall_tags_match: str | None = None,
        recall_types: list[str] | None = None,
        recall_include_entities: bool = False,
        tag_groups: list[dict[str, Any]] | None = None,
        min_scores: dict[str, float] | None = None,
        bank_id_from_config: str = "user_id",
        deadlines: Deadlines | None = None,
        raise_on_error: bool = False,
        **fields: Any,
    ) -> None:
        options = MemoryOptions(
            bank_id=static_bank(bank_id),
            hindsight_api_url=hindsight_api_url,
            budget=budget,
            max_tokens=max_tokens,
            recall_tags=recall_tags,
            recall_tags_match=recall_tags_match,
            recall_types=recall_types,
            recall_include_entities=recall_include_entities,
            tag_groups=tag_groups,
            min_scores=min_scores,
            deadlines=deadlines,
        )
        check_positive("k", k)
        super().__init__(**{"k": k, **fields})
        self._operations = open_memory(PACKAGE, options, client=client, api_key=api_key, raise_on_error=raise_on_error)
        self._bank = BankChoice.make(bank_id, bank_id_from_config, self._operations)

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """The documents for a query.

        Args:
            input: what to look for; a blank query finds nothing.
            config: the run's config, which may name the bank.
            **kwargs: ``k`` sets the number of documents for this search.
        """
        return super().invoke(input, config, run=RunContext.current(config), **kwargs)

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Async twin of :meth:`invoke`."""
        return await super().ainvoke(input, config, run=RunContext.current(config), **kwargs)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        run: RunContext | None = None,
        k: int | None = None,
    ) -> list[Document]:
        limit = self._limit(k)
        try:
            return _documents(self._operations.recall(query, bank_id=self._bank.of(run or RunContext())), limit)
        except HindsightError as error:
            return self._failed(error)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        run: RunContext | None = None,
        k: int | None = None,
    ) -> list[Document]:
        limit = self._limit(k)
        try:
            bank = self._bank.of(run or RunContext())
            return _documents(await self._operations.arecall(query, bank_id=bank), limit)
        except HindsightError as error:
            return self._failed(error)

    def _limit(self, k: int | None) -> int:
        check_positive("k", k)
        return self.k if k is None else k

    def _failed(self, error: HindsightError) -> list[Document]:
        failure = told("recall", error, self._operations)
        if self._operations.raise_on_error:
            raise failure from error
        return [Document(page_content=str(failure), metadata={"type": "error"})]


def _documents(outcome: RecallOutcome, limit: int) -> list[Document]:
    return [_document(memory) for memory in outcome.memories[:limit]]


def _document(memory: RecalledMemory) -> Document:
    data = memory_data(memory)
    text = data.pop("text")
    known = {name: value for name, value in data.items() if value not in (None, [], {})}
    return Document(id=memory.id, page_content=text, metadata=known)
