"""The errors of this package: those of the adapter core, drawn in :mod:`hindsight_adapter_core.errors`."""

from hindsight_adapter_core import HindsightError

__all__ = ["HindsightError"]
