from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from hindsight_server.adapters.embed.minilm import DATA, TOKENIZER_FILE
from hindsight_server.adapters.embed.wordpiece import WordPiece

ROOT = Path(__file__).parents[4]
LIMIT = 64
OURS = WordPiece.from_file(DATA / TOKENIZER_FILE, limit=LIMIT)
THEIRS = Tokenizer.from_file(str(DATA / TOKENIZER_FILE))
THEIRS.no_padding()
THEIRS.enable_truncation(LIMIT)
THEIRS.encode_special_tokens = True

TEXTS = [
    "",
    " ",
    "[SEP] [UNK] [CLS] ##ing",
    "Don't stop: it's 9:40, isn't it?",
    "naïve café Ærøskøbing Łódź İstanbul ΣΊΣΥΦΟΣ straße",
    "Cafe\u0301 e\u0301\u0301 ｆｕｌｌｗｉｄｔｈ ﬁ ①",
    "蜂蜜对嗓子好。My grandmother always said so. 東京タワー 한국어 ภาษาไทย",
    "a\tb\nc\rd\x0be\x0cf\x1cg\x85h\u00a0i\u2028j\u200bk\u00adl\ufeffm\ufffdn\x00o",
    "x" * 100,
    "x" * 101,
    "word " * 200,
    "internationalization" * 4,
    "£5 €6 ¥7 $8 a+b=c <tag> `code` ~tilde~ ^caret^ |pipe|",
    "«quotes» „low“ — dash … ellipsis ‰ § ¶ † ‡ ‽",
    "shopify-prod-key-2024 v1.2.3 https://example.test/a?b=c#d user@example.test",
    "👍 🎉 party ☂ ♥",
]


def pieces_of_theirs(text: str) -> list[int]:
    return list(THEIRS.encode(text).ids)


@pytest.mark.parametrize("text", TEXTS)
def test_same_pieces_as_the_library(text: str) -> None:
    assert list(OURS.encode(text).ids) == pieces_of_theirs(text)


def test_same_pieces_for_real_text() -> None:
    sources = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md"), ROOT / "examples" / "demo" / "chat_log.txt"]
    lines = [line for source in sources for line in source.read_text(encoding="utf-8").splitlines()]
    assert len(lines) > 300
    assert [line for line in lines if list(OURS.encode(line).ids) != pieces_of_theirs(line)] == []


# Letters and marks that every version of the character tables knows.
@given(st.text(st.characters(max_codepoint=0x24FF, categories=["L", "N", "P", "S", "Z", "Mn", "Cc"]), max_size=60))
def test_same_pieces_for_any_text(text: str) -> None:
    theirs = THEIRS.encode(text)
    if any(token == "[UNK]" for token in theirs.tokens):
        return  # whether a rare character is known to be one differs by the age of the tables
    assert list(OURS.encode(text).ids) == list(theirs.ids)


def test_words_and_their_spans() -> None:
    found = OURS.encode("The zibaldone's on page 7, isn't it? 👍")
    assert found.words == ("zibaldone", "page", "7")
    assert [end - start for start, end in found.spans][1:] == [1, 1]
    assert found.spans[0][1] - found.spans[0][0] > 1


def test_a_word_that_is_cut_off_keeps_what_fits() -> None:
    short = WordPiece.from_file(DATA / TOKENIZER_FILE, limit=4).encode("zibaldone")
    assert len(short.ids) == 4
    assert short.spans == ((1, 3),)
    assert "zibaldone".startswith(short.words[0])
