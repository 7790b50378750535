"""What happens when a memory call fails: the run goes on, and the model, the log and the caller are told."""

from __future__ import annotations

import logging

from hindsight_adapter_core import (
    HindsightError,
    MemoryOperations,
    Operation,
    OperationError,
    OperationTimeoutError,
    describe_failure,
)

__all__ = ["failure_note", "reworded", "told"]


def told(
    operation: Operation, error: HindsightError, operations: MemoryOperations, *, level: int = logging.WARNING
) -> OperationError:
    """``error`` as the documented sentence, logged once."""
    failure = (
        error
        if isinstance(error, OperationError)
        else describe_failure(operation, error, secret=operations.handle.secret)
    )
    logging.getLogger(operations.package.import_name).log(level, "%s", failure)
    return failure


def reworded(prefix: str, sentence: OperationError) -> OperationError:
    """The failure of ``sentence`` under another prefix, e.g. ``"Recall failed: TimeoutError: ..."``."""
    detail = str(sentence).split(": ", 1)[-1]
    kind = OperationTimeoutError if isinstance(sentence, OperationTimeoutError) else OperationError
    return kind(prefix + detail, operation=sentence.operation, outcome_unknown=sentence.outcome_unknown)


def failure_note(failure: OperationError) -> str:
    """What a model reads in place of memories: that there may be some, and why they are not here."""
    return f"Long-term memory could not be searched for this message. {failure}"
