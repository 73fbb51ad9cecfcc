"""Proofs that records are gone, made of what a server had and what it answered. Nothing here uses the strategy.

A proof is conservative: a server that answers wrongly proves nothing, even if a crawl cannot know that.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from urllib.parse import unquote

from ckanext.freshness.tests.servers.base import Answered
from ckanext.freshness.tests.servers.faults import Redirect, Reset, Truncate
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind, Record, State
from ckanext.freshness.tests.servers.fdp_paging import Paging

_BELOW = (Kind.CATALOG, Kind.BIOBANK)

WITHDRAWN_AFTER = timedelta(hours=24)
LEFT_OUT_AFTER = timedelta(hours=20)


def identity(url: str, server: FdpServer) -> str:
    """Return what stays of a record's URL when servers respell it."""
    return unquote(url.removeprefix(server.url)).rstrip("/")


@dataclasses.dataclass(frozen=True)
class Container:
    """A root, catalog or biobank that the source leads to."""

    record: Record
    catalog: str
    """The identity of the nearest catalog above it, or its own."""
    targets: frozenset[str]
    """The request targets of all its pages."""
    members: frozenset[str]
    """The identities of the datasets that it lists."""
    is_readable: bool
    has_open_end: bool
    """Its last page is full, and says nothing of being the last one."""


@dataclasses.dataclass(frozen=True)
class Moment:
    """What a server had at a moment.

    :ivar containers: all containers that its source leads to, by identity
    :ivar readable: the identities of all datasets that answer 200
    :ivar is_honest: the totals that it states are right
    """

    containers: Mapping[str, Container]
    readable: frozenset[str]
    is_honest: bool

    @classmethod
    def of(cls, server: FdpServer, source_url: str) -> Moment:
        """Look at a server now."""
        root = server.find(source_url.removeprefix(server.url))
        containers: dict[str, Container] = {}
        pending = [] if root is None else [(root, "")]
        while pending:
            record, above = pending.pop()
            own = identity(record.path, server)
            if own in containers:
                continue
            catalog = own if record.kind is Kind.CATALOG else above
            containers[own] = _container(server, record, catalog)
            if record.state is State.PUBLISHED:
                pending += [
                    (child, catalog)
                    for kind in _BELOW
                    for child in record.listing(kind)
                    if isinstance(child, Record)
                ]
        readable = {
            identity(one.path, server) for one in server.datasets if one.state is State.PUBLISHED
        }
        states_total = server.layout.paging in (Paging.NEXT_PAGE, Paging.VIEW)
        is_honest = not (states_total and server.layout.total_off)
        return cls(containers, frozenset(readable), is_honest)

    def listing(self, dataset: str) -> list[Container]:
        """Return the readable containers that list a dataset."""
        return [
            one for one in self.containers.values() if one.is_readable and dataset in one.members
        ]

    def is_visible(self, dataset: str) -> bool:
        """Return whether a dataset is listed and can be read."""
        return dataset in self.readable and bool(self.listing(dataset))


def _container(server: FdpServer, record: Record, catalog: str) -> Container:
    page = server.renderer.own_page(record, 1)
    is_bare = server.layout.paging is Paging.BARE_LINK
    last = page and server.renderer.own_page(record, page.last)
    pages = range(2, page.last + 1) if page is not None else ()
    path = record.path or "/"
    return Container(
        record,
        catalog,
        frozenset([path, *(f"{path}?page={number}" for number in pages)]),
        frozenset(
            identity(child if isinstance(child, str) else child.path, server)
            for child in record.listing(Kind.DATASET)
        ),
        record.state is State.PUBLISHED,
        bool(
            page and last and is_bare and len(last.children) == len(page.children) and page.last > 1
        ),
    )


@dataclasses.dataclass
class Evidence:
    """What a job could have seen.

    :ivar moments: what the server had at the job's beginning, and after each change since
    :ivar answers: what it answered
    """

    server: FdpServer
    moments: list[Moment]
    answers: list[Answered]

    def __post_init__(self) -> None:
        self._well: set[str] = set()
        """Targets that were answered well."""
        self._statuses: dict[str, int] = {}
        """The last status of each record, by identity."""
        redirected = []
        for one in self.answers:
            target = one.request.target
            status = one.status
            if isinstance(one.fault, Reset | Truncate) and (record := self.server.find(target)):
                status = record.state.status  # of the healthy answer, whose body was cut off
            if status == 200 and (one.fault is None or one.fault.is_honest):
                self._well.add(target.removesuffix("?page=1"))
            elif status == 200:
                continue
            self._statuses[identity(target, self.server)] = status
            if isinstance(one.fault, Redirect) and str(one.fault.to) == (self.server.url or "/"):
                redirected.append(target)
        for target in redirected:
            # The root does not describe the record.
            status = self._statuses.get("", 302)
            self._statuses[identity(target, self.server)] = 302 if status == 200 else status

    def status(self, dataset: str) -> int | None:
        """Return the last answer of a record's own URL; None if it gave none, or a wrong one."""
        return self._statuses.get(dataset)

    def listed_nowhere(self, dataset: str, known: Collection[str]) -> bool:
        """Return whether no container listed a dataset at some moment, and this job had read all of them whole.

        Containers and pages do not count that came later than the job began. A list of which nothing can be
        read, and nothing is current, proves nothing.

        :param known: the identities of all current records.
        """
        return any(
            moment.is_honest
            and not any(dataset in one.members for one in moment.containers.values())
            and all(self._was_read(own, moment, known) for own in moment.containers)
            for moment in self.moments
        )

    def _was_read(self, own: str, moment: Moment, known: Collection[str]) -> bool:
        container, first = moment.containers[own], self.moments[0].containers.get(own)
        if first is None:
            return True
        return container.targets & first.targets <= self._well and (
            not container.members
            or any(
                self.status(member) in (200, 401, 403) or member in known
                for member in container.members
            )
        )

    def is_listed(self, dataset: str) -> bool:
        """Return whether a container that could be read lists a dataset, at every moment of the job."""
        return all(
            any(one.targets <= self._well for one in moment.listing(dataset))
            for moment in self.moments
        )

    def refused(self, datasets: Iterable[str]) -> set[str]:
        """Return those of some datasets whose own URLs answered 401 or 403."""
        return {one for one in datasets if self.status(one) in (401, 403)}


@dataclasses.dataclass
class History:
    """What earlier gathers found, by identity.

    :ivar refused: whether records last answered 401 or 403, or else 404 or 410, and since when
    :ivar left_out: since when lists that were read whole have left records out
    """

    refused: dict[str, tuple[bool, datetime]] = dataclasses.field(default_factory=dict)
    left_out: dict[str, datetime] = dataclasses.field(default_factory=dict)

    def note(self, evidence: Evidence, known: Collection[str], now: datetime) -> None:
        """Note the answers of a complete gather.

        :param known: the identities of all current records.
        """
        for one in known:
            status = evidence.status(one)
            if status in (401, 403, 404, 410):
                is_forbidden = status in (401, 403)
                if one not in self.refused or self.refused[one][0] != is_forbidden:
                    self.refused[one] = is_forbidden, now
            elif status == 200:
                self.refused.pop(one, None)
            if evidence.listed_nowhere(one, known):
                self.left_out.setdefault(one, now)
            elif evidence.is_listed(one):
                self.left_out.pop(one, None)

    def was_refused_long(self, dataset: str, now: datetime) -> bool:
        """Return whether a dataset has been refused for a day."""
        _, since = self.refused.get(dataset, (False, now))
        return now - since >= WITHDRAWN_AFTER

    def was_left_out_long(self, dataset: str, now: datetime) -> bool:
        """Return whether lists have left a dataset out for 20 hours."""
        return now - self.left_out.get(dataset, now) >= LEFT_OUT_AFTER


def proof(
    dataset: str,
    catalog: str,
    evidence: Evidence,
    known: Mapping[str, str],
    history: History,
    now: datetime,
    *,
    is_released: bool,
) -> str | None:
    """Return why a record is gone; None if nothing proves it.

    :param catalog: the identity of the record's catalog before the job.
    :param known: the identity of the catalog of each current or new record, by its own.
    :param is_released: an editor has released its deletion.
    """
    status = evidence.status(dataset)
    if status in (404, 410) and not evidence.is_listed(dataset):
        return f"it answers {status}"
    if status in (404, 410) and history.was_refused_long(dataset, now):
        return f"it has answered {status} for a day"
    is_left_out = evidence.listed_nowhere(dataset, known)
    if is_left_out and is_released:
        return "no container lists it, and an editor released it"
    if status in (401, 403):
        neighbours = [one for one, its_catalog in known.items() if its_catalog == catalog]
        if len(evidence.refused(neighbours)) * 2 > len(neighbours) and not is_released:
            return None
        is_proved = history.was_refused_long(dataset, now)
        return "it has been refused for a day" if is_proved else None
    if is_left_out and status != 200 and history.was_left_out_long(dataset, now):
        return "its URL cannot tell, and no container has listed it for 20 hours"
    return None
