"""Embedders behind the `Embedder` port."""

from __future__ import annotations

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.ports.embedder import Embedder

__all__ = ["make_embedder"]


def make_embedder(provider: str) -> Embedder:
    """The embedder of a provider name; nothing is loaded before its `start()`.

    Args:
        provider: ``hashing`` (no model).

    Raises:
        InvalidInput: the name is unknown.
    """
    if provider == "hashing":
        from hindsight_server.adapters.embed.hashing import HashingEmbedder

        return HashingEmbedder()
    raise InvalidInput(
        f"HINDSIGHT_API_EMBEDDINGS_PROVIDER is {provider!r}; use 'local' or 'hashing'.",
        field="HINDSIGHT_API_EMBEDDINGS_PROVIDER",
    )
