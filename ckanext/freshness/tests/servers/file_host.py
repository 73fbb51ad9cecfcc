"""A small file host: a handful of files, one for each thing that a check can find.

`FileHost.publish` brings the next edition of those files that change, as a publisher would, and takes others
away.
"""

from __future__ import annotations

import datetime
import email.utils
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from ckanext.freshness.tests.servers.base import Answer, LoopbackServer, Request
from ckanext.freshness.tests.servers.faults import HTML_PAGE

_DAY = datetime.timedelta(days=1)
_DATA = Path(__file__).parent.parent / "data" / "hosted_files.json"

NARROW_EDITIONS = 31
"""The last edition whose tables have no column of districts."""


@dataclass(frozen=True, slots=True)
class HostedFile:
    """One file, and how to describe it in a catalogue.

    :ivar path: below the server's URL
    :ivar format: what the catalogue is to say that it is
    :ivar about: what a check will find there, a sentence for people
    :ivar column: of its table; empty if it is none
    :ivar etag: whether it is served with this validator, and likewise ``last_modified``
    :ivar newest: of a table with a day in each row: ``March``, in which its last day is, or ``week``, if the
        last day is the Sunday before the last six days
    :ivar changes: when it has other bytes: with each ``edition`` or each ``download``; empty if never
    :ivar status: other than 200 for those that are not to be had
    :ivar moved_to: the path that it redirects to
    :ivar age: days between its last modification and the server's start; of a file that changes with
        each edition, the edition
    :ivar until: the last edition in which the file is there
    """

    path: str
    title: str = ""
    format: str = "CSV"
    about: str = ""
    column: str = ""
    newest: str = ""
    media_type: str = "text/csv"
    etag: bool = False
    last_modified: bool = False
    changes: str = ""
    status: int = 200
    moved_to: str = ""
    age: int = 400
    until: int | None = None

    def body(self, edition: int, day: datetime.date) -> bytes:
        """The bytes of an edition, or of a download."""
        if self.newest:
            return self._days(edition, day)
        if self.media_type == "application/json":
            return b'{"download": %d, "rice": 0.97}\n' % edition
        if not self.column:
            return HTML_PAGE
        # Each edition has a row more, and from some edition on a column more.
        more = (",district", ",north") if edition > NARROW_EDITIONS else ("", "")
        rows = (f"W{week},{(17 * week + edition) % 97}{more[1]}" for week in range(5 + edition))
        return "\r\n".join((f"week,{self.column}{more[0]}", *rows, "")).encode()

    def _days(self, edition: int, day: datetime.date) -> bytes:
        """The bytes of an edition, which names itself in each row."""
        last = day - (6 + (day - 6 * _DAY).isoweekday() % 7) * _DAY
        if self.newest == "March":
            last = datetime.date(day.year - (day.month < 6), 3, 31)
        days = (last - number * 7 * _DAY for number in range(30))
        rows = (f"{one},{(17 * one.day) % 97},{edition}" for one in days)
        return "\n".join((f"date,{self.column},export", *rows, "")).encode()


*FILES, FAILING, BROKEN = (HostedFile(**row) for row in json.loads(_DATA.read_text()))
"""One for each thing that a check can find; a file that was taken away of late, and one before that."""

DATED = (
    HostedFile(
        "/cholera.csv", "Cases of cholera", column="cases", newest="March", changes="edition"
    ),
    HostedFile("/fuel.csv", "Fuel prices", column="price", newest="week", changes="edition"),
)
"""Files that are written anew each night: the days of one end in March, one has a new day each week."""
TABLES = "/tables/"
"""Any file below this path is a table that never changes."""


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
        self._files = {file.path: file for file in (*FILES, *DATED, FAILING, BROKEN)}
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
            file = HostedFile(request.path, column="value", etag=True)
        if file is None or (file.until is not None and self.edition > file.until):
            return Answer.text("There is no such file here.\n", "text/plain", 404)
        if file.moved_to:
            return Answer(file.status, b"", {"Location": file.moved_to})
        if file.status != 200:
            return Answer.text("It cannot be had.\n", "text/plain", file.status)
        self._downloads += file.changes == "download"
        editions = {"download": self._downloads, "edition": self.edition}
        edition = editions.get(file.changes, 1)
        validators = self._validators(file, 1 if self.hides_changes else edition)
        headers = {"Content-Type": file.media_type, **validators}
        return Answer(200, file.body(edition, self._published.date()), headers).unless_known(
            request
        )

    def _validators(self, file: HostedFile, edition: int) -> dict[str, str]:
        validators = {}
        if file.etag:
            digest = hashlib.sha256(file.body(edition, self._published.date())).hexdigest()
            validators["ETag"] = f'"{digest[:16]}"'
        if file.last_modified:
            changed = file.changes == "edition" and edition > 1
            since = self._published if changed else self._started
            # A minute later with each edition, and never as young as the answer itself.
            modified = since - file.age * _DAY + datetime.timedelta(minutes=edition - 1)
            validators["Last-Modified"] = email.utils.format_datetime(
                modified.astimezone(datetime.timezone.utc), usegmt=True
            )
        return validators
