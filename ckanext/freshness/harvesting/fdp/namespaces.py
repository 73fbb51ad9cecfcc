"""The vocabularies that records of FAIR Data Points use, beyond those that rdflib brings along."""

from __future__ import annotations

from rdflib import Namespace

ADMS = Namespace("http://www.w3.org/ns/adms#")
DCAT = Namespace("http://www.w3.org/ns/dcat#")
"""With the terms of DCAT 3, which rdflib's closed list lacks."""
DCATAP = Namespace("http://data.europa.eu/r5r/")
DPV = Namespace("https://w3id.org/dpv#")
DQV = Namespace("http://www.w3.org/ns/dqv#")
HEALTHDCATAP = Namespace("http://healthdataportal.eu/ns/health#")
LOCN = Namespace("http://www.w3.org/ns/locn#")
OA = Namespace("http://www.w3.org/ns/oa#")
SCHEMA = Namespace("http://schema.org/")
SCHEMAS = Namespace("https://schema.org/")
"""schema.org itself says https since 2020; documents have both."""
SPDX = Namespace("http://spdx.org/rdf/terms#")
VCARD = Namespace("http://www.w3.org/2006/vcard/ns#")
