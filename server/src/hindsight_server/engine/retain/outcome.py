"""What came of a retain, as it is kept in its operation and told to the caller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hindsight_server.engine.retain.extracting import Prepared
from hindsight_server.engine.retain.types import RetainOutcome
from hindsight_server.ports.records import DocumentWrite, Operation

_OF_FAILURES = ("failed_chunks", "failed_facts", "failed_documents", "extraction_error", "progress")
_COUNTS = ("fact_count", "unencoded_count", "no_fact_documents", "input_tokens", "output_tokens")


def result_of(prepared: Prepared) -> dict[str, Any]:
    """The result of an operation. What only a model brings is in it where there is something to tell."""
    documents = prepared.documents
    with_facts = {document.document_id for document in documents if document.facts or document.kept_hashes}
    result: dict[str, Any] = {
        "document_ids": [document.document_id for document in documents],
        "fact_count": sum(len(document.facts) for document in documents),
        "unencoded_count": prepared.unencoded,
        "no_fact_documents": len({document.document_id for document in documents} - with_facts),
        "input_tokens": prepared.usage.input_tokens,
        "output_tokens": prepared.usage.output_tokens,
    }
    if prepared.dropped:
        result["dropped_facts"] = dict(sorted(prepared.dropped.items()))
    if prepared.unsupported:
        result["unsupported_chunks"] = prepared.unsupported
    if prepared.unread:
        result["failed_chunks"] = sum(one.chunks for one in prepared.unread)
        result["failed_facts"] = sum(map(_standing_in, documents))
        result["failed_documents"] = list(dict.fromkeys(one.document_id for one in prepared.unread))
        result["extraction_error"] = prepared.unread[0].error
    return result


def added(before: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """The results of two pieces of one piece of work as one."""
    result: dict[str, Any] = {"document_ids": [*before.get("document_ids", ()), *more.get("document_ids", ())]}
    result |= {name: before.get(name, 0) + more.get(name, 0) for name in _COUNTS}
    dropped = Counter(before.get("dropped_facts", {})) + Counter(more.get("dropped_facts", {}))
    if dropped:
        result["dropped_facts"] = dict(sorted(dropped.items()))
    unsupported = before.get("unsupported_chunks", 0) + more.get("unsupported_chunks", 0)
    if unsupported:
        result["unsupported_chunks"] = unsupported
    failed = list(dict.fromkeys([*before.get("failed_documents", ()), *more.get("failed_documents", ())]))
    if failed:
        for name in ("failed_chunks", "failed_facts"):
            result[name] = before.get(name, 0) + more.get(name, 0)
        result["failed_documents"] = failed
        result["extraction_error"] = before.get("extraction_error") or more.get("extraction_error")
    return result


def without_failures(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result whose failed documents are about to be tried again, without the facts that stand in for theirs."""
    left = {name: value for name, value in result.items() if name not in _OF_FAILURES}
    if "fact_count" in left:
        left["fact_count"] -= result.get("failed_facts", 0)
    return left


def _standing_in(document: DocumentWrite) -> int:
    """How many facts only repeat the words of chunks that are to be read again."""
    unread = {chunk.index for chunk in document.chunks if not chunk.complete}
    return sum(fact.extracted.chunk_index in unread for fact in document.facts)


def outcome_of(
    bank_id: str, items_count: int, run_async: bool, operation_id: str | None, result: Mapping[str, Any]
) -> RetainOutcome:
    """A result as it is told to the caller."""
    return RetainOutcome(
        bank_id=bank_id,
        items_count=items_count,
        run_async=run_async,
        operation_id=operation_id,
        document_ids=tuple(result.get("document_ids", ())),
        fact_count=result.get("fact_count", 0),
        unencoded_count=result.get("unencoded_count", 0),
        no_fact_documents=result.get("no_fact_documents", 0),
        input_tokens=result.get("input_tokens", 0),
        output_tokens=result.get("output_tokens", 0),
        dropped_facts=dict(result.get("dropped_facts", {})),
        unsupported_chunks=result.get("unsupported_chunks", 0),
        failed_documents=tuple(result.get("failed_documents", ())),
    )


def replayed(bank_id: str, operation: Operation, run_async: bool) -> RetainOutcome:
    """The outcome of a request that had been done before."""
    outcome = outcome_of(bank_id, operation.items_count, run_async, operation.operation_id, operation.result or {})
    return replace(outcome, replayed=True)


def told(failed: Sequence[str], chunks: int, error: str | None) -> str:
    """Why an operation is not done, in a sentence."""
    documents = "1 document" if len(failed) == 1 else f"{len(failed)} documents"
    pieces = "1 chunk" if chunks == 1 else f"{chunks} chunks"
    return f"{pieces} of {documents} could not be read by the language model and stay as they were written: {error}"
