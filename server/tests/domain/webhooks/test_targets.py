"""Where webhooks may lead: forms of addresses that are not public, and what the operator lets through."""

from __future__ import annotations

import ipaddress

import pytest

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.domain.webhooks.targets import Allowed, is_public, read_target

pytestmark = pytest.mark.feature("O7")

NOBODY = Allowed()


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.9.8.7", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
        *(
            "169.254.169.254",
            "100.64.0.1",
            "192.0.0.9",
            "192.88.99.1",
            "192.0.2.1",
            "198.18.0.1",
            "203.0.113.9",
            "224.0.0.1",
        ),
        *("240.0.0.1", "255.255.255.255"),
        *("[::1]", "[::]", "[fe80::1]", "[fc00::1]", "[fd12:3456::1]", "[fec0::1]", "[ff02::1]", "[2001:db8::1]"),
        *("[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]"),
        *("[64:ff9b:1::1]", "[2002:7f00:1::]", "[2002:a9fe:a9fe::1]", "[2001:0:7f00:1::]", "[::ffff:0:127.0.0.1]"),
        # Names of this machine.
        *("localhost", "LOCALHOST", "localhost.", "api.localhost"),
        # Numbers that system calls take for an address: decimal, octal, hexadecimal, short.
        *("2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "127.1", "127.0.1", "0", "1.2.3.4.5"),
        *("0x7f.0x0.0x0.0x1", "127.0.0.1.", "00000.0.0.1", "10.0.0.08"),
        # Hidden ones.
        *(
            "127%2e0%2e0%2e1",
            "[fe80::1%25eth0]",
            "１２７.0.0.1",
            "127。0。0。1",
            "\\127.0.0.1",
            "hooks.example\\@x",
            "",
        ),
        *("a..b", "-a.example", "a b", "hooks.example\t", "x" * 64 + ".example", "*.example", "[127.0.0.1]", "[::1"),
    ],
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_hosts_that_are_not_public_or_hide_what_they_are_are_refused(scheme: str, host: str) -> None:
    with pytest.raises(InvalidInput, match="url can't be used") as refused:
        read_target(f"{scheme}://{host}:8080/x", NOBODY)
    assert refused.value.field == "url"


@pytest.mark.parametrize(
    "url",
    [
        *("hooks.example/x", "//hooks.example", "ftp://hooks.example", "file:///etc/passwd", "gopher://hooks.example"),
        *("javascript:alert(1)", "https:///x", "https://hooks.example:0/", "https://hooks.example:65536/"),
        *("https://hooks.example:x/", "https://u@hooks.example/", "https://u:p@hooks.example/", "https://h.example/#f"),
        *(
            "https://hooks.example/a b",
            "https://hooks.example/ü",
            "https://hooks.example/\r\nHost: x",
            "ht\ntp://h.example",
        ),
        "https://hooks.example/" + "x" * 2048,
        *("https://hooks.example@127.0.0.1/", "https://127.0.0.1#@hooks.example/", "http:127.0.0.1/"),
    ],
)
def test_what_is_no_plain_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="url can't be used"):
        read_target(url, NOBODY)


@pytest.mark.parametrize(
    ("url", "host", "port", "path", "header"),
    [
        ("https://Hooks.Example", "hooks.example", 443, "/", "hooks.example"),
        ("HTTP://hooks.example.:8080/a/b?c=1&d", "hooks.example", 8080, "/a/b?c=1&d", "hooks.example:8080"),
        ("http://93.184.216.34/", "93.184.216.34", 80, "/", "93.184.216.34"),
        ("https://[2606:2800:220:1::]:443/", "2606:2800:220:1::", 443, "/", "[2606:2800:220:1::]"),
        ("https://[::ffff:93.184.216.34]/", "::ffff:93.184.216.34", 443, "/", "[::ffff:93.184.216.34]"),
        ("https://xn--bcher-kva.example/%C3%BC", "xn--bcher-kva.example", 443, "/%C3%BC", "xn--bcher-kva.example"),
        ("http://intranet/x", "intranet", 80, "/x", "intranet"),
    ],
)
def test_parts_of_a_url(url: str, host: str, port: int, path: str, header: str) -> None:
    target = read_target(url, NOBODY)
    assert (target.host, target.port, target.path, target.host_header) == (host, port, path, header)
    assert target.secure == url.lower().startswith("https")


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "::ffff:8.8.8.8", "2002:808:808::1"])
def test_public_addresses(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


def test_what_the_operator_lists_is_let_through_and_nothing_beside_it() -> None:
    allowed = Allowed(["Hooks.Internal.", "10.1.0.0/16", "127.0.0.1", "[::1]", "localhost"])
    for url in ("http://10.1.2.3/", "http://127.0.0.1:9/", "http://[::1]/", "http://localhost:3000/"):
        read_target(url, allowed)
    for url in ("http://10.2.0.1/", "http://127.0.0.2/", "http://[fe80::1]/"):
        with pytest.raises(InvalidInput, match="HINDSIGHT_API_WEBHOOK_ALLOWED_HOSTS"):
            read_target(url, allowed)
    private, listed = ipaddress.ip_address("192.168.0.9"), ipaddress.ip_address("10.1.9.9")
    assert allowed.address("hooks.internal", private), "a name lets its addresses through"
    assert not allowed.address("hooks.example", private)
    assert allowed.address("hooks.example", listed), "an address lets itself through"
    for entry in ("10.0.0.0/33", "a b", "http://hooks.example", ""):
        with pytest.raises(ValueError, match="no host name"):
            Allowed([entry])
