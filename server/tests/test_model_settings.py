"""Which models the environment names; and that no key goes where it was not given for."""

from __future__ import annotations

import pytest

from hindsight_server.bootstrap import build_models
from hindsight_server.model_settings import PROVIDERS, LanguageSettings
from hindsight_server.settings import Settings, SettingsError


def read(**variables: str) -> LanguageSettings:
    return LanguageSettings.from_environment({f"HINDSIGHT_API_{name}": value for name, value in variables.items()})


def test_without_settings_there_is_no_model_and_no_library_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hindsight_server.extras.find_spec", lambda _: None)
    models = build_models(Settings.from_environment({}).language)
    assert (models.retain, models.reflect, models.consolidation, models.vision) == (None, None, None, None)


def test_one_model_does_all_work_but_seeing() -> None:
    found = read(LLM_PROVIDER="ollama", LLM_MODEL="qwen3")
    assert found.retain == found.reflect == found.consolidation == found.default
    assert (found.default.address, found.default.api_key) == ("http://localhost:11434/v1", None)
    assert not found.vision.configured
    models = build_models(found)
    assert models.retain is models.reflect is models.consolidation
    assert models.vision is None


@pytest.mark.parametrize(
    "variables",
    [
        {"LLM_API_KEY": "k"},
        {"LLM_API_KEY": "k", "LLM_MODEL": "m"},
        {"LLM_BASE_URL": "http://x", "LLM_MODEL": "m"},
    ],
)
def test_a_key_model_or_address_alone_means_openai(variables: dict[str, str]) -> None:
    assert read(**variables).default.provider == "openai"


def test_openai_has_a_model_of_its_own_and_others_need_a_name() -> None:
    assert read(LLM_API_KEY="k").default.model == "gpt-4o-mini"
    with pytest.raises(SettingsError, match="LLM_MODEL is not set"):
        read(LLM_BASE_URL="http://localhost:1")


def test_each_kind_of_work_can_have_its_own_model_and_limits() -> None:
    found = read(
        LLM_PROVIDER="openai",
        LLM_API_KEY="k",
        LLM_TIMEOUT="60",
        RETAIN_LLM_MODEL="small",
        REFLECT_LLM_TIMEOUT="30",
        CONSOLIDATION_LLM_PROVIDER="none",
        VLM_MODEL="seeing",
    )
    assert (found.retain.model, found.retain.api_key, found.retain.timeout_seconds) == ("small", "k", 60)
    assert (found.reflect.model, found.reflect.timeout_seconds) == ("gpt-4o-mini", 30)
    assert not found.consolidation.configured
    assert (found.vision.model, found.vision.api_key) == ("seeing", "k")


def test_a_key_never_goes_to_another_provider_or_address() -> None:
    base = {"LLM_PROVIDER": "openai", "LLM_API_KEY": "k", "LLM_MODEL": "m"}
    other = read(**base, RETAIN_LLM_PROVIDER="ollama", RETAIN_LLM_MODEL="q", REFLECT_LLM_BASE_URL="http://elsewhere/v1")
    assert (other.retain.api_key, other.retain.model) == (None, "q")
    assert (other.reflect.api_key, other.reflect.address) == (None, "http://elsewhere/v1")
    elsewhere = read(**base, LLM_BASE_URL="http://a/v1", RETAIN_LLM_PROVIDER="groq", RETAIN_LLM_MODEL="q",
                     RETAIN_LLM_API_KEY="g")  # fmt: skip
    assert (elsewhere.retain.address, elsewhere.retain.api_key) == (PROVIDERS["groq"].base_url, "g")
    with pytest.raises(SettingsError, match="RETAIN_LLM_API_KEY is not set"):
        read(**base, RETAIN_LLM_PROVIDER="groq", RETAIN_LLM_MODEL="q")


def test_one_kind_of_work_may_have_the_only_model() -> None:
    found = read(REFLECT_LLM_PROVIDER="ollama", REFLECT_LLM_MODEL="q")
    assert found.reflect.configured
    assert not found.retain.configured


@pytest.mark.parametrize("provider", sorted(PROVIDERS))
def test_every_provider_can_be_named(provider: str) -> None:
    found = read(LLM_PROVIDER=provider.upper(), LLM_MODEL="m", LLM_API_KEY="k").default
    assert found.address.startswith("http")


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("LLM_PROVIDER", "skynet", "must be one of none, openai"),
        ("LLM_BASE_URL", "localhost:11434", "address such as"),
        ("LLM_BASE_URL", "ftp://x", "address such as"),
        ("LLM_BASE_URL", "http://[", "address such as"),
        ("LLM_BASE_URL", "http://x:99999", "address such as"),
        ("LLM_TIMEOUT", "soon", "number of seconds"),
        ("LLM_TIMEOUT", "0", "number of seconds"),
        ("LLM_TIMEOUT", "nan", "number of seconds"),
        ("LLM_MAX_RETRIES", "-1", "whole number"),
        ("LLM_MAX_RETRIES", "99", "whole number"),
        ("LLM_MAX_CONCURRENT", "0", "whole number"),
        ("VLM_MAX_CONCURRENT", "x", "whole number"),
        ("RETAIN_LLM_MAX_TOKENS", "1", "whole number"),
    ],
)
def test_a_bad_value_names_its_variable(name: str, value: str, part: str) -> None:
    with pytest.raises(SettingsError, match=f"HINDSIGHT_API_{name}.*{part}"):
        read(**{name: value})


@pytest.mark.parametrize("value", ["http://ann:pass-4417@[", "http://x?key=pass-4417:99999", "pass-4417"])
def test_an_address_is_never_shown(value: str) -> None:
    try:
        shown = repr(read(LLM_BASE_URL=value, LLM_MODEL="m"))
    except SettingsError as error:
        shown = str(error)
    assert "4417" not in shown


@pytest.mark.parametrize("value", ["“sk-4417”", "sk-44\n17", "ключ4417"])
def test_a_key_that_no_header_can_carry_ends_the_start(value: str) -> None:
    """Each question ended in an error of the library's."""
    with pytest.raises(SettingsError, match="HINDSIGHT_API_LLM_API_KEY") as refused:
        LanguageSettings.from_environment({"HINDSIGHT_API_LLM_API_KEY": value})
    assert "44" not in str(refused.value)


def test_a_key_is_never_shown() -> None:
    assert "sk-4417" not in repr(Settings.from_environment({"HINDSIGHT_API_LLM_API_KEY": "sk-4417"}))


def test_a_missing_library_ends_the_start_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hindsight_server.extras.find_spec", lambda _: None)
    with pytest.raises(SettingsError, match=r'pip install "openai[^ ]*" \(the extra hindsight-server\[openai\]\)'):
        build_models(read(LLM_PROVIDER="ollama", LLM_MODEL="q"))


def test_switches_are_true_or_false() -> None:
    assert Settings.from_environment({"HINDSIGHT_API_LLM_TRACE_TEXTS": "TRUE"}).llm_trace_texts
    with pytest.raises(SettingsError, match=r"LLM_TRACE_ENABLED must be true or false"):
        Settings.from_environment({"HINDSIGHT_API_LLM_TRACE_ENABLED": "maybe"})
