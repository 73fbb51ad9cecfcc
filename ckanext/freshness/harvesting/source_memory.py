"""The memory of a source from one crawl to the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from ..ckan_adapter.core import model
from ..model import HarvestDocument

_table = HarvestDocument.__table__

ORGANIZATION = "organization"
"""The first word of the keys of the organizations that a source owns or uses. Their values have an ``id``."""
ORGANIZATIONS_OF_SOURCE = f"""
SELECT outline->>'id' FROM freshness_harvest_document
WHERE source_id = :source AND url LIKE '{ORGANIZATION} %'"""
"""SQL: the ids of the organizations of ``:source``."""


class SourceMemory:
    """Values by key, each with the digest of its origin.

    The keys are URLs of documents, or names that the source type chooses. The values are what JSON can hold.
    A type keeps here what saves it work, such as the outline of a document whose bytes have the same hash as
    last time, and what it compares with, such as the list that a container had. The core stores it and never
    reads it.
    """

    BATCH = 100

    def __init__(self, source_id: str, *, read_only: bool = False) -> None:
        """
        :param read_only: keep nothing for the next crawl, because a preview writes nothing.
        """
        self._source_id = source_id
        self._read_only = read_only
        self._learnt: dict[str, tuple[str, Any]] = {}
        self._visited: set[str] = set()
        self._expected: Iterator[str] = iter(())
        self._ahead: dict[str, tuple[str, Any] | None] = {}
        """Rows that were read before they are asked for; None if a key has none."""

    def expect(self, urls: Iterable[str]) -> None:
        """Say which keys are recalled soon, about in this order: they are read many at a time."""
        self._expected = iter(urls)

    def recall(self, url: str, digest: str) -> Any:
        """Return the value of a key if its origin still has the same digest; None otherwise."""
        self._visited.add(url)
        learnt, value = self._learnt.get(url, ("", None))
        if learnt == digest:
            return value
        if url not in self._ahead:
            self._read(url)
        row = self._ahead.pop(url)
        return row[1] if row is not None and row[0] == digest else None

    def _read(self, url: str) -> None:
        """Read the row of a key, and those of the next keys that are expected."""
        keys = [url, *islice(self._expected, self.BATCH)]
        rows = model.Session.execute(
            sa.select(_table.c.url, _table.c.digest, _table.c.outline).where(
                _table.c.source_id == self._source_id, _table.c.url.in_(keys)
            )
        )
        self._ahead |= dict.fromkeys(keys)
        self._ahead |= {row.url: (row.digest, row.outline) for row in rows}
        model.Session.commit()  # no transaction stays open during the next request

    def knows(self, url: str) -> bool:
        """Return whether an earlier crawl read the document."""
        found = model.Session.execute(
            sa.select(sa.exists().where(_table.c.source_id == self._source_id, _table.c.url == url))
        ).scalar()
        model.Session.commit()
        return bool(found)

    def remember(self, url: str, digest: str, value: Any) -> None:
        """Keep a value for the next crawl."""
        if self._read_only:
            return
        self._visited.add(url)
        self._ahead.pop(url, None)
        self._learnt[url] = (digest, value)
        if len(self._learnt) >= self.BATCH:
            self._flush()
            model.Session.commit()

    def finish(self, *, forget_others: bool) -> None:
        """Write the remaining values. No commit.

        :param forget_others: delete the values of keys that this crawl did not meet. Use this only after a
            crawl that read all containers.
        """
        self._flush()
        if forget_others and not self._read_only:
            urls = model.Session.execute(
                sa.select(_table.c.url).where(_table.c.source_id == self._source_id)
            ).scalars()
            stale = [url for url in urls if url not in self._visited]
            for start in range(0, len(stale), 1000):
                model.Session.execute(
                    sa.delete(_table).where(
                        _table.c.source_id == self._source_id,
                        _table.c.url.in_(stale[start : start + 1000]),
                    )
                )

    def _flush(self) -> None:
        if not self._learnt:
            return
        statement = insert(_table)
        statement = statement.on_conflict_do_update(
            index_elements=[_table.c.source_id, _table.c.url],
            set_={"digest": statement.excluded.digest, "outline": statement.excluded.outline},
        )
        model.Session.execute(
            statement,
            [
                {"source_id": self._source_id, "url": url, "digest": digest, "outline": value}
                for url, (digest, value) in self._learnt.items()
            ],
        )
        self._learnt.clear()
