"""Hashing of bodies as they arrive: memory, temporary files, and files that break a parser."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import os
import resource
import signal
import tracemalloc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from ckanext.freshness.checking.content import (
    MIB,
    ContentLimits,
    Detector,
)
from ckanext.freshness.checking.formats import FIRST_BYTES
from ckanext.freshness.checking.hasher import DETECTORS, ContentSandbox, HashedBody, Hasher
from ckanext.freshness.copies import store
from ckanext.freshness.copies.store import IN_MEMORY
from ckanext.freshness.room import Room
from ckanext.freshness.sandbox.processes import ProcessLimits
from ckanext.freshness.tests.checking.hostile import Hostile
from ckanext.freshness.tests.checking.workbooks import archive, workbook
from ckanext.freshness.web.errors import FailureReason, Fault

BOOK = workbook({"Data": {"A1": "name", "B1": 1}})
LARGE = archive({"a.bin": os.urandom(IN_MEMORY)})
"""A container that is too large to be kept in memory."""
PROCESS = ProcessLimits(seconds=20)


def children() -> set[str]:
    """Return the child processes, if the system has this information."""
    return {
        it for path in Path("/proc/self/task").glob("*/children") for it in path.read_text().split()
    }


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    before = children()
    yield
    assert children() <= before


def in_pieces(data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


HOSTILE: tuple[type[Detector], ...] = (Hostile, *DETECTORS)


async def one(sandbox: ContentSandbox, data: bytes) -> HashedBody:
    """Hash a body in one chunk."""
    with closing(Hasher(sandbox)) as hasher:
        hasher.write(data)
        return await hasher.result()


def hashed(
    *bodies: Iterable[bytes],
    limits: ContentLimits | None = None,
    process: ProcessLimits = PROCESS,
    detectors: Sequence[type[Detector]] = HOSTILE,
) -> list[HashedBody]:
    """Hash bodies at the same time, with one process that opens them."""

    async def take(sandbox: ContentSandbox, body: Iterable[bytes]) -> HashedBody:
        hasher = Hasher(sandbox)
        for chunk in body:
            hasher.write(chunk)
        return await hasher.result()

    async def run() -> list[HashedBody]:
        with ContentSandbox(detectors, limits, process, workers=1) as sandbox:
            return await asyncio.gather(*(take(sandbox, body) for body in bodies))

    return asyncio.run(run())


def detector_of(body: HashedBody) -> str:
    return body.digest.content.partition(":")[0]


def of_bytes(data: bytes, name: str = "unopened") -> str:
    return f"{name}:{hashlib.sha256(data).hexdigest()}"


@pytest.mark.parametrize(
    ("data", "detector"),
    [
        (b"", "sha256"),
        (b"PK", "sha256"),
        (b"id,name\n" * 600, "sha256"),
        (BOOK, "members"),
        (archive({}), "members"),
        (archive({"a.csv": os.urandom(3000)}), "members"),
    ],
)
def test_the_size_of_pieces_does_not_matter(data: bytes, detector: str) -> None:
    sizes = (1, 100, 511, 512, 513)
    whole, *cut = hashed([data], *(in_pieces(data, size) for size in sizes))
    assert cut == [whole] * len(sizes)
    assert detector_of(whole) == detector
    assert whole.size == len(data)
    assert whole.first == data[:FIRST_BYTES]
    assert f"sha256:{whole.digest.raw}" == of_bytes(data, "sha256")
    if detector == "sha256":
        assert whole.digest.content == of_bytes(data, "sha256")


def test_a_body_that_broke_off_is_forgotten() -> None:
    async def run() -> HashedBody:
        with (
            ContentSandbox(HOSTILE, None, PROCESS, workers=1) as sandbox,
            closing(Hasher(sandbox)) as hasher,
        ):
            hasher.write(b"<html>" + bytes(1000))
            hasher.restart()
            hasher.write(BOOK[:600])
            hasher.restart()
            hasher.write(BOOK)
            return await hasher.result()

    assert asyncio.run(run()) == hashed([BOOK])[0]


def open_descriptors() -> int:
    gc.collect()
    return len(os.listdir("/dev/fd"))


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    hashed([b"TEST own"])
    before = open_descriptors()

    async def run() -> None:
        with ContentSandbox(HOSTILE, None, PROCESS, workers=1) as sandbox:
            await one(sandbox, b"TEST own")
            started = open_descriptors()
            left, done = Hasher(sandbox), Hasher(sandbox)
            for hasher in (left, done):
                hasher.write(LARGE)
            assert open_descriptors() == started + 2
            assert list(tmp_path.iterdir()) == []
            left.close()
            assert detector_of(await done.result()) == "members"
            done.close()
            assert open_descriptors() == started

    asyncio.run(run())
    assert open_descriptors() == before
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_room_on_the_disk_is_given_up() -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(Fault) as raised:
            hashed(in_pieces(LARGE + bytes(200_000), 10_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert raised.value.reason is FailureReason.NO_ROOM


def test_all_temporary_files_share_the_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "FILES", Room(3 * IN_MEMORY))
    with ContentSandbox() as sandbox, closing(Hasher(sandbox)) as one:
        one.write(LARGE + bytes(IN_MEMORY))
        with closing(Hasher(sandbox)) as other, pytest.raises(Fault) as raised:
            other.write(LARGE + bytes(IN_MEMORY))
        assert raised.value.reason is FailureReason.NO_ROOM
        one.close()
        with closing(Hasher(sandbox)) as other:
            other.write(LARGE + bytes(IN_MEMORY))


def test_what_waits_to_be_stored_has_room_from_its_first_byte(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store, "FILES", Room(2 * len(BOOK) - 1))

    async def run() -> None:
        with (
            ContentSandbox() as sandbox,
            closing(Hasher(sandbox, keeps_copy=True)) as one,
            closing(Hasher(sandbox, keeps_copy=True)) as other,
        ):
            for hasher in (one, other):
                hasher.write(BOOK)
                assert detector_of(await hasher.result()) == "members"
            staged = one.take_staged()
            assert staged is not None
            assert other.take_staged() is None
            staged.close()
            after = other.take_staged()
            assert after is not None
            after.close()

    asyncio.run(run())


def test_a_file_that_is_too_large_is_copied_and_not_opened() -> None:
    async def run() -> HashedBody:
        limits = ContentLimits(max_bytes=len(LARGE) - 1)
        with (
            ContentSandbox(HOSTILE, limits, PROCESS) as sandbox,
            closing(Hasher(sandbox, keeps_copy=True)) as hasher,
        ):
            hasher.write(LARGE)
            found = await hasher.result()
            staged = hasher.take_staged()
            assert staged is not None
            with staged:
                assert b"".join(staged.chunks()) == LARGE
                assert staged.sha256 == found.digest.raw
            return found

    assert asyncio.run(run()).digest.content == of_bytes(LARGE)


@pytest.mark.parametrize(("first", "name"), [(b"id,name\n", "sha256"), (b"PK\x03\x04", "unopened")])
def test_a_large_body_takes_no_memory(first: bytes, name: str) -> None:
    chunk = bytes(256 * 1024)

    def body() -> Iterator[bytes]:
        yield first
        for _ in range(800):
            yield chunk

    tracemalloc.start()
    try:
        (found,) = hashed(body(), limits=ContentLimits(max_bytes=8 * MIB))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.size == 200 * MIB + len(first)
    assert detector_of(found) == name
    assert peak < MIB


@pytest.mark.parametrize(
    ("what", "process"),
    [
        (b"killed", PROCESS),
        (b"mistake", PROCESS),
        (b"memory", PROCESS),
        (b"asleep", ProcessLimits(seconds=4.0)),
        (b"busy", ProcessLimits(cpu_seconds=1)),
    ],
)
def test_a_file_that_ends_its_process_takes_no_other_with_it(
    what: bytes, process: ProcessLimits
) -> None:
    before, lost, after = hashed([BOOK], [b"TEST " + what], [BOOK], process=process)
    assert lost.digest.content == of_bytes(b"TEST " + what)
    assert detector_of(before) == detector_of(after) == "members"
