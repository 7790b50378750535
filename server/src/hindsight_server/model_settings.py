"""Which language models the server asks, read from the environment with the other settings.

`HINDSIGHT_API_LLM_*` name the model of all work. `RETAIN_LLM_*`, `REFLECT_LLM_*`, `CONSOLIDATION_LLM_*` and `VLM_*`
change it for one kind of work. A key is never sent to another provider or address than the one it was given for: an
override that names a provider or an address of its own inherits no key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal
from urllib.parse import urlsplit

PREFIX = "HINDSIGHT_API_"
NO_PROVIDER = "none"


_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


class SettingsError(ValueError):
    """A setting has a value that can't be used; the message names it and the remedy."""


def switch(variable: str, text: str) -> bool:
    """A setting that is on or off. Raises SettingsError."""
    if text.lower() not in (*_YES, *_NO):
        raise SettingsError(f"{variable} must be true or false, not {text!r}.")
    return text.lower() in _YES


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownProvider:
    """What a provider's name stands for.

    Args:
        base_url: where it answers when no address is set.
        needs_key: whether it refuses requests without a key at that address.
        api: which of the two wire formats it speaks.
        model: the model that is asked when none is named; None demands a name.
    """

    base_url: str
    needs_key: bool = False
    api: Literal["openai", "anthropic"] = "openai"
    model: str | None = None


PROVIDERS: Mapping[str, KnownProvider] = {
    "openai": KnownProvider(base_url="https://api.openai.com/v1", needs_key=True, model="gpt-4o-mini"),
    "anthropic": KnownProvider(base_url="https://api.anthropic.com", needs_key=True, api="anthropic"),
    "ollama": KnownProvider(base_url="http://localhost:11434/v1"),
    "vllm": KnownProvider(base_url="http://localhost:8000/v1"),
    "llamacpp": KnownProvider(base_url="http://localhost:8080/v1"),
    "lmstudio": KnownProvider(base_url="http://localhost:1234/v1"),
    "litellm": KnownProvider(base_url="http://localhost:4000/v1"),
    "groq": KnownProvider(base_url="https://api.groq.com/openai/v1", needs_key=True),
    "gemini": KnownProvider(base_url="https://generativelanguage.googleapis.com/v1beta/openai", needs_key=True),
    "openrouter": KnownProvider(base_url="https://openrouter.ai/api/v1", needs_key=True),
    "deepseek": KnownProvider(base_url="https://api.deepseek.com", needs_key=True),
}


def _suffix(name: str) -> dict[str, str]:
    return {"suffix": name}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """One model and its limits.

    Args:
        provider: one of `PROVIDERS`, or ``none``. When it is not set, a model, key or address makes it ``openai``,
            which stands for every server of that API.
        model: the model's name, as the provider knows it.
        api_key: the provider's key.
        base_url: the provider's address, when it is not the usual one.
        timeout_seconds: how long one try may take.
        max_retries: further tries after a failure that may pass.
        max_concurrent: questions at the same time; more wait.
        max_tokens: tokens of an answer at most, whoever asks; None is as many as the asker or the provider allows.
    """

    provider: str = field(default=NO_PROVIDER, metadata=_suffix("PROVIDER"))
    model: str | None = field(default=None, metadata=_suffix("MODEL"))
    api_key: str | None = field(default=None, repr=False, metadata=_suffix("API_KEY"))
    base_url: str | None = field(default=None, repr=False, metadata=_suffix("BASE_URL"))
    timeout_seconds: float = field(default=120.0, metadata=_suffix("TIMEOUT"))
    max_retries: int = field(default=3, metadata=_suffix("MAX_RETRIES"))
    max_concurrent: int = field(default=32, metadata=_suffix("MAX_CONCURRENT"))
    max_tokens: int | None = field(default=None, metadata=_suffix("MAX_TOKENS"))

    @property
    def configured(self) -> bool:
        return self.provider != NO_PROVIDER

    @property
    def known(self) -> KnownProvider:
        """What the provider's name stands for. Only of a configured model."""
        return PROVIDERS[self.provider]

    @property
    def address(self) -> str:
        """Where the provider is asked. It may hold a password: never show it."""
        return self.base_url or self.known.base_url


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageSettings:
    """The models of each kind of work, overrides applied.

    Args:
        default: the model of `HINDSIGHT_API_LLM_*`.
        retain: extracts facts.
        reflect: answers questions, writes mental models.
        consolidation: keeps observations.
        vision: reads pictures; not configured unless `VLM_*` says so, since not every model can.
    """

    default: ModelSettings = field(default_factory=ModelSettings, metadata={"group": "LLM_"})
    retain: ModelSettings = field(default_factory=ModelSettings, metadata={"group": "RETAIN_LLM_"})
    reflect: ModelSettings = field(default_factory=ModelSettings, metadata={"group": "REFLECT_LLM_"})
    consolidation: ModelSettings = field(default_factory=ModelSettings, metadata={"group": "CONSOLIDATION_LLM_"})
    vision: ModelSettings = field(default_factory=ModelSettings, metadata={"group": "VLM_"})

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> LanguageSettings:
        """The models that `environ` names. Raises SettingsError when one can't be used."""
        given = {kind.name: _given(environ, kind.metadata["group"]) for kind in fields(cls)}
        found: dict[str, ModelSettings] = {}
        for kind in fields(cls):
            values = given[kind.name]
            if kind.name == "default":
                base = ModelSettings()
            elif kind.name == "vision" and not values:
                continue
            else:
                base = found["default"]
            found[kind.name] = _checked(_overridden(base, values), kind.metadata["group"])
        return cls(**found)


def language_variables() -> Iterator[tuple[str, Any]]:
    """Every environment variable of this module with its default; None where it has none of its own."""
    for kind in fields(LanguageSettings):
        for part in fields(ModelSettings):
            default = part.default if kind.name == "default" else None
            yield PREFIX + kind.metadata["group"] + part.metadata["suffix"], default


def _given(environ: Mapping[str, str], group: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for part in fields(ModelSettings):
        variable = PREFIX + group + part.metadata["suffix"]
        text = environ.get(variable, "").strip()
        if text:
            values[part.name] = _CONVERSIONS.get(part.name, _text)(variable, text)
    return values


def _overridden(base: ModelSettings, values: Mapping[str, Any]) -> ModelSettings:
    """`base` changed by what is given. Another provider or address leaves key, address and model behind."""
    wanted = dict(values)
    names_model = any(name in wanted for name in ("model", "api_key", "base_url"))
    if "provider" not in wanted and names_model and not base.configured:
        wanted["provider"] = "openai"
    if wanted.get("provider", base.provider) != base.provider:
        base = replace(base, provider=wanted["provider"], model=None, api_key=None, base_url=None)
    elif wanted.get("base_url", base.base_url) != base.base_url:
        base = replace(base, api_key=None)
    return replace(base, **wanted)


def _checked(settings: ModelSettings, group: str) -> ModelSettings:
    """The settings with the provider's own model filled in. Raises SettingsError."""
    if not settings.configured:
        return settings
    variable = PREFIX + group
    known = settings.known
    if settings.model is None and settings.base_url is None:
        settings = replace(settings, model=known.model)
    if settings.model is None:
        raise SettingsError(
            f"{variable}MODEL is not set: name the model that '{settings.provider}' shall answer with, "
            f"or set {variable}PROVIDER=none."
        )
    if known.needs_key and settings.api_key is None and settings.base_url is None:
        raise SettingsError(f"{variable}API_KEY is not set, and '{settings.provider}' answers nobody without a key.")
    return settings


def _text(_: str, text: str) -> str:
    return text


def _key(variable: str, text: str) -> str:
    if not (text.isascii() and text.isprintable()):
        raise SettingsError(f"{variable} holds a line break or a letter that no request header can carry.")
    return text


def _provider(variable: str, text: str) -> str:
    name, address = text.lower(), variable.removesuffix("PROVIDER") + "BASE_URL"
    if name != NO_PROVIDER and name not in PROVIDERS:
        raise SettingsError(
            f"{variable} must be one of {', '.join((NO_PROVIDER, *PROVIDERS))}, not {text!r}. "
            f"For any other server of OpenAI's API: openai, with its address in {address}."
        )
    return name


def _url(variable: str, text: str) -> str:
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise SettingsError(f"{variable} must be an address such as http://localhost:11434/v1.")
    return text.rstrip("/")


def _seconds(variable: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 1 <= seconds <= 86_400:
        raise SettingsError(f"{variable} must be a number of seconds between 1 and 86400, not {text!r}.")
    return seconds


def _whole(low: int, high: int) -> Callable[[str, str], int]:
    def convert(variable: str, text: str) -> int:
        if not (text.isdecimal() and low <= int(text) <= high):
            raise SettingsError(f"{variable} must be a whole number between {low} and {high}, not {text!r}.")
        return int(text)

    return convert


_CONVERSIONS: Mapping[str, Callable[[str, str], Any]] = {
    "provider": _provider,
    "api_key": _key,
    "base_url": _url,
    "timeout_seconds": _seconds,
    "max_retries": _whole(0, 20),
    "max_concurrent": _whole(1, 10_000),
    "max_tokens": _whole(16, 10_000_000),
}
