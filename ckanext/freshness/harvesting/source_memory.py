"""What a source type remembers of a source from one crawl to the next.

The core stores it and never reads it. A source type keeps here what saves it work, such as what documents said
whose bytes have the same hash as last time, and what it compares with, such as the list that a container had.
"""

from __future__ import annotations

import json

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from ..ckan_adapter.core import model
from ..model import HarvestDocument

_table = HarvestDocument.__table__


class SourceMemory:
    """Values by key, each with the digest of what it was made of.

    The keys are URLs of documents, or names that the source type chooses.
    """

    BATCH = 100

    def __init__(self, source_id: str, *, read_only: bool = False) -> None:
        """
        :param read_only: keep nothing for the next crawl, because a preview writes nothing.
        """
        self._source_id = source_id
        self._read_only = read_only
        self._learnt: dict[str, tuple[str, str]] = {}
        self._visited: set[str] = set()

    def recall(self, url: str, digest: str) -> str | None:
        """Return the outline, as JSON, of a document whose bytes still have the same hash."""
        self._visited.add(url)
        learnt, text = self._learnt.get(url, ("", ""))
        if learnt == digest:
            return text
        found = model.Session.execute(
            sa.select(_table.c.outline).where(
                _table.c.source_id == self._source_id,
                _table.c.url == url,
                _table.c.digest == digest,
            )
        ).scalar()
        model.Session.commit()  # no transaction stays open during the next request
        return None if found is None else json.dumps(found)

    def knows(self, url: str) -> bool:
        """Return whether an earlier crawl read the document."""
        found = model.Session.execute(
            sa.select(sa.exists().where(_table.c.source_id == self._source_id, _table.c.url == url))
        ).scalar()
        model.Session.commit()
        return bool(found)

    def remember(self, url: str, digest: str, outline: str) -> None:
        """Keep an outline, as JSON, for the next crawl."""
        if self._read_only:
            return
        self._visited.add(url)
        self._learnt[url] = (digest, outline)
        if len(self._learnt) >= self.BATCH:
            self._flush()

    def finish(self, *, forget_others: bool) -> None:
        """Write the remaining outlines. No commit.

        :param forget_others: delete the outlines of documents that this crawl did not meet. Use this only
            after a crawl that read all containers.
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
                {
                    "source_id": self._source_id,
                    "url": url,
                    "digest": digest,
                    "outline": json.loads(outline),
                }
                for url, (digest, outline) in self._learnt.items()
            ],
        )
        self._learnt.clear()
