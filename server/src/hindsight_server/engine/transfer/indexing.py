"""What facts of an archive are found by, made here: archives carry no words of an index and no vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from hindsight_server.engine.indexing import IndexedWords, Indexer, embedded_text
from hindsight_server.ports.transfer import ReadyFact, TransferFact

_AT_ONCE = 500


async def ready_facts(
    indexer: Indexer, facts: Sequence[TransferFact], encoded: int, tell: Callable[[int, int], Awaitable[None]]
) -> tuple[tuple[ReadyFact, ...], int]:
    """The facts with their words and vectors, and the number of those that get their vectors later.

    Args:
        encoded: about how many get their vectors now.
        tell: told how many are done, and of how many.
    """
    ready: list[ReadyFact] = []
    for start in range(0, len(facts), _AT_ONCE):
        await tell(start, len(facts))
        some = facts[start : start + _AT_ONCE]
        words = await asyncio.to_thread(_words, indexer, some)
        if start < encoded:
            encodings = await indexer.encode([embedded_text(fact) for fact in some])
        else:
            encodings = [None] * len(some)
        ready += [
            ReadyFact(fact=fact, terms=of.terms, length=of.length, tokens=of.tokens, encoding=encoding)
            for fact, of, encoding in zip(some, words, encodings, strict=True)
        ]
    return tuple(ready), sum(one.encoding is None for one in ready)


def _words(indexer: Indexer, facts: Sequence[TransferFact]) -> list[IndexedWords]:
    return [indexer.words(fact) for fact in facts]
