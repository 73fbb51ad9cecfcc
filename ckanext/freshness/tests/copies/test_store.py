"""The behaviour of every kind of store."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta, timezone
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from ckanext.freshness.copies.store import IN_MEMORY, MissingCopy, Store, StoreError
from ckanext.freshness.tests.copies.support import LARGE, SMALL, keep, read, unzip


@pytest.mark.parametrize("body", [b"", SMALL, LARGE[:IN_MEMORY], LARGE[: IN_MEMORY + 1], LARGE])
def test_bytes_and_their_zip_are_kept(store: Store, body: bytes) -> None:
    kept = keep(store, "org/data.xml", body, "data.xml")
    assert (kept.key, kept.zip_key) == ("org/data.xml", "org/data.zip")
    assert (kept.size, kept.sha256) == (len(body), hashlib.sha256(body).hexdigest())
    assert read(store, "org/data.xml") == body
    assert unzip(store, "org/data.zip") == {"data.xml": body}
    assert store.size("org/data.xml") == len(body)
    assert store.size("org/data.zip") == kept.zip_size
    assert sorted(store.sizes()) == ["org/data.xml", "org/data.zip"]
    assert store.used() == kept.size + (kept.zip_size or 0)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0, None, LARGE),
        (1, 4, LARGE[1:4]),
        (10, 400_000, LARGE[10:400_000]),
        (len(LARGE) + 9, None, b""),
    ],
)
def test_parts_are_read(folder: Store, start: int, end: int | None, expected: bytes) -> None:
    keep(folder, "org/a.xml", LARGE, None)
    assert read(folder, "org/a.xml", start, end) == expected


def test_nothing_is_there_that_was_not_kept(store: Store) -> None:
    assert store.size("org/a.xml") is None
    assert list(store.sizes()) == []
    assert store.used() == 0
    with pytest.raises(MissingCopy, match=r"org/a\.xml"):
        store.open("org/a.xml")
    store.remove("org/a.xml")


def test_copies_are_found_by_their_folder(store: Store) -> None:
    for key in ("aid/a.xml", "aid/b.xml", "aida/a.xml", "b/c/d.xml", "top.json"):
        store.write_bytes(key, b"{}")
    assert store.sizes("aid/") == {"aid/a.xml": 2, "aid/b.xml": 2}
    assert list(store.sizes("b/c/")) == ["b/c/d.xml"]
    assert store.sizes("nothing/") == {}
    assert len(store.sizes()) == 5


def test_a_quota_is_kept_to(location: str) -> None:
    store = Store(location, quota=1000)
    keep(store, "org/a.xml", b"a" * 600, None)
    with pytest.raises(StoreError, match=r"org/b\.xml is not kept.*1,200 bytes.*quota is 1,000"):
        keep(store, "org/b.xml", b"b" * 600, None)
    assert list(store.sizes()) == ["org/a.xml"]
    keep(store, "org/a.xml", b"c" * 1000, None)  # in the place of the other
    with pytest.raises(StoreError, match="quota"):
        keep(store, "org/a.xml", b"d" * 1001, None)
    assert read(store, "org/a.xml") == b"c" * 1000
    store.remove("org/a.xml")
    keep(store, "org/b.xml", b"b" * 1000, None)


@pytest.mark.parametrize(
    "key",
    [
        *("", "/etc/passwd", "../a.xml", "a/../b.xml", "a//b", "a/", "./a", ".staging/x"),
        *("a/.b", "A/b.xml", "a\0b", "a\\b", "a b", "é", "a/b*", "con", "a/nul.xml", "a."),
        *("x" * 300, "a/" * 500 + "a"),
    ],
)
def test_what_is_no_key_is_refused(folder: Store, key: str) -> None:
    with pytest.raises(ValueError, match="is not a key"):
        folder.size(key)
    with pytest.raises(ValueError, match="is not a key"), folder.stage() as staged:
        folder.keep(key, staged, zip_member=None)
    with pytest.raises(ValueError, match="is not a key"):
        folder.open(key)


def test_what_was_left_over_is_swept_after_a_day(location: str) -> None:
    """Write a file as a killed process leaves it."""
    store = Store(location)
    with store.stage() as staged:
        staged.write(SMALL)
        store._at.write(staged)
    now = datetime.now(timezone.utc)
    assert list(store.sizes()) == []
    assert store.used() == 0
    assert store.sweep(now + timedelta(hours=23)) == 0
    assert store.sweep(now + timedelta(hours=25)) == 1
    assert store.sweep(now + timedelta(hours=25)) == 0


def test_a_bucket_that_is_gone_is_an_error_and_not_made(s3_bucket: str) -> None:
    import boto3

    store = Store(f"s3://{s3_bucket}/below")
    boto3.client("s3").delete_bucket(Bucket=s3_bucket)
    with pytest.raises(StoreError, match="gone"):
        store.size("org/a.xml")
    with pytest.raises(StoreError):
        keep(store, "org/a.xml", SMALL)
    assert s3_bucket not in str(boto3.client("s3").list_buckets()["Buckets"])


class Losing(MemoryFileSystem):
    """A location that keeps nothing of a file behind its tenth byte."""

    protocol = "losing"
    store: ClassVar[dict[str, object]] = {}

    def info(self, path: str, **kwargs: Any) -> Any:
        found = super().info(path, **kwargs)
        return {**found, "size": min(found["size"], 10)}


def test_what_is_lost_on_its_way_does_not_take_the_place() -> None:
    fsspec.register_implementation("losing", Losing, clobber=True)
    store = Store("losing://x")
    store.write_bytes("a.xml", b"short")
    with pytest.raises(StoreError, match="Of 15 bytes 10 arrived"):
        store.write_bytes("a.xml", b"longer than ten")
    assert read(store, "a.xml") == b"short"
    assert list(store.sizes()) == ["a.xml"]


def test_what_a_backend_raises_is_said_without_credentials() -> None:
    with pytest.raises(StoreError, match=r"ftp://127\.0\.0\.1:9/x") as raised:
        Store("ftp://me:hidden@127.0.0.1:9/x")
    assert "hidden" not in str(raised.value)
    with pytest.raises(StoreError, match="nosuch"):
        Store("nosuch://x")
