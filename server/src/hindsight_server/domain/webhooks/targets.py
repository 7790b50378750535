"""Where events may be sent.

Whoever registers a webhook has the server open a connection. It must lead to nothing that only this machine or its
network can reach: not to loopback, private networks or the metadata service of a cloud. `read_target` refuses what an
URL says by itself; `Allowed.address` decides about each address that a name stands for, when it is connected to.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NoReturn
from urllib.parse import SplitResult, urlsplit

from hindsight_server.domain.errors import InvalidInput

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_LONGEST_URL = 2048
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")  # RFC 4291: the only part of IPv6 that is given to networks
# Of one protocol or another, or out of use (RFC 6890, RFC 7526); what the standard library says of them changes.
_SPECIAL = (ipaddress.IPv4Network("192.0.0.0/24"), ipaddress.IPv4Network("192.88.99.0/24"))
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # RFC 6052: the IPv4 address is in the last 32 bits
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A URL in parts.

    Args:
        host: a name in lower case without a dot at its end, or an address without brackets.
        path: with its query, as it stands in the request's first line.
    """

    scheme: str
    host: str
    port: int
    path: str = field(repr=False)

    @property
    def secure(self) -> bool:
        return self.scheme == "https"

    @property
    def host_header(self) -> str:
        """What the receiver is asked for."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


class Allowed:
    """What may be connected to although it is not public.

    Args:
        entries: host names, addresses, or networks like ``10.0.0.0/8``. A name lets every address of that name through,
            an address or network lets itself through whatever the name is.

    Raises:
        ValueError: an entry is neither.

    Example:
        >>> Allowed(["10.1.0.0/16"]).address("hooks.example", ipaddress.ip_address("10.1.2.3"))
        True
    """

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self._names: set[str] = set()
        self._networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
        for entry in entries:
            try:
                self._networks.append(ipaddress.ip_network(entry.strip("[]"), strict=False))
            except ValueError:
                name = entry.lower().removesuffix(".")
                if not _is_name(name):
                    raise ValueError(f"{entry!r} is no host name, address or network") from None
                self._names.add(name)

    def address(self, host: str, address: Address) -> bool:
        """Whether `address`, for which the host of a URL stands, may be connected to."""
        if host in self._names or is_public(address):
            return True
        return any(address in network for network in self._networks if network.version == address.version)

    def name(self, host: str) -> bool:
        """Whether a host that is a name may be looked up. Names of this machine may not, unless they are listed."""
        if host in self._names:
            return True
        return bool(self._networks) or (host != "localhost" and not host.endswith(".localhost"))


def is_public(address: Address) -> bool:
    """Whether an address can be reached from anywhere, looking into those of IPv6 that stand for one of IPv4.

    Example:
        >>> is_public(ipaddress.ip_address("::ffff:127.0.0.1"))
        False
    """
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global and not address.is_multicast and not any(address in special for special in _SPECIAL)
    inner = address.ipv4_mapped or address.sixtofour
    if inner is None and address in _NAT64:
        inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if inner is not None:
        return is_public(inner)
    return address in _GLOBAL_UNICAST and address.is_global


def read_target(url: str, allowed: Allowed) -> Target:
    """The parts of a webhook's URL.

    Raises:
        InvalidInput: it can't be sent to, or may not.
    """
    parts = _split(url)
    host = _host(parts)
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        if not _is_name(host):
            _refuse("its host is neither a name nor an address in the usual form, as 203.0.113.7 or [2001:db8::1]")
        if not allowed.name(host):
            _refuse_private()
    else:
        if not allowed.address(host, address):
            _refuse_private()
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(scheme=parts.scheme, host=host, port=_port(parts), path=path)


def _split(url: str) -> SplitResult:
    if len(url) > _LONGEST_URL:
        _refuse(f"it is longer than {_LONGEST_URL} characters")
    if not all("!" <= character <= "~" for character in url) or "\\" in url:
        _refuse(
            "it holds spaces, backslashes or letters outside ASCII: percent-encode them, and give the host as ASCII"
        )
    try:
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname:
            _refuse("it must begin with https:// or http:// and name a host")
    except ValueError:
        _refuse("it is no URL")
    if "@" in parts.netloc:
        _refuse("it must not hold a user name or password: send one as a header (http_config.headers)")
    if parts.fragment:
        _refuse("it must not have a fragment (#...)")
    return parts


def _host(parts: SplitResult) -> str:
    host = (parts.hostname or "").removesuffix(".")
    if "%" in parts.netloc:
        _refuse("its host must be written without percent signs")
    return host


def _port(parts: SplitResult) -> int:
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        _refuse("its port must lie between 1 and 65535")
    return port or _PORTS[parts.scheme]


def _is_name(host: str) -> bool:
    """Whether it is a host name. One whose last label is a number would be read as an address: 2130706433, 0x7f.1."""
    labels = host.split(".")
    return len(host) <= 253 and all(map(_LABEL.fullmatch, labels)) and not _NUMBER.fullmatch(labels[-1])


def _refuse(why: str) -> NoReturn:
    raise InvalidInput(f"url can't be used: {why}.", field="url")


def _refuse_private() -> NoReturn:
    _refuse("its host is not public. The server's operator can allow it with HINDSIGHT_API_WEBHOOK_ALLOWED_HOSTS")
