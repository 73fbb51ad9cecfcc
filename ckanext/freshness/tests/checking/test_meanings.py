"""What statuses, failures and bot walls say about a link."""

from __future__ import annotations

import pytest

from ckanext.freshness.checking.meanings import (
    FAILURES,
    WALL_PAGES,
    Meaning,
    failure_means,
    has_wall_header,
    status_means,
    wall_of_page,
)
from ckanext.freshness.web.errors import FailureReason

WORKS, FAILED, CANNOT_TELL, OURS = Meaning

STATUSES = {
    WORKS: {200, 203, 304},
    CANNOT_TELL: {202, 401, 403, 406, 407, 415, 418, 420, 429, 430, 451, 498, 499, 999},
    OURS: {511},
}


@pytest.mark.parametrize("status", range(100, 1000))
def test_every_status_means_something(status: int) -> None:
    expected = next((meaning for meaning, ones in STATUSES.items() if status in ones), FAILED)
    assert status_means(status) is expected


@pytest.mark.parametrize(
    ("status", "meaning"), [(503, CANNOT_TELL), (429, CANNOT_TELL), (500, FAILED)]
)
def test_a_busy_server_works(status: int, meaning: Meaning) -> None:
    assert status_means(status, is_busy=True) is meaning


def test_every_failure_means_something() -> None:
    assert set(FAILURES) == set(FailureReason)
    assert WORKS not in map(failure_means, FailureReason)


@pytest.mark.parametrize("reason", FailureReason)
def test_what_is_ours_says_nothing_about_the_url(reason: FailureReason) -> None:
    assert (failure_means(reason) is FAILED) <= reason.theirs
    assert (failure_means(reason) is OURS) <= (not reason.theirs)


@pytest.mark.parametrize(
    ("headers", "wall"),
    [
        ({}, False),
        ({"server": "cloudflare"}, False),
        ({"cf-mitigated": "challenge"}, True),
        ({"cf-mitigated": " Challenge"}, True),
        ({"cf-mitigated": "no"}, False),
        ({"x-amzn-waf-action": "captcha"}, True),
        ({"x-vercel-mitigated": "deny"}, True),
    ],
)
def test_walls_that_say_so(headers: dict[str, str], wall: bool) -> None:
    assert has_wall_header(headers) is wall


PAGES = {
    "Cloudflare": b"<script src='/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1'></script>",
    "AWS WAF": b"<script>window.awsWafCookieDomainList = [];</script>",
    "Vercel": b"<title>Vercel Security Checkpoint</title>",
    "Imperva": b'<iframe src="/_Incapsula_Resource?CWUDNSAI=23&xinfo=1"></iframe>',
    "F5": b"<html><head><title>Request Rejected</title></head><body>The requested URL was rejected.",
    "Sucuri": b"<script>sucuri_cloudproxy_js='';S='cz0i'</script>",
    "Anubis": b'<script id="anubis_challenge" type="application/json">{}</script>',
    "DataDome": b'<script src="https://ct.captcha-delivery.com/c.js"></script>',
    "Akamai": b"Reference #18.1 https://errors.edgesuite.net/18.1",
}


@pytest.mark.parametrize("name", PAGES)
def test_walls_that_look_like_a_page(name: str) -> None:
    page = b"<!DOCTYPE html><html><head>" + b" " * 5000 + PAGES[name] + b"</html>"
    assert wall_of_page(page) == name


def test_each_wall_has_its_page_and_source() -> None:
    assert [wall.name for wall in WALL_PAGES] == list(PAGES)
    assert all(wall.source.startswith("https://") for wall in WALL_PAGES)


@pytest.mark.parametrize(
    "page",
    [
        b"<html><title>404 Not Found</title></html>",
        b"<html><p>Our site is protected by Cloudflare and Akamai.</p></html>",
        b"<html><h1>Database error</h1></html>",
    ],
)
def test_other_pages(page: bytes) -> None:
    assert wall_of_page(page) is None
