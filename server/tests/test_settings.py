"""Settings of the server."""

from __future__ import annotations

from pathlib import Path

import pytest

from hindsight_server.settings import Settings, SettingsError


def test_defaults_are_local() -> None:
    settings = Settings.from_environment({})
    assert (settings.host, settings.port) == ("127.0.0.1", 8888)
    assert settings.embeddings_provider == "local"
    assert settings.folder().is_absolute()


def test_what_is_given_beats_the_environment_which_beats_the_default() -> None:
    environ = {"HINDSIGHT_API_PORT": "9000", "HINDSIGHT_API_DATA_DIR": "/tmp/x", "HINDSIGHT_API_LOG_LEVEL": "DEBUG"}
    settings = Settings.from_environment(environ, port=9001, host=None)
    assert settings.port == 9001
    assert settings.data_dir == Path("/tmp/x")
    assert settings.log_level == "debug"


def test_the_variables_of_clients_configure_nothing() -> None:
    client = {"HINDSIGHT_API_URL": "http://x", "HINDSIGHT_API_KEY": "k", "HINDSIGHT_BANK_ID": "b"}
    assert Settings.from_environment(client) == Settings()


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("PORT", "http", "whole number"),
        ("PORT", "70000", "between"),
        ("THREADS", "0", "between"),
        ("LOG_LEVEL", "loud", "must be one of"),
        ("EMBEDDINGS_PROVIDER", "cloud", "must be one of"),
    ],
)
def test_a_bad_value_names_its_variable(name: str, value: str, part: str) -> None:
    with pytest.raises(SettingsError, match=f"HINDSIGHT_API_{name} .*{part}"):
        Settings.from_environment({f"HINDSIGHT_API_{name}": value})


@pytest.mark.feature("O8")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_a_reachable_address_needs_a_key(host: str) -> None:
    with pytest.raises(SettingsError, match="HINDSIGHT_API_TENANT_API_KEY"):
        Settings.from_environment({"HINDSIGHT_API_HOST": host})
    Settings.from_environment({"HINDSIGHT_API_HOST": host, "HINDSIGHT_API_TENANT_API_KEY": "k"})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_needs_none(host: str) -> None:
    Settings.from_environment({"HINDSIGHT_API_HOST": host})


def test_an_empty_key_is_none() -> None:
    """No request would be asked for it."""
    with pytest.raises(SettingsError, match="without a key"):
        Settings(host="0.0.0.0", api_key="")


def test_switches_are_said_alike_everywhere() -> None:
    given = dict.fromkeys(("LLM_TRACE_TEXTS", "WEBHOOK_EXPOSE_RESPONSE_BODY"), "Yes")
    given |= dict.fromkeys(("LLM_TRACE_ENABLED", "ENABLE_FILE_UPLOAD_API"), "off")
    settings = Settings.from_environment({f"HINDSIGHT_API_{name}": value for name, value in given.items()})
    assert (settings.llm_trace_texts, settings.webhooks.expose_response_body) == (True, True)
    assert (settings.llm_trace_enabled, settings.files.upload_api) == (False, False)


def test_the_key_is_never_shown() -> None:
    assert "s3cret" not in repr(Settings(api_key="s3cret"))


@pytest.mark.feature("O7")
@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("URL", "http://hooks.example@10.0.0.1/hidden", "must not hold a user name"),
        ("URL", "http://10.0.0.1/hidden", "WEBHOOK_ALLOWED_HOSTS"),
        ("EVENT_TYPES", "retain.completed, hidden", "there are retain.completed"),
        ("SECRET", "hidden" * 100, "at most 512"),
        ("ALLOWED_HOSTS", "http://hidden", "no host name, address or network"),
        ("ALLOWED_HOSTS", "[1]", "JSON list"),
        ("EXPOSE_RESPONSE_BODY", "perhaps", "true or false"),
    ],
)
def test_webhooks_that_can_not_be_used_end_the_start(name: str, value: str, part: str) -> None:
    with pytest.raises(SettingsError, match=f"HINDSIGHT_API_WEBHOOK_{name} .*{part}") as refused:
        Settings.from_environment({f"HINDSIGHT_API_WEBHOOK_{name}": value})
    assert "hidden" not in str(refused.value) or name == "ALLOWED_HOSTS"


@pytest.mark.feature("O7")
def test_lists_of_webhooks_have_commas_or_are_json() -> None:
    given = {"WEBHOOK_ALLOWED_HOSTS": '["10.0.0.0/8", "hooks.internal"]', "WEBHOOK_URL": "http://10.1.2.3/hidden"}
    given |= {"WEBHOOK_EVENT_TYPES": "retain.completed,,memory_defense.triggered", "WEBHOOK_SECRET": "hidden"}
    settings = Settings.from_environment({f"HINDSIGHT_API_{name}": value for name, value in given.items()})
    assert settings.webhooks.types() == ("retain.completed", "memory_defense.triggered")
    assert settings.webhooks.url == "http://10.1.2.3/hidden"
    assert "hidden" not in repr(settings)
