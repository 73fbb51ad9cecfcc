"""Name lookups: remembered, shared, and never in each other's way."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Sequence
from time import monotonic

import pytest

from ckanext.freshness.web import names as names_module
from ckanext.freshness.web.errors import Reason
from ckanext.freshness.web.guard import Guard, InsideAddress
from ckanext.freshness.web.names import (
    GuardedResolver,
    NameFault,
    NameLimits,
    Names,
    system_lookup,
)


class Resolver:
    """A resolver with living, dead, failing and silent names, that counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.silence = threading.Event()

    def __call__(self, host: str) -> Sequence[str]:
        """By the first part of the name."""
        self.asked.append(host)
        kind = host.partition(".")[0].rstrip("0123456789")
        if kind == "silent":
            self.silence.wait(20)
        if kind == "failing":
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        if kind == "empty":
            return []
        if kind == "broken":
            raise LookupError("a mistake in a resolver")
        if kind != "living":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return ["8.8.8.8", "2001:4860:4860::8888"]


async def fault(names: Names, host: str) -> NameFault:
    """The fault of a lookup that must fail."""
    with pytest.raises(NameFault) as caught:
        await names.addresses(host)
    return caught.value


def test_a_living_name_is_looked_up_once() -> None:
    async def main() -> None:
        resolver = Resolver()
        names = Names(resolver)
        found = await asyncio.gather(*(names.addresses("living.example") for _ in range(50)))
        assert set(map(tuple, found)) == {("8.8.8.8", "2001:4860:4860::8888")}
        assert await names.addresses("living.example") == found[0]
        assert resolver.asked == ["living.example"]

    asyncio.run(main())


def test_a_living_name_is_believed_for_a_while_only() -> None:
    async def main() -> None:
        resolver = Resolver()
        names = Names(resolver, NameLimits(ttl=0.01))
        await names.addresses("living.example")
        await asyncio.sleep(0.02)
        await names.addresses("living.example")
        assert len(resolver.asked) == 2

    asyncio.run(main())


@pytest.mark.parametrize("host", ["dead.example", "empty.example"])
def test_a_dead_name_is_dead_for_the_run(host: str) -> None:
    async def main() -> None:
        resolver = Resolver()
        names = Names(resolver)
        for _ in range(3):
            assert (await fault(names, host)).reason is Reason.NAME_NOT_FOUND
        assert resolver.asked == [host]

    asyncio.run(main())


def test_a_failing_name_is_tried_again_and_then_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names_module, "_PAUSE", 0.0)

    async def main() -> None:
        resolver = Resolver()
        names = Names(resolver, NameLimits(tries=3))
        for _ in range(5):
            found = await fault(names, "failing.example")
            assert found.reason is Reason.NAME_LOOKUP_FAILED
            assert "Temporary failure" in found.words
        assert len(resolver.asked) == 3

    asyncio.run(main())


def test_all_who_ask_at_once_hear_of_the_same_failure() -> None:
    async def main() -> None:
        resolver = Resolver()
        names = Names(resolver)
        await asyncio.gather(*(fault(names, "failing.example") for _ in range(20)))
        await fault(names, "failing.example")
        assert len(resolver.asked) == 1

    asyncio.run(main())


def test_a_silent_name_is_not_waited_for_any_longer() -> None:
    async def main() -> None:
        resolver = Resolver()
        names = Names(resolver, NameLimits(patience=0.01, timeout=0.05))
        found = await fault(names, "silent.example")
        assert found.reason is Reason.NAME_LOOKUP_FAILED
        assert "within 0.05 s" in found.words
        resolver.silence.set()

    asyncio.run(main())


def test_a_mistake_in_a_resolver_is_no_dead_name(recwarn: pytest.WarningsRecorder) -> None:
    async def main() -> None:
        names = Names(Resolver())
        with pytest.raises(LookupError):
            await names.addresses("broken.example")

    asyncio.run(main())


def test_silent_names_do_not_hold_up_the_living() -> None:
    async def main() -> float:
        resolver = Resolver()
        limits = NameLimits(places=4, patience=0.02, timeout=5, slow=60)
        names = Names(resolver, limits)
        silent = [asyncio.create_task(fault(names, f"silent{n}.example")) for n in range(40)]
        await asyncio.sleep(0)
        begin = monotonic()
        await asyncio.gather(*(names.addresses(f"living{n}.example") for n in range(20)))
        seconds = monotonic() - begin
        resolver.silence.set()
        await asyncio.gather(*silent)
        return seconds

    # 40 silent names before them, 4 at a time: without giving their places on it would be 50 s.
    assert asyncio.run(main()) < 2


def test_there_is_an_end_to_the_threads() -> None:
    async def main() -> int:
        resolver = Resolver()
        names = Names(resolver, NameLimits(places=2, patience=0.01, timeout=0.1, slow=3))
        silent = [asyncio.create_task(fault(names, f"silent{n}.example")) for n in range(10)]
        await asyncio.wait(silent[:5])
        asked = len(resolver.asked)
        resolver.silence.set()
        await asyncio.gather(*silent)
        return asked

    assert asyncio.run(main()) == 5


def test_thousands_of_dead_names_do_not_hold_up_the_living() -> None:
    async def main() -> None:
        names = Names(Resolver())
        dead = [asyncio.create_task(names.addresses(f"dead{n}.example")) for n in range(2_000)]
        await asyncio.sleep(0)
        assert await names.addresses("living.example")
        found = await asyncio.gather(*dead, return_exceptions=True)
        assert all(isinstance(error, NameFault) for error in found)

    begin = monotonic()
    asyncio.run(main())
    assert monotonic() - begin < 5


def test_one_who_gives_up_does_not_take_the_answer_from_the_others() -> None:
    async def main() -> None:
        resolver = Resolver()
        names = Names(resolver)
        first = asyncio.create_task(fault(names, "silent.example"))
        second = asyncio.create_task(fault(names, "silent.example"))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        resolver.silence.set()
        assert (await second).reason is Reason.NAME_NOT_FOUND

    asyncio.run(main())


def test_the_connector_gets_only_what_may_be_connected_to() -> None:
    async def main() -> list[tuple[str, int]]:
        names = Names(lambda host: ["10.0.0.1", "8.8.8.8", "::1", "2606:4700::1111"])
        found = await GuardedResolver(names, Guard()).resolve("h.example", 80)
        return [(entry["host"], entry["family"]) for entry in found]

    assert asyncio.run(main()) == [
        ("8.8.8.8", socket.AF_INET),
        ("2606:4700::1111", socket.AF_INET6),
    ]


def test_a_name_that_leads_inside_is_refused() -> None:
    async def main() -> None:
        await GuardedResolver(Names(lambda host: ["10.0.0.1"]), Guard()).resolve("h.example")

    with pytest.raises(InsideAddress):
        asyncio.run(main())


def test_the_systems_resolver_is_asked() -> None:
    assert "127.0.0.1" in system_lookup("localhost")
    with pytest.raises(socket.gaierror):
        system_lookup("no-such-name.invalid")
