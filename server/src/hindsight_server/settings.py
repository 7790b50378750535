"""The server's settings, read once from the environment and never changed afterwards.

Precedence: command line, `HINDSIGHT_API_*` variable, default. The variables of clients (`HINDSIGHT_API_URL`,
`HINDSIGHT_API_KEY`, `HINDSIGHT_BANK_ID`) say where a client finds a server, and never configure one.
`docs/reference/settings.md` lists every setting.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any

from hindsight_server.domain.defence.policy import read_policy
from hindsight_server.domain.errors import InvalidInput
from hindsight_server.file_settings import FileSettings, file_variables
from hindsight_server.model_settings import PREFIX, LanguageSettings, SettingsError, language_variables, switch
from hindsight_server.webhook_settings import WebhookSettings, webhook_variables

__all__ = [
    "EMBEDDINGS_PROVIDERS",
    "LOG_LEVELS",
    "Settings",
    "SettingsError",
    "all_variables",
    "is_loopback",
    "variable_of",
]

LOG_LEVELS = ("critical", "error", "warning", "info", "debug")
EMBEDDINGS_PROVIDERS = ("local", "hashing")


def _variable(name: str) -> dict[str, str]:
    return {"variable": PREFIX + name}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the server was told to be.

    Args:
        host: address to listen on. One that others can reach needs `api_key`.
        port: TCP port, 1 to 65535.
        data_dir: folder of everything the server keeps; None is the system's place for application data.
        log_level: one of `LOG_LEVELS`.
        api_key: when set, every request but the health checks must carry ``Authorization: Bearer <key>``.
        embeddings_provider: ``local`` is the bundled model; ``hashing`` needs none and understands no meaning
            (for tests).
        threads: threads that numeric libraries may use; keeps a recall from taking every core.
        max_body_bytes: a larger request body is refused with 413.
        recalls_in_flight: recalls, and reflects without a model, that are answered or wait at the same time; one more
            is answered with 503 and ``Retry-After``. 0 sets no limit.
        recall_cache_bytes: memory for the banks that were recalled from last, all together; the bank in use is kept
            even above it.
        ranking_weights: a file of weights that ranks instead of the bundled one; None is the bundled one.
        memory_defense: the policy of banks that set none, as JSON; None is no defence.
        llm_trace_enabled: keep a log of what language models were asked: when, for what, tokens, outcome.
        llm_trace_texts: keep what was asked and answered in it too.
        llm_trace_max_chars: of each text at most.
        llm_trace_retention_days: after which the log's entries go.
        mental_model_refresh_tick_seconds: between two looks at the schedules of mental models.
        reflect_max_iterations: turns of a model in one reflect with budget mid; half as many with low, twice with high.
        reflect_wall_timeout: seconds after which a reflect is given up.
        reflect_max_context_tokens: a conversation of a reflect that grows beyond is ended, and the answer written from
            what was found.
        reflects_in_flight: reflects with a language model at the same time; one more is answered with 503. 0 sets no
            limit.
        retain_batch_enabled: leave the questions of asynchronous retains with the provider as batches, where it
            has them.
        retain_batch_poll_seconds: seconds between two looks for the answers of a batch.
        bank_llm_health: serve the operation that asks a bank's models whether they answer.
        language: the language models of each kind of work; none unless they are named.
        files: where attachments and uploads are kept, and what they may be.
        webhooks: who is told of every bank, and which hosts webhooks may reach.

    Example:
        >>> Settings.from_environment({"HINDSIGHT_API_PORT": "9000"}).port
        9000
    """

    host: str = field(default="127.0.0.1", metadata=_variable("HOST"))
    port: int = field(default=8888, metadata=_variable("PORT"))
    data_dir: Path | None = field(default=None, metadata=_variable("DATA_DIR"))
    log_level: str = field(default="info", metadata=_variable("LOG_LEVEL"))
    api_key: str | None = field(default=None, repr=False, metadata=_variable("TENANT_API_KEY"))
    embeddings_provider: str = field(default="local", metadata=_variable("EMBEDDINGS_PROVIDER"))
    threads: int = field(default=1, metadata=_variable("THREADS"))
    max_body_bytes: int = field(default=64 * 1024 * 1024, metadata=_variable("MAX_BODY_BYTES"))
    recalls_in_flight: int = field(default=128, metadata=_variable("ADMISSION_RECALL_MAX_IN_FLIGHT"))
    recall_cache_bytes: int = field(default=512 * 1024 * 1024, metadata=_variable("RECALL_CACHE_BYTES"))
    ranking_weights: Path | None = field(default=None, metadata=_variable("RANKING_WEIGHTS"))
    memory_defense: str | None = field(default=None, metadata=_variable("MEMORY_DEFENSE"))
    llm_trace_enabled: bool = field(default=True, metadata=_variable("LLM_TRACE_ENABLED"))
    llm_trace_texts: bool = field(default=False, metadata=_variable("LLM_TRACE_TEXTS"))
    llm_trace_max_chars: int = field(default=50_000, metadata=_variable("LLM_TRACE_MAX_CHARS"))
    llm_trace_retention_days: int = field(default=1, metadata=_variable("LLM_TRACE_RETENTION_DAYS"))
    mental_model_refresh_tick_seconds: int = field(default=300, metadata=_variable("MENTAL_MODEL_REFRESH_TICK_SECONDS"))
    reflect_max_iterations: int = field(default=10, metadata=_variable("REFLECT_MAX_ITERATIONS"))
    reflect_wall_timeout: int = field(default=300, metadata=_variable("REFLECT_WALL_TIMEOUT"))
    reflect_max_context_tokens: int = field(default=100_000, metadata=_variable("REFLECT_MAX_CONTEXT_TOKENS"))
    reflects_in_flight: int = field(default=0, metadata=_variable("ADMISSION_REFLECT_MAX_IN_FLIGHT"))
    bank_llm_health: bool = field(default=True, metadata=_variable("ENABLE_BANK_LLM_HEALTH"))
    retain_batch_enabled: bool = field(default=False, metadata=_variable("RETAIN_BATCH_ENABLED"))
    retain_batch_poll_seconds: int = field(default=60, metadata=_variable("RETAIN_BATCH_POLL_INTERVAL_SECONDS"))
    language: LanguageSettings = field(default_factory=LanguageSettings)
    files: FileSettings = field(default_factory=FileSettings)
    webhooks: WebhookSettings = field(default_factory=WebhookSettings)

    def __post_init__(self) -> None:
        _check_choice(self, "log_level", LOG_LEVELS)
        _check_choice(self, "embeddings_provider", EMBEDDINGS_PROVIDERS)
        _check_range(self, "port", 1, 65535)
        _check_range(self, "threads", 1, 256)
        _check_range(self, "max_body_bytes", 1024, 2**40)
        _check_range(self, "recalls_in_flight", 0, 2**31)
        _check_range(self, "llm_trace_max_chars", 1, 10_000_000)
        _check_range(self, "llm_trace_retention_days", 1, 3650)
        _check_range(self, "mental_model_refresh_tick_seconds", 1, 86_400)
        _check_range(self, "retain_batch_poll_seconds", 1, 86_400)
        _check_range(self, "reflect_max_iterations", 1, 100)
        _check_range(self, "reflect_wall_timeout", 1, 86_400)
        _check_range(self, "reflect_max_context_tokens", 4000, 10_000_000)
        _check_range(self, "reflects_in_flight", 0, 2**31)
        self.bank_defaults()
        _check_range(self, "recall_cache_bytes", 0, 2**50)
        if not self.api_key and not is_loopback(self.host):
            raise SettingsError(
                f"refusing to listen on {self.host} without a key: others could read and change every memory. "
                f"Set {variable_of('api_key')}, or listen on 127.0.0.1."
            )

    def bank_defaults(self) -> dict[str, Any]:
        """Settings of banks that set none themselves, by their names in a bank's config.

        Raises:
            SettingsError: one can't be used; the message names the field.
        """
        if self.memory_defense is None:
            return {}
        variable = variable_of("memory_defense")
        try:
            value = json.loads(self.memory_defense)
            if not isinstance(value, dict):
                raise InvalidInput(f"{variable} must be a JSON object.")
            read_policy(value, variable)
        except (ValueError, InvalidInput) as problem:
            raise SettingsError(f"{variable} can't be used: {problem}") from problem
        return {"memory_defense": value}

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], **given: Any) -> Settings:
        """Settings from `environ`; what is `given` and not None wins. Blank variables count as unset.

        Raises:
            SettingsError: a value can't be used.
        """
        values: dict[str, Any] = {
            "language": LanguageSettings.from_environment(environ),
            "files": FileSettings.from_environment(environ),
            "webhooks": WebhookSettings.from_environment(environ),
        }
        for setting in _plain():
            text = environ.get(setting.metadata["variable"], "").strip()
            if text:
                values[setting.name] = _convert(setting.name, text)
        values.update({name: value for name, value in given.items() if value is not None})
        return cls(**values)

    def folder(self) -> Path:
        """The data folder: the one that was given, else the system's place for this user's application data."""
        if self.data_dir is not None:
            return self.data_dir.expanduser()
        import platformdirs

        return Path(platformdirs.user_data_dir("hindsight", appauthor=False))


def all_variables() -> dict[str, Any]:
    """Every environment variable that the server reads, with its default; None where it has none of its own."""
    return {str(setting.metadata["variable"]): setting.default for setting in _plain()} | dict(
        [*language_variables(), *file_variables(), *webhook_variables()]
    )


def variable_of(name: str) -> str:
    """The environment variable of a setting."""
    return str(next(setting.metadata["variable"] for setting in _plain() if setting.name == name))


def _plain() -> list[Field[Any]]:
    """The settings that are one variable each."""
    return [setting for setting in fields(Settings) if "variable" in setting.metadata]


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`. A name other than ``localhost`` counts as reachable."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


_INTEGERS = (
    *("port", "threads", "max_body_bytes", "recalls_in_flight", "recall_cache_bytes"),
    *("reflect_max_iterations", "reflect_wall_timeout", "reflect_max_context_tokens", "reflects_in_flight"),
    *("llm_trace_max_chars", "llm_trace_retention_days", "mental_model_refresh_tick_seconds"),
    "retain_batch_poll_seconds",
)
_SWITCHES = ("llm_trace_enabled", "llm_trace_texts", "bank_llm_health", "retain_batch_enabled")
_PATHS = ("data_dir", "ranking_weights")


def _convert(name: str, text: str) -> Any:
    if name in _PATHS:
        return Path(text)
    if name in ("log_level", "embeddings_provider"):
        return text.lower()
    if name in _SWITCHES:
        return switch(variable_of(name), text)
    if name not in _INTEGERS:
        return text
    try:
        return int(text)
    except ValueError:
        raise SettingsError(f"{variable_of(name)} must be a whole number, not {text!r}.") from None


def _check_choice(settings: Settings, name: str, choices: tuple[str, ...]) -> None:
    value = getattr(settings, name)
    if value not in choices:
        raise SettingsError(f"{variable_of(name)} must be one of {', '.join(choices)}, not {value!r}.")


def _check_range(settings: Settings, name: str, low: int, high: int) -> None:
    value = getattr(settings, name)
    if not low <= value <= high:
        raise SettingsError(f"{variable_of(name)} must lie between {low} and {high}, not {value}.")
