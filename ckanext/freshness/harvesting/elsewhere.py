"""Records that other sources of the site have harvested already: their datasets would be here twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import sqlalchemy as sa

from ..ckan_adapter.core import model
from ..ckan_adapter.harvest import URLS_OF_OTHER_SOURCES
from .messages import HarvestMessage, MessageCode
from .record import loose_spelling

_ROWS = 5000
"""How many rows to read at a time."""


@dataclass(slots=True)
class HarvestedElsewhere:
    """New records that another active source has harvested."""

    source: str
    """The title of that source."""
    name: str
    """Its name, as URLs and commands take it."""
    urls: set[str] = field(default_factory=set)

    def in_words(self) -> HarvestMessage:
        """Return a warning for people, with what to do."""
        count = len(self.urls)
        records = "1 new record is" if count == 1 else f"{count} new records are"
        return HarvestMessage(
            f"{records} already on this portal, from the source {self.source} ({self.name}), for example "
            f"{min(self.urls)}. With both sources, such datasets appear twice. If this source replaces the "
            "other one, delete the other one before this one is harvested: its datasets stay, and a source of "
            "the same organization takes them over",
            MessageCode.ELSEWHERE,
            count=count,
            source=self.source,
        )


def find(source_id: str, urls: Iterable[str]) -> list[HarvestedElsewhere]:
    """Return which records other active sources have harvested, by source, the most first.

    The records of all other sources are read once, so call it before the first harvest of a source only.

    :param source_id: the source that lists the records.
    :param urls: the URLs of its new records.
    """
    wanted = {loose_spelling(url): url for url in urls}
    if not wanted:
        return []
    hosts = {host for url in wanted.values() if (host := _host(url))}
    found: dict[str, HarvestedElsewhere] = {}
    for name, title, url in _others(source_id, hosts):
        same = wanted.get(loose_spelling(url))
        if same is not None:
            found.setdefault(name, HarvestedElsewhere(title, name)).urls.add(same)
    return sorted(found.values(), key=lambda entry: (-len(entry.urls), entry.source))


def _others(source_id: str, hosts: set[str]) -> Iterator[tuple[str, str, str]]:
    """Yield name and title of another source, and the URL of one of its current records on some hosts."""
    rows = model.Session.execute(
        sa.text(URLS_OF_OTHER_SOURCES),
        {"source": source_id, "hosts": sorted(hosts)},
        execution_options={"yield_per": _ROWS},
    )
    for row in rows:
        yield row.name, row.title, row.url


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).netloc.lower() or None
    except ValueError:
        return None
