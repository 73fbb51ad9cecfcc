"""What a crawl means for the catalogue: what is new, changed, moved, unchanged, and what may be deleted.

This is the one place that holds the rule *an error is never an absence*. It is pure: it asks neither
the network nor the database, and ``now`` is an argument.

The rule in short. A record is gone when all containers (root, catalogs, pages) were read whole and none
lists it, or when its own URL answers 404/410. A container that could not be read protects the records
of its catalog, and every other record whose own URL does not answer 404/410. A record that fails
protects itself and nothing else. On top of that a brake (:class:`HeldBrake`) holds deletions that look
like an accident until an editor releases exactly these.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..dates import utc_words
from .brake import BrakeScope
from .url_spelling import loose_spelling

WITHDRAWN_AFTER = timedelta(hours=24)
"""How long apart two jobs must see 401/403 before a listed record counts as withdrawn, and 401, 403,
404 or 410 before a listed distribution does."""


class ReadOutcome(enum.Enum):
    """What became of the attempt to read one record."""

    PRESENT = "present"
    MALFORMED = "malformed"
    """It answered, but not with a record that could be understood."""
    FAILED = "failed"
    """No answer, or one that says nothing of the record (5xx, time-out, too large...)."""
    FORBIDDEN = "forbidden"
    """401 or 403: a draft, a withdrawn record, or a wall in front of everything."""
    GONE = "gone"
    """404 or 410 from the record's own URL."""


class RecordClass(enum.Enum):
    """The class of a record against what is current."""

    NEW = "new"
    CHANGED = "changed"
    MOVED = "moved"
    UNCHANGED = "unchanged"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class LostDistribution:
    """What a job remembers of a distribution that was not read as usual, for the next job."""

    since: datetime | None = None
    """When a job first found it answering 401, 403, 404 or 410 (aware, UTC); None if it never did."""
    listed_as: str | None = None
    """The URL that its dataset names, if its own document calls it otherwise."""
    elsewhere: bool = False
    """Its own dct:isPartOf names the dataset, but only documents of other datasets list it."""
    only_in_pages: bool = False
    """Only the dataset's pages list it: nothing but a whole listing without it removes it."""


@dataclass(frozen=True, slots=True)
class KnownRecord:
    """A current record of the source, as the harvest tables remember it."""

    url: str
    """The record's own URL: its identity."""
    guid: str
    catalog_url: str | None = None
    """The catalog that its guid names; None where the guid came from another harvester."""
    content_hash: str | None = None
    object_id: str | None = None
    package_id: str | None = None
    fingerprint: str | None = None
    forbidden_since: datetime | None = None
    """When a job first found it listed but answering 401/403 (aware, UTC); None when it last answered."""
    subject: str | None = None
    """The record's URL in its own document, where that is another one."""
    recognised: bool = True
    """False for a record of another harvester of which nothing says for sure that ``url`` is its URL:
    that no container lists it says nothing then."""
    organization_id: str | None = None
    """The CKAN organization that it became, instead of a package."""
    distributions: Mapping[str, LostDistribution] = field(default_factory=dict)
    """Its distributions, by URI, of which there is something to remember."""
    in_pages: bool = False
    """A page of its catalog has had it: that the pages leave it out now says something."""

    @property
    def becomes(self) -> str | None:
        """The id of what it became in CKAN: of its package, or of its organization."""
        return self.package_id or self.organization_id

    @property
    def is_catalog(self) -> bool:
        """Whether it is a container of others: a catalog, or a registry's organisation."""
        return self.guid == guid_of(self.url, None)


@dataclass(frozen=True, slots=True)
class SeenRecord:
    """What one crawl found out about one record."""

    url: str
    outcome: ReadOutcome
    listed_in: tuple[str, ...] = ()
    """The containers that list it; empty for a record that was only asked for to learn whether it is gone."""
    part_of: str | None = None
    """The catalog that the record itself names (dct:isPartOf)."""
    content_hash: str | None = None
    left_out: bool = False
    """Its catalogs were also read as pages, whole, and no page has it (drafts, withdrawn records)."""
    is_catalog: bool = False


@dataclass(slots=True)
class _Spellings:
    """The spellings of a collection of URLs that only grows, kept from one look-up to the next."""

    size: int = 0
    urls: dict[str, str] = field(default_factory=dict)

    def find(self, url: str | None, among: Collection[str]) -> str | None:
        """The one of the URLs that is meant by a URL, however that is spelled."""
        if url is None or url in among or not among:
            return url if url in among else None
        if self.size != len(among):
            self.size, self.urls = len(among), {loose_spelling(one): one for one in among}
        return self.urls.get(loose_spelling(url))


@dataclass(slots=True)
class Containers:
    """What a crawl read of the containers of a source."""

    root: str
    """The source's own URL."""
    catalogs: set[str] = field(default_factory=set)
    """Every catalog of this source that was listed, readable or not."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """Container URL to the reason why it could not be read whole."""
    listed: set[str] = field(default_factory=set)
    """Every dataset and catalog that a container lists."""

    def unreadable_as(self, url: str | None) -> str | None:
        """The container that could not be read whole and is meant by a URL, however that is spelled."""
        return self._unreadable_spellings.find(url, self.unreadable)

    def catalog_as(self, url: str) -> str | None:
        """The catalog of this source that is meant by a URL, however that is spelled."""
        return self._catalog_spellings.find(url, self.catalogs)

    _unreadable_spellings: _Spellings = field(
        default_factory=_Spellings, init=False, repr=False, compare=False
    )
    _catalog_spellings: _Spellings = field(
        default_factory=_Spellings, init=False, repr=False, compare=False
    )


@dataclass(frozen=True, slots=True)
class AbsentRecord:
    """What is to become of one current record that the crawl did not find."""

    known: KnownRecord
    delete: bool
    reason: str
    """For people: why it is deleted, or why it is kept."""
    forbidden_since: datetime | None = None
    """To be remembered for the next job."""


@dataclass(frozen=True, slots=True)
class HeldBrake:
    """Deletions that are held until an editor releases exactly these."""

    held: tuple[AbsentRecord, ...]
    current: int
    reason: str
    """For people: why the brake holds."""


@dataclass(frozen=True, slots=True)
class Deletions:
    """The end of a plan: which current records go, which stay though unseen, and whether the brake holds."""

    delete: tuple[AbsentRecord, ...]
    keep: tuple[AbsentRecord, ...]
    brake: HeldBrake | None


def guid_of(url: str, catalog_url: str | None) -> str:
    """The guid of a record: ``catalog=<catalog URL>;dataset=<dataset URL>``, or ``catalog=<URL>`` of a catalog.

    Nobody parses a guid again: both URLs are kept as harvest object extras.
    """
    return f"catalog={url}" if catalog_url is None else f"catalog={catalog_url};dataset={url}"


def catalog_of(seen: SeenRecord, known: KnownRecord | None, containers: Containers) -> str:
    """Which of the catalogs that could claim a dataset it belongs to.

    The record's own dct:isPartOf decides if it names a catalog of this source, listed there or not,
    since real servers' listings do not follow a move. Otherwise a record stays with a catalog that
    could not be read this time, and else goes to the first of its listings in sorted order.

    :raises ValueError: the record is listed nowhere and names no catalog of the source.
    """
    if seen.part_of in containers.catalogs:
        return seen.part_of
    if known and known.catalog_url and known.catalog_url in containers.unreadable:
        return known.catalog_url
    if not seen.listed_in:
        raise ValueError(f"{seen.url} is listed in no catalog and names none of this source")
    return min(seen.listed_in)


def classify(guid: str, content_hash: str | None, known: KnownRecord | None) -> RecordClass:
    """The class of a record that was read, against the current one with the same URL."""
    if known is None:
        return RecordClass.NEW
    if known.guid != guid:
        return RecordClass.MOVED
    return RecordClass.UNCHANGED if known.content_hash == content_hash else RecordClass.CHANGED


def datasets_of(
    part_of: Iterable[str],
    named_by: Iterable[str],
    dataset_of: Callable[[str], str | None],
) -> set[str]:
    """The datasets that a distribution belongs to.

    The distribution's own dct:isPartOf decides if it names a dataset of this source. Otherwise the
    distribution belongs to each dataset whose own dcat:distribution names it. Containers and pages do
    not count: they only say where records can be read.

    :param part_of: what the distribution's dct:isPartOf names.
    :param named_by: the datasets whose dcat:distribution names the distribution.
    :param dataset_of: the dataset of this source that a URL means; None if it means none.
    """
    claimed = {dataset for one in part_of if (dataset := dataset_of(one)) is not None}
    return claimed or set(named_by)


@dataclass(frozen=True, slots=True)
class ResourceFate:
    """What becomes of the resource of a distribution that a job could not read."""

    stays: bool
    since: datetime | None = None
    """To be remembered for the next job, see :class:`LostDistribution`."""


def fate_of_distribution(
    *, listed: bool, outcome: ReadOutcome | None, since: datetime | None, now: datetime
) -> ResourceFate:
    """Decide about the resource of a distribution that was read by an earlier job, but not by this one.

    :param listed: its dataset lists it, or the list could not be read whole.
    :param outcome: of the attempt to read it; None if it was not asked for.
    :param since: what the previous job remembered.
    """
    if not listed:
        return ResourceFate(stays=False)
    if outcome not in (ReadOutcome.FORBIDDEN, ReadOutcome.GONE):
        return ResourceFate(stays=True, since=since)
    first = since or now
    return ResourceFate(stays=now - first < WITHDRAWN_AFTER, since=first)


def must_ask(known: KnownRecord, listed: Collection[str], containers: Containers) -> bool:
    """Whether a record that no container lists must be asked for itself before it may count as gone."""
    return (
        bool(containers.unreadable)
        and known.recognised
        and known.url not in listed
        and containers.root not in containers.unreadable
        and containers.unreadable_as(known.catalog_url) is None
        and containers.unreadable_as(known.url) is None
    )


def deletions(
    known: Iterable[KnownRecord],
    seen: Mapping[str, SeenRecord],
    containers: Containers,
    *,
    now: datetime,
    max_delete_fraction: float = 0.5,
    min_records: int = 10,
    released: Collection[str] = (),
    held: Collection[str] = (),
    catalogs_apart: bool = False,
) -> Deletions:
    """Decide about every current record that the crawl did not read.

    :param seen: by URL, what the crawl found; records that :func:`must_ask` names were asked for.
    :param max_delete_fraction: the share of the current records that one job may delete, 0 to 1.
    :param min_records: from how many current records on that share is looked at.
    :param released: guids that an editor has released; the brake does not hold these, but they stay on
        the list if this job cannot tell whether they are gone.
    :param held: guids that the brake of an earlier job holds; only a release lets them go, however
        many records are current by now.
    :param catalogs_apart: the brake looks at catalogs and at datasets each by itself, and holds the
        deletions of both where one of them looks like an accident.
    """
    current = list(known)
    walls = _walls(current, seen, containers)
    verdicts = [
        verdict
        for record in current
        if (verdict := _verdict(record, seen.get(record.url), containers, walls, now)) is not None
    ]
    delete = tuple(verdict for verdict in verdicts if verdict.delete)
    keep = tuple(verdict for verdict in verdicts if not verdict.delete)
    parts = [
        _part(name, wanted, current, seen, delete, released)
        for name, wanted in (_APART if catalogs_apart else _TOGETHER)
    ]
    brake = _brake(
        [verdict for verdict in delete if verdict.known.guid not in released],
        len(current),
        [alarm for one in parts if (alarm := one.alarm(max_delete_fraction, min_records))],
        held=held,
    )
    if brake:
        stay = {one.known.guid for one in brake.held}
        delete = tuple(verdict for verdict in delete if verdict.known.guid not in stay)
    unread = [
        one
        for one in keep
        if one.known.guid in held or one.known.guid in released
        if not _is_listed(seen.get(one.known.url))
    ]
    return Deletions(delete, keep, _still_held(brake, unread, len(current)))


def _verdict(
    known: KnownRecord,
    seen: SeenRecord | None,
    containers: Containers,
    walls: Collection[str | None],
    now: datetime,
) -> AbsentRecord | None:
    """The verdict on one current record; None for one that was read."""
    if seen is not None and _is_listed(seen) and seen.outcome is ReadOutcome.PRESENT:
        return None
    if not known.recognised and not _is_listed(seen):
        reason = (
            f"kept: another harvester called it {known.guid!r}, which names no record of this source; "
            "whether it is still there cannot be told"
        )
        return AbsentRecord(known, False, reason)
    shield = next(
        (
            found
            for url in (containers.root, known.catalog_url, known.url)
            if (found := containers.unreadable_as(url)) is not None
        ),
        None,
    )
    if shield is not None:
        return AbsentRecord(
            known, False, f"kept: {shield} could not be read", known.forbidden_since
        )
    if seen is not None and seen.outcome is ReadOutcome.GONE:
        return AbsentRecord(known, True, f"{known.url} answers that it is gone (404 or 410)")
    if seen is None or not seen.listed_in:
        if not containers.unreadable:
            return AbsentRecord(known, True, "no longer listed by the source")
        first = next(iter(containers.unreadable))
        return AbsentRecord(
            known,
            False,
            f"kept: not listed any more, but {first} could not be read and may list it",
            known.forbidden_since,
        )
    if seen.outcome is ReadOutcome.FORBIDDEN:
        return _forbidden(known, seen, walls, now)
    return AbsentRecord(known, False, "kept: listed, but could not be read", known.forbidden_since)


def _is_listed(seen: SeenRecord | None) -> bool:
    return seen is not None and bool(seen.listed_in)


def _forbidden(
    known: KnownRecord, seen: SeenRecord, walls: Collection[str | None], now: datetime
) -> AbsentRecord:
    """401/403 from a record that is listed: withdrawn, or a wall in front of everything?"""
    since = known.forbidden_since or now
    if known.catalog_url in walls:
        reason = "kept: more than half of its catalog's records answer 401 or 403"
        return AbsentRecord(known, False, reason, since)
    if seen.left_out and known.in_pages:
        return AbsentRecord(
            known, True, "withdrawn: it answers 401 or 403 and the catalog's pages leave it out"
        )
    if now - since >= WITHDRAWN_AFTER:
        return AbsentRecord(
            known, True, f"withdrawn: it has answered 401 or 403 since {utc_words(since)}"
        )
    reason = "kept: it answers 401 or 403; gone if a job at least 24 hours from now finds the same"
    return AbsentRecord(known, False, reason, since)


def _walls(
    known: Iterable[KnownRecord], seen: Mapping[str, SeenRecord], containers: Containers
) -> set[str | None]:
    """Catalogs of whose records more than half answer 401/403.

    Counted are the records that are ours or can be read now: drafts that never could be read say
    nothing about a wall.
    """
    total: dict[str | None, int] = {}
    forbidden: dict[str | None, int] = {}
    ours = set()
    for record in known:
        ours.add(record.url)
        total[record.catalog_url] = total.get(record.catalog_url, 0) + 1
        found = seen.get(record.url)
        if found is not None and found.outcome is ReadOutcome.FORBIDDEN:
            forbidden[record.catalog_url] = forbidden.get(record.catalog_url, 0) + 1
    if not forbidden:
        return set()
    for url, found in seen.items():
        if url not in ours and found.outcome is ReadOutcome.PRESENT and found.listed_in:
            catalog = catalog_of(found, None, containers)
            total[catalog] = total.get(catalog, 0) + 1
    return {catalog for catalog, count in forbidden.items() if count * 2 > total[catalog]}


def _part(
    name: str,
    catalogs: bool | None,
    current: Iterable[KnownRecord],
    seen: Mapping[str, SeenRecord],
    delete: Iterable[AbsentRecord],
    released: Collection[str],
) -> BrakeScope:
    """
    :param catalogs: only catalogs, only datasets, or (None) all records.
    """
    ours = [one for one in current if catalogs is None or one.is_catalog is catalogs]
    going = [one.known for one in delete if catalogs is None or one.known.is_catalog is catalogs]
    agreed = sum(one.guid in released for one in going)
    # A catalog that is listed is no sign that a source has any datasets left.
    listed = any(one.listed_in for one in seen.values() if one.is_catalog is bool(catalogs))
    return BrakeScope(name, len(ours), len(going) - agreed, agreed, listed)


_TOGETHER: tuple[tuple[str, bool | None], ...] = (("records", None),)
_APART: tuple[tuple[str, bool | None], ...] = (("organisations", True), ("datasets", False))


def _brake(
    doomed: list[AbsentRecord], current: int, alarms: list[str], *, held: Collection[str]
) -> HeldBrake | None:
    if alarms:
        return HeldBrake(tuple(doomed), current, "; ".join(alarms))
    still_held = tuple(one for one in doomed if one.known.guid in held)
    if not still_held:
        return None
    reason = f"{len(still_held)} of {current} records are held since an earlier job"
    return HeldBrake(still_held, current, reason)


def _still_held(
    brake: HeldBrake | None, unread: list[AbsentRecord], current: int
) -> HeldBrake | None:
    """Add the records that an earlier job held and of which this one cannot tell whether they are gone.

    They stay held, or released: a release is used up when it is applied.
    """
    if brake is not None:
        return HeldBrake(_sorted(*brake.held, *unread), current, brake.reason)
    if not unread:
        return None
    reason = (
        f"{len(unread)} of {current} records are held since an earlier job, "
        "and could not be read this time"
    )
    return HeldBrake(_sorted(*unread), current, reason)


def _sorted(*held: AbsentRecord) -> tuple[AbsentRecord, ...]:
    return tuple(sorted(held, key=lambda one: one.known.url))
