"""What a visit starts from and what it brings home: plain data between the database and the network."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from ..copies.store import StagedBody
from .decisions import Agreement, KnownContent, Outcome

__all__ = ["Agreement", "Attempt", "CheckResult", "CheckedResource"]


@dataclass(frozen=True, slots=True)
class CheckedResource:
    """One resource whose URL is to be visited.

    :ivar known: the resource's last modification as its evidence gives it
    :ivar fresh_after: a resource that was modified later than this is fresh now; None where no date
        makes it fresh
    :ivar hash_anyway: the bytes are wanted whatever the server says of them
    :ivar format: what the catalogue says the bytes are
    :ivar mimetype: likewise; None if a check has written it into the resource
    :ivar start_at: where to ask, if another worker was redirected from ``url`` to there, and handed
        the visit on
    :ivar keep_copy: whether good bytes are to be put aside for a copy
    """

    resource_id: str
    package_id: str
    url: str
    memory: KnownContent = field(default_factory=KnownContent)
    known: datetime | None = None
    fresh_after: datetime | None = None
    hash_anyway: bool = False
    format: str | None = None
    mimetype: str | None = None
    start_at: str | None = None
    keep_copy: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one visit to a URL was like, as it is kept.

    :ivar at: when the visit ended, with its zone
    :ivar status: of the last answer; None if there was none
    :ivar reason: why there was no answer, or no use in it: a value of
        :class:`ckanext.freshness.web.errors.Reason`, or ``format``; None if there was one
    :ivar words: what went wrong, for people, without secrets; None if nothing did
    :ivar received: bytes of the body
    :ivar seconds: of the last request, without waiting in our own queues
    :ivar final_url: what answered after redirects, fit to be shown; None if it is the resource's URL
    :ivar modified: the Last-Modified that was believed
    """

    at: datetime
    method: str
    outcome: Outcome
    status: int | None = None
    reason: str | None = None
    words: str | None = None
    received: int = 0
    seconds: float = 0.0
    final_url: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    modified: datetime | None = None


@dataclass(slots=True)
class CheckResult:
    """What a visit brought home.

    :ivar host: the host of the resource's URL, normalised; empty where the URL names none
    :ivar memory: to be kept from now on
    :ivar modified: a newer Last-Modified: evidence ``http header``
    :ivar changed_at: when a confirmed new hash was met: evidence ``hash``
    :ivar hashed: whether the bytes were read and hashed
    :ivar counts_as_failure: whether it counts towards "broken": the URL's own fault, and certain
    :ivar size: of the bytes, where they were read whole
    :ivar mimetype: what the server says they are, without parameters; None where it said nothing
        or was proved wrong
    :ivar put_off: its host gives no answer to anybody, so that it was not asked for: nothing was found,
        whatever ``outcome`` says, and the next run asks
    :ivar handed_to: where to go on, if the URL redirects to another worker's host; nothing was found
        then, whatever ``outcome`` says
    :ivar staged: good bytes that were put aside for a copy; whoever gets them closes them
    """

    visit: CheckedResource
    host: str
    outcome: Outcome
    memory: KnownContent
    attempt: Attempt
    modified: datetime | None = None
    changed_at: datetime | None = None
    hashed: bool = False
    counts_as_failure: bool = False
    size: int | None = None
    mimetype: str | None = None
    has_etag: bool = False
    has_last_modified: bool = False
    agreement: Agreement | None = None
    handed_to: str | None = None
    put_off: bool = False
    staged: StagedBody | None = None
