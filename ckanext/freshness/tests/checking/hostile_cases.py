"""Hostile URLs with the expected outcomes and words, as tables."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Any

from ckanext.freshness.checking.decisions import KnownContent, Outcome
from ckanext.freshness.tests.servers.hostile import MODIFIED
from ckanext.freshness.web.errors import FailureReason

KNOWN = KnownContent('"old"', MODIFIED, f"sha256:{'0' * 64}", (f"sha256:{'1' * 64}",))
UNHASHED = KnownContent()


@dataclass(frozen=True, slots=True)
class Case:
    """What is found at a URL whose bytes were others before, and what people are told.

    :ivar url: a path of the hostile server, on a host of its own, or a whole URL
    :ivar words: part of what is said; None where nothing went wrong
    :ivar fails: whether it counts towards "broken"
    """

    url: str
    outcome: Outcome
    reason: FailureReason | str | None = None
    words: str | None = None
    fails: bool = False
    memory: KnownContent = KNOWN
    status: int | None = None


def broken(url: str, reason: FailureReason | str, words: str, **more: Any) -> Case:
    """A failure of the URL."""
    return Case(url, Outcome.ERROR, reason, words, fails=True, **more)


def ours(url: str, reason: FailureReason, words: str, **more: Any) -> Case:
    """Nothing is known of the URL: it was not requested, or not to its end."""
    return Case(url, Outcome.CANNOT_TELL, reason, words, fails=False, **more)


def answered(url: str, status: int, **more: Any) -> Case:
    """An error by the status of the answer."""
    return Case(url, Outcome.ERROR, None, str(status), fails=True, status=status, **more)


def wall(url: str, status: int, **more: Any) -> Case:
    """The link may still work in a browser."""
    return Case(url, Outcome.CANNOT_TELL, None, str(status), status=status, **more)


MALFORMED = FailureReason.MALFORMED
INSIDE = FailureReason.INSIDE_ADDRESS
# Since Python 3.13 with the IPv4 address in its usual form.
MAPPED_LOOPBACK = IPv6Address("::ffff:127.0.0.1")
MAPPED_PRIVATE = IPv6Address("::ffff:10.0.0.1")
SERVED: tuple[Case, ...] = (
    # Without an end, or nearly
    ours("/endless-body", FailureReason.TOO_LARGE, "is larger than 1 MiB"),
    broken("/endless-headers", MALFORMED, "did not answer in HTTP"),
    broken("/endless-header", MALFORMED, "sent headers longer than 32768 bytes"),
    broken("/endless-continue", FailureReason.TOTAL_TIMEOUT, "was not finished within 8 s"),
    broken("/endless-redirects", FailureReason.TOO_MANY_REDIRECTS, "redirects more than 20 times"),
    ours("/slow-body", FailureReason.UNFINISHED, "was not finished within 8 s"),
    broken("/slow-headers", FailureReason.TOTAL_TIMEOUT, "was not finished within 8 s"),
    ours("/dripping-body", FailureReason.UNFINISHED, "was not finished within 8 s"),
    ours("/dripping-headers", FailureReason.UNFINISHED, "was not finished within 8 s"),
    broken("/silent", FailureReason.READ_TIMEOUT, "did not answer within 1.6 s"),
    broken("/silent-halfway", FailureReason.READ_TIMEOUT, "sent nothing more for 1.6 s"),
    # Too much
    ours("/big-body", FailureReason.TOO_LARGE, "is larger than 1 MiB"),
    ours("/gzip-bomb", FailureReason.TOO_LARGE, "is larger than 1 MiB"),
    broken("/huge-header", MALFORMED, "sent headers longer than 32768 bytes"),
    Case("/header-of-30-kb", Outcome.CHANGED),
    # Broken off
    broken("/nothing", FailureReason.CONNECTION_RESET, "closed the connection without an answer"),
    broken("/reset", FailureReason.CONNECTION_RESET, "broke the connection off"),
    broken("/reset-in-headers", FailureReason.CONNECTION_RESET, "broke the connection off"),
    broken("/reset-in-body", FailureReason.TRUNCATED, "ended before the body was complete"),
    broken("/truncated", FailureReason.TRUNCATED, "ended before the body was complete"),
    broken("/length-too-long", FailureReason.TRUNCATED, "ended before the body was complete"),
    Case("/length-too-short", Outcome.CHANGED),
    Case("/length-negative", Outcome.CHANGED),
    Case("/length-no-number", Outcome.CHANGED),
    broken("/lengths-that-differ", MALFORMED, "did not answer in HTTP"),
    broken("/chunk-cut-off", FailureReason.TRUNCATED, "ended before the body was complete"),
    broken("/chunk-malformed", MALFORMED, ""),
    broken("/gzip-that-is-none", MALFORMED, "cannot be decompressed"),
    # Not HTTP, or hardly
    broken("/http-0.9", MALFORMED, "did not answer in HTTP"),
    broken("/html-0.9", MALFORMED, "did not answer in HTTP"),
    broken("/noise", MALFORMED, "did not answer in HTTP"),
    broken("/ssh", MALFORMED, "did not answer in HTTP"),
    Case("/http-9.9", Outcome.CHANGED),
    broken("/illegal-header", MALFORMED, "did not answer in HTTP"),
    broken("/illegal-header-value", MALFORMED, "did not answer in HTTP"),
    Case("/header-not-utf-8", Outcome.CHANGED),
    Case("/type-not-utf-8", Outcome.CHANGED),
    wall("/status-999", 999),
    broken("/status-words", MALFORMED, "did not answer in HTTP"),
    broken("/status-negative", MALFORMED, "did not answer in HTTP"),
    broken(
        "/status-103", FailureReason.CONNECTION_RESET, "closed the connection without an answer"
    ),
    # HTTP, but
    Case("/not-modified-unasked", Outcome.NOT_MODIFIED, status=304),
    answered("/not-modified-unasked", 304, memory=UNHASHED),
    answered("/partial-unasked", 206),
    answered("/no-content", 204),
    answered("/reset-content", 205),
    Case("/good-and-closed", Outcome.CHANGED),
    Case("/against-conditions", Outcome.CHANGED),
    Case("/afraid-of-conditions", Outcome.CHANGED),
    Case("/changed-then-gone", Outcome.UNCONFIRMED, None, "404"),
    Case("/changed-then-inside", Outcome.UNCONFIRMED, INSIDE, "10.0.0.1 is a private network"),
    Case("/changed-then-silent", Outcome.UNCONFIRMED, FailureReason.READ_TIMEOUT, "did not answer"),
    Case("/changed-then-a-page", Outcome.UNCONFIRMED, None, "an HTML page came"),
    # The bytes differ, and are good.
    Case("/api", Outcome.API, memory=KNOWN._replace(tabular=True)),
    broken("/page", "format", "an HTML page came where CSV was promised"),
    Case("/broken-archive", Outcome.CHANGED),
    Case("/broken-gzip", Outcome.CHANGED),
    broken("/empty", "format", "an empty file came where CSV was promised"),
    Case("/dates-invalid", Outcome.CHANGED),
    Case("/dates-overflowing", Outcome.CHANGED),
    Case("/date-of-the-future", Outcome.CHANGED),
    answered("/secret-in-the-page", 500),
    # Refusals
    *(answered(f"/status-{code}", code) for code in (400, 404, 410, 500, 501, 503)),
    *(wall(f"/status-{code}", code) for code in (401, 403, 407, 429, 451)),
    wall("/later", 503),
    wall("/much-later", 429),
    # Redirects
    broken("/loop", FailureReason.REDIRECT_LOOP, "redirects in a circle"),
    broken("/loop-of-two", FailureReason.REDIRECT_LOOP, "redirects in a circle"),
    broken("/loop-of-two-back", FailureReason.REDIRECT_LOOP, "redirects in a circle"),
    broken("/redirect-nowhere", "format", "an empty file came", status=302),
    ours(
        "/to/file",
        FailureReason.SCHEME_REFUSED,
        "redirects to file:///etc/passwd, which is a file:",
    ),
    ours("/to/ftp", FailureReason.SCHEME_REFUSED, "which is a ftp: URL"),
    ours("/to/data", FailureReason.SCHEME_REFUSED, "which is a data: URL"),
    ours("/to/gopher", FailureReason.SCHEME_REFUSED, "which is a gopher: URL"),
    ours("/to/loopback", INSIDE, "127.0.0.1 is this machine"),
    ours("/to/loopback-6", INSIDE, "::1 is this machine"),
    ours("/to/unspecified", INSIDE, "0.0.0.0 is an unspecified address"),
    ours("/to/unspecified-6", INSIDE, ":: is an unspecified address"),
    ours("/to/mapped-loopback", INSIDE, f"{MAPPED_LOOPBACK} is this machine"),
    ours("/to/mapped-private", INSIDE, f"{MAPPED_PRIVATE} is a private network"),
    ours("/to/private", INSIDE, "10.0.0.1 is a private network"),
    ours("/to/metadata", INSIDE, "169.254.169.254 is a cloud's metadata service"),
    ours("/to/nat64", INSIDE, "64:ff9b::a00:1 is a private network"),
    ours("/to/six-to-four", INSIDE, "2002:7f00:1:: is this machine"),
    ours("/to/cgnat", INSIDE, "100.64.0.1 is a carrier's inside network"),
    ours("/to/decimal", INSIDE, "127.0.0.1 is this machine"),
    ours("/to/octal", INSIDE, "127.0.0.1 is this machine"),
    ours("/to/hexadecimal", INSIDE, "127.0.0.1 is this machine"),
    ours("/to/short", INSIDE, "127.0.0.1 is this machine"),
    ours("/to/encoded", INSIDE, "127.0.0.1 is this machine"),
    ours("/to/localhost", INSIDE, "127.0.0.1 is this machine"),
    ours("/to/userinfo", INSIDE, "127.0.0.1 is this machine"),
    ours("/to/without-scheme", INSIDE, "127.0.0.1 is this machine"),
    ours("/to/backslash", INSIDE, "127.0.0.1 is this machine"),
    ours("/to/three-slashes", INSIDE, "127.0.0.1 is this machine"),
    broken("/to/bad-host", FailureReason.INVALID_URL, "it has a host name that cannot exist"),
    broken("/to/dead-name", FailureReason.NAME_NOT_FOUND, "a host name that does not exist"),
    ours("/to/long", FailureReason.INVALID_REQUEST, "it is longer than 8192 bytes"),
    broken("/to/noise", FailureReason.INVALID_URL, "it is malformed"),
)

INVALID = FailureReason.INVALID_URL
# {port} is the hostile server's, {canary} the canary's.
GIVEN: tuple[Case, ...] = (
    broken("", INVALID, "it is empty"),
    broken(" \t\r\n", INVALID, "it is empty"),
    broken("no url at all", INVALID, "it has a host name that cannot exist"),
    # CKAN shows these with http:// before them.
    Case("//relative.example:{port}/x.csv", Outcome.CHANGED),
    # Its host is taken for a scheme.
    ours("example.org:80/x.csv", FailureReason.SCHEME_REFUSED, "is a example.org: URL"),
    broken("gone.invalid/x.csv", FailureReason.NAME_NOT_FOUND, "a host name that does not exist"),
    broken("http:", INVALID, "it has no host"),
    broken("http://", INVALID, "it has no host"),
    broken("http://user:geheim@/", INVALID, "it has no host"),
    broken("http://[::1", INVALID, "it has a malformed IPv6 address"),
    broken("http://a.example:99999/", INVALID, "it has a port outside of 1 to 65535"),
    broken("http://a.example:eighty/", INVALID, "it has a port that is no number"),
    broken("http://a.example/\x00", INVALID, "it has control characters in it"),
    broken("http://a.example/\ud800", INVALID, "it has characters in it that are none"),
    broken("http://\ud800.example/", INVALID, "it has a host name that cannot exist"),
    broken("http://-\u200d.example/", INVALID, "it has a host name that cannot exist"),
    ours(
        "http://a.example/" + "x" * 8192,
        FailureReason.INVALID_REQUEST,
        "it is longer than 8192 bytes",
    ),
    ours(
        "http://a.example/" + "\u00fc" * 3000,
        FailureReason.INVALID_REQUEST,
        "it is longer than 8192 bytes",
    ),
    broken("http://" + "a" * 64 + ".example/", INVALID, "it has a host name that cannot exist"),
    ours("data:text/csv,a%2Cb", FailureReason.SCHEME_REFUSED, "is a data: URL"),
    ours("javascript:alert(1)", FailureReason.SCHEME_REFUSED, "is a javascript: URL"),
    ours("file:///etc/passwd", FailureReason.SCHEME_REFUSED, "is a file: URL"),
    ours("ftp://eve:geheim@a.example/x", FailureReason.SCHEME_REFUSED, "is a ftp: URL"),
    broken(
        "http://gone.invalid/x", FailureReason.NAME_NOT_FOUND, "a host name that does not exist"
    ),
    broken(
        "http://eve:geheim@gone.invalid/x",
        FailureReason.NAME_NOT_FOUND,
        "a host name that does not exist",
    ),
    broken(
        "http://gone.invalid/?token=geheim",
        FailureReason.NAME_NOT_FOUND,
        "a host name that does not exist",
    ),
    broken("http://failing.invalid/", FailureReason.NAME_LOOKUP_FAILED, "could not be looked up"),
    Case("http://blanks.example:{port}/a file with blanks.csv", Outcome.CHANGED),
    Case(" http://around.example:{port}/x.csv\n", Outcome.CHANGED),
    Case("http://broken.example:{port}/x\r\nX-Evil: 1", Outcome.CHANGED),
    Case("http://back.example:{port}\\x\\y.csv", Outcome.CHANGED),
    Case('http://quotes.example:{port}/"quoted"\'/x.csv?q="\'<>`{}|\\^', Outcome.CHANGED),
    Case("http://percent.example:{port}/100%/%zz?%", Outcome.CHANGED),
    Case("HTTP://LOUD.EXAMPLE:{port}/X.CSV", Outcome.CHANGED),
    Case("http://b\u00fccher.example:{port}/\u00fcbersicht.csv", Outcome.CHANGED),
    Case("http://\u6570\u636e.example:{port}/\u6570\u636e.csv", Outcome.CHANGED),
    Case("http://long.example:{port}/" + "x" * 8100, Outcome.CHANGED),
    Case("http://fragment.example:{port}/x.csv#row=7", Outcome.CHANGED),
    Case("http://user:geheim@welcome.example:{port}/x.csv", Outcome.CHANGED),
    answered("http://user:geheim@asked.example:{port}/status-404", 404),
    answered("http://query.example:{port}/status-404?api_key=geheim", 404),
    *(
        ours(f"http://{host}:{{canary}}/", INSIDE, "inside of a network")
        for host in (
            *("127.0.0.1", "[::1]", "0.0.0.0", "[::]", "2130706433", "0177.0.0.1", "0x7f.1"),
            *("127.1", "10.0.0.1", "192.168.0.1", "172.16.0.1", "100.64.0.1", "169.254.169.254"),
            *("[::ffff:10.0.0.1]", "[::ffff:127.0.0.1]", "[64:ff9b::a00:1]", "[2002:7f00:1::]"),
            *("[fe80::1]", "[fd00:ec2::254]", "224.0.0.1", "255.255.255.255", "%31%32%37.0.0.1"),
            *("\u2460\u2461\u2466.0.0.1", "127\u30020\u30020\u30021", "user:geheim@127.0.0.1"),
            *("localhost", "inside.example", "inside-6.example", "mapped.example"),
        )
    ),
)

ENCRYPTED: tuple[Case, ...] = (
    Case("good", Outcome.CHANGED),
    broken("expired", FailureReason.TLS_EXPIRED, "has a TLS certificate that has expired"),
    broken("self-signed", FailureReason.TLS_SELF_SIGNED, "has a self-signed TLS certificate"),
    broken(
        "wrong-name", FailureReason.TLS_WRONG_NAME, "has a TLS certificate for another host name"
    ),
    ours("untrusted", FailureReason.TLS_UNTRUSTED, "has a TLS certificate that is not trusted"),
    broken("plain", FailureReason.TLS_FAILED, "could not be spoken to over TLS"),
)
