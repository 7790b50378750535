"""Taking texts apart into turns."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_server.domain.turns import ContentKind, split_turns

AT = datetime(2024, 3, 6, 15, tzinfo=UTC)


def heard(content: str) -> list[tuple[str | None, str]]:
    return [(turn.speaker, turn.text) for turn in split_turns(content).turns]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ('[{"role": "user", "content": "hi"}]', ContentKind.JSON),
        ('{"role": "user", "content": "hi"}\n{"role": "user", "content": "ho"}', ContentKind.JSONL),
        ("Ann: hi\nBob: ho", ContentKind.DIALOGUE),
        ("plain", ContentKind.PROSE),
        ("[1, 2, 3]", ContentKind.PROSE),
        ("[not json]", ContentKind.PROSE),
        ("{}", ContentKind.PROSE),
        ("[" * 5000 + "]" * 5000, ContentKind.PROSE),
    ],
)
def test_kinds(content: str, kind: ContentKind) -> None:
    assert split_turns(content).kind is kind


@pytest.mark.parametrize(
    "content",
    [
        "Warning: the disk is full",
        "TODO: call Ann",
        "Shopping List: milk",
        "Name: John\nPhone: 12345\nAddress: Oslo",
        "Host: localhost\nPort: 80\nUser: ann",
        "Ann:",
        "Remember this: water the plants",
        "C:\\temp is full",
        "https://example.org/a: broken",
        "ratio 3:4 is fine",
        "key: value",
        "def f(x): return x",
        "时间：三点",
        "提醒：明天交报告",
    ],
)
def test_labels_that_are_no_speakers(content: str) -> None:
    assert heard(content) == [(None, content)]


@pytest.mark.parametrize(
    ("content", "speaker"),
    [
        ("Ann: hi", "Ann"),
        ("Dr. Ann Lee: hi", "Dr. Ann Lee"),
        ("O'Brien: hi", "O'Brien"),
        ("Speaker 1: hi", "Speaker 1"),
        ("assistant: hi", "assistant"),
        ("USER: hi", "USER"),
        ("**Ann:** hi", "Ann"),
        ("- Ann: hi", "Ann"),
        ("Ann (she/her): hi", "Ann"),
        ("[10:30] Ann: hi", "Ann"),
        ("12/05/2023, 10:32 - Ann: hi", "Ann"),
        ("王小明：你好", "王小明"),
        ("用户: 你好", "用户"),
        ("Łukasz: hi", "Łukasz"),
    ],
)
def test_single_lines_with_a_speaker(content: str, speaker: str) -> None:
    assert [name for name, _ in heard(content)] == [speaker]


@pytest.mark.parametrize(
    ("content", "times"),
    [
        ("Ann (10:30): hi\nBob: hey", ["2024-03-06T10:30:00+00:00", "2024-03-06T15:00:00+00:00"]),
        ("[2023-05-08 13:56] Ann: hi", ["2023-05-08T13:56:00+00:00"]),
        ("Ann (1:56 pm on 8 May, 2023): hi", ["2023-05-08T13:56:00+00:00"]),
        ('[{"name": "A", "text": "x", "timestamp": "2024-01-02T03:04:05+02:00"}]', ["2024-01-02T03:04:05+02:00"]),
        ('[{"role": "user", "content": "x", "timestamp": 1709634600}]', ["2024-03-05T10:30:00+00:00"]),
        ('[{"role": "user", "content": "x", "timestamp": "soon"}]', ["2024-03-06T15:00:00+00:00"]),
    ],
)
@pytest.mark.feature("R2")
def test_each_turn_has_its_time(content: str, times: list[str]) -> None:
    found = [turn.timestamp for turn in split_turns(content, timestamp=AT).turns]
    assert found == [datetime.fromisoformat(time) for time in times]
    if not any(char.isdigit() for char in content):
        assert split_turns(content).turns[0].timestamp is None


def test_structured_content_parts_and_roles() -> None:
    content = json.dumps(
        [
            {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image", "url": "x"}]},
            {"role": "assistant", "content": None, "tool_calls": []},
            {"role": "Tool", "name": "search", "content": "3 hits"},
            "stray",
        ]
    )
    turns = split_turns(content).turns
    assert [(turn.index, turn.speaker, turn.role, turn.text) for turn in turns] == [
        (0, "user", "user", "look"),
        (1, "search", "tool", "3 hits"),
    ]
    assert len(split_turns(content).units) == 4


def test_an_object_with_a_list_of_messages() -> None:
    assert heard('{"messages": [{"role": "user", "content": "hi"}], "id": 7}') == [("user", "hi")]


def test_a_heading_before_a_dialogue() -> None:
    assert heard("Talk of May 7\n\nAnn: hi\nBob: hey\nAnn: bye") == [
        (None, "Talk of May 7"),
        ("Ann", "hi"),
        ("Bob", "hey"),
        ("Ann", "bye"),
    ]
    prose = "We spoke about it.\nAnn: she was late."
    assert heard(prose) == [(None, prose)]


NAMES = st.sampled_from(["Ann", "Bob", "王芳", "user", "assistant"])
SAYINGS = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters=":："), min_size=1
).filter(lambda text: text.strip() == text)


@given(st.lists(st.tuples(NAMES, SAYINGS.map(lambda text: f"{text}.")), min_size=1, max_size=8))
def test_dialogues_come_back_whole(said: list[tuple[str, str]]) -> None:
    content = "\n".join(f"{name}: {text}" for name, text in said)
    split = split_turns(content)
    assert heard(content) == said
    for turn in split.turns:
        assert content[turn.start : turn.end] == f"{turn.speaker}: {turn.text}"


@given(st.lists(st.tuples(NAMES, SAYINGS), min_size=1, max_size=8), st.booleans(), st.booleans())
def test_json_comes_back_whole(said: list[tuple[str, str]], lines: bool, ascii_only: bool) -> None:
    values = [{"speaker": name, "text": text} for name, text in said]
    dumped = [json.dumps(value, ensure_ascii=ascii_only) for value in values]
    content = "\n".join(dumped) if lines else f" [{', '.join(dumped)}]\n"
    split = split_turns(content)
    assert heard(content) == said
    assert [json.loads(content[turn.start : turn.end]) for turn in split.turns] == values


@given(st.text(max_size=400))
def test_any_text(content: str) -> None:
    split = split_turns(content)
    end = 0
    for turn in split.turns:
        assert end <= turn.start <= turn.end <= len(content)
        assert turn.text.strip() == turn.text != ""
        if split.kind in (ContentKind.PROSE, ContentKind.DIALOGUE):
            assert content[turn.start : turn.end].endswith(turn.text)
        end = turn.end
    if content.strip():
        assert split.turns


def test_escapes_that_no_text_can_hold_are_taken_out_of_json_turns() -> None:
    content = '[{"speaker": "An\\udfdcn", "role": "us\\u0000er", "text": "I met \\ud800Boris\\u0000."}]'
    (turn,) = split_turns(content).turns
    assert (turn.speaker, turn.role, turn.text) == ("Ann", "user", "I met Boris.")
