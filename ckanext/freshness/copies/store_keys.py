"""Keys of copies, made from names that come from registries. Pure.

A key is a relative path of lower-case ASCII segments that every file system and every object store
accepts. The names may contain anything: ``/``, ``..``, NUL, 300 characters, any script, or the same word
in another case. An ordinary name stays as it is. Any other name is spelled in ASCII and followed by a
``~`` and a digest of the whole name; no ordinary name has a ``~``. So two names never have the same key,
and no key leads out of the store.
"""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata

_ORDINARY = re.compile(r"[a-z0-9_][a-z0-9_-]{0,99}")
"""A name as CKAN, accepts it: lower case, at most 100 characters."""

_SEGMENT = r"[a-z0-9_](?:[a-z0-9_.~-]{0,198}[a-z0-9_~-])?"

_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
)
"""Names that Windows reads as a device, with any extension."""

_DEVICE = rf"(?:{'|'.join(sorted(_DEVICES))})(?=[./]|\Z)"
_KEY = re.compile(rf"(?!{_DEVICE}){_SEGMENT}(?:/(?!{_DEVICE}){_SEGMENT})*")

_STEM_CHARACTERS = 60
_MEMBER_BYTES = 150
_NOT_IN_A_MEMBER = re.compile(
    r'[\x00-\x1f\x7f-\x9f/\\:*?"<>|\ud800-\udfff\u202a-\u202e\u2066-\u2069]+'
)
"""Separators, characters that Windows refuses, and characters that change how a name is displayed."""


def segment(name: str) -> str:
    """Return the segment of a key for a name, which is the name itself if it is ordinary.

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


def registry_key(organisation: str, dataset: str) -> str:
    """Return the key of a registry's XML file: ``{organisation}/{dataset}.xml``, by their short names."""
    return f"{segment(organisation)}/{segment(dataset)}.xml"


RESOURCES = "resources.d/"
"""The beginning of the keys of all resources."""


def resource_key(resource_id: str) -> str:
    """Return the key of any other resource. It does not depend on the file's name.

    The folder's name has a dot, so no organisation's folder has it.
    """
    part = segment(resource_id)
    return f"{RESOURCES}{part[:2]}/{part}"


def zip_key(key: str) -> str:
    """Return the key of the ZIP of a copy: beside it, with the extension ``.zip``."""
    folder, slash, name = key.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    return f"{folder}{slash}{stem if dot and ending != 'zip' else name}.zip"


def member(filename: str) -> str:
    """Return a safe name for a file inside a ZIP, which cannot unpack outside the chosen folder.

    Characters of other scripts stay. Separators, control characters and characters that Windows refuses
    become ``_``.
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
    """Return a key if it is valid.

    :raises ValueError: a segment is empty, ``..``, hidden or too long, or has characters that
        :func:`segment` never returns
    """
    if len(key) > 900 or not _KEY.fullmatch(key):
        raise ValueError(f"{key!r} is not a key of the store")
    return key
