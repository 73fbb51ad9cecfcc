"""Our profile of ckanext-dcat, the last in a chain: it mends what others read, and completes what they write.

Reading: ckanext-dcat takes the IRI of a media type for a format, writes names of blank nodes and the home page
of this site into datasets, and keeps lists in any order, which makes false changes. It does not read some
properties that FAIR Data Points state.

Writing: without it the date of the last change is that of the metadata, and ``dct:accrualPeriodicity`` any text
from the field. schema.org and Croissant also get the status and the day of the next update. The plugin adds the
profile to those of the site, for each of ckanext-dcat's plugins that is enabled.
"""

from __future__ import annotations

import json
import re
from typing import Any

import ckan.plugins.toolkit as tk
from rdflib import DCTERMS, FOAF, PROV, RDF, BNode, Literal, Namespace, URIRef
from rdflib.namespace import XSD
from rdflib.term import Node

from ckanext.dcat.processors import DEFAULT_RDF_PROFILES
from ckanext.dcat.profiles import ADMS, DCAT, CleanedURIRef, RDFProfile
from ckanext.dcat.utils import DCAT_CLEAN_TAGS, resource_uri

from .aging.evidence import Evidence
from .aging.vocabularies import term_lists
from .checking.observations import Precision, period_of
from .ckan_adapter.core import NAMES, munge_tag, scheming_schema, unified_resource_format
from .dates import iso_date
from .harvesting.legal_values import EMPTY, json_list, json_text, split_keywords, stored
from .harvesting.rdf.parsing import OUR_PROFILE
from .harvesting.rdf.record_graph import label_of
from .harvesting.record import is_web_url
from .status.our_fields import are_the_sites

_DPV = Namespace("https://w3id.org/dpv#")
_HEALTH = Namespace("http://healthdataportal.eu/ns/health#")
_ODRL = Namespace("http://www.w3.org/ns/odrl/2/")

DATASET_TEXTS: dict[str, URIRef] = {
    "abstract": DCTERMS.abstract,
    "bibliographic_citation": DCTERMS.bibliographicCitation,
    "created": DCTERMS.created,
    "has_policy": _ODRL.hasPolicy,
    "homepage": FOAF.homepage,
    "license": DCTERMS.license,
    "status": ADMS.status,
    # HealthDCAT-AP, by the keys of ckanext-dcat's profile for it
    "max_typical_age": _HEALTH.maxTypicalAge,
    "min_typical_age": _HEALTH.minTypicalAge,
    "number_of_records": _HEALTH.numberOfRecords,
    "number_of_unique_individuals": _HEALTH.numberOfUniqueIndividuals,
}
"""Properties of datasets that FAIR Data Points state, and that ckanext-dcat's default profile neither reads nor
writes. They are read under a key that no earlier profile has filled: as a text, or as a list of several."""
DATASET_LISTS: dict[str, URIRef] = {
    "alternative": DCTERMS.alternative,
    "audience": DCTERMS.audience,
    "contributor": DCTERMS.contributor,
    "extent": DCTERMS.extent,
    "has_current_version": DCAT.hasCurrentVersion,
    "has_part": DCTERMS.hasPart,
    "in_series": DCAT.inSeries,
    "is_replaced_by": DCTERMS.isReplacedBy,
    "prev": DCAT.prev,
    "previous_version": DCAT.previousVersion,
    "replaces": DCTERMS.replaces,
    "rights": DCTERMS.rights,
    "rights_holder": DCTERMS.rightsHolder,
    "subject": DCTERMS.subject,
    "was_derived_from": PROV.wasDerivedFrom,
    # HealthDCAT-AP
    "analytics": _HEALTH.analytics,
    "code_values": _HEALTH.hasCodeValues,
    "coding_system": _HEALTH.hasCodingSystem,
    "health_category": _HEALTH.healthCategory,
    "health_theme": _HEALTH.healthTheme,
    "legal_basis": _DPV.hasLegalBasis,
    "personal_data": _DPV.hasPersonalData,
    "population_coverage": _HEALTH.populationCoverage,
    "purpose": _DPV.hasPurpose,
}
"""The same, always as lists."""
RESOURCE_TEXTS: dict[str, URIRef] = {
    "access_rights": DCTERMS.accessRights,
    "has_policy": _ODRL.hasPolicy,
    "identifier": DCTERMS.identifier,
    "publisher": DCTERMS.publisher,
    "version": DCAT.version,
}
"""The same as :data:`DATASET_TEXTS`, of distributions."""
_DATASET_KEYS = DATASET_TEXTS | DATASET_LISTS
_AGENTS = frozenset({DCTERMS.contributor, DCTERMS.publisher, DCTERMS.rightsHolder})
_INTERNAL = frozenset({"distribution_ref", "access_service_ref"})
"""Keys of ckanext-dcat for names of nodes."""

_MEDIA_TYPE = re.compile(
    r"(?:https?://(?:[\w.]*iana\.org/assignments/media-types|inspire\.ec\.europa\.eu/media-types"
    r"|purl\.org/net/mediatypes|w3id\.org/mediatype|www\.w3\.org/ns/iana/media-types)/)?"
    r"(?P<type>[\w.+-]+/[\w.+-]+)/?(?:[;#].*)?",
    re.IGNORECASE | re.ASCII,
)
_FILE_TYPE = re.compile(
    r"https?://publications\.europa\.eu/resource/authority/file-type/(?P<code>\w+)/?", re.IGNORECASE
)
_FILE_TYPES = {
    "HTML_SIMPL": "HTML",
    "JSON_LD": "JSON-LD",
    "RDF_N_TRIPLES": "N-Triples",
    "RDF_TURTLE": "TTL",
    "RDF_XML": "RDF",
    "SPARQLQ": "SPARQL",
    "WFS_SRVC": "WFS",
    "WMS_SRVC": "WMS",
    "WMTS_SRVC": "WMTS",
}
"""Codes of the EU's list of file types that CKAN does not know as formats."""
_BLANK = re.compile(r"N[0-9a-f]{32}|[\w.-]{1,64}")
"""What may be the name of a blank node."""

_SCHEMA_ORG = (Namespace("http://schema.org/"), Namespace("https://schema.org/"))
"""As ckanext-dcat's profiles for search engines and for Croissant write it."""
_AUTHORITY = "http://publications.europa.eu/resource/authority/frequency/"


class MendingProfile(RDFProfile):
    """A profile that corrects and completes what earlier profiles read."""

    def parse_dataset(self, dataset_dict: dict[str, Any], dataset_ref: Any) -> dict[str, Any]:
        """Mend a dataset that earlier profiles have read, in place, and return it."""
        extras = {one["key"]: one["value"] for one in dataset_dict.pop("extras", ())}
        for values in (extras, dataset_dict):
            # Without one, ckanext-dcat takes the URL of this site.
            values.pop("homepage", None)
        self._join(extras, dataset_dict)
        self._mend_tags(dataset_ref, dataset_dict)
        schema = scheming_schema("dataset") or {}
        fields = {*dataset_dict, *(one["field_name"] for one in schema.get("dataset_fields", ()))}
        for key, value in self._found(
            dataset_ref, _DATASET_KEYS, {**extras, **dataset_dict}
        ).items():
            if key in fields:
                dataset_dict[key] = value
            else:
                extras[key] = json.dumps(value) if isinstance(value, list) else value
        resources = [self._resource(one) for one in dataset_dict.pop("resources", ())]
        tidy, kept = self._tidy(dataset_dict), self._with_uri(extras)
        dataset_dict.clear()
        dataset_dict.update({"tags": [], **tidy, "resources": resources})
        dataset_dict["extras"] = [{"key": key, "value": kept[key]} for key in sorted(kept)]
        return dataset_dict

    def _join(self, extras: dict[str, Any], package: dict[str, Any]) -> None:
        """Join what ckanext-dcat reads under one key in two places: dct:hasVersion and dcat:hasVersion."""
        for key in extras.keys() & package.keys():
            earlier = json_list(str(extras.pop(key)))
            if earlier and isinstance(package[key], list):
                package[key] = [*dict.fromkeys([*package[key], *earlier])]

    def _mend_tags(self, node: Node, package: dict[str, Any]) -> None:
        """Split keywords where publishers do. ckanext-dcat splits at commas alone, or nowhere."""
        munged = munge_tag if tk.asbool(tk.config.get(DCAT_CLEAN_TAGS, False)) else str
        tags = {one["name"] for one in package.get("tags", ())}
        if translated := package.get("tags_translated"):
            translated.update({key: split_keywords(texts) for key, texts in translated.items()})
            tags = {*split_keywords(tags)} or {*next(filter(None, translated.values()), [])}
        else:
            stated = [str(one) for one in self.g.objects(node, DCAT.keyword)]
            tags -= {munged(piece.strip()) for text in stated for piece in text.split(",")}
            tags |= {munged(one) for one in split_keywords(map(self._named, stated))}
        package["tags"] = [{"name": name} for name in sorted(tags)]

    def _resource(self, resource: dict[str, Any]) -> dict[str, Any]:
        """Return a resource as it is to be."""
        node = self._node(resource.get("distribution_ref", ""))
        found = self._format(node) | self._found(node, RESOURCE_TEXTS, resource)
        return self._with_uri({**resource, **found})

    def _found(
        self, node: Node, keys: dict[str, URIRef], known: dict[str, Any]
    ) -> dict[str, str | list[str]]:
        """Return the values that no earlier profile has read, and the dates that count."""
        found: dict[str, str | list[str]] = {}
        for key in (key for key in keys if known.get(key) in EMPTY):
            if texts := self._texts(node, keys[key]):
                found[key] = texts if len(texts) > 1 or key in DATASET_LISTS else texts[0]
        if known.get("version") in EMPTY and (version := self._version(node)):
            found.setdefault("version", version)
        return found | self._dates(node, known)

    def _version(self, node: Node) -> str:
        """Return the version that servers of the first generation state, a text under dct:hasVersion."""
        texts = [
            one for one in self.g.objects(node, DCTERMS.hasVersion) if isinstance(one, Literal)
        ]
        return min(map(str, texts), default="")

    def _dates(self, node: Node, known: dict[str, Any]) -> dict[str, str]:
        """Return the first date of publication and the last of change; "" in place of a text that is none."""
        found: dict[str, str] = {}
        for key, predicate, choose in (
            ("issued", DCTERMS.issued, min),
            ("modified", DCTERMS.modified, max),
        ):
            dates = list(filter(None, map(iso_date, self._texts(node, predicate))))
            if dates or known.get(key):
                found[key] = choose(dates, default="")
        return found

    def _format(self, node: Node) -> dict[str, str]:
        """Return format and media type. Publishers confuse the two properties: the form of a value decides."""
        formats = [*self._texts(node, DCTERMS["format"]), *self._texts(node, DCAT["format"])]
        texts = [*formats, *self._texts(node, DCAT.mediaType)]
        types = [found["type"].lower() for found in map(_MEDIA_TYPE.fullmatch, texts) if found]
        names = [text for text in texts if not _MEDIA_TYPE.fullmatch(text)] or types
        if not names:
            return {}
        code = _FILE_TYPE.fullmatch(names[0])
        name = code["code"].upper() if code else names[0]
        label = unified_resource_format(_FILE_TYPES.get(name, name))
        return {"format": label, "mimetype": next(iter(types), "")}

    def _texts(self, node: Node, predicate: URIRef) -> list[str]:
        """Return the texts, IRIs and names of a property, sorted."""
        return sorted({self._named(str(one)) for one in self.g.objects(node, predicate)} - {""})

    def _node(self, text: str) -> Node:
        """Return the node of which a profile has kept the text."""
        blank = BNode(text)
        return blank if (blank, None, None) in self.g else URIRef(text)

    def _named(self, text: str) -> str:
        """Return a text; for the name of a blank node, which differs each time, the node's label or ""."""
        if not self._is_blank(text):
            return text
        return label_of(self.g, BNode(text))

    def _is_blank(self, text: Any) -> bool:
        """Return whether a text is the name of a blank node."""
        if not isinstance(text, str) or not _BLANK.fullmatch(text):
            return False
        node = BNode(text)
        return (node, None, None) in self.g or (None, None, node) in self.g

    def _with_uri(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return tidy values that show a missing URI, as ckanext-dcat does."""
        tidy: dict[str, Any] = self._tidy(values)
        return {"uri": "", **tidy} if "uri" in values else tidy

    def _tidy(self, value: Any) -> Any:
        """Return a value without empty parts and names of blank nodes, with its lists in one order."""
        if isinstance(value, dict):
            items = {
                key: self._tidy("" if key == "uri" and self._is_blank(one) else one)
                for key, one in value.items()
                if key not in _INTERNAL
            }
            return {key: one for key, one in items.items() if one not in EMPTY}
        if isinstance(value, list):
            kept = [one for one in map(self._tidy, value) if one not in EMPTY]
            return sorted(kept, key=json_text)
        if not isinstance(value, str):
            return value
        if value.startswith("[") and (opened := json_list(value)) is not None:
            return stored(self._tidy(opened)) or ""
        return self._named(value)


class FreshnessProfile(MendingProfile):
    """A profile that also writes the properties that it reads, and when the data change."""

    def _write_more(self, node: Node, keys: dict[str, URIRef], stated: dict[str, Any]) -> None:
        """Write the properties that this profile reads, unless an earlier profile has written them."""
        for key, predicate in keys.items():
            value = stated.get(key)
            if value in EMPTY or (node, predicate, None) in self.g:
                continue
            values = value if isinstance(value, list) else json_list(str(value)) or [value]
            for text in (str(one) for one in values if not isinstance(one, dict)):
                if is_web_url(text):
                    self.g.add((node, predicate, URIRef(text)))
                elif predicate in _AGENTS:
                    agent = BNode()
                    self.g.add((node, predicate, agent))
                    self.g.add((agent, FOAF.name, Literal(text)))
                else:
                    self.g.add((node, predicate, Literal(text)))

    def graph_from_dataset(self, dataset_dict: dict[str, Any], dataset_ref: Any) -> None:
        """Write into the graph what this profile reads, when and how often the data are updated, and up to when
        they reach, in the words of the vocabularies by which earlier profiles have described the dataset."""
        extras = {extra["key"]: extra["value"] for extra in dataset_dict.get("extras") or ()}
        if are_the_sites(extras):
            extras = {key: value for key, value in extras.items() if key not in NAMES.extras}
        # ckanext-dcat's profile of Croissant lets a dataset have an address of its own.
        given = dataset_dict.get("id_given")
        nodes = [dataset_ref, *([CleanedURIRef(given)] if given else [])]
        written = [
            (node, schema)
            for node in nodes
            for schema in _SCHEMA_ORG
            if (node, RDF.type, schema.Dataset) in self.g
        ]
        for node, schema in written:
            self._write_schema_org(node, schema, extras, dataset_dict)
        if not written or (dataset_ref, RDF.type, DCAT.Dataset) in self.g:
            self._write_dcat(dataset_dict, dataset_ref, extras)

    def _write_dcat(
        self, dataset_dict: dict[str, Any], dataset_ref: Any, extras: dict[str, str]
    ) -> None:
        # ckanext-dcat writes no place that is only an IRI.
        keys = {**_DATASET_KEYS, "spatial_uri": DCTERMS.spatial}
        self._write_more(dataset_ref, keys, {**extras, **dataset_dict})
        for resource in dataset_dict.get("resources", ()):
            self._write_more(URIRef(resource_uri(resource)), RESOURCE_TEXTS, resource)
        self._write_modified(dataset_ref, DCTERMS.modified, XSD.dateTime, extras, dataset_dict)
        given = self.g.value(dataset_ref, DCTERMS.accrualPeriodicity)
        # An IRI that the publisher has chosen is at least as exact.
        # What was learned, nobody has stated.
        days = None if NAMES.frequency_from in extras else extras.get(NAMES.frequency)
        if not isinstance(given, URIRef) and (name := _code(given, days)):
            self.g.set((dataset_ref, DCTERMS.accrualPeriodicity, URIRef(_AUTHORITY + name)))
        end = _end(extras)
        if end is not None and self.g.value(dataset_ref, DCTERMS.temporal) is None:
            period = BNode()
            self.g.add((dataset_ref, DCTERMS.temporal, period))
            self.g.add((period, RDF.type, DCTERMS.PeriodOfTime))
            self.g.add((period, DCAT.endDate, end))

    def _write_schema_org(
        self, node: Node, schema: Namespace, extras: dict[str, str], dataset: dict[str, Any]
    ) -> None:
        """Write what search engines and programs read: the last change, the status, the next update, and up to
        when the data reach.

        schema.org has no property of its own for the next update. ``expires`` would take the dataset out of
        search engines, and ``additionalProperty`` is none of datasets.
        """
        self._write_modified(node, schema.dateModified, None, extras, dataset)
        if status := extras.get(NAMES.status):
            self.g.set((node, schema.creativeWorkStatus, Literal(status)))
        if due := extras.get(NAMES.due):
            action = BNode()
            self.g.add((node, schema.potentialAction, action))
            self.g.add((action, RDF.type, schema.UpdateAction))
            self.g.add((action, schema.startTime, Literal(due)))
        end = _end(extras)
        if end is not None and self.g.value(node, schema.temporalCoverage) is None:
            self.g.add((node, schema.temporalCoverage, Literal(f"../{end}")))

    def _write_modified(
        self,
        node: Node,
        predicate: URIRef,
        datatype: URIRef | None,
        extras: dict[str, str],
        dataset: dict[str, Any],
    ) -> None:
        """Write when the data last changed, in place of when the metadata did."""
        modified = extras.get(NAMES.last_modified)
        if modified and extras.get(NAMES.evidence) != Evidence.CREATED.value:
            self.g.set((node, predicate, Literal(modified, datatype=datatype)))
        elif NAMES.status in extras and not (extras.get("modified") or dataset.get("modified")):
            # Nobody knows when the data last changed. The date of the metadata would be that of a confirmation
            # or a harvest, or of the day on which the data were added here.
            self.g.remove((node, predicate, None))


_END_DATES = {Precision.YEAR: ("%Y", XSD.gYear), Precision.MONTH: ("%Y-%m", XSD.gYearMonth)}


def _end(extras: dict[str, str]) -> Literal | None:
    """Return up to when the data reach, as exactly as is known; None if it is not."""
    until = period_of(extras.get(NAMES.data_until, ""))
    if until is None:
        return None
    day, precision = until
    form, kind = _END_DATES.get(precision, ("%Y-%m-%d", XSD.date))
    return Literal(day.strftime(form), datatype=kind)


def _code(given: Any, days: str | None) -> str | None:
    """Return the authority's code for a frequency; None if it has none.

    :param given: what an earlier profile wrote: a code of the authority may be more exact than days, such as
        ``HOURLY``
    :param days: our extra with the number of days
    """
    terms = term_lists()["eu"].terms
    code = str(given or "").strip().upper()
    if code in terms:
        return code
    return {str(known): term for term, known in terms.items()}.get(days or "")


PROFILES: dict[str, tuple[str, str | list[str]]] = {
    "dcat": ("ckanext.dcat.rdf.profiles", " ".join(DEFAULT_RDF_PROFILES)),
    "structured_data": ("ckanext.dcat.structured_data.profiles", ["schemaorg"]),
    "croissant": ("ckanext.dcat.croissant.profiles", ["croissant"]),
}
"""The plugins of ckanext-dcat that write datasets, each with the option for its profiles and their default: a
text or a list, as ckanext-dcat reads the option."""


def with_profile(configured: str | list[str] | None, default: str | list[str]) -> str | list[str]:
    """Return a site's profiles with ours at the end, in the form of the default.

    :param configured: the value of the option; if empty, the default applies
    """
    names = tk.aslist(configured) or tk.aslist(default)
    names = [*names, *([] if OUR_PROFILE in names else [OUR_PROFILE])]
    return " ".join(names) if isinstance(default, str) else names
