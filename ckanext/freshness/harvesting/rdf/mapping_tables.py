"""Tables of predicates and the keys that they become. The keys are those of ckanext-dcat's schemas.

The predicates of a row are read from left to right until one has a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rdflib import DCTERMS as DCT
from rdflib import FOAF, OWL, PROV, RDF, RDFS, SKOS, TIME, Namespace, URIRef
from rdflib.term import Node

from ...dates import iso_date
from ..legal_values import one_line
from .graph_values import (
    MappingRow,
    Nested,
    Warn,
    boolean,
    earliest,
    email,
    geometries,
    integer,
    iris,
    keywords,
    latest,
    line,
    literal,
    name_or_email,
    named,
    nothing,
    only_text,
    standards,
    telephone,
    text,
    text_or_texts,
    texts,
)
from .parsing import (
    ADMS,
    DCAT,
    DCATAP,
    DPV,
    DQV,
    FDP_O,
    HEALTHDCATAP,
    HOME_PAGE,
    LDP,
    LOCN,
    OA,
    ODRL,
    SCHEMA,
    SCHEMAS,
    SIO,
    SPDX,
    VCARD,
)
from .record_graph import Path


def _place(words: str, warn: Warn) -> dict[str, Any]:
    return {"text": one_line(words)} if words else {}


def _period(words: str, warn: Warn) -> dict[str, Any]:
    """Return the period of an ISO 8601 interval such as ``2020-01-01/2021-12-31``, or of one date."""
    start, _, end = words.partition("/")
    dates = {
        key: date for key, side in (("start", start), ("end", end)) if (date := iso_date(side))
    }
    for side in (start, end):
        if dates and side.strip(" .") and not iso_date(side):
            warn(f'"{side[:80]}" in "{words[:80]}" is not a date; left out')
    return dates


# Health-RI spells these in lower case, as the first drafts of HealthDCAT-AP do.
_PUBLISHER_NOTE = (HEALTHDCATAP.publisherNote, HEALTHDCATAP.publishernote)
_PUBLISHER_TYPE = (HEALTHDCATAP.publisherType, HEALTHDCATAP.publishertype)
_RETENTION_PERIOD = (HEALTHDCATAP.retentionPeriod, HEALTHDCATAP.retentionperiod)

PLACE = (
    MappingRow("text", (SKOS.prefLabel, RDFS.label, FOAF.name, DCT.title), line),
    MappingRow("geom", (LOCN.geometry,), geometries),
    MappingRow("bbox", (DCAT.bbox,), geometries),
    MappingRow("centroid", (DCAT.centroid,), geometries),
)
places = Nested(PLACE, _place)

AGENT = (
    MappingRow(
        "name",
        (FOAF.name, SCHEMA.name, SCHEMAS.name, VCARD.fn, RDFS.label, SKOS.prefLabel, DCT.title),
        line,
        translated=True,
    ),
    MappingRow("email", (FOAF.mbox, VCARD.hasEmail, SCHEMA.email, SCHEMAS.email), email),
    MappingRow("url", (FOAF.homepage, SCHEMA.url, SCHEMAS.url), text),
    MappingRow("type", (DCT.type,), text),
    MappingRow("identifier", (DCT.identifier, ADMS.identifier), text),
    MappingRow("publisher_note", _PUBLISHER_NOTE, text, translated=True),
    MappingRow("publisher_type", _PUBLISHER_TYPE, text),
    MappingRow("spatial_coverage", (DCT.spatial,), places),
)
agents = Nested(AGENT, name_or_email)

ADDRESS = (
    MappingRow("street_address", (VCARD["street-address"],), line),
    MappingRow("postal_code", (VCARD["postal-code"],), line),
    MappingRow("locality", (VCARD.locality,), line),
    MappingRow("region", (VCARD.region,), line),
    MappingRow("country", (VCARD["country-name"],), line),
)

CONTACT = (
    MappingRow(
        "name",
        (
            VCARD.fn,
            (VCARD.hasFN, VCARD.hasValue),
            VCARD.hasFN,
            VCARD["organization-name"],
            FOAF.name,
            RDFS.label,
        ),
        line,
        translated=True,
    ),
    MappingRow(
        "email",
        (
            (VCARD.hasEmail, VCARD.hasValue),
            (VCARD.hasEmail, VCARD.value),
            VCARD.hasEmail,
            VCARD.email,
            FOAF.mbox,
        ),
        email,
    ),
    MappingRow("identifier", ((VCARD.hasUID, VCARD.hasValue), VCARD.hasUID, DCT.identifier), text),
    MappingRow(
        "url", ((VCARD.hasURL, VCARD.hasValue), VCARD.hasURL, VCARD.url, FOAF.homepage), text
    ),
    MappingRow("telephone", ((VCARD.hasTelephone, VCARD.hasValue), VCARD.hasTelephone), telephone),
    MappingRow("organization", (VCARD["organization-name"],), line),
    MappingRow("address", (VCARD.hasAddress,), Nested(ADDRESS, _place)),
)
contacts = Nested(CONTACT, name_or_email)


def _instants(side: URIRef) -> tuple[Path, ...]:
    moments = (
        TIME.inXSDDateTimeStamp,
        TIME.inXSDDateTime,
        TIME.inXSDDate,
        TIME.inXSDgYearMonth,
        TIME.inXSDgYear,
    )
    return tuple((side, moment) for moment in moments)


PERIOD = (
    MappingRow(
        "start",
        (DCAT.startDate, *_instants(TIME.hasBeginning), SCHEMA.startDate, SCHEMAS.startDate),
        earliest,
    ),
    MappingRow(
        "end", (DCAT.endDate, *_instants(TIME.hasEnd), SCHEMA.endDate, SCHEMAS.endDate), latest
    ),
)
periods = Nested(PERIOD, _period, iri_key=None)

CHECKSUM = (
    MappingRow("hash", (SPDX.checksumValue,), text),
    MappingRow("hash_algorithm", (SPDX.algorithm,), text),
)
checksums = Nested(CHECKSUM, only_text("hash"), iri_key=None)

RELATION = (
    MappingRow("relation", (DCT.relation,), text),
    MappingRow("role", (DCAT.hadRole,), text),
)
ATTRIBUTION = (
    MappingRow("agent", (PROV.agent,), agents),
    MappingRow("role", (DCAT.hadRole,), text),
)
ACTIVITY = (
    MappingRow("label", (RDFS.label, SKOS.prefLabel, DCT.title), line),
    MappingRow("seeAlso", (RDFS.seeAlso,), text),
    MappingRow("dct_type", (DCT.type,), text),
    MappingRow("startedAtTime", (PROV.startedAtTime,), earliest),
    MappingRow("wasAssociatedWith", (PROV.wasAssociatedWith,), agents),
)
ANNOTATION = (
    MappingRow("body", (OA.hasBody,), text),
    MappingRow("target", (OA.hasTarget,), text),
    MappingRow("motivated_by", (OA.motivatedBy,), text),
)

CONSTRAINT = (
    MappingRow("left_operand", (ODRL.leftOperand,), text),
    MappingRow("operator", (ODRL.operator,), text),
    MappingRow("right_operand", (ODRL.rightOperand,), texts),
)
RULE = (
    MappingRow("action", (ODRL.action,), texts),
    MappingRow("target", (ODRL.target,), texts),
    MappingRow("assigner", (ODRL.assigner,), texts),
    MappingRow("assignee", (ODRL.assignee,), texts),
    MappingRow("constraint", (ODRL.constraint,), Nested(CONSTRAINT, nothing)),
)
rules = Nested(RULE, nothing)
POLICY = (
    MappingRow("uid", (ODRL.uid,), text),
    MappingRow("profile", (ODRL.profile,), texts),
    MappingRow("permission", (ODRL.permission,), rules),
    MappingRow("prohibition", (ODRL.prohibition,), rules),
    MappingRow("obligation", (ODRL.obligation, ODRL.duty), rules),
)
policies = Nested(POLICY, only_text("body"))

_TITLE = (DCT.title, RDFS.label, SKOS.prefLabel)

# Rows of datasets, catalogs, resources and services.
_COMMON = (
    MappingRow("identifier", (DCT.identifier,), text),
    MappingRow("issued", (DCT.issued,), earliest),
    MappingRow("modified", (DCT.modified,), latest),
    MappingRow("language", (DCT.language,), texts),
    MappingRow("conforms_to", (DCT.conformsTo,), standards),
    MappingRow("access_rights", (DCT.accessRights,), text),
    MappingRow("license", (DCT.license,), text_or_texts),
    MappingRow("publisher", (DCT.publisher,), agents),
    MappingRow("applicable_legislation", (DCATAP.applicableLegislation,), texts),
)

SERVICE = (
    *_COMMON,
    MappingRow("title", _TITLE, line, translated=True),
    MappingRow("description", (DCT.description,), text, translated=True),
    MappingRow("endpoint_description", (DCAT.endpointDescription,), text),
    MappingRow("endpoint_url", (DCAT.endpointURL,), texts),
    MappingRow("serves_dataset", (DCAT.servesDataset,), texts),
    MappingRow("availability", (DCATAP.availability,), text),
    MappingRow("alternate_identifier", (ADMS.identifier,), texts),
    MappingRow("version", (DCAT.version, OWL.versionInfo, DCT.hasVersion), literal),
    MappingRow("documentation", (FOAF.page,), texts),
    MappingRow("format", (DCT.format,), texts),
    MappingRow("rights", (DCT.rights,), texts),
    MappingRow("landing_page", (DCAT.landingPage,), texts),
    MappingRow("keyword", (DCAT.keyword,), keywords),
    MappingRow("theme", (DCAT.theme,), texts),
    MappingRow("hvd_category", (DCATAP.hvdCategory,), texts),
    MappingRow("contact", (DCAT.contactPoint,), contacts),
    MappingRow("creator", (DCT.creator,), agents),
)

services = Nested(SERVICE, nothing)

# Rows of both datasets and catalogs.
_RECORD = (
    *_COMMON,
    MappingRow("title", _TITLE, line, translated=True),
    MappingRow("notes", (DCT.description, SCHEMA.description), text, translated=True),
    # Servers of the first generation use dct:hasVersion for a record's own version.
    MappingRow("version", (DCAT.version, OWL.versionInfo, ADMS.version, DCT.hasVersion), literal),
    MappingRow("version_notes", (ADMS.versionNotes,), text),
    MappingRow("alternate_identifier", (ADMS.identifier,), texts),
    MappingRow(
        "alternate_identifier_agency",
        ((ADMS.identifier, ADMS.schemeAgency), (ADMS.identifier, ADMS.schemaAgency)),
        texts,
    ),
    MappingRow("frequency", (DCT.accrualPeriodicity,), text),
    MappingRow("homepage", (FOAF.homepage, HOME_PAGE), text),
    MappingRow("rights", (DCT.rights,), texts),
    MappingRow("has_policy", (ODRL.hasPolicy,), policies),
    MappingRow("contact", (DCAT.contactPoint, ADMS.contactPoint), contacts),
    MappingRow("creator", (DCT.creator,), agents),
    MappingRow("contributor", (DCT.contributor,), agents),
    MappingRow("rights_holder", (DCT.rightsHolder,), agents),
    MappingRow("has_part", (DCT.hasPart,), texts),
    MappingRow("temporal_coverage", (DCT.temporal,), periods),
    MappingRow("spatial_coverage", (DCT.spatial,), places),
)

CATALOG = (
    *_RECORD,
    MappingRow("url", (DCAT.landingPage, HOME_PAGE, FOAF.homepage), text),
    MappingRow("theme_taxonomy", (DCAT.themeTaxonomy,), texts),
    MappingRow("services", (DCAT.service,), services),
)

RESOURCE = (
    *_COMMON,
    MappingRow("name", _TITLE, line, translated=True),
    MappingRow("description", (DCT.description,), text, translated=True),
    MappingRow("download_url", (DCAT.downloadURL,), text),
    MappingRow("access_url", (DCAT.accessURL,), text),
    MappingRow("size", (DCAT.byteSize,), integer),
    MappingRow("version", (DCAT.version, OWL.versionInfo, DCT.hasVersion), literal),
    MappingRow("rights", (DCT.rights,), named),
    MappingRow("has_policy", (ODRL.hasPolicy,), policies),
    MappingRow("status", (ADMS.status,), text),
    MappingRow("documentation", (FOAF.page,), texts),
    MappingRow("availability", (DCATAP.availability,), text),
    MappingRow("compress_format", (DCAT.compressFormat,), text),
    MappingRow("package_format", (DCAT.packageFormat,), text),
    MappingRow("temporal_resolution", (DCAT.temporalResolution,), text),
    MappingRow("spatial_resolution_in_meters", (DCAT.spatialResolutionInMeters,), text),
    MappingRow("retention_period", _RETENTION_PERIOD, periods),
    MappingRow("access_services", (DCAT.accessService,), services),
)

# A sample or a result of analytics is a distribution that is no resource of its dataset.
FILE = (
    *RESOURCE,
    MappingRow("format", (DCT.format, DCAT["format"]), texts),
    MappingRow("media_type", (DCAT.mediaType,), texts),
    MappingRow("checksum", (SPDX.checksum,), checksums),
)
files = Nested(FILE, nothing, only_described=True)

DISTRIBUTIONS = frozenset({DCAT.distribution, ADMS.sample, HEALTHDCATAP.analytics})
"""Predicates that lead from a dataset to distributions."""

DATASET = (
    *_RECORD,
    MappingRow("url", (DCAT.landingPage,), text),
    MappingRow("alternative", (DCT.alternative,), texts, translated=True),
    MappingRow("abstract", (DCT.abstract,), text, translated=True),
    MappingRow("subject", (DCT.subject,), texts),
    MappingRow("audience", (DCT.audience,), texts),
    MappingRow("extent", (DCT.extent,), texts),
    MappingRow("bibliographic_citation", (DCT.bibliographicCitation,), texts),
    MappingRow("status", (ADMS.status,), text),
    MappingRow("created", (DCT.created,), earliest),
    MappingRow("replaces", (DCT.replaces,), texts),
    MappingRow("is_replaced_by", (DCT.isReplacedBy,), texts),
    MappingRow("was_derived_from", (PROV.wasDerivedFrom,), texts),
    MappingRow("provenance", (DCT.provenance,), named),
    MappingRow("dcat_type", (DCT.type,), text),
    MappingRow("source", (DCT.source,), texts),
    MappingRow("documentation", (FOAF.page,), texts),
    MappingRow("is_referenced_by", (DCT.isReferencedBy,), texts),
    MappingRow("theme", (DCAT.theme,), texts),
    MappingRow("in_series", (DCAT.inSeries,), texts),
    MappingRow("has_version", (DCAT.hasVersion, DCT.hasVersion), iris),
    MappingRow("has_current_version", (DCAT.hasCurrentVersion,), texts),
    MappingRow("previous_version", (DCAT.previousVersion,), texts),
    MappingRow("prev", (DCAT.prev,), texts),
    MappingRow("is_version_of", (DCAT.isVersionOf, DCT.isVersionOf), texts),
    MappingRow("related_resource", (DCT.relation,), texts),
    MappingRow("sample", (ADMS.sample,), texts),
    MappingRow("sample_distributions", (ADMS.sample,), files),
    MappingRow("temporal_resolution", (DCAT.temporalResolution,), text),
    MappingRow("spatial_resolution_in_meters", (DCAT.spatialResolutionInMeters,), text),
    MappingRow("hvd_category", (DCATAP.hvdCategory,), texts),
    MappingRow("qualified_relation", (DCAT.qualifiedRelation,), Nested(RELATION, nothing)),
    MappingRow(
        "qualified_attribution",
        (PROV.qualifiedAttribution,),
        Nested(ATTRIBUTION, nothing, iri_key=None),
    ),
    MappingRow("provenance_activity", (PROV.wasGeneratedBy,), Nested(ACTIVITY, nothing)),
    # HealthDCAT-AP
    MappingRow("min_typical_age", (HEALTHDCATAP.minTypicalAge,), integer),
    MappingRow("max_typical_age", (HEALTHDCATAP.maxTypicalAge,), integer),
    MappingRow("number_of_records", (HEALTHDCATAP.numberOfRecords,), integer),
    MappingRow("number_of_unique_individuals", (HEALTHDCATAP.numberOfUniqueIndividuals,), integer),
    MappingRow("trusted_data_holder", (HEALTHDCATAP.trustedDataHolder,), boolean),
    MappingRow("analytics", (HEALTHDCATAP.analytics,), texts),
    MappingRow("analytics_distributions", (HEALTHDCATAP.analytics,), files),
    MappingRow("code_values", (HEALTHDCATAP.hasCodeValues,), texts),
    MappingRow("coding_system", (HEALTHDCATAP.hasCodingSystem,), texts),
    MappingRow("health_category", (HEALTHDCATAP.healthCategory,), texts),
    MappingRow("health_theme", (HEALTHDCATAP.healthTheme,), texts),
    MappingRow("population_coverage", (HEALTHDCATAP.populationCoverage,), texts, translated=True),
    MappingRow("publisher_note", _PUBLISHER_NOTE, texts, translated=True),
    MappingRow("publisher_type", _PUBLISHER_TYPE, texts),
    MappingRow("legal_basis", (DPV.hasLegalBasis,), texts),
    MappingRow("personal_data", (DPV.hasPersonalData,), texts),
    MappingRow("purpose", (DPV.hasPurpose,), texts),
    MappingRow("retention_period", _RETENTION_PERIOD, periods),
    MappingRow("hdab", (HEALTHDCATAP.hdab,), agents),
    MappingRow(
        "quality_annotation",
        (DQV.hasQualityAnnotation,),
        Nested(ANNOTATION, only_text("body"), iri_key=None),
    ),
)

PACKAGE_KEYS = frozenset(
    name
    for row in (*DATASET, *CATALOG)
    for name in (row.key, f"{row.key}_translated")[: 1 + row.translated]
) | {"uri", "tags_translated", "license_id", "licenses"}
"""Every key of a package that the mapping can fill."""

_AGENT_EXTRAS = ("uri", "name", "email", "url", "type", "identifier")
OWNED_KEYS = PACKAGE_KEYS | frozenset(
    [f"{agent}_{key}" for agent in ("contact", "publisher", "creator") for key in _AGENT_EXTRAS]
    + [f"dcat_{key}" for key in ("issued", "modified", "publisher_name", "publisher_email")]
    + ["temporal_start", "temporal_end", "spatial_uri", "spatial_text"]
    + ["spatial_bbox", "spatial_centroid"]
)
"""Keys that leave a package when its source no longer gives them: those of the mapping, and the extras
that ckanext-dcat's harvesters write on sites without a schema.
"""

SERVER_NOISE: Mapping[Node, str] = {
    SIO.SIO_000628: "metrics, the same for each record",
    **{
        space[name]: reason
        for space in (FDP_O, Namespace("http://rdf.biosemantics.org/ontologies/fdp-o#"))
        for name, reason in (
            ("metadataIdentifier", "the identifier of the metadata, which is the record's URL"),
            ("metadataIssued", "the date when the server created the metadata"),
            ("metadataModified", "the date when the server last wrote the metadata"),
            ("fdpSoftwareVersion", "the version of the server's software"),
        )
    },
}
"""Predicates by which a server describes itself and not the record, and the reason to leave them out."""

STRUCTURE: Mapping[Node, str] = {
    RDF.type: "the type of a node, which decides which of these tables is used",
    DCT.isPartOf: "the record's catalog or dataset: the guid names it",
    DCAT.distribution: "the distributions, which are resources",
    DCAT.dataset: "the datasets of a catalog, which are datasets",
    DCAT.catalog: "the catalogs in a catalog, which are crawled",
    FDP_O.metadataCatalog: "the catalogs of a FAIR Data Point, which are crawled",
    LDP.contains: "containers: they say where records can be read",
    LDP.membershipResource: "containers: they say where records can be read",
    LDP.hasMemberRelation: "containers: they say where records can be read",
    LDP.insertedContentRelation: "containers: they say where records can be read",
}
"""Predicates that the crawl reads, and their use."""
