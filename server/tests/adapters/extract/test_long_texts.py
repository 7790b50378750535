"""No text makes the work grow faster than its length.

Work is counted in processor time of two lengths of the same text, four times apart: work in proportion takes four times
as long, quadratic work sixteen times. The bound lies between, and short runs count as a floor, so that a slow or busy
machine changes nothing.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from hindsight_server.adapters.embed.words import content_words
from hindsight_server.adapters.extract import BuiltinExtractor
from hindsight_server.adapters.extract.entities import find_names
from hindsight_server.adapters.extract.sentences import grouped, sentences
from hindsight_server.adapters.text import Analyzer
from hindsight_server.domain.model import RetainItem
from hindsight_server.domain.time import find_times
from hindsight_server.domain.turns import split_turns
from hindsight_server.ports.extractor import ExtractionOptions

SHORT = 30_000
TIMES_LONGER = 4
MOST_GROWTH = 9
FLOOR_SECONDS = 0.05
NOW = datetime(2024, 3, 5, tzinfo=UTC)

_random = random.Random(11)
_HAN = "".join(chr(_random.randint(0x4E00, 0x9FFF)) for _ in range(4 * SHORT))

PATTERNS = {
    "letters": "a",
    "capitals": "A",
    "digits": "1",
    "numbers": "12 ",
    "spaces": "x" + " " * 5_000,
    "full stops": ".",
    "signs": "a.,;:!?-",
    "han": _HAN,
    "time words in Chinese": "昨天我和王小明去北京参加了三月五号的会议然后他说下周三再联系",
    "surnames": "王",
    "emoji": "😀",
    "joined emoji": "👩\u200d💻",
    "colons": "a:b:c:",
    "labels": "Ann: hi\nBob: yo\n",
    "brackets": "[",
    "pairs of brackets": "[]",
    "opened objects": '{"a":',
    "JSON lines": '{"role":"user","content":"hi"}\n',
    "addresses": "https://example.com/a/b?c=d&e=f ",
    "one address": "a.b/c-d?",
    "e-mail addresses": "a.b@c.d ",
    "at signs": "@a",
    "quotes": '"',
    "quoted titles": '"Ab cd" ',
    "apostrophes": "it's ",
    "newlines": "x\n\n \n",
    "combining marks": "e\u0301\u0302",
    "points": "\u05d0\u05b0",
    "hyphens and digits": "a-1-",
    "underscores": "a_",
    "dates": "2023-05-07 ",
    "months": "May 5, ",
    "weekdays": "the week before last Friday ",
    "initials": "A. ",
    "abbreviations": "Mr. ",
    "laughter": "ha",
    "noise": "ok, ",
    "thousands": "1,234,",
    "wrapped lines": "these words go on until the line is full and then they go on again in\n",
    "headings": "# Ab\n\n",
    "headings in a row": "# Ab\n",
    "rows": "| a | b |\n",
    "fences": "```\na\n\n",
    "comments": "<!-- a -->\n\nb\n",
    "opened comments": "<!-- a\n\n",
    "comments and code": "```\na\n```\n<!-- b -->\n",
    "comments in a line": "a <!-- b --> ",
    "items": "- a\n\n  b\n",
    "keys": "ab cd ef: 1\n",
}  # fmt: skip


def _sentences(text: str) -> None:
    grouped(text, list(sentences(text, 0, len(text))), 15)


def _works() -> Iterator[tuple[str, Callable[[str], object]]]:
    analyzer = Analyzer()
    extractor = BuiltinExtractor(analyzer)
    yield "turns", lambda text: split_turns(text, timestamp=NOW)
    yield "sentences", _sentences
    yield "times", lambda text: find_times(text, NOW)
    yield "entities", find_names
    yield "terms", analyzer.index_terms
    yield "question", analyzer.query_terms
    yield "tokens", analyzer.count_tokens
    yield "words to encode", content_words
    for mode in ("concise", "verbatim"):
        options = ExtractionOptions(mode=mode)
        yield (
            f"extraction, {mode}",
            lambda text, options=options: extractor.extract(
                RetainItem(content=text, document_id="d", timestamp=NOW), options
            ),
        )


def _seconds(work: Callable[[str], object], text: str) -> float:
    began = time.thread_time()
    work(text)
    return time.thread_time() - began


@pytest.mark.parametrize("name", PATTERNS)
def test_work_grows_with_the_length_of_a_text(name: str) -> None:
    pattern = PATTERNS[name]
    long = (pattern * (TIMES_LONGER * SHORT // len(pattern) + 1))[: TIMES_LONGER * SHORT]
    for what, work in _works():
        short_seconds = max(min(_seconds(work, long[:SHORT]) for _ in range(2)), FLOOR_SECONDS)
        long_seconds = _seconds(work, long)
        if long_seconds > MOST_GROWTH * short_seconds:  # a pause of the machine is no growth
            long_seconds = min(long_seconds, _seconds(work, long))
        assert long_seconds <= MOST_GROWTH * short_seconds, f"{what} of {name}"
