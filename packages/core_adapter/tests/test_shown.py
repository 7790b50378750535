"""Which memories are read although the conversation is there, and which it says anyway."""

from __future__ import annotations

import pytest

from hindsight_adapter_core import RecalledMemory, unsaid


@pytest.mark.parametrize(
    ("memory", "said", "is_shown"),
    [
        ("Ada: I like  tea.", ["hello", "i LIKE tea. And you?"], False),
        ("Ada (2 March 2026): I like tea.", ["I like tea."], False),
        ("I like tea. And you?", ["I like tea.", "And you?"], True),
        ("I like tea.", [], True),
        ("Wifi password: ", [], True),
        ("  ", ["I like tea."], False),
    ],
)
def test_what_the_conversation_says_is_not_shown_again(memory: str, said: list[str], is_shown: bool) -> None:
    recalled = RecalledMemory(text=memory, document_id="monday")
    assert unsaid([recalled], "monday", said) == ((memory,) if is_shown else ())


def test_what_another_conversation_said_is_shown() -> None:
    recalled = RecalledMemory(text="I like tea.", document_id="sunday")
    assert unsaid([recalled], "monday", ["I like tea."]) == ("I like tea.",)
