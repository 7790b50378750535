"""How this package gets its client: the one place that builds one.

``Hindsight`` is looked up here at each use, so replacing ``hindsight_llamaindex._client.Hindsight`` replaces the class
for tools and memories alike. hindsight-client itself is imported at the first use.
"""

from __future__ import annotations

from typing import Any

from hindsight_adapter_core import AdapterPackage, connect, lazy_client_class

from ._version import __version__
from .config import HOLDER, HindsightLlamaIndexConfig

__all__ = ["PACKAGE", "resolve_client"]

PACKAGE: AdapterPackage[HindsightLlamaIndexConfig] = AdapterPackage(
    import_name="hindsight_llamaindex", framework="llamaindex", version=__version__, config=HOLDER
)

__getattr__ = lazy_client_class(__name__)


def resolve_client(client: Any = None, hindsight_api_url: str | None = None, api_key: str | None = None) -> Any:
    """The client that tools and memories would use: the given one, else one for the resolved address and key.

    Address: argument, ``configure()``, ``HINDSIGHT_API_URL``, the vendor's cloud. Key: argument, ``configure()``,
    ``HINDSIGHT_API_KEY``. Sends nothing.
    """
    return connect(PACKAGE, client=client, hindsight_api_url=hindsight_api_url, api_key=api_key).client
