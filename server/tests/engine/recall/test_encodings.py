"""The questions asked last are encoded once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from hindsight_server.domain.errors import EmbeddingUnavailable
from hindsight_server.engine.recall.encodings import LastEncodings
from hindsight_server.ports.embedder import Encoding


class Counted:
    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.lost: set[str] = set()

    def __call__(self, text: str, spaces: Sequence[str]) -> list[Encoding]:
        self.asked.append((text, tuple(spaces)))
        made = [Encoding(space, np.ones(2, np.float32)) for space in spaces if space not in self.lost]
        if not made:
            raise EmbeddingUnavailable("gone")
        return made


def test_the_same_question_in_the_same_spaces_is_encoded_once() -> None:
    encode = Counted()
    last = LastEncodings(encode)
    first = last("Where?", ["a", "b"])
    first.clear()  # what a caller does with its list is its own
    assert [one.space for one in last("Where?", ["a", "b"])] == ["a", "b"]
    assert last.get("Where?", ["a"]) is None
    last("Where?", ["a"])
    assert len(encode.asked) == 2


def test_what_lacks_a_space_is_not_remembered() -> None:
    encode = Counted()
    last = LastEncodings(encode)
    encode.lost = {"b"}
    assert len(last("Where?", ["a", "b"])) == 1
    encode.lost = {"a", "b"}
    with pytest.raises(EmbeddingUnavailable):
        last("Where?", ["a", "b"])
    encode.lost = set()
    assert len(last("Where?", ["a", "b"])) == 2


def test_only_the_last_ones_are_kept() -> None:
    encode = Counted()
    last = LastEncodings(encode)
    for number in range(70):
        last(str(number), ["a"])
    assert last.get("0", ["a"]) is None
    assert last.get("69", ["a"]) is not None
