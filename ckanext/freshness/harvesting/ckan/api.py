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
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from .. import legal_values
from ..listings import Page, PagedList
from ..messages import HarvestMessage, MessageCode
from ..record import ReadOutcome
from ..source_client import SourceClient, SourceReader, UnreadableDocument

MOST_VALUES = 2_000_000
"""Values in one answer. 50 MB of empty lists would take more than 1 GB when parsed; this many values take at
most half of that. A dataset has about ten values in an index file, about 200 in CKAN's API."""

ROWS = 1000
"""Records requested per page: the default of ``ckan.search.rows_max``."""
FIELDS = "id,metadata_modified,organization,dataset_type"
"""The fields of Solr that the list needs."""
READINGS = 3
"""How often a list is read that keeps changing."""
FILTERS = {
    "organizations_filter_include": "+organization",
    "groups_filter_include": "+groups",
    "organizations_filter_exclude": "-organization",
    "groups_filter_exclude": "-groups",
}
"""Keys that name organizations or groups of the portal; for each the beginning of a query of Solr for their
datasets, or for all others."""
NO_DATASETS = frozenset({"harvest", "showcase"})
"""Types of packages that are no datasets."""
WHOLE_ROWS = 100
"""Datasets requested per page if the portal sends them whole."""
WITHOUT_MEMBERS = dict.fromkeys(
    [f"include_{part}" for part in ("users", "groups", "tags", "followers", "datasets")], "false"
)
"""Arguments of the actions that show organizations and groups."""

_REFUSED = frozenset({401, 403, 404, 405, 410, 501})
"""Statuses by which a portal says that it does not have, or does not allow, a search."""

_PAGE = re.compile(r"(/api(/\d+)?(/action(/\w+)?)?|/dataset)/*$")
"""The end of a URL that people enter for a portal: of its API, of an action, or of its list of datasets."""
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


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


@dataclass(slots=True)
class Listed:
    """What a portal lists."""

    modified: dict[str, str | None] = field(default_factory=dict)
    """:func:`modified_of` each dataset, by its id."""
    owners: dict[str, str | None] = field(default_factory=dict)
    """The organization of each dataset, by the dataset's id: its id, or the name that it had when Solr indexed
    the dataset. A dataset that only moves to another one keeps its ``metadata_modified``."""
    others: dict[str, str] = field(default_factory=dict)
    """The type of each package that is no dataset, by the package's id."""
    failure: UnreadableDocument | None = None
    """Why the list was not read whole; None if it was."""

    def add(self, raw: Mapping[str, Any]) -> None:
        """Note a package of the list."""
        dataset_id = str(id_of(raw))
        if (kind := text_of(raw.get("dataset_type") or raw.get("type"))) in NO_DATASETS:
            self.others[dataset_id] = str(kind)
        else:
            self.modified[dataset_id] = modified_of(raw)
            owner = text_of(raw.get("owner_org")) or text_of(raw.get("organization"))
            self.owners[dataset_id] = sys.intern(owner) if owner else None


class CkanApi(JsonClient):
    """The API of one CKAN."""

    def __init__(self, opened: SourceClient, source_url: str, max_records: int) -> None:
        """
        :param source_url: URL of the site, or of its API
        :param max_records: a list with more records counts as unreadable
        """
        super().__init__(opened)
        self._max_records = max_records
        self.site = site_of(source_url)

    def action_url(self, action: str) -> str:
        """Return the URL of an action."""
        return f"{self.site.url}/api/3/action/{action}"

    def url_of(self, dataset_id: str) -> str:
        """Return the URL of a dataset's page."""
        return self.site.url_of("dataset", dataset_id)

    async def show(self, kind: str, name_or_id: str) -> dict[str, Any]:
        """Return a dataset, organization or group by its name or id.

        :param kind: ``dataset``, ``organization`` or ``group``.
        :raises UnreadableDocument: there is no answer, or one with another record.
        """
        action, more = f"{kind}_show", WITHOUT_MEMBERS
        if kind == "dataset":
            action, more = "package_show", {}
        _, raw = await self._call(action, {"id": name_or_id, **more})
        url = f"{self.action_url(action)}?id={name_or_id}"
        if not isinstance(raw, dict) or id_of(raw) is None:
            raise UnreadableDocument(url, f"answered with no {kind}")
        if name_or_id not in (id_of(raw), text_of(raw.get("name"))):
            raise UnreadableDocument(url, f"answered with another {kind}: {id_of(raw)}")
        return raw

    async def read_list(self, fq: str) -> Listed:
        """Read the list of all datasets.

        Some portals send whole datasets. All take too much memory: those that changed are requested again.

        :param fq: a query of Solr that all of them match
        """
        listed = Listed()
        for _ in range(READINGS):
            whole = PagedList(overlapping=True)
            try:
                async for rows in self._pages(fq, whole):
                    for raw in rows:
                        listed.add(raw)
            except UnreadableDocument as error:
                listed.failure = error
                break
            if not whole.misfit:
                listed.failure = None
                break
            words = f"{whole.misfit}, each of the {READINGS} times that it was read"
            listed.failure = UnreadableDocument(self.action_url("package_search"), words)
        return listed

    async def found(self, query: Mapping[str, Any]) -> tuple[list[Any], int]:
        """Return the datasets that one ``package_search`` gives, and the number of all that it finds.

        :raises UnreadableDocument: there is no answer
        """
        url, result = await self._call("package_search", query)
        rows = result.get("results") if isinstance(result, dict) else None
        if not isinstance(rows, list):
            raise UnreadableDocument(url, "answered with no list of datasets")
        count = result.get("count")
        # True is an integer, too.
        if type(count) is not int or count < 0:
            raise UnreadableDocument(url, "does not say how many datasets there are")
        return rows, count

    async def _pages(self, fq: str, whole: PagedList) -> AsyncIterator[list[Any]]:
        """Yield the datasets that ``package_search`` finds, by ascending id, page by page, each of them once.

        :param whole: gets the pages
        """
        last, rows_asked, size, read = "", ROWS, 0, 0
        while True:
            terms = [fq, f'id:["{_escaped(last)}" TO *]' if last else ""]
            query = {"fq": " ".join(filter(None, terms)), "fl": FIELDS, "sort": "id asc"}
            try:
                rows, count = await self.found({**query, "rows": rows_asked})
            except UnreadableDocument as error:
                if rows_asked == WHOLE_ROWS or error.status in _REFUSED:
                    raise
                rows_asked = WHOLE_ROWS  # Perhaps the answer was too large, or took too long.
                continue
            ids = [each for raw in rows if (each := id_of(raw)) is not None]
            # The records before this page. It repeats the last of them.
            before = read - 1 if last else 0
            others = len(rows) - len(ids)
            whole.add(Page(last, ids, totals=[count + before], others=others))
            if others:
                whole.note(f"{others} of its records have no id")
            if ids != sorted(set(ids)):
                whole.note("its datasets do not come in the order of their ids")
            if before > self._max_records:
                raise too_many(self.action_url("package_search"), self._max_records)
            yield [raw for raw in rows if id_of(raw) not in (None, last)]
            size, read = size or len(rows), before + len(rows)
            # The page after a full one shows whether that was the last: the stated number may be wrong.
            if not ids or max(ids) <= last or len(rows) < min(size, rows_asked):
                break
            last = max(ids)
            if any("resources" in raw for raw in rows if isinstance(raw, dict)):
                rows_asked = WHOLE_ROWS
        whole.end()

    async def _call(self, action: str, query: Mapping[str, Any]) -> tuple[str, Any]:
        """Call an action, and return the URL and the result."""
        url = f"{self.action_url(action)}?{urlencode(query)}"
        try:
            answer = await self.json(url)
        except UnreadableDocument as error:
            is_told = error.outcome in (ReadOutcome.FORBIDDEN, ReadOutcome.GONE)
            if is_told and not _is_refusal(error.body):
                # A proxy or a web application firewall says nothing of the record.
                error.outcome = ReadOutcome.FAILED
            raise
        if not isinstance(answer, dict) or answer.get("success") is not True:
            raise UnreadableDocument(url, "did not answer with the result of an API call")
        return url, answer.get("result")


def too_many(url: str, max_records: int) -> UnreadableDocument:
    """Return the error of a list with more records than a source's configuration allows."""
    return UnreadableDocument(url, f"lists more than max_records ({max_records})")


def modified_of(raw: Mapping[str, Any]) -> str | None:
    """Return when a dataset was last changed, from a list or from the dataset itself; None if neither says."""
    modified = text_of(raw.get("metadata_modified"))
    if modified is None:
        return None
    # Solr writes milliseconds, and the API microseconds.
    second, _, fraction = modified.removesuffix("Z").partition(".")
    return f"{second}.{fraction[:3].ljust(3, '0')}"


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


def without_user(netloc: str) -> str:
    """Return host and port without user and password, for URLs that are published."""
    return netloc.rpartition("@")[2]


def quoted(text: str) -> str:
    """Return a text as one part of a URL's path or query."""
    return quote(text, safe="", errors="replace")


def any_of(texts: Iterable[str]) -> str:
    """Return the part of a query of Solr that stands for any of some values."""
    return "({})".format(" OR ".join(f'"{_escaped(text)}"' for text in texts))


def _escaped(text: str) -> str:
    """Return a text as it stands between quotes in a query of Solr."""
    return text.replace("\\", "\\\\").replace('"', '\\"')
