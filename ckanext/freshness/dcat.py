"""What ckanext-dcat says of a dataset's updates: a profile that makes two of its statements right.

Without it ``dct:modified`` is when the metadata were edited, and ``dct:accrualPeriodicity`` whatever stands
in the field. The profile is added to the site's where ckanext-dcat is enabled.
"""

from __future__ import annotations

from typing import Any

from rdflib import Literal, URIRef
from rdflib.namespace import DCTERMS, XSD

from ckanext.dcat.processors import DEFAULT_RDF_PROFILES
from ckanext.dcat.profiles import RDFProfile

from .field_names import NAMES

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
"""The EU's authority table of frequencies, which DCAT-AP prescribes, by days as we count them."""


class FreshnessProfile(RDFProfile):  # type: ignore[misc]
    """Writes what is known of updates over what profiles before it have written."""

    def parse_dataset(self, dataset_dict: dict[str, Any], dataset_ref: Any) -> dict[str, Any]:
        """Nothing is read by this profile."""
        return dataset_dict

    def graph_from_dataset(self, dataset_dict: dict[str, Any], dataset_ref: Any) -> None:
        """The last update of the data, and how often they are updated, as far as it is known."""
        extras = {one["key"]: one["value"] for one in dataset_dict.get("extras") or ()}
        if modified := extras.get(NAMES.last_modified):
            self.g.set((dataset_ref, DCTERMS.modified, Literal(modified, datatype=XSD.dateTime)))
        days = _days(extras.get(NAMES.frequency))
        name = None if days is None else FREQUENCIES.get(days)
        given = self.g.value(dataset_ref, DCTERMS.accrualPeriodicity)
        # An IRI of the publisher's own choice says at least as much.
        if name is not None and not isinstance(given, URIRef):
            self.g.set((dataset_ref, DCTERMS.accrualPeriodicity, URIRef(_AUTHORITY + name)))


def _days(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def with_profile(configured: str | None) -> str:
    """The site's profiles, and ours behind them.

    :param configured: the option's value; ckanext-dcat's own profiles where it has none.
    """
    names = (configured or "").split() or list(DEFAULT_RDF_PROFILES)
    return " ".join([*names, *([] if NAME in names else [NAME])])
