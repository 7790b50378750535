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


class TwoSpaces(HashingEmbedder):
    """Chinese text has a space of its own, and that one can't be loaded."""

    @property
    def spaces(self) -> tuple[str, ...]:
        return (*super().spaces, "multilingual")

    def space_of(self, text: str) -> str:
        return super().space_of(text) if text.isascii() else "multilingual"

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        if any(self.space_of(text) == "multilingual" for text in texts):
            raise EmbeddingUnavailable("the multilingual model is gone")
        return super().encode(texts)


async def test_a_missing_model_leaves_only_its_own_texts_without_vectors(caplog: pytest.LogCaptureFixture) -> None:
    indexer = Indexer(Analyzer(), TwoSpaces())
    texts = ["你好" if n == 70 else f"text {n}" for n in range(150)]
    encodings = await indexer.encode(texts)
    assert [at for at, encoding in enumerate(encodings) if encoding is None] == [70]
    (expected,) = HashingEmbedder().encode(["text 149"])
    last = encodings[149]
    assert last
    assert (last.vector == expected.vector).all()
    assert indexer.unencoded_facts == 1
    assert "the multilingual model is gone" in caplog.text


class NeverReady(HashingEmbedder):
    """A model that does not finish loading in time."""

    ready = False

    def wait_ready(self, timeout: float) -> bool:
        return False


async def test_a_model_that_is_still_loading_is_not_waited_for_longer_than_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    indexer = Indexer(Analyzer(), NeverReady(), wait_seconds=0.01)
    assert await indexer.encode(["a", "b"]) == [None, None]
    assert indexer.unencoded_facts == 2
    assert "still being loaded" in caplog.text
