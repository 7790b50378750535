"""What turns text into search terms and counts its tokens."""

from __future__ import annotations

from typing import Protocol


class TextAnalyzer(Protocol):
    """Blocking, quick, safe to call from several threads; never raises for any text.

    Stored text and queries go through the same rules, so that a word is found however it is written.
    """

    def index_terms(self, text: str) -> list[str]:
        """The terms of a text to be stored, in order, repeats included; stop words are left out."""
        ...

    def query_terms(self, text: str) -> list[str]:
        """The terms of a question: as `index_terms`, without question words unless nothing else is left."""
        ...

    def stem(self, word: str) -> str:
        """The term that a single plain word is indexed under, stop word or not."""
        ...

    def count_tokens(self, text: str) -> int:
        """How many tokens a language model counts in the text; at least 1 for text that is not empty."""
        ...
