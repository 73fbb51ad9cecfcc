"""The documents of a FAIR Data Point, laid out as the reference implementation lays them out.

Rendering joins texts that the model holds already, which takes some microseconds a record, so
nothing is cached and a change is seen at once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from ckanext.freshness.tests.servers import turtle
from ckanext.freshness.tests.servers.fdp_model import BREAKAGE, FdpModel, Kind, Record, State

FDP_O = "https://w3id.org/fdp/fdp-o#"
#: Where the ontology was before; older servers still say so.
OLD_FDP_O = "http://rdf.biosemantics.org/ontologies/fdp-o#"
R3D = "http://www.re3data.org/schema/3-0#"

_RDFS_LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
_SIO_METRIC = "<http://semanticscience.org/resource/SIO_000628>"
_SIO_REFERS = "<http://semanticscience.org/resource/SIO_000332>"
_DATACITE_IDENTIFIER = "<http://purl.org/spar/datacite/Identifier>"
_DEFAULT_LANGUAGE = "<http://id.loc.gov/vocabulary/iso639-1/en>"
_DEFAULT_LICENSE = "<http://purl.org/NET/rdflicense/cc-zero1.0>"
_METRICS = (
    ("445c0a70d1e214e545b261559e2842f4", "https://www.ietf.org/rfc/rfc3986.txt"),
    ("5d27e854a9e78eb3f663331cd47cdc13", "https://www.wikidata.org/wiki/Q8777"),
)


@dataclasses.dataclass(frozen=True, slots=True)
class _Level:
    """What the server says of every record of a kind."""

    types: tuple[str, ...]
    profile: str
    profile_label: str
    container_title: str = ""
    children: tuple[Kind, ...] = ()


_DCAT = turtle.PREFIXES["dcat"]
_LEVELS: Mapping[Kind, _Level] = {
    Kind.ROOT: _Level(
        (),
        "77aaad6a-0136-4c6e-88b9-07ffccd0ee4c",
        "FAIR Data Point Profile",
        children=(Kind.CATALOG,),
    ),
    Kind.CATALOG: _Level(
        ("Resource", "Catalog"),
        "a0949e72-4466-4d53-8900-9436d1049a4b",
        "Catalog Profile",
        "Catalogs",
        (Kind.CATALOG, Kind.BIOBANK, Kind.DATASET),
    ),
    Kind.BIOBANK: _Level(
        ("Resource", "http://purl.org/ejp-rd/vocabulary/Biobank"),
        "45bc6c7f-8d6d-4a4b-8f5e-0a9b5a2f7a51",
        "Biobank Profile",
        "Biobanks",
        (Kind.DATASET,),
    ),
    Kind.DATASET: _Level(
        ("Resource", "Dataset"),
        "2f08228e-1789-40f8-84cd-28e3288c3604",
        "Dataset Profile",
        "Datasets",
        (Kind.DISTRIBUTION,),
    ),
    Kind.DISTRIBUTION: _Level(
        ("Resource", "Distribution"),
        "02c649de-c579-43bb-b470-306abdc808c7",
        "Distribution Profile",
        "Distributions",
    ),
}
_MEMBERSHIP: Mapping[tuple[Kind, Kind], str] = {
    (Kind.CATALOG, Kind.CATALOG): "dcat:catalog",
    (Kind.CATALOG, Kind.BIOBANK): "dcterms:hasPart",
    (Kind.CATALOG, Kind.DATASET): "dcat:dataset",
    (Kind.BIOBANK, Kind.DATASET): "dcat:dataset",
    (Kind.DATASET, Kind.DISTRIBUTION): "dcat:distribution",
}


@dataclasses.dataclass(slots=True)
class Layout:
    """In what real servers differ from each other; the defaults are the reference implementation.

    Attributes:
        containers: documents embed their LDP containers.
        metadata_catalog: the root links to its catalogs itself, not only in its container.
        member_links: so do catalogs and datasets (dcat:dataset, dcat:catalog, dcat:distribution).
        is_part_of: records name their parent.
        ontology: namespace of the FAIR Data Point ontology.
        root_type: its class, `FAIRDataPoint` or `FairDataPoint`, or an IRI.
        catalog_relation: IRI of the root's link to its catalogs, if not the ontology's.
        root_slash: the root calls itself `<B/>`.
    """

    containers: bool = True
    metadata_catalog: bool = True
    member_links: bool = True
    is_part_of: bool = True
    ontology: str = FDP_O
    root_type: str = "FAIRDataPoint"
    catalog_relation: str | None = None
    root_slash: bool = False


class Renderer:
    """Makes the documents of a model for a base URL; `base` and `layout` may be replaced.

    `noise` other than 0 gives the server-made values another look: what a crawler must not take for a change.
    """

    def __init__(self, model: FdpModel, base: str, layout: Layout) -> None:
        self.model = model
        self.base = base
        self.layout = layout

    def iri(self, record: Record) -> str:
        """The subject of a record."""
        slash = "/" if record.kind is Kind.ROOT and self.layout.root_slash else ""
        return f"{self.base}{record.path}{slash}"

    def document(self, record: Record, noise: int = 0) -> str:
        """A record's own document: its triples, its containers, its profile."""
        level = _LEVELS[record.kind]
        profile = f"{self.base}/profile/{level.profile}"
        blocks = self._blocks(record, noise, profile)
        if self.layout.containers:
            blocks += [self._container(record, kind) for kind in self._child_kinds(record)]
        blocks.append(f'\n<{profile}> {_RDFS_LABEL}\n    "{level.profile_label}" .\n')
        return "".join([turtle.HEAD, *blocks, BREAKAGE if record.broken else ""])

    def single_catalogue(self) -> Iterator[str]:
        """All published datasets with their distributions as one dcat:Catalog, without noise.

        What an ordinary DCAT harvester would read of the same content.
        """
        yield turtle.HEAD
        root = self.iri(self.model.root)
        yield f'\n<{root}> a dcat:Catalog; dcterms:title "Everything" .\n'
        for dataset in self.model.records(Kind.DATASET):
            if dataset.state is not State.PUBLISHED:
                continue
            yield f"\n<{root}> dcat:dataset <{self.iri(dataset)}> .\n"
            for record in (dataset, *self.model.published(dataset, Kind.DISTRIBUTION)):
                lines = (*self._own_lines(record), *self._member_lines(record))
                yield f"\n<{self.iri(record)}> a dcat:{_LEVELS[record.kind].types[-1]};\n  "
                yield ";\n  ".join(lines) + " .\n"
                yield "".join(record.blocks.values())

    # Parts

    def _blocks(self, record: Record, noise: int, profile: str | None = None) -> list[str]:
        """A record's triples: its own block, then those of the nodes that it names."""
        subject = self.iri(record)
        lines = [*self._own_lines(record)]
        if record.kind is not Kind.ROOT and "version" in record.fields:
            lines.append(f"dcterms:hasVersion {record.fields['version']}")
        lines += self._server_lines(record, subject, noise)
        if record.kind is Kind.CATALOG:
            lines.append(f'dcterms:issued "{record.issued}"^^xsd:dateTime')
            lines.append(f'dcterms:modified "{record.issued}"^^xsd:dateTime')
        lines += self._member_lines(record)
        touched = f"2030-01-01T00:00:00.{noise:06d}000Z" if noise else record.touched
        ontology = self.layout.ontology
        lines.append(f'<{ontology}metadataModified> "{touched}"^^xsd:dateTime')
        if profile is not None:
            lines.append(f"dcterms:conformsTo <{profile}>")
        if record.kind is Kind.ROOT:
            lines.append(f'<{ontology}fdpSoftwareVersion> "FDP:v2.0.0-alpha.3~c153fc8"')
            lines.append(f"dcat:endpointURL <{subject}>")
        blocks = [*record.blocks.values(), *self._server_blocks(record, subject, noise)]
        types = ", ".join(f"<{iri}>" for iri in self._types(record))
        return [f"\n<{subject}> a {types};\n  " + ";\n  ".join(lines) + " .\n", *blocks]

    def _own_lines(self, record: Record) -> Iterator[str]:
        """What the author says, and the server's defaults for what the author left out."""
        fields = record.fields
        for name, text in fields.items():
            yield f"{turtle.FIELDS[name].predicate} {text}"
        if "language" not in fields:
            yield f"dcterms:language {_DEFAULT_LANGUAGE}"
        if "license" not in fields:
            yield f"dcterms:license {_DEFAULT_LICENSE}"

    def _server_lines(self, record: Record, subject: str, noise: int) -> Iterator[str]:
        if record.part_of is not None and self.layout.is_part_of:
            yield f"dcterms:isPartOf <{self.iri(record.part_of)}>"
        yield f"<{self.layout.ontology}metadataIdentifier> <{subject}#identifier>"
        yield f"{_RDFS_LABEL} {turtle.term(record.label)}"
        if "access_rights" not in record.fields:
            yield f"dcterms:accessRights <{subject}#accessRights>"
        metrics = ", ".join(f"<{iri}>" for iri, _ in _metrics(subject, noise))
        yield f"{_SIO_METRIC} {metrics}"
        yield f'<{self.layout.ontology}metadataIssued> "{record.issued}"^^xsd:dateTime'

    def _server_blocks(self, record: Record, subject: str, noise: int) -> Iterator[str]:
        yield (
            f"\n<{subject}#identifier> a {_DATACITE_IDENTIFIER};\n"
            f'  dcterms:identifier "{subject}" .\n'
        )
        if "access_rights" not in record.fields:
            yield (
                f"\n<{subject}#accessRights> a dcterms:RightsStatement;\n"
                '  dcterms:description "This resource has no access restriction" .\n'
            )
        for iri, about in _metrics(subject, noise):
            yield f"\n<{iri}> {_SIO_REFERS}\n    <{about}>;\n  {_SIO_METRIC} <{about}> .\n"

    def _member_lines(self, record: Record) -> Iterator[str]:
        layout = self.layout
        wanted = layout.metadata_catalog if record.kind is Kind.ROOT else layout.member_links
        for kind in _LEVELS[record.kind].children if wanted else ():
            if listed := self._listed(record, kind):
                yield f"{self._relation(record.kind, kind)} {listed}"

    def _container(self, record: Record, kind: Kind) -> str:
        listed = self._listed(record, kind)
        contains = f";\n  ldp:contains {listed}" if listed else ""
        return (
            f"\n<{self.base}/{kind.value}/> a ldp:DirectContainer;\n"
            f'  dcterms:title "{_LEVELS[kind].container_title}";\n'
            f"  ldp:membershipResource <{self.iri(record)}>;\n"
            f"  ldp:hasMemberRelation {self._relation(record.kind, kind)}{contains} .\n"
        )

    def _child_kinds(self, record: Record) -> Iterator[Kind]:
        for kind in _LEVELS[record.kind].children:
            is_rare = kind in (record.kind, Kind.BIOBANK)
            if not is_rare or record.listing(kind):
                yield kind

    def _listed(self, record: Record, kind: Kind) -> str:
        return ", ".join(
            turtle.iri(child) if isinstance(child, str) else f"<{self.iri(child)}>"
            for child in record.listing(kind)
        )

    def _relation(self, parent: Kind, child: Kind) -> str:
        if parent is Kind.ROOT:
            return f"<{self.layout.catalog_relation or self.layout.ontology + 'metadataCatalog'}>"
        return _MEMBERSHIP[parent, child]

    def _types(self, record: Record) -> list[str]:
        if record.kind is not Kind.ROOT:
            return [name if "://" in name else _DCAT + name for name in _LEVELS[record.kind].types]
        ontology, own = self.layout.ontology, self.layout.root_type
        own = own if "://" in own else ontology + own
        return [f"{ontology}MetadataService", f"{_DCAT}DataService", f"{_DCAT}Resource", own]


def _metrics(subject: str, noise: int) -> Iterator[tuple[str, str]]:
    for digest, about in _METRICS:
        made = f"{noise:016x}{digest[16:]}" if noise else digest
        yield f"{subject}/metrics/{made}", about
