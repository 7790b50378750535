"""``HindsightRetriever``: a bank as a LlamaIndex retriever, for query engines, chat engines and agents' tools."""

from __future__ import annotations

import logging
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from hindsight_adapter_core import (
    Connected,
    Deadlines,
    HindsightError,
    MemoryOperations,
    MemoryOptions,
    RecalledMemory,
    RecallOutcome,
    check_positive,
    id_text,
    open_memory,
)

from ._client import PACKAGE

__all__ = ["HindsightRetriever"]

logger = logging.getLogger("hindsight_llamaindex")

#: What helps a model to judge a memory; the rest of a node's metadata is for programs.
_SHOWN = frozenset({"type", "context", "occurred_start", "occurred_end", "mentioned_at"})
_FIELDS = ("type", "document_id", "context", "occurred_start", "occurred_end", "mentioned_at")


class HindsightRetriever(Connected, BaseRetriever):
    """Memories as nodes, the best first: one ``TextNode`` each, with the memory's id and score.

    A node's metadata holds ``type``, ``document_id``, ``context``, ``occurred_start``, ``occurred_end``,
    ``mentioned_at``, ``tags`` and ``entities``, as far as the server gave them, and the memory's own metadata. A model
    is shown the type, the context and the dates only.

    When a search fails, a warning is logged and nothing is found, unless ``raise_on_error`` is set. Works in sync
    code, inside a running loop and in any thread; ``aretrieve`` is really async.

    Args:
        bank_id: the memory bank; ``None`` takes ``HINDSIGHT_BANK_ID``.
        client: a client of yours; it wins over address and key, and stays yours to close.
        hindsight_api_url: server address; default ``configure()``, ``HINDSIGHT_API_URL``, the vendor's cloud.
        api_key: bearer key; default ``configure()``, ``HINDSIGHT_API_KEY``.
        similarity_top_k: how many nodes at most.
        budget: search depth ``low``, ``mid`` or ``high``; default ``configure()``, else ``mid``.
        max_tokens: upper bound of all nodes together, in tokens; default ``configure()``, else 4096.
        recall_tags: tags to filter by.
        recall_tags_match: ``any``, ``all``, ``any_strict``, ``all_strict`` or ``exact``; default ``any``.
        recall_types: fact types to search: ``world``, ``experience``, ``observation``; default all.
        recall_include_entities: ask for entities as well.
        tag_groups: boolean tag filter, instead of ``recall_tags``.
        min_scores: score floors, e.g. ``{"final": 0.2}``.
        deadlines: time limits in seconds; default recall 10.
        raise_on_error: raise :class:`HindsightError` when a search fails.
        **options: ``callback_manager``, ``objects``, ``object_map``, ``verbose`` of ``BaseRetriever``.

    Raises:
        SettingsError: an argument is out of its range.
        MissingBankError: no bank is named.

    Example:
        >>> retriever = HindsightRetriever(bank_id="ada", hindsight_api_url="http://localhost:8888")
        >>> retriever.retrieve("Which theme does Ada prefer?")                          # doctest: +SKIP
    """

    def __init__(  # noqa: PLR0913 - one keyword a setting, as in the other classes
        self,
        *,
        bank_id: str | int | None = None,
        client: Any = None,
        hindsight_api_url: str | None = None,
        api_key: str | None = None,
        similarity_top_k: int = 10,
        budget: str | None = None,
        max_tokens: int | None = None,
        recall_tags: list[str] | None = None,
        recall_tags_match: str | None = None,
        recall_types: list[str] | None = None,
        recall_include_entities: bool = False,
        tag_groups: list[dict[str, Any]] | None = None,
        min_scores: dict[str, float] | None = None,
        deadlines: Deadlines | None = None,
        raise_on_error: bool = False,
        **options: Any,
    ) -> None:
        check_positive("similarity_top_k", similarity_top_k)
        super().__init__(**options)
        self.similarity_top_k = similarity_top_k
        arguments = MemoryOptions(
            bank_id=id_text(bank_id),
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
        self._operations: MemoryOperations = open_memory(
            PACKAGE, arguments, client=client, api_key=api_key, raise_on_error=raise_on_error
        )
        self._operations.settings.bank()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        try:
            return self._nodes(self._operations.recall(query_bundle.query_str))
        except HindsightError as error:
            return self._failed(error)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        try:
            return self._nodes(await self._operations.arecall(query_bundle.query_str))
        except HindsightError as error:
            return self._failed(error)

    def _nodes(self, outcome: RecallOutcome) -> list[NodeWithScore]:
        found = [memory for memory in outcome if memory.text.strip()]
        return [NodeWithScore(node=_node(one), score=one.score) for one in found[: self.similarity_top_k]]

    def _failed(self, error: HindsightError) -> list[NodeWithScore]:
        if self._operations.raise_on_error:
            raise error
        logger.warning("%s; nothing is retrieved", error)
        return []

    def __repr__(self) -> str:
        return f"HindsightRetriever(bank_id={self._operations.settings.bank_id!r})"


def _node(memory: RecalledMemory) -> TextNode:
    given = {name: getattr(memory, name) for name in _FIELDS}
    given |= {"tags": list(memory.tags), "entities": list(memory.entities)}
    metadata = {**memory.metadata, **{name: value for name, value in given.items() if value not in (None, [])}}
    hidden = [name for name in metadata if name not in _SHOWN]
    known_id = {"id_": memory.id} if memory.id else {}
    return TextNode(
        text=memory.text,
        metadata=metadata,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=list(metadata),
        **known_id,
    )
