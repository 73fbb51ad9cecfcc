"""URLs: parsing, normalising and displaying.

A URL stays as its author wrote it. Percent-escapes are not changed, because that would break signed URLs;
only characters that RFC 3986 forbids are percent-encoded. The host is normalised to the form that is
connected to: names by RFC 5891, IPv4 addresses from the decimal, octal, hexadecimal and shortened forms
of ``inet_aton`` (WHATWG URL Standard, section 3.5). Comparing hosts therefore compares the machines that
are requested. User and password become an ``Authorization`` header; no URL of this module contains them.
"""

from __future__ import annotations

import contextlib
import re
import string
from base64 import b64encode
from dataclasses import dataclass, field, replace
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import quote_from_bytes, unquote, unquote_to_bytes, urljoin

import idna

from .errors import FailureReason, FetchError

MAX_URL_BYTES = 8192
"""The longest URL that is requested, in bytes, percent-encoded."""

DEFAULT_PORTS = {"http": 80, "https": 443}

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_REST = re.compile(r"//([^/?#]*)([^#]*)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BEFORE_QUERY = re.compile(r"([^?#]*)(.*)", re.DOTALL)
_SLASHES = re.compile(r"\A((?i:https?:)?)///+")
_ODD_SLASHES = re.compile(r"\A((?i:https?):)/?(?!/)")
_LINE_BREAKS = re.compile(r"[\t\r\n]+")
_NOT_ALLOWED = re.compile(r"%(?![0-9A-Fa-f]{2})|[^%!$&'()*+,;=:@/?\-._~A-Za-z0-9]+")
_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?")
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")

_USERINFO = re.compile(
    r"(^(?:[A-Za-z][A-Za-z0-9+.\-]*:)?/*|//)[^/?#]*@"
    # A password with a slash, ? or #, which no URL may have, in place of a port
    r"|(//)[^/?#@:\[]+:(?!\d{0,5}(?:[/?#]|\Z))[^@]*@"
)
# Searches a parameter's name for keywords only if it has a value: else the time grows with the square of
# its length. A URL in a parameter of another is escaped.
_SECRET_VALUE = re.compile(
    r"(?i)((?:[?&;#]|%3f|%26)(?=[^=&;#?]*?(?:=|%3d))"
    r"(?:[^=&;#?]*?(?:token|secret|passw|passphrase|pwd|signature|credential|api[._-]?key|auth(?!or(?!i[sz]))"
    r"|session|sessid|jwt|bearer)[^=&;#?]*?"
    r"|(?:[^=&;#?]*[_-]|access|app|service|user)?key|sig|sid|pass|pw|appid|ticket|hmac)"
    r"(?:=|%3d))[^&;#]*"
)
_SHOWN = 500
_ANY_ESCAPE = re.compile("%[0-9a-f]{2}", re.IGNORECASE)
_UNRESERVED = frozenset(string.ascii_letters + string.digits + "-._~")
"""Characters that mean the same with and without an escape (RFC 3986, section 2.3)."""


@dataclass(frozen=True, slots=True)
class Target:
    """A parsed URL that can be requested.

    :ivar url: normalised, without user, password and fragment
    :ivar host: lower case, ASCII; an IPv6 address without brackets
    :ivar authorization: the ``Authorization`` header for the URL's user and password
    """

    url: str
    scheme: str
    host: str
    port: int
    authorization: str | None = field(default=None, repr=False)

    @property
    def origin(self) -> tuple[str, str, int]:
        """Return scheme, host and port (RFC 6454), to which secret headers are bound."""
        return (self.scheme, self.host, self.port)

    @property
    def authority(self) -> str:
        """Return host and port as in a ``Host`` header, without the final dot of a full name."""
        start = len(self.scheme) + 3
        text = self.url[start : self.url.index("/", start)]
        return text.replace(self.host, self.host.rstrip("."), 1) if self.host[-1] == "." else text

    @property
    def path(self) -> str:
        """Return the part of the URL after host and port, from its slash on."""
        return self.url[self.url.index("/", len(self.scheme) + 3) :]

    @property
    def is_address(self) -> bool:
        """Decide whether the host is an address and not a name."""
        return ":" in self.host or self.host.rpartition(".")[2].isdigit()


def parse_url(given: str) -> Target:
    """Parse a URL.

    :raises FetchError: ``INVALID_URL``, ``INVALID_REQUEST`` or ``SCHEME_REFUSED``; no other error, whatever the
        text is
    """
    text = given.strip(" \t\r\n\f\v")
    if not text:
        raise _invalid(given, "is empty")
    if len(text) > MAX_URL_BYTES:
        raise _too_long(given)
    if _CONTROL.search(text):
        raise _invalid(given, "has control characters in it")
    match = _SCHEME.match(text)
    if match is None:
        raise _invalid(given, "does not begin with http:// or https://")
    scheme = match.group(1).lower()
    if scheme not in DEFAULT_PORTS:
        raise FetchError(
            FailureReason.SCHEME_REFUSED,
            display_url(given),
            f"is a {scheme}: URL; only http and https are requested",
        )
    rest = _REST.match(text, match.end())
    if rest is None:
        raise _invalid(given, f"has no // after {scheme}:")
    authority, path = rest.groups()
    if "\\" in authority:
        # Browsers read it as a slash, libraries do not: they would request different hosts.
        raise _invalid(given, "has a backslash in its host")
    userinfo, _, hostport = authority.rpartition("@")
    if not path.startswith("/"):
        path = "/" + path
    if "/." in path and not path.startswith("//"):
        # Browsers resolve dots, and some servers refuse them.
        path = urljoin("http://h", path)[len("http://h") :]
    try:
        host, port = _host_and_port(hostport, DEFAULT_PORTS[scheme])
        shown_host = f"[{host}]" if ":" in host else host
        shown_port = "" if port == DEFAULT_PORTS[scheme] else f":{port}"
        url = f"{scheme}://{shown_host}{shown_port}{_NOT_ALLOWED.sub(_escape, path)}"
        authorization = _basic(userinfo) if userinfo else None
    except UnicodeEncodeError:
        raise _invalid(given, "has characters in it that are none") from None
    except ValueError as error:
        raise _invalid(given, str(error)) from None
    if len(url) > MAX_URL_BYTES:
        raise _too_long(given)
    return Target(url, scheme, host, port, authorization)


def join_url(base: Target, location: str) -> Target:
    """Resolve a ``Location`` header against ``base`` (RFC 9110, section 10.2.2).

    User and password of the location are dropped. Those of ``base`` are kept if the origin stays the same.

    :raises FetchError: ``INVALID_URL`` or ``SCHEME_REFUSED``
    """
    try:
        joined = urljoin(base.url, _as_browsers(location))
    except ValueError:
        raise _invalid(location, "is malformed") from None
    target = parse_url(joined)
    kept = base.authorization if target.origin == base.origin else None
    return replace(target, authorization=kept)


def _as_browsers(text: str) -> str:
    """Return a URL as browsers read it: without line breaks and tabs, with slashes for backslashes, and with no
    more than two slashes before the host."""
    beginning = _BEFORE_QUERY.match(_LINE_BREAKS.sub("", text.strip(" \t\r\n\f\v")))
    assert beginning is not None
    return _SLASHES.sub(r"\1//", beginning[1].replace("\\", "/")) + beginning[2]


def _escape(match: re.Match[str]) -> str:
    # aiohttp returns header bytes that are not UTF-8 as surrogates. A Location keeps these bytes.
    return quote_from_bytes(match.group().encode("utf-8", "surrogateescape"), safe="")


def _basic(userinfo: str) -> str:
    """Return the ``Authorization`` header for the ``user:password`` of a URL (RFC 7617)."""
    user, _, password = userinfo.partition(":")
    return "Basic " + b64encode(unquote_to_bytes(user) + b":" + unquote_to_bytes(password)).decode()


def _host_and_port(text: str, default: int) -> tuple[str, int]:
    """Return the normalised host and the port of a URL.

    :raises ValueError: one of them is none; the message says so in the end of a sentence
    """
    if text.startswith("["):
        literal, bracket, tail = text[1:].partition("]")
        if not bracket or (tail and not tail.startswith(":")):
            raise ValueError("has a malformed IPv6 address as its host")
        name, digits = f"[{literal}]", tail[1:]
    else:
        name, _, digits = text.partition(":")
    host = normal_host(name)
    if not digits:
        return host, default
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 9):
        raise ValueError("has a port that is no number")
    port = int(digits)
    if not 1 <= port <= 65535:
        raise ValueError("has a port outside of 1 to 65535")
    return host, port


def _ipv6(literal: str) -> str:
    # A zone ("%eth0") is valid only on the machine where the URL was written.
    if "%" not in literal:
        with contextlib.suppress(ValueError):
            return str(IPv6Address(literal))
    raise ValueError("has a malformed IPv6 address as its host")


@lru_cache(maxsize=1024)
def normal_host(name: str) -> str:
    """Normalise a host: a name, an IPv4 address in any form, or an IPv6 address in brackets.

    :raises ValueError: it is none; the message says so in the end of a sentence
    """
    if not name:
        raise ValueError("has no host")
    if name.startswith("[") and name.endswith("]"):
        return _ipv6(name[1:-1])
    try:
        host = unquote(name, errors="strict").lower()
        if not host.isascii():
            # As browsers: without the rules of registries, by which no label may have an underscore or a heart.
            labels = idna.uts46_remap(host, std3_rules=False).split(".")
            host = ".".join(map(_ascii_label, labels))
    except UnicodeError:
        raise ValueError("has a host name that cannot exist") from None
    if len(host) > 254 or not _NAME.fullmatch(host):
        raise ValueError("has a host name that cannot exist")
    if _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
        return _ipv4(host.rstrip("."))
    return host


def _ascii_label(label: str) -> str:
    return label if label.isascii() else f"xn--{label.encode('punycode').decode()}"


def host_name(name: str) -> str:
    """Normalise the host name of a setting, so that it can be compared with the hosts of URLs.

    :raises ValueError: it is no host name
    """
    try:
        return normal_host(name).rstrip(".")
    except ValueError:
        raise ValueError(f"{name!a} is not the name of a host") from None


def _ipv4(host: str) -> str:
    """Return ``127.0.0.1`` for ``2130706433``, ``0x7f.1`` and ``0177.0.0.1``, as inet_aton reads them."""
    parts = host.split(".")
    if len(parts) <= 4 and all(map(_NUMBER.fullmatch, parts)):
        try:
            *first, last = [_number(part) for part in parts]
        except ValueError:
            pass
        else:
            if all(n < 256 for n in first) and last < 256 ** (4 - len(first)):
                return str(IPv4Address(sum(n << 8 * (3 - i) for i, n in enumerate(first)) + last))
    raise ValueError("has a malformed IPv4 address as its host")


def _number(part: str) -> int:
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    return int(part, 8 if part.startswith("0") else 10)


def display_url(url: str) -> str:
    """Return a URL for display and logs: one line, without passwords and tokens, at most 500 characters.

    Accepts any text and never raises. The result is to be read, not requested.
    """
    shown = url.strip()
    if "@" in shown:
        shown = _USERINFO.sub(r"\1\2***@", shown)
    if "=" in shown:
        shown = _SECRET_VALUE.sub(r"\1***", shown[: 4 * _SHOWN])
    if len(shown) > _SHOWN:
        shown = shown[:_SHOWN] + "…"
    if not shown.isprintable():
        shown = "".join(c if c.isprintable() else _visible(c) for c in shown)
    return shown or "(no URL)"


def _visible(character: str) -> str:
    return quote_from_bytes(character.encode("utf-8", "surrogatepass"), safe="")


def _invalid(given: str, why: str, reason: FailureReason = FailureReason.INVALID_URL) -> FetchError:
    return FetchError(reason, display_url(given), f"cannot be requested: it {why}")


def _too_long(given: str) -> FetchError:
    # Some servers take longer ones: the limit is ours.
    why = f"is longer than {MAX_URL_BYTES} bytes"
    return _invalid(given, why, FailureReason.INVALID_REQUEST)


def parse_link(url: str) -> Target:
    """Parse the URL of a resource as CKAN shows it: where it has no scheme, ``http://`` stands before it.

    As in browsers, any number of slashes may stand behind the scheme.

    :raises FetchError: see :func:`parse_url`
    """
    return parse_url(_as_link(url))


def _as_link(url: str) -> str:
    link = _ODD_SLASHES.sub(r"\1//", _as_browsers(url))
    return link if not link or _SCHEME.match(link) else f"http://{link.lstrip('/')}"


def display_link(url: str) -> str:
    """Return the URL of a resource as CKAN shows it, for display; see :func:`display_url`.

    The URL of an upload is the name of its file, without a slash, and stays as it is.
    """
    return display_url(_as_link(url) if "/" in url else url)


def host_of(url: str) -> str:
    """Return the normalised host of a resource's URL; empty if the URL names none."""
    try:
        return parse_link(url).host
    except FetchError:
        return ""


def spelling(url: str) -> str:
    """Return a normal form of a URL, by which two URLs that mean the same are equal.

    It has no last slash, its host is in lower case, and its escapes are those of RFC 3986, section 6.2.2:
    unreserved characters have none, and all others are in upper case. A fragment stays: one document may
    describe many records whose URLs differ in nothing else. A text that is not a URL stays as it is.
    """
    try:
        plain = parse_url(url).url
    except FetchError:
        return url
    plain = _ANY_ESCAPE.sub(_plain_escape, plain).rstrip("/")
    fragment = url.partition("#")[2]
    return f"{plain}#{fragment}" if fragment else plain


def _plain_escape(escape: re.Match[str]) -> str:
    character = chr(int(escape[0][1:], 16))
    return character if character in _UNRESERVED else escape[0].upper()


def loose_spelling(url: str) -> str:
    """Return the :func:`spelling` of a URL without its scheme, http or https.

    Use this to compare with what was there before: a server may turn to https in between. Within one
    listing compare by :func:`spelling`, because a listing may contain both.
    """
    scheme, separator, rest = spelling(url).partition("://")
    return rest if separator and scheme in ("http", "https") else url
