"""Line breaks: those of wrapped text are spaces, all others cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_server.adapters.extract import BuiltinExtractor
from hindsight_server.adapters.extract.sentences import sentences
from hindsight_server.adapters.text import Analyzer
from hindsight_server.domain.model import RetainItem
from hindsight_server.domain.turns import split_turns
from hindsight_server.ports.extractor import ExtractionOptions

EXTRACTOR = BuiltinExtractor(Analyzer())
WRAPPED = (
    "The ferry to the island leaves at nine, unless the wind comes from the north and\n"
    "the harbour is closed; then Captain Moen phones everybody on the list. A ticket\n"
    "costs twelve euros."
)
WRAPPED_SENTENCES = [
    WRAPPED.split(" A ticket")[0],
    "A ticket\ncosts twelve euros.",
]
CHINESE = (
    "去岛上的渡轮早上九点出发，如果刮北风港口就会关闭，到那个时候船长会给名单上的每\n"
    "一个人打电话。船票十二欧元，孩子半价，狗不用买票但是要拴好绳子，自行车另外收三\n"
    "欧元。"
)

CASES = {
    "wrapped prose": (WRAPPED, WRAPPED_SENTENCES),
    "wrapped prose, Windows line ends": (
        WRAPPED.replace("\n", "\r\n"),
        [sentence.replace("\n", "\r\n") for sentence in WRAPPED_SENTENCES],
    ),
    "wrapped Chinese": (CHINESE, [CHINESE.split("船票")[0], "船票" + CHINESE.split("船票")[1]]),
    "an abbreviation at the end of a line": (
        "Yesterday we took the early train to the city and had a long lunch with old Dr.\nSmith.",
        ["Yesterday we took the early train to the city and had a long lunch with old Dr.\nSmith."],
    ),
    "wrapped items of a list": (
        "- The boiler in the cellar has to be filled up with water every other Monday, by\n  Ann.\n- Lights out at ten",
        [
            "- The boiler in the cellar has to be filled up with water every other Monday, by\n  Ann.",
            "- Lights out at ten",
        ],
    ),
    "short items": ("1. bread\n2. milk\n3) salt", ["1. bread", "2. milk", "3) salt"]),
    "Chinese items": ("一、买面包\n二、买牛奶", ["一、买面包", "二、买牛奶"]),
    "a poem": (
        "Grey is the harbour\nand grey is the rain\nthe gulls on the pier\nare waiting again",
        ["Grey is the harbour", "and grey is the rain", "the gulls on the pier", "are waiting again"],
    ),
    "a Chinese poem": ("小船靠岸灯未灭\n細雨敲窗夜已深", ["小船靠岸灯未灭", "細雨敲窗夜已深"]),
    "an address": ("Ann Moen\n12 Harbour Road\n0150 Oslo", ["Ann Moen", "12 Harbour Road", "0150 Oslo"]),
    "a log": (
        "2024-03-05 10:30:01 worker-1 could not open the connection to the database at db-7\n"
        "2024-03-05 10:30:09 worker-2 could not open the connection to the database at db-9",
        [
            "2024-03-05 10:30:01 worker-1 could not open the connection to the database at db-7",
            "2024-03-05 10:30:09 worker-2 could not open the connection to the database at db-9",
        ],
    ),
    "keys and values": (
        "title: the quarterly report about the ferries between the harbour and all islands\n"
        "author: Ann Moen, with the help of everybody who was in the office in that winter",
        [
            "title: the quarterly report about the ferries between the harbour and all islands",
            "author: Ann Moen, with the help of everybody who was in the office in that winter",
        ],
    ),
    "long lines that nobody wrapped": (f"{'one more word ' * 12}end\n{'two more words ' * 12}end", None),
    "a line that ends early": (
        "Packing list for the ferry\nthe tent that hangs in the cellar, two stoves, all blankets, the map",
        [
            "Packing list for the ferry",
            "the tent that hangs in the cellar, two stoves, all blankets, the map",
        ],
    ),
    "a quotation": ("> never again\n> will I row", ["> never again", "> will I row"]),
    "a heading": ("# Ferries\nThey leave at nine.", ["# Ferries", "They leave at nine."]),
    "a table": (
        "Times\n| day | hour |\n|---|---|\n| Monday | 9 |",
        ["Times", "| day | hour |\n|---|---|\n| Monday | 9 |"],
    ),
    "fenced code": (
        "Run this:\n```sh\ncd harbour\n\nmake. All\n```\nThen wait.",
        ["Run this:", "```sh\ncd harbour\n\nmake. All\n```", "Then wait."],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_where_lines_are_cut(name: str) -> None:
    text, expected = CASES[name]
    found = [text[start:end] for start, end in sentences(text, 0, len(text))]
    assert found == (expected if expected is not None else text.split("\n"))


def facts(content: str) -> list[str]:
    found = EXTRACTOR.extract(RetainItem(content=content, document_id="d"), ExtractionOptions()).facts
    assert [content[fact.start : fact.end] for fact in found] == [fact.text for fact in found]
    return [fact.text for fact in found]


def test_no_fact_ends_inside_a_wrapped_sentence() -> None:
    assert facts(f"{WRAPPED}\n\nShort end.") == [WRAPPED, "Short end."]


def test_a_heading_joins_what_it_is_over() -> None:
    content = f"# Island\n\n## Ferries\n\n{WRAPPED}\n\n## Food\n\n- bread\n- milk\n\nThe end."
    assert facts(content) == [f"# Island\n\n## Ferries\n\n{WRAPPED}", "## Food\n\n- bread\n- milk", "The end."]


def test_a_heading_never_joins_what_stands_before_it() -> None:
    assert facts("Bread is sold out.\n## Ferries\nThey leave at nine.\n\nThe end.") == [
        "Bread is sold out.",
        "## Ferries\nThey leave at nine.",
        "The end.",
    ]


def test_rows_of_a_table_are_put_together_up_to_a_size() -> None:
    rows = [f"| the boat with number {n} | is painted in the colour {n} |" for n in range(40)]
    content = "Intro.\n\n## Boats\n\n" + "\n".join(rows)
    found = facts(content)[1:]
    assert found[0].startswith(f"## Boats\n\n{rows[0]}\n{rows[1]}")
    assert 4 <= len(found) <= 6
    assert all(line in ("## Boats", "", *rows) for fact in found for line in fact.split("\n"))


def test_blank_lines_in_fenced_code_end_no_turn() -> None:
    code = "```\na = 1\n\nb = 2\n```"
    assert [turn.text for turn in split_turns(f"One.\n\n{code}\n\nTwo.").turns] == ["One.", code, "Two."]


STRUCTURE = ["", " ", "# Head", "- item", "| a | b |", "```", "> said", "10:30 up", "key: value", "end.", "一、完"]
LINES = st.lists(
    st.sampled_from([*STRUCTURE, *WRAPPED.split("\n"), *CHINESE.split("\n")]) | st.text(max_size=80),
    max_size=25,
).map("\n".join)


@given(LINES)
def test_sentences_are_in_order_and_lose_nothing_but_space(text: str) -> None:
    at = 0
    for start, end in sentences(text, 0, len(text)):
        assert not text[at:start].strip()
        assert start < end
        assert text[start:end] == text[start:end].strip()
        at = end
    assert not text[at:].strip()


@given(LINES)
def test_positions_of_prose_slice_back_to_the_text(text: str) -> None:
    split = split_turns(text)
    if split.kind == "prose":
        assert [text[turn.start : turn.end] for turn in split.turns] == [turn.text for turn in split.turns]
        assert "".join("".join(turn.text for turn in split.turns).split()) == "".join(text.split())
        facts(text)
