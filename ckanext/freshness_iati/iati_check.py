"""Checks of IATI datasets' files: requests and answers, from the first request to the stored copy.

The rules are in :mod:`.rules`. A copy is stored before anything is written about it to the database: a killed
process leaves at most a newer copy than its row, which the next cycle finds and stores again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from ckanext.freshness.checking.answers import (
    mimetype_of,
    status_in_words,
    storable_validator,
)
from ckanext.freshness.checking.engine import NextStep, check_all
from ckanext.freshness.copies import store_keys
from ckanext.freshness.copies.store import Store, StoredCopy, StoreError
from ckanext.freshness.web.errors import FetchError
from ckanext.freshness.web.exchange import Answer, Body, Request, Sink
from ckanext.freshness.web.urls import Target, display_url

from . import rules
from .attempts import OUR_FAULTS, ErrorDetails, ErrorType, error_details, error_type
from .iati_file import IatiFileSink
from .rules import CheckSubject, DownloadedFile, FileState, IatiDecision, NextMethod

if TYPE_CHECKING:
    from ckanext.freshness.web.client import Client
    from ckanext.freshness.web.exchange import RequestAttempts

log = logging.getLogger(__name__)


class KnownFile(NamedTuple):
    """The file of a registered dataset, with what is known of it before a check.

    :ivar url: of the file, as the registry has it now
    :ivar key: of its copy in the store; None without a copy
    :ivar size: of its copy
    :ivar filename: of its copy
    """

    resource_id: str
    package_id: str
    dataset_name: str
    url: str
    state: FileState
    key: str | None = None
    zip_key: str | None = None
    size: int | None = None
    filename: str | None = None

    @property
    def new_key(self) -> str:
        """The key of a copy that is stored now."""
        return store_keys.resource_key(self.resource_id)

    @property
    def new_filename(self) -> str:
        """The file name of a copy that is stored now."""
        return store_keys.member(f"{self.dataset_name}.xml")


class IatiCheckResult(NamedTuple):
    """The result of a check.

    :ivar file: as it was known before
    :ivar decision: the last one, with the state to be written
    :ivar kept: the stored copy; None if there was nothing to store, or it could not be stored
    :ivar mimetype: Content-Type without parameters; None if the server states none
    """

    file: KnownFile
    decision: IatiDecision
    kept: StoredCopy | None = None
    mimetype: str | None = None


@dataclass(frozen=True, slots=True)
class IatiTools:
    """The tools that all checks of a cycle share.

    :ivar now: the time, aware
    :ivar lost: resource ids whose copies are missing from the store
    :ivar strict: check failing files without a pause
    """

    client: Client
    store: Store
    now: Callable[[], datetime]
    lost: Collection[str] = ()
    strict: bool = False


async def check_files(
    files: Iterable[KnownFile],
    tools: IatiTools,
    sink: Callable[[IatiCheckResult], None],
) -> None:
    """Check files; the sink gets one result for each.

    Checks that end without a request give their results at once. An exception of the sink ends all checks.
    """

    def due() -> Iterator[IatiCheck]:
        for file in files:
            try:
                check = IatiCheck(file, tools)
            except Exception:
                log.exception("The check of the dataset %s has no result", file.dataset_name)
                continue
            if check.decision.next_method is NextMethod.NOTHING:
                sink(IatiCheckResult(file, check.decision))
            else:
                yield check

    def begin(check: IatiCheck, host: str, target: Target | None) -> IatiCheck:
        check.target = target
        return check

    await check_all(due(), tools.client, begin, sink)


class IatiCheck:
    """A check of one dataset's file, as the engine gets and runs it.

    :ivar decision: what follows: the first request, or none
    :ivar target: the parsed URL, which the engine sets; None if the URL is invalid
    """

    def __init__(self, file: KnownFile, tools: IatiTools) -> None:
        # A copy of another name is stored again, so that its ZIP has the new name.
        is_renamed = file.filename not in (None, file.new_filename)
        lost = is_renamed or file.resource_id in tools.lost
        self._file = file
        self._tools = tools
        self._subject = CheckSubject(file.url, lost, tools.strict)
        self.decision = rules.decide(file.state, None, tools.now(), self._subject)
        self.target: Target | None = None
        self._attempts: RequestAttempts | None = None
        self._file_sink: IatiFileSink | None = None

    @property
    def url(self) -> str:
        return self._file.url

    def takes(self, _: IatiCheck, /) -> bool:
        """Return False: each dataset has its own state, so checks of one URL share no requests."""
        return False

    def begin(self) -> RequestAttempts:
        """Return the attempts of the current request."""
        if self._attempts is None:
            method, good = self.decision.next_method, self.decision.state.good
            is_conditional = method is NextMethod.CONDITIONAL_GET
            request = Request(
                self._file.url,
                method.http_method,
                etag=good.etag if is_conditional and good else None,
                last_modified=good.last_modified if is_conditional and good else None,
            )
            self._attempts = self._tools.client.begin(request, self._choose_sink, self.target)
        return self._attempts

    def _choose_sink(self, answer: Answer) -> Sink | Body:
        """Choose what receives the body, when the headers have arrived."""
        self.close()
        if answer.status != 200 or self.decision.next_method is NextMethod.HEAD:
            return Body.SKIP
        self._file_sink = IatiFileSink(self._tools.store.stage())
        return self._file_sink

    async def answered(
        self, answer: Answer, sink: Callable[[IatiCheckResult], None], /
    ) -> NextStep:
        """Decide what follows from an answer."""
        method = self.decision.next_method
        error: ErrorDetails | None = None
        file: DownloadedFile | None = None
        if answer.status != 200:
            if answer.status != 304 or method is not NextMethod.CONDITIONAL_GET:
                message = f"{display_url(self.url)} answered {status_in_words(answer.status)}"
                error = self._error(ErrorType.HTTP_NON_200, message, answer)
        elif method is not NextMethod.HEAD:
            assert self._file_sink is not None, "the body of every 200 but HEAD's is read"
            file = self._file_sink.finish()
            if self._file_sink.problem is not None:
                message = f"The file at {display_url(self.url)} {self._file_sink.problem}"
                error = self._error(ErrorType.NOT_IATI_CONTENT, message, answer)
            elif file is None:
                error = self._error(
                    ErrorType.STORE_ERROR, str(self._file_sink.staging_error), answer
                )
        response = rules.Response(
            method,
            answer.status,
            etag=storable_validator(answer.headers.get("ETag")),
            last_modified=storable_validator(answer.headers.get("Last-Modified")),
            length=_length(answer) if method is NextMethod.HEAD else None,
            error=error,
            file=file,
            insecure=answer.insecure,
        )
        before = self.decision
        self._decide(response)
        if self.decision.next_method is not NextMethod.NOTHING:
            self.close()
            return NextStep.ASK_NOW
        kept = None
        if self.decision.keep:
            try:
                kept = await self._keep()
            except StoreError as failure:
                # Decide again, as of a file whose bytes could not be received.
                self.decision = before
                error = self._error(ErrorType.STORE_ERROR, str(failure), answer)
                self._decide(response._replace(error=error, file=None))
        self.close()
        mimetype = None if file is None else mimetype_of(answer)
        sink(IatiCheckResult(self._file, self.decision, kept, mimetype))
        return NextStep.END

    def _error(self, kind: ErrorType, message: str, answer: Answer) -> ErrorDetails:
        method = self.decision.next_method.http_method
        return error_details(kind, message, method, self.url, answer.status, answer.headers)

    async def _keep(self) -> StoredCopy:
        """Store the file. The thread is another one, since compressing takes long.

        :raises StoreError: it could not be stored
        """
        assert self._file_sink is not None
        staged, self._file_sink = self._file_sink.staged, None
        file, keep = self._file, self._tools.store.keep
        return await asyncio.to_thread(keep, file.new_key, staged, zip_member=file.new_filename)

    def failed(self, error: FetchError, sink: Callable[[IatiCheckResult], None], /) -> NextStep:
        """Decide what follows if no attempt got an answer."""
        # If the URL is invalid, no other method would help: end the check as a failed GET does.
        method = NextMethod.GET if self._attempts is None else self.decision.next_method
        kind = error_type(error.reason)
        details = error_details(kind, str(error), method.http_method, self.url)
        our_fault = error.reason in OUR_FAULTS
        self._decide(rules.Response(method, None, error=details, our_fault=our_fault))
        self.close()
        if self.decision.next_method is not NextMethod.NOTHING:
            return NextStep.ASK_NOW
        sink(IatiCheckResult(self._file, self.decision))
        return NextStep.END

    def _decide(self, response: rules.Response) -> None:
        tools = self._tools
        self.decision = rules.decide(self.decision.state, response, tools.now(), self._subject)
        self._attempts = None

    def close(self) -> None:
        """Delete the staged bytes of the current answer."""
        if self._file_sink is not None:
            self._file_sink.staged.close()
            self._file_sink = None


def _length(answer: Answer) -> int | None:
    """Return the Content-Length of an uncompressed file."""
    text = answer.headers.get("Content-Length")
    encoding = answer.headers.get("Content-Encoding", "identity").strip().lower()
    if text is None or encoding not in ("", "identity") or not (text.isascii() and text.isdigit()):
        return None
    return int(text) if len(text) <= 18 else None
