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
from hindsight_adapter_core.failures import refused_for_good

__all__ = ["failure_note", "reworded", "told", "told_of_turn"]


def told(
    operation: Operation, error: HindsightError, operations: MemoryOperations, *, level: int = logging.WARNING
) -> OperationError:
    """``error`` as the documented sentence, logged once."""
    failure = _described(operation, error, operations)
    logging.getLogger(operations.package.import_name).log(level, "%s", failure)
    return failure


def told_of_turn(error: HindsightError, operations: MemoryOperations) -> OperationError:
    """As :func:`told`, of a run's turns that could not be stored: the log says what becomes of them."""
    failure = _described("retain", error, operations)
    again = "" if refused_for_good(error) else ", and is offered again at the end of the conversation's next run"
    logging.getLogger(operations.package.import_name).warning("%s; the turn was not stored%s", failure, again)
    return failure


def _described(operation: Operation, error: HindsightError, operations: MemoryOperations) -> OperationError:
    if isinstance(error, OperationError):
        return error
    return describe_failure(operation, error, secret=operations.handle.secret)


def reworded(prefix: str, sentence: OperationError, *, operation: Operation | None = None) -> OperationError:
    """The failure of ``sentence`` under another prefix, e.g. ``"Recall failed: TimeoutError: ..."``.

    ``operation`` is another one that failed by it.
    """
    detail = str(sentence).split(": ", 1)[-1]
    kind = OperationTimeoutError if isinstance(sentence, OperationTimeoutError) else OperationError
    return kind(prefix + detail, operation=operation or sentence.operation, outcome_unknown=sentence.outcome_unknown)


def failure_note(failure: OperationError) -> str:
    """What a model reads in place of memories: that there may be some, and why they are not here."""
    return f"Long-term memory could not be searched for this message. {failure}"
