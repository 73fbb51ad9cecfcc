"""Nights with links of many kinds, whose truth is known: what the site says of them is compared with it.

``FRESHNESS_LINKS=500 FRESHNESS_NIGHTS=365`` plays a year with 500 links.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from ckan.tests import factories

from ckanext.freshness.checking.selection import IS_BROKEN
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.runs import check_run
from ckanext.freshness.runs.check_run import CheckScope
from ckanext.freshness.tests.runs.stories import DEATH, KINDS, Kind, Visit
from ckanext.freshness.tests.servers.hostile_tls import tls_servers
from ckanext.freshness.tests.servers.raw import RawServer

LINKS = int(os.environ.get("FRESHNESS_LINKS", len(KINDS)))
NIGHTS = int(os.environ.get("FRESHNESS_NIGHTS", 43))
LATE = 12
"""Days after which a link that works again is checked: a week, and some nights if many have died at once."""
START = datetime.now(timezone.utc).replace(microsecond=0)


@dataclass(slots=True)
class Link:
    """A link with its story, and what the site has said so far.

    :ivar begins: the night on which the story begins; before, each night is its first day
    :ivar told: the edition that the site knows, by the modification of the dataset
    """

    number: int
    kind: Kind
    begins: int
    told: int | None = None
    modified: datetime | None = None
    broken_on: int | None = None
    wrong: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"127.{1 + self.number // 250}.0.{1 + self.number % 250}"

    def day(self, night: int) -> int:
        return max(night - self.begins, 0)

    def judge(self, night: int, row: Any) -> None:
        """Compare what the site says after a night with the truth."""
        kind, day = self.kind, self.day(night)
        edition, is_dead = kind.edition(day), kind.is_dead(day)
        is_back = kind.returns is not None and kind.returns <= day < kind.returns + LATE
        if row.broken and not (is_dead or is_back):
            self.wrong.append(f"broken on day {day}")
        if row.broken and self.broken_on is None:
            self.broken_on = day
        if is_dead and day >= DEATH + kind.called_within and not row.broken:
            self.wrong.append(f"works on day {day}")
        if self.told is None and row.succeeded_at is not None:
            self.told = edition
        elif row.last_modified != self.modified and row.evidence in ("hash", "http header"):
            if edition == self.told:
                self.wrong.append(f"fresh on day {day}: {row.evidence}")
            self.told = edition
        self.modified = row.last_modified
        late = day - kind.seen_within
        is_there = not (is_dead or is_back) and self.told is not None
        if is_there and late >= 0 and kind.edition(late) > (self.told or 0):
            self.wrong.append(f"missed on day {day}")
            self.told = edition


class Servers:
    """The servers of all links, which tell their stories."""

    def __init__(self, links: list[Link], self_signed: str) -> None:
        self.night = 0
        self._self_signed = self_signed
        self._links = links
        self._asked: Counter[tuple[int, int]] = Counter()

    def now(self) -> datetime:
        """Return the time of the night."""
        return START + timedelta(days=self.night)

    async def speak(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        line, _, headers = head.partition(b"\r\n")
        path, _, query = line.split()[1].decode().partition("?")
        link = self._links[int(path.strip("/"))]
        asked = self._asked[self.night, link.number]
        self._asked[self.night, link.number] += 1
        day = link.day(self.night)
        visit = Visit(
            *(day, link.kind.edition(day), self.now(), asked, query, headers.lower()),
            self_signed=self._self_signed,
            is_over=link.kind.returns is not None and day >= link.kind.returns,
        )
        writer.write(link.kind.answer(visit))
        await writer.drain()


@pytest.fixture
def links() -> list[Link]:
    """Links of all kinds in turn. If there are several of a kind, their stories begin in different months."""
    begin = max(NIGHTS - 60, 1)
    kinds = (KINDS[number % len(KINDS)] for number in range(LINKS))
    return [
        Link(number, kind, number // len(KINDS) * 29 % begin if kind.waits else 0)
        for number, kind in enumerate(kinds)
    ]


@pytest.fixture
def servers(links: list[Link], tmp_path: Path) -> Iterator[tuple[Servers, dict[int, ExitStack]]]:
    with ExitStack() as stack:
        urls = stack.enter_context(tls_servers("127.0.0.1", tmp_path, "127.0.0.1"))
        servers = Servers(links, urls["self-signed"])
        common = stack.enter_context(RawServer(servers.speak, address="0.0.0.0"))
        own = {
            link.number: RawServer(servers.speak, address=link.address)
            for link in links
            if link.kind.closes
        }
        closing = {number: stack.enter_context(ExitStack()) for number in own}
        for number, server in own.items():
            closing[number].enter_context(server)
        ports = {link.number: own.get(link.number, common).port for link in links}
        for link in links:
            _make(link, f"http://{link.address}:{ports[link.number]}/{link.number}")
        yield servers, closing


def _make(link: Link, url: str) -> None:
    frequency = str(link.kind.every or (7, 30, 365)[link.number % 3])
    factories.Dataset(
        name=f"link-{link.number}",
        extras=[{"key": "frequency", "value": frequency}],
        resources=[{"url": url, "format": link.kind.format}],
    )


@pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index", "impatient_checks")
def test_what_the_site_says_is_true(
    links: list[Link],
    servers: tuple[Servers, dict[int, ExitStack]],
    ckan_config: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(ckan_config, "ckanext.freshness.check.policy", "learned")
    monkeypatch.setitem(ckan_config, "ckanext.freshness.check.checks_per_run", LINKS // 2)
    told, own = servers
    for told.night in range(NIGHTS):
        for number, server in own.items():
            if links[number].day(told.night) == DEATH:
                server.close()
        check_run.check(CheckScope(), told.now)
        model.Session.remove()
        rows = model.Session.execute(sa.text(_SAID)).all()
        for row in rows:
            links[int(row.name.removeprefix("link-"))].judge(told.night, row)
    wrong = {f"{one.kind.name} ({one.number})": one.wrong for one in links if one.wrong}
    if "FRESHNESS_LINKS" in os.environ:
        print(*(f"{one.kind.name}: {one.broken_on}" for one in links if one.kind.dies), sep="\n")
        print(*(f"{name}: {what[:3]}" for name, what in wrong.items()), sep="\n")
    assert wrong == {}


_SAID = f"""
SELECT p.name, ({IS_BROKEN}) AS broken, c.succeeded_at, d.last_modified, d.evidence
FROM freshness_check c JOIN package p ON p.id = c.package_id
JOIN freshness_dataset d ON d.package_id = p.id"""
