"""The errors of this package: those of the adapter core, drawn in :mod:`hindsight_adapter_core.errors`."""

from hindsight_adapter_core import (
    HindsightError,
    MissingBankError,
    MissingCredentialsError,
    OperationError,
    OperationTimeoutError,
    SettingsError,
)

__all__ = [
    "HindsightError",
    "MissingBankError",
    "MissingCredentialsError",
    "OperationError",
    "OperationTimeoutError",
    "SettingsError",
]
