"""What the spellings of one URL have in common."""

from __future__ import annotations

import re

from ..web.errors import FetchError
from ..web.urls import parse_url

_ESCAPE = re.compile("%[0-9a-f]{2}", re.IGNORECASE)


def spelling(url: str) -> str:
    """The same for URLs that differ by a last slash, by percent-encoding or by the case of a host.

    What is no URL stays as it is.
    """
    try:
        url = parse_url(url).url
    except FetchError:
        return url
    return _ESCAPE.sub(lambda escape: escape[0].upper(), url).rstrip("/")


def loose_spelling(url: str) -> str:
    """As :func:`spelling`, and the same for http and https.

    For comparisons between one harvest and the next: in between a server may turn to https, while one
    listing may well hold both.
    """
    before, separator, rest = spelling(url).partition("://")
    return rest if separator and before in ("http", "https") else url


def spellings(url: str) -> tuple[str, ...]:
    """The :func:`spelling` of a URL, and the one with http in place of https, or the other way round."""
    plain = spelling(url)
    scheme, separator, rest = plain.partition("://")
    other = {"http": "https", "https": "http"}.get(scheme)
    return (plain, f"{other}{separator}{rest}") if other and separator else (plain,)
