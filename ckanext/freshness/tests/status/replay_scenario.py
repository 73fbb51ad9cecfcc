"""What ``replay/scenario.txt`` says, as plain data, and the server that plays its answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path

from ckanext.freshness.tests.servers.base import Answer, LoopbackServer, Request
from ckanext.freshness.tests.servers.faults import HTML_PAGE

START = datetime(2024, 1, 1, 2, tzinfo=timezone.utc)
"""Day 0."""

FOLDER = Path(__file__).parent / "replay"

_PLACES = {
    "site": "http://test.ckan.net/datastore/dump/{file}",
    "adhoc": "http://proxy.hxlstandard.org/data/{file}.csv",
}


def moment(day: float) -> datetime:
    """The moment that a number of days stands for."""
    return START + timedelta(days=day)


def day(when: datetime | None) -> str:
    """The number of days that a moment in UTC, with its zone or without, stands for."""
    if when is None:
        return "-"
    return f"{(when.replace(tzinfo=timezone.utc) - START) / timedelta(days=1):g}"


@dataclass(slots=True)
class Dataset:
    """A line of the first table, and those of its further files."""

    name: str
    frequency: str
    made: float
    more: dict[str, str]
    files: list[str] = field(default_factory=list)

    def url(self, file: str, server: str) -> str:
        """Where a file is."""
        place = _PLACES.get(self.more.get("place", ""), f"{server}/{{file}}.csv")
        return place.format(file=file)

    @property
    def url_type(self) -> str | None:
        """Whether CKAN holds its files."""
        return "datastore" if self.more.get("place") == "site" else None

    @property
    def extras(self) -> dict[str, str]:
        """As its publisher gives them."""
        said = {key: value for key, value in self.more.items() if key not in ("files", "place")}
        return said if self.frequency == "-" else {"data_update_frequency": self.frequency, **said}


@dataclass(frozen=True, slots=True)
class Edit:
    """A line of the second table."""

    dataset: str
    day: float
    what: str


@dataclass(slots=True)
class Scenario:
    """The whole file; ``answers`` by file, then by the day of the run."""

    days: list[int] = field(default_factory=list)
    datasets: list[Dataset] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    answers: dict[str, dict[int, str]] = field(default_factory=dict)


def read() -> Scenario:
    """The scenario of the file."""
    scenario = Scenario()
    lines = (FOLDER / "scenario.txt").read_text().splitlines()
    for line in filter(None, (one.strip() for one in lines if not one.startswith("#"))):
        first, *cells = (cell.strip() for cell in line.split("|"))
        words = first.split()
        if words[0] == "dataset":
            scenario.days = [int(cell) for cell in cells]
        elif cells:
            _add(scenario, words, cells)
        elif words[0] != "edit":
            scenario.edits.append(Edit(words[0], float(words[1]), " ".join(words[2:])))
    return scenario


def _add(scenario: Scenario, words: list[str], cells: list[str]) -> None:
    file = words[0].replace("/", "-")
    if len(words) > 1:
        name, frequency, made, more = words
        options = {} if more == "-" else dict([more.split("=")])
        scenario.datasets.append(Dataset(name, frequency, float(made), options))
    dataset = scenario.datasets[-1]
    if dataset.more.get("files") != "0":
        dataset.files.append(file)
    told = dict(zip(scenario.days, cells, strict=True))
    before = ""
    for number, cell in told.items():
        before = told[number] = before if cell == "." else cell
    scenario.answers[file] = told


class Stage(LoopbackServer):
    """Plays what a scenario says of a day.

    :ivar today: the day of the run
    :ivar asked: by file, the answers of the day: ``if`` before one means that the question had conditions
    """

    def __init__(self, scenario: Scenario) -> None:
        super().__init__()
        self.today = scenario.days[0]
        self.asked: dict[str, list[str]] = {}
        self.downloads: dict[str, int] = {}
        self._scenario = scenario

    def answer(self, request: Request) -> Answer:
        file = request.path.strip("/").removesuffix(".csv")
        asked = self.asked.setdefault(file, [])
        first, _, further = self._scenario.answers[file][self.today].partition("/")
        answer = self._play(file, further if further and asked else first, request)
        conditions = {"If-None-Match", "If-Modified-Since"} & set(request.headers)
        asked.append(f"{'if ' if conditions else ''}{answer.status}")
        return answer

    def _play(self, file: str, cell: str, request: Request) -> Answer:
        now = moment(self.today)
        headers = {"Content-Type": "text/csv", "Date": _http(now)}
        what, *validators = cell.split()
        if what.isdigit():
            return Answer(int(what), b"", headers)
        if what == "html":
            return Answer(200, HTML_PAGE, headers | {"Content-Type": "text/html"})
        if what == "*":
            number = self.downloads[file] = self.downloads.get(file, 0) + 1
            what = f"download {number}"
        for one in validators:
            if one.startswith("#"):
                headers["ETag"] = f'"{one[1:]}"'
            else:
                when = now if one == "@now" else moment(float(one[1:]))
                headers["Last-Modified"] = _http(when)
        for question, validator in (
            ("If-None-Match", "ETag"),
            ("If-Modified-Since", "Last-Modified"),
        ):
            if question in request.headers:
                if request.headers[question] == headers.get(validator):
                    return Answer(304, b"", headers)
                break
        return Answer(200, body(what), headers)


def body(edition: str) -> bytes:
    """The bytes of an edition."""
    return f"edition\n{edition}\n".encode()


def _http(when: datetime) -> str:
    return format_datetime(when, usegmt=True)
