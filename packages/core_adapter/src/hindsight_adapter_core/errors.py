"""The exception tree of the adapters.

::

    HindsightError                      everything an adapter raises on purpose
    ├── SettingsError (ValueError)      an argument, a configured value or a template is unusable
    │   ├── MissingCredentialsError     the vendor's cloud would be called without a key: nothing was sent
    │   └── MissingBankError            no memory bank was named
    ├── BridgeError (RuntimeError)      the background loop is closed, or a call would wait on itself
    ├── SerializationError (TypeError)  an object holds something that cannot be copied or pickled
    ├── OperationError                  retain, recall or reflect failed
    │   ├── OperationTimeoutError       the deadline passed; whether the server finished is not known
    │   └── DeliveryFullError           the background queue had no room: this write was not taken
    └── ConcealedError                  the cause of an OperationError, in place of one that shows the key
"""

from __future__ import annotations

__all__ = [
    "BridgeError",
    "ConcealedError",
    "DeliveryFullError",
    "HindsightError",
    "MissingBankError",
    "MissingCredentialsError",
    "OperationError",
    "OperationTimeoutError",
    "SerializationError",
    "SettingsError",
]


class HindsightError(Exception):
    """Base of every error that the Hindsight adapters raise."""


class SettingsError(HindsightError, ValueError):
    """An argument, a configured value or a template cannot be used; the text names it and the remedy."""


class MissingCredentialsError(SettingsError):
    """The default cloud endpoint would be called without an API key, so nothing was sent."""


class MissingBankError(SettingsError):
    """No memory bank was given by argument, run context or environment."""


class BridgeError(HindsightError, RuntimeError):
    """The background loop cannot take this call: it is closed, or it would wait for itself."""


class SerializationError(HindsightError, TypeError):
    """An object cannot be copied, pickled or dumped; the text names the field that stands in the way."""


class OperationError(HindsightError):
    """A memory operation failed.

    The text is the sentence that a tool would have answered ("Failed to store memory: ..."), already cut to a
    bounded length and free of secrets. The cause, when there is one, is chained: the client's own error, or a
    :class:`ConcealedError` when that one would show the key.

    Attributes:
        operation: ``"retain"``, ``"recall"`` or ``"reflect"``.
        outcome_unknown: True when the server may have done the work although no answer came.
    """

    def __init__(self, message: str, *, operation: str, outcome_unknown: bool = False) -> None:
        super().__init__(message)
        self.operation = operation
        self.outcome_unknown = outcome_unknown

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_operation_error, (type(self), str(self), self.operation, self.outcome_unknown)


class OperationTimeoutError(OperationError, TimeoutError):
    """The operation's deadline passed before an answer came."""


class DeliveryFullError(OperationError):
    """The background queue had no room in time; the write was not taken."""


class ConcealedError(HindsightError):
    """Says what an error of the client said, without the key that it held; never raised by itself.

    Servers quote what they were sent, and the client's errors quote the server.

    Attributes:
        status: HTTP status of the answer; ``None`` when there was none.
        body: the answer's text without the key.
    """

    def __init__(self, message: str, *, status: int | None, body: str) -> None:
        super().__init__(message)
        self.status = status
        self.body = body

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_concealed_error, (str(self), self.status, self.body)


def _rebuild_concealed_error(message: str, status: int | None, body: str) -> ConcealedError:
    return ConcealedError(message, status=status, body=body)


def _rebuild_operation_error(
    kind: type[OperationError], message: str, operation: str, outcome_unknown: bool
) -> OperationError:
    return kind(message, operation=operation, outcome_unknown=outcome_unknown)
