"""The words under which facts are found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from hindsight_server.adapters.embed.hashing import HashingEmbedder
from hindsight_server.adapters.text import Analyzer
from hindsight_server.domain.errors import EmbeddingUnavailable
from hindsight_server.domain.model import ExtractedFact, FactType
from hindsight_server.engine.indexing import Indexer, embedded_text, indexed_text
from hindsight_server.ports.embedder import Encoding

SAID = datetime(2023, 5, 7, 13, 56, tzinfo=UTC)


def fact(text: str, speaker: str | None = None, said: datetime | None = SAID) -> ExtractedFact:
    return ExtractedFact(
        text=text, fact_type=FactType.WORLD, chunk_index=0, turn_index=0, speaker=speaker, mentioned_at=said
    )


@pytest.mark.parametrize(
    ("given", "indexed"),
    [
        (fact("Ann: I ran.", "Ann"), "Ann (7 May 2023): I ran."),
        (fact("I ran.", "Ann"), "(7 May 2023) I ran."),
        (fact("I ran."), "(7 May 2023) I ran."),
        (fact("Ann: I ran.", "Ann", None), "Ann: I ran."),
        (fact("小明: 我搬家了", "小明"), "小明 (2023年5月7日): 我搬家了"),
    ],
)
def test_speaker_and_date_are_part_of_what_is_indexed(given: ExtractedFact, indexed: str) -> None:
    assert indexed_text(given) == embedded_text(given) == indexed


def test_terms_are_counted() -> None:
    words = Indexer(Analyzer(), HashingEmbedder()).words(fact("Ann: tea, tea and more tea", "Ann"))
    assert words.terms["tea"] == 3
    assert words.terms["2023"] == 1
    assert words.length == sum(words.terms.values())
    assert words.tokens > 0


class BrokenEmbedder(HashingEmbedder):
    """Fails from the second slice on, as a model that is lost half way."""

    calls = 0

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        self.calls += 1
        if self.calls > 1:
            raise EmbeddingUnavailable("the model is gone")
        return super().encode(texts)


async def test_texts_that_no_model_encodes_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    indexer = Indexer(Analyzer(), BrokenEmbedder())
    encodings = await indexer.encode([f"text {n}" for n in range(100)])
    assert [encoding is None for encoding in encodings] == [False] * 64 + [True] * 36
    assert indexer.unencoded_facts == 36
    assert "the model is gone" in caplog.text
