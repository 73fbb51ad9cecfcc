"""Parsing, normalising and displaying URLs."""

from __future__ import annotations

import time
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from yarl import URL

from ckanext.freshness.web.errors import FailureReason, FetchError
from ckanext.freshness.web.urls import display_link, display_url, join_url, parse_link, parse_url

NORMAL = [
    ("http://example.org/", "http://example.org/"),
    ("HTTP://EXAMPLE.org/A", "http://example.org/A"),
    ("  http://example.org/\n", "http://example.org/"),
    ("http://example.org?a=b", "http://example.org/?a=b"),
    ("http://example.org#part", "http://example.org/"),
    ("http://example.org:80/", "http://example.org/"),
    ("https://example.org:80/", "https://example.org:80/"),
    ("http://example.org:08080/", "http://example.org:8080/"),
    ("http://example.org:65535/", "http://example.org:65535/"),
    # Dots are resolved
    ("http://h.org/../a/../b/./c//d.e?f=/../g", "http://h.org/b/c//d.e?f=/../g"),
    # Bytes stay as they are, where they may
    ("http://h.org/%7Euser/%e4%C3", "http://h.org/%7Euser/%e4%C3"),
    ("http://h.org/?q=a+b%20c&r=/?x", "http://h.org/?q=a+b%20c&r=/?x"),
    # and are escaped, where they may not
    ('http://h.org/"a"<b>', "http://h.org/%22a%22%3Cb%3E"),
    ("http://h.org/a|b[c]{d}^`\\", "http://h.org/a%7Cb%5Bc%5D%7Bd%7D%5E%60%5C"),
    ("http://h.org/ä?ö=ü", "http://h.org/%C3%A4?%C3%B6=%C3%BC"),
    ("http://h.org/\udce4", "http://h.org/%E4"),  # Latin-1 bytes of a Location header
    # Hosts
    ("http://münchen.example/", "http://xn--mnchen-3ya.example/"),
    ("http://m%C3%BCnchen.example/", "http://xn--mnchen-3ya.example/"),
    ("http://例え。テスト/", "http://xn--r8jz45g.xn--zckzah/"),
    ("http://i❤.example/", "http://xn--i-7iq.example/"),
    ("http://a_b.a--b.zürich.example/", "http://a_b.a--b.xn--zrich-kva.example/"),
    ("http://[2001:DB8:0:0::1]/", "http://[2001:db8::1]/"),
    # IPv4, as inet_aton reads it
    ("http://2130706433/", "http://127.0.0.1/"),
    ("http://0177.0.0.1/", "http://127.0.0.1/"),
    ("http://0x7f000001/", "http://127.0.0.1/"),
    ("http://127.1/", "http://127.0.0.1/"),
    ("http://0/", "http://0.0.0.0/"),
    ("http://①②⑦.0.0.1/", "http://127.0.0.1/"),
]


@pytest.mark.parametrize(("given_url", "normal"), NORMAL)
def test_normal_form(given_url: str, normal: str) -> None:
    assert parse_url(given_url).url == normal


@pytest.mark.parametrize(
    ("link", "url"),
    [
        ("www.example.org/x.csv", "http://www.example.org/x.csv"),
        ("//example.org/x", "http://example.org/x"),
        ("https:/example.org/x", "https://example.org/x"),
        ("https:example.org/x", "https://example.org/x"),
        ("http:\\\\example.org/x", "http://example.org/x"),
        ("HTTP:////example.org/x", "http://example.org/x"),
        ("http://example.org\\a\\x.csv?q=\\", "http://example.org/a/x.csv?q=%5c"),
        ("http://example.org/a\r\n  b/\tx.csv", "http://example.org/a%20%20b/x.csv"),
        ("http://good.example\\@evil.example/", "http://good.example/@evil.example/"),
    ],
)
def test_a_link_is_read_as_ckan_and_browsers_read_it(link: str, url: str) -> None:
    assert parse_link(link).url.lower() == url
    assert parse_link(display_link(link)) == parse_link(link)


def test_the_name_of_an_upload_stays_as_it_is() -> None:
    assert display_link("data.csv") == "data.csv"


REFUSED = [
    ("", FailureReason.INVALID_URL, "is empty"),
    ("example.org/x", FailureReason.INVALID_URL, "does not begin"),
    ("//example.org/x", FailureReason.INVALID_URL, "does not begin"),
    ("see our website", FailureReason.INVALID_URL, "does not begin"),
    *(
        (url, FailureReason.SCHEME_REFUSED, f"is a {url.partition(':')[0]}: URL")
        for url in (
            *("ftp://example.org/x", "s3://bucket/x", "magnet:?xt=urn:x", "mailto:me@h.org"),
            *("file:///etc/passwd", "data:text/csv,a", "javascript:alert(1)"),
        )
    ),
    ("http:example.org", FailureReason.INVALID_URL, "has no //"),
    ("http://", FailureReason.INVALID_URL, "has no host"),
    ("http://exa mple.org/", FailureReason.INVALID_URL, "host name that cannot exist"),
    ("http://a..b/", FailureReason.INVALID_URL, "host name that cannot exist"),
    ("http://" + "a" * 64 + ".org/", FailureReason.INVALID_URL, "host name that cannot exist"),
    ("http://exa%mple.org/", FailureReason.INVALID_URL, "host name that cannot exist"),
    ("http://a%2Fb.org/", FailureReason.INVALID_URL, "host name that cannot exist"),
    ("http://\u200b/", FailureReason.INVALID_URL, "host name that cannot exist"),
    ("http://good.example\\@evil.example/", FailureReason.INVALID_URL, "backslash"),
    ("http://h.org:http/", FailureReason.INVALID_URL, "port that is no number"),
    ("http://h.org:٨٠/", FailureReason.INVALID_URL, "port that is no number"),
    ("http://h.org:0/", FailureReason.INVALID_URL, "port outside"),
    ("http://h.org:65536/", FailureReason.INVALID_URL, "port outside"),
    ("http://256.0.0.1/", FailureReason.INVALID_URL, "malformed IPv4"),
    ("http://example.1/", FailureReason.INVALID_URL, "malformed IPv4"),
    ("http://[::1/", FailureReason.INVALID_URL, "malformed IPv6"),
    ("http://[fe80::1%25eth0]/", FailureReason.INVALID_URL, "malformed IPv6"),
    ("http://[::1]x/", FailureReason.INVALID_URL, "malformed IPv6"),
    ("http://h.org/a\nb", FailureReason.INVALID_URL, "control characters"),
    ("http://h.org/a\r\nX-Evil: 1", FailureReason.INVALID_URL, "control characters"),
    ("http://h.org/\ud800", FailureReason.INVALID_URL, "characters in it that are none"),
    ("http://h.org/" + "x" * 9000, FailureReason.INVALID_REQUEST, "longer than 8192 bytes"),
    ("http://h.org/" + "ä" * 3000, FailureReason.INVALID_REQUEST, "longer than 8192 bytes"),
]


@pytest.mark.parametrize(("given_url", "reason", "words"), REFUSED)
def test_refused(given_url: str, reason: FailureReason, words: str) -> None:
    with pytest.raises(FetchError) as caught:
        parse_url(given_url)
    assert caught.value.reason is reason
    assert words in caught.value.words
    assert caught.value.attempts == 0


def test_a_url_of_8_kb_is_visited() -> None:
    url = "http://h.org/" + "x" * (8192 - 13)
    assert parse_url(url).url == url


AUTHORIZATIONS = [
    ("http://h.org/", None),
    ("http://user:password@h.org/", "Basic dXNlcjpwYXNzd29yZA=="),
    ("http://user@h.org/", "Basic dXNlcjo="),
    ("http://u%40x:p%3Aq@h.org/", "Basic dUB4OnA6cQ=="),
    ("http://a:b@c:d@h.org/", "Basic YTpiQGM6ZA=="),
]


@pytest.mark.parametrize(("url", "authorization"), AUTHORIZATIONS)
def test_user_and_password_become_a_header(url: str, authorization: str | None) -> None:
    target = parse_url(url)
    assert target.url == "http://h.org/"
    assert target.authorization == authorization
    assert authorization is None or authorization not in repr(target)


JOINS = [
    ("x", "http://h.org/dir/x"),
    ("../x", "http://h.org/x"),
    ("?q", "http://h.org/dir/file?q"),
    ("//other.org/x", "http://other.org/x"),
    (" /a b ", "http://h.org/a%20b"),
    ("/\udce4", "http://h.org/%E4"),
    ("http://user:secret@h.org/x", "http://h.org/x"),
    ("", "http://h.org/dir/file?old"),
    ("#part", "http://h.org/dir/file?old"),
]


@pytest.mark.parametrize(("location", "url"), JOINS)
def test_locations(location: str, url: str) -> None:
    assert join_url(parse_url("http://h.org/dir/file?old"), location).url == url


def test_a_location_cannot_give_credentials_but_the_origin_keeps_its_own() -> None:
    base = parse_url("http://user:password@h.org/")
    assert join_url(base, "/x").authorization == base.authorization
    assert join_url(base, "http://eve:evil@h.org/x").authorization == base.authorization
    assert join_url(base, "http://eve:evil@other.org/x").authorization is None
    assert join_url(base, "https://h.org/x").authorization is None
    assert join_url(base, "http://h.org:8080/x").authorization is None


SHOWN = [
    ("http://user:secret@h.org/", "http://***@h.org/"),
    ("http://a:sec@ret@h.org/x@y", "http://***@h.org/x@y"),
    ("http://user:se cret@h.org/", "http://***@h.org/"),
    ("http:user:secret@h.org/", "http:***@h.org/"),
    ("user:secret@h.org/", "user:***@h.org/"),
    ("//user:secret@h.org/", "//***@h.org/"),
    ("http://user:se/cr?e#t@h.org/x", "http://***@h.org/x"),
    ("http://h.org:8080/@x", "http://h.org:8080/@x"),
    ("http://h.org/?serviceKey=secret", "http://h.org/?serviceKey=***"),
    ("http://h.org/?subscription-key=secret", "http://h.org/?subscription-key=***"),
    ("http://h.org/a;jsessionid=secret?b", "http://h.org/a;jsessionid=***"),
    ("http://h.org/?pw=secret&api.key=secret", "http://h.org/?pw=***&api.key=***"),
    ("http://h.org/?u=i%3Ftoken%3Dsecret%26a%3D1&b=2", "http://h.org/?u=i%3Ftoken%3D***&b=2"),
    ("http://h.org/?author=a&authority=b", "http://h.org/?author=a&authority=b"),
    ("http://[2001:db8::1]/a@b", "http://[2001:db8::1]/a@b"),
    ("http://h.org/?sid=secret&pass=secret", "http://h.org/?sid=***&pass=***"),
    ("http://h.org/?a=1&token=secret&b=2", "http://h.org/?a=1&token=***&b=2"),
    ("http://h.org/?X-Amz-Signature=secret", "http://h.org/?X-Amz-Signature=***"),
    ("http://h.org/#access_token=secret", "http://h.org/#access_token=***"),
    ("http://h.org/?to=http://i.org/?key=secret", "http://h.org/?to=http://i.org/?key=***"),
    ("http://h.org/?keys=1&sig=secret&monkey=2", "http://h.org/?keys=1&sig=***&monkey=2"),
    ("http://h.org/a\nb", "http://h.org/a%0Ab"),
    ("http://h.org/\u202e", "http://h.org/%E2%80%AE"),
    ("http://h.org/\ud800", "http://h.org/%ED%A0%80"),
    ("", "(no URL)"),
]


@pytest.mark.parametrize(("url", "shown"), SHOWN)
def test_what_is_shown(url: str, shown: str) -> None:
    assert display_url(url) == shown


URLISH = st.one_of(
    st.text(),
    st.text(alphabet="htps:/@?#[]%.0123456789abcfx\\ \t\n;=&-_ä。①", max_size=60).map(
        "http://".__add__
    ),
    st.builds(
        "http://{}:{}@{}:{}/{}".format, st.text(), st.text(), st.text(), st.integers(), st.text()
    ),
)


@given(URLISH)
@example("http://①②⑦.0.0.1/")
@example("http://a.xn--/")
@example("http://[::ffff:1.2.3.4]/")
def test_parsing_never_fails_otherwise_and_is_idempotent(text: str) -> None:
    try:
        target = parse_url(text)
    except FetchError as error:
        assert error.reason in (FailureReason.INVALID_URL, FailureReason.SCHEME_REFUSED)
        return
    again = parse_url(target.url)
    assert again.url == target.url
    assert again.origin == target.origin
    assert target.url.isascii()
    # Whoever else reads it sees the same host: there is one reading.
    assert urlsplit(target.url).hostname == target.host
    wire = URL(target.url, encoded=True)
    assert (wire.raw_host, wire.port, wire.scheme) == (target.host, target.port, target.scheme)
    assert wire.user is None


@given(st.text())
def test_showing_never_fails(text: str) -> None:
    assert display_url(text).isprintable()


@given(st.text(alphabet="abc:/@?#&=", min_size=1))
def test_a_password_is_never_shown(noise: str) -> None:
    assert "geheim" not in display_url(f"http://user:geheim@{noise}")


HOSTILE = [
    "http://h.org/" + "%20a" * 5000,
    "http://" + "a-" * 20000,
    "/" * 40000,
    "?" + "token" * 8000,
    "http://" + "@" * 40000,
    "http://h.org/?" + "auth" * 1900 + " ",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_cost_no_time(text: str) -> None:
    begin = time.process_time()
    try:
        parse_url(text)
    except FetchError:
        pass
    else:
        display_url(text)
    assert time.process_time() - begin < 0.5


@pytest.mark.parametrize(
    ("url", "authority", "path"),
    [
        ("http://data.example/a/b?c=/d", "data.example", "/a/b?c=/d"),
        ("https://Data.example.:8443?x", "data.example:8443", "/?x"),
        ("http://data.example.", "data.example", "/"),
        ("http://[::1]:8080/", "[::1]:8080", "/"),
        ("http://user:word@127.1:80/", "127.0.0.1", "/"),
    ],
)
def test_what_a_request_says_of_its_target(url: str, authority: str, path: str) -> None:
    target = parse_url(url)
    assert (target.authority, target.path) == (authority, path)
