"""A registry that is a CKAN with IATI's fields, read through its API.

CKAN's pages are offsets into a list that may change meanwhile. If a record is added or removed between two
pages, the others shift, and a skipped dataset would count as deleted. So each list is requested in a fixed
order, and each page begins with the last record of the page before. If two pages do not overlap, the list is
read again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from ...harvesting.listings import NotWhole, PagedList
from . import records
from .records import RegistryEntry, text_of
from .registries import EntrySink, RegistryClient, RegistryLimits, UnreadableListing, without_user

ROWS = 1000
"""Datasets requested per page: the default of ``ckan.search.rows_max``."""
READINGS = 3
"""How often a list is read that keeps changing."""
AT_ONCE = 4
"""Concurrent requests for pages; each page takes memory."""

_API = ("/action", "/3", "/api")


@dataclass(frozen=True, slots=True)
class RegistryPage:
    """A page of a list.

    :ivar count: records of the whole list, if the answer states it
    """

    rows: list[Any]
    count: int | None = None


class CkanRegistry:
    """A registry that is a CKAN, as :class:`.registries.Registry`."""

    def __init__(self, client: RegistryClient, source_url: str, limits: RegistryLimits) -> None:
        """
        :param source_url: URL of the site, or of its API
        """
        self._client = client
        self._limits = limits
        parts = urlsplit(source_url)
        path = parts.path.rstrip("/")
        for last in _API:
            path = path.removesuffix(last)
        self._site = urlunsplit((parts.scheme, parts.netloc, path, "", ""))
        self._public_site = urlunsplit((parts.scheme, without_user(parts.netloc), path, "", ""))

    @property
    def organisations_url(self) -> str:
        return self._action("organization_list")

    @property
    def datasets_url(self) -> str:
        return self._action("package_search")

    def organisation_url(self, registry_id: str) -> str:
        return f"{self._public_site}/organization/{quote(registry_id, safe='', errors='replace')}"

    def dataset_url(self, registry_id: str) -> str:
        return f"{self._public_site}/dataset/{quote(registry_id, safe='', errors='replace')}"

    async def organisations(self, sink: EntrySink) -> None:
        await self._read_consistently(
            self.organisations_url, lambda: self._read_organisations(sink)
        )

    async def datasets(self, sink: EntrySink) -> None:
        await self._read_consistently(self.datasets_url, lambda: self._read_datasets(sink))

    async def _read_consistently(self, url: str, read: Callable[[], Awaitable[int]]) -> None:
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
                if without_id:
                    raise UnreadableListing(url, f"{without_id} of its records have no id")
                return

    async def _read_organisations(self, sink: EntrySink) -> int:
        names = 0
        url = self.organisations_url
        async for page in self._pages(url, self._page_of_names, lambda name: name, None):
            names += len(page)
        without_id = received = 0
        if not names:
            return 0
        # A page has 1,000 names but only 25 whole organisations. The count allows concurrent requests.
        async for rows in self._pages(url, self._page_of_organisations, _id, names):
            for raw in rows:
                received += 1
                if text_of(_id(raw)) is None:
                    without_id += 1
                else:
                    sink(self._organisation(raw))
        if received != names:
            raise NotWhole(f"it lists {names} organisations and gives {received}")
        return without_id

    async def _read_datasets(self, sink: EntrySink) -> int:
        first = await self._page_of_datasets(0)
        without_id = 0
        last = ""
        url = self.datasets_url
        async for rows in self._pages(url, self._page_of_datasets, _id, first.count, first):
            for raw in rows:
                registry_id = text_of(_id(raw))
                if registry_id is None:
                    without_id += 1
                    continue
                if registry_id <= last:
                    raise NotWhole("its datasets do not come in the order of their ids")
                last = registry_id
                sink(self._dataset(raw))
        return without_id

    async def _pages(
        self,
        url: str,
        page: Callable[[int], Awaitable[RegistryPage]],
        key: Callable[[Any], Any],
        count: int | None,
        first: RegistryPage | None = None,
    ) -> AsyncIterator[list[Any]]:
        """Yield the pages of a list, each without the record it shares with the page before.

        :param url: of the list, for errors
        :param page: requests the page at an offset
        :param key: returns the identity of a record
        :param count: records of the whole list; None: read until a page is not full
        :param first: the first page, if it was requested already
        :raises NotWhole: two pages do not overlap, or the count does not agree with them
        """
        first = await page(0) if first is None else first
        size, whole = len(first.rows), PagedList(overlapping=True)
        whole.add("0", _keys(first, key), total=first.count)
        yield first.rows
        if size == 1 and (await page(1)).rows:
            # Pages of one record cannot overlap. Usually the list has only one.
            raise NotWhole("it gives its records one by one only")
        if size < 2:
            whole.end()
            return
        start = size - 1
        while True:
            ahead = 1
            if count is not None:
                ahead = max(1, min(AT_ONCE, -(-(count - start) // (size - 1))))
            starts = [start + number * (size - 1) for number in range(ahead)]
            for following in await _all([page(offset) for offset in starts]):
                whole.add(str(start), _keys(following, key), total=following.count)
                if start > self._limits.max_records:
                    words = f"lists more than max_records ({self._limits.max_records})"
                    raise UnreadableListing(url, words)
                yield following.rows[1:]
                if len(following.rows) < size:
                    whole.end()
                    return
                start += size - 1

    async def _page_of_names(self, start: int) -> RegistryPage:
        query = {"sort": "name asc", "limit": ROWS, "offset": start}
        return RegistryPage(_rows(*await self._call("organization_list", query)))

    async def _page_of_organisations(self, start: int) -> RegistryPage:
        query = {
            "all_fields": "true",
            "include_extras": "true",
            "sort": "name asc",
            "limit": ROWS,
            "offset": start,
        }
        return RegistryPage(_rows(*await self._call("organization_list", query)))

    async def _page_of_datasets(self, start: int) -> RegistryPage:
        query = {"sort": "id asc", "rows": ROWS, "start": start}
        url, result = await self._call("package_search", query)
        if not isinstance(result, dict) or isinstance(result.get("count"), bool):
            raise UnreadableListing(url, "answered with no list of datasets")
        count = result.get("count")
        if not isinstance(count, int) or count < 0:
            raise UnreadableListing(url, "does not say how many datasets there are")
        return RegistryPage(_rows(url, result.get("results")), count)

    async def _call(self, action: str, query: dict[str, Any]) -> tuple[str, Any]:
        url = f"{self._action(action)}?{urlencode(query)}"
        answer = await self._client.json(url)
        if not isinstance(answer, dict) or answer.get("success") is not True:
            raise UnreadableListing(url, "did not answer with the result of an API call")
        return url, answer.get("result")

    def _action(self, name: str) -> str:
        return f"{self._site}/api/3/action/{name}"

    def _organisation(self, raw: dict[str, Any]) -> RegistryEntry:
        url = self.organisation_url(str(text_of(raw.get("id"))))
        return records.organisation(raw, url, name=raw.get("name"), title=raw.get("title"))

    def _dataset(self, raw: dict[str, Any]) -> RegistryEntry:
        resources, owner = raw.get("resources"), raw.get("organization")
        first = resources[0] if isinstance(resources, list) and resources else None
        return records.dataset(
            raw,
            self.dataset_url(str(text_of(raw.get("id")))),
            name=raw.get("name"),
            title=raw.get("title"),
            organisation_id=owner.get("id") if isinstance(owner, dict) else None,
            file_url=first.get("url") if isinstance(first, dict) else None,
            license=raw.get("license_id"),
        )


def _keys(page: RegistryPage, key: Callable[[Any], Any]) -> list[str]:
    """Return the identities of a page's records; those without one are told apart by their contents."""
    return [str(key(raw) or raw) for raw in page.rows]


def _id(raw: Any) -> Any:
    return raw.get("id") if isinstance(raw, dict) else None


def _rows(url: str, result: Any) -> list[Any]:
    if not isinstance(result, list):
        raise UnreadableListing(url, "answered with no list")
    return result


async def _all(requests: Iterable[Awaitable[RegistryPage]]) -> list[RegistryPage]:
    """Wait for all pages. If a request fails, cancel the others."""
    tasks = [asyncio.ensure_future(request) for request in requests]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
