"""What is remembered of words, and that long texts are not kept."""

from __future__ import annotations

import gc
import weakref

import pytest

from hindsight_server.domain.remembering import RememberedOf, once, remembered


class Kept(str):
    """A text that can be watched."""

    __slots__ = ("__weakref__",)


@pytest.mark.parametrize(("text", "times"), [("word", 1), ("w" * 40, 1), ("w" * 41, 2)])
def test_short_texts_are_worked_out_once(text: str, times: int) -> None:
    asked: list[str] = []

    @remembered(most=10)
    def upper(word: str) -> str:
        asked.append(word)
        return word.upper()

    assert (upper(text), upper(text), len(asked)) == (text.upper(), text.upper(), times)


@pytest.mark.parametrize(("length", "is_kept"), [(5, True), (50_000, False)])
def test_a_long_text_is_not_kept(length: int, is_kept: bool) -> None:
    count = remembered(most=10)(len)
    text = Kept("x" * length)
    assert count(text) == length
    watched = weakref.ref(text)
    del text
    gc.collect()
    assert (watched() is not None) is is_kept


def test_the_oldest_make_room() -> None:
    asked: list[str] = []

    @remembered(most=2)
    def upper(word: str) -> str:
        asked.append(word)
        return word.upper()

    for word in ("a", "b", "c", "a"):
        upper(word)
    assert asked == ["a", "b", "c", "a"]


def test_a_property_is_worked_out_once_for_each_object() -> None:
    asked: list[str] = []

    class Text:
        def __init__(self, words: str) -> None:
            self.words = words

        @once
        def size(self) -> int:
            """Letters."""
            asked.append(self.words)
            return len(self.words)

    short, long = Text("a"), Text("ab")
    assert (short.size, long.size, short.size, long.size) == (1, 2, 1, 2)
    assert asked == ["a", "ab"]
    assert Text.size.__doc__ == "Letters."


def test_objects_are_told_apart_by_identity() -> None:
    asked: list[list[str]] = []

    def size(words: list[str]) -> int:
        asked.append(words)
        return len(words)

    sizes, one, same = RememberedOf(size, most=2), ["a"], ["a"]
    assert [sizes(one), sizes(same), sizes(one), sizes(same)] == [1, 1, 1, 1]
    assert len(asked) == 2
    sizes(["b"])
    assert sizes(one) == 1
    assert asked[2:] == [["b"], one]


def test_an_object_that_has_gone_is_not_taken_for_another() -> None:
    sizes = RememberedOf(len, most=3)
    assert [sizes(["a"] * n) for n in range(50)] == list(range(50))
