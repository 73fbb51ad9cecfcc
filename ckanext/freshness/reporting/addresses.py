"""E-mail addresses as people write them into one field, and texts that are safe on one line of a mail.

Pure.
"""

from __future__ import annotations

import re
import unicodedata

import idna

MOST_ADDRESSES = 10
"""Of one field: it says who looks after a dataset, and is no list for mailings."""

_LONGEST_FIELD = 4_000
_LONGEST_ADDRESS = 254
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_ADDRESS = re.compile(rf"[a-z0-9.!#$%&'*+/=?^_`{{|}}~-]{{1,64}}@{_LABEL}(?:\.{_LABEL})*")
"""What browsers take for an address (HTML, "valid e-mail address"): nothing in it ends a header."""
_IN_BRACKETS = re.compile(r"<([^<>]*)>")
_BIDI = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def parse(field: str | None) -> tuple[str, ...]:
    """The addresses in a field, each once, in its order: ``a@b, c@d``, ``Ann <a@b>; mailto:c@d``.

    In small letters, since nobody has two mailboxes that differ in that alone; a domain of other letters
    as its Punycode. What is no address is left out, and so is an entry with a line break or another
    control character in it: it wants to be a header.

    :returns: at most :data:`MOST_ADDRESSES`.
    """
    found: dict[str, None] = {}
    for entry in re.split("[,;]", (field or "")[:_LONGEST_FIELD]):
        stripped = entry.strip()
        if any(unicodedata.category(one) == "Cc" for one in stripped):
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
    """A text of somebody else's on one line: without control characters, and cut to a length.

    Line breaks would let a title write lines of its own into a mail, or headers; marks of direction
    would turn round what stands behind it.
    """
    plain = "".join(
        " " if unicodedata.category(one) in ("Cc", "Zl", "Zp") else one
        for one in (text or "")[: 4 * most]
        if one not in _BIDI and unicodedata.category(one) != "Cs"
    )
    words = " ".join(plain.split())
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"
