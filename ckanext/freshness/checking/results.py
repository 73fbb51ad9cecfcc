"""The resource to check and the result of its check: plain data between the database and the network."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from ..copies.store import StagedBody
from .decisions import Agreement, KnownContent, Outcome
from .selection import SelectionReason
from .shapes import Shape


class ResourceToCheck(NamedTuple):
    """A resource that a run has chosen, with all that its check needs to know.

    :ivar last_change: the resource's last modification by its evidence
    :ivar fresh_after: a resource that changed after this moment is fresh now; None if no date makes it fresh
    :ivar hash_anyway: whether the file is read even if the server reports no change
    :ivar format: as the catalogue declares it
    :ivar mimetype: as the catalogue declares it; None if a check has written it into the resource
    :ivar keep_copy: whether a good file is staged for a copy
    :ivar has_shape: whether the shape of the stored content was read
    :ivar is_new: whether this run is the first to see the resource
    :ivar is_touched: whether the resource's own date is later than at the previous run
    :ivar why: why the run chose the resource; None if nothing was chosen
    :ivar every_days: the days between two changes that are expected, if these are the reason
    """

    resource_id: str
    package_id: str
    url: str
    memory: KnownContent = KnownContent()
    last_change: datetime | None = None
    fresh_after: datetime | None = None
    hash_anyway: bool = False
    format: str | None = None
    mimetype: str | None = None
    keep_copy: bool = False
    has_shape: bool = False
    is_new: bool = False
    is_touched: bool = False
    why: SelectionReason | None = None
    every_days: int | None = None


class Attempt(NamedTuple):
    """A check as it is stored in the resource's history.

    :ivar at: end of the check, aware
    :ivar status: of the last answer; None if there was none
    :ivar reason: why there was no answer, a value of :class:`ckanext.freshness.web.errors.FailureReason`, or
        ``format`` if the answer was of no use; else None
    :ivar words: the failure in words for people, without secrets; None if there was none
    :ivar received: bytes of the body
    :ivar seconds: of the last request, without waiting in our own queues
    :ivar final_url: URL after redirects, without secrets; None if it is the resource's URL
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


class CheckResult(NamedTuple):
    """The result of a resource's check.

    :ivar host: of the resource's URL, normalised; empty if the URL names none
    :ivar memory: what to store for the next check
    :ivar modified: a newer Last-Modified: evidence ``http header``
    :ivar changed_at: when a new hash was found that is confirmed now: evidence ``hash``
    :ivar hashed: whether the file was read and hashed
    :ivar counts_as_failure: whether the result counts towards "broken": certain, and the URL's own fault
    :ivar size: of the file, if it was read whole
    :ivar shape: of the file's tables, empty if it is uncertain; None if it was not read
    :ivar mimetype: as the server says, without parameters; None if the server says nothing, or the answer was
        of no use
    :ivar hides_changes: whether the validators stayed the same although the file has changed; None if it has
        not changed
    :ivar put_off: whether no request was sent because the host gives no answers. Ignore ``outcome``: the next
        run checks the URL.
    :ivar staged: a good file, staged for a copy; the receiver closes it
    """

    resource: ResourceToCheck
    host: str
    outcome: Outcome
    memory: KnownContent
    attempt: Attempt
    modified: datetime | None = None
    changed_at: datetime | None = None
    hashed: bool = False
    counts_as_failure: bool = False
    size: int | None = None
    shape: Shape | None = None
    mimetype: str | None = None
    has_etag: bool = False
    has_last_modified: bool = False
    agreement: Agreement | None = None
    hides_changes: bool | None = None
    put_off: bool = False
    staged: StagedBody | None = None
