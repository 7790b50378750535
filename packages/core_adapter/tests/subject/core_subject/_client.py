from __future__ import annotations

from typing import Any

from hindsight_adapter_core import AdapterConfig, AdapterPackage, ConfigHolder, lazy_client_class

CONFIG: ConfigHolder[AdapterConfig] = ConfigHolder("core_subject", AdapterConfig)
PACKAGE: AdapterPackage[AdapterConfig] = AdapterPackage(
    import_name="core_subject", framework="subject", version="9.9.9", config=CONFIG
)
__getattr__: Any = lazy_client_class(__name__)
