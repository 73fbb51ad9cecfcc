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

from ckanext.freshness.checking.answers import mimetype_of, storable_validator
from ckanext.freshness.checking.engine import NextStep, check_all
from ckanext.freshness.copies import store_keys
from ckanext.freshness.copies.store import Store, StoredCopy, StoreError
from ckanext.freshness.web.errors import FetchError
from ckanext.freshness.web.exchange import Answer, Body, Request, Sink
from ckanext.freshness.web.urls import Target

from . import attempts, rules
from .attempts import ErrorDetails
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

    def due() -> Iterator[_BegunCheck]:
        for file in files:
            try:
                begun = _begun(file, tools)
            except Exception:
                log.exception("The check of the dataset %s has no result", file.dataset_name)
                continue
            if begun.decision.next_method is NextMethod.NOTHING:
                sink(IatiCheckResult(file, begun.decision))
            else:
                yield begun

    def begin(begun: _BegunCheck, host: str, target: Target | None) -> IatiCheck:
        return IatiCheck(tools, begun, target)

    await check_all(due(), tools.client, begin, sink)


class _BegunCheck(NamedTuple):
    """A check whose first request is decided."""

    file: KnownFile
    subject: CheckSubject
    decision: IatiDecision

    @property
    def url(self) -> str:
        return self.file.url


def _begun(file: KnownFile, tools: IatiTools) -> _BegunCheck:
    # A copy of another name is stored again, so that its ZIP has the new name.
    is_renamed = file.filename not in (None, file.new_filename)
    lost = is_renamed or file.resource_id in tools.lost
    subject = CheckSubject(file.url, lost, tools.strict)
    return _BegunCheck(file, subject, rules.decide(file.state, None, tools.now(), subject))


class IatiCheck:
    """A check of one dataset's file, as the engine runs it."""

    def __init__(self, tools: IatiTools, begun: _BegunCheck, target: Target | None) -> None:
        self._tools = tools
        self._file, self._subject, self._decision = begun
        self._target = target
        self._attempts: RequestAttempts | None = None
        self._file_sink: IatiFileSink | None = None

    def takes(self, _: _BegunCheck, /) -> bool:
        """Return False: each dataset has its own state, so checks of one URL share no requests."""
        return False

    def begin(self) -> RequestAttempts:
        """Return the attempts of the current request."""
        if self._attempts is None:
            method, good = self._decision.next_method, self._decision.state.good
            is_conditional = method is NextMethod.CONDITIONAL_GET
            request = Request(
                self._file.url,
                method.http_method,
                etag=good.etag if is_conditional and good else None,
                last_modified=good.last_modified if is_conditional and good else None,
            )
            self._attempts = self._tools.client.begin(request, self._choose_sink, self._target)
        return self._attempts

    def _choose_sink(self, answer: Answer) -> Sink | Body:
        """Choose what receives the body, when the headers have arrived."""
        self.close()
        if answer.status != 200 or self._decision.next_method is NextMethod.HEAD:
            return Body.SKIP
        self._file_sink = IatiFileSink(self._tools.store.stage())
        return self._file_sink

    async def answered(
        self, answer: Answer, sink: Callable[[IatiCheckResult], None], /
    ) -> NextStep:
        """Decide what follows from an answer."""
        method, url = self._decision.next_method, self._file.url
        error: ErrorDetails | None = None
        our_fault = False
        file: DownloadedFile | None = None
        if answer.status != 200:
            if answer.status != 304 or method is not NextMethod.CONDITIONAL_GET:
                error = attempts.status_error(
                    answer.status, answer.headers, method.http_method, url
                )
        elif method is not NextMethod.HEAD:
            assert self._file_sink is not None, "the body of every 200 but HEAD's is read"
            file = self._file_sink.finish()
            if self._file_sink.problem is not None:
                error = attempts.content_error(self._file_sink.problem, answer.headers, url)
            elif file is None:
                our_fault = True
                error = attempts.store_error(str(self._file_sink.staging_error), url)
        response = rules.Response(
            method,
            answer.status,
            etag=storable_validator(answer.headers.get("ETag")),
            last_modified=storable_validator(answer.headers.get("Last-Modified")),
            length=_length(answer) if method is NextMethod.HEAD else None,
            error=error,
            our_fault=our_fault,
            file=file,
            insecure=answer.insecure,
        )
        self._decide(response)
        if self._decision.next_method is not NextMethod.NOTHING:
            self.close()
            return NextStep.ASK_NOW
        kept = await self._keep() if self._decision.keep else None
        self.close()
        mimetype = None if file is None else mimetype_of(answer)
        sink(IatiCheckResult(self._file, self._decision, kept, mimetype))
        return NextStep.END

    async def _keep(self) -> StoredCopy | None:
        """Store the file. The thread is another one, since compressing takes long."""
        assert self._file_sink is not None
        staged, self._file_sink = self._file_sink.staged, None
        file, store = self._file, self._tools.store
        try:
            return await asyncio.to_thread(
                store.keep, file.new_key, staged, zip_member=file.new_filename
            )
        except StoreError as error:
            told = attempts.store_error(str(error), file.url)
            now = self._tools.now()
            self._decision = rules.not_stored(file.state, self._decision, now, told)
            return None

    def failed(self, error: FetchError, sink: Callable[[IatiCheckResult], None], /) -> NextStep:
        """Decide what follows if no attempt got an answer."""
        # If the URL is invalid, no other method would help: end the check as a failed GET does.
        method = NextMethod.GET if self._attempts is None else self._decision.next_method
        details = attempts.fetch_error(error, method.http_method, self._file.url)
        our_fault = error.reason in attempts.OUR_FAULTS
        self._decide(rules.Response(method, None, error=details, our_fault=our_fault))
        self.close()
        if self._decision.next_method is not NextMethod.NOTHING:
            return NextStep.ASK_NOW
        sink(IatiCheckResult(self._file, self._decision))
        return NextStep.END

    def _decide(self, response: rules.Response) -> None:
        tools = self._tools
        self._decision = rules.decide(self._decision.state, response, tools.now(), self._subject)
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
