"""Which predicates become which keys: the names are those of ckanext-dcat and its schemas.

Rows are read top to bottom, predicates left to right until one has a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rdflib import DCTERMS as DCT
from rdflib import FOAF, OWL, PROV, RDF, RDFS, SKOS, TIME, URIRef
from rdflib.term import Node

from ...dates import iso_date
from ..legal_values import one_line
from .graph_values import (
    Nested,
    Path,
    Row,
    boolean,
    earliest,
    email,
    geometries,
    integer,
    iris,
    latest,
    line,
    literal,
    name_or_email,
    named,
    nothing,
    standards,
    telephone,
    text,
    text_or_texts,
    texts,
)
from .namespaces import (
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


def _place(words: str) -> dict[str, Any]:
    return {"text": one_line(words)} if words else {}


def _period(words: str) -> dict[str, Any]:
    """``2020-01-01/2021-12-31``, or one date, as ISO 8601 writes intervals."""
    start, _, end = words.partition("/")
    dates = {"start": iso_date(start), "end": iso_date(end)}
    return {key: date for key, date in dates.items() if date}


def _body(words: str) -> dict[str, Any]:
    return {"body": words} if words else {}


AGENT = (
    Row(
        "name",
        (FOAF.name, SCHEMA.name, SCHEMAS.name, VCARD.fn, RDFS.label, SKOS.prefLabel, DCT.title),
        line,
        translated=True,
    ),
    Row("email", (FOAF.mbox, VCARD.hasEmail, SCHEMA.email, SCHEMAS.email), email),
    Row("url", (FOAF.homepage, SCHEMA.url, SCHEMAS.url), text),
    Row("type", (DCT.type,), text),
    Row("identifier", (DCT.identifier, ADMS.identifier), text),
)
agents = Nested(AGENT, name_or_email)

ADDRESS = (
    Row("street_address", (VCARD["street-address"],), line),
    Row("postal_code", (VCARD["postal-code"],), line),
    Row("locality", (VCARD.locality,), line),
    Row("region", (VCARD.region,), line),
    Row("country", (VCARD["country-name"],), line),
)

CONTACT = (
    Row(
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
    Row(
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
    Row("identifier", ((VCARD.hasUID, VCARD.hasValue), VCARD.hasUID, DCT.identifier), text),
    Row("url", ((VCARD.hasURL, VCARD.hasValue), VCARD.hasURL, VCARD.url, FOAF.homepage), text),
    Row("telephone", ((VCARD.hasTelephone, VCARD.hasValue), VCARD.hasTelephone), telephone),
    Row("organization", (VCARD["organization-name"],), line),
    Row("address", (VCARD.hasAddress,), Nested(ADDRESS, _place)),
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
    Row(
        "start",
        (DCAT.startDate, *_instants(TIME.hasBeginning), SCHEMA.startDate, SCHEMAS.startDate),
        earliest,
    ),
    Row("end", (DCAT.endDate, *_instants(TIME.hasEnd), SCHEMA.endDate, SCHEMAS.endDate), latest),
)
periods = Nested(PERIOD, _period, iri_key=None)

PLACE = (
    Row("text", (SKOS.prefLabel, RDFS.label, FOAF.name, DCT.title), line),
    Row("geom", (LOCN.geometry,), geometries),
    Row("bbox", (DCAT.bbox,), geometries),
    Row("centroid", (DCAT.centroid,), geometries),
)
places = Nested(PLACE, _place)

CHECKSUM = (
    Row("hash", (SPDX.checksumValue,), text),
    Row("hash_algorithm", (SPDX.algorithm,), text),
)
checksums = Nested(CHECKSUM, lambda words: {"hash": words} if words else {}, iri_key=None)

RELATION = (Row("relation", (DCT.relation,), text), Row("role", (DCAT.hadRole,), text))
ATTRIBUTION = (Row("agent", (PROV.agent,), agents), Row("role", (DCAT.hadRole,), text))
ACTIVITY = (
    Row("label", (RDFS.label, SKOS.prefLabel, DCT.title), line),
    Row("seeAlso", (RDFS.seeAlso,), text),
    Row("dct_type", (DCT.type,), text),
    Row("startedAtTime", (PROV.startedAtTime,), earliest),
    Row("wasAssociatedWith", (PROV.wasAssociatedWith,), agents),
)
ANNOTATION = (
    Row("body", (OA.hasBody,), text),
    Row("target", (OA.hasTarget,), text),
    Row("motivated_by", (OA.motivatedBy,), text),
)

CONSTRAINT = (
    Row("left_operand", (ODRL.leftOperand,), text),
    Row("operator", (ODRL.operator,), text),
    Row("right_operand", (ODRL.rightOperand,), texts),
)
RULE = (
    Row("action", (ODRL.action,), texts),
    Row("target", (ODRL.target,), texts),
    Row("assigner", (ODRL.assigner,), texts),
    Row("assignee", (ODRL.assignee,), texts),
    Row("constraint", (ODRL.constraint,), Nested(CONSTRAINT, nothing)),
)
rules = Nested(RULE, nothing)
POLICY = (
    Row("uid", (ODRL.uid,), text),
    Row("profile", (ODRL.profile,), texts),
    Row("permission", (ODRL.permission,), rules),
    Row("prohibition", (ODRL.prohibition,), rules),
    Row("obligation", (ODRL.obligation, ODRL.duty), rules),
)
policies = Nested(POLICY, _body)

_TITLE = (DCT.title, RDFS.label, SKOS.prefLabel)

SERVICE = (
    Row("title", _TITLE, line, translated=True),
    Row("description", (DCT.description,), text, translated=True),
    Row("endpoint_description", (DCAT.endpointDescription,), text),
    Row("endpoint_url", (DCAT.endpointURL,), texts),
    Row("serves_dataset", (DCAT.servesDataset,), texts),
    Row("availability", (DCATAP.availability,), text),
    Row("license", (DCT.license,), text_or_texts),
    Row("access_rights", (DCT.accessRights,), text),
    Row("identifier", (DCT.identifier,), text),
    Row("version", (DCAT.version, OWL.versionInfo, DCT.hasVersion), literal),
    Row("issued", (DCT.issued,), earliest),
    Row("modified", (DCT.modified,), latest),
    Row("documentation", (FOAF.page,), texts),
    Row("conforms_to", (DCT.conformsTo,), standards),
    Row("format", (DCT.format,), texts),
    Row("language", (DCT.language,), texts),
    Row("rights", (DCT.rights,), texts),
    Row("landing_page", (DCAT.landingPage,), texts),
    Row("keyword", (DCAT.keyword,), texts),
    Row("theme", (DCAT.theme,), texts),
    Row("applicable_legislation", (DCATAP.applicableLegislation,), texts),
    Row("contact", (DCAT.contactPoint,), contacts),
    Row("publisher", (DCT.publisher,), agents),
    Row("creator", (DCT.creator,), agents),
)

services = Nested(SERVICE, nothing)

# What datasets and catalogs have in common.
_RECORD = (
    Row("title", _TITLE, line, translated=True),
    Row("notes", (DCT.description, SCHEMA.description), text, translated=True),
    # Servers of the first generation gave a record's own version under dct:hasVersion.
    Row("version", (DCAT.version, OWL.versionInfo, ADMS.version, DCT.hasVersion), literal),
    Row("version_notes", (ADMS.versionNotes,), text),
    Row("identifier", (DCT.identifier,), text),
    Row("alternate_identifier", (ADMS.identifier,), texts),
    Row("issued", (DCT.issued,), earliest),
    Row("modified", (DCT.modified,), latest),
    Row("frequency", (DCT.accrualPeriodicity,), text),
    Row("homepage", (FOAF.homepage, HOME_PAGE), text),
    Row("language", (DCT.language,), texts),
    Row("conforms_to", (DCT.conformsTo,), standards),
    Row("access_rights", (DCT.accessRights,), text),
    Row("rights", (DCT.rights,), texts),
    Row("license", (DCT.license,), text_or_texts),
    Row("has_policy", (ODRL.hasPolicy,), policies),
    Row("contact", (DCAT.contactPoint, ADMS.contactPoint), contacts),
    Row("publisher", (DCT.publisher,), agents),
    Row("creator", (DCT.creator,), agents),
    Row("contributor", (DCT.contributor,), agents),
    Row("rights_holder", (DCT.rightsHolder,), agents),
    Row("has_part", (DCT.hasPart,), texts),
    Row("temporal_coverage", (DCT.temporal,), periods),
    Row("spatial_coverage", (DCT.spatial,), places),
    Row("applicable_legislation", (DCATAP.applicableLegislation,), texts),
)

CATALOG = (
    *_RECORD,
    Row("url", (DCAT.landingPage, HOME_PAGE, FOAF.homepage), text),
    Row("theme_taxonomy", (DCAT.themeTaxonomy,), texts),
    Row("services", (DCAT.service,), services),
)

DATASET = (
    *_RECORD,
    Row("url", (DCAT.landingPage,), text),
    Row("alternative", (DCT.alternative,), texts, translated=True),
    Row("abstract", (DCT.abstract,), text, translated=True),
    Row("subject", (DCT.subject,), texts),
    Row("audience", (DCT.audience,), texts),
    Row("extent", (DCT.extent,), texts),
    Row("bibliographic_citation", (DCT.bibliographicCitation,), texts),
    Row("status", (ADMS.status,), text),
    Row("created", (DCT.created,), earliest),
    Row("replaces", (DCT.replaces,), texts),
    Row("is_replaced_by", (DCT.isReplacedBy,), texts),
    Row("was_derived_from", (PROV.wasDerivedFrom,), texts),
    Row("provenance", (DCT.provenance,), named),
    Row("dcat_type", (DCT.type,), text),
    Row("source", (DCT.source,), texts),
    Row("documentation", (FOAF.page,), texts),
    Row("is_referenced_by", (DCT.isReferencedBy,), texts),
    Row("theme", (DCAT.theme,), texts),
    Row("in_series", (DCAT.inSeries,), texts),
    Row("has_version", (DCAT.hasVersion, DCT.hasVersion), iris),
    Row("has_current_version", (DCAT.hasCurrentVersion,), texts),
    Row("previous_version", (DCAT.previousVersion,), texts),
    Row("prev", (DCAT.prev,), texts),
    Row("is_version_of", (DCAT.isVersionOf, DCT.isVersionOf), texts),
    Row("related_resource", (DCT.relation,), texts),
    Row("sample", (ADMS.sample,), texts),
    Row("temporal_resolution", (DCAT.temporalResolution,), text),
    Row("spatial_resolution_in_meters", (DCAT.spatialResolutionInMeters,), text),
    Row("hvd_category", (DCATAP.hvdCategory,), texts),
    Row("qualified_relation", (DCAT.qualifiedRelation,), Nested(RELATION, nothing)),
    Row(
        "qualified_attribution",
        (PROV.qualifiedAttribution,),
        Nested(ATTRIBUTION, nothing, iri_key=None),
    ),
    Row("provenance_activity", (PROV.wasGeneratedBy,), Nested(ACTIVITY, nothing)),
    # HealthDCAT-AP
    Row("min_typical_age", (HEALTHDCATAP.minTypicalAge,), integer),
    Row("max_typical_age", (HEALTHDCATAP.maxTypicalAge,), integer),
    Row("number_of_records", (HEALTHDCATAP.numberOfRecords,), integer),
    Row("number_of_unique_individuals", (HEALTHDCATAP.numberOfUniqueIndividuals,), integer),
    Row("trusted_data_holder", (HEALTHDCATAP.trustedDataHolder,), boolean),
    Row("analytics", (HEALTHDCATAP.analytics,), texts),
    Row("code_values", (HEALTHDCATAP.hasCodeValues,), texts),
    Row("coding_system", (HEALTHDCATAP.hasCodingSystem,), texts),
    Row("health_category", (HEALTHDCATAP.healthCategory,), texts),
    Row("health_theme", (HEALTHDCATAP.healthTheme,), texts),
    Row("population_coverage", (HEALTHDCATAP.populationCoverage,), texts, translated=True),
    Row("publisher_note", (HEALTHDCATAP.publisherNote,), texts, translated=True),
    Row("publisher_type", (HEALTHDCATAP.publisherType,), texts),
    Row("legal_basis", (DPV.hasLegalBasis,), texts),
    Row("personal_data", (DPV.hasPersonalData,), texts),
    Row("purpose", (DPV.hasPurpose,), texts),
    Row("retention_period", (HEALTHDCATAP.retentionPeriod,), periods),
    Row("hdab", (HEALTHDCATAP.hdab,), agents),
    Row(
        "quality_annotation",
        (DQV.hasQualityAnnotation,),
        Nested(ANNOTATION, _body, iri_key=None),
    ),
)

RESOURCE = (
    Row("name", _TITLE, line, translated=True),
    Row("description", (DCT.description,), text, translated=True),
    Row("download_url", (DCAT.downloadURL,), text),
    Row("access_url", (DCAT.accessURL,), text),
    Row("size", (DCAT.byteSize,), integer),
    Row("issued", (DCT.issued,), earliest),
    Row("modified", (DCT.modified,), latest),
    Row("version", (DCAT.version, OWL.versionInfo, DCT.hasVersion), literal),
    Row("identifier", (DCT.identifier,), text),
    Row("publisher", (DCT.publisher,), agents),
    Row("license", (DCT.license,), text_or_texts),
    Row("rights", (DCT.rights,), named),
    Row("access_rights", (DCT.accessRights,), text),
    Row("has_policy", (ODRL.hasPolicy,), policies),
    Row("status", (ADMS.status,), text),
    Row("language", (DCT.language,), texts),
    Row("documentation", (FOAF.page,), texts),
    Row("conforms_to", (DCT.conformsTo,), standards),
    Row("availability", (DCATAP.availability,), text),
    Row("compress_format", (DCAT.compressFormat,), text),
    Row("package_format", (DCAT.packageFormat,), text),
    Row("temporal_resolution", (DCAT.temporalResolution,), text),
    Row("spatial_resolution_in_meters", (DCAT.spatialResolutionInMeters,), text),
    Row("applicable_legislation", (DCATAP.applicableLegislation,), texts),
    Row("retention_period", (HEALTHDCATAP.retentionPeriod,), periods),
    Row("access_services", (DCAT.accessService,), services),
)

PACKAGE_KEYS = frozenset(
    name
    for row in (*DATASET, *CATALOG)
    for name in (row.key, f"{row.key}_translated")[: 1 + row.translated]
) | {"uri", "tags_translated", "license_id", "licenses"}
"""Every key that a package can owe to its record."""

RESOURCE_KEYS = frozenset(
    name
    for row in (*RESOURCE, *CHECKSUM)
    for name in (row.key, f"{row.key}_translated")[: 1 + row.translated]
) | {"uri", "url", "format", "mimetype"}
"""Every key that a resource can owe to its distribution."""

SERVER_NOISE: Mapping[Node, str] = {
    SIO.SIO_000628: "metrics that the server invents, the same for each record",
    FDP_O.metadataIdentifier: "the server's own number of its metadata, the record's URL",
    FDP_O.metadataIssued: "the date at which the server made its metadata",
    FDP_O.metadataModified: "a date that moves whenever the server touches its metadata",
    FDP_O.fdpSoftwareVersion: "the version of the server's software",
}
"""Predicates of what a server says of itself and not of the record, and why that is left out."""

STRUCTURE: Mapping[Node, str] = {
    RDF.type: "what kind of thing a node is: it decides which of these tables is used",
    DCT.isPartOf: "the record's catalog or dataset: the guid names it",
    DCAT.distribution: "the distributions, which are resources",
    DCAT.dataset: "the datasets of a catalog, which are datasets",
    DCAT.catalog: "the catalogs in a catalog, which are crawled",
    FDP_O.metadataCatalog: "the catalogs of a FAIR Data Point, which are crawled",
    LDP.contains: "containers, which say where records can be read",
    LDP.membershipResource: "containers, which say where records can be read",
    LDP.hasMemberRelation: "containers, which say where records can be read",
}
"""Predicates that the crawl follows, and what becomes of what they lead to."""
