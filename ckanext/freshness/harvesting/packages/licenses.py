"""From a licence's URL, identifier or title to the ``license_id`` in the site's register."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

# The part after the licence itself: another page, or another language, of the same licence.
_TAIL = re.compile(r"/(?:legalcode|deed)(?:\.[a-z-]+)*$|\.(?:html?|rdf|txt)$")
_URL = re.compile(r"(?:https?:)?//(?:www\.)?(?P<rest>.+)", re.IGNORECASE)
_NOT_IN_IDS = re.compile(r"[\s_]+")

_EU = r"publications\.europa\.eu/resource/authority/licence/"
_ODC = r"opendatacommons\.org/licenses/"
_RDFLICENSE = r"purl\.org/net/rdflicense/"
_SPDX = r"(?:spdx\.org/licenses/)?"
_CC = rf"(?:creativecommons\.org/licenses/|{_EU}cc_|{_RDFLICENSE}cc-|{_SPDX}cc-)"
_VERSION = r"(?:[/ _-]?v?(?P<v>\d(?:[._]\d)?))?"
_PORT = r"(?:/[a-z-]+)?"

# Pattern of a normalised licence, and the identifiers that registers may have for it, the most exact first.
# {v} is the version. CKAN's own register has URLs of opendefinition.org, which publishers never use.
_ALIASES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (rf"{_CC}(?P<kind>by(?:[-_]?(?:sa|nd))?){_VERSION}{_PORT}", ("cc-{kind}-{v}", "cc-{kind}")),
    (rf"{_CC}(?P<kind>by-?nc(?:-?(?:sa|nd))?){_VERSION}{_PORT}", ("cc-{kind}-{v}", "cc-nc")),
    (
        rf"creativecommons\.org/publicdomain/zero(?:/1\.0)?{_PORT}|{_EU}cc0"
        rf"|{_RDFLICENSE}cc-zero1\.0|{_SPDX}cc0-1\.0|cc-?0|cc-zero",
        ("cc0-1.0", "cc-zero"),
    ),
    (rf"{_EU}odc_by|{_ODC}by(?:/.*)?|{_SPDX}odc-by-1\.0", ("odc-by-1.0", "odc-by")),
    (rf"{_EU}odc_bl|{_ODC}odbl(?:/.*)?|{_SPDX}odbl(?:-1\.0)?", ("odbl-1.0", "odc-odbl")),
    (rf"{_EU}odc_pddl|{_ODC}pddl(?:/.*)?|{_SPDX}pddl-1\.0", ("odc-pddl-1.0", "odc-pddl")),
    (r"gnu\.org/(?:copyleft/fdl|licenses/fdl.*)", ("gfdl",)),
    (r"nationalarchives\.gov\.uk/doc/open-government-licence(?:/.*)?", ("ogl-uk-3.0", "uk-ogl")),
    (r"opendefinition\.org/licenses/(?P<id>[a-z0-9.-]+)", ("{id}",)),
)
_COMPILED = tuple((re.compile(pattern), ids) for pattern, ids in _ALIASES)
_PART = re.compile("[-_]?(nc|nd|sa)")


def normalise(text: str) -> str:
    """Return the normal form of a licence: the same text for all its spellings.

    A URL loses its scheme, ``www.``, query, fragment, last slash, and ``/legalcode`` or ``/deed`` with a
    language. Other texts get hyphens for spaces. Case does not count.
    """
    stripped = text.strip()
    url = _URL.fullmatch(stripped)
    if url is None:
        return _NOT_IN_IDS.sub("-", stripped.casefold())
    rest = re.split(r"[?#]", url["rest"].casefold())[0].rstrip("/")
    return _TAIL.sub("", rest).rstrip("/")


def license_index(licenses: Iterable[Mapping[str, object]]) -> dict[str, str]:
    """Return an index of the register for :func:`license_id`: normal form to identifier.

    If several licences share a URL or a title, the first one counts. An identifier means its own licence.

    :param licenses: the answer of the action ``license_list``.
    """
    entries = list(licenses)
    index: dict[str, str] = {}
    for key in ("id", "url", "title"):
        for entry in entries:
            text = entry.get(key)
            if isinstance(text, str) and text.strip():
                index.setdefault(normalise(text), str(entry["id"]))
    return index


def license_id(text: str, licenses: Mapping[str, str]) -> str | None:
    """Return the register's identifier for a licence; None if the register does not contain it.

    :param text: a URL, an identifier or a title.
    :param licenses: the result of :func:`license_index`.
    """
    key = normalise(text)
    if not key:
        return None
    if key in licenses:
        return licenses[key]
    for pattern, ids in _COMPILED:
        match = pattern.fullmatch(key)
        if match is None:
            continue
        parts = {name: value or "" for name, value in match.groupdict().items()}
        if "kind" in parts:
            kind, version = _PART.sub(r"-\1", parts["kind"]), parts["v"].replace("_", ".")
            parts = {"kind": kind, "v": version}
        for candidate in ids:
            found = licenses.get(candidate.format(**parts))
            if found is not None:
                return found
    return None


def distinct(texts: Iterable[str]) -> list[str]:
    """Return licences in sorted order, without other spellings of the same licence."""
    found: dict[str, str] = {}
    for text in sorted(texts):
        found.setdefault(normalise(text), text)
    return list(found.values())
