"""The page of promises is what the tests' marks say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("features_page", Path(__file__).with_name("page.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_mark_names_a_row(generator: ModuleType) -> None:
    known = {row for promises in generator.rows().values() for row in promises}
    assert not set(generator.marked()) - known


def test_the_page_is_up_to_date(generator: ModuleType) -> None:
    assert generator.PAGE.read_text(encoding="utf-8") == generator.page(), "run `python dev.py features`"
