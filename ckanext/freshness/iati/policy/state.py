"""What is known of an IATI dataset's file, and by which times it is asked for: plain data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from .attempts import IatiAttempt

KEPT_ATTEMPTS = 5
"""How many attempts are kept of each dataset."""


@dataclass(frozen=True, slots=True)
class IatiPolicy:
    """The cycle's times and thresholds.

    :ivar download_after: rule 2's: once a download is older than this another one is made
    :ivar trusted_for: rules 3 and 5's: as long a download is trusted without an answer to HEAD
    :ivar expire_after: a copy expires if its URL fails this long after its first failure in a row
    :ivar brake_from: from how many copies on more than half of them never expire in one cycle
    :ivar backoff_first: how long a URL is left alone after its first failure; doubled by each further one
    :ivar backoff_most: how long at most
    :ivar strict: the rules alone, without back-off
    :raises ValueError: times that contradict each other
    """

    download_after: timedelta = timedelta(hours=24)
    trusted_for: timedelta = timedelta(hours=6)
    expire_after: timedelta = timedelta(hours=72)
    brake_from: int = 10
    backoff_first: timedelta = timedelta(minutes=15)
    backoff_most: timedelta = timedelta(hours=6)
    strict: bool = False

    def __post_init__(self) -> None:
        if not timedelta(0) <= self.trusted_for <= self.download_after:
            raise ValueError("trusted_for must lie between 0 and download_after")
        if not timedelta(0) <= self.backoff_first <= self.backoff_most:
            raise ValueError("backoff_first must lie between 0 and backoff_most")
        if self.backoff_most > timedelta(hours=6):
            raise ValueError("backoff_most must be at most 6 hours")


@dataclass(frozen=True, slots=True)
class DownloadedFile:
    """What a download brought.

    :ivar hash: SHA-1 of the bytes, hexadecimal
    :ivar hash_excluding_generated_timestamp: likewise, without any ``generated-datetime`` attribute
    :ivar content_length: of the bytes, decompressed
    :ivar initial_contents: its first 150 characters
    """

    hash: str
    hash_excluding_generated_timestamp: str
    content_length: int
    initial_contents: str


@dataclass(frozen=True, slots=True)
class GoodDownload:
    """The last known good download.

    :ivar downloaded: when
    :ivar verified_on_server: when the server last said, by an answer to whatever was asked, that it is
        what it has
    :ivar etag: as the server wrote it
    :ivar last_modified: likewise, a date or not
    :ivar source_url: what was asked for, as the registry wrote it, secrets included: show it with
        :func:`ckanext.freshness.web.urls.display_url`
    """

    hash: str
    hash_excluding_generated_timestamp: str
    downloaded: datetime
    verified_on_server: datetime
    content_length: int
    initial_contents: str
    etag: str | None
    last_modified: str | None
    source_url: str


@dataclass(frozen=True, slots=True)
class FileState:
    """What is known of one dataset's file. Moments are aware.

    :ivar last_update_check: rule 1
    :ivar head_attempt: the most recent HEAD, in the index files most_recent_head_attempt
    :ivar get_attempt: the most recent GET, a conditional one included
    :ivar attempts: the last :data:`KEPT_ATTEMPTS` of both, the newest first
    :ivar content_modified: when a download last had another hash than what there was; the first one has
    :ivar failures: visits that failed since the last one that did not
    :ivar failing_since: the first of these
    :ivar failed_at: the failure of this visit; None if it has not failed, and not kept
    :ivar postponed_until: before this moment nothing is asked; None if it may be
    """

    last_update_check: datetime | None = None
    head_attempt: IatiAttempt | None = None
    get_attempt: IatiAttempt | None = None
    attempts: tuple[IatiAttempt, ...] = ()
    good: GoodDownload | None = None
    content_modified: datetime | None = None
    content_modified_excluding_generated_timestamp: datetime | None = None
    failures: int = 0
    postponed_until: datetime | None = None
    failing_since: datetime | None = None
    failed_at: datetime | None = None

    def checked(self, at: datetime) -> FileState:
        """Apply rule 1."""
        return replace(self, last_update_check=at)

    def tried(self, attempt: IatiAttempt) -> FileState:
        """Add an attempt."""
        return replace(
            self,
            head_attempt=attempt if attempt.method == "HEAD" else self.head_attempt,
            get_attempt=self.get_attempt if attempt.method == "HEAD" else attempt,
            attempts=(attempt, *self.attempts[: KEPT_ATTEMPTS - 1]),
        )

    def healthy(self, good: GoodDownload | None) -> FileState:
        """End the row of failures, with this as the last known good download."""
        return replace(
            self, good=good, failures=0, postponed_until=None, failing_since=None, failed_at=None
        )
