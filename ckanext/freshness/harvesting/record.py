"""Records as plain data: their contents, their identity, and what a crawl and earlier jobs know of them.

A source publishes records (datasets, catalogs, reporting organisations) and lists them in containers
(a root, catalogs, pages). Nothing here asks the network or the database.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any

from ..web.urls import loose_spelling, spelling
from .messages import Message

_MEMBER = re.compile(";data(?:set|series)=")
_UUID_AT_END = re.compile(
    r"https?://\S*[^0-9a-f]([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/?", re.IGNORECASE
)


# Contents


@dataclass(slots=True)
class Record:
    """The contents of a dataset or catalog as its source states them, independent of CKAN.

    Equal contents give equal text and an equal digest, in whatever order they were read.
    """

    fields: dict[str, Any] = field(default_factory=dict)
    """Strings, numbers, booleans, lists of strings and lists of dictionaries. Keys that end in
    ``_translated`` have dictionaries by language; ``""`` is the key of text without a language.
    The maker of the record sorts the lists, because RDF has no order."""
    resources: list[dict[str, Any]] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    """Keywords as the source writes them, not yet legal for CKAN."""
    warnings: list[str] = field(default_factory=list)
    """Messages for the source's editor about values that could not be used."""
    name: str | None = None
    """The short name that the source gives the record. If None, CKAN's name is made of the title."""
    id: str | None = None
    """The id that the record has at its source, a UUID. Its package here gets it, unless another has it."""
    owner: str | None = None
    """The id of the organization that owns the record at its source. If it exists here, it owns the package."""
    groups: list[dict[str, str]] = field(default_factory=list)
    """Groups of the record, with ``id`` and ``name``. One with a ``title``, too, is made if it is missing."""

    def as_json(self) -> str:
        """Return the record as canonical JSON."""
        return _canonical({**self._content(), "warnings": self.warnings})

    @classmethod
    def from_json(cls, text: str | None) -> Record | None:
        """Return the record that :meth:`as_json` wrote; None for any other text, as of another harvester."""
        try:
            data = json.loads(text or "")
        except ValueError:
            return None
        if not isinstance(data, dict) or not data.keys() >= {"fields", "resources", "tags"}:
            return None
        names = {one.name for one in dataclasses.fields(cls)}
        return cls(**{key: value for key, value in data.items() if key in names})

    def digest(self) -> str:
        """Return the SHA-256, in hex, of everything that the package is made of.

        Warnings do not count: they change no package.
        """
        return sha256(_canonical(self._content()).encode("utf-8", "surrogatepass")).hexdigest()

    def _content(self) -> dict[str, Any]:
        content = {"fields": self.fields, "resources": self.resources, "tags": self.tags}
        more = {"name": self.name, "id": self.id, "owner": self.owner, "groups": self.groups}
        return content | {key: value for key, value in more.items() if value}


@dataclass(frozen=True, slots=True)
class LaidOutRecord:
    """A record laid out as a package for ``package_create``."""

    package: dict[str, Any]
    """Without ``id``, ``name`` and ``owner_org``: the caller adds them."""
    warnings: list[str]
    """Messages about values that CKAN would refuse. The record's own warnings are not repeated."""
    filled: frozenset[str] = frozenset()
    """Keys that the source does not state. They never replace an editor's value."""


def resource_order(resource: dict[str, Any]) -> tuple[str, str, str]:
    """Return a sort key: the name, which people see; then the rest, so that the order is total."""
    name = str(resource.get("name", ""))
    return name.casefold(), str(resource.get("uri", "")), json.dumps(resource, sort_keys=True)


def _canonical(data: Any) -> str:
    return json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


# Identity


def guid_of(url: str, catalog_url: str | None) -> str:
    """Return the guid of a dataset in a catalog, or of a catalog.

    The form is ``catalog=<catalog URL>;dataset=<dataset URL>``, or ``catalog=<URL>`` for a catalog.
    Both URLs are also kept as harvest object extras, so that nothing has to parse our guids.
    """
    return f"catalog={url}" if catalog_url is None else f"catalog={catalog_url};dataset={url}"


def urls_in_guid(guid: str) -> tuple[str | None, str]:
    """Return the catalog's URL and the record's URL from a guid that another harvester wrote.

    These forms are understood: ``catalog=<url>;dataset=<url>``, ``dataset=<url>``, ``catalog=<url>``
    and a plain URL, with ``dataseries`` in place of ``dataset`` for a series of datasets. The catalog's
    URL is None if the guid does not name one besides the record.
    """
    if not guid.startswith("catalog="):
        return None, guid.removeprefix("dataset=").removeprefix("dataseries=")
    catalog, *member = _MEMBER.split(guid.removeprefix("catalog="), maxsplit=1)
    return (catalog, member[0]) if member else (None, catalog)


def is_web_url(text: str) -> bool:
    """Return whether a text can be the URL of a record."""
    return text.startswith(("http://", "https://"))


def uuid_at_end(url: str) -> str | None:
    """Return the UUID by which a URL ends, in lower case; None if it ends otherwise."""
    found = _UUID_AT_END.fullmatch(url)
    return found[1].lower() if found else None


def lasting_part(url: str) -> str:
    """Return what stays of a URL when its server moves to another host: the UUID at its end, or its path.

    A text that is not a URL stays as it is.
    """
    if (uuid := uuid_at_end(url)) is not None or not is_web_url(url):
        return uuid or url
    return loose_spelling(url).partition("/")[2]


def spellings(url: str) -> tuple[str, ...]:
    """Return the :func:`spelling` of a URL, and the same with http and https exchanged."""
    plain = spelling(url)
    scheme, separator, rest = plain.partition("://")
    other_scheme = {"http": "https", "https": "http"}.get(scheme)
    if other_scheme is None or not separator:
        return (plain,)
    return plain, f"{other_scheme}{separator}{rest}"


# Records that a crawl met


class ReadOutcome(enum.Enum):
    """The result of the attempt to read one record."""

    PRESENT = "present"
    MALFORMED = "malformed"
    """An answer that holds no record, or none that could be understood."""
    FAILED = "failed"
    """No answer, or an answer that says nothing about the record: a fault of the server, too many bytes."""
    UNAVAILABLE = "unavailable"
    """The host asks for another try later: 429, 503, other answers of proxies in front of it, or a pause."""
    FORBIDDEN = "forbidden"
    """401 or 403: a draft, a withdrawn record, or a server that refuses everything."""
    GONE = "gone"
    """404 or 410 from the record's own URL."""


@dataclass(frozen=True, slots=True)
class SeenRecord:
    """The facts about one record that a crawl found, as far as classes and deletions depend on them."""

    url: str
    outcome: ReadOutcome
    listed_in: tuple[str, ...] = ()
    """The containers that list it. Empty if the crawl asked for an unlisted record, to learn whether
    it is gone."""
    part_of: str | None = None
    """The catalog that the record itself names (``dct:isPartOf``)."""
    content_hash: str | None = None
    is_catalog: bool = False


def is_listed(seen: SeenRecord | None) -> bool:
    """Return whether a crawl found a record in a list."""
    return seen is not None and bool(seen.listed_in)


@dataclass(frozen=True, slots=True)
class CrawledRecord:
    """A record as a crawl met it."""

    seen: SeenRecord
    contents: Record | None = None
    """None if the record could not be read, or if all its bytes have the same hash as last time."""
    subject: str | None = None
    """The URL that the record's own document names, if it differs from the listed URL."""
    error: Message | None = None
    """For people, with the URL: why the record could not be read. None for a draft that was never
    harvested."""
    memory: str | None = None
    """What the source type needs to know of the record in the next job, which gets it as
    :attr:`KnownRecord.memory`. Only the source type reads it."""
    warnings: Sequence[str] = ()
    """For people: parts of a readable record that could not be read."""
    drafts: Sequence[str] = ()
    """URLs of its distributions that are listed and were never readable."""
    may_be_cut: bool = False
    """Its document was not proved to be read whole: what the record has lost may be in the rest."""


# Records that are current


class RefusedAs(enum.Enum):
    """How a URL refuses a record or distribution."""

    FORBIDDEN = "forbidden"
    """401 or 403."""
    WALL = "wall"
    """As more than half of the catalog's records, or of all distributions: it says nothing about this one."""
    GONE = "gone"
    """404 or 410."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """How a URL refuses a record or distribution, and since when it has not answered with it."""

    kind: RefusedAs
    since: datetime
    """When a job first got it, and no other refusal since. A wall continues the refusal before it."""
    first: datetime
    """When a job first got any refusal since the last wall."""

    def __str__(self) -> str:
        return f"{self.kind.value} {self.since.isoformat()} {self.first.isoformat()}"

    @classmethod
    def parse(cls, text: str) -> Refusal:
        """Return the refusal that ``str`` wrote. If there is only one moment, both are the same."""
        kind, *times = text.split()
        moments = [datetime.fromisoformat(one) for one in times]
        return cls(RefusedAs(kind), moments[0], moments[-1])


class Approval(enum.Enum):
    """What the own URL of a record had answered when an editor released its deletion."""

    ANSWERED = "answered"
    """With the record."""
    UNANSWERED = "unanswered"
    """Anything else, or it was not requested. If it answers with the record, the release ends."""


@dataclass(frozen=True, slots=True)
class KnownRecord:
    """A current record of a source, as earlier jobs left it in the harvest tables."""

    url: str
    """The record's own URL: its identity."""
    guid: str
    catalog_url: str | None = None
    """The catalog that its guid names. None if another harvester wrote the guid."""
    content_hash: str | None = None
    """None if the record must be imported again, whatever its contents."""
    object_id: str | None = None
    package_id: str | None = None
    refusal: Refusal | None = None
    """How its own URL has refused it, and since when. None if it last answered."""
    absent_since: datetime | None = None
    """When a job first proved it absent. None if no job did, or if the source has listed it again since."""
    approval: Approval | None = None
    """An editor has released its deletion, and the import that was to delete it has failed."""
    subject: str | None = None
    """The URL that the record's own document names, if it differs from ``url``."""
    foreign: bool = False
    """Another harvester wrote it, and no job of ours has read it yet."""
    recognised: bool = True
    """False for a record of another harvester if nothing confirms that ``url`` is its URL. Its absence
    from all containers then proves nothing."""
    memory: str | None = None
    """The :attr:`CrawledRecord.memory` of the last job that read it."""
    incomplete_since: datetime | None = None
    """When a job first read a version of it that lacks something and may be cut; None if the last did not."""
    is_deleted: bool = False
    """A job has deleted it and its package, which the record has again if it comes back."""

    @property
    def is_catalog(self) -> bool:
        """Whether it contains other records: a catalog, or a registry's organisation."""
        return self.guid == guid_of(self.url, None)


class CurrentRecords:
    """The current records of a source, found by any spelling of their URLs.

    A record's identity is its URL, but servers respell URLs: a last slash comes or goes, escapes change
    their case, http becomes https. Other servers begin to list the URL that the record's own document
    has always named, or move, and the UUID at the end of the URL stays. In all cases it is still the same
    record, and keeps its package.
    """

    def __init__(
        self,
        records: Iterable[KnownRecord],
        adoptable: Callable[[], Iterable[KnownRecord]] = tuple,
        contents_of: Callable[[KnownRecord], Record] = lambda record: Record(),
        own_datasets: Callable[[Collection[str]], Collection[str]] = lambda ids: (),
    ) -> None:
        """
        :param adoptable: returns the records that no active source has now. New ones take over their packages.
        :param contents_of: returns a record as an earlier job read it.
        :param own_datasets: returns which ids are those of datasets that were made here, and not harvested.
        """
        self.contents_of = contents_of
        self.own_datasets = own_datasets
        self._by_url = {record.url: record for record in records}
        self._by_spelling: dict[str, KnownRecord] | None = None
        self._by_uuid: dict[str, KnownRecord | None] = {}
        """None for a UUID that several records have."""
        self._load_adoptable = adoptable
        self._adoptable: CurrentRecords | None = None

    @property
    def adoptable(self) -> CurrentRecords:
        """The records that no active source has now, and whose packages new records take over."""
        if self._adoptable is None:
            self._adoptable = CurrentRecords(self._load_adoptable())
        return self._adoptable

    def __iter__(self) -> Iterator[KnownRecord]:
        return iter(self._by_url.values())

    def __len__(self) -> int:
        return len(self._by_url)

    def at(self, url: str) -> KnownRecord | None:
        """Return the record with exactly this URL."""
        return self._by_url.get(url)

    def of(
        self, url: str, listed: Container[str], subject: str | None = None
    ) -> KnownRecord | None:
        """Return the record that a URL means.

        The record with exactly this URL comes first, then one whose URL is only spelled differently,
        then one whose own document names this URL, then the only one whose URL ends with the same UUID.

        :param listed: all listed URLs. A record listed under its own URL matches no other URL.
        :param subject: another URL, which counts if the first means none.
        """
        exact = self._by_url.get(url)
        if exact is not None or not self._by_url:
            return exact
        if self._by_spelling is None:
            self._by_spelling = self._index()
        found = self._by_spelling.get(loose_spelling(url))
        if found is None and (uuid := uuid_at_end(url)) is not None:
            found = self._by_uuid.get(uuid)
        if found is not None and found.url not in listed:
            return found
        return self.of(subject, listed) if subject is not None else None

    def _index(self) -> dict[str, KnownRecord]:
        """Note the records by UUID, and return them by spelling."""
        for record in self:
            if (uuid := uuid_at_end(record.url)) is not None:
                self._by_uuid[uuid] = None if uuid in self._by_uuid else record
        by_subject = {loose_spelling(record.subject): record for record in self if record.subject}
        return by_subject | {loose_spelling(record.url): record for record in self}

    def resources_of(self, record: KnownRecord, named: Collection[str]) -> list[dict[str, Any]]:
        """Return the resources of a record as an earlier job read them.

        :param named: the URIs of its distributions now. Those that moved with the record are in place of
            their former ones.
        """
        before = self.contents_of(record).resources
        known = {one.get("uri") for one in before}
        moved = {lasting_part(uri): uri for uri in named if uri not in known}
        return [
            {**one, "uri": moved[lasting_part(uri)]}
            if (uri := one.get("uri")) and uri not in named and lasting_part(uri) in moved
            else one
            for one in before
        ]


# Containers


@dataclass(slots=True)
class _Spellings:
    """An index of URLs by spelling. It is made again whenever the collection has grown."""

    size: int = 0
    urls: dict[str, str] = field(default_factory=dict)

    def find(self, url: str | None, among: Collection[str]) -> str | None:
        """Return the URL of a collection that equals another URL in any spelling."""
        if url is None or url in among or not among:
            return url if url in among else None
        if self.size != len(among):
            self.size, self.urls = len(among), {loose_spelling(known): known for known in among}
        return self.urls.get(loose_spelling(url))


@dataclass(frozen=True, slots=True)
class Containers:
    """The containers of a source, as far as a crawl has read them."""

    root: str
    """The source's own URL."""
    catalogs: set[str] = field(default_factory=set)
    """Every catalog of this source that was listed, readable or not."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """URL of each container that could not be read, with the reason. It protects its own records."""
    unproved: dict[str, str] = field(default_factory=dict)
    """URL of each container that was read, but not proved to be read whole, with the reason."""
    without_list: set[str] = field(default_factory=set)
    """URL of each container that was read whole, and has no list of records any more, not even an empty one."""
    elsewhere: set[str] = field(default_factory=set)
    """URL of each catalog that the source names on a host that may not be requested. It did without it while
    nothing was missing, but may have moved records into it since."""
    listed: set[str] = field(default_factory=set)
    """Every dataset and catalog that a container lists."""
    left_out: set[str] = field(default_factory=set)
    """Guids of current records that a document of many records describes no more: it may be cut."""
    has_own_documents: bool = True
    """Each record was read at its own URL, so that 404 or 410 there says that it is gone. If records were read
    from lists, their own URLs may never have led anywhere."""
    controls: list[ReadOutcome] = field(default_factory=list)
    """What the own URLs of some listed records answered when left-out records were asked for."""

    def unreadable_as(self, url: str | None) -> str | None:
        """Return the container, not read completely, that a URL means in any spelling."""
        return self._unreadable_spellings.find(url, self.unreadable)

    def catalog_as(self, url: str) -> str | None:
        """Return the catalog of this source that a URL means in any spelling."""
        return self._catalog_spellings.find(url, self.catalogs)

    _unreadable_spellings: _Spellings = field(
        default_factory=_Spellings, init=False, repr=False, compare=False
    )
    _catalog_spellings: _Spellings = field(
        default_factory=_Spellings, init=False, repr=False, compare=False
    )


@dataclass(slots=True)
class NotHarvested:
    """Members of one kind that a source lists and that become no dataset, such as blank nodes."""

    count: int = 0
    examples: list[str] = field(default_factory=list)
    """URLs of the first of them, or of the containers that list them."""

    def add(self, url: str, count: int = 1) -> None:
        self.count += count
        if len(self.examples) < 3 and url not in self.examples:
            self.examples.append(url)


Sink = Callable[[CrawledRecord, Containers], None]
"""Receives each record, with the containers.

Some source types list records while they read containers, so that containers may be incomplete."""
