"""Statements that say the opposite of what they were drawn from, and those that only look so."""

from __future__ import annotations

import pytest

from hindsight_server.domain.grounding_opposed import is_only_asked, is_opposed
from hindsight_server.domain.grounding_turned import Said

OPPOSED = [
    ("Ada likes tea.", ["Ada hates tea."]),
    ("Ada smokes.", ["Ada never smokes."]),
    ("Ada owns a car.", ["Ada does not own a car."]),
    ("Ada does not own a car.", ["Ada owns a car."]),
    ("Bob sold his car to Ada.", ["Ada sold her car to Bob."]),
    ("Ada dislikes tea.", ["Ada loves tea."]),
    ("Ada no longer owns a car.", ["Ada owns a car."]),
    ("Ada likes tea.", ["Ada no longer likes tea."]),
    ("王芳没有孩子。", ["王芳有孩子。"]),
    ("王芳有孩子。", ["王芳没有孩子。"]),
    ("Ada likes tea and lives in Oslo.", ["Ada hates tea.", "Ada lives in Oslo."]),
    ("王芳喝咖啡。", ["王芳不喝咖啡。"]),
    ("王芳不喜欢爬山。", ["王芳喜欢爬山。", "王芳住在上海。"]),
    ("Ada often smokes.", ["Ada never smokes."]),
    ("Ada often smokes.", ["Ada rarely smokes."]),
    ("Ada bought the boat.", ["Ada sold the boat."]),
]
BORNE_OUT = [
    ("Ada hates tea.", ["Ada hates tea."]),
    ("Ada doesn't drink any more.", ["Ada gave up drinking."]),
    ("Ada stopped smoking.", ["Ada used to smoke.", "Ada no longer smokes."]),
    ("Ada liked tea, and hates it now.", ["Ada likes tea.", "Ada hates tea."]),
    ("Ada hates tea, although she liked it once.", ["Ada likes tea.", "Ada hates tea."]),
    ("Ada was without a car in 2020, and owns a car now.", ["Ada does not own a car.", "Ada owns a car."]),
    ("Ada is no longer vegetarian.", ["Ada was vegetarian for ten years.", "Ada eats meat now."]),
    ("Ada once liked tea.", ["Ada doesn't like tea any more."]),
    ("Ada owned a car once.", ["Ada no longer owns a car."]),
    ("王芳没有车，有船。", ["王芳有船，没有车。"]),
    ("Ada no longer owns a car.", ["Ada owns a car.", "Ada sold her car to Bob."]),
    ("Ada moved from Oslo to Rome.", ["Ada lives in Oslo.", "Ada lives in Rome now."]),
    ("Ada likes green tea but not black tea.", ["Ada does not like black tea.", "Ada likes green tea."]),
    ("Bob sold his car to Ada, who sold it back to Bob.", ["Bob sold his car to Ada.", "Ada sold her car to Bob."]),
    ("Ada bought Bob's car.", ["Bob sold his car to Ada."]),
    ("Ada is close to Bob, whom she helped to move.", ["Ada helped Bob to move.", "Bob helped Ada to paint."]),
    ("王芳以前喜欢爬山，现在不喜欢了。", ["王芳喜欢爬山。", "王芳不喜欢爬山了。"]),
    ("王芳不再喝咖啡。", ["王芳喝咖啡。", "王芳不喝咖啡了。"]),
    ("Ada often smokes.", ["Ada rarely smokes.", "Ada smokes every day."]),
    ("Ada bought a boat and sold it.", ["Ada bought a boat.", "Ada sold the boat."]),
    ("Ada owns a boat, which she bought.", ["Ada sold the boat.", "Ada bought a boat again."]),
]
ASKED = [
    ("Bob owns a boat.", "Ada asked: does Bob own a boat?"),
    ("Bob owns a boat.", "Does Bob own a boat?"),
    ("Bob is a doctor.", "Hi there! Is Bob a doctor?"),
    ("陈涛有船。", "小安问：陈涛有船吗？"),
]
TOLD = [
    ("Ada asked whether Bob owns a boat.", "Ada asked: does Bob own a boat?"),
    ("Bob owns a boat.", "Does Bob own a boat? He does."),
    ("Bob owns a boat.", "Do you know that Bob owns a boat?"),
    ("Bob owns a boat.", "Doesn't Bob own a boat?"),
    ("Bob owns a boat.", "Bob owns a boat, does he still sail?"),
    ("Ann took a trip to Rome.", "Do you want to see the photos of my trip to Rome?"),
    ("Bob has a dog named Rex.", "How is your dog Rex, Bob?"),
    ("陈涛有船。", "你知道陈涛有船吗？"),
    ("陈涛有船。", "陈涛有船，你坐过吗？"),
]


@pytest.mark.parametrize(("text", "sources"), OPPOSED)
def test_the_opposite_of_the_sources_is_found(text: str, sources: list[str]) -> None:
    assert is_opposed(text, [Said(source) for source in sources])


@pytest.mark.parametrize(("text", "sources"), BORNE_OUT)
def test_what_one_of_the_sources_bears_out_is_left_alone(text: str, sources: list[str]) -> None:
    assert not is_opposed(text, [Said(source) for source in sources])


@pytest.mark.parametrize(("text", "source"), ASKED)
def test_a_question_tells_nothing(text: str, source: str) -> None:
    assert is_only_asked(text, [Said(source)])


@pytest.mark.parametrize(("text", "source"), TOLD)
def test_a_question_may_tell_what_it_takes_for_granted(text: str, source: str) -> None:
    assert not is_only_asked(text, [Said(source)])


def test_another_source_may_answer() -> None:
    assert not is_only_asked("Bob owns a boat.", [Said("Does Bob own a boat?"), Said("Yes, he does.")])
