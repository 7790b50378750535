"""The sentences of this package where they differ from those of ``hindsight_langchain``."""

from __future__ import annotations

from hindsight_adapter_core import HindsightError, OperationError, OperationTimeoutError

__all__ = ["reworded"]


def reworded(prefix: str, sentence: OperationError) -> HindsightError:
    """The failure of ``sentence`` under another prefix, e.g. ``"Recall failed: TimeoutError: ..."``."""
    detail = str(sentence).split(": ", 1)[-1]
    kind = OperationTimeoutError if isinstance(sentence, OperationTimeoutError) else OperationError
    return kind(prefix + detail, operation=sentence.operation, outcome_unknown=sentence.outcome_unknown)
