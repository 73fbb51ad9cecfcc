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
from dataclasses import replace
from pathlib import Path

import pytest

from ckanext.freshness.checking.container_sandbox import ContainerSandbox
from ckanext.freshness.checking.content import DETECTORS
from ckanext.freshness.checking.detectors import MIB, ContainerLimits, Detector
from ckanext.freshness.checking.formats import FIRST_BYTES
from ckanext.freshness.checking.hasher import HashedBody, Hasher
from ckanext.freshness.tests.checking.hostile import Hostile
from ckanext.freshness.tests.checking.workbooks import Cells, archive, parts, workbook

BOOK = workbook({"Data": {"A1": "name", "B1": 1}})
LIMITS = ContainerLimits(seconds=20)


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


async def one(sandbox: ContainerSandbox, data: bytes) -> HashedBody:
    """Hash a body in one piece, with the hostile detector before the others."""
    hasher = Hasher(sandbox, detectors=HOSTILE)
    hasher.write(data)
    return await hasher.result()


def hashed(
    *bodies: Iterable[bytes],
    limits: ContainerLimits = LIMITS,
    detectors: Sequence[type[Detector]] = DETECTORS,
) -> list[HashedBody]:
    """Hash bodies at the same time, with one process that opens them."""

    async def take(sandbox: ContainerSandbox, body: Iterable[bytes]) -> HashedBody:
        hasher = Hasher(sandbox, detectors=detectors)
        for piece in body:
            hasher.write(piece)
        return await hasher.result()

    async def run() -> list[HashedBody]:
        with ContainerSandbox(1, limits) as sandbox:
            return await asyncio.gather(*(take(sandbox, body) for body in bodies))

    return asyncio.run(run())


def detector_of(body: HashedBody) -> str:
    return body.hash.partition(":")[0]


def raw(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


@pytest.mark.parametrize(
    ("data", "detector"),
    [
        (b"", "sha256"),
        (b"PK", "sha256"),
        (b"id,name\n" * 600, "sha256"),
        (BOOK, "xlsx"),
        (archive({}), "zip"),
        (archive({"a.csv": os.urandom(3000)}), "zip"),
    ],
)
def test_the_size_of_pieces_does_not_matter(data: bytes, detector: str) -> None:
    sizes = (1, 100, 511, 512, 513)
    whole, *cut = hashed([data], *(in_pieces(data, size) for size in sizes))
    assert cut == [whole] * len(sizes)
    assert detector_of(whole) == detector
    assert whole.size == len(data)
    assert whole.first == data[:FIRST_BYTES]
    assert whole.note is None
    if detector == "sha256":
        assert whole.hash == raw(data)


def test_workbooks_of_the_same_cells_have_the_same_hash() -> None:
    sheets: dict[str, Cells] = {"Data": {"A1": "name", "B1": 1.0}}
    one, other = workbook(sheets), workbook(sheets, inline=True, author="Grace")
    first, second = hashed([one], [other])
    assert one != other
    assert first.hash == second.hash


def test_a_body_that_broke_off_is_forgotten() -> None:
    async def run() -> HashedBody:
        with ContainerSandbox(1, LIMITS) as sandbox, Hasher(sandbox) as hasher:
            hasher.write(b"<html>" + bytes(1000))
            hasher.restart()
            hasher.write(BOOK[:600])
            hasher.restart()
            hasher.write(BOOK)
            return await hasher.result()

    assert asyncio.run(run()) == hashed([BOOK])[0]


def test_a_container_above_the_limit_is_hashed_as_bytes() -> None:
    data = archive({"a.bin": os.urandom(50_000)})
    (found,) = hashed([data], limits=replace(LIMITS, max_bytes=len(data)))
    assert detector_of(found) == "zip"
    (found,) = hashed(in_pieces(data, 1000), limits=replace(LIMITS, max_bytes=len(data) - 1))
    assert found.hash == raw(data)
    assert found.note == f"hashed as plain bytes: more than {len(data) - 1} bytes"


def test_what_cannot_be_read_is_hashed_as_bytes_and_says_why() -> None:
    broken = BOOK[:-30]
    bomb = archive({**parts({"S": {}}), "xl/worksheets/sheet1.xml": bytes(5_000_000)})
    for found, data, words in zip(
        hashed([broken], [bomb]), (broken, bomb), ("broken: ", "inflates"), strict=True
    ):
        assert found.hash == raw(data)
        assert found.note is not None and words in found.note


def open_descriptors() -> int:
    gc.collect()
    return len(os.listdir("/dev/fd"))


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    hashed([b"TEST own"], detectors=HOSTILE)
    before = open_descriptors()

    async def run() -> None:
        with ContainerSandbox(1, LIMITS) as sandbox:
            await one(sandbox, b"TEST own")
            started = open_descriptors()
            left, done = Hasher(sandbox), Hasher(sandbox)
            for hasher in (left, done):
                hasher.write(BOOK)
            assert open_descriptors() == started + 2
            assert list(tmp_path.iterdir()) == []
            left.close()
            assert detector_of(await done.result()) == "xlsx"
            assert open_descriptors() == started

    asyncio.run(run())
    assert open_descriptors() == before
    assert list(tmp_path.iterdir()) == []


def test_without_a_place_for_temporary_files_bytes_are_hashed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    (found,) = hashed([BOOK])
    assert found.hash == raw(BOOK)
    assert found.note == "hashed as plain bytes: no temporary file: No such file or directory"


def test_a_full_disk_leaves_the_hash_of_the_bytes() -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        for bytes_in_all, size in ((300_000, 300_000), (300_000, 5_000), (101_000, 5_000)):
            data = archive({"a.bin": os.urandom(bytes_in_all)})
            (found,) = hashed(in_pieces(data, size))
            assert found.hash == raw(data)
            assert found.note == "hashed as plain bytes: no temporary file: File too large"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


@pytest.mark.parametrize("first", [b"id,name\n", b"PK\x03\x04"])
def test_a_large_body_takes_no_memory(first: bytes) -> None:
    piece = bytes(256 * 1024)

    def body() -> Iterator[bytes]:
        yield first
        for _ in range(800):
            yield piece

    tracemalloc.start()
    try:
        (found,) = hashed(body(), limits=replace(LIMITS, max_bytes=8 * MIB))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.size == 200 * MIB + len(first)
    assert detector_of(found) == "sha256"
    assert peak < MIB


@pytest.mark.parametrize(
    ("what", "limits", "reason"),
    [
        (b"killed", LIMITS, "ends the process that opens it (status -9)"),
        (b"mistake", LIMITS, "cannot be opened: IndexError('list index out of range')"),
        (b"memory", LIMITS, f"needs more than {LIMITS.memory} bytes of memory"),
        (b"asleep", replace(LIMITS, seconds=1.0), "takes more than 1 seconds"),
        (b"busy", replace(LIMITS, cpu_seconds=1), "takes more than 1 seconds of processor time"),
    ],
)
def test_a_file_that_ends_its_process_takes_no_other_with_it(
    what: bytes, limits: ContainerLimits, reason: str
) -> None:
    before, lost, after = hashed(
        [BOOK], [b"TEST " + what], [BOOK], limits=limits, detectors=HOSTILE
    )
    assert lost.hash == raw(b"TEST " + what)
    assert lost.note is not None and reason in lost.note
    assert detector_of(before) == detector_of(after) == "xlsx"
    assert before.note is after.note is None


def test_a_process_is_used_again() -> None:
    first, second = hashed(*[[b"TEST process"]] * 2, detectors=HOSTILE)
    assert first.hash == second.hash != f"test:{os.getpid()}"


def test_a_process_lost_while_idle_is_no_fault_of_the_next_file() -> None:
    async def run() -> HashedBody:
        with ContainerSandbox(1, LIMITS) as sandbox:
            pid = int((await one(sandbox, b"TEST process")).hash.partition(":")[2])
            os.kill(pid, signal.SIGKILL)
            # Ended, and not yet waited for.
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            return await one(sandbox, BOOK)

    assert detector_of(asyncio.run(run())) == "xlsx"


def test_processes_know_nothing_of_ckan_and_end_with_the_sandbox() -> None:
    (found,) = hashed([b"TEST ckan"], detectors=HOSTILE)
    assert found.hash == "test:[]"
    (found,) = hashed([b"TEST process"], detectors=HOSTILE)
    with pytest.raises(ProcessLookupError):
        os.kill(int(found.hash.partition(":")[2]), 0)


def test_a_cancelled_task_leaves_its_process_to_nobody() -> None:
    async def run() -> HashedBody:
        with ContainerSandbox(1, LIMITS) as sandbox:
            task = asyncio.ensure_future(one(sandbox, b"TEST asleep"))
            # It begins, and waits for an answer.
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return await one(sandbox, BOOK)

    assert detector_of(asyncio.run(run())) == "xlsx"
