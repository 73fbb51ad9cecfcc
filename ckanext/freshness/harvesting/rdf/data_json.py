"""``data.json``: catalogues of DCAT-US, versions 1.1 and 3, as JSON-LD that can be read by itself.

Their keys are those of a JSON-LD context at a fixed URL, which is not loaded. This module has them as a table.
It runs in a process of the sandbox.
"""

from __future__ import annotations

import json
from typing import Any

_LINK = "@id"
_TERMS: dict[str, tuple[str, str | None]] = {
    "dataset": ("dcat:dataset", None),
    "distribution": ("dcat:distribution", None),
    "title": ("dct:title", None),
    "description": ("dct:description", None),
    "identifier": ("dct:identifier", None),
    "keyword": ("dcat:keyword", None),
    "theme": ("dcat:theme", None),
    "issued": ("dct:issued", None),
    "modified": ("dct:modified", None),
    "accrualPeriodicity": ("dct:accrualPeriodicity", None),
    "language": ("dct:language", None),
    "license": ("dct:license", None),
    "rights": ("dct:rights", None),
    "accessLevel": ("dct:accessRights", None),
    "spatial": ("dct:spatial", None),
    "temporal": ("dct:temporal", None),
    "landingPage": ("dcat:landingPage", _LINK),
    "references": ("foaf:page", _LINK),
    "conformsTo": ("dct:conformsTo", _LINK),
    "publisher": ("dct:publisher", None),
    "name": ("foaf:name", None),
    "contactPoint": ("dcat:contactPoint", None),
    "fn": ("vcard:fn", None),
    "hasEmail": ("vcard:hasEmail", None),
    "accessURL": ("dcat:accessURL", _LINK),
    "downloadURL": ("dcat:downloadURL", _LINK),
    "mediaType": ("dcat:mediaType", None),
    "format": ("dct:format", None),
    "byteSize": ("dcat:byteSize", None),
    "version": ("dcat:version", None),
    "catalog": ("dcat:catalog", None),
    "inSeries": ("dcat:inSeries", _LINK),
    # Classes, as DCAT-US 3 names them
    "Catalog": ("dcat:Catalog", None),
    "Dataset": ("dcat:Dataset", None),
    "DatasetSeries": ("dcat:DatasetSeries", None),
}
"""Terms with their properties. Values of terms with ``@id`` are links."""

CONTEXT: dict[str, Any] = {
    # What has no term stays, as a property without a field of its own.
    "@vocab": "https://resources.data.gov/resources/dcat-us/#",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "org": "http://www.w3.org/ns/org#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    **{term: {"@id": iri, "@type": kind} if kind else iri for term, (iri, kind) in _TERMS.items()},
}


def as_json_ld(body: bytes) -> bytes:
    """Return a ``data.json`` with the context inside; any other document unchanged.

    :param body: JSON in UTF-8.
    """
    try:
        found = json.loads(body, object_hook=_stated)
    except (ValueError, RecursionError):
        return body  # the parser says what is wrong, and where
    if not isinstance(found, dict) or not isinstance(found.get("dataset"), list):
        return body
    if not isinstance(found.get("@context", ""), str):
        return body
    # Any entry may stand for a dataset that is known: one that says nothing counts as one without identity.
    datasets = [
        {"@type": "dcat:Dataset", **(one if isinstance(one, dict) else {})}
        for one in found["dataset"]
    ]
    document = {**found, "@context": CONTEXT, "@type": "dcat:Catalog", "dataset": datasets}
    # Half a pair of surrogates is no character: it becomes a question mark.
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")


def _stated(found: dict[str, Any]) -> dict[str, Any]:
    """Return an object without keys that say nothing. An empty link would lead to the document itself."""
    return {key: value for key, value in found.items() if value not in (None, "")}
