"""Everything that a source type must bring. Classes, deletions, previews and import are the same for all.

A source type is a subclass of :class:`SourceType` with four things of its own:

- **A reader**, which :meth:`SourceType.read` runs. It hands on each record as soon as it can, as a
  :class:`~.record.CrawledRecord`. It ends with the :class:`~.record.Containers`: the lists in which records
  were found, and which of them were not read, or not proved to be read whole. :mod:`.listings` says what proves
  that, and has the tools. A reader decides nothing. It tells "the record is not there" from "the record could
  not be seen", and reports whatever it could not read.
- **A mapping** of what it reads to a :class:`~.record.Record`, the ``contents`` of a crawled record.
- **An identity** for each record: the ``url`` of its :class:`~.record.SeenRecord`. It must be the same in each
  job. If it is not the URL at which the source has the record, ``subject`` of the crawled record can name that
  URL.
- **A configuration**: the keys that only its sources have, and a help for the source's form: the template
  ``freshness/harvest/snippets/help_<name>.html``.

A type whose source is one list, such as a DCAT catalogue or another CKAN, has the source itself as its only
container. What a type remembers from one job to the next, only the type reads: of a source in its
:class:`~.source_memory.SourceMemory`, of a record in :attr:`.record.CrawledRecord.memory`.

A plugin for a type is a class of three lines in ``harvesters.py``, or in another extension
(:mod:`ckanext.freshness.interfaces`). CKAN's web workers import the modules of types: what only crawls need,
such as the HTTP client or rdflib, is imported when a crawl begins.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

import ckan.plugins.toolkit as tk
from flask import has_request_context

from ..web.event_loop import run
from ..web.urls import display_url
from .messages import Message, about
from .record import (
    Containers,
    CurrentRecords,
    KnownRecord,
    NotHarvested,
    ReadOutcome,
    Record,
    Sink,
)
from .source_client import SourceClient, for_each, source_client
from .source_config import ReadValue, Source, SourceConfig
from .source_memory import SourceMemory


@dataclass(frozen=True, slots=True)
class CrawlInput:
    """What is known of a source when a crawl of it begins."""

    source: Source
    known: CurrentRecords
    """The current records of the source."""
    memory: SourceMemory
    """What earlier crawls kept."""
    now: datetime
    """When the job began."""


@dataclass(slots=True)
class CrawlEnd:
    """The result of a crawl, besides the records that it handed on."""

    containers: Containers
    errors: list[Message] = field(default_factory=list)
    """For people: a line with URL and reason for each container that could not be read."""
    warnings: list[Message] = field(default_factory=list)
    """For people: a line for each oddity of the source's lists that cost nothing."""
    not_harvested: dict[str, NotHarvested] = field(default_factory=dict)
    """Members of the source's lists that become no dataset, by their kind in a few words."""
    organizations: dict[str, Record] = field(default_factory=dict)
    """By URL, the organizations that own datasets of the source, see :meth:`SourceType.has_organizations`."""
    requests: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether all containers were read, and proved to be read whole."""
        return not self.containers.unreadable and not self.containers.unproved

    @property
    def has_answered(self) -> bool:
        """Whether the source's own URL was read."""
        return self.containers.root not in self.containers.unreadable

    def mark_unreadable(self, container: str, reason: Message, *, reported: bool = False) -> None:
        """Note that a container could not be read.

        :param reported: another error reports this failure, so add none.
        """
        self._mark(self.containers.unreadable, container, reason, reported)

    def mark_unproved(self, container: str, reason: Message, *, reported: bool = False) -> None:
        """Note that a container was not proved to be read whole. It protects only records that no list has.

        :param reported: another error reports it, or it is no error.
        """
        self._mark(self.containers.unproved, container, reason, reported)

    def mark_without_list(self, container: str) -> None:
        """Note that a container has lost the list of records that it had, if nothing else is wrong with it."""
        if container not in self.containers.unproved:
            self.containers.without_list.add(container)

    def _mark(
        self, marked: dict[str, str], container: str, reason: Message, reported: bool
    ) -> None:
        if container not in marked:
            marked[container] = str(reason)
            if not reported:
                self.errors.append(about(display_url(container), reason))

    def skip(self, kind: str, url: str, count: int = 1) -> None:
        """Note members of the source's lists that become no dataset.

        :param url: their own, or that of the container that lists them.
        """
        self.not_harvested.setdefault(kind, NotHarvested()).add(display_url(url), count)


class SourceType:
    """The base of all source types. Only :attr:`name`, :attr:`title` and :meth:`read` have no default."""

    name: ClassVar[str]
    """The type's name in ckanext-harvest."""
    title: ClassVar[str]
    """For people, as all that follows in English and marked for translation."""
    description: ClassVar[str] = ""
    """One sentence for the form of a source."""
    adopts: ClassVar[tuple[str, ...]] = ()
    """Types of deleted sources whose packages a source of this type takes over, besides its own."""
    min_records: ClassVar[int] = 10
    """The brake looks at the share of deleted records only if at least so many are current."""
    own_keys: ClassVar[Mapping[str, ReadValue]] = {}
    """Keys of the configuration that only sources of this type have."""
    max_bytes: ClassVar[int | None] = None
    """The longest answer, if it may be longer than the site's option says."""
    memory_form: ClassVar[str] = ""
    """A regular expression for the :attr:`.record.CrawledRecord.memory` of this type that that of no other type
    matches: people change the type of a source."""

    def has_organizations(self, config: SourceConfig) -> bool:
        """Return whether the catalogs of a source are organizations.

        If so, the crawl ends with them (:attr:`CrawlEnd.organizations`). Each is found, made or updated in CKAN
        and owns its datasets. A dataset whose container is the source itself gets the source's organization.
        """
        return False

    def url_of(self, source_url: str, guid: str) -> str | None:
        """Return the URL of the record that another harvester calls by a guid; None if the guid does not tell.

        A source of that harvester's type can be switched to this one, and its records keep their packages.
        """
        return None

    def check(self, config: SourceConfig) -> None:
        """Check a configuration whose values are legal each by itself.

        :raises ConfigError: it cannot be used; names every mistake.
        """

    def crawl(self, given: CrawlInput, sink: Sink) -> CrawlEnd:
        """Crawl a source: open a client for it, and :meth:`read` it.

        :raises ConfigError: the source's configuration cannot be used.
        """

        async def read() -> CrawlEnd:
            async with source_client(given.source, max_bytes=self.max_bytes) as opened:
                end = await self.read(opened, given, sink)
                end.requests = opened.requests
            return end

        return run(read)

    async def read(self, opened: SourceClient, given: CrawlInput, sink: Sink) -> CrawlEnd:
        """Read a source, and hand each record to the sink, once, as soon as possible.

        An error of a container belongs into ``containers.unreadable``, a doubt whether it was read whole into
        ``containers.unproved``, an error of a record into the :class:`~.record.CrawledRecord`. So does a doubt
        whether the record's own document was read whole (:attr:`~.record.CrawledRecord.may_be_cut`). Any
        exception ends the job, and nothing is deleted.
        """
        raise NotImplementedError


Ask = Callable[[str], Awaitable[ReadOutcome]]
"""Requests a record at its own URL, and returns what the answer says of it: PRESENT only if it describes this
record."""

MOST_ASKED = 500
"""How many records are asked for if the source's limit of deletions does not say."""
_CONTROLS = 3


async def ask_left_out(
    left_out: Collection[KnownRecord],
    ask: Ask,
    containers: Containers,
    *,
    concurrency: int,
    most: int | None,
    listed: Sequence[str],
) -> dict[str, ReadOutcome]:
    """Ask for records that no list has, each at its own URL, and return the outcomes by URL.

    None is asked for if there are more than the source may delete in a job.

    :param containers: gets the answers of some listed records, too.
    :param most: the source's ``max_deletions``.
    :param listed: URLs of listed records. If one of them answers 404, too, such an answer says nothing:
        many catalogues have identifiers that lead nowhere, and proxies answer 404 while a server starts again.
    """
    answers: dict[str, ReadOutcome] = {}
    if not left_out or len(left_out) > (MOST_ASKED if most is None else most):
        return answers

    async def note(url: str) -> None:
        answers[url] = await ask(url)

    controls = listed[:: max(1, len(listed) // _CONTROLS)][:_CONTROLS]
    await for_each(concurrency, note, [*controls, *(known.url for known in left_out)])
    containers.controls.extend(answers[url] for url in controls)
    meaningless = {ReadOutcome.GONE}.intersection(containers.controls)
    return {
        known.url: ReadOutcome.FAILED if answers[known.url] in meaningless else answers[known.url]
        for known in left_out
    }


def salt_of(config: SourceConfig, *more: object) -> str:
    """Return a hash of all on which packages depend besides their records, the same for all source types.

    It covers the rules of the layout and the settings of site and source
    (:class:`.packages.layout.CatalogSite`). If it changes, all records are read again.

    :param more: what packages of the type depend on besides, such as the version of its mapping.
    """
    from .packages.layout import LAYOUT_VERSION, PACKAGE_TYPES, catalog_site

    sites = (catalog_site(config, package_type) for package_type in PACKAGE_TYPES)
    # Titles of licences are in the language of whoever asks.
    settings = ({**vars(site), "licenses": sorted({*site.licenses.values()})} for site in sites)
    return hashlib.sha256(repr((LAYOUT_VERSION, *more, *settings)).encode()).hexdigest()


def content_hash(salt: str, record: Record) -> str:
    """Return the hash by which the next job tells that a record is unchanged."""
    return hashlib.sha256(f"{salt} {record.digest()}".encode()).hexdigest()


_rights: ContextVar[dict[str, Any] | None] = ContextVar("rights", default=None)
"""The rights with which an action saves a source."""


@contextmanager
def saving(context: Mapping[str, Any]) -> Iterator[None]:
    """Let :func:`editor_may` judge by the context of the action that saves a source in this block."""
    token = _rights.set({key: context.get(key) for key in ("user", "ignore_auth")})
    try:
        yield
    finally:
        _rights.reset(token)


def editor_may(action: str) -> bool:
    """Return whether the editor who saves a source may call an action of CKAN.

    :param action: "sysadmin" asks whether the editor is one
    """
    rights = _rights.get()
    if rights is None:
        rights = {"user": tk.current_user.name} if has_request_context() else {"ignore_auth": True}
    try:
        tk.check_access(action, dict(rights))
    except tk.NotAuthorized:
        return False
    return True
