"""A first request to a source, so that a wrong URL is reported before the demo is set up."""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.request
from urllib.parse import urlsplit

from stack.errors import StackError

PATIENCE = 15.0
"""Seconds for the first bytes of an answer."""
EXAMPLE = "Give the URL of a FAIR Data Point or of one catalog, such as https://fdp.example.org"


def check_source(url: str) -> None:
    """Send one request to a source. The answer itself does not matter here: the harvest judges it.

    :raises StackError: the URL is none of a web server, or nothing answers there.
    """
    if "@" in url.partition("://")[2].partition("/")[0]:
        # The message does not quote the URL, so that logs do not contain the password.
        raise StackError(
            "--source holds a user name or a password, which everybody could read on the source's "
            "page. Give the URL without; a header for it can be set in the source's configuration."
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise StackError(f"--source {url!r} is no URL: {error}. {EXAMPLE}") from error
    if parts.scheme not in ("http", "https"):
        raise StackError(f"--source {url!r} does not begin with http:// or https://. {EXAMPLE}")
    if not parts.hostname:
        raise StackError(f"--source {url!r} names no host. {EXAMPLE}")
    if any(character.isspace() or not character.isprintable() for character in url) or port == 0:
        raise StackError(f"--source {url!r} cannot be asked for. {EXAMPLE}")
    why = _failure(url)
    if why:
        raise StackError(
            f"Nothing can be harvested from --source {url}: {why}. Look at the URL in a browser on "
            "this machine; without --source a FAIR Data Point of our own is harvested."
        )


def _failure(url: str) -> str | None:
    # As the harvester does it: no proxy but that of CKAN's own option, which the demo does not set.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url.partition("#")[0], headers={"Accept": "text/turtle"})
    try:
        opener.open(request, timeout=PATIENCE).close()
    except urllib.error.HTTPError:
        return None
    except (OSError, http.client.HTTPException, UnicodeError) as error:
        return _words(error.reason if isinstance(error, urllib.error.URLError) else error)
    return None


def _words(reason: object) -> str:
    if isinstance(reason, TimeoutError):
        return f"it has not answered for {PATIENCE:.0f} s"
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"its certificate cannot be verified ({reason.verify_message})"
    if isinstance(reason, http.client.HTTPException):
        return f"what answers is no web server ({type(reason).__name__})"
    text = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason)
    return f"nothing answers there ({text})"
