"""What earlier crawls learnt from documents, so that bytes that hash as last time are not parsed."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from ..ckan_adapter import harvest_tables, model
from ..model import HarvestDocument
from .harvest_tables import resources_of_package
from .record import Record

_table = HarvestDocument.__table__


class DocumentMemory:
    """Outlines of a source's documents by URL, kept from one crawl to the next."""

    BATCH = 100

    def __init__(self, source_id: str, *, read_only: bool = False) -> None:
        """
        :param read_only: learn nothing (a preview writes nothing).
        """
        self._source_id = source_id
        self._read_only = read_only
        self._learnt: dict[str, tuple[str, str]] = {}
        self._visited: set[str] = set()

    def recall(self, url: str, digest: str) -> str | None:
        """The outline, as JSON, of a document whose bytes hash as they did when it was learnt."""
        self._visited.add(url)
        found = model.Session.execute(
            sa.select(_table.c.outline).where(
                _table.c.source_id == self._source_id,
                _table.c.url == url,
                _table.c.digest == digest,
            )
        ).scalar()
        model.Session.commit()  # no transaction stays open while the network is waited for
        return None if found is None else json.dumps(found)

    def knows(self, url: str) -> bool:
        """Whether an earlier crawl has read the document."""
        found = model.Session.execute(
            sa.select(sa.exists().where(_table.c.source_id == self._source_id, _table.c.url == url))
        ).scalar()
        model.Session.commit()
        return bool(found)

    def resources_of(self, object_id: str) -> dict[str, dict[str, Any]]:
        """The resources that a record has, by URI, as one of its harvest objects holds them.

        If another harvester wrote the object, they are read from the object's dataset.
        """
        table = harvest_tables.OBJECT
        row = model.Session.execute(
            sa.select(table.c.content, table.c.package_id).where(table.c.id == object_id)
        ).first()
        resources: list[dict[str, Any]] = []
        if row is not None:
            try:
                resources = Record.from_json(row.content or "").resources
            except ValueError:
                resources = resources_of_package(row.package_id)
        model.Session.commit()
        return {one["uri"]: one for one in resources if one.get("uri")}

    def remember(self, url: str, digest: str, outline: str) -> None:
        """Keep an outline, JSON text, for the next crawl."""
        if self._read_only:
            return
        self._visited.add(url)
        self._learnt[url] = (digest, outline)
        if len(self._learnt) >= self.BATCH:
            self._flush()

    def finish(self, *, forget_others: bool) -> None:
        """Write what is left; no commit.

        :param forget_others: drop documents that this crawl did not meet. Only after a crawl that
            read all containers.
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
