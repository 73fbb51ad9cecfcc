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

from .aging.evidence import Evidence
from .aging.vocabularies import term_lists
from .ckan_adapter.core import NAMES

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
    """A profile that overwrites what earlier profiles say about updates."""

    def parse_dataset(self, dataset_dict: dict[str, Any], dataset_ref: Any) -> dict[str, Any]:
        """Return the dataset as it is: this profile reads nothing."""
        return dataset_dict

    def graph_from_dataset(self, dataset_dict: dict[str, Any], dataset_ref: Any) -> None:
        """Write into the graph when and how often the data are updated, if known."""
        extras = {extra["key"]: extra["value"] for extra in dataset_dict.get("extras") or ()}
        modified = extras.get(NAMES.last_modified)
        is_added = extras.get(NAMES.evidence) == Evidence.CREATED.value
        if modified and not is_added:
            self.g.set((dataset_ref, DCTERMS.modified, Literal(modified, datatype=XSD.dateTime)))
        elif NAMES.status in extras and not (
            extras.get("modified") or dataset_dict.get("modified")
        ):
            # Nobody knows when the data last changed. The date of the metadata would be that of a confirmation
            # or a harvest, or of the day on which the data were added here.
            self.g.remove((dataset_ref, DCTERMS.modified, None))
        given = self.g.value(dataset_ref, DCTERMS.accrualPeriodicity)
        # An IRI that the publisher has chosen is at least as exact.
        if not isinstance(given, URIRef) and (name := _code(given, extras.get(NAMES.frequency))):
            self.g.set((dataset_ref, DCTERMS.accrualPeriodicity, URIRef(_AUTHORITY + name)))


def _code(given: Any, days: str | None) -> str | None:
    """Return the authority's code for a frequency; None if it has none.

    :param given: what an earlier profile wrote: a code of the authority may be more exact than days, such as
        ``HOURLY``
    :param days: our extra with the number of days
    """
    code = str(given or "").strip().upper()
    if code in term_lists()["eu"].terms:
        return code
    try:
        return None if days is None else FREQUENCIES.get(int(days))
    except ValueError:
        return None


def with_profile(configured: str | None) -> str:
    """Return the site's profiles with ours at the end.

    :param configured: the value of the option; if empty, ckanext-dcat's default profiles apply
    """
    names = (configured or "").split() or list(DEFAULT_RDF_PROFILES)
    return " ".join([*names, *([] if NAME in names else [NAME])])
