"""Helpers of the tests of copies."""

from __future__ import annotations

import io
import zipfile
from contextlib import closing

from ckanext.freshness.copies.store import Store, StoredCopy

SMALL = b"<rows/>"
LARGE = b"".join(b"<row>%d</row>" % number for number in range(20_000))
"""Larger than what is held in memory."""


def keep(store: Store, key: str, body: bytes, member: str | None = "a.xml") -> StoredCopy:
    """Keep a body that arrives in pieces."""
    with store.stage() as staged:
        for start in range(0, len(body), 10_000):
            staged.write(body[start : start + 10_000])
        return store.keep(key, staged, zip_member=member)


def read(store: Store, key: str, start: int = 0, end: int | None = None) -> bytes:
    """Return the bytes of a key."""
    with closing(store.open(key)) as reader:
        reader.seek(start)
        assert reader.tell() == min(start, reader.size)
        return b"".join(reader)[: None if end is None else max(end - start, 0)]


def unzip(store: Store, key: str) -> dict[str, bytes]:
    """Return the members of a ZIP after checking it."""
    with zipfile.ZipFile(io.BytesIO(read(store, key))) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}
