"""Links whose truth is known: what a server answers on each day, and what people get from it.

`KINDS` is the table. Tests play it night by night, and compare what the site says with the truth.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import format_datetime

from ckanext.freshness.tests.checking.workbooks import archive, workbook

DEATH = 15
"""The day on which a link dies, or something else happens to it."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A request on a day of a link's story.

    :ivar edition: number of the edition of the data that is published on this day
    :ivar number: of the request in this night, from 0
    :ivar query: behind the link's own URL
    :ivar headers: of the request, in small letters
    :ivar self_signed: the URL of a server whose certificate nobody should believe
    :ivar is_over: whether a link that died works again
    """

    day: int
    edition: int
    now: datetime
    number: int = 0
    query: str = ""
    headers: bytes = b""
    self_signed: str = ""
    is_over: bool = False

    @property
    def is_after(self) -> bool:
        """Whether what happens to the link has happened, and is not over."""
        return self.day >= DEATH and not self.is_over

    @property
    def file(self) -> bytes:
        """The file of the edition."""
        return table(self.edition)

    def days_ago(self, days: float) -> datetime:
        return self.now - timedelta(days=days)


Answer = Callable[[Visit], bytes]
"""Returns the bytes of an answer, after which the connection is closed. ``b""`` closes it at once."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of link.

    :ivar every: days between two editions of the data; 0 if they never change
    :ivar dies: whether people get nothing from ``DEATH`` on
    :ivar closes: whether it dies because nothing listens at its address any more
    :ivar returns: the day on which a link that died works again
    :ivar waits: whether its first day may last for months
    :ivar called_within: days after which a dead link must be called broken
    :ivar seen_within: days after which a change must have been seen
    """

    name: str
    answer: Answer
    format: str = "CSV"
    every: int = 0
    dies: bool = False
    closes: bool = False
    returns: int | None = None
    waits: bool = True
    called_within: int = 10
    seen_within: int = 21

    def edition(self, day: int) -> int:
        """Return the number of the edition that is published on a day."""
        return day // self.every if self.every else 0

    def is_dead(self, day: int) -> bool:
        """Return whether people get nothing on a day."""
        return self.dies and day >= DEATH and (self.returns is None or day < self.returns)


# Files


def table(edition: int, rows: int = 300) -> bytes:
    """Return a table of some 5 KB."""
    return b"id,name,edition\n" + b"".join(
        b"%d,a name,%d\n" % (row, edition) for row in range(rows)
    )


def objects(edition: int, order: int = 1) -> bytes:
    """Return a list of objects, in one order or the other."""
    rows = [{"id": row, "value": row * 7 + edition} for row in range(200)]
    return json.dumps({"rows": rows[::order], "total": len(rows)}).encode()


def generated(now: datetime, text: bytes) -> bytes:
    return f"# Generated on {now:%A, %d %B %Y %H:%M:%S}\n".encode() + text


def feed(edition: int, now: datetime) -> bytes:
    items = "".join(f"<item><title>Report {one}</title></item>" for one in range(edition + 20))
    built = f"<lastBuildDate>{format_datetime(now)}</lastBuildDate>"
    return (
        f"<?xml version='1.0'?><rss version='2.0'><channel>{built}{items}</channel></rss>".encode()
    )


def page(title: str, paragraphs: int = 60, more: str = "") -> bytes:
    """Return a web page; the usual one has some 6 KB."""
    text = (
        "<p>The office of statistics publishes figures about the country, its people and trade.</p>"
    )
    return (
        f"<!DOCTYPE html><html><head><title>{title}</title>{more}</head><body><h1>{title}</h1>"
        f"{text * paragraphs}</body></html>"
    ).encode()


def zipped(visit: Visit, year: int = 2020) -> bytes:
    return archive({"data.csv": visit.file}, year=year)


def book(visit: Visit, author: str = "Ada") -> bytes:
    cells: dict[str, str | float | bool] = {"A1": "id", "B1": "name"}
    cells |= {f"A{row}": row + visit.edition for row in range(2, 40)}
    return workbook({"Sheet": cells}, author=author)


# Answers


def say(visit: Visit, body: bytes = b"", *headers: str, status: int = 200) -> bytes:
    """Return an answer as it should be."""
    head = [f"HTTP/1.1 {status} X", f"Date: {_http(visit.now)}", *headers]
    return "\r\n".join([*head, f"Content-Length: {len(body)}", "", ""]).encode() + body


def _http(moment: datetime) -> str:
    return format_datetime(moment, usegmt=True)


def modified(moment: datetime) -> str:
    return f"Last-Modified: {_http(moment)}"


def html(visit: Visit, body: bytes, status: int = 200) -> bytes:
    return say(visit, body, "Content-Type: text/html; charset=utf-8", status=status)


def xml(visit: Visit, code: str, status: int = 403) -> bytes:
    """Return an error of an object store."""
    text = f"<?xml version='1.0' encoding='UTF-8'?>\n<Error><Code>{code}</Code><Message>No.</Message></Error>"
    return say(visit, text.encode(), "Content-Type: application/xml", status=status)


def unless_known(visit: Visit, *headers: str) -> bytes:
    """Return the file, or 304 to a request that names its ETag."""
    etag = f'"e{visit.edition}"'
    if etag.encode() in visit.headers:
        return say(visit, b"", f"ETag: {etag}", *headers, status=304)
    return say(visit, visit.file, f"ETag: {etag}", *headers)


def hiding(visit: Visit) -> bytes:
    """Return an answer whose ETag stays although the file changes."""
    known = b'"e"' in visit.headers
    return say(visit, b"" if known else visit.file, 'ETag: "e"', status=304 if known else 200)


def ok(visit: Visit) -> bytes:
    return say(visit, visit.file)


def then(after: Answer, before: Answer = ok) -> Answer:
    """Return a server that answers otherwise from ``DEATH`` on."""
    return lambda visit: after(visit) if visit.is_after else before(visit)


def for_nights(count: int, other: Answer, usual: Answer = ok) -> Answer:
    """Return a server that answers otherwise for some nights in each month."""
    return lambda visit: other(visit) if visit.day % 30 in range(12, 12 + count) else usual(visit)


def status(code: int, *headers: str) -> Answer:
    return lambda visit: say(visit, b"", *headers, status=code)


def to(where: str, *headers: str) -> Answer:
    return status(302, f"Location: {where}", *headers)


def cut(visit: Visit) -> bytes:
    return ok(visit)[:-2000]


def bounced(visit: Visit) -> bytes:
    """Send browsers to the same URL with a cookie, and then to the file."""
    if b"seen=1" not in visit.headers:
        return say(visit, b"", "Location: ?next", "Set-Cookie: seen=1; Path=/", status=302)
    return ok(visit)


def led_by_a_page(code: int, target: Answer = ok) -> Answer:
    lead = page("Your download", 2, "<meta http-equiv='refresh' content='0; url=?file'>")
    return lambda visit: target(visit) if visit.query == "file" else html(visit, lead, code)


WALL = page(
    "Just a moment...",
    1,
    "<script>document.cookie='a=1';location.reload()</script>Enable JavaScript",
)
CAPTCHA = page("Access denied", 1, "<form action=/check><input name=captcha></form>")
SIGN = "<script src='/_Incapsula_Resource?SWJIYLWA=719d34d31c8e3a6e6fffd425f7e032f3'></script>"
REMOVED = page("Dataset removed", 3, "<form action=/search><input name=q></form>")
LOST = page("Page not found")
HOME = page("Welcome")
TRACE = b"Traceback (most recent call last):\n" + b'  File "app.py", line 7, in export\n' * 200

KINDS = (
    # Nothing is ever published anew.
    Kind("a file", ok),
    Kind("an ETag", unless_known),
    Kind("a date", lambda it: say(it, it.file, modified(it.days_ago(it.day + 400)))),
    Kind("a date that moves each night", lambda it: say(it, it.file, modified(it.days_ago(0.37)))),
    Kind("a date made for the answer", lambda it: say(it, it.file, modified(it.now))),
    Kind("an ETag that moves", lambda it: say(it, it.file, f'ETag: "{it.day}"')),
    Kind("a stamp", lambda it: say(it, generated(it.now, it.file))),
    Kind("a feed with a stamp", lambda it: say(it, feed(0, it.now)), "RSS"),
    Kind(
        "JSON with a stamp",
        lambda it: say(
            it, b'{"generated_at": "%b",' % it.now.isoformat().encode() + objects(0)[1:]
        ),
        "JSON",
    ),
    Kind("ZIP packed anew", lambda it: say(it, zipped(it, 2020 + it.day % 9)), "ZIP"),
    Kind("gzip packed anew", lambda it: say(it, gzip.compress(it.file, mtime=it.day)), "GZ"),
    Kind("XLSX written anew", lambda it: say(it, book(it, f"Author {it.day}")), "XLSX"),
    Kind("an interface that sorts anew", lambda it: say(it, objects(0, (-1) ** it.number)), "JSON"),
    Kind("a page with a counter", lambda it: html(it, page(f"Visitor {it.day * 7}")), "HTML"),
    Kind(
        "a page that is redesigned",
        then(lambda it: html(it, page("New")), lambda it: html(it, HOME)),
        "API",
    ),
    Kind("no format, and a page", lambda it: html(it, page(f"News of day {it.day}")), ""),
    Kind(
        "a wall for pages",
        for_nights(9, lambda it: html(it, WALL), lambda it: html(it, HOME)),
        "HTML",
    ),
    Kind("403 from the beginning", status(403)),
    Kind("202, then the file", lambda it: ok(it) if it.day > 3 else status(202)(it), waits=False),
    Kind("403 from some day on", then(status(403))),
    Kind("a wall from some day on", then(lambda it: html(it, WALL))),
    Kind("a captcha from some day on", then(lambda it: html(it, CAPTCHA))),
    Kind("a wall for nights", for_nights(6, lambda it: html(it, WALL))),
    Kind(
        "an error for a night", for_nights(1, lambda it: say(it, b'{"error": "db down"}')), "JSON"
    ),
    Kind("a trace for a night", for_nights(1, lambda it: say(it, TRACE))),
    Kind("503 with a pause for nights", for_nights(5, status(503, "Retry-After: 3600"))),
    Kind("202 for nights", for_nights(9, status(202))),
    Kind("cut for a night", for_nights(1, cut)),
    Kind("a cookie", bounced),
    Kind("a page that leads on", led_by_a_page(200)),
    Kind("404 that leads on", led_by_a_page(404)),
    Kind("CSV under XLS", ok, "XLS"),
    # Something is published anew.
    Kind("weekly", ok, every=7),
    Kind("daily", ok, every=1),
    Kind("monthly with an ETag", unless_known, every=30),
    Kind(
        "weekly with a date",
        lambda it: say(it, it.file, modified(it.days_ago(it.day % 7 + 0.37))),
        every=7,
    ),
    Kind(
        "monthly with a date that is no proof",
        lambda it: say(it, it.file, modified(it.days_ago(0.37))),
        every=30,
    ),
    Kind("an ETag that hides changes", hiding, every=30, seen_within=45),
    Kind(
        "a date in a comment",
        lambda it: say(it, b"# Stand: %02d.03.2026\n" % (it.edition % 28 + 1) + table(0)),
        every=7,
    ),
    Kind(
        "a number like a date",
        lambda it: say(it, b'{"exports": %d, "imports": 7}' % (20345678 + it.edition)),
        "JSON",
        every=7,
    ),
    Kind("a feed", lambda it: say(it, feed(it.edition, it.now)), "RSS", every=7),
    Kind("workbooks", lambda it: say(it, book(it, f"Author {it.day}")), "XLSX", every=30),
    Kind("CSV, then ZIP", then(lambda it: say(it, zipped(it))), every=DEATH),
    Kind("gzip, then plain", then(ok, lambda it: say(it, gzip.compress(it.file))), every=DEATH),
    Kind(
        "a stamp that goes away",
        then(ok, lambda it: say(it, generated(it.now, it.file))),
        every=DEATH,
    ),
    Kind("new data behind walls", for_nights(4, lambda it: html(it, WALL)), every=7),
    # People get nothing any more.
    Kind("404", then(status(404)), dies=True),
    Kind("500", then(status(500)), dies=True),
    Kind("resets", then(lambda _: b""), dies=True),
    Kind("no host", ok, dies=True, closes=True),
    Kind("no name", then(to("http://nowhere.invalid/")), dies=True),
    Kind("a wrong certificate", then(lambda it: to(it.self_signed)(it)), dies=True),
    Kind("a circle", then(to("?again")), dies=True),
    Kind("an empty file", then(lambda it: say(it)), dies=True),
    Kind("cut for good", then(cut), dies=True),
    Kind("the home page", then(lambda it: html(it, HOME)), dies=True),
    Kind("a page of an error", then(lambda it: html(it, LOST)), dies=True),
    Kind(
        "a page of a site with a wall's script",
        then(lambda it: html(it, page("Lost", 60, SIGN))),
        dies=True,
    ),
    Kind(
        "404 with a wall's script", then(lambda it: html(it, page("Lost", 3, SIGN), 404)), dies=True
    ),
    Kind("a page that leads to 404", then(led_by_a_page(200, status(404))), dies=True),
    Kind(
        "an error in JSON",
        then(lambda it: say(it, b'{"error": "not found"}'), lambda it: say(it, objects(0))),
        "JSON",
        dies=True,
    ),
    Kind("a trace", then(lambda it: say(it, TRACE)), dies=True),
    Kind("404 for a while", then(status(404)), every=7, dies=True, returns=30),
    Kind("503 for a month", then(status(503)), dies=True, returns=34),
    # Servers refuse instead of saying so.
    Kind("a short page", then(lambda it: html(it, REMOVED)), dies=True, called_within=20),
    Kind(
        "S3 without the key", then(lambda it: xml(it, "AccessDenied")), dies=True, called_within=20
    ),
    Kind(
        "Azure with an old signature",
        then(lambda it: xml(it, "AuthenticationFailed")),
        dies=True,
        called_within=20,
    ),
    Kind("503 with a pause", then(status(503, "Retry-After: 3600")), dies=True, called_within=20),
    Kind("202", then(status(202)), dies=True, called_within=20),
)
