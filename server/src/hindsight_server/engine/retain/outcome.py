"""What came of a retain, as it is kept in its operation and told to the caller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from hindsight_server.engine.retain.extracting import Prepared
from hindsight_server.engine.retain.types import RetainOutcome
from hindsight_server.ports.records import DocumentWrite, Operation

_OF_FAILURES = ("failed_chunks", "failed_facts", "failed_documents", "failed_by_document", "extraction_error")
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
        failed = {one.document_id: [0, 0] for one in prepared.unread}
        for one in prepared.unread:
            failed[one.document_id][0] += one.chunks
        for document in documents:
            if document.document_id in failed:
                failed[document.document_id][1] += _standing_in(document)
        result |= _of_failures(failed, prepared.unread[0].error)
    return result


def _of_failures(failed: Mapping[str, Sequence[int]], error: str | None) -> dict[str, Any]:
    """What is told of failed documents, of which the chunks and the facts that stand in for theirs are known."""
    if not failed:
        return {}
    return {
        "failed_chunks": sum(chunks for chunks, _ in failed.values()),
        "failed_facts": sum(facts for _, facts in failed.values()),
        "failed_documents": list(failed),
        "failed_by_document": {document_id: list(counts) for document_id, counts in failed.items()},
        "extraction_error": error,
    }


def _failed(result: Mapping[str, Any]) -> dict[str, list[int]]:
    """Chunks and standing-in facts by failed document; older results know only their sums."""
    known: dict[str, list[int]] | None = result.get("failed_by_document")
    if known is not None:
        return dict(known)
    failed = {document_id: [0, 0] for document_id in result.get("failed_documents", ())}
    for sums in list(failed.values())[:1]:
        sums[:] = [result.get("failed_chunks", 0), result.get("failed_facts", 0)]
    return failed


def kept_of(prepared: Prepared, passed_over: Set[str]) -> Prepared:
    """What was prepared without the documents that were not stored, as they were replaced or deleted meanwhile."""
    if not passed_over:
        return prepared
    documents = tuple(one for one in prepared.documents if one.document_id not in passed_over)
    return replace(
        prepared,
        documents=documents,
        unread=tuple(one for one in prepared.unread if one.document_id not in passed_over),
        unencoded=sum(fact.encoding is None for one in documents for fact in one.facts),
    )


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
    failed, more_failed = _failed(before), _failed(more)
    for document_id, (chunks, facts) in more_failed.items():
        held = failed.get(document_id, [0, 0])
        failed[document_id] = [held[0] + chunks, held[1] + facts]
    return result | _of_failures(failed, before.get("extraction_error") or more.get("extraction_error"))


def without_failure(result: Mapping[str, Any], document_id: str) -> dict[str, Any]:
    """A result of which a failed document was read again, without the facts that stood in for those of its chunks."""
    failed = _failed(result)
    counts = failed.pop(document_id, [0, 0])
    left = {name: value for name, value in result.items() if name not in _OF_FAILURES}
    if "fact_count" in left:
        left["fact_count"] -= counts[1]
    return left | _of_failures(failed, result.get("extraction_error"))


def shown(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result as callers are told of it: flat, also where the job was not done with all of its documents yet."""
    told = {**result, **result.get("read", {})}
    told.pop("read", None)
    told.pop("failed_by_document", None)
    return told


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
    outcome = outcome_of(
        bank_id, operation.items_count, run_async, operation.operation_id, shown(operation.result or {})
    )
    return replace(outcome, replayed=True)


def told(failed: Sequence[str], chunks: int, error: str | None) -> str:
    """Why an operation is not done, in a sentence."""
    documents = "1 document" if len(failed) == 1 else f"{len(failed)} documents"
    pieces = "1 chunk" if chunks == 1 else f"{chunks} chunks"
    stays = "stays as it was" if chunks == 1 else "stay as they were"
    return f"{pieces} of {documents} could not be read by the language model and {stays} written: {error}"
