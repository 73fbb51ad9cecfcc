"""Attempts and their errors, as they are published."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest

from ckanext.freshness.web.errors import FailureReason
from ckanext.freshness_iati.attempts import (
    ErrorType,
    attempt,
    error_details,
    error_type,
    kept,
    public_headers,
)

URL = "https://user:hunter2@example.org/file.xml?token=hunter2&v=1"
SHOWN = "https://***@example.org/file.xml?token=***&v=1"


def test_the_last_five_attempts_are_kept_and_the_last_by_each_method() -> None:
    at = datetime(2026, 11, 21, tzinfo=timezone.utc)
    get, *heads = (
        attempt(at - timedelta(hours=hours), method, 200)
        for hours, method in enumerate(["GET", *["HEAD"] * 7])
    )
    assert kept(()) == () and kept((get,)) == (get,)
    assert kept((get, *heads)) == (get, *heads[:4])
    assert kept((*heads, get)) == (*heads[:5], get)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (ErrorType.SSL_ERROR, FailureReason.TLS_EXPIRED),
        (ErrorType.TOO_MANY_REDIRECTS, FailureReason.REDIRECT_LOOP),
        (ErrorType.CONNECTION_ERROR, FailureReason.NAME_NOT_FOUND),
        (ErrorType.OTHER_ERROR, FailureReason.TOO_LARGE),
    ],
)
def test_types_of_requests_without_an_answer(kind: ErrorType, reason: FailureReason) -> None:
    assert error_type(reason) is kind


@pytest.mark.parametrize(("status", "reason"), [(None, None), (404, "Not Found"), (799, None)])
def test_details(status: int | None, reason: str | None) -> None:
    headers = {"Server": "x"}
    assert error_details(ErrorType.OTHER_ERROR, "It\0failed", "HEAD", URL, status, headers) == {
        "error_type": "other_error",
        "summary_message": "The file could not be read.",
        "detailed_message": "It\ufffdfailed",
        "http_method": "HEAD",
        "http_reason": reason,
        "http_headers": headers,
        "source_url": SHOWN,
    }


@pytest.mark.parametrize(
    ("headers", "shown"),
    [
        ({"Content-Type": "text/html", "ETag": '"v1"'}, None),
        ({"Set-Cookie": "sid=hunter2"}, {}),
        ({"Authorization": "Basic hunter2", "WWW-Authenticate": "Digest nonce=hunter2"}, {}),
        (
            {"Location": "https://u:hunter2@example.org/?X-Amz-Signature=hunter2"},
            {"Location": "https://***@example.org/?X-Amz-Signature=***"},
        ),
        ({"X-Long": "x" * 600}, {"X-Long": "x" * 500 + "…"}),
        ({"X-Odd": "a\udcffb"}, {"X-Odd": "a%ED%B3%BFb"}),
    ],
)
def test_headers(headers: dict[str, str], shown: dict[str, str] | None) -> None:
    found = public_headers(headers)
    assert found == (headers if shown is None else shown)
    json.dumps(found).encode()


def test_an_attempt_as_it_is_stored_and_published() -> None:
    at = datetime(2026, 11, 21, 12, 0, 0, 17, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    details = error_details(ErrorType.HTTP_NON_200, "It is gone", "HEAD", URL, 404)
    failed = attempt(at, "HEAD", 404, details, insecure=True)
    assert json.loads(json.dumps(failed)) == failed
    assert failed["datetime"] == "2026-11-21T06:30:00.000017Z"
    assert failed["error_occurred"] and failed["insecure"]
    fine = attempt(at, "HEAD", 200)
    assert (fine["error_occurred"], fine["error_details"]) == (False, None)
