"""Text analysis: search terms and token counts."""

from hindsight_server.adapters.text.analyzer import Analyzer
from hindsight_server.adapters.text.tokens import count_tokens

__all__ = ["Analyzer", "count_tokens"]
