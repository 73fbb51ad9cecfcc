"""Whether name servers answer for a name: asked in packets, of a server that is silent about some."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import monotonic

import pytest

from ckanext.freshness.tests.servers.name_server import NameServer
from ckanext.freshness.web import nameservers
from ckanext.freshness.web.errors import Reason
from ckanext.freshness.web.names import NameFault, NameLimits, Names
from ckanext.freshness.web.nameservers import Address, NameServers, system_servers

WAITS = (0.1, 0.2)


@pytest.fixture
def server() -> Iterator[NameServer]:
    with NameServer(
        silent=lambda name: name.startswith("silent"),
        unknown=lambda name: name.startswith("dead"),
    ) as server:
        yield server


def answered(*hosts: str, by: list[Address], waits: tuple[float, ...] = WAITS) -> list[bool | None]:
    """What is said of several names that are asked for at once."""

    async def main() -> list[bool | None]:
        servers = NameServers(by, waits)
        try:
            return await asyncio.gather(*map(servers.answer_for, hosts))
        finally:
            servers.close()

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("host", "answers"),
    [
        ("living.example", True),
        ("LIVING.example.", True),
        ("xn--mnchen-3ya.example", True),
        ("dead.example", True),
        ("silent.example", False),
        ("a" * 64 + ".example", None),
        (".".join(["a" * 60] * 5), None),
        ("a..example", None),
        ("m\u00fcnchen.example", None),
        ("", None),
    ],
)
def test_names(server: NameServer, host: str, answers: bool | None) -> None:
    assert answered(host, by=[server.address]) == [answers]


def test_a_silent_name_is_asked_for_as_often_as_there_are_waits(server: NameServer) -> None:
    assert answered("silent.example", by=[server.address], waits=(0.05, 0.05, 0.05)) == [False]
    assert server.asked["silent.example"] == 3


def test_a_server_that_answers_nobody_tells_nothing(server: NameServer) -> None:
    server.silent = lambda name: True
    assert answered("living.example", by=[server.address]) == [None]


def test_nobody_at_the_port_tells_nothing() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        nobody = free.getsockname()
    assert answered("living.example", by=[nobody]) == [None]
    assert answered("living.example", by=[]) == [None]
    assert answered("living.example", by=[("no address", 53)]) == [None]


def test_one_of_two_servers_is_enough(server: NameServer) -> None:
    with NameServer(silent=lambda name: True) as other:
        both = [other.address, server.address]
        assert answered("living.example", "silent.example", by=both) == [True, False]


def test_thousands_at_once(server: NameServer) -> None:
    hosts = [f"living{n}.example" for n in range(3000)] + [f"silent{n}.example" for n in range(999)]
    begin = monotonic()
    found = answered(*hosts, by=[server.address], waits=(1.0, 1.0))
    assert monotonic() - begin < 10
    assert found == [True] * 3000 + [False] * 999


@pytest.mark.parametrize(
    "packet",
    [b"", b"\0" * 11, b"\xff" * 12, b"\0" * 12, b"\x12\x34\x81\x80" + b"\0" * 600],
)
def test_packets_that_answer_nothing(packet: bytes) -> None:
    servers = NameServers([])
    servers.heard(packet)


class Echo(asyncio.DatagramProtocol):
    """A name server that replies as it is told to."""

    def __init__(self, reply: Callable[[bytes], bytes]) -> None:
        self.reply = reply

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self.transport = transport

    def datagram_received(self, data: bytes, addr: Address) -> None:
        self.transport.sendto(self.reply(data), addr)


@pytest.mark.parametrize(
    ("reply", "answers"),
    [
        pytest.param(lambda asked: asked[:2] + b"\x81\x80" + asked[4:], True, id="a reply"),
        pytest.param(lambda asked: asked, None, id="a question"),
        pytest.param(
            lambda asked: b"%c%c\x81\x80%s" % (asked[0] ^ 1, asked[1], asked[4:]),
            False,
            id="another number",
        ),
        pytest.param(
            lambda asked: asked[:2] + b"\x81\x80" + asked[4:].replace(b"living", b"loving"),
            False,
            id="another name",
        ),
    ],
)
def test_what_is_a_reply(reply: Callable[[bytes], bytes], answers: bool | None) -> None:
    async def main() -> bool | None:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(
            lambda: Echo(reply), local_addr=("127.0.0.1", 0)
        )
        servers = NameServers([transport.get_extra_info("sockname")], WAITS)
        try:
            return await servers.answer_for("living.example")
        finally:
            servers.close()
            transport.close()

    assert asyncio.run(main()) is answers


def test_there_is_an_end_to_questions(server: NameServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nameservers, "_AT_ONCE", 2)

    async def main() -> list[list[bool | None]]:
        servers = NameServers([server.address], WAITS)
        try:
            return [
                await asyncio.gather(*map(servers.answer_for, ("a.example", "silent", "b.example")))
                for _ in range(2)
            ]
        finally:
            servers.close()

    assert asyncio.run(main()) == [[True, False, None]] * 2


def test_a_name_that_has_not_to_wait_is_not_asked_for_in_advance(server: NameServer) -> None:
    async def main() -> Sequence[str]:
        names = Names(lambda host: ["127.0.0.1"], servers=NameServers([server.address], WAITS))
        try:
            return await names.addresses("living.example")
        finally:
            names.close()

    assert asyncio.run(main()) == ["127.0.0.1"]
    assert not server.asked


def test_the_systems_servers(tmp_path: Path) -> None:
    path = tmp_path / "resolv.conf"
    assert system_servers(path) == []
    path.write_text(
        "# x\nsearch a.example\nnameserver 10.0.0.1\nnameserver\n  nameserver fe80::1%e0 x\n"
    )
    assert system_servers(path) == [("10.0.0.1", 53), ("fe80::1%e0", 53)]
    path.write_text("nameserver 10.0.0.1\n" * 9)
    assert len(system_servers(path)) == 3


def test_names_for_which_nobody_answers_get_no_thread(server: NameServer) -> None:
    """Those that came before there was a queue do; the living behind all others wait for none."""
    looked_up: list[str] = []

    def lookup(host: str) -> list[str]:
        looked_up.append(host)
        return server.lookup(host, timeout=1.0, tries=1)

    async def main() -> float:
        names = Names(
            lookup,
            NameLimits(places=2, slow=4, patience=0.02),
            NameServers([server.address], WAITS),
        )
        hosts = [f"silent{n}.example" for n in range(1000)]
        silent = [asyncio.create_task(names.addresses(host)) for host in hosts]
        await asyncio.sleep(0)
        begin = monotonic()
        found = await asyncio.gather(*(names.addresses(f"living{n}.example") for n in range(20)))
        seconds = monotonic() - begin
        assert found == [["127.0.0.1"]] * 20
        faults = await asyncio.gather(*silent, return_exceptions=True)
        names.close()
        reasons = {fault.reason for fault in faults if isinstance(fault, NameFault)}
        assert reasons == {Reason.NAME_LOOKUP_FAILED}
        assert {"has no name server that answers"} <= {getattr(it, "words", "") for it in faults}
        return seconds

    # A thread for each of them, six at a time, would be three minutes.
    assert asyncio.run(main()) < 10
    assert sum(host.startswith("silent") for host in looked_up) <= 6


@pytest.mark.parametrize("name", ["places", "timeout", "ttl", "tries"])
def test_limits_with_which_no_name_would_be_known(name: str) -> None:
    for value in (0, -1):
        with pytest.raises(ValueError, match=f"{name} must be above 0, not {value}"):
            NameLimits(**{name: value})
