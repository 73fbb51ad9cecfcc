"""Keys of the store, made of names that others have chosen. Pure.

A key is a relative path of lower-case ASCII segments that is a legal name on every file system and in
every object store. Names come from registries and may hold anything: `/`, ``..``, NUL, 300 characters,
any script, the same word in another case. What is ordinary stays as it is; anything else is spelled in
ASCII and gets a digest of the whole name after a ``~``, which no ordinary name has: two names never
have one key, and none leaves the store.
"""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata

_ORDINARY = re.compile(r"[a-z0-9_][a-z0-9_-]{0,99}")
"""What CKAN, and so the IATI Registry, takes as a name: lower-case, at most 100 characters."""

_SEGMENT = r"[a-z0-9_](?:[a-z0-9_.~-]{0,198}[a-z0-9_~-])?"

_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
)
"""What Windows takes for a device, whatever comes after a dot."""

_DEVICE = rf"(?:{'|'.join(sorted(_DEVICES))})(?=[./]|\Z)"
_KEY = re.compile(rf"(?!{_DEVICE}){_SEGMENT}(?:/(?!{_DEVICE}){_SEGMENT})*")

_STEM_CHARACTERS = 60
_MEMBER_BYTES = 150
_NOT_IN_A_MEMBER = re.compile(
    r'[\x00-\x1f\x7f-\x9f/\\:*?"<>|\ud800-\udfff\u202a-\u202e\u2066-\u2069]+'
)
"""Separators, what Windows refuses, and what shows a name otherwise than it is."""


def segment(name: str) -> str:
    """A part of a key for a name: the name itself if it is ordinary.

    >>> segment("aidagency-tz")
    'aidagency-tz'
    >>> segment("Aid/Agency")
    'aid-agency~gul5zxwlbony2zx2qsqnzlqyrmg4ngzn'
    """
    if _ORDINARY.fullmatch(name) and name not in _DEVICES:
        return name
    folded = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    stem = re.sub(r"[^a-z0-9_]+", "-", folded)[:_STEM_CHARACTERS].strip("-")
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:20]
    return f"{stem or 'x'}~{base64.b32encode(digest).decode().lower()}"


def iati_key(organisation: str, dataset: str) -> str:
    """Where the copy of an IATI file is: ``{organisation}/{dataset}.xml``, by their short names."""
    return f"{segment(organisation)}/{segment(dataset)}.xml"


def resource_key(resource_id: str) -> str:
    """Where the copy of any other resource is, whatever its file is called.

    The folder's name has a dot, so it is never an organisation's.
    """
    part = segment(resource_id)
    return f"resources.d/{part[:2]}/{part}"


def zip_key(key: str) -> str:
    """Where the ZIP of a copy of its own is: beside it, with the ending ``.zip``."""
    folder, slash, name = key.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    return f"{folder}{slash}{stem if dot and ending != 'zip' else name}.zip"


def member(filename: str) -> str:
    """The name of a file inside a ZIP of its own: one that unpacks into the folder where it is unpacked.

    Other scripts stay; separators, control characters and what Windows refuses become ``_``.
    """
    text = _NOT_IN_A_MEMBER.sub("_", unicodedata.normalize("NFC", filename)).strip(" .")
    stem, dot, ending = text.rpartition(".")
    if not dot or len(ending.encode()) > 20:
        stem, dot, ending = text, "", ""
    room = _MEMBER_BYTES - len(f"{dot}{ending}".encode())
    stem = stem.encode()[:room].decode("utf-8", "ignore").strip(" .")
    device = stem.partition(".")[0].lower() in _DEVICES
    return f"{'_' if device else ''}{stem or 'data'}{dot}{ending}"


def check(key: str) -> str:
    """The key, if it is one.

    :raises ValueError: it is none: a part is empty, ``..``, hidden, too long, or has characters that
        :func:`segment` never gives.
    """
    if len(key) > 900 or not _KEY.fullmatch(key):
        raise ValueError(f"{key!r} is not a key of the store")
    return key
