"""The rules of a check, as tables."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ckanext.freshness.checking.answers import AnswerHeaders, believed
from ckanext.freshness.checking.decisions import (
    EARLIER_HASHES,
    Decision,
    Digest,
    KnownContent,
    Outcome,
    ResourceToCheck,
    after_confirmation,
    after_failure,
    after_hash,
    after_headers,
    conditions,
    distrusts,
    without_confirmation,
)
from ckanext.freshness.web.errors import FailureReason

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
DAY = timedelta(days=1)
KNOWN = NOW - 40 * DAY
A, B, C = "sha256:a", "sha256:b", "sha256:c"
SEEN = KnownContent('"1"', "Mon", A, earlier=(C,))
OK = AnswerHeaders(200, '"2"', "Tue", None, NOW)
FAILED = Decision(SEEN, Outcome.ERROR)


def digest_of(hash_: str, raw: str | None = None) -> Digest:
    detectors = frozenset({"sha256", "unopened", "undated", "members", "own"})
    return Digest(hash_, raw or hash_.partition(":")[2], detectors)


def first_step(
    known: KnownContent,
    headers: AnswerHeaders,
    *,
    last_change: datetime | None = KNOWN,
    anyway: bool = False,
    doubts: bool = False,
) -> Decision:
    resource = ResourceToCheck(
        "r",
        "p",
        "http://a.example/",
        known,
        last_change=last_change,
        fresh_after=NOW - 30 * DAY,
        hash_anyway=anyway,
        doubts=doubts,
    )
    return after_headers(resource, headers, NOW, conditional=True)


# What is asked


@pytest.mark.parametrize(
    ("known", "anyway", "asked"),
    [
        (SEEN, False, ('"1"', "Mon")),
        (SEEN, True, (None, None)),
        (replace(SEEN, etag=None), False, (None, "Mon")),
        (replace(SEEN, outdated=True), False, ('"1"', "Mon")),
        (KnownContent(), False, (None, None)),
        # Validators of bytes that nobody has hashed prove nothing.
        (KnownContent('"1"', "Mon"), False, (None, None)),
    ],
)
def test_conditions(
    known: KnownContent, anyway: bool, asked: tuple[str | None, str | None]
) -> None:
    assert conditions(ResourceToCheck("r", "p", "u", known, hash_anyway=anyway)) == asked


# Headers


@pytest.mark.parametrize(
    ("modified", "date", "is_believed"),
    [
        (NOW - DAY, NOW, True),
        (NOW - timedelta(seconds=61), NOW, True),
        (NOW - timedelta(seconds=60), NOW, False),
        (NOW, NOW, False),
        (NOW - DAY, None, True),
        # By the time of receipt, where Date is absent or wrong
        (NOW - timedelta(seconds=61), None, True),
        (NOW - timedelta(seconds=60), None, False),
        (NOW, None, False),
        (NOW + timedelta(seconds=1), NOW + DAY, False),
        (None, NOW, False),
        # In local time, called GMT
        (NOW - timedelta(hours=5, seconds=2), NOW, False),
        (NOW - timedelta(hours=13), None, True),
        (NOW - timedelta(hours=3, minutes=30), NOW, False),
        (NOW - timedelta(hours=2, minutes=30, seconds=50), None, False),
        (NOW - timedelta(hours=4, minutes=30), NOW, True),
        (NOW + timedelta(hours=5, minutes=45), NOW, False),
    ],
)
def test_dates_that_say_something(
    modified: datetime | None, date: datetime | None, is_believed: bool
) -> None:
    found = believed(AnswerHeaders(200, None, "text", modified, date), NOW)
    assert found == (modified if is_believed else None)


@pytest.mark.parametrize("date", [None, NOW, NOW - timedelta(minutes=20)])
@pytest.mark.parametrize(
    ("since_made", "is_believed"), [(1139, True), (1140, False), (1260, False), (1261, True)]
)
def test_a_date_made_for_an_answer_that_a_cache_kept(
    date: datetime | None, since_made: int, is_believed: bool
) -> None:
    modified = NOW - timedelta(seconds=since_made)
    headers = AnswerHeaders(200, None, "text", modified, date, age=timedelta(minutes=20))
    assert believed(headers, NOW) == (modified if is_believed else None)


@pytest.mark.parametrize(
    ("modified", "last_change", "known", "anyway", "outcome", "evidence"),
    [
        # newer, makes fresh, and there is a hash: the end
        (NOW - DAY, KNOWN, SEEN, False, Outcome.HEADER, True),
        # newer, but not fresh by it
        (NOW - 30 * DAY, KNOWN, SEEN, False, None, True),
        # newer and fresh, but never hashed, or the bytes are wanted
        (NOW - DAY, KNOWN, KnownContent(), False, None, True),
        (NOW - DAY, KNOWN, SEEN, True, None, True),
        # not newer
        (KNOWN, KNOWN, SEEN, False, None, False),
        (NOW - DAY, NOW - DAY, SEEN, False, None, False),
        # no date, or one that is not believed
        (None, KNOWN, SEEN, False, None, False),
        (NOW, KNOWN, SEEN, False, None, False),
    ],
)
def test_last_modified(
    modified: datetime | None,
    last_change: datetime | None,
    known: KnownContent,
    anyway: bool,
    outcome: Outcome | None,
    evidence: bool,
) -> None:
    step = first_step(
        known, OK._replace(last_modified=modified), last_change=last_change, anyway=anyway
    )
    assert step.outcome is outcome
    assert step.modified == (modified if evidence else None)
    unread = KnownContent('"2"', "Tue", A, earlier=(C,), outdated=True)
    assert step.known == (known if outcome is None else unread)


def test_the_date_of_an_empty_file_ends_no_check() -> None:
    empty = OK._replace(last_modified=NOW - DAY, empty=True)
    assert first_step(SEEN, empty) == Decision(SEEN, modified=NOW - DAY)


# Hashes


@pytest.mark.parametrize(
    ("known", "digest", "outcome", "earlier"),
    [
        (KnownContent(), A, Outcome.FIRST_HASH, ()),
        (SEEN, A, Outcome.SAME_HASH, (C,)),
        (SEEN, C, Outcome.REPEAT_HASH, (A,)),
        # What came with a date that ended an earlier visit is no second change.
        (replace(SEEN, outdated=True), B, Outcome.FIRST_HASH, (A, C)),
    ],
)
def test_a_hash_that_ends_a_visit(
    known: KnownContent, digest: str, outcome: Outcome, earlier: tuple[str, ...]
) -> None:
    modified = NOW - 35 * DAY
    headers = OK._replace(last_modified_text="Mon")
    step = after_hash(known, headers, digest_of(digest), modified)
    assert step == Decision(KnownContent('"2"', "Mon", digest, earlier=earlier), outcome, modified)


ZIP, ZIPPED = "members:z", digest_of("members:z", "rz")
NEW_ZIP = digest_of("members:y", "ry")
CLOSED, CLOSED_ANEW = (digest_of(f"unopened:{raw}") for raw in ("rz", "ry"))


def stored(hash_: str, raw: str | None = None, *earlier: str) -> KnownContent:
    return KnownContent('"1"', "Mon", hash_, raw, earlier)


@pytest.mark.parametrize(
    ("known", "digest", "outcome"),
    [
        # The kind changes: CSV, with a stamp or without, and archives. None: a second download confirms it.
        (stored(A), NEW_ZIP, None),
        (stored(ZIP, "rz"), digest_of(A), None),
        (stored(A), digest_of("undated:u", "ru"), None),
        (stored("undated:u", "ru"), digest_of(A), None),
        (stored("undated:u", "ru"), NEW_ZIP, None),
        (stored(ZIP, "rz"), digest_of("undated:u", "ru"), None),
        (stored(A), digest_of("own:o", "ro"), None),
        (stored("own:o", "ro"), NEW_ZIP, None),
        # It changes back.
        (stored(ZIP, "rz", A), digest_of(A), Outcome.REPEAT_HASH),
        (stored(A, None, ZIP), ZIPPED, Outcome.REPEAT_HASH),
        # The same data, compressed
        (stored(A), digest_of("members:a", "rc"), Outcome.SAME_HASH),
        (stored("members:a", "rc"), digest_of(A), Outcome.SAME_HASH),
        (stored("undated:u", "ru"), digest_of("members:u", "rc"), Outcome.SAME_HASH),
        # Another detector takes the file: the same bytes, and others
        (stored("undated:u", "a"), digest_of(A), Outcome.SAME_HASH),
        (stored(A), digest_of("undated:u", "a"), Outcome.SAME_HASH),
        (stored("gone:g", "a"), digest_of(A), Outcome.SAME_HASH),
        (stored("gone:g", "rg"), digest_of(A), Outcome.FIRST_HASH),
        (stored(ZIP, "rz"), digest_of("own:o", "rz"), Outcome.SAME_HASH),
        (stored(ZIP, "rz"), digest_of("own:o", "ro"), None),
        # An archive that cannot be opened, and can be again
        (KnownContent(), CLOSED, Outcome.FIRST_HASH),
        (stored(ZIP, "rz"), CLOSED, Outcome.SAME_HASH),
        (stored(ZIP, "rz"), CLOSED_ANEW, Outcome.FIRST_HASH),
        (stored("unopened:rz"), CLOSED, Outcome.SAME_HASH),
        (stored("unopened:rz"), CLOSED_ANEW, None),
        (stored("unopened:rz"), ZIPPED, Outcome.SAME_HASH),
        (stored("unopened:rz"), NEW_ZIP, Outcome.FIRST_HASH),
        (stored("unopened:ry", None, ZIP), digest_of(ZIP, "rx"), Outcome.SAME_HASH),
        (stored("unopened:ry", None, ZIP), NEW_ZIP, None),
        (stored("unopened:ry", None, A, ZIP), NEW_ZIP, Outcome.SAME_HASH),
        # It is certainly another file.
        (stored(A), CLOSED, None),
        (stored("unopened:rz"), digest_of(A), None),
    ],
)
def test_kinds_and_rules_that_change(
    known: KnownContent, digest: Digest, outcome: Outcome | None
) -> None:
    assert after_hash(known, OK, digest, None).outcome is outcome
    if outcome is None:
        changed = after_confirmation(known, OK, digest, digest, None)
        assert changed.outcome is Outcome.CHANGED
        assert after_hash(changed.known, OK, digest, None).outcome is Outcome.SAME_HASH


def test_a_file_that_was_opened_is_known_by_its_content() -> None:
    """A night on which the sandbox is too slow costs no knowledge."""
    known = stored(ZIP, "rz")
    assert after_hash(known, OK, CLOSED, None).known == replace(
        known, etag='"2"', last_modified="Tue", dates_lie=True
    )
    closed = after_hash(known, OK, CLOSED_ANEW, None).known
    assert conditions(ResourceToCheck("r", "p", "u", closed)) == (None, None)
    opened = after_hash(stored("unopened:rz"), OK, ZIPPED, None).known
    assert (opened.hash, opened.raw) == (ZIP, "rz")


@pytest.mark.parametrize(
    ("first", "second", "outcome", "hash_"),
    [
        (NEW_ZIP, digest_of("members:y", "rx"), Outcome.CHANGED, "members:y"),
        (NEW_ZIP, CLOSED_ANEW, Outcome.CHANGED, "members:y"),
        (CLOSED_ANEW, NEW_ZIP, Outcome.CHANGED, "members:y"),
        (CLOSED_ANEW, CLOSED_ANEW, Outcome.CHANGED, "unopened:ry"),
        (NEW_ZIP, CLOSED, Outcome.UNCONFIRMED, A),
        (CLOSED, NEW_ZIP, Outcome.UNCONFIRMED, A),
        (NEW_ZIP, digest_of(A), Outcome.SAME_HASH, A),
        (NEW_ZIP, digest_of("members:a", "rc"), Outcome.SAME_HASH, A),
        (NEW_ZIP, ZIPPED, Outcome.API, A),
        (NEW_ZIP, digest_of(B), Outcome.API, A),
    ],
)
def test_what_confirms_another_kind(
    first: Digest, second: Digest, outcome: Outcome, hash_: str
) -> None:
    step = after_confirmation(stored(A), OK, first, second, None)
    assert (step.outcome, step.known.hash) == (outcome, hash_)
    assert step.known.unconfirmed == (first.content if outcome is Outcome.UNCONFIRMED else None)


@pytest.mark.parametrize(
    ("known", "last_modified", "digest", "lie"),
    [
        (SEEN, "Tue", A, True),
        (SEEN, "Mon", A, None),
        (SEEN, None, A, None),
        # The hash is that of the file before its date moved.
        (replace(SEEN, outdated=True), "Mon", A, True),
        (replace(SEEN, outdated=True), "Tue", B, None),
        (replace(SEEN, last_modified=None), "Tue", A, None),
        # The first file, and hashes that cannot be compared
        (KnownContent(), "Tue", A, None),
        (replace(SEEN, hash="gone:a"), "Tue", "sha256:x", None),
        # Who was honest may begin to lie. Who lied once is not believed again.
        (SEEN, "Tue", C, False),
        (replace(SEEN, dates_lie=False), "Tue", A, True),
        (replace(SEEN, dates_lie=True), "Mon", A, True),
        (replace(SEEN, dates_lie=True), "Tue", C, True),
    ],
)
def test_what_a_hash_says_of_the_dates(
    known: KnownContent, last_modified: str | None, digest: str, lie: bool | None
) -> None:
    modified = NOW - DAY
    headers = OK._replace(last_modified_text=last_modified)
    step = after_hash(known, headers, digest_of(digest), modified)
    assert step.known.dates_lie is lie
    assert step.modified == (None if lie else modified)


@pytest.mark.parametrize(
    ("digest", "modified", "outcome", "lie"),
    [
        (A, NOW - DAY, Outcome.REPEAT_HASH, True),
        (A, None, Outcome.REPEAT_HASH, None),
        (B, NOW - DAY, Outcome.FIRST_HASH, None),
    ],
)
def test_the_file_of_the_url_before_is_no_news(
    digest: str, modified: datetime | None, outcome: Outcome, lie: bool | None
) -> None:
    """A file that was copied to another server has the date of the copy there."""
    step = after_hash(KnownContent(earlier=(A, C)), OK, digest_of(digest), modified)
    assert (step.outcome, step.known.hash, step.known.dates_lie) == (outcome, digest, lie)
    assert step.modified == (None if digest == A else modified)


def test_a_date_that_lied_is_no_evidence() -> None:
    headers = AnswerHeaders(200, None, "Tue", NOW - 2 * DAY, NOW)
    assert first_step(SEEN, headers).outcome is Outcome.HEADER
    liar = replace(SEEN, dates_lie=True)
    assert first_step(liar, headers) == Decision(liar)


@pytest.mark.parametrize(("lie", "reads"), [(None, True), (True, True), (False, False)])
def test_dates_are_verified_once(lie: bool | None, reads: bool) -> None:
    headers = AnswerHeaders(200, None, "Tue", NOW - 2 * DAY, NOW)
    step = first_step(replace(SEEN, dates_lie=lie), headers, doubts=True)
    assert (step.outcome is None) is reads


@pytest.mark.parametrize(
    ("etag", "last_modified", "distrusted"),
    [
        (None, None, False),
        ('"1"', "Mon", False),
        ('"2"', "Tue", True),
        (None, "Tue", True),
        # The ETag says more.
        ('"1"', "Tue", False),
    ],
)
def test_a_304_that_names_another_file(
    etag: str | None, last_modified: str | None, distrusted: bool
) -> None:
    assert distrusts(SEEN, AnswerHeaders(304, etag, last_modified)) is distrusted


def test_two_runs_that_read_the_same_confirm_each_other() -> None:
    waiting = replace(SEEN, unconfirmed=B)
    assert without_confirmation(SEEN, OK, digest_of(B), NOW) == Decision(
        waiting, Outcome.UNCONFIRMED, NOW
    )
    step = without_confirmation(waiting, OK, digest_of(B), NOW)
    assert step.outcome is Outcome.CHANGED and step.known == KnownContent(
        '"2"', "Tue", B, earlier=(A, C), dates_lie=False
    )
    other = digest_of("sha256:d")
    step = without_confirmation(waiting, OK, other, None)
    assert (step.outcome, step.known.unconfirmed) == (Outcome.UNCONFIRMED, "sha256:d")
    for known in (
        after_hash(waiting, OK, digest_of(A), None).known,
        after_confirmation(waiting, OK, other, other, None).known,
        after_confirmation(waiting, OK, other, digest_of("sha256:e"), None).known,
    ):
        assert known.unconfirmed is None
    assert first_step(waiting, AnswerHeaders(304)).known == SEEN


@pytest.mark.parametrize(
    ("second", "outcome", "known"),
    [
        (B, Outcome.CHANGED, KnownContent('"3"', "Wed", B, earlier=(A, C), dates_lie=False)),
        (A, Outcome.SAME_HASH, SEEN),
        ("sha256:d", Outcome.API, SEEN),
        (C, Outcome.API, SEEN),
    ],
)
def test_confirmation(second: str, outcome: Outcome, known: KnownContent) -> None:
    headers = AnswerHeaders(200, '"3"', "Wed", None, NOW)
    step = after_confirmation(SEEN, headers, digest_of(B), digest_of(second), None)
    assert step == Decision(known, outcome)


# Requests without an answer


CANNOT_TELL = Decision(SEEN, Outcome.CANNOT_TELL)

NOT_THEIRS = (
    FailureReason.SCHEME_REFUSED,
    FailureReason.INSIDE_ADDRESS,
    FailureReason.HOST_NOT_ALLOWED,
    FailureReason.HOST_DEFERRED,
    FailureReason.HOST_SILENT,
    FailureReason.TOO_LARGE,
    FailureReason.INVALID_REQUEST,
    FailureReason.UNFORESEEN,
    FailureReason.NO_ROUTE,
    FailureReason.PROXY,
    FailureReason.OUT_OF_SOCKETS,
    FailureReason.NO_ROOM,
    *(FailureReason.TLS_UNTRUSTED, FailureReason.TLS_WEAK, FailureReason.TLS_REFUSED),
    *(FailureReason.UNFINISHED, FailureReason.DAMAGED),
)


@pytest.mark.parametrize("reason", FailureReason)
def test_the_date_of_a_file_that_cannot_be_read_counts(reason: FailureReason) -> None:
    is_unread = reason in (FailureReason.TOO_LARGE, FailureReason.UNFINISHED)
    known = replace(SEEN, etag='"2"', last_modified="Tue", outdated=True)
    newer = Decision(known, Outcome.HEADER, NOW)
    otherwise = CANNOT_TELL if reason in NOT_THEIRS else FAILED
    assert after_failure(SEEN, reason, OK, modified=NOW) == (newer if is_unread else otherwise)
    assert after_failure(SEEN, reason, OK) == otherwise
    same = OK._replace(last_modified_text="Mon")
    assert after_failure(SEEN, reason, same, modified=NOW) == otherwise
    # The first date counts, but shows no change.
    step = after_failure(replace(SEEN, last_modified=None), reason, OK, modified=NOW)
    assert step.outcome is otherwise.outcome
    assert step.modified == (NOW if is_unread else None)


# Whole histories


def visit(
    known: KnownContent, contents: str, *, second: str | None = "", etag: str | None
) -> Decision:
    """Check a server that sends these contents, with or without an ETag."""
    asked, _ = conditions(ResourceToCheck("r", "p", "u", known))
    if asked is not None and asked == etag:
        return first_step(known, AnswerHeaders(304))
    headers = AnswerHeaders(200, etag)
    step = first_step(known, headers)
    assert step.outcome is None
    first = digest_of(f"sha256:{contents}")
    step = after_hash(known, headers, first, step.modified)
    if step.outcome is None:
        modified = step.modified
        if second is None:
            return without_confirmation(known, headers, first, modified)
        other = digest_of(f"sha256:{second or contents}")
        step = after_confirmation(known, headers, first, other, modified)
    return step


@given(
    st.lists(st.tuples(st.sampled_from("1234"), st.booleans(), st.booleans()), max_size=30),
    st.booleans(),
)
def test_no_change_is_lost_and_none_invented(
    runs: list[tuple[str, bool, bool]], validators: bool
) -> None:
    """Whatever fails in between, new contents count as a change exactly once."""
    known = KnownContent()
    told: list[str] = []
    seen: list[str] = []
    for contents, confirmed, answers in runs:
        if not answers:
            assert first_step(known, AnswerHeaders(500)).known == known
            continue
        etag = f'"{contents}"' if validators else None
        step = visit(known, contents, second="" if confirmed else None, etag=etag)
        known = step.known
        if step.outcome is not Outcome.UNCONFIRMED and contents not in seen:
            if seen:
                told.append(contents)
                assert step.outcome is Outcome.CHANGED
            seen.append(contents)
        else:
            assert step.outcome is not Outcome.CHANGED
    assert len(known.earlier) <= EARLIER_HASHES
    assert told == seen[1:]
