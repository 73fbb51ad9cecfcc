"""What a run met, counted: flags while it goes on, labels only in the end.

The labels are HDX's. Of a resource: what its metadata did since the run before, with a prefix for
what is not visited, joined by commas with what a visit found. Of a dataset: its status, and what was
updated. Where a check finds what HDX's process does not tell apart, :class:`Outcome` has a label more.

Memory is bound by the number of datasets, and of hosts that were visited; a resource leaves nothing but
a count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum, Flag, auto
from typing import NamedTuple

from ..aging.frequency import ALWAYS_FRESH, AS_NEEDED, LIVE, NEVER
from ..aging.status import Status
from .decisions import Outcome
from .results import Agreement, CheckResult
from .rotation import SelectedResource
from .selection import Candidate, SelectionReason

HOSTS_KEPT = 500
"""Of so many hosts, the most visited ones, a run's numbers are kept one by one; of all in the sum."""

ALL_HOSTS = "*"
"""What the sum of all hosts is called among them; no host can be called so."""


class ResourcePlace(Enum):
    """Where the bytes of a resource are, as far as it decides whether they are looked at."""

    __hash__ = object.__hash__  # as of Evidence

    EXTERNAL = ""
    INTERNAL = "internal-"
    """On the site itself, or in its file store: its metadata moves with the file."""
    AD_HOC = "adhoc-"
    """On a host that makes up its answers: whether they changed cannot be determined."""


class MetadataChange(Enum):
    """What the catalogue's own date of a resource did since the run before."""

    __hash__ = object.__hash__  # as of Evidence

    FIRST_RUN = "firstrun"
    """No run has seen the resource, or not at this URL."""
    NOTHING = "nothing"
    FILESTORE = "filestore"
    """It is newer."""


class NewerDates(Flag):
    """What is newer of a dataset than at the run before."""

    NOTHING = 0
    FILESTORE = auto()
    REVIEW = auto()
    SCRIPT = auto()
    HTTP_HEADER = auto()
    HASH = auto()


_WORDS = {
    NewerDates.FILESTORE: "filestore",
    NewerDates.REVIEW: "review date",
    NewerDates.SCRIPT: "script update",
    NewerDates.HTTP_HEADER: "http header",
    NewerDates.HASH: "hash",
}
"""In the order in which they are joined."""

STATUSES = {
    Status.FRESH: "0: Fresh",
    Status.DUE: "1: Due",
    Status.OVERDUE: "2: Overdue",
    Status.DELINQUENT: "3: Delinquent",
    Status.UNAVAILABLE: "Freshness Unavailable",
}
"""HDX's labels of statuses."""

FREQUENCIES = {LIVE: "live", NEVER: "never", AS_NEEDED: "as needed"}
"""The frequencies that are counted, as a run's row calls them."""

ERRORS = frozenset({Outcome.ERROR, Outcome.UNCONFIRMED})
"""The outcomes that a dataset's ``error`` stands for. "Cannot tell" is none: people may get the bytes."""

_UNSOUND = frozenset({Outcome.ERROR, Outcome.UNCONFIRMED, Outcome.CANNOT_TELL})
"""Outcomes that come without an answer that is worth counting headers of."""


class _Met(NamedTuple):
    """A resource as it is counted."""

    place: ResourcePlace
    metadata: MetadataChange
    header: bool = False
    outcome: Outcome | None = None

    @property
    def label(self) -> str:
        said = [] if self.metadata is not MetadataChange.FILESTORE else [self.metadata.value]
        if self.header and self.outcome is not Outcome.HEADER:
            said.append(Outcome.HEADER.value)
        if self.outcome is not None:
            said.append(self.outcome.value)
        return self.place.value + (",".join(said) or self.metadata.value)


class _Bit:
    """What is remembered of a dataset while a run goes on, beside the values of :class:`NewerDates`.

    Plain numbers: this is done for each resource, and an enum's operators cost microseconds.
    """

    UPDATED = (1 << len(_WORDS)) - 1
    NEW = 1 << 8
    """Has a resource that no run has seen before."""
    KNOWN = 1 << 9
    """Has another one."""
    FAILED = 1 << 10
    """A visit to one ended with an error."""
    TOLD = 1 << 11
    """A visit to one did not."""
    LEFT_OUT = 1 << 12


_FILESTORE, _HTTP_HEADER, _HASH = (
    one.value for one in (NewerDates.FILESTORE, NewerDates.HTTP_HEADER, NewerDates.HASH)
)


_METADATA = {
    MetadataChange.FIRST_RUN: _Bit.NEW,
    MetadataChange.NOTHING: _Bit.KNOWN,
    MetadataChange.FILESTORE: _Bit.KNOWN | _FILESTORE,
}


@dataclass(slots=True)
class HostCounts:
    """What the visits to a host were like. Of the resources and datasets only those that were visited."""

    visits: int = 0
    errors: int = 0
    blocked: int = 0
    """Visits that ended with "cannot tell"."""
    bytes: int = 0
    seconds: float = 0.0
    """Of the last request of each visit."""
    answered: int = 0
    """Resources with an answer to count headers of."""
    etag: int = 0
    """Those of them whose answer had an ETag."""
    last_modified: int = 0
    either: int = 0
    """Those with a Last-Modified or an ETag."""
    agreed: int = 0
    """Of those hashed and hashed before: the hash and Last-Modified both moved, or neither did."""
    missed: int = 0
    """The hash moved, Last-Modified did not."""
    moved: int = 0
    """Last-Modified moved, the hash did not."""
    put_off: int = 0
    """Resources that were not asked for, because a host gave no answer to anybody."""
    packages: dict[str, bool] = field(default_factory=dict)
    """Datasets with an answer to count headers of, and whether one had a Last-Modified or an ETag."""

    def add(self, finding: CheckResult) -> None:
        """Count a visit."""
        attempt = finding.attempt
        self.visits += 1
        self.bytes += attempt.received
        self.seconds += attempt.seconds
        if finding.outcome in _UNSOUND:
            if finding.outcome is Outcome.CANNOT_TELL:
                self.blocked += 1
            else:
                self.errors += 1
            return
        either = finding.has_etag or finding.has_last_modified
        self.answered += 1
        self.etag += finding.has_etag
        self.last_modified += finding.has_last_modified
        self.either += either
        package_id = finding.visit.package_id
        self.packages[package_id] = self.packages.get(package_id, False) or either
        if finding.agreement is not None:
            name = _AGREEMENTS[finding.agreement]
            setattr(self, name, getattr(self, name) + 1)

    def merge(self, other: HostCounts) -> None:
        """Add what another process has counted."""
        for name in _NUMBERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for package_id, either in other.packages.items():
            self.packages[package_id] = self.packages.get(package_id, False) or either

    def as_dict(self) -> dict[str, float]:
        """The numbers, as a run keeps them; ``datasets`` of which ``datasets_either`` have either."""
        plain = {name: getattr(self, name) for name in _NUMBERS}
        plain["seconds"] = round(self.seconds, 3)
        plain["datasets"] = len(self.packages)
        plain["datasets_either"] = sum(self.packages.values())
        return plain


_AGREEMENTS = {
    Agreement.AGREED: "agreed",
    Agreement.MISSED: "missed",
    Agreement.MOVED: "moved",
}
_NUMBERS = tuple(one.name for one in fields(HostCounts) if one.name != "packages")


_PLACES = {
    SelectionReason.INTERNAL: ResourcePlace.INTERNAL,
    SelectionReason.AD_HOC: ResourcePlace.AD_HOC,
}


def metadata_of(row: Candidate | SelectedResource) -> MetadataChange:
    """What the catalogue's own date of a resource did."""
    if row.is_new:
        return MetadataChange.FIRST_RUN
    return MetadataChange.FILESTORE if row.is_touched else MetadataChange.NOTHING


class RunCounts:
    """The counts of one run, or of one process's part of it.

    First every resource, once: :meth:`chosen`. Then those of them that were visited: :meth:`visited`. Then
    every dataset, once: :meth:`dataset`, with the status that it has after the run. Several processes'
    counts, whoever has seen and visited what, are put together with :meth:`merge` before that.
    """

    def __init__(self) -> None:
        self._resources: Counter[_Met] = Counter()
        self._packages: dict[str, int] = {}
        self._datasets: Counter[tuple[Status, str]] = Counter()
        self._frequencies: Counter[int] = Counter()
        self._hosts: dict[str, HostCounts] = {}
        self._all = HostCounts()

    @property
    def visits(self) -> int:
        """How many visits have been counted."""
        return self._all.visits

    @property
    def errors(self) -> int:
        """How many of them ended with an error."""
        return self._all.errors

    @property
    def put_off(self) -> int:
        """How many resources were to be visited and were not asked for: their hosts gave no answer."""
        return self._all.put_off

    def chosen(self, row: Candidate, verdict: SelectionReason) -> None:
        """Count a resource as it is chosen, as one that is not visited."""
        if row.requestable:
            self.leave_out(row.package_id)
        else:
            self.seen(
                row.package_id, _PLACES.get(verdict, ResourcePlace.EXTERNAL), metadata_of(row)
            )

    def seen(self, package_id: str, place: ResourcePlace, metadata: MetadataChange) -> None:
        """Count a resource, as one that is not visited."""
        self._resources[_Met(place, metadata)] += 1
        bits = _METADATA[metadata]
        self._packages[package_id] = self._packages.get(package_id, 0) | bits

    def visited(self, finding: CheckResult, metadata: MetadataChange) -> None:
        """Count a visit to a resource that was seen with this metadata.

        What was handed on to another worker has not been visited yet.
        """
        if finding.handed_to is not None:
            return
        host = self._hosts.get(finding.host)
        if host is None:
            host = self._hosts[finding.host] = HostCounts()
        if finding.put_off:
            host.put_off += 1
            self._all.put_off += 1
            return
        outcome, header = finding.outcome, finding.modified is not None
        self._resources[_Met(ResourcePlace.EXTERNAL, metadata)] -= 1
        self._resources[_Met(ResourcePlace.EXTERNAL, metadata, header, outcome)] += 1
        bits = _Bit.FAILED if outcome in ERRORS else _Bit.TOLD
        bits |= _HTTP_HEADER if header else 0
        bits |= _HASH if outcome is Outcome.CHANGED else 0
        package_id = finding.visit.package_id
        self._packages[package_id] = self._packages.get(package_id, 0) | bits
        self._all.add(finding)
        host.add(finding)

    def updated(self, package_id: str, what: NewerDates) -> None:
        """Note what else is newer of a dataset: its review, or what a script says."""
        self._packages[package_id] = self._packages.get(package_id, 0) | what.value

    def leave_out(self, package_id: str) -> None:
        """Note that a dataset is not looked at at all; neither it nor its resources count."""
        self._packages[package_id] = self._packages.get(package_id, 0) | _Bit.LEFT_OUT

    def dataset(self, package_id: str, status: Status, frequency_days: int | None) -> None:
        """Count a dataset as it is after the run. One of which no resource was counted has none."""
        bits = self._packages.get(package_id, 0)
        if bits & _Bit.LEFT_OUT:
            return
        has_resources = bool(bits & (_Bit.NEW | _Bit.KNOWN))
        self._datasets[(status, _what(bits) if has_resources else "no resources")] += 1
        if has_resources and frequency_days is not None and frequency_days in ALWAYS_FRESH:
            self._frequencies[frequency_days] += 1

    def merge(self, other: RunCounts) -> None:
        """Add what another process has counted of other resources. Its own counts are not to be used
        any more."""
        # One may have visited what another has seen, which Counter's own sum would drop.
        self._resources.update(other._resources)
        self._datasets.update(other._datasets)
        self._frequencies.update(other._frequencies)
        for package_id, bits in other._packages.items():
            self._packages[package_id] = self._packages.get(package_id, 0) | bits
        for name, host in other._hosts.items():
            known = self._hosts.setdefault(name, host)
            if known is not host:
                known.merge(host)
        self._all.merge(other._all)

    def resources(self) -> dict[str, int]:
        """How many resources have which label."""
        labels: Counter[str] = Counter()
        for met, count in self._resources.items():
            labels[met.label] += count
        return {label: count for label, count in labels.items() if count}

    def datasets(self) -> dict[str, int]:
        """How many datasets have which label."""
        return {
            f"{STATUSES[status]}, Updated {what}": count
            for (status, what), count in self._datasets.items()
        }

    def frequencies(self) -> dict[str, int]:
        """How many datasets are always fresh, and why."""
        return {name: self._frequencies[days] for days, name in FREQUENCIES.items()}

    def hosts(self) -> Mapping[str, Mapping[str, float]]:
        """The numbers of the most visited hosts, and the sum of all hosts under :data:`ALL_HOSTS`."""
        if not self._hosts:
            return {}
        most = sorted(self._hosts, key=lambda name: (-self._hosts[name].visits, name))[:HOSTS_KEPT]
        return {
            ALL_HOSTS: self._all.as_dict(),
            **{name: self._hosts[name].as_dict() for name in most},
        }


def _what(bits: int) -> str:
    """What was updated of a dataset with resources."""
    said = [words for one, words in _WORDS.items() if bits & one.value]
    if not said:
        said = ["nothing" if bits & _Bit.KNOWN else "firstrun"]
    # As HDX has it: of what was visited, nothing could be told.
    if bits & _Bit.FAILED and not bits & _Bit.TOLD:
        said.append("error")
    return ",".join(said)
