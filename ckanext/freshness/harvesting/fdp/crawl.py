"""One crawl of a FAIR Data Point: read the containers, then the records, many at a time.

The crawl reports and decides nothing. It hands each record to a sink as soon as it is read
(:class:`~ckanext.freshness.harvesting.record.CrawledRecord`) and ends with the containers
(:class:`~ckanext.freshness.harvesting.record.Containers`). The strategy decides about deletions.
"""

from __future__ import annotations

from ..rdf.mapping import Mapper
from ..rdf.reader import DocumentReader
from ..record import CrawledRecord, KnownRecord, ReadOutcome, SeenRecord, Sink
from ..source_type import CrawlEnd, CrawlInput, ask_left_out
from ..strategy import must_ask
from .container_tree import DEEPEST, ContainerTree, DatasetListing
from .containers import ContainerReader, Place
from .datasets import REFUSING, DatasetReader
from .records import RecordReader


class Crawl:
    """One crawl of one source. Call :meth:`run` once.

    :ivar containers: the containers read so far
    """

    def __init__(
        self, reader: DocumentReader, mapper: Mapper, given: CrawlInput, sink: Sink
    ) -> None:
        """
        :param sink: called with each record as soon as it is read, in no particular order.
        """
        source = given.source
        self._reader = reader
        self._config = source.config
        self._known = given.known
        self._sink = sink
        self._listing = DatasetListing(source.url, source.config.max_records)
        self._end = self._listing.end
        self.containers = self._end.containers
        is_wall = bool(reader.memory.recall(REFUSING, REFUSING))
        self._datasets = DatasetReader(reader, mapper, given.known, given.now, is_wall)
        containers = ContainerReader(reader, source, given.known, self._datasets)
        self._tree = ContainerTree(containers, self._listing, sink)
        self._records = RecordReader(self._tree, self._listing, self._datasets, sink)

    async def run(self) -> CrawlEnd:
        """Read all containers and records.

        :raises Exception: the sink failed; the crawl then ends at once.
        """
        tree, records = self._tree, self._records
        await tree.read({self.containers.root: Place(None)})
        for _ in range(DEEPEST):
            await records.read()
            if not records.below:
                break
            below, records.below = records.below, {}
            await tree.read(below)
        if self._missing():
            await tree.read_again()
            await records.read()
        self._datasets.remember_refusals()
        missing = self._missing()
        known = {url for url in self._listing.urls() if records.known_as(url) is not None}
        await self._ask(missing, known)
        answers = [records.answers.get(record.url) for record in missing]
        tree.prove(
            records.there | known,
            missing,
            is_missing=any(answer is not ReadOutcome.GONE for answer in answers),
        )
        for record, answer in zip(missing, answers, strict=True):
            if answer is not None:
                self._sink(CrawledRecord(SeenRecord(record.url, answer)), self.containers)
        self._end.errors += self._reader.errors
        self._end.warnings += self._reader.warnings
        return self._end

    def _missing(self) -> list[KnownRecord]:
        """Return the current records that are not listed, if their own URLs may tell more."""
        listed = self._records.listed()
        return [record for record in self._known if must_ask(record, listed, self.containers)]

    async def _ask(self, missing: list[KnownRecord], listed: set[str]) -> None:
        """Request the own URLs of records that no list has.

        :param listed: the listed URLs of current records.
        """
        answers = self._records.answers
        answers |= await ask_left_out(
            [record for record in missing if record.url not in answers],
            self._records.ask,
            self.containers,
            concurrency=self._reader.concurrency,
            most=self._config.max_deletions,
            # If no listed record answers, nor do the missing ones say anything.
            listed=sorted(listed & self._records.there or listed),
        )
