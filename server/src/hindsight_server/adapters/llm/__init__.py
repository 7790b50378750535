"""Providers of language models behind the `ChatProvider` port."""

from __future__ import annotations

from hindsight_server.adapters.llm.endpoint import Endpoint
from hindsight_server.domain.errors import ModelRefused
from hindsight_server.extras import lacking_for_model
from hindsight_server.ports.llm import ChatProvider

__all__ = ["Endpoint", "make_provider"]


def make_provider(endpoint: Endpoint) -> ChatProvider:
    """What speaks to an endpoint. Its library is imported at the first question; nothing is sent before.

    Raises:
        ModelRefused: the library of the endpoint's wire format is not installed; the message says how to get it.
    """
    lacking = lacking_for_model(endpoint.api, endpoint.provider)
    if lacking is not None:
        raise ModelRefused(lacking)
    if endpoint.api == "anthropic":
        from hindsight_server.adapters.llm.anthropic_chat import AnthropicProvider

        return AnthropicProvider(endpoint)
    if endpoint.provider == "openai":
        from hindsight_server.adapters.llm.openai_batch import OpenAiBatchProvider

        return OpenAiBatchProvider(endpoint)
    from hindsight_server.adapters.llm.openai_chat import OpenAiProvider

    return OpenAiProvider(endpoint)
