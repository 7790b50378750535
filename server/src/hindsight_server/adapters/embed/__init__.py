"""Embedders behind the `Embedder` port."""

from __future__ import annotations

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.ports.embedder import Embedder

__all__ = ["make_embedder"]


def make_embedder(provider: str = "local") -> Embedder:
    """The embedder of a provider name; no model is loaded before its `start()` or first use.

    Args:
        provider: ``local`` (the bundled models: MiniLM for Latin script, the multilingual USE for all others), or
            ``hashing`` (no model: words and letters only).

    Raises:
        InvalidInput: the name is unknown.
    """
    if provider == "local":
        from hindsight_server.adapters.embed.bridge import Bridge
        from hindsight_server.adapters.embed.minilm import MiniLMEmbedder
        from hindsight_server.adapters.embed.spaces import ScriptEmbedder
        from hindsight_server.adapters.embed.use import UseEmbedder

        return ScriptEmbedder(MiniLMEmbedder(), UseEmbedder(), Bridge())
    if provider == "hashing":
        from hindsight_server.adapters.embed.hashing import HashingEmbedder

        return HashingEmbedder()
    raise InvalidInput(
        f"HINDSIGHT_API_EMBEDDINGS_PROVIDER is {provider!r}; use 'local' or 'hashing'.",
        field="HINDSIGHT_API_EMBEDDINGS_PROVIDER",
    )
