"""Weights as data."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hindsight_server.engine.recall.features import FIRST, SECOND
from hindsight_server.engine.recall.model import BadWeights, load_weights


def bundled() -> dict[str, Any]:
    data: dict[str, Any] = json.loads((files("hindsight_server.engine.recall") / "weights.json").read_text("utf-8"))
    return data


def test_bundled_weights_name_known_features_and_where_they_come_from() -> None:
    weights = load_weights()
    assert weights.first.shape == (len(FIRST),)
    assert weights.second.shape == (len(FIRST) + len(SECOND),)
    assert "LoCoMo" in bundled()["provenance"]


def test_another_file_may_be_given(tmp_path: Path) -> None:
    own = bundled() | {"first": {"turn": 4.5}}
    (tmp_path / "own.json").write_text(json.dumps(own))
    assert np.flatnonzero(load_weights(tmp_path / "own.json").first).tolist() == [FIRST.index("turn")]


@pytest.mark.parametrize(
    "change",
    [
        {"first": {"no such feature": 1}},
        {"first": {"turn": "much"}},
        {"second": {"turn": float("nan")}},
        {"probability": {}},
        {"probability": {"first": {"slope": -1, "offset": 0}}},
    ],
)
def test_unusable_weights_are_named(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(bundled() | change))
    with pytest.raises(BadWeights, match=r"bad\.json"):
        load_weights(path)


def test_text_that_is_no_json(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(BadWeights):
        load_weights(tmp_path / "bad.json")
