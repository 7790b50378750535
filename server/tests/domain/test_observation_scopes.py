"""Which scopes a fact is consolidated in, and which settings hold there."""

from __future__ import annotations

from typing import Any

import pytest

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.observation_scopes import scopes_of, settings_of, strategy_of
from hindsight_server.domain.observation_settings import check_default_scopes, check_limits, check_strategies
from hindsight_server.domain.observation_texts import says_the_same


@pytest.mark.feature("R12")
@pytest.mark.parametrize(
    ("spec", "tags", "scopes"),
    [
        (None, ["b", "a", "b"], [("a", "b")]),
        ("combined", ["b", "a"], [("a", "b")]),
        ("combined", [], [()]),
        ("shared", ["a"], [()]),
        ("per_tag", ["b", "a"], [("a",), ("b",)]),
        ("per_tag", [], [()]),
        (
            "all_combinations",
            ["a", "b", "c"],
            [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")],
        ),
        ("all_combinations", list("abcdefg"), [*((tag,) for tag in "abcdefg"), tuple("abcdefg")]),
        ([["user:ann"], ["x", "user:ann"]], ["user:ann"], [("user:ann",), ("user:ann", "x")]),
        ([["topic:*", "user:*"]], ["topic:tea", "user:ann", "run:1"], [("topic:tea", "user:ann")]),
        ([["topic:*"], ["user:*"]], ["user:ann"], [("user:ann",)]),
        ([["topic:*", "all"]], ["user:ann"], []),
        ([["topic:*"], ["*tea"]], ["topic:tea"], [("topic:tea",)]),
        ([["ticket[7]:*"]], ["ticket[7]:open"], [("ticket[7]:open",)]),
        ([[]], ["a"], [()]),
        ([], ["a"], []),
    ],
)
def test_scopes(spec: Any, tags: list[str], scopes: list[tuple[str, ...]]) -> None:
    assert list(scopes_of(spec, tags)) == scopes


STRATEGIES = [
    {"scopes": [{"tags": []}], "observations_mission": "never"},
    {"scopes": [{"tags": ["nothing:*"]}, {"tags": ["company:*"]}], "observations_mission": "trends"},
    {"scopes": [{"tags": ["user:*"], "tags_match": "exact"}], "max_observations_per_scope": 3},
    {"scopes": [{"tags": ["*"]}], "max_observations_per_scope": 9},
    {"scopes": [{"tags": ["idle:*"]}]},
]


@pytest.mark.feature("F6")
def test_the_first_strategy_that_claims_a_scope_gives_its_settings() -> None:
    assert [strategy_of(scope, STRATEGIES) for scope in (("company:x", "z"), ("user:a",), ("user:a", "z"), ())] == [
        1,
        2,
        3,
        None,
    ]
    config = {"consolidation_strategies": STRATEGIES, "max_observations_per_scope": 7, "observations_mission": "all"}
    config["observation_scope_limits"] = [
        {"scope": ["run_*", "shared"], "limit": 1},
        {"scope": ["company:*", "z"], "limit": 2},
    ]
    assert settings_of(("company:x", "z"), config)["max_observations_per_scope"] == 2
    assert settings_of(("company:x", "z"), config)["observations_mission"] == "trends"
    assert settings_of(("user:a",), config)["max_observations_per_scope"] == 3
    assert settings_of(("user:a",), config)["observations_mission"] == "all"
    assert settings_of((), config)["max_observations_per_scope"] == 7
    config["consolidation_strategies"] = []
    assert settings_of(("run_1", "shared"), config)["max_observations_per_scope"] == 1
    assert settings_of(("run_1", "shared", "z"), config)["max_observations_per_scope"] == 7
    config["observation_scope_limits"] = [{"scope": ["ticket[7]"], "limit": 2}]
    assert settings_of(("ticket[7]",), config)["max_observations_per_scope"] == 2


@pytest.mark.parametrize(
    ("check", "value", "place"),
    [
        (check_default_scopes, "each", "f"),
        (check_default_scopes, [["a"], "b"], "f"),
        (check_limits, [{"scope": ["a"], "limit": 1}, {"scope": "a", "limit": 1}], r"f[1]"),
        (check_limits, [{"scope": ["a"], "limit": True}], "f[0]"),
        (check_strategies, ["a"], "f[0]"),
        (check_strategies, [{"scopes": [], "mission": "x"}], "f[0].mission"),
        (check_strategies, [{"scopes": {"tags": []}}], "f[0].scopes"),
        (check_strategies, [{"scopes": [{"tags": "a"}]}], "f[0].scopes[0]"),
        (check_strategies, [{"scopes": [{"tags": ["a"], "tag": 1}]}], "f[0].scopes[0].tag"),
        (check_strategies, [{"scopes": [{"tags": ["a"], "tags_match": "any"}]}], "f[0].scopes[0].tags_match"),
        (check_strategies, [{"max_observations_per_scope": -2}], "f[0].max_observations_per_scope"),
        (check_strategies, [{"observations_mission": 3}], "f[0].observations_mission"),
    ],
)
def test_settings_that_say_nothing_are_refused(check: Any, value: Any, place: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check(value, "f")
    assert refused.value.field == place


def test_settings_that_are_understood_are_taken() -> None:
    check_default_scopes("shared", "f")
    check_default_scopes([["topic:*"], []], "f")
    check_limits([{"scope": ["a"], "limit": -1}], "f")
    check_strategies(STRATEGIES, "f")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Ann likes tea.", "ann likes  tea", True),
        ("Ann likes green tea.", "Ann is fond of green tea.", True),
        ("Ann likes tea.", "Ann does not like tea.", False),
        ("Ann has 3 cats.", "Ann has 4 cats.", False),
        ("Ann lives in Oslo.", "Ann lives in Bergen.", False),
        ("Ann lives in Oslo.", "Ben lives in Oslo.", False),
        ("The key is kx-7.", "The key is kx-8.", False),
        ("小李喜欢喝茶。", "小李不喜欢喝茶。", False),
        ("She never drinks tea.", "She drinks tea.", False),
    ],
)
def test_what_tells_two_observations_apart(one: str, other: str, same: bool) -> None:
    assert says_the_same(one, other) is same
    assert says_the_same(other, one) is same
