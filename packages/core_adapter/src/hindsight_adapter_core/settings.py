"""Settings of the adapters: what a user may set, where each value comes from, and which one wins.

Precedence, for every value: argument, then ``configure()``, then the environment, then the default.
The environment is read when a value is resolved, never at import.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, InitVar, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar

from .checks import check_choice, check_id, check_positive, check_tags
from .errors import MissingBankError, SettingsError
from .recent import RecentMap
from .urls import discreet_url

if TYPE_CHECKING:
    from .delivery import DeliveryOptions

__all__ = [
    "DEFAULT_HINDSIGHT_API_URL",
    "HINDSIGHT_API_KEY_ENV",
    "HINDSIGHT_API_URL_ENV",
    "HINDSIGHT_BANK_ID_ENV",
    "AdapterConfig",
    "ConfigHolder",
    "Deadlines",
    "MemoryOptions",
    "MemorySettings",
    "Origin",
    "resolve_settings",
]

DEFAULT_HINDSIGHT_API_URL = "https://api.hindsight.vectorize.io"
HINDSIGHT_API_URL_ENV = "HINDSIGHT_API_URL"
HINDSIGHT_API_KEY_ENV = "HINDSIGHT_API_KEY"
HINDSIGHT_BANK_ID_ENV = "HINDSIGHT_BANK_ID"

BUDGETS = ("low", "mid", "high")
TAGS_MATCHES = ("any", "all", "any_strict", "all_strict", "exact")
FACT_TYPES = ("world", "experience", "observation")

#: Banks of which a process remembers that it has named them in the log, about 2 MB. A service may have a million, and a
#: line said again is no harm.
_ANNOUNCED = 10_000

#: Where a value came from.
Origin = Literal["argument", "configure()", "environment", "default"]


@dataclass(frozen=True, kw_only=True)
class Deadlines:
    """How long each operation may take in all, retries included, in seconds.

    Defaults: retain 15, recall 10, reflect 30, bank creation 15, other 30. Reading a document back counts as a recall;
    deleting one is the other thing that there is.

    Raises:
        SettingsError: a value is not a positive number.
    """

    retain: float = 15.0
    recall: float = 10.0
    reflect: float = 30.0
    bank: float = 15.0
    other: float = 30.0

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise SettingsError(f"deadlines.{item.name} must be a positive number of seconds, not {value!r}")


@dataclass(frozen=True)
class AdapterConfig:
    """What ``configure()`` holds: one value object per package.

    The key is no dataclass field: it stays out of ``repr``, ``asdict`` and pickles, and is read as ``api_key``.

    Attributes:
        hindsight_api_url: server address; without one ``HINDSIGHT_API_URL``, else the vendor's cloud.
        api_key: bearer key; without one ``HINDSIGHT_API_KEY``.
        budget: search depth, ``low``, ``mid`` or ``high``.
        max_tokens: upper bound of a recall answer, in tokens.
        tags: tags put on everything stored.
        recall_tags: tags that recall and reflect filter by.
        recall_tags_match: how ``recall_tags`` match: ``any``, ``all``, ``any_strict``, ``all_strict``, ``exact``.
        context: label of where stored text comes from.
        mission: what the bank is for; given one, the bank is created before its first use.
        verbose: log the package's steps at debug level.
        deadlines: per-operation time limits.
        given: names of the values that the caller set, as opposed to defaults.
    """

    hindsight_api_url: str = DEFAULT_HINDSIGHT_API_URL
    api_key: InitVar[str | None] = None
    budget: str = "mid"
    max_tokens: int = 4096
    tags: list[str] | None = None
    recall_tags: list[str] | None = None
    recall_tags_match: str = "any"
    context: str | None = None
    mission: str | None = None
    verbose: bool = False
    _: KW_ONLY
    deadlines: Deadlines = field(default_factory=Deadlines)
    given: frozenset[str] = field(default=frozenset(), repr=False, compare=False)

    def __post_init__(self, api_key: str | None) -> None:
        object.__setattr__(self, "_api_key", api_key)
        object.__setattr__(self, "hindsight_api_url", discreet_url(self.hindsight_api_url))
        check_choice("budget", self.budget, BUDGETS)
        check_choice("recall_tags_match", self.recall_tags_match, TAGS_MATCHES)
        check_positive("max_tokens", self.max_tokens)
        check_deadlines(self.deadlines)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_api_key": None}

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def read_api_key(config: AdapterConfig) -> str | None:
    """The key that ``config`` holds, or ``None``."""
    key: str | None = config.__dict__.get("_api_key")
    return key


# In the class body a property would be taken for the InitVar's default, hence afterwards and by name.
setattr(AdapterConfig, "api_key", property(read_api_key, doc="The bearer key, or None."))  # noqa: B010

ConfigT = TypeVar("ConfigT", bound=AdapterConfig)


class ConfigHolder(Generic[ConfigT]):
    """The process-wide configuration of one package: the body of its ``configure`` functions.

    Example:
        >>> holder = ConfigHolder("hindsight_example", AdapterConfig)
        >>> holder.get_config() is None
        True
        >>> holder.configure(budget="high").budget
        'high'
        >>> holder.reset_config()

    Args:
        import_name: the package's import name; also the name of its logger.
        config_class: the dataclass to hold, carrying the package's own defaults.
    """

    def __init__(self, import_name: str, config_class: type[ConfigT]) -> None:
        self.import_name = import_name
        self._config_class = config_class
        self._config: ConfigT | None = None
        self._announced: RecentMap[tuple[str, str], int] = RecentMap(_ANNOUNCED)

    @property
    def logger(self) -> logging.Logger:
        """The package's logger."""
        return logging.getLogger(self.import_name)

    def configure(self, **values: Any) -> ConfigT:
        """Replace the configuration; a value of ``None`` means "not given".

        Returns:
            The new configuration, with URL and key already filled from the environment when not given.

        Raises:
            SettingsError: a value is out of its range, or a name is unknown.
        """
        known = {f.name for f in fields(self._config_class)} - {"given"} | {"api_key"}
        unknown = sorted(set(values) - known)
        if unknown:
            raise SettingsError(f"configure() knows no {', '.join(unknown)}; it takes {', '.join(sorted(known))}")
        given = {name: value for name, value in values.items() if value is not None}
        filled = dict(given)
        filled.setdefault("api_key", os.environ.get(HINDSIGHT_API_KEY_ENV) or None)
        filled.setdefault("hindsight_api_url", os.environ.get(HINDSIGHT_API_URL_ENV) or DEFAULT_HINDSIGHT_API_URL)
        for name in ("tags", "recall_tags"):
            if name in filled:
                filled[name] = check_tags(name, filled[name])
        config = self._config_class(**filled, given=frozenset(given))
        self._config = config
        if config.verbose:
            _show_debug_log(self.logger)
        return config

    def get_config(self) -> ConfigT | None:
        """The configuration, or ``None`` before ``configure()`` and after ``reset_config()``."""
        return self._config

    def reset_config(self) -> None:
        """Forget the configuration."""
        self._config = None
        self._announced = RecentMap(_ANNOUNCED)

    def announce(self, url: str, url_origin: str, bank_id: str) -> None:
        """Log the endpoint and the bank at INFO, once for each pair, so that no one talks to a server unawares.

        Of a pair that :data:`_ANNOUNCED` others have followed it is said once more.
        """
        if self._announced.change((url, bank_id), lambda times: (times or 0) + 1) == 1:
            self.logger.info("Hindsight memory: endpoint %s (from %s), bank %r", url, url_origin, bank_id)


def _show_debug_log(logger: logging.Logger) -> None:
    for one in (logger, logging.getLogger("hindsight_adapter_core")):
        one.setLevel(logging.DEBUG)
        if not one.hasHandlers():
            one.addHandler(logging.StreamHandler())


@dataclass(frozen=True, kw_only=True)
class MemoryOptions:
    """The memory arguments of a tool set, as the user gave them; ``None`` means "not given".

    Dumps hold the first eighteen fields, and of the others, ``delivery`` excepted, those that were given. No field
    holds a key; a password in an address is in no ``repr`` and no dump.

    Attributes:
        bank_id: the memory bank; ``None`` when it is chosen per call.
        hindsight_api_url: the URL argument, for dumps.
        budget, max_tokens, tags, recall_tags, recall_tags_match: as in :class:`AdapterConfig`.
        retain_metadata: metadata put on everything stored.
        retain_document_id: document to store into; by default every call makes its own.
        retain_context: label of where the text comes from.
        recall_types: fact types to search: ``world``, ``experience``, ``observation``.
        recall_include_entities: ask for entities as well.
        reflect_context: extra context for reflect.
        reflect_max_tokens: bound of a reflect answer; default ``max_tokens``.
        reflect_response_schema: JSON schema that makes reflect answer with JSON text.
        reflect_tags, reflect_tags_match: filter of reflect; default the recall filter.
        mission: what the bank is for.
        source_tag: also tag what is stored with ``source:<framework>``.
        retain_async: store in the background: writes are queued, and the server is asked not to wait for the
            extraction. The next recall may not see them yet.
        delivery: bounds and pauses of that queue, a :class:`~hindsight_adapter_core.DeliveryOptions`.
        tag_groups: boolean tag filter of recall and reflect, instead of ``recall_tags``.
        min_scores: score floors of recall, e.g. ``{"final": 0.2}``.
        deadlines: per-operation time limits.
    """

    bank_id: str | None = None
    hindsight_api_url: str | None = None
    budget: str | None = None
    max_tokens: int | None = None
    tags: list[str] | None = None
    recall_tags: list[str] | None = None
    recall_tags_match: str | None = None
    retain_metadata: dict[str, str] | None = None
    retain_document_id: str | None = None
    retain_context: str | None = None
    recall_types: list[str] | None = None
    recall_include_entities: bool = False
    reflect_context: str | None = None
    reflect_max_tokens: int | None = None
    reflect_response_schema: dict[str, Any] | None = None
    reflect_tags: list[str] | None = None
    reflect_tags_match: str | None = None
    mission: str | None = None
    source_tag: bool = False
    retain_async: bool = False
    tag_groups: list[dict[str, Any]] | None = None
    min_scores: dict[str, float] | None = None
    deadlines: Deadlines | None = None
    delivery: DeliveryOptions | None = None

    def __post_init__(self) -> None:
        if self.bank_id is not None:
            check_id("bank_id", self.bank_id)
        if self.retain_document_id:
            check_id("retain_document_id", self.retain_document_id)
        if self.hindsight_api_url is not None:
            object.__setattr__(self, "hindsight_api_url", discreet_url(self.hindsight_api_url))
        check_choice("budget", self.budget, BUDGETS)
        for name in ("recall_tags_match", "reflect_tags_match"):
            check_choice(name, getattr(self, name), TAGS_MATCHES)
        for name in ("max_tokens", "reflect_max_tokens"):
            check_positive(name, getattr(self, name))
        for name in ("tags", "recall_tags", "reflect_tags", "recall_types"):
            check_tags(name, getattr(self, name))
        check_deadlines(self.deadlines)
        for kind in self.recall_types or ():
            check_choice("recall_types", kind, FACT_TYPES)
        if self.tag_groups and (self.recall_tags or self.reflect_tags):
            raise SettingsError("tag_groups cannot be combined with recall_tags or reflect_tags; give one of them")


@dataclass(frozen=True, kw_only=True)
class MemorySettings:
    """The options of a tool set after precedence: every value is final.

    Attributes:
        options: the arguments these were made from.
        origins: for each resolved name, where its value came from.
    """

    options: MemoryOptions
    bank_id: str | None
    budget: str
    max_tokens: int
    tags: tuple[str, ...]
    recall_tags: tuple[str, ...]
    recall_tags_match: str
    context: str
    mission: str | None
    deadlines: Deadlines
    origins: Mapping[str, Origin]

    @property
    def reflect_tags(self) -> tuple[str, ...]:
        """The filter of reflect: its own tags when given (an empty list clears them), else the recall tags."""
        own = self.options.reflect_tags
        return self.recall_tags if own is None else tuple(own)

    def bank(self, override: str | None = None) -> str:
        """The bank to use: ``override``, else the one of these settings.

        Raises:
            MissingBankError: neither names one, or ``override`` is blank: whoever was to name a bank and did not must
                not get someone else's memories.
            SettingsError: what is named can't be a bank.
        """
        if override is not None and not override.strip():
            raise MissingBankError("a blank bank_id was given; name a bank, or give None to use the configured one")
        bank_id = self.bank_id if override is None else override
        if bank_id is None or not bank_id.strip():
            raise MissingBankError(
                f"no memory bank: pass bank_id, or set the environment variable {HINDSIGHT_BANK_ID_ENV}"
            )
        return check_id("bank_id", bank_id)

    def explain(self) -> dict[str, tuple[Any, Origin]]:
        """Every resolved value with its origin, e.g. ``{"budget": ("high", "configure()")}``."""
        return {name: (getattr(self, name), origin) for name, origin in self.origins.items()}


def resolve_settings(options: MemoryOptions, config: AdapterConfig | None, *, default_context: str) -> MemorySettings:
    """Settle every option: argument, then ``configure()``, then environment, then default.

    Args:
        options: the arguments.
        config: the package's configuration, if any.
        default_context: the context label when none is given, usually the framework's name.
    """
    origins: dict[str, Origin] = {}

    def pick(name: str, argument: Any, default: Any, env: str | None = None) -> Any:
        configured = getattr(config, name, None)
        if argument is not None:
            origins[name], value = "argument", argument
        elif config is not None and configured is not None and name in config.given:
            origins[name], value = "configure()", configured
        elif env is not None and os.environ.get(env):
            origins[name], value = "environment", os.environ[env]
        else:
            origins[name], value = "default", configured if configured is not None else default
        return value

    return MemorySettings(
        options=options,
        bank_id=pick("bank_id", options.bank_id, None, HINDSIGHT_BANK_ID_ENV),
        budget=pick("budget", options.budget, "mid"),
        max_tokens=pick("max_tokens", options.max_tokens, 4096),
        tags=tuple(pick("tags", options.tags, ())),
        # Tag groups stand in the place of recall tags, those of configure() too.
        recall_tags=tuple(pick("recall_tags", [] if options.tag_groups else options.recall_tags, ())),
        recall_tags_match=pick("recall_tags_match", options.recall_tags_match, "any"),
        context=pick("context", options.retain_context, default_context),
        mission=pick("mission", options.mission, None),
        deadlines=pick("deadlines", options.deadlines, Deadlines()),
        origins=origins,
    )


def check_deadlines(value: object) -> None:
    """Refuse anything but :class:`Deadlines`; ``None`` passes."""
    if value is not None and not isinstance(value, Deadlines):
        raise SettingsError(f"deadlines must be Deadlines(...), e.g. Deadlines(recall=3), not {value!r}")
