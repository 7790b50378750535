"""The settings of a bank."""

from __future__ import annotations

from typing import Any

import pytest

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.engine.config import CONFIG_KEYS, checked_updates, extraction_options, not_applied, resolve
from hindsight_server.engine.consolidate.types import ConsolidatorOptions


@pytest.mark.parametrize(
    ("updates", "message"),
    [
        ({"no_such_setting": 1}, "no bank setting"),
        ({"HINDSIGHT_API_LLM_API_KEY": "k"}, "no bank setting"),
        ({"retain_extraction_mode": "fancy"}, "concise, verbose"),
        ({"retain_extraction_mode": "custom"}, "language model"),
        ({"retain_chunk_size": "3000"}, "whole number"),
        ({"retain_chunk_size": True}, "whole number"),
        ({"retain_chunk_size": 10}, "at least 200"),
        ({"disposition_empathy": 6}, "between 1 and 5"),
        ({"enable_text_search": 1}, "true or false"),
        ({"retain_strategies": {"quick": 3}}, "object"),
        ({"retain_strategies": {"quick": {"retain_extraction_mode": "fancy"}}}, "concise, verbose"),
        ({"retain_strategies": {"quick": {"enable_text_search": True}}}, "part of a strategy"),
    ],
)
def test_bad_settings_are_refused_with_the_reason(updates: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        checked_updates(updates)


def test_a_bad_setting_of_a_strategy_is_told_with_its_place() -> None:
    with pytest.raises(InvalidInput, match="at least 200") as caught:
        checked_updates({"retain_chunk_size": 300, "retain_strategies": {"quick": {"retain_chunk_size": -5}}})
    assert caught.value.field == "updates.retain_strategies.quick.retain_chunk_size"


def test_a_default_strategy_that_is_missing_is_told_as_the_bank_s_setting() -> None:
    config = resolve({"retain_strategies": {"a": {}}, "retain_default_strategy": "gone"})
    with pytest.raises(InvalidInput, match=r"retain_default_strategy names 'gone'.*it has: a"):
        extraction_options(config, None, "items[0].strategy")


def test_environment_names_and_null_are_taken() -> None:
    assert checked_updates({"HINDSIGHT_API_RETAIN_CHUNK_SIZE": 500, "retain_mission": None}) == {
        "retain_chunk_size": 500,
        "retain_mission": None,
    }


def test_every_setting_has_a_value() -> None:
    resolved = resolve({"retain_chunk_size": 500, "of_a_later_version": 1})
    assert set(resolved) == set(CONFIG_KEYS)
    assert resolved["retain_chunk_size"] == 500
    assert resolved["retain_extraction_mode"] == "concise"


def test_defaults_of_extraction_and_observations_are_upstreams() -> None:
    expected = {
        "retain_extraction_mode": "concise",
        "retain_chunk_size": 3000,
        "max_observations_per_scope": -1,
        "consolidation_llm_batch_size": 8,
        "consolidation_llm_parallelism": 4,
        "consolidation_max_memories_per_round": 100,
    }
    resolved = resolve({})
    assert {name: resolved[name] for name in expected} == expected
    assert ConsolidatorOptions().near == 0.97


def test_what_has_no_effect_is_said() -> None:
    overrides = {"retain_mission": "people", "retain_chunk_size": 500, "enable_reranking": False}
    overrides |= {"audit_log_enabled": True, "store_document_text": False}
    assert not_applied(overrides) == ("audit_log_enabled", "retain_mission", "store_document_text")
    strategies = {"quick": {"retain_mission": "people", "retain_chunk_size": 300}}
    assert not_applied({"retain_strategies": strategies}) == ("retain_strategies.quick.retain_mission",)
    assert not_applied({"retain_max_attachments_per_chunk": 4}) == ()
    missions = {"retain_mission": "people", "observations_mission": "habits"}
    assert not_applied(missions, ("retain",)) == ("observations_mission",)
    assert not_applied(missions, ("consolidation",)) == ("retain_mission",)


def test_a_strategy_overrides_the_settings() -> None:
    config = resolve({"retain_strategies": {"whole": {"retain_extraction_mode": "chunks"}}, "retain_chunk_size": 400})
    assert extraction_options(config, None, "f").mode == "concise"
    chosen = extraction_options(config, "whole", "f")
    assert (chosen.mode, chosen.chunk_size) == ("chunks", 400)
    config["retain_default_strategy"] = "whole"
    assert extraction_options(config, None, "f").mode == "chunks"
    with pytest.raises(InvalidInput, match="no strategy 'other'"):
        extraction_options(config, "other", "items[3].strategy")
