"""Bulk ZIPs: assembled without compressing again, verified, the same bytes for the same copies."""

from __future__ import annotations

import hashlib
import io
import random
import subprocess
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.copies import zip_format
from ckanext.freshness.copies.store import Store, StoreError
from ckanext.freshness.iati.files.archive import Archive, ArchiveMember, MembersLost, build
from ckanext.freshness.iati.files.index import GeneratedFile
from ckanext.freshness.tests.copies.support import LARGE, SMALL, keep, read, unzip

BULK, LEGACY = "iati-data.zip", "iati-data-main.zip"
FILES = {"a/a-1.xml": SMALL, "a/a-2.xml": LARGE, "b/b-1.xml": "<é/>".encode(), "b/empty.xml": b""}


def fill(store: Store, files: dict[str, bytes] = FILES) -> list[ArchiveMember]:
    return [
        ArchiveMember(keep(store, name, body, "own-name.xml").zip_key or "", name)
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


def test_other_programs_read_them(folder: Store, tmp_path: Path) -> None:
    build(folder, archives(), fill(folder))
    told = subprocess.run(
        ["python3", "-m", "zipfile", "-t", str(tmp_path / "copies" / BULK)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Done" in told.stdout
    for info in zipfile.ZipFile(tmp_path / "copies" / BULK).infolist():
        assert info.compress_type == zipfile.ZIP_DEFLATED
        assert info.date_time == (1980, 1, 1, 0, 0, 0)
        assert info.external_attr >> 16 == 0o100644


def test_the_same_copies_give_the_same_bytes(folder: Store) -> None:
    members = fill(folder)
    build(folder, archives(), members)
    before = sums(folder)
    build(
        folder, archives(), [ArchiveMember(one.zip_key, one.name, False) for one in members[::-1]]
    )
    assert sums(folder) == before


def test_members_are_not_compressed_again(folder: Store) -> None:
    """The deflated bytes in the archive are those of the copy's own ZIP."""
    (member,) = fill(folder, {"a/a.xml": LARGE})
    build(folder, archives(), [member])
    own = read(folder, member.zip_key)
    entry, start = zip_format.read_local_header(own)
    assert own[start : start + entry.packed] in read(folder, BULK)


def damage(store: Store, key: str, at: int, data: bytes) -> None:
    body = bytearray(read(store, key))
    body[at : at + len(data)] = data
    store.write_bytes(key, bytes(body))


@pytest.mark.parametrize(
    ("case", "changed"),
    [
        *(("lost", True), ("lost", False), ("shorter", False), ("longer", False), ("empty", False)),
        *(("other header", False), ("other directory", False), ("other bytes", True)),
    ],
)
def test_a_copy_that_is_lost_or_damaged_is_named_and_nothing_replaced(
    folder: Store, case: str, changed: bool
) -> None:
    members = fill(folder)
    build(folder, archives(), members)
    before = sums(folder)
    one = members[1]
    size = folder.size(one.zip_key) or 0
    if case == "lost":
        folder.remove(one.zip_key)
    elif case == "shorter":
        folder.write_bytes(one.zip_key, read(folder, one.zip_key)[:-1])
    elif case == "longer":
        folder.write_bytes(one.zip_key, read(folder, one.zip_key) + b"x")
    elif case == "empty":
        folder.write_bytes(one.zip_key, b"")
    elif case == "other header":
        damage(folder, one.zip_key, 8, b"\0")  # the method: stored
    elif case == "other directory":
        damage(folder, one.zip_key, size - 30, b"\xff")
    else:
        damage(folder, one.zip_key, size // 2, b"\0\xff\0\xff\0\xff")
    again = [ArchiveMember(each.zip_key, each.name, changed and each == one) for each in members]
    with pytest.raises(MembersLost, match=r"left as they were.*a/a-2\.zip") as raised:
        build(folder, archives(), again)
    assert [each.name for each in raised.value.members] == [one.name]
    assert sums(folder) == before


def test_all_that_are_lost_are_named(folder: Store) -> None:
    members = [ArchiveMember(f"a/{number}.zip", f"a/{number}.xml") for number in range(7)]
    with pytest.raises(MembersLost, match=r"7 of the copies.*and 2 more") as raised:
        build(folder, archives(), members)
    assert len(raised.value.members) == 7
    assert list(folder.keys()) == []


def test_an_archive_that_finds_no_room_leaves_the_one_before(folder: Store) -> None:
    members = fill(folder)
    build(folder, archives(), members)
    before = sums(folder)
    folder.quota = folder.used() + 100
    noise = random.Random(1).randbytes(100_000)
    with pytest.raises(StoreError, match="quota"):
        build(folder, [Archive(BULK, "x", [GeneratedFile("noise", [noise])])], members)
    assert sums(folder) == before


def test_one_name_twice_is_a_mistake_of_the_caller(folder: Store) -> None:
    members = fill(folder, {"a/a.xml": SMALL})
    with pytest.raises(ValueError, match=r"x/a/a\.xml would be twice"):
        build(folder, [Archive(BULK, "x")], members * 2)
    assert folder.size(BULK) is None


def test_an_archive_of_nothing_is_one(folder: Store) -> None:
    build(folder, [Archive(BULK, "x")], [])
    assert unzip(folder, BULK) == {}


def test_more_members_than_a_plain_zip_may_have(folder: Store) -> None:
    def many() -> Iterable[GeneratedFile]:
        return (GeneratedFile(f"x/{number}.json", [b"{}"]) for number in range(65_536))

    build(folder, [Archive(BULK, "x", many())], [])
    # zipfile ignores the number of members; other programs read it from the 64-bit record.
    assert read(folder, BULK)[-98:-94] == b"PK\6\6"
    with zipfile.ZipFile(io.BytesIO(read(folder, BULK))) as archive:
        assert len(archive.infolist()) == 65_536
        assert archive.read("x/65535.json") == b"{}"


def test_places_and_sizes_beyond_four_gigabytes(tmp_path: Path) -> None:
    """The zeros are a hole in a sparse file, so they are neither written nor read."""
    packed: list[bytes] = []
    crc, size = zip_format.deflate([LARGE], packed.append)
    body = b"".join(packed)
    offset = 5 << 30
    assert size == len(LARGE)
    entry = zip_format.ZipEntry("a/ä.xml", crc, len(body), size, offset)
    path = tmp_path / "wide.zip"
    with path.open("wb") as file:
        file.seek(offset)
        file.write(zip_format.local_header(entry) + body)
        start = file.tell()
        file.write(zip_format.central_header(entry))
        file.write(zip_format.end(1, start, file.tell() - start))
    with zipfile.ZipFile(path) as archive:
        (info,) = archive.infolist()
        assert (info.filename, info.header_offset) == ("a/ä.xml", offset)
        assert archive.read(info) == LARGE


@given(
    st.integers(0, 1 << 40),
    st.integers(0, 1 << 40),
    st.integers(0, 1 << 32),
    st.text("aé/", max_size=9),
)
def test_a_header_is_read_as_it_was_written(size: int, packed: int, crc: int, name: str) -> None:
    entry = zip_format.ZipEntry(name, min(crc, 0xFFFFFFFF), packed, size)
    head = zip_format.local_header(entry)
    assert zip_format.read_local_header(head + b"rest") == (entry, len(head))
    with pytest.raises(zip_format.BadZip):
        zip_format.read_local_header(head[:-1])


@given(st.integers(0, 1 << 40), st.integers(0, 1 << 40), st.integers(0, 1 << 40))
def test_a_directory_says_sizes_and_places_as_zipfile_reads_them(
    size: int, packed: int, offset: int
) -> None:
    central = zip_format.central_header(zip_format.ZipEntry("a", 1, packed, size, offset))
    info = zipfile.ZipInfo("a")
    fixed = zipfile.struct.unpack(zipfile.structCentralDir, central[:46])  # type: ignore[attr-defined]
    info.file_size, info.compress_size = fixed[11], fixed[10]
    info.header_offset, info.extra = fixed[18], central[47:]
    if info.extra:
        try:
            info._decodeExtra(zlib.crc32(b"a"))  # type: ignore[attr-defined]
        except TypeError:
            info._decodeExtra()  # type: ignore[attr-defined]
    assert (info.file_size, info.compress_size, info.header_offset) == (size, packed, offset)
