"""Registries: reporting organisations and their datasets, read from two listings. A dataset is one file.

A registry is a class with the members of :class:`Registry`. ``KINDS`` in :mod:`.source_type` has them by name:
a new kind is a class and a row there.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlencode, urlsplit

from ..harvesting.listings import NotWhole, PagedList
from ..harvesting.messages import HarvestMessage, MessageCode, about, no_answer
from ..harvesting.source_client import SourceHosts
from ..web.errors import FetchError
from ..web.exchange import Request
from ..web.urls import display_url, parse_url
from . import records
from .records import RegistryEntry, text_of

if TYPE_CHECKING:
    from ..web.client import Client

MOST_VALUES = 2_000_000
"""Values in one answer. 50 MB of empty lists would take more than 1 GB when parsed; this many values take at
most half of that. A dataset has about ten values in an index file, about 200 in CKAN's API."""

EntrySink = Callable[[RegistryEntry], None]
"""Gets each entry as it is read; the same entry may come more than once."""
EntryOf = Callable[[dict[str, Any]], RegistryEntry]
"""Makes the entry of a record that has an id."""


class UnreadableListing(Exception):
    """A listing that was not read completely.

    :ivar message: one line for people, with the URL
    :ivar words: the same without the URL
    """

    def __init__(self, url: str, words: str) -> None:
        self.message = about(display_url(url), words)
        super().__init__(self.message)
        self.url = url
        self.words = words


class Registry(Protocol):
    """A registry of reporting organisations and their datasets.

    :ivar organisations_url: URL of the listing of organisations, for people
    :ivar datasets_url: URL of the listing of datasets, for people
    """

    organisations_url: str
    datasets_url: str

    def organisation_url(self, registry_id: str) -> str:
        """Return the registry's URL of an organisation, always the same for an id."""

    def dataset_url(self, registry_id: str) -> str:
        """Return the registry's URL of a dataset, always the same for an id."""

    async def organisations(self, sink: EntrySink) -> None:
        """Read the listing of organisations.

        :raises UnreadableListing: it was not read completely; the entries read so far were handed on
        """

    async def datasets(self, sink: EntrySink) -> None:
        """Read the listing of datasets.

        :raises UnreadableListing: it was not read completely; the entries read so far were handed on
        """


class RegistryClient:
    """A client that requests JSON from one registry, and follows redirects to allowed hosts only."""

    def __init__(
        self,
        client: Client,
        source_url: str,
        *,
        allowed_hosts: Collection[str] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """
        :param allowed_hosts: redirect targets besides the registry's own host
        :param headers: may be secret, so only the registry's own origin gets them
        """
        self._client = client
        self._source_hosts = SourceHosts(source_url, allowed_hosts, headers)

    async def json(self, url: str) -> Any:
        """Return the JSON at a URL.

        :raises UnreadableListing: no answer, a status other than 200, or no usable JSON
        """
        try:
            target = parse_url(url)
            answer = await self._client.fetch(
                Request(
                    url,
                    accept="application/json",
                    headers=self._source_hosts.headers_for(target),
                    host_allowed=self._source_hosts.hosts.__contains__,
                )
            )
        except FetchError as error:
            raise UnreadableListing(url, no_answer(error)) from error
        if answer.status != 200:
            status = answer.status
            words = HarvestMessage(f"answered {status}", MessageCode.ANSWERED, status=status)
            raise UnreadableListing(url, words)
        body = answer.body or b""
        if not body.strip():
            words = HarvestMessage("answered with an empty body instead of JSON", MessageCode.EMPTY)
            raise UnreadableListing(url, words)
        # Each value but the first of a list or object follows a comma, in any encoding.
        if sum(map(body.count, (b"[", b"{", b","))) > MOST_VALUES:
            raise UnreadableListing(url, f"answered with JSON of more than {MOST_VALUES:,} values")
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            words = HarvestMessage(
                f"answered with JSON that cannot be read: {error}", MessageCode.MALFORMED
            )
            if body.lstrip()[:1] == b"<":
                words = HarvestMessage(
                    "answered with a page for people, not with JSON", MessageCode.NOT_METADATA
                )
            raise UnreadableListing(url, words) from error


def _without_user(netloc: str) -> str:
    """Return host and port without user and password, for URLs that are published."""
    return netloc.rpartition("@")[2]


def _too_many(url: str, max_records: int) -> UnreadableListing:
    return UnreadableListing(url, f"lists more than max_records ({max_records})")


# Index files

ORGANISATIONS, DATASETS = "reporting-orgs", "datasets-minimal"
INDEX_NAMES = frozenset({ORGANISATIONS, DATASETS, "datasets-full"})
"""Names of index files, with or without ``.json``."""


class IndexFiles:
    """The Bulk Data Service's index files as a registry: ``reporting-orgs`` and ``datasets-minimal``."""

    def __init__(self, client: RegistryClient, source_url: str, max_records: int) -> None:
        """
        :param source_url: URL of a file, or of the folder
        """
        self._client = client
        self._max_records = max_records
        parts = urlsplit(source_url)
        path = parts.path.rstrip("/")
        folder, _, last = path.rpartition("/")
        is_file = last.removesuffix(".json") in INDEX_NAMES
        place = parts._replace(path=folder if is_file else path, query="", fragment="")
        suffix = ".json" if is_file and last.endswith(".json") else ""
        self.organisations_url = f"{place.geturl()}/{ORGANISATIONS}{suffix}"
        self.datasets_url = f"{place.geturl()}/{DATASETS}{suffix}"
        public = place._replace(netloc=_without_user(parts.netloc)).geturl()
        # An organisation has no page of its own: a query makes the URL unique, and servers ignore it.
        self._organisation = f"{public}/{ORGANISATIONS}{suffix}?id="
        self._dataset = f"{public}/{DATASETS}{suffix}?id="

    def organisation_url(self, registry_id: str) -> str:
        return self._organisation + _quoted(registry_id)

    def dataset_url(self, registry_id: str) -> str:
        return self._dataset + _quoted(registry_id)

    async def organisations(self, sink: EntrySink) -> None:
        names = ("reporting_orgs", "reporting_organisations", "organisations")
        await self._read(self.organisations_url, names, self._entry_of_organisation, sink)

    async def datasets(self, sink: EntrySink) -> None:
        await self._read(self.datasets_url, ("datasets",), self._entry_of_dataset, sink)

    def _entry_of_organisation(self, raw: dict[str, Any]) -> RegistryEntry:
        title = text_of(raw.get("human_readable_name")) or raw.get("title")
        url = self.organisation_url(str(text_of(raw.get("id"))))
        name = text_of(raw.get("short_name")) or raw.get("name")
        return records.organisation(raw, url, name=name, title=title)

    def _entry_of_dataset(self, raw: dict[str, Any]) -> RegistryEntry:
        # Most other fields are results of the service's own checks.
        return records.dataset(
            raw,
            self.dataset_url(str(text_of(raw.get("id")))),
            name=text_of(raw.get("short_name")) or raw.get("name"),
            title=raw.get("title"),
            organisation_id=raw.get("reporting_org_id"),
            file_url=raw.get("source_url"),
            license=text_of(raw.get("licence_id")) or raw.get("license_id"),
        )

    async def _read(
        self, url: str, names: tuple[str, ...], entry_of: EntryOf, sink: EntrySink
    ) -> None:
        rows = await self._client.json(url)
        if isinstance(rows, dict):
            rows = next((rows[name] for name in names if name in rows), None)
        if isinstance(rows, dict):
            rows = list(rows.values())  # Older files have an object by name.
        if not isinstance(rows, list):
            raise UnreadableListing(url, f'has no list of "{names[0]}"')
        without_id = _hand_on(rows[: self._max_records], entry_of, sink)
        if len(rows) > self._max_records:
            raise _too_many(url, self._max_records)
        _refuse_anonymous(url, without_id)


# CKAN

ROWS = 1000
"""Datasets requested per page: the default of ``ckan.search.rows_max``."""
READINGS = 3
"""How often a list is read that keeps changing."""

_API = ("/action", "/3", "/api")

Page = tuple[list[Any], int | None]
"""The records of a page, and the number of records of the whole list, if the answer states it."""


class CkanRegistry:
    """A registry that is a CKAN with IATI's fields, read through its API.

    CKAN's pages are offsets into a list that may change meanwhile. If a record is added or removed between two
    pages, the others shift, and a skipped dataset would count as deleted. So each list is requested in a fixed
    order, and each page begins with the last record of the page before. If two pages do not overlap, the list
    is read again.
    """

    def __init__(self, client: RegistryClient, source_url: str, max_records: int) -> None:
        """
        :param source_url: URL of the site, or of its API
        """
        self._client = client
        self._max_records = max_records
        parts = urlsplit(source_url)
        path = parts.path.rstrip("/")
        for last in _API:
            path = path.removesuffix(last)
        place = parts._replace(path=path, query="", fragment="")
        self._site = place._replace(netloc=_without_user(parts.netloc)).geturl()
        self.organisations_url = f"{place.geturl()}/api/3/action/organization_list"
        self.datasets_url = f"{place.geturl()}/api/3/action/package_search"

    def organisation_url(self, registry_id: str) -> str:
        return f"{self._site}/organization/{_quoted(registry_id)}"

    def dataset_url(self, registry_id: str) -> str:
        return f"{self._site}/dataset/{_quoted(registry_id)}"

    async def organisations(self, sink: EntrySink) -> None:
        async def read() -> int:
            # A page has 1,000 names but only 25 whole organisations: the names are the proof of wholeness.
            names = sum([len(rows) async for rows in self._pages(url, self._names)])
            without_id = received = 0
            if names:
                async for rows in self._pages(url, self._organisations):
                    received += len(rows)
                    without_id += _hand_on(rows, self._entry_of_organisation, sink)
            if received != names:
                raise NotWhole(f"it lists {names} organisations and gives {received}")
            return without_id

        url = self.organisations_url
        await self._read_until_whole(url, read)

    async def datasets(self, sink: EntrySink) -> None:
        async def read() -> int:
            without_id, last = 0, ""
            async for rows in self._pages(url, self._datasets):
                ids = [each for raw in rows if (each := text_of(_id(raw))) is not None]
                if [last, *ids] != sorted({last, *ids}):
                    raise NotWhole("its datasets do not come in the order of their ids")
                last = ids[-1] if ids else last
                without_id += _hand_on(rows, self._entry_of_dataset, sink)
            return without_id

        url = self.datasets_url
        await self._read_until_whole(url, read)

    async def _read_until_whole(self, url: str, read: Callable[[], Awaitable[int]]) -> None:
        """Read a list until it is consistent.

        :param read: reads it once, and returns the number of records without an id
        """
        for reading in range(1, READINGS + 1):
            try:
                without_id = await read()
            except NotWhole as error:
                if reading == READINGS:
                    words = f"{error}, each of the {READINGS} times that it was read"
                    raise UnreadableListing(url, words) from error
            else:
                _refuse_anonymous(url, without_id)
                return

    async def _pages(
        self, url: str, page: Callable[[int], Awaitable[Page]]
    ) -> AsyncIterator[list[Any]]:
        """Yield the records of each page that the page before did not have.

        :param url: of the list, for errors
        :param page: requests the page at an offset
        :raises NotWhole: two pages do not overlap, or the stated number does not agree with them
        """
        whole = PagedList(overlapping=True)
        start = size = 0
        while True:
            rows, total = await page(start)
            # Records without an id are told apart by their contents.
            whole.add(str(start), [str(_id(raw) or raw) for raw in rows], total=total)
            if start > self._max_records:
                raise _too_many(url, self._max_records)
            yield rows[1:] if start else rows
            size = size or len(rows)
            if size < 2 or len(rows) < size:
                break
            start += size - 1
        if size == 1 and (await page(1))[0]:
            # Pages of one record cannot overlap. Usually the list has only one.
            raise NotWhole("it gives its records one by one only")
        whole.end()

    async def _names(self, start: int) -> Page:
        query = {"sort": "name asc", "limit": ROWS, "offset": start}
        return _rows(*await self._call(self.organisations_url, query)), None

    async def _organisations(self, start: int) -> Page:
        whole = {"all_fields": "true", "include_extras": "true"}
        query = {**whole, "sort": "name asc", "limit": ROWS, "offset": start}
        return _rows(*await self._call(self.organisations_url, query)), None

    async def _datasets(self, start: int) -> Page:
        query = {"sort": "id asc", "rows": ROWS, "start": start}
        url, result = await self._call(self.datasets_url, query)
        if not isinstance(result, dict) or isinstance(result.get("count"), bool):
            raise UnreadableListing(url, "answered with no list of datasets")
        count = result.get("count")
        if not isinstance(count, int) or count < 0:
            raise UnreadableListing(url, "does not say how many datasets there are")
        return _rows(url, result.get("results")), count

    async def _call(self, action_url: str, query: Mapping[str, Any]) -> tuple[str, Any]:
        url = f"{action_url}?{urlencode(query)}"
        answer = await self._client.json(url)
        if not isinstance(answer, dict) or answer.get("success") is not True:
            raise UnreadableListing(url, "did not answer with the result of an API call")
        return url, answer.get("result")

    def _entry_of_organisation(self, raw: dict[str, Any]) -> RegistryEntry:
        url = self.organisation_url(str(text_of(raw.get("id"))))
        return records.organisation(raw, url, name=raw.get("name"), title=raw.get("title"))

    def _entry_of_dataset(self, raw: dict[str, Any]) -> RegistryEntry:
        resources, owner = raw.get("resources"), raw.get("organization")
        first = resources[0] if isinstance(resources, list) and resources else None
        return records.dataset(
            raw,
            self.dataset_url(str(text_of(raw.get("id")))),
            name=raw.get("name"),
            title=raw.get("title"),
            organisation_id=_id(owner),
            file_url=first.get("url") if isinstance(first, dict) else None,
            license=raw.get("license_id"),
        )


def _hand_on(rows: Iterable[Any], entry_of: EntryOf, sink: EntrySink) -> int:
    """Hand on the entries of records, and return the number of records without an id."""
    without_id = 0
    for raw in rows:
        if text_of(_id(raw)) is None:
            without_id += 1
        else:
            sink(entry_of(raw))
    return without_id


def _refuse_anonymous(url: str, without_id: int) -> None:
    if without_id:
        raise UnreadableListing(url, f"{without_id} of its records have no id")


def _id(raw: Any) -> Any:
    return raw.get("id") if isinstance(raw, dict) else None


def _rows(url: str, result: Any) -> list[Any]:
    if not isinstance(result, list):
        raise UnreadableListing(url, "answered with no list")
    return result


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="replace")
