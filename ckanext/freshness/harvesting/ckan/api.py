"""CKAN's API: requests, and lists that prove that they were read whole.

CKAN's pages are parts of a list that may change meanwhile. If a record is added or removed between two pages,
a plain offset skips or repeats others, and a skipped dataset would count as deleted. Therefore each page
begins with the last record of the page before. If two pages do not meet, or the stated number does not agree
with them, the list is read again.

``package_search`` is read by ranges of ids. This needs no deep offsets, which take Solr longer with each page
and which some servers refuse. All of CKAN 2.3 to 2.12 answers it; before 2.9 CKAN ignores ``fl`` and sends
whole datasets.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from .. import legal_values
from ..listings import NotWhole, PagedList
from ..messages import HarvestMessage, MessageCode
from ..record import ReadOutcome
from ..source_client import SourceReader, UnreadableDocument

MOST_VALUES = 2_000_000
"""Values in one answer. 50 MB of empty lists would take more than 1 GB when parsed; this many values take at
most half of that. A dataset has about ten values in an index file, about 200 in CKAN's API."""

ROWS = 1000
"""Records requested per page: the default of ``ckan.search.rows_max``."""
WHOLE_ROWS = 100
"""Datasets requested per page if the portal sends them whole."""
READINGS = 3
"""How often a list is read that keeps changing."""

_REFUSED = frozenset({401, 403, 404, 405, 410, 501})
"""Statuses by which a portal says that it does not have, or does not allow, a search."""

_PAGE = re.compile(r"(/api(/\d+)?(/action(/\w+)?)?|/dataset)/*$")
"""The end of a URL that people enter for a portal: of its API, of an action, or of its list of datasets."""
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

Result = TypeVar("Result")


class JsonClient(SourceReader):
    """A client that requests JSON from one source, and follows redirects to allowed hosts only."""

    async def json(self, url: str) -> Any:
        """Return the JSON at a URL.

        :raises UnreadableDocument: no answer, a status other than 200, or no usable JSON
        """
        body = (await self.fetch(url, "application/json")).body or b""
        if not body.strip():
            raise UnreadableDocument(url, HarvestMessage(MessageCode.EMPTY))
        # Each value but the first of a list or object follows a comma, in any encoding.
        if sum(map(body.count, (b"[", b"{", b","))) > MOST_VALUES:
            raise UnreadableDocument(url, f"answered with JSON of more than {MOST_VALUES:,} values")
        try:
            return _parsed(body)
        except (ValueError, RecursionError) as error:
            reason = HarvestMessage(MessageCode.MALFORMED, details=f"JSON: {error}")
            if body.lstrip()[:1] == b"<":
                reason = HarvestMessage(MessageCode.NOT_METADATA)
            raise UnreadableDocument(url, reason) from error


def _parsed(body: bytes) -> Any:
    found = legal_values.read_json(body)
    if _SURROGATE.search(body):
        # Halves of characters, which no database takes. Whole ones stay as they are.
        found = json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))
    return found


def _is_refusal(body: bytes) -> bool:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.get("success") is False


@dataclass(frozen=True, slots=True)
class Site:
    """A CKAN by its URLs."""

    url: str
    public: str
    """The same without user and password, for URLs that are published."""

    def url_of(self, kind: str, record_id: str) -> str:
        """Return the URL of a record's page, always the same for an id.

        :param kind: ``dataset`` or ``organization``.
        """
        return f"{self.public}/{kind}/{quoted(record_id)}"


def site_of(source_url: str) -> Site:
    """Return the CKAN that a source's URL names: that of the site, of its API, or of its list of datasets."""
    parts = urlsplit(source_url)
    path = _PAGE.sub("", parts.path).rstrip("/")
    place = parts._replace(path=path, query="", fragment="")
    return Site(place.geturl(), place._replace(netloc=without_user(parts.netloc)).geturl())


class CkanApi:
    """The API of one CKAN."""

    def __init__(self, client: JsonClient, source_url: str, max_records: int) -> None:
        """
        :param source_url: URL of the site, or of its API
        :param max_records: a list with more records counts as unreadable
        """
        self._client = client
        self._max_records = max_records
        self.site = site_of(source_url)

    def action_url(self, action: str) -> str:
        """Return the URL of an action."""
        return f"{self.site.url}/api/3/action/{action}"

    async def call(self, action: str, query: Mapping[str, Any]) -> Any:
        """Return the result of an action.

        :raises UnreadableDocument: there is none.
        """
        return (await self._call(action, query))[1]

    async def _call(self, action: str, query: Mapping[str, Any]) -> tuple[str, Any]:
        url = f"{self.action_url(action)}?{urlencode(query)}"
        try:
            answer = await self._client.json(url)
        except UnreadableDocument as error:
            is_told = error.outcome in (ReadOutcome.FORBIDDEN, ReadOutcome.GONE)
            if is_told and not _is_refusal(error.body):
                # A proxy or a web application firewall says nothing of the record.
                error.outcome = ReadOutcome.FAILED
            raise
        if not isinstance(answer, dict) or answer.get("success") is not True:
            raise UnreadableDocument(url, "did not answer with the result of an API call")
        return url, answer.get("result")

    async def until_whole(self, read: Callable[[], Awaitable[Result]]) -> Result:
        """Read the list of datasets until it is consistent.

        :param read: reads it once, and raises :class:`NotWhole` if it is not.
        :raises UnreadableDocument: it never was.
        """
        for _ in range(READINGS - 1):
            try:
                return await read()
            except NotWhole:
                pass
        try:
            return await read()
        except NotWhole as error:
            words = f"{error}, each of the {READINGS} times that it was read"
            raise UnreadableDocument(self.action_url("package_search"), words) from error

    async def search(self, *, fq: str = "", fl: str = "") -> AsyncIterator[list[Any]]:
        """Yield the datasets that ``package_search`` finds, by ascending id, page by page, each of them once.

        :param fq: find only these.
        :param fl: the fields of each dataset; a portal may send whole datasets nevertheless.
        :raises NotWhole: at the end, if the pages do not prove that all were read
        """
        whole = PagedList(overlapping=True)
        last, rows_asked, size, read = "", ROWS, 0, 0
        while True:
            terms = [fq, f'id:["{escaped(last)}" TO *]' if last else ""]
            query = {"sort": "id asc", "rows": rows_asked, "fq": " ".join(filter(None, terms))}
            try:
                rows, count = await self._found({**query, "fl": fl} if fl else query)
            except UnreadableDocument as error:
                if rows_asked == WHOLE_ROWS or error.status in _REFUSED:
                    raise
                rows_asked = WHOLE_ROWS  # Perhaps the answer was too large, or took too long.
                continue
            ids = [each for raw in rows if (each := id_of(raw)) is not None]
            # The records before this page. It repeats the last of them.
            before = read - 1 if last else 0
            whole.add(last, ids, totals=[count + before], others=len(rows) - len(ids))
            if ids != sorted(set(ids)):
                whole.note("its datasets do not come in the order of their ids")
            if before > self._max_records:
                raise too_many(self.action_url("package_search"), self._max_records)
            yield [raw for raw in rows if not last or id_of(raw) != last]
            size, read = size or len(rows), before + len(rows)
            # The page after a full one shows whether that was the last: the stated number may be wrong.
            if not ids or max(ids) <= last or len(rows) < min(size, rows_asked):
                break
            last = max(ids)
            if any("resources" in raw for raw in rows if isinstance(raw, dict)):
                rows_asked = WHOLE_ROWS
        whole.end()
        if whole.misfit:
            raise NotWhole(whole.misfit)

    async def found(self, fq: str, rows: int) -> list[Any]:
        """Return the datasets that ``package_search`` finds, at most a number of them.

        :raises UnreadableDocument: there is no answer
        """
        return (await self._found({"fq": fq, "rows": rows}))[0]

    async def _found(self, query: Mapping[str, Any]) -> tuple[list[Any], int]:
        url, result = await self._call("package_search", query)
        if not isinstance(result, dict) or isinstance(result.get("count"), bool):
            raise UnreadableDocument(url, "answered with no list of datasets")
        count = result.get("count")
        if not isinstance(count, int) or count < 0:
            raise UnreadableDocument(url, "does not say how many datasets there are")
        return _rows(url, result.get("results")), count


def too_many(url: str, max_records: int) -> UnreadableDocument:
    """Return the error of a list with more records than a source's configuration allows."""
    return UnreadableDocument(url, f"lists more than max_records ({max_records})")


def text_of(value: Any) -> str | None:
    """Return a text or number as text; None for the values that portals write for a missing one."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    text = legal_values.clean(str(value)).strip()
    return None if text in ("", "None", "null") else text


def id_of(raw: Any) -> str | None:
    """Return the id of a record as the API gives it; None if it has none."""
    return text_of(raw.get("id")) if isinstance(raw, dict) else None


def pairs(extras: Any) -> list[tuple[str, Any]]:
    """Return keys and values of extras, whether they are CKAN's list or an object."""
    if isinstance(extras, dict):
        return list(extras.items())
    return [
        (each["key"], each.get("value"))
        for each in dictionaries(extras)
        if isinstance(each.get("key"), str)
    ]


def dictionaries(values: Any) -> list[dict[str, Any]]:
    """Return the dictionaries of a list; an empty list if the value is none."""
    return [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []


def escaped(text: str) -> str:
    """Return a text as it stands between quotes in a query of Solr."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def without_user(netloc: str) -> str:
    """Return host and port without user and password, for URLs that are published."""
    return netloc.rpartition("@")[2]


def quoted(text: str) -> str:
    """Return a text as one part of a URL's path or query."""
    return quote(text, safe="", errors="replace")


def _rows(url: str, result: Any) -> list[Any]:
    if not isinstance(result, list):
        raise UnreadableDocument(url, "answered with no list")
    return result
