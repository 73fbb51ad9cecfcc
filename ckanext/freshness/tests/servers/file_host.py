"""A small file host for the demo: a handful of files, one for each thing that a check can find.

`FileHost.publish` brings the next edition of those files that change, as a publisher would, and takes others
away.
"""

from __future__ import annotations

import datetime
import email.utils
import enum
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ckanext.freshness.tests.servers.base import Answer, LoopbackServer, Request
from ckanext.freshness.tests.servers.faults import HTML_PAGE

_DAY = datetime.timedelta(days=1)


class Keeps(enum.Flag):
    """Which validators a file is served with."""

    NOTHING = 0
    ETAG = enum.auto()
    LAST_MODIFIED = enum.auto()


class Changes(enum.Enum):
    """When a file has other bytes than before."""

    NEVER = enum.auto()
    EACH_EDITION = enum.auto()
    EACH_DOWNLOAD = enum.auto()


@dataclass(frozen=True, slots=True)
class HostedFile:
    """One file, and how to describe it in a catalogue.

    :ivar path: below the server's URL
    :ivar format: what the catalogue is to say that it is
    :ivar about: what a check will find there, a sentence for people
    :ivar changes: when it has other bytes
    :ivar status: other than 200 for those that are not to be had
    :ivar age: days between its last modification and the server's start; of a file that changes with
        each edition, the edition
    :ivar until: the last edition in which the file is there
    """

    path: str
    title: str
    format: str
    about: str
    body: Callable[[int], bytes]
    media_type: str = "text/csv"
    keeps: Keeps = Keeps.NOTHING
    changes: Changes = Changes.NEVER
    status: int = 200
    age: int = 400
    until: int | None = None


NARROW_EDITIONS = 31
"""The last edition whose tables have no column of districts."""


def _table(name: str) -> Callable[[int], bytes]:
    def body(edition: int) -> bytes:
        # Each edition has a row more, and from some edition on a column more.
        more = (",district", ",north") if edition > NARROW_EDITIONS else ("", "")
        rows = (f"W{week},{(17 * week + edition) % 97}{more[1]}" for week in range(5 + edition))
        return "\r\n".join((f"week,{name}{more[0]}", *rows, "")).encode()

    return body


def _page(_: int) -> bytes:
    return HTML_PAGE


def _nothing(_: int) -> bytes:
    return b""


FILES: tuple[HostedFile, ...] = (
    HostedFile(
        path="/bulletin.csv",
        title="Weekly bulletin",
        format="CSV",
        about="Its Last-Modified is recent, so that no download is needed to call it fresh.",
        body=_table("cases"),
        keeps=Keeps.ETAG | Keeps.LAST_MODIFIED,
        changes=Changes.EACH_EDITION,
        age=1,
    ),
    HostedFile(
        path="/stocks.csv",
        title="Stocks of vaccines",
        format="CSV",
        about="No validators: only its hash tells when it changes.",
        body=_table("doses"),
        changes=Changes.EACH_EDITION,
    ),
    HostedFile(
        path="/boundaries.csv",
        title="Administrative boundaries",
        format="CSV",
        about="Answers 304 to those who have it.",
        body=_table("districts"),
        keeps=Keeps.ETAG | Keeps.LAST_MODIFIED,
    ),
    HostedFile(
        path="/api/prices.json",
        title="Prices, live",
        format="JSON",
        about="Differs at each download: whether the data changed cannot be determined.",
        body=lambda download: b'{"download": %d, "rice": 0.97}\n' % download,
        changes=Changes.EACH_DOWNLOAD,
        media_type="application/json",
    ),
    HostedFile(
        path="/admissions.csv",
        title="Hospital admissions",
        format="CSV",
        about="An HTML page with status 200 where a table was promised.",
        body=_page,
        media_type="text/html; charset=utf-8",
    ),
    HostedFile(
        path="/wells.csv",
        title="Wells and springs",
        format="CSV",
        about="404: not there any more.",
        body=_nothing,
        status=404,
    ),
    HostedFile(
        path="/registry.csv",
        title="Registry of clinics",
        format="CSV",
        about="403: it may be there for people, a robot cannot tell.",
        body=_nothing,
        status=403,
    ),
    HostedFile(
        path="/old/shelters.csv",
        title="Shelters",
        format="CSV",
        about="Moved: redirects to where it is now.",
        body=_nothing,
        status=301,
    ),
    HostedFile(
        path="/shelters.csv",
        title="Shelters (new address)",
        format="CSV",
        about="Where the old address redirects to.",
        body=_table("shelters"),
        keeps=Keeps.ETAG,
    ),
)
FAILING_UNTIL, BROKEN_UNTIL = 31, 22
"""The last editions with these files."""

FAILING = HostedFile(
    path="/roads.csv",
    title="Road conditions",
    format="CSV",
    about="Passable, difficult or closed, by road section.",
    body=_table("sections"),
    changes=Changes.EACH_EDITION,
    until=FAILING_UNTIL,
)
BROKEN = HostedFile(
    path="/clinics.csv",
    title="Clinics by district",
    format="CSV",
    about="Location, services and opening hours.",
    body=_table("clinics"),
    keeps=Keeps.ETAG | Keeps.LAST_MODIFIED,
    changes=Changes.EACH_EDITION,
    age=1,
    until=BROKEN_UNTIL,
)

TABLES = "/tables/"
"""Any file below this path is a table that never changes."""

_MOVED: Mapping[str, str] = {"/old/shelters.csv": "/shelters.csv"}


class FileHost(LoopbackServer):
    """Serves `FILES`, in the same edition until `publish` is called.

    :param now: the moment that the files' ages are counted from; aware
    :param edition: the number of the first edition
    :ivar hides_changes: whether the validators stay those of the first edition
    """

    def __init__(
        self,
        *,
        now: datetime.datetime,
        port: int = 0,
        address: str = "127.0.0.1",
        edition: int = 1,
    ) -> None:
        super().__init__(port=port, address=address)
        self.edition = edition
        self._started = self._published = now
        self._files = {file.path: file for file in (*FILES, FAILING, BROKEN)}
        self._downloads = 0
        self.hides_changes = False

    def url_of(self, file: HostedFile) -> str:
        """Where it is."""
        return f"{self.url}{file.path}"

    def publish(self, at: datetime.datetime | None = None) -> None:
        """Bring the next edition of the files that change.

        :param at: the moment that its age is counted from; aware
        """
        self.edition += 1
        self._published = at or self._published

    def answer(self, request: Request) -> Answer:
        """A file, 304 to those who have it, or what is in its place."""
        file = self._files.get(request.path)
        if request.path.startswith(TABLES):
            file = HostedFile(request.path, "", "CSV", "", _table("value"), keeps=Keeps.ETAG)
        if file is None or (file.until is not None and self.edition > file.until):
            return Answer.text("There is no such file here.\n", "text/plain", 404)
        if file.path in _MOVED:
            return Answer(file.status, b"", {"Location": _MOVED[file.path]})
        if file.status != 200:
            return Answer.text("It cannot be had.\n", "text/plain", file.status)
        edition = self._edition_of(file)
        body = file.body(edition)
        stated = 1 if self.hides_changes else edition
        validators = self._validators(file, file.body(stated), stated)
        headers = {"Content-Type": file.media_type, **validators}
        return Answer(200, body, headers).unless_known(request)

    def _edition_of(self, file: HostedFile) -> int:
        if file.changes is Changes.EACH_DOWNLOAD:
            self._downloads += 1
            return self._downloads
        return self.edition if file.changes is Changes.EACH_EDITION else 1

    def _validators(self, file: HostedFile, body: bytes, edition: int) -> dict[str, str]:
        validators = {}
        if Keeps.ETAG in file.keeps:
            validators["ETag"] = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        if Keeps.LAST_MODIFIED in file.keeps:
            changes = file.changes is Changes.EACH_EDITION
            since = self._published if changes and edition > 1 else self._started
            # A minute later with each edition, and never as young as the answer itself.
            modified = since - file.age * _DAY + datetime.timedelta(minutes=edition - 1)
            validators["Last-Modified"] = email.utils.format_datetime(
                modified.astimezone(datetime.timezone.utc), usegmt=True
            )
        return validators
