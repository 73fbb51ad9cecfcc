"""What jobs could have seen of a FAIR Data Point: the evidence of :mod:`..proofs`."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from urllib.parse import unquote

from ckanext.freshness.tests.servers.base import Answered
from ckanext.freshness.tests.servers.faults import Redirect, Reset, Truncate
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind, Record, State

_BELOW = (Kind.CATALOG, Kind.BIOBANK)


def identity(url: str, server: FdpServer) -> str:
    """Return what stays of a record's URL when servers respell it."""
    return unquote(url.removeprefix(server.url)).rstrip("/")


@dataclasses.dataclass(frozen=True)
class Container:
    """A root, catalog or biobank that the source leads to."""

    record: Record
    catalog: str
    """The identity of the nearest catalog above it, or its own."""
    target: str
    """The target of its requests."""
    members: frozenset[str]
    """The identities of the datasets that it lists."""
    is_readable: bool


@dataclasses.dataclass(frozen=True)
class Moment:
    """What a server had at a moment.

    :ivar containers: all containers that its source leads to, by identity
    :ivar readable: the identities of all datasets that answer 200
    """

    containers: Mapping[str, Container]
    readable: frozenset[str]

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
        return cls(containers, frozenset(readable))

    def listing(self, dataset: str) -> list[Container]:
        """Return the readable containers that list a dataset."""
        return [
            one for one in self.containers.values() if one.is_readable and dataset in one.members
        ]

    def is_visible(self, dataset: str) -> bool:
        """Return whether a dataset is listed and can be read."""
        return dataset in self.readable and bool(self.listing(dataset))


def _container(server: FdpServer, record: Record, catalog: str) -> Container:
    return Container(
        record,
        catalog,
        record.path or "/",
        frozenset(
            identity(child if isinstance(child, str) else child.path, server)
            for child in record.listing(Kind.DATASET)
        ),
        record.state is State.PUBLISHED,
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
                self._well.add(target)
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

    def was_read(self, dataset: str) -> bool:
        return self.status(dataset) == 200

    def listed_nowhere(self, dataset: str, known: Collection[str]) -> bool:
        """Return whether no container listed a dataset at some moment, and this job had read all of them whole.

        Containers do not count that came later than the job began. A list of which nothing can be
        read, and nothing is current, proves nothing.

        :param known: the identities of all current records.
        """
        return any(
            not any(dataset in one.members for one in moment.containers.values())
            and all(self._was_read(own, moment, known) for own in moment.containers)
            for moment in self.moments
        )

    def _was_read(self, own: str, moment: Moment, known: Collection[str]) -> bool:
        container = moment.containers[own]
        if own not in self.moments[0].containers:
            return True
        return container.target in self._well and (
            not container.members
            or any(
                self.status(member) in (200, 401, 403) or member in known
                for member in container.members
            )
        )

    def is_listed(self, dataset: str) -> bool:
        """Return whether a container that could be read lists a dataset, at every moment of the job."""
        return all(
            any(one.target in self._well for one in moment.listing(dataset))
            for moment in self.moments
        )

    def is_wall(self, dataset: str, catalogs: Mapping[str, str]) -> bool:
        """Return whether more than half of a dataset's catalog answered 401 or 403, or 404 while listed."""
        catalog = catalogs[dataset]
        neighbours = [one for one, its_catalog in catalogs.items() if its_catalog == catalog]
        refused = [one for one in neighbours if self._may_be_wall(one)]
        return self._may_be_wall(dataset) and len(refused) * 2 > len(neighbours)

    def _may_be_wall(self, dataset: str) -> bool:
        status = self.status(dataset)
        return status in (401, 403) or (status in (404, 410) and self.is_listed(dataset))

    def is_there(self, dataset: str) -> bool:
        return dataset in self.moments[-1].readable

    def is_listed_at_end(self, dataset: str) -> bool:
        return bool(self.moments[-1].listing(dataset))
