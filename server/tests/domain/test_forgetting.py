"""Cutting words out of texts so that what is left is written as before."""

from __future__ import annotations

import json

import pytest

from hindsight_server.domain.forgetting import Cutting, Source, chunk_starts, cut_sources, find_words
from hindsight_server.domain.turns import split_turns

_ARRAY = (
    '[{"role": "user", "content": "one"}, {"role": "user", "content": "two"},\n {"role": "user", "content": "six"}]'
)
TEXTS = {
    "array": _ARRAY,
    "wrapped": f'{{"messages": {_ARRAY}}}',
    "lines": '{"speaker": "A", "text": "one"}\n{"speaker": "A", "text": "two"}\n{"speaker": "B", "text": "six"}',
    "dialogue": "Ann: one\nBob: two\nAnn: six",
    "prose": "Paragraph one.\n\nParagraph two.\n\nParagraph six.",
    "chinese": "小李：one。\n王芳：two。\n小李：six。",
}


@pytest.mark.parametrize("which", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)])
@pytest.mark.parametrize("kind", TEXTS)
def test_the_other_turns_stay_as_they_were(kind: str, which: tuple[int, ...]) -> None:
    text = TEXTS[kind]
    turns = split_turns(text).turns
    assert len(turns) == 3
    whole = (0, len(text))
    sources = [Source(whole, turn.text, turn.start, turn.end) for turn in turns]
    kept = [source for at, source in enumerate(sources) if at not in which]
    cutting = cut_sources(text, [sources[at] for at in which], kept)
    left = split_turns(cutting.text)
    expected = [turn for at, turn in enumerate(turns) if at not in which]
    # A single line is no dialogue of two any more; its words stay.
    if kind != "dialogue" or len(expected) > 1:
        assert [turn.text for turn in left.turns] == [turn.text for turn in expected]
        assert left.kind is split_turns(text).kind or kind == "lines"
    for at in which:
        assert turns[at].text not in cutting.text
    for source, turn in zip(kept, expected, strict=True):
        assert turn.text in cutting.text[cutting.moved(source.start or 0) : cutting.moved(source.end or 0)]


def test_when_all_is_cut_nothing_is_left() -> None:
    for text in TEXTS.values():
        turns = split_turns(text).turns
        cutting = cut_sources(text, [Source((0, len(text)), turn.text, turn.start, turn.end) for turn in turns], [])
        assert not [word for word in ("one", "two", "six", "Ann", "小李", "role") if word in cutting.text]


def test_one_sentence_of_a_turn_goes_and_its_neighbours_stay() -> None:
    text = json.dumps([{"role": "user", "content": 'I said "hi". Then é came.\nIt was late.'}])
    element = (1, len(text) - 1)
    forgotten = Source(element, "Then é came.", *element)
    kept = [Source(element, 'I said "hi".', *element), Source(element, "It was late.", *element)]
    cutting = cut_sources(text, [forgotten], kept)
    assert json.loads(cutting.text)[0]["content"].split() == ["I", "said", '"hi".', "It", "was", "late."]


def test_the_label_goes_with_the_last_words_behind_it() -> None:
    text = "Ann: Long one. Long two.\nBob: reply"
    cutting = Cutting(text)
    cutting.cut(15, 24)
    cutting.cut(5, 14)
    assert cutting.text == "Bob: reply"


def test_what_can_not_be_found_goes_with_its_chunk() -> None:
    assert cut_sources("aaa bbb ccc", [Source((4, 7), "edited since")], []).text == "aaa ccc"
    assert cut_sources("aaa bbb ccc", [Source((0, 11), "bbb")], []).text == "aaa ccc"


def test_overlapping_stretches_are_cut_once() -> None:
    whole = (0, 20)
    sources = [Source(whole, "", 0, 20), Source(whole, "", 5, 9), Source(whole, "", 5, 9)]
    assert cut_sources("0123456789abcdefghijXYZ", sources, []).text == "XYZ"


def test_chunks_are_found_in_order() -> None:
    assert chunk_starts("ab, ab, ab", ["ab", "ab", "ab"]) == [0, 4, 8]
    assert find_words("x", "") is None
