"""The rules of IATI's update cycle, just inside, at and just outside of each limit."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ckanext.freshness_iati.attempts import (
    KEPT,
    Attempt,
    ErrorDetails,
    ErrorType,
    attempt,
    last_of,
)
from ckanext.freshness_iati.rules import (
    CheckSubject,
    DownloadedFile,
    FileState,
    GoodDownload,
    IatiDecision,
    IatiOutcome,
    NextMethod,
    Response,
    backoff,
    brakes_expiry,
    decide,
    has_expired,
)

NOW = datetime(2026, 11, 21, 12, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)
MOMENT = timedelta(microseconds=1)
URL = "https://example.org/file.xml"
ETAG = '"v1"'
MODIFIED = "Tue, 01 Sep 2026 10:00:00 GMT"
SUBJECT = CheckSubject(URL)
STRICT = CheckSubject(URL, strict=True)

DOCUMENT = DownloadedFile("a" * 40, "b" * 40, 1000, "<iati-activities")
OTHER = DownloadedFile("c" * 40, "d" * 40, 1001, "<iati-activities")
ONLY_THE_TIME = DOCUMENT._replace(hash="e" * 40)


def error(kind: ErrorType = ErrorType.HTTP_NON_200, method: str = "GET") -> ErrorDetails:
    return {"error_type": kind.value, "http_method": method, "source_url": URL}


def downloaded(ago: timedelta, **more: object) -> FileState:
    """Return the state of a file that was downloaded this long ago."""
    at = NOW - ago
    good = GoodDownload("a" * 40, "b" * 40, at, at, 1000, "<iati-activities", ETAG, MODIFIED, URL)
    return FileState(at, good=replace(good, **more), content_modified=at)


def head(status: int | None = 200, **more: object) -> Response:
    fields: dict[str, object] = {"etag": ETAG, "last_modified": MODIFIED, "length": 1000, **more}
    if status != 200:
        fields["error"] = error(method="HEAD")
    return Response(NextMethod.HEAD, status, **fields)  # type: ignore[arg-type]


def conditional(status: int | None, **more: object) -> Response:
    failure = None if status in (200, 304) else error()
    return Response(NextMethod.CONDITIONAL_GET, status, error=failure, **more)  # type: ignore[arg-type]


def got(document: DownloadedFile = DOCUMENT, **more: object) -> Response:
    fields: dict[str, object] = {"etag": ETAG, "last_modified": MODIFIED, **more}
    return Response(NextMethod.GET, 200, file=document, **fields)  # type: ignore[arg-type]


def failed_get(status: int | None = 500, kind: ErrorType = ErrorType.HTTP_NON_200) -> Response:
    return Response(NextMethod.GET, status, error=error(kind))


def play(
    state: FileState,
    *responses: Response,
    now: datetime = NOW,
    subject: CheckSubject = SUBJECT,
) -> IatiDecision:
    """Return the decision after these responses."""
    decision = decide(state, None, now, subject)
    for response in responses:
        assert decision.next_method is response.method
        decision = decide(decision.state, response, now, subject)
    return decision


def ends(decision: IatiDecision, outcome: IatiOutcome, *, keep: bool = False) -> bool:
    """Return whether a check ends so: no request follows, and the file is stored or not."""
    expected = (NextMethod.NOTHING, outcome, keep)
    return (decision.next_method, decision.outcome, decision.keep) == expected


# Rule 2


@pytest.mark.parametrize(
    ("state", "subject", "method"),
    [
        (FileState(), SUBJECT, NextMethod.GET),
        (downloaded(timedelta(0)), SUBJECT, NextMethod.HEAD),
        (downloaded(24 * HOUR - MOMENT), SUBJECT, NextMethod.HEAD),
        (downloaded(24 * HOUR), SUBJECT, NextMethod.HEAD),
        (downloaded(24 * HOUR + MOMENT), SUBJECT, NextMethod.GET),
        (downloaded(-MOMENT), SUBJECT, NextMethod.GET),
        (downloaded(HOUR), CheckSubject(f"{URL}?v=2"), NextMethod.GET),
        (downloaded(HOUR), CheckSubject(URL, lost=True), NextMethod.GET),
    ],
    ids=[
        *("never", "now", "just inside", "at", "just outside", "from the future", "another URL"),
        "lost",
    ],
)
def test_rule_2_what_is_asked_first(
    state: FileState, subject: CheckSubject, method: NextMethod
) -> None:
    assert play(state, subject=subject).next_method is method


# Rule 3, and the first half of rule 5


@pytest.mark.parametrize("status", [None, 304, 400, 403, 404, 429, 500, 503])
@pytest.mark.parametrize(
    ("ago", "method"),
    [
        (timedelta(0), NextMethod.NOTHING),
        (6 * HOUR - MOMENT, NextMethod.NOTHING),
        (6 * HOUR, NextMethod.NOTHING),
        (6 * HOUR + MOMENT, NextMethod.GET),
        (24 * HOUR, NextMethod.GET),
    ],
)
def test_rules_3_and_5_head_failed(status: int | None, ago: timedelta, method: NextMethod) -> None:
    state = downloaded(ago)
    decision = play(state, head(status))
    assert decision.next_method is method
    assert decision.outcome is (IatiOutcome.FAILED if method is NextMethod.NOTHING else None)
    assert decision.state.good == state.good
    assert decision.state.attempts == (attempt(NOW, "HEAD", status, error(method="HEAD")),)


# Rule 4, and the second half of rule 5


@pytest.mark.parametrize(
    ("stored", "answered", "method"),
    [
        ({}, {}, NextMethod.NOTHING),
        ({}, {"etag": '"v2"'}, NextMethod.GET),
        ({}, {"last_modified": "Tue, 01 Sep 2026 10:00:01 GMT"}, NextMethod.GET),
        # An absent header says nothing; a new header is a change.
        ({}, {"etag": None}, NextMethod.NOTHING),
        ({}, {"last_modified": None}, NextMethod.NOTHING),
        ({"etag": None}, {}, NextMethod.GET),
        # A server that compresses while sending
        ({"etag": f"W/{ETAG}"}, {}, NextMethod.NOTHING),
        # Dates in other formats, and invalid dates
        ({}, {"last_modified": "Tuesday, 01-Sep-26 10:00:00 GMT"}, NextMethod.NOTHING),
        ({}, {"last_modified": "yesterday"}, NextMethod.GET),
        ({"last_modified": "yesterday"}, {"last_modified": "today"}, NextMethod.GET),
        # Content-Length
        ({}, {"length": 1001}, NextMethod.GET),
        ({}, {"length": None}, NextMethod.NOTHING),
    ],
)
@pytest.mark.parametrize("ago", [timedelta(0), 24 * HOUR])
def test_rules_4_and_5_head_was_answered(
    stored: dict[str, Any], answered: dict[str, Any], method: NextMethod, ago: timedelta
) -> None:
    state = downloaded(ago, **stored)
    decision = play(state, head(**answered))
    assert decision.next_method is method
    assert decision.state.attempts == (attempt(NOW, "HEAD", 200),)
    assert state.good is not None
    if method is NextMethod.NOTHING:
        assert decision.outcome is IatiOutcome.VERIFIED
        assert decision.state.good == replace(state.good, verified_on_server=NOW)
    else:
        assert decision.state.good == state.good


NOTHING: dict[str, Any] = {"etag": None, "last_modified": None}


@pytest.mark.parametrize("stored", [NOTHING, {}], ids=["never any", "none in this answer"])
@pytest.mark.parametrize(
    ("ago", "length", "method"),
    [
        (6 * HOUR - MOMENT, 1000, NextMethod.NOTHING),
        (6 * HOUR, 1000, NextMethod.NOTHING),
        (6 * HOUR, None, NextMethod.NOTHING),
        (6 * HOUR + MOMENT, 1000, NextMethod.GET),
        (timedelta(0), 999, NextMethod.GET),
    ],
)
def test_without_validators_the_6_hours_and_the_length_decide(
    stored: dict[str, Any], ago: timedelta, length: int | None, method: NextMethod
) -> None:
    state = downloaded(ago, **stored)
    decision = play(state, head(length=length, **NOTHING))
    assert decision.next_method is method
    assert decision.state.good == state.good, "nothing has been verified"
    assert decision.outcome is (IatiOutcome.TRUSTED if method is NextMethod.NOTHING else None)


# HEAD is refused


@pytest.mark.parametrize("status", [405, 501])
@pytest.mark.parametrize("validators", [{}, NOTHING], ids=["validators", "none"])
@pytest.mark.parametrize("ago", [timedelta(0), HOUR, 6 * HOUR])
def test_nothing_follows_a_refused_head_within_the_6_hours(
    status: int, validators: dict[str, Any], ago: timedelta
) -> None:
    state = replace(downloaded(ago, **validators), failures=2)
    decision = play(state, head(status))
    assert ends(decision, IatiOutcome.TRUSTED)
    assert decision.state.good == state.good
    assert (decision.state.failures, decision.state.postponed_until) == (0, None)
    assert decision.state.attempts == (attempt(NOW, "HEAD", status, error(method="HEAD")),)
    assert play(decision.state).next_method is NextMethod.HEAD, "the next check asks by HEAD again"


@pytest.mark.parametrize("status", [405, 501])
@pytest.mark.parametrize("ago", [6 * HOUR + MOMENT, 24 * HOUR])
def test_after_the_6_hours_a_conditional_get_takes_the_place_of_head(
    status: int, ago: timedelta
) -> None:
    state = downloaded(ago)
    decision = play(state, head(status), conditional(304))
    assert ends(decision, IatiOutcome.VERIFIED) and state.good is not None
    assert decision.state.good == replace(state.good, verified_on_server=NOW)
    assert last_of(decision.state.attempts, "GET") == attempt(NOW, "GET", 304)
    assert decision.state.failures == 0


# Rules 6 to 11


@pytest.mark.parametrize(
    ("response", "outcome"),
    [
        (failed_get(None, ErrorType.CONNECTION_ERROR), IatiOutcome.FAILED),
        (failed_get(404), IatiOutcome.FAILED),
        (failed_get(200, ErrorType.NOT_IATI_CONTENT), IatiOutcome.FAILED),
        (failed_get(200, ErrorType.STORE_ERROR), IatiOutcome.NOT_STORED),
    ],
)
@pytest.mark.parametrize("state", [FileState(), downloaded(30 * HOUR)], ids=["never", "before"])
def test_rules_6_to_9_get_failed(
    state: FileState, response: Response, outcome: IatiOutcome
) -> None:
    decision = play(state, response)
    assert ends(decision, outcome)
    assert decision.state.good == state.good
    assert decision.state.content_modified == state.content_modified
    assert decision.state.attempts == (attempt(NOW, "GET", response.status, response.error),)


def test_rules_10_and_11_the_first_download() -> None:
    decision = play(FileState(), got())
    assert ends(decision, IatiOutcome.DOWNLOADED, keep=True) and decision.changed_at is None
    assert decision.state.good == GoodDownload(
        "a" * 40, "b" * 40, NOW, NOW, 1000, "<iati-activities", ETAG, MODIFIED, URL
    )
    assert decision.state.content_modified == NOW
    assert decision.state.content_modified_excluding_generated_timestamp == NOW
    assert decision.state.attempts == (attempt(NOW, "GET", 200),)


BEFORE = NOW - 30 * HOUR


@pytest.mark.parametrize(
    ("document", "kept", "modified", "modified_excluding", "changed_at"),
    [
        (DOCUMENT, False, BEFORE, BEFORE, None),
        (ONLY_THE_TIME, True, NOW, BEFORE, None),
        (OTHER, True, NOW, NOW, NOW),
    ],
    ids=["the same", "only the time", "another"],
)
def test_rules_10_and_11_when_contents_were_modified(
    document: DownloadedFile,
    kept: bool,
    modified: datetime,
    modified_excluding: datetime,
    changed_at: datetime | None,
) -> None:
    state = replace(
        downloaded(30 * HOUR),
        content_modified=BEFORE,
        content_modified_excluding_generated_timestamp=BEFORE,
    )
    decision = play(state, got(document, etag=None))
    assert (decision.keep, decision.changed_at) == (kept, changed_at)
    assert decision.state.content_modified == modified
    assert decision.state.content_modified_excluding_generated_timestamp == modified_excluding
    good = decision.state.good
    assert good is not None and (good.downloaded, good.verified_on_server) == (NOW, NOW)
    assert (good.hash, good.etag, good.last_modified) == (document.hash, None, MODIFIED)


def test_a_url_whose_file_cannot_be_stored_works() -> None:
    before = replace(downloaded(30 * HOUR), failures=2, failing_since=NOW - HOUR)
    state = play(before, failed_get(200, ErrorType.STORE_ERROR)).state
    assert state.good == before.good and not has_expired(state)
    assert (state.failures, state.failing_since, state.postponed_until) == (0, None, None)
    assert play(state, now=NOW + MOMENT).next_method is NextMethod.GET


# Failing URLs


@pytest.mark.parametrize(
    ("failures", "minutes"),
    [(1, 15), (2, 30), (3, 60), (4, 120), (5, 240), (6, 360), (7, 360), (10_000, 360)],
)
def test_the_more_it_failed_the_longer_a_url_is_left_alone(failures: int, minutes: int) -> None:
    assert backoff(failures) == timedelta(minutes=minutes)


def failing(times: int, **more: object) -> FileState:
    state, now = downloaded(30 * HOUR, **more), NOW
    for _ in range(times):
        now = state.postponed_until or now
        state = play(state, failed_get(), now=now).state
    return state


@pytest.mark.parametrize("times", [1, 2, 6])
def test_a_url_that_failed_is_asked_again_in_time(times: int) -> None:
    state = failing(times)
    until = state.postponed_until
    assert until is not None and state.failures == times
    assert play(state, now=until - MOMENT).outcome is IatiOutcome.POSTPONED
    assert play(state, now=until).next_method is NextMethod.GET
    assert play(state, now=until - MOMENT, subject=STRICT).next_method is NextMethod.GET
    assert play(state, now=NOW - 10 * HOUR).next_method is not NextMethod.NOTHING, (
        "a clock that was set right"
    )


@pytest.mark.parametrize(
    ("responses", "ago"),
    [
        ((got(),), 30 * HOUR),
        ((head(),), 5 * HOUR),
        ((head(405),), 5 * HOUR),
        ((head(405), conditional(304)), 7 * HOUR),
        ((head(etag=None, last_modified=None),), 5 * HOUR),
    ],
)
def test_a_url_that_works_again_has_not_failed(
    responses: tuple[Response, ...], ago: timedelta
) -> None:
    state = replace(downloaded(ago), failures=3, postponed_until=NOW)
    after = play(state, *responses).state
    assert (after.failures, after.postponed_until) == (0, None)


@pytest.mark.parametrize("subject", [SUBJECT, STRICT])
@pytest.mark.parametrize(
    ("failing_for", "failures", "expired"),
    [
        (72 * HOUR - MOMENT, 9, False),
        (72 * HOUR, 9, True),
        (72 * HOUR, 1, True),
        # No cycle ran for days, and the first one fails.
        (None, 0, False),
    ],
)
def test_a_copy_expires(
    failing_for: timedelta | None, failures: int, expired: bool, subject: CheckSubject
) -> None:
    since = None if failing_for is None else NOW - failing_for
    state = replace(downloaded(900 * HOUR), failures=failures, failing_since=since)
    assert not has_expired(state), "it has not failed this time"
    failed = play(state, failed_get(), subject=subject).state
    assert has_expired(failed) is expired
    assert not has_expired(replace(failed, good=None))


@pytest.mark.parametrize(
    ("expiring", "copies", "registry_read", "brakes"),
    [
        # In a small source copies expire, unless the registry cannot be read either.
        (2, 2, True, False),
        (1, 1, False, True),
        (1, 2, False, False),
        (2, 2, False, True),
        # In a source with ten copies or more, at most half of them expire.
        (5, 10, True, False),
        (6, 10, True, True),
        (6, 10, False, True),
        (0, 0, False, False),
    ],
)
def test_more_than_half_of_the_copies_do_not_expire_at_once(
    expiring: int, copies: int, registry_read: bool, brakes: bool
) -> None:
    assert brakes_expiry(expiring, copies, registry_read=registry_read) is brakes


# Random sequences

statuses = st.sampled_from([None, 200, 304, 404, 405, 412, 500, 501])
validators = st.sampled_from([None, ETAG, '"v2"'])
documents = st.sampled_from([DOCUMENT, OTHER, ONLY_THE_TIME])
kinds = st.sampled_from(ErrorType)


@st.composite
def responses(draw: st.DrawFn, method: NextMethod) -> Response:
    status = draw(statuses)
    fine = status == 200 or (status == 304 and method is NextMethod.CONDITIONAL_GET)
    brings = status == 200 and method is not NextMethod.HEAD and draw(st.booleans())
    if status == 200 and method is not NextMethod.HEAD:
        fine = brings
    return Response(
        method,
        status,
        etag=draw(validators),
        last_modified=draw(st.sampled_from([None, MODIFIED, "yesterday"])),
        length=draw(st.sampled_from([None, 0, 1000, 1001])),
        error=None if fine else error(draw(kinds), "HEAD" if method is NextMethod.HEAD else "GET"),
        our_fault=draw(st.booleans()),
        file=draw(documents) if brings else None,
    )


@given(st.data())
def test_whatever_happens(data: st.DataObject) -> None:
    """Each check is recorded and ends, and the last known good download is never lost."""
    state, now, made = FileState(), NOW, tuple[Attempt, ...]()
    for _ in range(data.draw(st.integers(1, 8))):
        now += data.draw(st.timedeltas(timedelta(0), 30 * HOUR))
        url = data.draw(st.sampled_from([URL, f"{URL}?v=2"]))
        subject = CheckSubject(url, strict=data.draw(st.booleans()))
        before = state
        decision = decide(state, None, now, subject)
        methods = []
        while decision.next_method is not NextMethod.NOTHING:
            methods.append(decision.next_method)
            assert decision.outcome is None
            response = data.draw(responses(decision.next_method))
            decision = decide(decision.state, response, now, subject)
        state = decision.state
        assert len(methods) <= 3
        assert state.last_update_check == now
        made = (*state.attempts[: len(methods)], *made)
        names = [one.http_method for one in reversed(methods)]
        assert [one["method"] for one in made[: len(methods)]] == names
        assert state.attempts[:KEPT] == made[:KEPT] and len(state.attempts) <= KEPT + 1
        assert (decision.outcome is IatiOutcome.POSTPONED) is (not methods)
        if decision.outcome is IatiOutcome.POSTPONED:
            assert state == replace(before, last_update_check=now, failed_at=None)
            assert not subject.strict
        if before.good is None:
            assert state.good is None or decision.outcome is IatiOutcome.DOWNLOADED
        else:
            assert state.good is not None, "what is good is never lost"
            if decision.outcome is not IatiOutcome.DOWNLOADED:
                unverified = replace(state.good, verified_on_server=before.good.verified_on_server)
                assert unverified == before.good
        if decision.outcome in (IatiOutcome.FAILED, IatiOutcome.NOT_STORED):
            assert state.good == before.good
            assert state.content_modified == before.content_modified
        if decision.outcome is IatiOutcome.DOWNLOADED:
            assert state.good is not None and state.good.downloaded == now
            assert decision.keep is (before.good is None or before.good.hash != state.good.hash)
        if state.postponed_until is not None:
            assert state.postponed_until <= now + 6 * HOUR
