"""One crawl of a CKAN portal: the list of all its datasets, then the contents of those that changed.

The list comes from ``package_search``, which answers from Solr, and Solr may lag behind the portal's
database: an index that is being rebuilt lists a part of the datasets, in good order and with the number that
fits. Therefore each current record that the list leaves out is asked for by ``package_show``, which knows the
database.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote

from ...web.urls import display_url, loose_spelling
from ..messages import HarvestMessage, Message, MessageCode, about
from ..record import Containers, CrawledRecord, CurrentRecords, ReadOutcome, SeenRecord, Sink
from ..source_client import UnreadableDocument
from ..source_type import CrawlEnd, CrawlInput, ask_left_out
from .api import FILTERS, CkanApi, Listed, any_of
from .datasets import DatasetReader, visibility
from .mapping import MappingOptions

OF_THIS_SITE = "dataset that comes from this site"
"""The kind of datasets that the portal has from here."""

_NO_JSON = frozenset({MessageCode.NOT_METADATA, MessageCode.MALFORMED, MessageCode.EMPTY})


async def crawl(
    api: CkanApi, given: CrawlInput, salt: str, mapping: MappingOptions, sink: Sink
) -> CrawlEnd:
    """Crawl a portal.

    :param salt: part of every hash: what a record's contents depend on besides the portal's
    :param sink: called with each dataset as soon as it is read, in no particular order. Its exception ends the
        crawl.
    """
    source_url, known, own = given.source.url, given.known, given.source.config.own
    end = CrawlEnd(Containers(root=source_url))
    fq = [f"{FILTERS[key]}:{any_of(own[key])}" for key in FILTERS if own.get(key)]
    listed = await api.read_list(" ".join(fq))
    if listed.failure is not None:
        mark = end.mark_unproved if listed.modified else end.mark_unreadable
        mark(source_url, listed.failure.reason, reported=True)
        end.errors.append(_told(listed.failure, source_url, is_new=not len(known)))
    for dataset_id, kind in listed.others.items():
        end.skip(kind, api.url_of(dataset_id))
    ids = _harvested(api, listed, known, end)
    await DatasetReader(api, given, salt, mapping, listed, end, sink).read(ids)
    if end.has_answered:
        answers = await _ask_for_absent(api, given, listed, end)
        for url, outcome in answers.items():
            sink(CrawledRecord(SeenRecord(url, outcome)), end.containers)
    return end


def _told(failure: UnreadableDocument, source_url: str, *, is_new: bool) -> Message:
    """Return why the list could not be read; of a new source whose URL leads to no API, what to enter."""
    code = failure.reason.code if isinstance(failure.reason, HarvestMessage) else None
    if not is_new or not (failure.status in (404, 405, 410) or code in _NO_JSON):
        return failure.message
    reason = HarvestMessage(MessageCode.NO_PORTAL, details=str(failure.message))
    return about(display_url(source_url), reason)


def _harvested(api: CkanApi, listed: Listed, known: CurrentRecords, end: CrawlEnd) -> list[str]:
    """Note the listed datasets, before the first record is handed on, and return the ids of those to harvest.

    Two portals that harvest each other, or one that harvests itself, would copy their copies for ever: what
    comes from this site is left out.
    """
    urls = {dataset_id: api.url_of(dataset_id) for dataset_id in listed.modified}
    noted = end.containers.listed
    noted.update(urls.values())
    new = [one for one, url in urls.items() if known.of(url, noted) is None]
    own = {record.package_id for record in known}.intersection(new)
    own.update(known.own_datasets(new))
    for dataset_id in filter(None, own):
        noted.discard(urls[dataset_id])
        end.skip(OF_THIS_SITE, urls[dataset_id])
    return [one for one in urls if one not in own]


async def _ask_for_absent(
    api: CkanApi, given: CrawlInput, listed: Listed, end: CrawlEnd
) -> dict[str, ReadOutcome]:
    """Ask for the current records that the list leaves out, and return the outcomes by URL."""
    known, config, containers = given.known, given.source.config, end.containers
    noted = containers.listed
    still = {record.url for url in noted if (record := known.of(url, noted)) is not None}
    absent = [record for record in known if record.url not in still and record.recognised]
    reasons = await _unknown_to(api, config.own) if absent or not noted else []
    answers = await ask_left_out(
        absent,
        partial(_ask, api),
        containers,
        concurrency=api.concurrency,
        most=config.max_deletions,
        listed=[api.url_of(one) for one in listed.modified],
    )
    if containers.controls and ReadOutcome.PRESENT not in containers.controls:
        # It also lists these, so its answers about datasets that it does not list prove nothing.
        reasons.append("its package_show gives none of the datasets that it lists")
    for reason in reasons:
        end.mark_unproved(containers.root, reason, reported=True)
        end.errors.append(about(containers.root, f"nothing is deleted, because {reason}"))
    return answers


async def _ask(api: CkanApi, url: str) -> ReadOutcome:
    """Return whether the portal still has a dataset."""
    dataset_id = unquote(url.rpartition("/")[2])
    try:
        raw = await api.show("dataset", dataset_id)
    except UnreadableDocument as error:
        # The source had another URL or type before: that this portal has no such id says nothing then.
        is_of_portal = loose_spelling(url) == loose_spelling(api.url_of(dataset_id))
        return error.outcome if is_of_portal else ReadOutcome.FAILED
    return ReadOutcome.GONE if raw.get("state") == "deleted" else visibility(raw)


async def _unknown_to(api: CkanApi, own: Mapping[str, Any]) -> list[str]:
    """Ask whether the portal has what filters include, and return, for people, what it does not have.

    Datasets of what it has renamed are not found.
    """
    reasons = []
    for key, name in [(one, name) for one in FILTERS for name in own.get(one, ())]:
        kind, _, how = key.partition("s_filter_")
        if how == "include":
            try:
                await api.show(kind, name)
            except UnreadableDocument as error:
                words = str(error.reason)
                if error.outcome is ReadOutcome.GONE:
                    words = (
                        "the portal has none of this name. Correct the name in the source's configuration, "
                        "or remove it"
                    )
                reasons.append(f'"{key}" names "{name}", and {words}')
    return reasons
