"""What happens when a memory call fails: the run goes on, and the model, the log and the caller are told."""

from __future__ import annotations

import logging

from hindsight_adapter_core import HindsightError, MemoryOperations, Operation, OperationError, describe_failure

__all__ = ["failure_note", "told"]


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


def failure_note(failure: OperationError) -> str:
    """What a model reads in place of memories: that there may be some, and why they are not here."""
    return f"Long-term memory could not be searched for this message. {failure}"
