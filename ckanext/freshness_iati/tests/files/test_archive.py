"""Bulk ZIPs: assembled without compressing again, verified, the same bytes for the same copies."""

from __future__ import annotations

import hashlib
import random

import pytest

from ckanext.freshness.copies.store import Store, StoreError
from ckanext.freshness.tests.copies.support import LARGE, SMALL, keep, read, unzip
from ckanext.freshness_iati.downloads import (
    Archive,
    ArchiveMember,
    GeneratedFile,
    MembersLost,
    build,
)

BULK, LEGACY = "iati-data.zip", "iati-data-main.zip"
FILES = {"a/a-1.xml": SMALL, "a/a-2.xml": LARGE, "b/b-1.xml": "<é/>".encode(), "b/empty.xml": b""}


def fill(store: Store, files: dict[str, bytes] = FILES) -> list[ArchiveMember]:
    return [
        ArchiveMember(name, name, keep(store, name, body, "own-name.xml").sha256)
        for name, body in files.items()
    ]


def archives() -> list[Archive]:
    return [
        Archive(
            BULK, "iati-data/datasets", [GeneratedFile("iati-data/datasets-full.json", [b"{}"])]
        ),
        Archive(
            LEGACY, "iati-data-main/data", [GeneratedFile("iati-data-main/metadata.json", [LARGE])]
        ),
    ]


def sums(store: Store) -> dict[str, str]:
    return {key: hashlib.sha256(read(store, key)).hexdigest() for key in (BULK, LEGACY)}


def test_both_layouts_hold_all_members_and_what_is_given(store: Store) -> None:
    bulk, legacy = build(store, archives(), fill(store))
    assert unzip(store, BULK) == {
        **{f"iati-data/datasets/{name}": body for name, body in FILES.items()},
        "iati-data/datasets-full.json": b"{}",
    }
    assert unzip(store, LEGACY) == {
        **{f"iati-data-main/data/{name}": body for name, body in FILES.items()},
        "iati-data-main/metadata.json": LARGE,
    }
    assert (bulk.key, bulk.size) == (BULK, store.size(BULK))
    assert legacy.sha256 == sums(store)[LEGACY]


def test_the_same_copies_give_the_same_bytes(folder: Store) -> None:
    members = fill(folder)
    build(folder, archives(), members)
    before = sums(folder)
    build(folder, archives(), members[::-1])
    assert sums(folder) == before


@pytest.mark.parametrize("case", ["lost", "shorter", "longer", "empty", "other bytes"])
def test_a_copy_that_is_lost_or_damaged_is_named_and_nothing_replaced(
    folder: Store, case: str
) -> None:
    members = fill(folder)
    build(folder, archives(), members)
    before = sums(folder)
    one = members[1]
    body = read(folder, one.key)
    damaged = {
        "shorter": body[:-1],
        "longer": body + b"x",
        "empty": b"",
        "other bytes": b"#" + body[1:],
    }
    folder.remove(one.key)
    if case in damaged:
        folder.write_bytes(one.key, damaged[case])
    with pytest.raises(MembersLost) as raised:
        build(folder, archives(), members)
    assert [each.name for each in raised.value.members] == [one.name]
    assert sums(folder) == before


def test_an_archive_that_finds_no_room_leaves_the_one_before(folder: Store) -> None:
    members = fill(folder)
    build(folder, archives(), members)
    before = sums(folder)
    folder.quota = folder.used() + 100
    noise = random.Random(1).randbytes(100_000)
    with pytest.raises(StoreError, match="quota"):
        build(folder, [Archive(BULK, "x", [GeneratedFile("noise", [noise])])], members)
    assert sums(folder) == before
