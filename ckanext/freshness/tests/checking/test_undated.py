"""Moments of making, and numbers that look like them."""

from __future__ import annotations

import io
from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.checking.undated import undated_hash

FORMS = (
    *("%Y-%m-%d", "%Y/%m/%d %H:%M", "%d.%m.%Y", "%m/%d/%Y %I:%M:%S %p", "%Y%m%d", "%Y%m%d%H%M%S"),
    *("%Y-%m-%dT%H:%M:%S.%fZ", "%a, %d %b %Y %H:%M:%S GMT", "%A, %d %B %Y", "%A, %B %d, %Y"),
    *("%a %b %d %H:%M:%S UTC %Y", "%a %b %d %Y %H:%M:%S GMT+0100", "%c"),
)
moments = st.datetimes(datetime(2000, 1, 1), datetime(2099, 12, 31))


def hash_of(text: str) -> str:
    return undated_hash(io.BytesIO(f"# Exported {text}\nid,name\n".encode()))


@given(one=moments, other=moments, form=st.sampled_from(FORMS))
def test_each_moment_of_making_is_left_out(one: datetime, other: datetime, form: str) -> None:
    assert hash_of(one.strftime(form)) == hash_of(other.strftime(form))


def is_date(number: int) -> bool:
    try:
        return bool(datetime.strptime(str(number), "%Y%m%d"))
    except ValueError:
        return False


@given(
    one=st.integers(20_000_000, 20_999_999).filter(lambda it: not is_date(it)),
    other=st.integers(0, 10**14),
)
def test_a_number_that_is_no_date_is_data(one: int, other: int) -> None:
    assert one == other or hash_of(str(one)) != hash_of(str(other))
