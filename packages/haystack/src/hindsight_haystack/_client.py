"""Which client is used. ``Hindsight`` is looked up here by name, so that it may be replaced in tests."""

from __future__ import annotations

from typing import Any

from hindsight_adapter_core import AdapterPackage, connect, lazy_client_class

from ._version import __version__
from .config import CONFIG, HindsightHaystackConfig

PACKAGE: AdapterPackage[HindsightHaystackConfig] = AdapterPackage(
    import_name="hindsight_haystack", framework="haystack", version=__version__, config=CONFIG
)

__getattr__: Any = lazy_client_class(__name__)


def resolve_client(client: Any = None, hindsight_api_url: str | None = None, api_key: str | None = None) -> Any:
    """The given client, else one built from the arguments, ``configure()`` and the environment. Sends nothing."""
    return connect(PACKAGE, client=client, hindsight_api_url=hindsight_api_url, api_key=api_key).client
