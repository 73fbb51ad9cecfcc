"""Answers of servers as bytes, with what three nightly checks find: the table of what browsers read and save.

Each case has a host of its own. What a server answers may depend on the night and on the request.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

from ckanext.freshness.checking.decisions import Outcome
from ckanext.freshness.tests.checking.test_formats import (
    ERROR_TEXTS,
    PAGE,
    REPORT,
    TOKEN,
)
from ckanext.freshness.tests.checking.test_pages import F5, IMPERVA, LOST, SEARCH
from ckanext.freshness.tests.checking.workbooks import archive
from ckanext.freshness.tests.web.test_second_look import READ, REFUSED

NOW = datetime(2026, 11, 21, 12, tzinfo=timezone.utc)
MOST_BYTES = 1 << 20
"""The size of the largest file that is read."""
BODY = b"id,name\n1,Ada\n"
OTHER = b"id,name\n1,Ada\n2,Grace\n"
ROWS = b"id,name\n" + b"1,Ada\n" * 999
OBJECTS = b'{"rows": [%b]}' % b", ".join([b"1"] * 999)
GONE = b'{"error": {"code": 500, "message": "Service x/MapServer not started"}}'
ETAG = b'ETag: "1"\r\n'
OLDER = b"Last-Modified: Sat, 01 Aug 2026 10:00:00 GMT\r\n"
OLD = b"Last-Modified: Tue, 01 Sep 2026 10:00:00 GMT\r\n"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request.

    :ivar night: 0, 1 or 2
    :ivar number: of the request in this night, from 0
    """

    night: int
    number: int
    target: str
    headers: bytes

    @property
    def is_conditional(self) -> bool:
        return b"if-none-match:" in self.headers or b"if-modified-since:" in self.headers

    @property
    def has_cookie(self) -> bool:
        return b"cookie: " in self.headers


Answer = Callable[[Asked], bytes]
"""Returns the bytes of an answer, after which the connection is closed. ``b""`` closes it at once."""

FIRST, SAME, CHANGED = Outcome.FIRST_HASH, Outcome.SAME_HASH, Outcome.CHANGED
ERROR, CANNOT_TELL, UNCONFIRMED = Outcome.ERROR, Outcome.CANNOT_TELL, Outcome.UNCONFIRMED
WORKS = (FIRST, SAME, SAME)
PAGES_ONLY = (Outcome.PAGE,) * 3
BROKEN = (ERROR, ERROR, ERROR)
UNCHECKED = (CANNOT_TELL, CANNOT_TELL, CANNOT_TELL)
UNTOUCHED = (FIRST, Outcome.NOT_MODIFIED, Outcome.NOT_MODIFIED)


@dataclass(frozen=True, slots=True)
class Case:
    """An answer, and the outcomes of three nights.

    :ivar dated: the nights whose Last-Modified is evidence; None: any
    :ivar link: what stands before host and path in the catalogue
    """

    name: str
    answer: Answer
    nights: tuple[Outcome, Outcome, Outcome]
    format: str = "CSV"
    dated: tuple[int, ...] | None = None
    link: str = "http://"
    may_be_landing_page: bool = False


def say(status: int, body: bytes = b"", headers: bytes = b"") -> bytes:
    """Return an answer as it should be."""
    return b"HTTP/1.1 %d X\r\n%bContent-Length: %d\r\n\r\n%b" % (status, headers, len(body), body)


def always(sent: bytes) -> Answer:
    return lambda _: sent


def simple(
    prefix: str,
    cases: Iterable[tuple[str, bytes]],
    nights: tuple[Outcome, Outcome, Outcome],
) -> Iterator[Case]:
    """Yield cases whose server always says the same."""
    for name, sent in cases:
        yield Case(f"{prefix}: {name}", always(sent), nights)


def nightly(*bodies: bytes, headers: bytes = b"") -> Answer:
    """Return a server with another file each night."""
    return lambda asked: say(200, bodies[asked.night], headers)


def moving(body: bytes) -> Answer:
    """Return a server that gives the same bytes another date each night."""

    def answer(asked: Asked) -> bytes:
        modified = NOW - timedelta(days=10 - asked.night, minutes=17)
        date = format_datetime(modified, usegmt=True).encode()
        return say(200, body, b"Last-Modified: %b\r\n" % date)

    return answer


def known(to_conditions: bytes) -> Answer:
    """Return a server that answers conditional requests with these bytes."""
    return lambda asked: to_conditions if asked.is_conditional else say(200, BODY, ETAG + OLD)


# Cookies and redirects


def redirect(to: str, headers: bytes = b"", body: bytes = b"") -> bytes:
    return say(302, body, b"Location: %b\r\n%b" % (to.encode(), headers))


SEARCHED = f"<html>{LOST}{SEARCH}</html>".encode()
META = b"<html><meta http-equiv='refresh' content=\"%b\"></html>"


def refreshed(page: bytes, later: bytes = BODY) -> Answer:
    """Return a server whose page sends browsers to its file, which is another from the second night on."""
    return lambda asked: (
        say(200, later if asked.night else BODY) if "?next" in asked.target else page
    )


COOKIE = b"Set-Cookie: seen=1; Path=/\r\n"


def reloading(page: bytes, later: bytes = BODY) -> Answer:
    """Return a server whose page sets a cookie and sends browsers to itself."""
    return lambda asked: (
        say(200, later if asked.night else BODY) if asked.has_cookie else say(200, page, COOKIE)
    )


def to_a_moved_file(asked: Asked) -> bytes:
    if "?new" in asked.target:
        return say(200, BODY)
    to = b"Location: ?new\r\n"
    return say(301, b"", to) if "?next" in asked.target else say(200, META % b"0;?next")


def from_an_old_page(asked: Asked) -> bytes:
    if "?next" not in asked.target:
        return say(304) if asked.is_conditional else say(200, META % b"0;?next", ETAG)
    return say(200, OTHER if asked.night else BODY, OLD if asked.night else OLDER + ETAG)


def with_password(asked: Asked) -> bytes:
    if b"authorization: " not in asked.headers:
        return say(401)
    return say(200, BODY) if asked.has_cookie else say(200, META % b"0", COOKIE)


def behind_a_redirect(asked: Asked) -> bytes:
    if "?next" in asked.target:
        return say(200, BODY) if asked.has_cookie else say(404)
    return say(200, META % b"0;?next") if "?page" in asked.target else redirect("?page", COOKIE)


def lost(status: int, home: bytes) -> Answer:
    """Return a server whose pages of errors send browsers elsewhere.

    :param home: a page, or an answer
    """
    elsewhere = say(200, home) if home[:1] == b"<" else home
    return lambda asked: (
        elsewhere if "?home" in asked.target else say(status, META % b"5;?home", COOKIE)
    )


def in_steps(asked: Asked) -> bytes:
    path, _, step = asked.target.partition("?")
    return say(200, BODY) if step == "xx" else say(200, META % f"0;{path}?{step}x".encode())


def to_itself(asked: Asked) -> bytes:
    return say(200, BODY) if asked.has_cookie else redirect(asked.target, COOKIE)


def with_a_value(asked: Asked) -> bytes:
    came_back = b"\r\ncookie: seen\r\n" in asked.headers
    return say(200, BODY) if came_back else redirect(asked.target, b"Set-Cookie: seen; Path=/\r\n")


def over_a_check(asked: Asked) -> bytes:
    if "?next" in asked.target:
        return redirect(asked.target.partition("?")[0], COOKIE)
    return say(200, BODY) if asked.has_cookie else redirect(f"{asked.target}?next=1")


def giving_back(value: bytes) -> Answer:
    """Return a server that redirects to itself until a cookie comes back as it was sent."""
    return lambda asked: (
        say(200, BODY)
        if b"\r\ncookie: s=%b\r\n" % value in asked.headers
        else redirect(asked.target, b"Set-Cookie: s=%b\r\n" % value)
    )


def deleting(attributes: bytes) -> Answer:
    """Return a server that sets a cookie, and then has no file until the cookie is deleted."""

    def answer(asked: Asked) -> bytes:
        if "?set" not in asked.target:
            return redirect(f"{asked.target}?set", b"Set-Cookie: old=1; Path=/\r\n")
        if "?set=2" in asked.target:
            return say(404) if asked.has_cookie else say(200, BODY)
        return redirect(f"{asked.target}=2", b"Set-Cookie: old=; Path=/; %b\r\n" % attributes)

    return answer


def or_a_page_without(asked: Asked) -> bytes:
    if "?again" in asked.target:
        return say(200, BODY) if asked.has_cookie else say(200, PAGE)
    return redirect(f"{asked.target}?again", COOKIE)


def with_bytes_behind(asked: Asked) -> bytes:
    if "?to" in asked.target:
        return say(200, BODY)
    return redirect(f"{asked.target}?to", body=b"moved") + b"<!-- ad -->"


def far_away(times: int) -> Answer:
    """Return a server that redirects several times."""

    def answer(asked: Asked) -> bytes:
        path, _, hops = asked.target.partition("?")
        return say(200, BODY) if hops == "x" * times else redirect(f"{path}?{hops}x")

    return answer


def to_next(asked: Asked, to: str, status: int = 302) -> bytes:
    if "?next" in asked.target:
        return say(200, BODY)
    return say(status, b"", b"Location: %b\r\n" % to.encode())


def choice(asked: Asked) -> bytes:
    return to_next(asked, f"{asked.target}?next", 300)


def with_host(location: str) -> Answer:
    """Return a server that redirects to a full URL, which is odd."""

    def answer(asked: Asked) -> bytes:
        host = asked.headers.partition(b"host: ")[2].partition(b"\r\n")[0].decode()
        return to_next(asked, location.format(f"{host}{asked.target}?next"))

    return answer


REDIRECTS = (
    Case("cookies: a redirect to itself", to_itself, WORKS),
    Case("cookies: a bounce over a check", over_a_check, WORKS),
    Case("cookies: a value without a name", with_a_value, WORKS),
    Case("cookies: a page for those without", or_a_page_without, WORKS),
    *(
        Case(f"cookies: as it came, {value.decode()}", giving_back(value), WORKS)
        for value in (b"ywjj==", b'"a b"', b'{"a":1}', b"")
    ),
    *(
        Case(f"cookies: deleted by {attributes.decode()}", deleting(attributes), WORKS)
        for attributes in (
            b"expires=Thu, 01 Jan 1970 00:00:00 GMT",
            b"expires=Thursday, 01-Jan-70 00:00:00 GMT",
            b"Max-Age=0",
        )
    ),
    *(
        Case(f"cookies: kept by {attributes.decode()}", deleting(attributes), BROKEN)
        for attributes in (
            b"expires=Fri, 01 Jan 2100 00:00:00 GMT",
            b"expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=600",
            b"Max-Age=600; expires=Thu, 01 Jan 1970 00:00:00 GMT",
            b"expires=never",
        )
    ),
    Case("redirect: bytes behind its body", with_bytes_behind, WORKS),
    Case("redirect: twenty times", far_away(20), WORKS),
    Case("redirect: twenty-one times", far_away(21), BROKEN),
    Case("redirect: in a circle", lambda asked: redirect(asked.target), BROKEN),
    Case(
        "redirect: to itself until a machine is ready",
        lambda asked: say(200, BODY) if asked.number >= 2 else redirect(asked.target),
        WORKS,
    ),
    Case("redirect: with a choice", choice, WORKS),
    Case(
        "redirect: backslashes", lambda asked: to_next(asked, f"\\{asked.target[1:]}?next"), WORKS
    ),
    Case("redirect: to a host with backslashes", with_host("http:\\\\{}"), WORKS),
    Case("redirect: to a host with three slashes", with_host("http:///{}"), WORKS),
    *(
        Case(f"refresh: {name}", refreshed(sent), WORKS)
        for name, sent in {
            "a page": say(200, META % b"0; url=?next"),
            "without a name": say(200, META % b"0;?next"),
            "a header": say(200, PAGE, b"Refresh: 0; url=?next\r\n"),
            "escaped": say(200, META % b"0;url=?a=b&amp;c=?next"),
            "unquoted": say(200, b"<html><META HTTP-EQUIV=Refresh CONTENT=0;url=?next>"),
            "half a second": say(200, META % b".5;url=?next"),
            "also without scripts": say(
                200,
                b"<script>location='?next'</script><noscript>" + META % b"0;?next" + b"</noscript>",
            ),
            "404": say(404, META % b"0;?next"),
            "503 with a header": say(503, PAGE, b"Refresh: 0; url=?next\r\n"),
        }.items()
    ),
    Case("refresh: a cookie, to itself", reloading(META % b"0;url="), WORKS),
    Case("refresh: a cookie, without a URL", reloading(META % b"0"), WORKS),
    Case("refresh: a cookie of a redirect", behind_a_redirect, WORKS),
    Case(
        "refresh: a cookie, on a page of an error",
        lambda asked: say(200, BODY) if asked.has_cookie else say(503, META % b"5", COOKIE),
        WORKS,
    ),
    *(
        Case(f"refresh: {status} to the home page under {name}", lost(status, home), BROKEN, name)
        for status, name, home in ((404, "HTML", PAGE), (410, "CSV", PAGE), (500, "CSV", SEARCHED))
    ),
    *(
        Case(f"refresh: {status} to {name}", lost(status, sent), BROKEN)
        for status, name, sent in (
            (404, "an inside address", redirect("http://10.0.0.1/a.csv")),
            (500, "403", say(403)),
            (404, "nothing", b""),
            (500, "an error text", say(200, b'{"error": 1}')),
        )
    ),
    Case(
        "refresh: a cookie, with a change",
        reloading(META % b"0", OTHER),
        (FIRST, CHANGED, SAME),
    ),
    Case("refresh: a cookie, with a password", with_password, WORKS, link="http://user:pass@"),
    Case(
        "refresh: a landing page whose session ends",
        lambda asked: say(404) if "?gone" in asked.target else say(200, META % b"1800;?gone"),
        UNCHECKED,
        may_be_landing_page=True,
    ),
    Case("refresh: in two steps", in_steps, WORKS),
    Case("refresh: to a file that moved", to_a_moved_file, WORKS),
    Case("refresh: from a page that stays", from_an_old_page, (FIRST, CHANGED, SAME)),
    Case(
        "refresh: a landing page that warns of old browsers",
        lambda asked: (
            say(404)
            if "?old" in asked.target
            else say(200, b"<html><!--[if IE 8]>" + META % b"0;?old" + b"<![endif]-->")
        ),
        UNCHECKED,
        may_be_landing_page=True,
    ),
    Case(
        "refresh: with a change",
        refreshed(say(200, META % b"0;?next"), OTHER),
        (FIRST, CHANGED, SAME),
    ),
    *simple(
        "refresh",
        (
            ("to itself", say(200, META % b"0;?next")),
            ("without a URL", say(200, META % b"30")),
            ("to no URL", say(200, META % b"0;url=http://[")),
        ),
        BROKEN,
    ),
    *(
        Case(
            f"refresh: a tag in {name.decode()}",
            refreshed(say(200, META.replace(b"<meta", b"<%b><meta" % name) % b"0;?next")),
            nights,
        )
        for name, nights in (
            (b"title", BROKEN),
            (b"template", BROKEN),
            (b"!-- --", WORKS),
        )
    ),
    Case("redirect: nowhere", always(say(302)), BROKEN),
    Case("redirect: nowhere, with a page", always(say(302, PAGE)), BROKEN),
    *simple(
        "redirect: nowhere, with a file",
        ((str(one), say(one, BODY)) for one in (301, 302, 307)),
        WORKS,
    ),
    *simple(
        "redirect",
        ((scheme, redirect(f"{scheme}x.example/a.csv")) for scheme in ("ftp://", "mailto:me@")),
        UNCHECKED,
    ),
    *simple(
        "refresh",
        (
            (name, say(200, META % b"0;url=%b" % to))
            for name, to in {
                "to ftp": b"ftp://x.example/a.csv",
                "to an inside address": b"http://10.0.0.1/a.csv",
            }.items()
        ),
        UNCHECKED,
    ),
)

# Statuses

# test_meanings.py has all of them.
REFUSALS = (202, 401, 403, 429)
NO_FILES = (204, 300, 304, 404, 500)
STATUSES = (
    *simple("status", ((str(one), say(one, BODY)) for one in (200, 206, 299)), WORKS),
    *(
        Case(
            f"status: 206 of {of}",
            always(say(206, BODY, b"Content-Range: %b\r\n" % of.encode())),
            means,
        )
        for of, means in (
            ("bytes 0-13/14", WORKS),
            ("bytes 0-13/*", WORKS),
            ("bytes 0-13/99", BROKEN),
            ("bytes 5-18/19", BROKEN),
        )
    ),
    *simple("status", ((str(one), say(one, PAGE)) for one in REFUSALS), UNCHECKED),
    *simple(
        "status",
        ((str(one), say(one, b"" if one in (204, 304) else PAGE)) for one in NO_FILES),
        BROKEN,
    ),
    Case("status: 503 with a pause", always(say(503, PAGE, b"Retry-After: 86400\r\n")), UNCHECKED),
    Case(
        "status: 503 with a date",
        always(say(503, PAGE, b"Retry-After: Sun, 22 Nov 2026 12:00:00 GMT\r\n")),
        UNCHECKED,
    ),
)

# Conditional requests

NOT_MODIFIED = b"HTTP/1.1 304 Not Modified\r\n" + ETAG
CONDITIONS = (
    *(
        Case(f"304: {name}", known(sent), UNTOUCHED)
        for name, sent in {
            "as it should be": NOT_MODIFIED + b"\r\n",
            "with a body": NOT_MODIFIED + b"Content-Length: 14\r\n\r\n" + BODY,
            "a weak ETag": b'HTTP/1.1 304 Not Modified\r\nETag: W/"1"\r\n\r\n',
        }.items()
    ),
    *(
        Case(f"conditions: {name}", known(sent), WORKS)
        for name, sent in {
            "404": say(404),
            "403": say(403),
            "412": say(412),
            "an empty 200": say(200),
            "200 without a length": b"HTTP/1.1 200 OK\r\n\r\n",
            "no answer": b"",
            "half a body": say(200, BODY)[:-5],
            "no HTTP": b"garbage\r\n\r\n",
            "a 304 of another ETag": b'HTTP/1.1 304 Not Modified\r\nETag: "2"\r\n\r\n',
        }.items()
    ),
    Case(
        "304: the file has changed, and the ETag says so",
        lambda asked: (
            b'HTTP/1.1 304 Not Modified\r\nETag: "2"\r\n\r\n'
            if asked.is_conditional
            else say(
                200, OTHER if asked.night else BODY, b'ETag: "%d"\r\n' % (2 if asked.night else 1)
            )
        ),
        (FIRST, CHANGED, Outcome.NOT_MODIFIED),
    ),
)

# Encodings


def encoded(encoding: str, body: bytes) -> bytes:
    return say(200, body, b"Content-Encoding: %b\r\n" % encoding.encode())


def packed(body: bytes = BODY) -> bytes:
    return gzip.compress(body, mtime=0)


# More are in web/test_encodings.py.
ENCODINGS = (
    *simple(
        "encoding",
        (
            ("aws-chunked", encoded("aws-chunked", BODY)),
            ("compress", encoded("compress", BODY)),
            (
                "the length of what was compressed",
                b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 140\r\n\r\n"
                + packed(BODY * 10),
            ),
        ),
        WORKS,
    ),
    *simple(
        "encoding",
        (
            (
                "the length of another file",
                b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 150\r\n\r\n"
                + packed(BODY * 10),
            ),
        ),
        BROKEN,
    ),
    *simple(
        "encoding",
        (
            (f"404 with {name}", say(404, body, b"Content-Encoding: gzip\r\n"))
            for name, body in (("a page that is cut off", packed(PAGE)[:-20]), ("no gzip", PAGE))
        ),
        BROKEN,
    ),
    # Browsers save what can be decompressed.
    *simple(
        "encoding",
        (("gzip that is cut off", encoded("gzip", packed(BODY * 99)[:-20])),),
        UNCHECKED,
    ),
)

# What comes in place of data

OCTETS = b"Content-Type: application/octet-stream\r\n"
SHEET = b"<html><body><table><tr><td>1</td></tr></table></body></html>"
LOGIN = b"<html><table><tr><td><form><input name=p type=password></form></table></html>"
LINKED_DATA = {
    "application/rdf+xml": b'<rdf:RDF xmlns:rdf="x"/>',
    "text/turtle": b"<a> <b> <c> .",
    "application/ld+json": b'{"@id": "a"}',
    "text/csv": BODY,
}


def negotiated(type_: str) -> Answer:
    """Return a server that gives data to whom asks for their type, and a page to all others."""
    asked_for = b"accept: %b" % type_.encode()
    return lambda asked: say(200, LINKED_DATA[type_] if asked_for in asked.headers else PAGE)


def by_accept(type_: bytes, to_it: bytes, to_others: bytes) -> Answer:
    """Return a server that gives something else to whom names a media type."""
    return lambda asked: (
        to_it if type_ in re.findall(rb"(?<=\r\naccept: ).*", asked.headers)[0] else to_others
    )


def beside_a_page(asked: Asked) -> bytes:
    if b"accept: text/turtle" not in asked.headers:
        return say(304) if asked.is_conditional else say(200, PAGE, OLDER)
    return say(200, LINKED_DATA["text/turtle"] + b"\n" * min(asked.night, 1), OLD)


def for_people(refusal: bytes, then: bytes) -> Answer:
    """Return a server that says something else to whom sends what browsers send when people type an address."""
    sign = b"\r\nsec-fetch-mode: navigate"
    return lambda asked: then if sign in asked.headers else refusal


FOR_BROWSERS = by_accept(b"text/html", say(200, PAGE), say(404))
REFUSES_BROWSERS = by_accept(b"text/html", say(406), say(200, BODY))
WITH_TYPES = (
    *(
        Case(
            f"a page for browsers only under {name or 'no format'}", FOR_BROWSERS, PAGES_ONLY, name
        )
        for name in ("HTML", "", "WMS")
    ),
    Case("a page for browsers only under CSV", FOR_BROWSERS, BROKEN),
    *(
        Case(
            f"data beside a page under {name or 'no format'}",
            by_accept(b"text/html", say(200, PAGE), say(200, BODY)),
            nights,
            name,
        )
        for name, nights in (("", WORKS), ("HTML", PAGES_ONLY))
    ),
    Case("a file for browsers only", by_accept(b"text/html", say(200, BODY), say(404)), WORKS),
    Case("a file for browsers only, by 406", by_accept(b"html", say(200, BODY), say(406)), WORKS),
    *(
        Case(f"a file for people only, by {status}", for_people(say(status), say(200, BODY)), WORKS)
        for status in (400, 404, 406)
    ),
    *(
        Case(f"404, and for people {name}", for_people(say(404), sent), BROKEN)
        for name, sent in (("403", say(403)), ("nothing", b""), ("a page", say(200, SEARCHED)))
    ),
    *(
        Case(f"a file for programs only under {name or 'no format'}", REFUSES_BROWSERS, WORKS, name)
        for name in ("CSV", "HTML")
    ),
    Case(
        "a file for programs only, by 404",
        by_accept(b"text/html", say(404), say(200, BODY)),
        WORKS,
        "",
    ),
    *(
        Case(f"406 for everybody under {name}", always(say(406)), UNCHECKED, name)
        for name in ("", "CSV")
    ),
    Case(
        "linked data for whom asks, and 406 for others",
        by_accept(b"text/turtle", say(200, LINKED_DATA["text/turtle"]), say(406)),
        WORKS,
        "TTL",
    ),
    Case(
        "a page for browsers, with validators",
        by_accept(b"text/html", say(200, PAGE, ETAG), say(404)),
        PAGES_ONLY,
        "HTML",
    ),
    Case(
        "a page for browsers, which understands conditions",
        lambda asked: (
            NOT_MODIFIED + b"\r\n"
            if asked.is_conditional
            else FOR_BROWSERS(asked).replace(b"Content-Length", ETAG + b"Content-Length")
        ),
        PAGES_ONLY,
        "HTML",
    ),
)
"""Servers that choose by the Accept header."""

REJECTED = (
    b"<html><head><title>Request Rejected</title></head><body>Your support ID is: %b</body></html>"
)
ANUBIS = b"<html><title>Wait</title><script id='anubis_challenge' type='application/json'>{}</script></html>"


def walled(plain: Answer) -> Answer:
    """Return a server with a wall before all that is called Mozilla."""
    sign = b"\r\nuser-agent: mozilla"
    return lambda asked: say(200, ANUBIS) if sign in asked.headers else plain(asked)


WMS = [
    b"<WMS_Capabilities version='1.3.0' n='%d'></WMS_Capabilities>" % night for night in range(3)
]
PAGE_FOR_A_NIGHT = (FIRST, Outcome.PAGE, SAME)
SCRIPTED = f"<html><head>{F5}{IMPERVA}</head>{LOST}</html>".encode()
LONG_PAGE = b"<!DOCTYPE html><html><head>" + b" " * 5000 + b"<title>Log in</title></html>"
IN_PLACE = (
    *(
        Case(f"wall: {name}", always(say(status, page)), nights, format_)
        for name, status, page, format_, nights in (
            ("in place of data", 200, REJECTED, "CSV", UNCHECKED),
            ("in place of a page", 200, REJECTED, "HTML", UNCHECKED),
            ("with 500", 500, REJECTED, "HTML", UNCHECKED),
            ("with 404", 404, REJECTED, "CSV", BROKEN),
            ("its script on a page that is lost", 200, SCRIPTED, "CSV", BROKEN),
            ("its script on a page that is meant", 200, SCRIPTED, "HTML", PAGES_ONLY),
            ("a page that may lead on", 200, SEARCHED, "CSV", UNCHECKED),
            ("a form where a page is meant", 200, SEARCHED, "HTML", PAGES_ONLY),
        )
    ),
    Case(
        "wall: after a good file",
        nightly(b'{"a": 1}', REJECTED % b"1", REJECTED % b"2"),
        (FIRST, CANNOT_TELL, CANNOT_TELL),
        "API",
    ),
    *(
        Case(f"a wall for Mozilla, and {name} for others", walled(plain), nights, format_)
        for name, plain, format_, nights in (
            ("a file", nightly(BODY, BODY, BODY, headers=ETAG), "CSV", WORKS),
            ("a new file", nightly(BODY, OTHER, OTHER), "CSV", (FIRST, CHANGED, SAME)),
            ("a page in place of a file", always(say(200, LONG_PAGE)), "CSV", UNCHECKED),
            ("404", always(say(404)), "CSV", UNCHECKED),
        )
    ),
    Case("an error text at first", always(say(200, ERROR_TEXTS["Oracle"])), UNCHECKED),
    *(
        Case(f"after a good file: {name}", nightly(good, text, text), (FIRST, *nights), format_)
        for name, format_, good, text, nights in (
            ("a line", "CSV", BODY, "Désolé, introuvable".encode(), (ERROR, ERROR)),
            ("a token of an API", "API", b'{"layers": []}', TOKEN, (ERROR, ERROR)),
            ("no words", "JSON", b'{"rows": [1]}', b'{"fout": "x"}', (CANNOT_TELL, CANNOT_TELL)),
            ("other names", "JSON", OBJECTS, b'{"fout": "x"}', (ERROR, ERROR)),
            ("few rows", "CSV", ROWS, BODY, (CHANGED, SAME)),
            ("a list", "CSV", ROWS, b"town\nWells\nYork\nEly\n", (CANNOT_TELL, CANNOT_TELL)),
        )
    ),
    Case(
        "an error text with a newer date",
        lambda asked: say(200, ERROR_TEXTS["Oracle"] if asked.night else ROWS, OLD),
        (FIRST, ERROR, ERROR),
        dated=(0,),
    ),
    Case(
        "an error text for a night",
        nightly(ROWS, ERROR_TEXTS["Oracle"], ROWS),
        (FIRST, ERROR, SAME),
    ),
    Case("a file that is prepared", always(say(200, b'{"status": "processing"}')), UNCHECKED),
    *(
        Case(f"a page under {name}", always(say(200, LONG_PAGE)), BROKEN, name)
        for name in ("CSV", "RDF")
    ),
    *(
        Case(f"no evidence: {name}", answer, nights, format_, dated=())
        for name, answer, nights, format_ in (
            ("a page that changes", nightly(PAGE, LONG_PAGE, PAGE + b"1"), PAGES_ONLY, "HTML"),
            ("a page whose date moves", moving(LONG_PAGE), PAGES_ONLY, "HTML"),
            (
                "a gzip file of a page",
                nightly(*map(packed, (PAGE, LONG_PAGE, PAGE))),
                PAGES_ONLY,
                "HTML",
            ),
            ("what a service can", nightly(*WMS), PAGES_ONLY, "WMS"),
            # For a while, a page stands in place of data.
            ("a page between data", nightly(OBJECTS, PAGE, OBJECTS), PAGE_FOR_A_NIGHT, "API"),
        )
    ),
    Case(
        "data of an interface that change while a page is there",
        nightly(OBJECTS, PAGE, OBJECTS + b" "),
        (FIRST, Outcome.PAGE, CHANGED),
        "API",
    ),
    Case(
        "data in place of a page",
        nightly(PAGE, BODY, OTHER),
        (Outcome.PAGE, FIRST, CHANGED),
        "",
    ),
    Case(
        "a page at the second download",
        lambda asked: say(200, PAGE if asked.number else (OTHER if asked.night else BODY)),
        (FIRST, UNCONFIRMED, CHANGED),
        "",
    ),
    *(
        Case(name, always(say(200, body)), nights, may_be_landing_page=True)
        for name, body, nights in (
            ("a landing page for access", LONG_PAGE, UNCHECKED),
            ("a file for access", BODY, WORKS),
            ("an error for access", b'{"error": "no such table"}', BROKEN),
        )
    ),
    Case(
        "no landing page for access",
        always(say(404, LONG_PAGE)),
        BROKEN,
        may_be_landing_page=True,
    ),
    Case("linked data beside a page that stays", beside_a_page, (FIRST, CHANGED, SAME), "TTL"),
    *(
        Case(
            f"a page of linked data, and {type_} to whom asks for it",
            negotiated(type_),
            nights,
            name,
        )
        for name, type_, nights in (
            ("RDF", "application/rdf+xml", WORKS),
            ("JSON-LD", "application/ld+json", WORKS),
            ("CSV", "text/csv", BROKEN),
        )
    ),
    Case("a login", always(say(200, LOGIN)), UNCHECKED, "XLS"),
    *simple(
        "a page that leads on",
        (
            (name, say(200, page))
            for name, page in {
                "a frame": b"<html><frameset><frame src=/a.csv></frameset></html>",
                "a form": b"<html><form action=/a.csv><button>Download</button></form></html>",
                "an application": b"<html><div id=app></div><script src=/app.js></script></html>",
            }.items()
        ),
        UNCHECKED,
    ),
    Case(
        "the source of a page that leads on",
        always(say(200, b"<?php ?><html><form action=/a.csv><button>Download</button></form>")),
        BROKEN,
    ),
    Case("a table as octets", always(say(200, SHEET, OCTETS)), WORKS, "XLS"),
    *(
        Case(f"a token under {name}", always(say(200, TOKEN)), nights, name)
        for name, nights in (
            ("JSON", UNCHECKED),
            ("GeoJSON", BROKEN),
        )
    ),
    Case(
        "an error beside data under JSON", always(say(200, b'{"error": 0, "a": 1}')), WORKS, "JSON"
    ),
    *(
        Case(
            f"a service, then an error: {name}",
            nightly(service, error, error),
            (Outcome.PAGE, ERROR, ERROR),
            name,
        )
        for name, service, error in (
            ("Esri REST", b'{"currentVersion": 11.1, "layers": []}', GONE),
            ("WMS", b"<WMS_Capabilities xmlns='x'/>", REPORT),
        )
    ),
    Case(
        "a page, then a greeting",
        nightly(PAGE, *[b'{"message": "Welcome"}'] * 2),
        (Outcome.PAGE, CANNOT_TELL, CANNOT_TELL),
        "API",
    ),
    *(
        Case(
            f"a page, then a file: {name}",
            nightly(page, *[file] * 2),
            (Outcome.PAGE, FIRST, SAME),
            name,
        )
        for name, page, file in (
            ("API JSON", PAGE * 99, b'{"id": 1}'),
            ("WFS", b"<WFS_Capabilities xmlns='x'/>", b"<FeatureCollection xmlns='x'/>"),
        )
    ),
    Case("a report under GML", always(say(200, REPORT)), UNCHECKED, "GML"),
    Case("nothing", always(say(200)), BROKEN),
    Case("a header of 20,000 bytes", always(say(200, BODY, b"X: %b\r\n" % (b"a" * 20_000))), WORKS),
    Case(
        "a reset for who closes",
        lambda asked: b"" if b"connection: close" in asked.headers else say(200, BODY),
        WORKS,
    ),
    Case("a hundred headers", always(say(200, BODY, b"X: a\r\n" * 100)), WORKS),
    Case("blanks", always(say(200, b" \r\n\n")), BROKEN),
)

# Object stores

XML = b"Content-Type: application/xml\r\n"
XML_OF_GOOGLE = b"Content-Type: application/xml; charset=UTF-8\r\n"
DECLARED = b'<?xml version="1.0" encoding="UTF-8"?>'
DENIED = b"<Error><Code>AccessDenied</Code></Error>"
NAMESPACE = b'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
BOM = b"\xef\xbb\xbf"


def of_store(code: str, words: str = "", status: int = 403, begin: bytes = DECLARED) -> bytes:
    error = f"<Error><Code>{code}</Code><Message>{words}</Message><RequestId>1</RequestId></Error>"
    return say(status, begin + error.encode(), XML)


FOR_NOBODY = {
    "S3, expired": of_store("AccessDenied", "Request has expired"),
    "S3, a token": of_store("ExpiredToken", "The provided token has expired.", 400),
    "S3, a token with 403": of_store("ExpiredToken"),
    "S3, slower": of_store("SlowDown", status=503),
    "Azure, expired": of_store(
        "AuthenticationFailed", "Signature not valid in the specified time frame", begin=BOM
    ),
    "Azure, no public access": of_store("PublicAccessNotPermitted", status=409),
    "Google, expired": of_store("ExpiredToken", status=400),
    "Alibaba, expired": of_store("AccessDenied", "Request has expired."),
    "R2, expired": of_store("ExpiredRequest"),
    "deleted": of_store("NoSuchKey", status=404),
}
FOR_NOBODY_ANY_MORE = {
    "S3, deleted": of_store("AccessDenied", "Access Denied", begin=DECLARED + b"\n"),
    "S3, a signature": of_store("SignatureDoesNotMatch"),
    "S3, a key": of_store("InvalidAccessKeyId"),
    "S3, Glacier": of_store("InvalidObjectState"),
    "S3, disabled": of_store("AllAccessDisabled"),
    "S3, no policy": of_store(
        "AccessDenied", "not authorized: no resource-based policy allows s3:GetObject"
    ),
    "S3, with a namespace": say(403, DENIED.replace(b"r>", b"r %b>" % NAMESPACE, 1), XML),
    "Azure, a signature": of_store("AuthenticationFailed", begin=BOM + DECLARED),
    "Azure, private": of_store("NoAuthenticationInformation", status=401),
    "Azure, disabled": of_store("AccountIsDisabled"),
    "Google, unpaid": of_store("UserProjectAccountProblem"),
    "Alibaba, unpaid": of_store("UserDisable"),
    "Google, deleted": say(403, DECLARED + DENIED, XML_OF_GOOGLE),
    "Tencent, deleted": say(403, DECLARED + b"\n" + DENIED.replace(b"><C", b">\n\t<C"), XML),
    "Ceph, deleted": say(403, DENIED, b"Content-Type: text/xml\r\n"),
    "Swift, deleted": say(403, b"<?xml version='1.0' encoding='UTF-8'?>\n" + DENIED, XML),
}
FOR_SOME = {
    "S3, some networks only": of_store("AccessDenied", "with an explicit deny in a policy"),
    "Alibaba, pages of others": of_store("AccessDenied", "denied by bucket referer policy."),
    "Azure, a firewall": of_store("AuthorizationFailure"),
    "Azure, an address": of_store("AuthorizationSourceIPMismatch"),
    "CloudFront, a login": of_store("MissingKey", "Missing Key-Pair-Id"),
    "CloudFront, a wall": say(403, PAGE, b"Content-Type: text/html\r\n"),
    "an unknown code": of_store("Other"),
    "another XML": say(403, b"<error>AccessDenied</error>", XML),
    "XML of an interface": say(403, b"<result><Error><Code>AccessDenied</Code></Error>", XML),
    "a page": say(403, DENIED, b"Content-Type: text/html\r\n"),
    "JSON": say(403, b'{"code":"AccessDenied"}', b"Content-Type: application/json\r\n"),
    "no type": say(403, DENIED),
    "too many requests": of_store("AccessDenied", status=429),
}


def removed(sent: bytes) -> Answer:
    """Return a server whose file is refused from the second night on."""
    return lambda asked: sent if asked.night else say(200, BODY)


STORES = (
    *simple("store, never worked", FOR_NOBODY.items(), BROKEN),
    *simple("store, never worked", [*FOR_NOBODY_ANY_MORE.items(), *FOR_SOME.items()], UNCHECKED),
    *(
        Case(f"store, worked: {name}", removed(sent), (FIRST, *nights))
        for refusals, nights in (
            (FOR_NOBODY | FOR_NOBODY_ANY_MORE, (ERROR, ERROR)),
            (FOR_SOME, (CANNOT_TELL, CANNOT_TELL)),
        )
        for name, sent in refusals.items()
    ),
)

# Changes, and what is none

WAIT = say(
    200,
    b"<!DOCTYPE html><html><title>Please wait</title></html>",
    b"Content-Type: text/html\r\n",
)


def refused(refusal: bytes) -> Answer:
    """Return a server whose file is another from the second night on, and which refuses second downloads."""

    def answer(asked: Asked) -> bytes:
        if asked.night == 0:
            return say(200, BODY)
        return say(200, OTHER) if asked.number == 0 else refusal

    return answer


def local_time(hours: float) -> Answer:
    """Return a server that gives the file the time of the answer, in a zone behind or before GMT, as GMT."""

    def answer(asked: Asked) -> bytes:
        modified = NOW + timedelta(hours=hours, days=asked.night)
        return say(
            200, BODY, b"Last-Modified: %b\r\n" % format_datetime(modified, usegmt=True).encode()
        )

    return answer


CHANGES = (
    *(
        Case(f"second download: {name}", refused(sent), (FIRST, UNCONFIRMED, CHANGED))
        for name, sent in {
            "403": say(403),
            "404": say(404),
            "no answer": b"",
            "half a body": say(200, OTHER)[:-3],
            "please wait": WAIT,
        }.items()
    ),
    Case(
        "second download: a wall where a page is meant",
        refused(say(200, REJECTED)),
        (FIRST, UNCONFIRMED, CHANGED),
        "HTML",
    ),
    Case("a change", nightly(BODY, OTHER, OTHER), (FIRST, CHANGED, SAME)),
    Case("a change and back", nightly(BODY, OTHER, BODY), (FIRST, CHANGED, Outcome.REPEAT_HASH)),
    Case(
        "a change below a day",
        nightly(
            *(
                b"# Exported on 2026-11-%d 01:30:00\n" % (25 + night) + BODY * (1 + night // 2)
                for night in range(3)
            )
        ),
        (FIRST, SAME, CHANGED),
    ),
    # test_decisions.py has all pairs of detectors.
    Case(
        "another kind",
        nightly(BODY, *[archive({"a.csv": BODY * 3})] * 2),
        (FIRST, CHANGED, SAME),
        "",
    ),
    Case("a date that moves", moving(BODY), WORKS, dated=(0,)),
    Case(
        "a date that moves, of a file that is too large",
        moving(bytes(MOST_BYTES + 1)),
        (CANNOT_TELL, Outcome.HEADER, Outcome.HEADER),
        dated=(0, 1, 2),
    ),
    *(
        Case(f"local time called GMT: {hours:+}", local_time(hours), WORKS, dated=())
        for hours in (-9.5, 5.75)
    ),
)

LINKS = (
    Case("link: without a scheme", always(say(200, BODY)), WORKS, link="//"),
    *(
        Case(f"link: {scheme}", always(say(200, BODY)), UNCHECKED, link=scheme)
        for scheme in ("ftp://", "mailto:me@")
    ),
)

CASES: tuple[Case, ...] = (
    *LINKS,
    *simple("read", READ.items(), WORKS),
    Case(
        "read: more than this site reads, behind an odd header",
        always(say(200, bytes(MOST_BYTES + 1), b"X-A: b\rc\r\n")),
        UNCHECKED,
    ),
    # Chromium, curl and wget say so.
    Case(
        "cut off: no empty line behind the last chunk",
        always(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ne\r\n" + BODY + b"\r\n0\r\n"),
        BROKEN,
    ),
    *simple("refused", ((name, sent) for name, (sent, _) in REFUSED.items()), BROKEN),
    *REDIRECTS,
    *STATUSES,
    *CONDITIONS,
    *ENCODINGS,
    *WITH_TYPES,
    *IN_PLACE,
    *STORES,
    *CHANGES,
)
