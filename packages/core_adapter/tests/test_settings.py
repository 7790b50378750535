from __future__ import annotations

import copy
import logging
import pickle
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from core_subject import CONFIG, PACKAGE
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_adapter_core import (
    DEFAULT_HINDSIGHT_API_URL,
    AdapterConfig,
    Deadlines,
    MemoryOptions,
    MissingBankError,
    MissingCredentialsError,
    SettingsError,
    open_memory,
    resolve_connection,
    resolve_settings,
)
from hindsight_adapter_core.testing import FakeHindsight

pytestmark = pytest.mark.feature("K1")


def test_config_is_none_until_configured_and_after_reset() -> None:
    assert CONFIG.get_config() is None
    config = CONFIG.configure(budget="high", tags=["a"])
    assert CONFIG.get_config() is config
    assert (config.budget, config.tags, config.max_tokens) == ("high", ["a"], 4096)
    assert config.hindsight_api_url == DEFAULT_HINDSIGHT_API_URL
    CONFIG.reset_config()
    assert CONFIG.get_config() is None


def test_precedence_of_every_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HINDSIGHT_BANK_ID", "env-bank")
    plain = resolve_settings(MemoryOptions(), CONFIG.configure(), default_context="subject")
    assert plain.explain()["bank_id"] == ("env-bank", "environment")
    assert plain.explain()["budget"] == ("mid", "default")
    assert plain.explain()["context"] == ("subject", "default")
    config = CONFIG.configure(budget="low", context="app", mission="m", deadlines=Deadlines(recall=1))
    configured = resolve_settings(MemoryOptions(), config, default_context="subject")
    assert configured.explain()["budget"] == ("low", "configure()")
    assert configured.explain()["context"] == ("app", "configure()")
    assert configured.deadlines.recall == 1
    given_settings = resolve_settings(MemoryOptions(budget="high", bank_id="b"), config, default_context="subject")
    assert given_settings.explain()["budget"] == ("high", "argument")
    assert given_settings.explain()["bank_id"] == ("b", "argument")


def test_precedence_of_url_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    def origin(url: str | None = None, key: str | None = None) -> tuple[Any, ...]:
        found = resolve_connection(url, key, CONFIG.get_config())
        return found.url, found.url_origin, found.api_key, found.key_origin

    assert origin() == (DEFAULT_HINDSIGHT_API_URL, "default", None, None)
    monkeypatch.setenv("HINDSIGHT_API_URL", "http://env")
    monkeypatch.setenv("HINDSIGHT_API_KEY", "env-key")
    assert origin() == ("http://env", "environment", "env-key", "environment")
    assert CONFIG.configure().api_key == "env-key"
    assert origin() == ("http://env", "environment", "env-key", "environment")
    CONFIG.configure(hindsight_api_url="http://conf", api_key="conf-key")
    assert origin() == ("http://conf", "configure()", "conf-key", "configure()")
    assert origin("http://arg", "arg-key") == ("http://arg", "argument", "arg-key", "argument")


def test_endpoint_and_bank_are_logged_once(server: FakeHindsight, caplog: pytest.LogCaptureFixture) -> None:
    memory = open_memory(PACKAGE, MemoryOptions(bank_id="b", hindsight_api_url=server.url))
    with caplog.at_level(logging.INFO, logger="core_subject"):
        memory.answer("retain", "x")
        memory.answer("retain", "y")
    shown = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    assert shown == [f"Hindsight memory: endpoint {server.url} (from argument), bank 'b'"]


def test_what_was_logged_is_remembered_up_to_a_bound(caplog: pytest.LogCaptureFixture) -> None:
    for user in range(10_001):
        CONFIG.announce("http://127.0.0.1:9", "argument", f"user-{user}")
    with caplog.at_level(logging.INFO, logger="core_subject"):
        CONFIG.announce("http://127.0.0.1:9", "argument", "user-10000")
        CONFIG.announce("http://127.0.0.1:9", "argument", "user-0")
    assert [message.rpartition(" ")[2] for message in caplog.messages] == ["'user-0'"]


@pytest.mark.feature("K2")
def test_cloud_without_key_fails_at_once_naming_both_remedies() -> None:
    memory = open_memory(PACKAGE, MemoryOptions(bank_id="b"))
    for operation in (memory.retain, memory.recall, memory.reflect):
        with pytest.raises(MissingCredentialsError, match=r"HINDSIGHT_API_KEY.*hindsight serve.*HINDSIGHT_API_URL"):
            operation("private text")
    answer = memory.answer("retain", "private text")
    assert answer.endswith("HINDSIGHT_API_URL=http://localhost:8888")


def test_a_missing_bank_is_named() -> None:
    memory = open_memory(PACKAGE, MemoryOptions(hindsight_api_url="http://127.0.0.1:1"))
    with pytest.raises(MissingBankError, match="HINDSIGHT_BANK_ID"):
        memory.recall("x")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("budget", "huge"),
        ("max_tokens", 0),
        ("tags", "not-a-list"),
        ("tags", [""]),
        ("recall_tags_match", "some"),
        ("recall_types", ["opinion"]),
        ("recall_types must be a list", "world"),
        ("deadlines", {"recall": 3}),
        ("bank_id", "  "),
        ("reflect_max_tokens", True),
    ],
)
def test_bad_values_are_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=name):
        MemoryOptions(**{name.split()[0]: value})


def test_unknown_configure_name_and_bad_deadline() -> None:
    with pytest.raises(SettingsError, match="bugdet"):
        CONFIG.configure(bugdet="low")
    with pytest.raises(SettingsError, match="given"):
        CONFIG.configure(given=frozenset())
    with pytest.raises(SettingsError, match="deadlines"):
        CONFIG.configure(deadlines={"recall": 3})
    with pytest.raises(SettingsError, match="recall"):
        Deadlines(recall=0)


@pytest.mark.parametrize("address", ["localhost:8888", "user:secret@host:8888"])
def test_an_address_without_a_scheme_is_refused_with_the_remedy(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HINDSIGHT_API_URL", address)
    with pytest.raises(SettingsError, match=r"from environment.*http://localhost:8888") as refused:
        resolve_connection(None, None, None)
    assert "secret" not in str(refused.value)


def test_a_key_that_was_read_from_a_file_is_sent_without_its_line_break() -> None:
    assert resolve_connection("http://x", "hsk_1\n", None).api_key == "hsk_1"


def test_verbose_logs_each_step_without_what_was_said(server: FakeHindsight, caplog: pytest.LogCaptureFixture) -> None:
    CONFIG.configure(hindsight_api_url=server.url, verbose=True)
    try:
        memory = open_memory(PACKAGE, MemoryOptions(bank_id="b"))
        memory.retain("my secret colour is red")
        memory.recall("which colour?")
    finally:
        for name in (PACKAGE.import_name, "hindsight_adapter_core"):
            logging.getLogger(name).setLevel(logging.NOTSET)
    steps = [line for line in caplog.messages if "bank 'b'" in line]
    assert [line.split()[0] for line in steps[-3:]] == ["retain", "recall", "1"]
    assert "colour" not in caplog.text


def test_tag_groups_stand_in_the_place_of_configured_tags() -> None:
    CONFIG.configure(recall_tags=["of everyone"])
    plain = open_memory(PACKAGE, MemoryOptions(bank_id="b")).settings
    assert (plain.recall_tags, plain.reflect_tags) == (("of everyone",), ("of everyone",))
    grouped = open_memory(PACKAGE, MemoryOptions(bank_id="b", tag_groups=[{"tags": ["of one"]}])).settings
    assert (grouped.recall_tags, grouped.reflect_tags) == ((), ())
    assert grouped.explain()["recall_tags"] == ((), "argument")


@pytest.mark.feature("K5")
@given(key=st.text(min_size=6).map("hsk_".__add__))
@settings(max_examples=50, deadline=None)
def test_no_form_of_the_configuration_shows_the_key(key: str) -> None:
    config = AdapterConfig(api_key=key)
    assert config.api_key == key
    shown = [repr(config), str(asdict(config)), repr(resolve_connection("http://x", key, config))]
    assert not any(key in text for text in shown)
    assert pickle.loads(pickle.dumps(config)).api_key is None
    assert copy.deepcopy(config).api_key == key


def test_import_is_light_and_starts_nothing(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = (
        "import sys, threading, hindsight_adapter_core;"
        "assert threading.active_count() == 1;"
        "assert not {'aiohttp', 'hindsight_client', 'hindsight_client_api', 'pydantic'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
