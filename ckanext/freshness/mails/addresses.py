"""Parsing of fields with e-mail addresses, and texts that are safe in one line of a mail. Pure."""

from __future__ import annotations

import re
import unicodedata

import idna

MOST_ADDRESSES = 10
"""Addresses to read from one field: the field names a dataset's maintainers, not a mailing list."""

_LONGEST_FIELD = 4_000
_LONGEST_ADDRESS = 254
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_ADDRESS = re.compile(rf"[a-z0-9.!#$%&'*+/=?^_`{{|}}~-]{{1,64}}@{_LABEL}(?:\.{_LABEL})*")
"""HTML's definition of a valid e-mail address. It contains nothing that could end a header."""
_IN_BRACKETS = re.compile(r"<([^<>]*)>")
_BIDI = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def parse(field: str | None) -> tuple[str, ...]:
    """Return the addresses in a field, without repetitions, in order: ``a@b, c@d``, ``Ann <a@b>; mailto:c@d``.

    Addresses are returned in lower case, international domains in Punycode. Entries that are no address
    are left out, and so are entries with line breaks or other control characters, which could inject a
    header.

    :returns: at most :data:`MOST_ADDRESSES` addresses
    """
    found: dict[str, None] = {}
    for entry in re.split("[,;]", (field or "")[:_LONGEST_FIELD]):
        stripped = entry.strip()
        if any(unicodedata.category(char) == "Cc" for char in stripped):
            continue
        for word in _IN_BRACKETS.findall(stripped) or stripped.split():
            address = _address(word.strip())
            if address is not None:
                found[address] = None
    return tuple(found)[:MOST_ADDRESSES]


def _address(word: str) -> str | None:
    local, at, domain = word.lower().removeprefix("mailto:").rpartition("@")
    if at and not domain.isascii():
        try:
            domain = idna.encode(domain, uts46=True).decode()
        except idna.IDNAError:
            return None
    address = f"{local}{at}{domain}"
    return address if len(address) <= _LONGEST_ADDRESS and _ADDRESS.fullmatch(address) else None


def line(text: str | None, most: int = 200) -> str:
    """Return a foreign text without line breaks, control characters and direction marks, cut to a length.

    Line breaks in a title could add lines or headers to a mail. Direction marks could reverse the text
    behind them.
    """
    plain = "".join(
        " " if unicodedata.category(char) in ("Cc", "Zl", "Zp") else char
        for char in (text or "")[: 4 * most]
        if char not in _BIDI and unicodedata.category(char) != "Cs"
    )
    words = " ".join(plain.split())
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"
