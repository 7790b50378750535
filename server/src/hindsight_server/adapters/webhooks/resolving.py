"""The addresses of a name."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from hindsight_server.domain.errors import DeliveryFailed
from hindsight_server.domain.webhooks.targets import Address

_THREADS = 32  # as many as there are attempts at a time


class Resolver(Protocol):
    async def addresses(self, host: str) -> list[Address]:
        """All addresses of a name, the preferred one first. Raises DeliveryFailed when there is none."""
        ...

    async def looked_up(self, host: str) -> None:
        """Wait until nobody looks the name up any more."""
        ...

    def close(self) -> None: ...


class SystemResolver:
    """Asks the system, on threads of its own: a name server that does not answer holds up nothing else.

    A question to the system can't be taken back. A name that is looked up is not asked for once more beside it, so that
    one name which hangs holds one thread, however many attempts it has.
    """

    def __init__(self) -> None:
        self._looking: dict[str, asyncio.Future[list[str]]] = {}
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="hindsight-webhook-names")

    async def addresses(self, host: str) -> list[Address]:
        looking = self._looking.get(host)
        if looking is None:
            looking = asyncio.get_running_loop().run_in_executor(self._threads, _look_up, host)
            self._looking[host] = looking
            looking.add_done_callback(lambda _: self._looking.pop(host, None))
        try:
            found = await asyncio.shield(looking)
        except (OSError, UnicodeError):
            raise DeliveryFailed("the name of the host could not be looked up") from None
        return [ipaddress.ip_address(text) for text in dict.fromkeys(found)]

    async def looked_up(self, host: str) -> None:
        looking = self._looking.get(host)
        if looking is not None:
            await asyncio.wait([looking])

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _look_up(host: str) -> list[str]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    # An address with a zone (fe80::1%eth0) is link-local: without it, it is still refused.
    return [str(address[0]).partition("%")[0] for *_, address in found]
