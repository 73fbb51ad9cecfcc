"""The vocabularies that records of FAIR Data Points use, beyond those that rdflib brings along."""

from __future__ import annotations

from rdflib import DCTERMS, FOAF, OWL, PROV, RDF, RDFS, SKOS, TIME, Namespace, URIRef

ADMS = Namespace("http://www.w3.org/ns/adms#")
DCAT = Namespace("http://www.w3.org/ns/dcat#")
"""With the terms of DCAT 3, which rdflib's closed list lacks."""
DCATAP = Namespace("http://data.europa.eu/r5r/")
DPV = Namespace("https://w3id.org/dpv#")
DQV = Namespace("http://www.w3.org/ns/dqv#")
FDP_O = Namespace("https://w3id.org/fdp/fdp-o#")
HEALTHDCATAP = Namespace("http://healthdataportal.eu/ns/health#")
LDP = Namespace("http://www.w3.org/ns/ldp#")
LOCN = Namespace("http://www.w3.org/ns/locn#")
OA = Namespace("http://www.w3.org/ns/oa#")
ODRL = Namespace("http://www.w3.org/ns/odrl/2/")
SCHEMA = Namespace("http://schema.org/")
SCHEMAS = Namespace("https://schema.org/")
"""schema.org itself says https since 2020; documents have both."""
SIO = Namespace("http://semanticscience.org/resource/")
SPDX = Namespace("http://spdx.org/rdf/terms#")
VCARD = Namespace("http://www.w3.org/2006/vcard/ns#")

HOME_PAGE = URIRef(str(FOAF) + "homePage")
"""How the reference implementation writes ``foaf:homepage``."""

PREFIXES = {
    "adms": ADMS,
    "dcat": DCAT,
    "dcatap": DCATAP,
    "dct": DCTERMS,
    "dpv": DPV,
    "dqv": DQV,
    "fdp-o": FDP_O,
    "foaf": FOAF,
    "healthdcatap": HEALTHDCATAP,
    "locn": LOCN,
    "oa": OA,
    "odrl": ODRL,
    "owl": OWL,
    "prov": PROV,
    "rdf": RDF,
    "rdfs": RDFS,
    "schema": SCHEMA,
    "schemas": SCHEMAS,
    "sio": SIO,
    "skos": SKOS,
    "spdx": SPDX,
    "time": TIME,
    "vcard": VCARD,
}
"""The prefixes under which people know these vocabularies."""


def short(iri: str) -> str:
    """Return an IRI with its prefix, or in angle brackets if it is of another vocabulary."""
    for prefix, space in PREFIXES.items():
        if iri.startswith(str(space)):
            return f"{prefix}:{iri[len(str(space)) :]}"
    return f"<{iri}>"
