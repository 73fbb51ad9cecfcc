"""The refused addresses in every spelling, and the check at the socket."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.web.address_guard import Guard, InsideAddress, Refusal

REFUSED = [
    ("127.0.0.1", Refusal.LOOPBACK),
    ("::1", Refusal.LOOPBACK),
    ("0.0.0.0", Refusal.UNSPECIFIED),
    ("::", Refusal.UNSPECIFIED),
    ("10.0.0.1", Refusal.PRIVATE),
    ("172.16.0.1", Refusal.PRIVATE),
    ("192.168.1.1", Refusal.PRIVATE),
    ("fc00::1", Refusal.PRIVATE),
    ("fec0::1", Refusal.PRIVATE),
    ("100.64.0.1", Refusal.CGNAT),
    ("169.254.1.1", Refusal.LINK_LOCAL),
    ("fe80::1", Refusal.LINK_LOCAL),
    ("fe80::1%eth0", Refusal.LINK_LOCAL),
    ("169.254.169.254", Refusal.METADATA),
    ("100.100.100.200", Refusal.METADATA),
    ("168.63.129.16", Refusal.METADATA),
    ("192.0.0.192", Refusal.METADATA),
    ("fd00:ec2::254", Refusal.METADATA),
    ("224.0.0.1", Refusal.MULTICAST),
    ("192.0.0.1", Refusal.RESERVED),
    ("192.88.99.1", Refusal.RESERVED),
    ("198.18.0.1", Refusal.RESERVED),
    ("240.0.0.1", Refusal.RESERVED),
    ("100::1", Refusal.RESERVED),
    ("2001:db8::1", Refusal.RESERVED),
    ("4000::1", Refusal.RESERVED),
    # IPv6 that carries IPv4
    ("::ffff:127.0.0.1", Refusal.LOOPBACK),
    ("::ffff:10.0.0.1", Refusal.PRIVATE),
    ("::ffff:a9fe:a9fe", Refusal.METADATA),
    ("::10.0.0.1", Refusal.PRIVATE),
    ("::127.0.0.1", Refusal.LOOPBACK),
    ("2002:7f00:1::", Refusal.LOOPBACK),
    ("64:ff9b::a00:1", Refusal.PRIVATE),
    ("64:ff9b::169.254.169.254", Refusal.METADATA),
    ("64:ff9b:1::a00:1", Refusal.PRIVATE),
    ("64:ff9b:1::8.8.8.8", Refusal.PRIVATE),
    ("2001:0:a00:1::", Refusal.PRIVATE),  # Teredo, the server
    ("2001:0:808:808:0:0:f5ff:fffe", Refusal.PRIVATE),  # Teredo, the client
    ("::ffff:0:127.0.0.1", Refusal.RESERVED),  # IPv4-translated
]

ADMITTED = [
    "8.8.8.8",
    "172.15.255.255",
    "172.32.0.1",
    "100.128.0.1",
    "192.31.196.1",
    "2606:4700:4700::1111",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2002:808:808::1",
    "2001:0:808:808:0:0:f7f7:f7f7",
]


@pytest.mark.parametrize(("address", "refusal"), REFUSED)
def test_refused(address: str, refusal: Refusal) -> None:
    assert Guard().judge(address) is refusal


@pytest.mark.parametrize("address", ADMITTED)
def test_admitted(address: str) -> None:
    assert Guard().judge(address) is None


@given(st.ip_addresses())
def test_what_ipaddress_does_not_call_global_is_never_admitted(
    address: IPv4Address | IPv6Address,
) -> None:
    # The standard library's tables are older or newer than ours, but never wider.
    if not address.is_global:
        assert Guard().judge(address) is not None or _carries_global(address)


def _carries_global(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv4Address):
        return False
    if address.sixtofour is not None:
        return address.sixtofour.is_global
    if address.teredo is not None:
        return all(inner.is_global for inner in address.teredo)
    return IPv4Address(int(address) & 0xFFFFFFFF).is_global


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_judged_the_same_in_every_ipv6_disguise(address: IPv4Address) -> None:
    guard, number = Guard(), int(address)
    for disguise in (
        (0xFFFF << 32) + number,
        (0x64FF9B << 96) + number,
        (0x2002 << 112) + (number << 80),
    ):
        assert guard.judge(IPv6Address(disguise)) is guard.judge(address)


ALLOWED = [
    (["127.0.0.0/8"], "127.0.0.1", None),
    (["127.0.0.0/8"], "::ffff:127.0.0.1", None),
    (["127.0.0.0/8"], "10.0.0.1", Refusal.PRIVATE),
    (["127.0.0.0/8"], "::1", Refusal.LOOPBACK),
    (["10.1.0.0/16"], "10.1.2.3", None),
    (["10.1.0.0/16"], "10.2.2.3", Refusal.PRIVATE),
    (["fd00::/8"], "fd00:ec2::254", None),
    (["64:ff9b:1::/48"], "64:ff9b:1::a00:1", None),
    ([ip_network("192.168.0.0/24")], "192.168.0.9", None),
]


@pytest.mark.parametrize(("allow", "address", "refusal"), ALLOWED)
def test_a_site_can_allow_networks(allow: list[str], address: str, refusal: Refusal | None) -> None:
    assert Guard(allow).judge(address) is refusal


def test_admitted_raises_if_none_is_left() -> None:
    with pytest.raises(InsideAddress, match=r"10\.0\.0\.1 is a private network"):
        Guard().admitted(["10.0.0.1", "127.0.0.1"])


@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254"])
def test_no_socket_is_made_for_an_inside_address(address: str) -> None:
    info = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, 80))
    with pytest.raises(InsideAddress):
        Guard().socket(info)


def test_every_refusal_is_in_the_table() -> None:
    assert {refusal for _, refusal in REFUSED} == set(Refusal)
    assert not any(ip_address(address).is_loopback for address in ADMITTED)
