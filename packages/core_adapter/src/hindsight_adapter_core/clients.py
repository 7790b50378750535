"""Clients: which one is used, how it is built, on which loop it lives, and who closes it.

A client that the caller gives is never used directly when it is a real ``hindsight_client.Hindsight``: its HTTP
session belongs to whatever loop used it last. The adapters use a sibling instead, with the same address, key,
headers and TLS settings but a session of its own on the bridge's loop; the caller's client is left alone and stays
the caller's to close. Any other object with the client's methods (a stub, a wrapper) is used as it is.
"""

from __future__ import annotations

import copy
import importlib
import os
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic

from .bridge import Bridge, get_bridge
from .errors import MissingCredentialsError, SerializationError, SettingsError
from .retry import Standing
from .sessions import refuse_moved_writes, share_certificates
from .settings import (
    DEFAULT_HINDSIGHT_API_URL,
    HINDSIGHT_API_KEY_ENV,
    HINDSIGHT_API_URL_ENV,
    AdapterConfig,
    ConfigHolder,
    ConfigT,
    Origin,
    read_api_key,
)
from .urls import discreet_url, names_user, safe_url

__all__ = ["AdapterPackage", "ClientHandle", "Connection", "connect", "lazy_client_class", "resolve_connection"]

#: Seconds; the client's own bound on one request. The adapters' deadlines are tighter.
CLIENT_TIMEOUT = 30.0
#: Seconds; longer than any deadline, and still a number that the client accepts.
_NO_TIMEOUT = 86_400.0


@dataclass(frozen=True, kw_only=True)
class Connection:
    """Where to send requests and with which key, and where each came from. The key is not shown in ``repr``."""

    url: str
    api_key: str | None = field(repr=False)
    url_origin: Origin
    key_origin: Origin | None


class AdapterPackage(Generic[ConfigT]):
    """What the core must know of one framework package.

    By convention the package's ``_client`` module holds one of these as ``PACKAGE``, and the client class under the
    name ``Hindsight`` (see :func:`lazy_client_class`), where tests may replace it.

    Args:
        import_name: e.g. ``"hindsight_haystack"``.
        framework: e.g. ``"haystack"``: default context label, ``source`` metadata and user agent.
        version: the package's version.
        config: its configuration holder.
    """

    def __init__(self, *, import_name: str, framework: str, version: str, config: ConfigHolder[ConfigT]) -> None:
        self.import_name = import_name
        self.framework = framework
        self.version = version
        self.config = config

    @property
    def user_agent(self) -> str:
        """``hindsight-<framework>/<version>``."""
        return f"hindsight-{self.framework}/{self.version}"

    def client_class(self) -> Callable[..., Any]:
        """The class to build clients from: ``<import_name>._client.Hindsight``, looked up at each call."""
        found: Callable[..., Any] = importlib.import_module(f"{self.import_name}._client").Hindsight
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_package, (self.import_name,)

    def __deepcopy__(self, memo: dict[int, Any]) -> AdapterPackage[ConfigT]:
        return self


def _load_package(import_name: str) -> Any:
    return importlib.import_module(f"{import_name}._client").PACKAGE


def lazy_client_class(module_name: str) -> Callable[[str], Any]:
    """A module-level ``__getattr__`` that imports ``Hindsight`` from hindsight-client at first use.

    Example, in ``<package>/_client.py``::

        __getattr__ = lazy_client_class(__name__)
    """

    def module_getattr(name: str) -> Any:
        if name == "Hindsight":
            from hindsight_client import Hindsight

            return Hindsight
        raise AttributeError(f"module {module_name!r} has no attribute {name!r}")

    return module_getattr


def resolve_connection(hindsight_api_url: str | None, api_key: str | None, config: AdapterConfig | None) -> Connection:
    """Settle URL and key: argument, then ``configure()``, then environment, then the vendor's cloud without a key.

    Raises:
        SettingsError: the address is none of HTTP, or holds a user name while there is a key.
    """
    given = config.given if config is not None else frozenset()
    url: str
    url_origin: Origin
    if hindsight_api_url:
        url, url_origin = hindsight_api_url, "argument"
    elif config is not None and "hindsight_api_url" in given:
        url, url_origin = config.hindsight_api_url, "configure()"
    elif os.environ.get(HINDSIGHT_API_URL_ENV):
        url, url_origin = os.environ[HINDSIGHT_API_URL_ENV], "environment"
    else:
        url, url_origin = DEFAULT_HINDSIGHT_API_URL, "default"
    # One that was read from a file or pasted has a line break or a space about it, which no address has.
    url = url.strip()
    if not url.lower().startswith(("http://", "https://")):
        # Not shown: it may hold a password, which can't be told without a scheme.
        raise SettingsError(
            f"hindsight_api_url (from {url_origin}) must begin with http:// or https://, as http://localhost:8888 does"
        )
    configured = read_api_key(config) if config is not None else None
    environment = os.environ.get(HINDSIGHT_API_KEY_ENV) or None
    key_origin: Origin | None
    if api_key:
        key, key_origin = api_key, "argument"
    elif configured:
        key, key_origin = configured, "configure()" if "api_key" in given else "environment"
    elif environment:
        key, key_origin = environment, "environment"
    else:
        key, key_origin = "", None
    # A key that was read from a file ends in a line break, with which no header can be sent.
    key = key.strip()
    if key and names_user(url):
        raise SettingsError(
            f"hindsight_api_url (from {url_origin}) holds a user name or password, and there is a key (from "
            f"{key_origin}): a request can carry only one of them; leave one out"
        )
    return Connection(
        url=discreet_url(url), api_key=key or None, url_origin=url_origin, key_origin=key_origin if key else None
    )


def connect(
    package: AdapterPackage[Any],
    *,
    client: Any = None,
    hindsight_api_url: str | None = None,
    api_key: str | None = None,
) -> ClientHandle:
    """A handle on the client to use: the given one, else one built from argument, ``configure()``, environment.

    Builds at most one client object and sends nothing. The built client gets a 30 s request timeout and the
    package's user agent.

    Args:
        package: who asks.
        client: a client of the caller's, which wins outright and stays the caller's to close.
        hindsight_api_url: server address.
        api_key: bearer key.
    """
    if client is not None:
        url = client_url(client) or hindsight_api_url
        return ClientHandle(package, client, url=url, url_origin="argument", key_origin="argument", given=True)
    connection = resolve_connection(hindsight_api_url, api_key, package.config.get_config())
    arguments: dict[str, Any] = {
        "base_url": connection.url,
        "timeout": CLIENT_TIMEOUT,
        "user_agent": package.user_agent,
    }
    if connection.api_key:
        arguments["api_key"] = connection.api_key
    built = package.client_class()(**arguments)
    return ClientHandle(
        package,
        built,
        url=connection.url,
        url_origin=connection.url_origin,
        key_origin=connection.key_origin,
        given=False,
    )


def _is_cloud(url: str) -> bool:
    return url.rstrip("/").lower() == DEFAULT_HINDSIGHT_API_URL


def client_url(client: Any) -> str | None:
    """The server address of a client object, if it shows one."""
    for name in ("_base_url", "base_url"):
        value = getattr(client, name, None)
        if isinstance(value, str) and value:
            return value
    return None


class ClientHandle:
    """The client of one tool set or memory. Safe to share between threads, loops and forked processes.

    Attributes:
        package: the package it belongs to.
        url: the server address, without any user name or password in it; ``None`` when a given client hides it.
        given: True when the caller supplied the client.
        standing: how the server stands by its last answer to anybody who shares the handle.
    """

    def __init__(
        self,
        package: AdapterPackage[Any],
        client: Any,
        *,
        url: str | None,
        url_origin: Origin,
        given: bool,
        key_origin: Origin | None,
    ) -> None:
        self.package = package
        self.url = safe_url(url) if url else None
        self.url_origin = url_origin
        self.given = given
        self.standing: Standing = "unknown"
        self._key_origin = key_origin
        self._client = client

    @property
    def client(self) -> Any:
        """The client object as given or built. Requests go through :meth:`live`."""
        return self._client

    def check(self) -> None:
        """Refuse to send anything to the vendor's cloud without a key.

        Raises:
            MissingCredentialsError: naming both remedies.
        """
        if not self.given and self._key_origin is None and _is_cloud(self.url or ""):
            raise MissingCredentialsError(
                f"no key for {DEFAULT_HINDSIGHT_API_URL}, nothing was sent. Set {HINDSIGHT_API_KEY_ENV}, "
                f"or run `hindsight serve` and set {HINDSIGHT_API_URL_ENV}=http://localhost:8888"
            )

    def live(self) -> Any:
        """The client to call, bound to this process's bridge. Call it on the bridge's loop."""
        self.check()
        if not is_real_client(self._client):
            return self._client
        # A client of ours has no time limit of the caller's to keep: the deadlines alone decide.
        return _sibling(self._client, get_bridge(), keep_timeout=self.given)

    @property
    def secret(self) -> str | None:
        """The key that the client sends, to be blotted out of messages. Never show it."""
        configuration = getattr(getattr(self._client, "_api_client", None), "configuration", None)
        token = getattr(configuration, "access_token", None)
        return token if isinstance(token, str) else None

    def explain(self) -> dict[str, tuple[Any, Origin]]:
        """The address and where it came from; of the key, whether there is one and where it came from."""
        has_key = self.secret if self.given else self._key_origin
        key: tuple[str, Origin] = ("set", self._key_origin or "default") if has_key else ("not set", "default")
        return {"hindsight_api_url": (self.url, self.url_origin), "api_key": key}

    async def aclose(self) -> None:
        """Close the HTTP session that this handle uses. It opens again at the next operation."""
        if is_real_client(self._client):
            await get_bridge().arun(lambda: _close_sibling(self._client))

    def close(self) -> None:
        """Sync twin of :meth:`aclose`."""
        if is_real_client(self._client):
            get_bridge().run(lambda: _close_sibling(self._client))

    def __repr__(self) -> str:
        return f"ClientHandle(url={self.url!r}, given={self.given})"

    def __copy__(self) -> ClientHandle:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> ClientHandle:
        # A live client can't be copied; two holders of one client is what a copy of an agent needs.
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self.url is None:
            raise SerializationError(
                "client: this object cannot be pickled, for it shows no base_url to reconnect to; "
                "build the tools from hindsight_api_url instead"
            )
        return _reconnect, (self.package, self.url)


def _reconnect(package: AdapterPackage[Any], url: str) -> ClientHandle:
    return connect(package, hindsight_api_url=url)


def is_real_client(client: Any) -> bool:
    """True for an unpatched ``hindsight_client.Hindsight``, which can be given a sibling.

    A subclass counts too. An instance whose operations were replaced (a test's stub) does not: the replacements
    are what the caller wants to be called.
    """
    module = _loaded_client_module()
    if module is None or not isinstance(client, module.Hindsight):
        return False
    return not any(name in vars(client) for name in ("aretain", "aretain_batch", "arecall", "areflect", "acreate_bank"))


def _loaded_client_module() -> Any:
    import sys

    # A real client can only exist once its module was imported; asking must not import it.
    module = sys.modules.get("hindsight_client")
    return module if isinstance(getattr(module, "Hindsight", None), type) else None


@dataclass(frozen=True, kw_only=True)
class _Sibling:
    """A client's twin, the loop that it lives on, and what closes it when the client is no longer used."""

    bridge: Bridge
    twin: Any
    last_use: weakref.finalize[..., Any]


#: Touched on the bridge's loop only, so without a lock: a fork would leave it locked in the child for ever.
_siblings: weakref.WeakKeyDictionary[Any, _Sibling] = weakref.WeakKeyDictionary()


def _sibling(client: Any, bridge: Bridge, *, keep_timeout: bool) -> Any:
    found = _siblings.get(client)
    if found is not None and found.bridge is bridge:
        return found.twin
    twin = _build_sibling(client)
    if not keep_timeout:
        twin._timeout = _NO_TIMEOUT
    last_use = weakref.finalize(client, _close_later, bridge, twin)
    last_use.atexit = False
    _siblings[client] = _Sibling(bridge=bridge, twin=twin, last_use=last_use)
    bridge.on_close(twin, twin.aclose)
    return twin


def _build_sibling(client: Any) -> Any:
    """A copy of ``client`` whose every API group talks through a fresh, still unopened session."""
    twin = copy.copy(client)
    api_client = copy.copy(client._api_client)
    api_client.default_headers = dict(client._api_client.default_headers)
    api_client.rest_client = type(client._api_client.rest_client)(api_client.configuration)
    share_certificates(api_client.rest_client)
    refuse_moved_writes(api_client.rest_client)
    twin._api_client = api_client
    for name, group in list(vars(twin).items()):
        if getattr(group, "api_client", None) is client._api_client:
            fresh = copy.copy(group)
            fresh.api_client = api_client
            setattr(twin, name, fresh)
    if hasattr(twin, "_max_attempts"):
        # Retries are made here, within our deadline; twice over they would multiply.
        twin._max_attempts = 1
    return twin


def _close_later(bridge: Bridge, twin: Any) -> None:
    if bridge.process_id == os.getpid() and not bridge.closed:
        bridge.off_close(twin)
        bridge.in_background(twin.aclose)


async def _close_sibling(client: Any) -> None:
    found = _siblings.pop(client, None)
    if found is not None and found.bridge is get_bridge():
        # Else each opening of a client that lives long would leave one behind.
        found.last_use.detach()
        found.bridge.off_close(found.twin)
        await found.twin.aclose()
