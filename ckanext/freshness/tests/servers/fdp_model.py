"""What a FAIR Data Point holds: catalogs, datasets and distributions that can be changed at will.

The model knows no address. A record has a path below the server's base; the documents are made by
`fdp_render`. Everything may be called from a test's thread while the server reads: lists and
mappings are replaced, or only appended to.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from urllib.parse import quote, unquote

from ckanext.freshness.tests.servers.turtle import (
    FIELDS,
    Literal,
    Node,
    Value,
    agent,
    blocks,
    each,
    objects,
)

_NAMESPACE = uuid.UUID("6f1c1c0e-5b8e-5d5e-9a53-0d4f3a2b1c00")
_CLOCK_START = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
_CLOCK_STEP = datetime.timedelta(milliseconds=91)

PUBLISHER = agent("Example Institute", "info@example.org")


class Kind(enum.Enum):
    """The levels of a FAIR Data Point; the value is what their paths begin with."""

    ROOT = ""
    CATALOG = "catalog"
    BIOBANK = "biobank"
    """A type that an administrator has put between catalog and dataset."""
    DATASET = "dataset"
    DISTRIBUTION = "distribution"


class State(enum.Enum):
    """How the server answers for a record: its status, and a plain sentence if that is not 200."""

    PUBLISHED = (200, "")
    UNAUTHORIZED = (401, "Authentication is required to view this record")
    DRAFT = (403, "You are not allow to view this record in state DRAFT")
    MISSING = (404, "No metadata found for the uri '{iri}'")
    GONE = (410, "The record '{iri}' is gone")

    def __init__(self, status: int, template: str) -> None:
        self.status = status
        self.template = template

    def sentence(self, iri: str) -> str:
        """The body, which the reference implementation labels text/turtle all the same."""
        return self.template.replace("{iri}", iri)


BREAKAGE = '\n<http://example.org/broken> <http://example.org/p> "no end .\n'
"""What makes a document no Turtle."""


@dataclasses.dataclass(slots=True, eq=False)
class Record:
    """One record. `fields` maps names of `FIELDS` to Turtle; `path` is percent-encoded."""

    kind: Kind
    path: str
    label: str
    fields: Mapping[str, str]
    blocks: Mapping[str, str]
    part_of: Record | None
    issued: str
    touched: str
    children: dict[Kind, list[Record | str]] = dataclasses.field(default_factory=dict)
    state: State = State.PUBLISHED
    broken: bool = False
    named_graph: bool = False
    """Its document is JSON-LD whose statements are in a named graph."""

    def listing(self, kind: Kind) -> Sequence[Record | str]:
        """The records, and bare URLs, that this one lists as its children of that kind."""
        return self.children.get(kind, ())


class FdpModel:
    """The records of one server, and what their authors do to them.

    Ids, times and everything else are the same in each run. `version` grows with each change.
    """

    def __init__(self) -> None:
        self.version = 0
        self._made = 0
        self._ticks = 0
        self._records: dict[str, Record] = {}
        self._by_path: dict[str, Record] = {}
        fields: dict[str, Value] = {
            "title": "My FAIR Data Point",
            "description": "The reference layout, served for tests, demo and benchmarks.",
            "version": Literal("1.0", datatype="xsd:float"),
            "publisher": agent("Publisher", iri="http://example.com/publisher"),
            "language": "http://id.loc.gov/vocabulary/iso639-1/en",
            "license": "http://purl.org/NET/rdflicense/cc-zero1.0",
        }
        self.root = self._new(Kind.ROOT, "", None, fields)
        self._records[key_of("/")] = self.root

    def snapshot(self) -> Callable[[], None]:
        """Return a function that makes all records what they are now."""
        made, by_key, by_path = self._made, dict(self._records), dict(self._by_path)
        records = [(record, _copy(record)) for record in by_path.values()]

        def restore() -> None:
            self._made, self._records, self._by_path = made, dict(by_key), dict(by_path)
            for record, kept in records:
                for name, value in _values(_copy(kept)).items():
                    setattr(record, name, value)
            # It only grows: documents of another version are cached under it.
            self.version += 1

        return restore

    # Looking

    @property
    def catalogs(self) -> list[Record]:
        """The catalogs there are, in the order they were made."""
        return list(self.records(Kind.CATALOG))

    @property
    def datasets(self) -> list[Record]:
        """The datasets there are, drafts and withdrawn ones included."""
        return list(self.records(Kind.DATASET))

    def records(self, kind: Kind) -> Iterator[Record]:
        """All records of a kind, in the order they were made."""
        return (record for record in list(self._by_path.values()) if record.kind is kind)

    def respell(self, record: Record, path: str) -> None:
        """Give a record another path; its old one is gone."""
        self._records = {
            **{key: one for key, one in self._records.items() if one is not record},
            key_of(path): record,
        }
        by_path = {path if one is record else own: one for own, one in self._by_path.items()}
        self._by_path, record.path = by_path, path
        self.version += 1

    def find(self, target: str) -> Record | None:
        """The record at a request target, however it is percent-encoded, and whatever its query."""
        return self._records.get(key_of(target))

    def published(self, parent: Record, kind: Kind) -> list[Record]:
        """The children that everybody may see."""
        return [
            child
            for child in parent.listing(kind)
            if isinstance(child, Record) and child.state is State.PUBLISHED
        ]

    # Making

    def add_catalog(
        self, id: str | None = None, *, parent: Record | None = None, **fields: Value | None
    ) -> Record:
        """A new catalog, of the server or, with `parent`, of another catalog (dcat:catalog)."""
        return self._add(Kind.CATALOG, parent or self.root, id, fields)

    def add_biobank(self, catalog: Record, id: str | None = None, **fields: Value | None) -> Record:
        """A new record of another type between a catalog and its datasets (dct:hasPart)."""
        return self._add(Kind.BIOBANK, catalog, id, fields)

    def add_dataset(
        self,
        catalog: Record,
        id: str | None = None,
        *,
        distributions: int | Sequence[Mapping[str, Value]] = 2,
        draft: bool = False,
        part_of: Record | None = None,
        path: str | None = None,
        **fields: Value | None,
    ) -> Record:
        """A new dataset that the catalog lists.

        `fields` are those of `FIELDS`; `title`, `description`, `version` and `publisher` have
        defaults (None: without). `distributions` are made too: so many plain ones, or one for each
        mapping of fields. `part_of` is what the record itself calls its catalog, where that is
        another. `path` puts it elsewhere than at `/dataset/<id>`.

        Raises TypeError for a field that does not exist.
        """
        dataset = self._add(Kind.DATASET, catalog, id, fields, path)
        dataset.part_of = part_of or catalog
        dataset.state = State.DRAFT if draft else State.PUBLISHED
        if isinstance(distributions, int):
            distributions = [_plain_distribution(n) for n in range(1, distributions + 1)]
        for own in distributions:
            self._add(Kind.DISTRIBUTION, dataset, None, own)
        return dataset

    def add_distribution(
        self, dataset: Record, id: str | None = None, **fields: Value | None
    ) -> Record:
        """A new distribution of a dataset."""
        return self._add(Kind.DISTRIBUTION, dataset, id, fields)

    # What authors and servers do

    def change(self, record: Record, **fields: Value | None) -> None:
        """Give fields another value, or None to take them out."""
        merged, more = _rendered(fields)
        gone = {name for name, value in fields.items() if value is None}
        record.fields = _without({**record.fields, **merged}, gone)
        record.blocks = _without({**_without(record.blocks, set(fields)), **more}, gone)
        record.label = _label(fields, record.label)
        self._touch(record)

    def publish(self, record: Record) -> None:
        """Everybody may see it."""
        self._set_state(record, State.PUBLISHED)

    def withdraw(self, record: Record, status: int = 403) -> None:
        """Still listed, but answered with 403 (as drafts are) or 401."""
        self._set_state(record, {401: State.UNAUTHORIZED, 403: State.DRAFT}[status])

    def vanish(self, record: Record, status: int = 404) -> None:
        """Still listed, but answered with 404 or 410."""
        self._set_state(record, {404: State.MISSING, 410: State.GONE}[status])

    def remove(self, record: Record) -> None:
        """Delete it and what is below it and has not moved: 404, and out of every listing."""
        for kind, children in record.children.items():
            for child in list(children):
                if isinstance(child, Record) and child.part_of is record and child is not record:
                    self.remove(child)
            record.children[kind] = []
        for parent in list(self._by_path.values()):
            self.unlist(record, parent)
        del self._by_path[record.path]
        self._records = {key: kept for key, kept in self._records.items() if kept is not record}

    def move(self, dataset: Record, catalog: Record, *, listing_follows: bool = False) -> None:
        """Another dct:isPartOf; the reference implementation's listings stay as they were."""
        previous = dataset.part_of
        dataset.part_of = catalog
        self._touch(dataset)
        if listing_follows:
            if previous is not None:
                self.unlist(dataset, previous)
            self.list_also(dataset, catalog)

    def list_also(self, record: Record | str, parent: Record, kind: Kind | None = None) -> None:
        """Let a parent list a record, or any URL as one of `kind`, too; itself included."""
        if kind is None:
            if not isinstance(record, Record):
                raise TypeError(f"Say as which kind {record} is to be listed.")
            kind = record.kind
        parent.children.setdefault(kind, []).append(record)
        self._touch(parent)

    def unlist(self, record: Record | str, parent: Record) -> None:
        """Take a record or URL out of a parent's listing; it stays where it is."""
        for kind, children in parent.children.items():
            if record in children:
                parent.children[kind] = [child for child in children if child != record]
                self._touch(parent)

    def break_turtle(self, record: Record) -> None:
        """Make a record's Turtle malformed."""
        record.broken = True
        self._touch(record)

    # Inside

    def _add(
        self,
        kind: Kind,
        parent: Record,
        id: str | None,
        fields: Mapping[str, Value | None],
        path: str | None = None,
    ) -> Record:
        id = id or str(uuid.uuid5(_NAMESPACE, f"{kind.value}/{self._made}"))
        path = path or f"/{kind.value}/{quote(id, safe=';=~')}"
        if key_of(path) in self._records:
            raise ValueError(f"There is a record at {path} already.")
        number = self._made + 1
        defaults: dict[str, Value] = {"title": f"{kind.value.capitalize()} {number}"}
        if kind is not Kind.DISTRIBUTION:
            defaults["description"] = f"What {kind.value} {number} is about."
        fields = {**defaults, "version": "1.0", "publisher": PUBLISHER, **fields}
        record = self._new(kind, path, parent, fields)
        parent.children.setdefault(kind, []).append(record)
        self._touch(parent)
        return record

    def _new(
        self, kind: Kind, path: str, parent: Record | None, fields: Mapping[str, Value | None]
    ) -> Record:
        texts, more = _rendered(fields)
        now = self._tick()
        record = Record(kind, path, _label(fields, path), texts, more, parent, now, now)
        self._made += 1
        self._records[key_of(path)] = record
        self._by_path[path] = record
        return record

    def _set_state(self, record: Record, state: State) -> None:
        record.state = state
        self.version += 1

    def _touch(self, record: Record) -> None:
        """fdp-o:metadataModified moves: on an own edit, or when a child comes or goes."""
        record.touched = self._tick()
        self.version += 1

    def _tick(self) -> str:
        self._ticks += 1
        moment = _CLOCK_START + self._ticks * _CLOCK_STEP
        # Nine digits, as Java writes them.
        return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}{self._ticks % 1000:03d}Z"


def _copy(record: Record) -> Record:
    children = {kind: list(listed) for kind, listed in record.children.items()}
    return dataclasses.replace(record, children=children)


def _values(record: Record) -> dict[str, object]:
    return {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}


def key_of(target: str) -> str:
    """The path of a target, percent-decoded."""
    return unquote(target.partition("?")[0])


def _plain_distribution(number: int) -> dict[str, Value]:
    return {
        "title": f"File {number}",
        "download_url": f"https://example.org/files/{number}.csv",
        "media_type": "text/csv",
        "format": "CSV",
    }


def _rendered(fields: Mapping[str, Value | None]) -> tuple[dict[str, str], dict[str, str]]:
    """Fields as Turtle, and the blocks of the nodes among them."""
    texts: dict[str, str] = {}
    more: dict[str, str] = {}
    for name, value in fields.items():
        if name not in FIELDS:
            raise TypeError(f"No field is called {name!r}; there are: {', '.join(FIELDS)}.")
        if value is None:
            continue
        # Publishers, licences and their like repeat in thousands of records.
        texts[name] = sys.intern(objects(value, FIELDS[name].is_iri))
        if any(isinstance(item, Node) for item in each(value)):
            more[name] = blocks(value)
    return texts, more


def _label(fields: Mapping[str, Value | None], default: str) -> str:
    """The rdfs:label that the server makes of a title: its first value, without a language."""
    title = fields.get("title")
    if title is None:
        return default
    first = each(title)[0]
    return first.value if isinstance(first, Literal) else str(first)


def _without(mapping: Mapping[str, str], names: set[str]) -> dict[str, str]:
    return {name: text for name, text in mapping.items() if name not in names}
