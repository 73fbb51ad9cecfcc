"""Addresses as people write them, and texts on one line."""

from __future__ import annotations

import email.utils
from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.mails.recipients import MOST_ADDRESSES, addresses, line


@pytest.mark.parametrize(
    ("field", "found"),
    [
        (None, ()),
        ("a@b", ("a@b",)),
        ("a@b;c@d", ("a@b", "c@d")),
        (" A.B+c@Example.ORG ", ("a.b+c@example.org",)),
        ("a@b, A@B", ("a@b",)),
        (
            "Ann Bee <ann@example.org>, mailto:bob@example.org",
            ("ann@example.org", "bob@example.org"),
        ),
        ("Ann ann@example.org", ("ann@example.org",)),
        ("a@bücher.example", ("a@xn--bcher-kva.example",)),
        ("ä@example.org", ()),
        ("@b, a@, a, a@-b, a@b-, a@b..c", ()),
        ("a@example.org\r\nBcc: victim@example.org", ()),
        ("a@example.org\nBcc: victim@example.org, c@d", ("c@d",)),
        ("a@example.org\x00, b@c", ("b@c",)),
        ("x" * 10_000 + "@example.org", ()),
        ("a@" + "b" * 300, ()),
        ("a@b\u2028c@d", ("a@b", "c@d")),
    ],
)
def test_addresses(field: str | None, found: tuple[str, ...]) -> None:
    assert addresses(field) == found


def test_a_field_is_no_mailing_list() -> None:
    assert len(addresses(", ".join(f"a{number}@b" for number in range(100)))) == MOST_ADDRESSES


@given(st.text() | st.from_regex(r"[a-z.@<>,;: \n\"]{0,40}"))
def test_what_is_found_makes_one_header_and_one_recipient(field: str) -> None:
    for address in addresses(field):
        message = EmailMessage()
        message["To"] = email.utils.formataddr(("", address))
        assert email.utils.getaddresses([str(message["To"])]) == [("", address)]
        assert addresses(address) == (address,)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (None, ""),
        ("  a \t b\n", "a b"),
        ("Rain\r\nBcc: x@y", "Rain Bcc: x@y"),
        ("a\u2028b\u2029c\u0085d", "a b c d"),
        ("a\u202egnp.exe", "agnp.exe"),
        ("x" * 10_000, "x" * 199 + "…"),
    ],
)
def test_a_line(text: str | None, shown: str) -> None:
    assert line(text) == shown
