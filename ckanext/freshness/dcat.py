"""A profile for ckanext-dcat that corrects the statements about a dataset's updates.

Without it ``dct:modified`` is the last edit of the metadata, and ``dct:accrualPeriodicity`` any text from the
field. The plugin adds the profile to the site's profiles if ckanext-dcat is enabled.
"""

from __future__ import annotations

from typing import Any

from rdflib import Literal, URIRef
from rdflib.namespace import DCTERMS, XSD

from ckanext.dcat.processors import DEFAULT_RDF_PROFILES
from ckanext.dcat.profiles import RDFProfile

from .ckan_adapter.site_names import site_names

NAME = "freshness"
OPTION = "ckanext.dcat.rdf.profiles"

_AUTHORITY = "http://publications.europa.eu/resource/authority/frequency/"
FREQUENCIES = {
    0: "UPDATE_CONT",
    -1: "NEVER",
    -2: "IRREG",
    1: "DAILY",
    7: "WEEKLY",
    14: "BIWEEKLY",
    30: "MONTHLY",
    60: "BIMONTHLY",
    90: "QUARTERLY",
    120: "ANNUAL_3",
    180: "ANNUAL_2",
    365: "ANNUAL",
    730: "BIENNIAL",
    1095: "TRIENNIAL",
    3650: "DECENNIAL",
}
"""Codes of the EU's authority table of frequencies, which DCAT-AP prescribes, by days."""


class FreshnessProfile(RDFProfile):
    """A profile that overwrites the modification date and the update frequency of earlier profiles."""

    def parse_dataset(self, dataset_dict: dict[str, Any], dataset_ref: Any) -> dict[str, Any]:
        """Return the dataset as it is: this profile reads nothing."""
        return dataset_dict

    def graph_from_dataset(self, dataset_dict: dict[str, Any], dataset_ref: Any) -> None:
        """Write the last modification and the update frequency into the graph, if they are known."""
        extras = {extra["key"]: extra["value"] for extra in dataset_dict.get("extras") or ()}
        if modified := extras.get(site_names().last_modified):
            self.g.set((dataset_ref, DCTERMS.modified, Literal(modified, datatype=XSD.dateTime)))
        days = _days(extras.get(site_names().frequency))
        name = None if days is None else FREQUENCIES.get(days)
        given = self.g.value(dataset_ref, DCTERMS.accrualPeriodicity)
        # An IRI that the publisher has chosen is at least as exact.
        if name is not None and not isinstance(given, URIRef):
            self.g.set((dataset_ref, DCTERMS.accrualPeriodicity, URIRef(_AUTHORITY + name)))


def _days(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def with_profile(configured: str | None) -> str:
    """Return the site's profiles with ours at the end.

    :param configured: the value of the option; if empty, ckanext-dcat's default profiles apply
    """
    names = (configured or "").split() or list(DEFAULT_RDF_PROFILES)
    return " ".join([*names, *([] if NAME in names else [NAME])])
