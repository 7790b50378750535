"""The core as a package of its own, for those who use it without a framework."""

from __future__ import annotations

from typing import Any

from . import __version__
from .clients import AdapterPackage, lazy_client_class
from .settings import AdapterConfig, ConfigHolder

__all__ = ["PACKAGE"]

PACKAGE: AdapterPackage[AdapterConfig] = AdapterPackage(
    import_name="hindsight_adapter_core",
    framework="python",
    version=__version__,
    config=ConfigHolder("hindsight_adapter_core", AdapterConfig),
)
__getattr__: Any = lazy_client_class(__name__)
