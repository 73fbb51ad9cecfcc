"""The guard against connections to internal addresses (server-side request forgery, CWE-918).

URLs come from strangers, such as harvested catalogues, but the client runs inside the site's network. The
author of a URL could therefore reach the cloud's metadata service, a database or another machine there.
It is not enough to check the URL, or to resolve its host before the request and refuse internal
addresses:

* The name may resolve to another address when the connection is made (DNS rebinding).
* An allowed URL may redirect to a refused one.
* An address in the URL is never resolved, so a check in the resolver does not see it. It can be written
    in many ways (``2130706433``, ``0177.0.0.1``, ``[::ffff:127.0.0.1]``).
* Some IPv6 addresses contain an IPv4 address to which a gateway connects (NAT64, 6to4, Teredo).

Therefore :meth:`Guard.socket` judges the address where the socket is made: aiohttp calls it for each
connection, with the address that it connects to. In addition, :meth:`Guard.admitted` removes refused
addresses from the results of name lookups. That gives a clear error early, and it is the only possible
check behind a proxy, which makes the connections itself.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from enum import Enum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
AddrInfo = tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int]]
"""One entry of what socket.getaddrinfo returns: family, type, protocol, name, address."""


class Refusal(Enum):
    """A reason to refuse an address. The value is shown to people."""

    UNSPECIFIED = "an unspecified address"
    LOOPBACK = "this machine"
    PRIVATE = "a private network"
    LINK_LOCAL = "the local link"
    CGNAT = "a carrier's inside network"
    METADATA = "a cloud's metadata service"
    MULTICAST = "a multicast address"
    RESERVED = "a reserved address"


class InsideAddress(OSError):
    """A connection that the guard refused. An OSError, because aiohttp wraps no other errors."""

    def __init__(self, address: str, refusal: Refusal) -> None:
        super().__init__(None, f"{address} is {refusal.value}")
        self.address = address
        self.refusal = refusal


# The IANA registries of special-purpose addresses (RFC 6890 and its successors), and the addresses of the
# clouds' metadata services, which give secrets to machines. The first match counts, so narrower networks
# come first. Not ipaddress.is_private, which differs between Python 3.10 and 3.13.
_SPECIAL: tuple[tuple[str, Refusal], ...] = (
    ("169.254.169.254/32", Refusal.METADATA),  # AWS, Azure, Google, OpenStack and others
    ("169.254.170.2/32", Refusal.METADATA),  # AWS, containers
    ("169.254.170.23/32", Refusal.METADATA),  # AWS, Kubernetes
    ("100.100.100.200/32", Refusal.METADATA),  # Alibaba
    ("168.63.129.16/32", Refusal.METADATA),  # Azure: a public address that is only used internally
    ("192.0.0.192/32", Refusal.METADATA),  # Oracle
    ("0.0.0.0/8", Refusal.UNSPECIFIED),
    ("10.0.0.0/8", Refusal.PRIVATE),
    ("100.64.0.0/10", Refusal.CGNAT),
    ("127.0.0.0/8", Refusal.LOOPBACK),
    ("169.254.0.0/16", Refusal.LINK_LOCAL),
    ("172.16.0.0/12", Refusal.PRIVATE),
    ("192.0.0.0/24", Refusal.RESERVED),
    ("192.0.2.0/24", Refusal.RESERVED),
    ("192.88.99.0/24", Refusal.RESERVED),
    ("192.168.0.0/16", Refusal.PRIVATE),
    ("198.18.0.0/15", Refusal.RESERVED),
    ("198.51.100.0/24", Refusal.RESERVED),
    ("203.0.113.0/24", Refusal.RESERVED),
    ("224.0.0.0/4", Refusal.MULTICAST),
    ("240.0.0.0/4", Refusal.RESERVED),
    ("fd00:ec2::254/128", Refusal.METADATA),  # AWS
    ("fd00:ec2::23/128", Refusal.METADATA),  # AWS, Kubernetes
    ("fd20:ce::254/128", Refusal.METADATA),  # Google
    ("::/128", Refusal.UNSPECIFIED),
    ("::1/128", Refusal.LOOPBACK),
    ("64:ff9b:1::/48", Refusal.PRIVATE),  # NAT64 of a local network (RFC 8215)
    ("2001::/23", Refusal.RESERVED),
    ("2001:db8::/32", Refusal.RESERVED),
    ("3fff::/20", Refusal.RESERVED),
    ("fc00::/7", Refusal.PRIVATE),
    ("fe80::/10", Refusal.LINK_LOCAL),
    ("fec0::/10", Refusal.PRIVATE),
    ("ff00::/8", Refusal.MULTICAST),
)

_GLOBAL_IPV6 = IPv6Network("2000::/3")
"""The part of IPv6 that is assigned to the public Internet."""

_MAPPED_OR_TRANSLATED = (
    IPv6Network("::ffff:0:0/96"),  # IPv4-mapped
    IPv6Network("64:ff9b::/96"),  # NAT64 (RFC 6052)
    IPv6Network("::/96"),  # IPv4-compatible
)
"""Prefixes of addresses whose last 32 bits are an IPv4 address."""


class Guard:
    """The rules for addresses.

    :param allow: internal networks to which the site's administrator allows connections, such as
        ``("127.0.0.0/8",)`` for a demo on one machine
    :raises ValueError: a network of ``allow`` is malformed
    """

    def __init__(self, allow: Iterable[str | Network] = ()) -> None:
        self._allow = tuple(ip_network(network) for network in allow)
        self._special = tuple((ip_network(network), refusal) for network, refusal in _SPECIAL)

    def judge(self, address: str | Address) -> Refusal | None:
        """Return why connections to ``address`` are refused; None if they are allowed.

        :raises ValueError: ``address`` is not an IP address
        """
        if isinstance(address, str):
            address = ip_address(address.partition("%")[0])
        if any(address in network for network in self._allow):
            return None
        if isinstance(address, IPv6Address) and (carried := _carried(address)):
            refusals = (self.judge(inner) for inner in carried)
            return next((refusal for refusal in refusals if refusal), None)
        for network, refusal in self._special:
            if address in network:
                return refusal
        if isinstance(address, IPv6Address) and address not in _GLOBAL_IPV6:
            return Refusal.RESERVED
        return None

    def admitted(self, addresses: Iterable[str]) -> list[str]:
        """Return the addresses to which connections are allowed.

        :raises InsideAddress: all addresses are refused
        """
        refused: InsideAddress | None = None
        admitted = []
        for address in addresses:
            if (refusal := self.judge(address)) is None:
                admitted.append(address)
            else:
                refused = refused or InsideAddress(address, refusal)
        if refused is not None and not admitted:
            raise refused
        return admitted

    def socket(self, info: AddrInfo) -> socket.socket:
        """Create the socket for a connection; this is the ``socket_factory`` of aiohttp's connector.

        :raises InsideAddress: the address is refused
        """
        family, kind, protocol, _, where = info
        if (refusal := self.judge(where[0])) is not None:
            raise InsideAddress(where[0], refusal)
        return socket.socket(family=family, type=kind, proto=protocol)


EVERYWHERE = Guard(("0.0.0.0/0", "::/0"))
"""Refuses nothing: for addresses that the operator names, which may be inside of the network."""


def _carried(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """Return the IPv4 addresses to which a gateway or the system connects for an IPv6 address."""
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    # :: and ::1 are not IPv4-compatible addresses.
    if int(address) > 1 and any(address in network for network in _MAPPED_OR_TRANSLATED):
        return (IPv4Address(int(address) & 0xFFFFFFFF),)
    return ()
