"""Counts of a run, by HDX's labels.

The label of a resource says how its metadata changed since the previous run, with a prefix if it is not
checked, and the outcome of its check. The label of a dataset says its status and what was updated.
:class:`.decisions.Outcome` has a few outcomes more than HDX's process.

Memory grows with the number of datasets and of checked hosts, not with the number of resources.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum, Flag, auto
from typing import Any, NamedTuple

from ..aging.frequency import AS_NEEDED, LIVE, NEVER
from ..aging.status import Status
from .decisions import Agreement, CheckResult, Outcome, ResourceToCheck
from .selection import Candidate, SelectionReason

HOSTS_KEPT = 500
"""Number of hosts whose figures are stored, the most checked ones. The sum includes all hosts."""

ALL_HOSTS = "*"
"""Key of the sum of all hosts; no host can have this name."""


class ResourcePlace(Enum):
    """The place of a resource's file, as far as it decides whether the URL is checked."""

    EXTERNAL = ""
    INTERNAL = "internal-"
    """On the site itself, or in its file store: its metadata change with the file."""
    AD_HOC = "adhoc-"
    """On a host that makes files on request: it cannot be determined whether they changed."""


class MetadataChange(Enum):
    """A change of the resource's own date since the previous run."""

    FIRST_RUN = "firstrun"
    """No run has seen the resource at this URL."""
    NOTHING = "nothing"
    FILESTORE = "filestore"
    """The date is later."""


class DatasetFact(Flag):
    """What a run has found about a dataset. A Flag, since a run keeps one for each dataset of the catalogue."""

    NOTHING = 0
    NEW = auto()
    """It has a resource that no run has seen before."""
    KNOWN = auto()
    """It has another resource."""
    ERROR = auto()
    """A check ended with an error."""
    RESULT = auto()
    """A check ended with another outcome."""
    LEFT_OUT = auto()
    """Neither the dataset nor its resources are counted."""
    FILESTORE = auto()
    """This date, like the following ones, is later than at the previous run."""
    REVIEW = auto()
    SCRIPT = auto()
    HTTP_HEADER = auto()
    HASH = auto()


_NEWER_LABELS = {
    DatasetFact.FILESTORE: "filestore",
    DatasetFact.REVIEW: "review date",
    DatasetFact.SCRIPT: "script update",
    DatasetFact.HTTP_HEADER: "http header",
    DatasetFact.HASH: "hash",
}
"""In the order in which a label joins them."""

_HAS_RESOURCES = DatasetFact.NEW | DatasetFact.KNOWN

STATUSES = {
    Status.FRESH: "0: Fresh",
    Status.DUE: "1: Due",
    Status.OVERDUE: "2: Overdue",
    Status.DELINQUENT: "3: Delinquent",
    Status.UNAVAILABLE: "Freshness Unavailable",
}
"""HDX's labels of statuses."""

FREQUENCIES = {LIVE: "live", NEVER: "never", AS_NEEDED: "as needed"}
"""The update frequencies that are counted, with their keys in a run's row."""

ERRORS = frozenset({Outcome.ERROR, Outcome.UNCONFIRMED})
"""Outcomes that a dataset's label ``error`` stands for. "Cannot tell" is none: people may get the file."""


_OF_METADATA = {
    MetadataChange.FIRST_RUN: DatasetFact.NEW,
    MetadataChange.NOTHING: DatasetFact.KNOWN,
    MetadataChange.FILESTORE: DatasetFact.KNOWN | DatasetFact.FILESTORE,
}


class _ResourceLabel(NamedTuple):
    """The parts of a resource's label."""

    place: ResourcePlace
    metadata: MetadataChange
    header: bool = False
    outcome: Outcome | None = None

    def __str__(self) -> str:
        parts = [] if self.metadata is not MetadataChange.FILESTORE else [self.metadata.value]
        if self.header and self.outcome is not Outcome.HEADER:
            parts.append(Outcome.HEADER.value)
        if self.outcome is not None:
            parts.append(self.outcome.value)
        return self.place.value + (",".join(parts) or self.metadata.value)


def _label(facts: DatasetFact) -> str:
    if not facts & _HAS_RESOURCES:
        return "no resources"
    parts = [label for date, label in _NEWER_LABELS.items() if date in facts]
    if not parts:
        parts = ["nothing" if DatasetFact.KNOWN in facts else "firstrun"]
    # HDX's rule: an error only if no check had another outcome.
    if DatasetFact.ERROR in facts and DatasetFact.RESULT not in facts:
        parts.append("error")
    return ",".join(parts)


@dataclass(slots=True)
class HostCounts:
    """Figures of the checks of a host. Only checked resources and their datasets count."""

    visits: int = 0
    errors: int = 0
    blocked: int = 0
    """Checks with the outcome "cannot tell"."""
    bytes: int = 0
    seconds: float = 0.0
    """Of the last request of each check."""
    answered: int = 0
    """Resources with a useful answer."""
    etag: int = 0
    """Of these, answers with an ETag."""
    last_modified: int = 0
    """Of these, answers with a Last-Modified."""
    either: int = 0
    """Of these, answers with a Last-Modified or an ETag."""
    agreed: int = 0
    """Files hashed now and before: both the hash and Last-Modified changed, or neither."""
    missed: int = 0
    """Files hashed now and before: only the hash changed."""
    moved: int = 0
    """Files hashed now and before: only Last-Modified changed."""
    put_off: int = 0
    """Resources that were not checked, because the host gave no answer to other checks."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Checks with an error by reason: a status of HTTP, or why there was no answer."""
    packages: dict[str, bool] = field(default_factory=dict)
    """Datasets with a useful answer, and whether one had a Last-Modified or an ETag."""

    def add(self, result: CheckResult) -> None:
        attempt = result.attempt
        self.visits += 1
        self.bytes += attempt.received
        self.seconds += attempt.seconds
        if result.outcome is Outcome.CANNOT_TELL:
            self.blocked += 1
            return
        if result.outcome in ERRORS:
            self.errors += 1
            self.reasons[attempt.reason or str(attempt.status or "")] += 1
            return
        either = result.has_etag or result.has_last_modified
        self.answered += 1
        self.etag += result.has_etag
        self.last_modified += result.has_last_modified
        self.either += either
        package_id = result.resource.package_id
        self.packages[package_id] = self.packages.get(package_id, False) or either
        if result.agreement is not None:
            name = _AGREEMENTS[result.agreement]
            setattr(self, name, getattr(self, name) + 1)

    def merge(self, other: HostCounts) -> None:
        """Add the figures of another process."""
        for name in _NUMBERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.reasons.update(other.reasons)
        for package_id, either in other.packages.items():
            self.packages[package_id] = self.packages.get(package_id, False) or either

    @property
    def is_in_trouble(self) -> bool:
        """Whether checks failed, were put off, or were all refused."""
        return bool(self.errors or self.put_off or 0 < self.visits == self.blocked)

    def as_dict(self) -> dict[str, Any]:
        """Return the figures for a run's row.

        Added are ``datasets``, of these ``datasets_either``, and the most frequent ``reason`` of errors.
        """
        figures: dict[str, Any] = {name: getattr(self, name) for name in _NUMBERS}
        figures["seconds"] = round(self.seconds, 3)
        figures["datasets"] = len(self.packages)
        figures["datasets_either"] = sum(self.packages.values())
        if self.reasons:
            figures["reason"] = min(
                self.reasons, key=lambda reason: (-self.reasons[reason], reason)
            )
        return figures


_AGREEMENTS = {
    Agreement.AGREED: "agreed",
    Agreement.MISSED: "missed",
    Agreement.MOVED: "moved",
}
_NUMBERS = tuple(
    figure.name for figure in fields(HostCounts) if figure.name not in {"packages", "reasons"}
)


_PLACES = {
    SelectionReason.INTERNAL: ResourcePlace.INTERNAL,
    SelectionReason.AD_HOC: ResourcePlace.AD_HOC,
}


def metadata_change(resource: Candidate | ResourceToCheck) -> MetadataChange:
    if resource.is_new:
        return MetadataChange.FIRST_RUN
    return MetadataChange.FILESTORE if resource.is_touched else MetadataChange.NOTHING


class RunCounts:
    """The counts of a run, or of one process's part of it.

    First call :meth:`chosen` once for each resource, then :meth:`checked` for those that were checked, then
    :meth:`dataset` once for each dataset. :meth:`merge` the counts of several processes before the last step; a
    process may check resources that another one counted as chosen.

    :ivar newly_broken: links that counted as broken after their check, but not before
    :ivar repaired: links that counted as broken before their check, but not after
    :ivar reasons: number of resources by the reason why they were chosen
    :ivar longest_days: the longest interval between two checks, in days, if the policy ``learned`` had to
        stretch it; else 0
    """

    def __init__(self) -> None:
        self._resources: Counter[_ResourceLabel] = Counter()
        self._facts: dict[str, DatasetFact] = {}
        self._datasets: Counter[tuple[Status, str]] = Counter()
        self._frequencies: Counter[int] = Counter()
        self._hosts: defaultdict[str, HostCounts] = defaultdict(HostCounts)
        self._all = HostCounts()
        self.newly_broken = 0
        self.repaired = 0
        self.reasons: Counter[str] = Counter()
        self.longest_days = 0

    @property
    def checks(self) -> int:
        """Number of checks."""
        return self._all.visits

    @property
    def errors(self) -> int:
        """Number of checks that ended with an error."""
        return self._all.errors

    @property
    def put_off(self) -> int:
        """Number of resources that were not checked, because their hosts gave no answer to other checks."""
        return self._all.put_off

    def chosen(self, candidate: Candidate, reason: SelectionReason) -> None:
        """Count a resource as not checked."""
        if candidate.requestable:
            self.leave_out(candidate.package_id)
        else:
            place = _PLACES.get(reason, ResourcePlace.EXTERNAL)
            self.seen(candidate.package_id, place, metadata_change(candidate))

    def seen(self, package_id: str, place: ResourcePlace, metadata: MetadataChange) -> None:
        """Count a resource as not checked."""
        self._resources[_ResourceLabel(place, metadata)] += 1
        self._note(package_id, _OF_METADATA[metadata])

    def checked(self, result: CheckResult) -> None:
        """Count a resource as checked that was counted as not checked."""
        if result.put_off:
            self._hosts[result.host].put_off += 1
            self._all.put_off += 1
            return
        metadata = metadata_change(result.resource)
        header = result.modified is not None
        self._resources[_ResourceLabel(ResourcePlace.EXTERNAL, metadata)] -= 1
        self._resources[
            _ResourceLabel(ResourcePlace.EXTERNAL, metadata, header, result.outcome)
        ] += 1
        facts = DatasetFact.ERROR if result.outcome in ERRORS else DatasetFact.RESULT
        if header:
            facts |= DatasetFact.HTTP_HEADER
        if result.outcome is Outcome.CHANGED:
            facts |= DatasetFact.HASH
        self._note(result.resource.package_id, facts)
        self._all.add(result)
        self._hosts[result.host].add(result)

    def updated(self, package_id: str, newer: DatasetFact) -> None:
        """Note dates of a dataset that no check finds: its review, or an update by a script."""
        self._note(package_id, newer)

    def leave_out(self, package_id: str) -> None:
        """Count neither a dataset nor its resources."""
        self._note(package_id, DatasetFact.LEFT_OUT)

    def _note(self, package_id: str, facts: DatasetFact) -> None:
        self._facts[package_id] = self._facts.get(package_id, DatasetFact.NOTHING) | facts

    def dataset(self, package_id: str, status: Status, frequency_days: int | None) -> None:
        """Count a dataset with its status after the run."""
        facts = self._facts.get(package_id, DatasetFact.NOTHING)
        if DatasetFact.LEFT_OUT in facts:
            return
        self._datasets[(status, _label(facts))] += 1
        if facts & _HAS_RESOURCES and frequency_days in FREQUENCIES:
            self._frequencies[frequency_days] += 1

    def merge(self, other: RunCounts) -> None:
        """Add the counts of another process."""
        # Counter's own sum drops negative counts: here, resources that the other process counts as chosen.
        self._resources.update(other._resources)
        self._datasets.update(other._datasets)
        self._frequencies.update(other._frequencies)
        for package_id, facts in other._facts.items():
            self._note(package_id, facts)
        for name, host in other._hosts.items():
            self._hosts[name].merge(host)
        self._all.merge(other._all)
        self.newly_broken += other.newly_broken
        self.repaired += other.repaired
        self.reasons.update(other.reasons)
        self.longest_days = max(self.longest_days, other.longest_days)

    def resources(self) -> dict[str, int]:
        """Return the number of resources by label."""
        labels: Counter[str] = Counter()
        for label, count in self._resources.items():
            labels[str(label)] += count
        return {label: count for label, count in labels.items() if count}

    def datasets(self) -> dict[str, int]:
        """Return the number of datasets by label."""
        return {
            f"{STATUSES[status]}, Updated {label}": count
            for (status, label), count in self._datasets.items()
        }

    def frequencies(self) -> dict[str, int]:
        """Return the number of datasets that are always fresh, by update frequency."""
        return {name: self._frequencies[days] for days, name in FREQUENCIES.items()}

    def hosts(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the figures of the most checked hosts, and the sum of all hosts as :data:`ALL_HOSTS`.

        The sum also has the numbers of ``hosts``, of hosts ``in_trouble``, and of links that are
        ``newly_broken`` or ``repaired``, and the numbers of resources by the reason why they were chosen.
        """
        if not self._hosts:
            return {}
        most = sorted(self._hosts, key=lambda name: (-self._hosts[name].visits, name))[:HOSTS_KEPT]
        of_all = {
            "hosts": len(self._hosts),
            "in_trouble": sum(host.is_in_trouble for host in self._hosts.values()),
            "newly_broken": self.newly_broken,
            "repaired": self.repaired,
            **self.reasons,
            **({"longest_days": self.longest_days} if self.longest_days else {}),
        }
        return {
            ALL_HOSTS: self._all.as_dict() | of_all,
            **{name: self._hosts[name].as_dict() for name in most},
        }
