"""How this package gets its client: the one place that builds one.

``Hindsight`` is looked up here at each use, so replacing ``hindsight_langgraph._client.Hindsight`` replaces the class
for tools, nodes and instructions alike. hindsight-client itself is imported at the first use.
"""

from __future__ import annotations

from typing import Any

from hindsight_adapter_core import AdapterPackage, connect, lazy_client_class
from hindsight_langchain import __version__

from .config import HOLDER, HindsightLangGraphConfig

__all__ = ["PACKAGE", "resolve_client"]

PACKAGE: AdapterPackage[HindsightLangGraphConfig] = AdapterPackage(
    import_name="hindsight_langgraph", framework="langgraph", version=__version__, config=HOLDER
)

__getattr__ = lazy_client_class(__name__)


def resolve_client(client: Any = None, hindsight_api_url: str | None = None, api_key: str | None = None) -> Any:
    """The client that everything here would use: the given one, else one for the resolved address and key."""
    return connect(PACKAGE, client=client, hindsight_api_url=hindsight_api_url, api_key=api_key).client
