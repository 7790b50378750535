"""HTTP sessions of siblings: what the system says is read once a process or session, not at each request."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

#: What a configuration may ask of TLS; a session with any of it is left to the client.
_OWN_SETTINGS = ("ssl_ca_cert", "cert_file", "retries")
_READS = frozenset({"GET", "HEAD", "OPTIONS"})


def share_certificates(rest_client: Any) -> None:
    """Have a ``hindsight_client_api`` REST client that asks nothing special of TLS open its session with shared ones.

    The client reads the system's certificates anew for each session, also for plain HTTP: about 25 ms of processor
    time on the loop that all memories share, for every conversation that has a client of its own.

    Args:
        rest_client: fresh and unopened. One that is not built as expected is left as it is.
    """
    configuration: Any = getattr(rest_client, "_configuration", None)
    plain = getattr(configuration, "verify_ssl", False) and not any(
        getattr(configuration, one, True) for one in _OWN_SETTINGS
    )
    unopened = getattr(rest_client, "_pool_manager", rest_client) is None
    if plain and unopened and hasattr(rest_client, "_ensure_session"):
        rest_client._ensure_session = partial(_open, rest_client, configuration.connection_pool_maxsize)


class _Unmoved:
    """A session, or what repeats requests on one, that sends a write to the address it was meant for, and no other."""

    def __init__(self, session: Any) -> None:
        self._session = session

    async def request(self, method: str, url: str, **options: Any) -> Any:
        follows = method.upper() in _READS
        return await self._session.request(method, url, **options, allow_redirects=follows)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def refuse_moved_writes(rest_client: Any) -> None:
    """Have a ``hindsight_client_api`` REST client follow redirects of what reads only.

    A server that redirects ``.../banks/b/`` to ``.../banks/b`` would turn the deletion of one thing into that of
    another. Searches are POST requests too: they are answered by the redirect, which says where to go.

    Args:
        rest_client: fresh and unopened. One that is not built as expected is left as it is.
    """
    opening = getattr(rest_client, "_ensure_session", None)
    if opening is not None and getattr(rest_client, "_pool_manager", rest_client) is None:
        rest_client._ensure_session = partial(_open_unmoved, rest_client, opening)


def _open_unmoved(rest_client: Any, opening: Callable[[], None]) -> None:
    if rest_client._pool_manager is not None:
        return
    opening()
    rest_client._pool_manager = _Unmoved(rest_client._pool_manager)
    if rest_client._retry_client is not None:
        rest_client._retry_client = _Unmoved(rest_client._retry_client)


def _open(rest_client: Any, connections: int) -> None:
    if rest_client._pool_manager is not None:
        return
    import aiohttp

    connector = aiohttp.TCPConnector(limit=connections, ssl=_default_tls())
    rest_client._pool_manager = aiohttp.ClientSession(connector=connector, trust_env=_says_something_of_requests())


def _says_something_of_requests() -> bool:
    """True when the system names a proxy, or a file of passwords (``.netrc``).

    A session that heeds these asks two threads of a pool before each request, which costs as much as the rest of our
    work on it. As a rule there is neither.
    """
    # Late: whoever opens a session has it loaded.
    from urllib.request import getproxies

    if getproxies() or "NETRC" in os.environ:
        return True
    try:
        return (Path.home() / ("_netrc" if os.name == "nt" else ".netrc")).is_file()
    except (RuntimeError, OSError):  # nobody's home, or a closed one
        return False


@cache
def _default_tls() -> ssl.SSLContext:
    return ssl.create_default_context()
