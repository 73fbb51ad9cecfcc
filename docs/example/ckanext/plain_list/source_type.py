"""The source type: how its sources are read."""

import json

from ckanext.freshness.harvesting.record import (
    Containers,
    CrawledRecord,
    ReadOutcome,
    Record,
    SeenRecord,
)
from ckanext.freshness.harvesting.source_client import SourceReader, UnreadableDocument
from ckanext.freshness.harvesting.source_config import one_of
from ckanext.freshness.harvesting.source_type import CrawlEnd, SourceType, content_hash, salt_of

FORMAT = "PLAIN"
"""The format of each resource. This plugin checks the links of this format."""


class PlainList(SourceType):
    """A JSON document with a list of datasets."""

    name = "plain_list"
    title = "Plain list"
    description = "Harvests the datasets of a JSON document"
    own_keys = {"unnamed": one_of(["error", "skip"])}

    async def read(self, opened, given, sink):
        source = given.source
        end = CrawlEnd(Containers(source.url))
        try:
            reader = SourceReader(opened)
            answer = await reader.fetch(source.url, "application/json")
            listed = self.listed(answer.body)
        except (UnreadableDocument, LookupError, TypeError, ValueError) as error:
            # It was not read: none of its datasets is deleted.
            end.mark_unreadable(source.url, getattr(error, "reason", str(error)))
            return end
        end.containers.listed.update(raw["id"] for raw in listed)
        salt = salt_of(source.config)
        for raw in listed:
            sink(self.crawled(source, raw, salt), end.containers)
        return end

    def listed(self, body):
        found = json.loads(body)
        if len({raw["id"] for raw in found["datasets"]}) != found["count"]:
            raise ValueError(f"it says that it has {found['count']} datasets, and lists others")
        return found["datasets"]

    def crawled(self, source, raw, salt):
        if not raw.get("title"):
            seen = SeenRecord(raw["id"], ReadOutcome.MALFORMED, (source.url,))
            is_told = source.config.own.get("unnamed") != "skip"
            return CrawledRecord(seen, error=f"{raw['id']}: it has no title" if is_told else None)
        record = Record(
            {"title": raw["title"], "notes": raw.get("description", "")},
            [
                {"name": url.rpartition("/")[2], "url": url, "uri": url, "format": FORMAT}
                for url in raw.get("files", ())
            ],
        )
        digest = content_hash(salt, record)
        seen = SeenRecord(raw["id"], ReadOutcome.PRESENT, (source.url,), content_hash=digest)
        return CrawledRecord(seen, record)
