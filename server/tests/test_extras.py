"""The remedies for libraries that are missing."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from hindsight_server import extras

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("extra", sorted(PROJECT["optional-dependencies"]))
def test_a_remedy_names_what_the_extra_brings_and_no_package_of_ours(extra: str) -> None:
    command, _, named = extras.remedy(extra).partition(" (")
    told = [Requirement(one) for one in command.removeprefix("pip install ").strip('"').split('" "')]
    wanted = [Requirement(one) for one in PROJECT["optional-dependencies"][extra]]
    assert sorted(map(str, told)) == sorted(map(str, wanted))
    assert named == f"the extra hindsight-server[{extra}])"


def test_what_is_installed_is_not_missed() -> None:
    assert extras.lacking_for_model("openai", "ollama") is None
    assert extras.lacking_for_blobs("s3") is None
