"""The known state of an IATI dataset's file, and the times and thresholds of the update cycle."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from .attempts import IatiAttempt

KEPT_ATTEMPTS = 5
"""How many attempts are kept for each dataset."""


@dataclass(frozen=True, slots=True)
class IatiPolicy:
    """Times and thresholds of the update cycle.

    :ivar download_after: rule 2: an older download is replaced without asking by HEAD
    :ivar trusted_for: rules 3 and 5: a younger download stands although HEAD failed
    :ivar expire_after: a copy expires if its URL still fails this long after its first failure in a row
    :ivar brake_from: sources with at least this many copies never lose more than half of them in one cycle
    :ivar backoff_first: pause after a URL's first failure; each further failure doubles it
    :ivar backoff_most: longest pause, at most 6 hours
    :ivar strict: apply the rules alone, without pauses after failures
    :raises ValueError: the times contradict each other
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


class DownloadedFile(NamedTuple):
    """A file as one download returned it.

    :ivar hash: SHA-1 of the bytes, hexadecimal
    :ivar hash_excluding_generated_timestamp: the same without any ``generated-datetime`` attribute
    :ivar content_length: bytes, decompressed
    :ivar initial_contents: the first 150 characters
    """

    hash: str
    hash_excluding_generated_timestamp: str
    content_length: int
    initial_contents: str


class GoodDownload(NamedTuple):
    """The last known good download.

    :ivar downloaded: when
    :ivar verified_on_server: when the server last confirmed, by any answer, that the file is unchanged
    :ivar etag: as the server sent it
    :ivar last_modified: as the server sent it, whether or not it is a date
    :ivar source_url: requested URL as the registry has it, secrets included: use
        :func:`ckanext.freshness.web.urls.display_url` to show it
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


class FileState(NamedTuple):
    """The state of one dataset's file. All times are aware.

    :ivar last_update_check: rule 1
    :ivar head_attempt: most recent HEAD; ``most_recent_head_attempt`` in index files
    :ivar get_attempt: most recent GET, conditional or not
    :ivar attempts: the last :data:`KEPT_ATTEMPTS` of both, newest first
    :ivar content_modified: when a download last had a new hash; the first download counts
    :ivar failures: failed checks since the last successful one
    :ivar failing_since: when the first of these failed
    :ivar failed_at: when this check failed; None if it succeeded. Not stored.
    :ivar postponed_until: no request is sent before this time; None: no pause
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

    def with_attempt(self, attempt: IatiAttempt) -> FileState:
        """Return the state with one more attempt."""
        return self._replace(
            head_attempt=attempt if attempt.method == "HEAD" else self.head_attempt,
            get_attempt=self.get_attempt if attempt.method == "HEAD" else attempt,
            attempts=(attempt, *self.attempts[: KEPT_ATTEMPTS - 1]),
        )

    def without_failures(self, good: GoodDownload | None) -> FileState:
        """Return the state after a successful check, with its last known good download."""
        return self._replace(
            good=good, failures=0, postponed_until=None, failing_since=None, failed_at=None
        )
