"""The exceptions of this package, shared by all adapters; the tree is drawn in ``hindsight_adapter_core.errors``."""

from hindsight_adapter_core import HindsightError, MissingCredentialsError, OperationError, SettingsError

__all__ = ["HindsightError", "MissingCredentialsError", "OperationError", "SettingsError"]
