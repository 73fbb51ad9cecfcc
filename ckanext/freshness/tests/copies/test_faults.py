"""Full, read-only and missing directories, and killed processes: no incomplete copy is visible."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from ckanext.freshness.copies.store import Store, StoreError
from ckanext.freshness.tests.copies.support import LARGE, SMALL, keep, read, unzip


def run(
    script: str, *arguments: object, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own."""
    prelude = """
        import os, resource, signal, sys
        import fsspec.implementations.local
        from ckanext.freshness.copies.store import Location, Store, StoreError
        from ckanext.freshness.tests.copies.support import LARGE, SMALL, keep, read
    """
    return subprocess.run(
        [
            *(sys.executable, "-c", textwrap.dedent(prelude) + textwrap.dedent(script)),
            *map(str, arguments),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=cwd,
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "copies"


def left_over(root: Path) -> list[Path]:
    return list((root / ".staging").iterdir())


KILLED_AT = [("write", 1), ("write", 2), ("put", 1), ("put", 2)]


@pytest.mark.parametrize(("step", "time"), KILLED_AT)
@pytest.mark.parametrize(("old", "new"), [(SMALL, LARGE), (LARGE, SMALL)], ids=["large", "small"])
def test_killed_between_any_two_steps(
    folder: Store, root: Path, step: str, time: int, old: bytes, new: bytes
) -> None:
    keep(folder, "org/a.xml", old)
    done = run(
        """
        root, step, time, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
        seen = []

        def killed(self, *arguments):
            seen.append(step)
            if len(seen) == time:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(self, *arguments)

        real = getattr(Location, step)
        setattr(Location, step, killed)
        keep(Store(root), "org/a.xml", LARGE if size else SMALL)
        """,
        *(root, step, time, int(new is LARGE)),
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    steps_done = KILLED_AT.index((step, time))
    assert read(folder, "org/a.xml") == (new if steps_done > 2 else old)
    assert unzip(folder, "org/a.zip") == {"a.xml": old}
    assert sorted(folder.sizes()) == ["org/a.xml", "org/a.zip"]

    keep(folder, "org/a.xml", new)
    assert read(folder, "org/a.xml") == new
    assert unzip(folder, "org/a.zip") == {"a.xml": new}

    left = len(left_over(root))
    assert (left > 0) == (steps_done > 0)
    now = datetime.now(timezone.utc)
    assert folder.sweep(now) == 0
    assert folder.sweep(now + timedelta(days=1, minutes=1)) == left
    assert left_over(root) == []


@pytest.mark.parametrize("limit", [10, 200_000, len(LARGE) - 1])
def test_a_full_disk_leaves_what_was_there(folder: Store, root: Path, limit: int) -> None:
    """Simulate a full disk by a limit on the size of files: in both cases a write fails."""
    keep(folder, "org/a.xml", SMALL)
    done = run(
        """
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
        try:
            keep(Store(sys.argv[1]), "org/a.xml", LARGE)
        except StoreError as error:
            print(error)
        """,
        *(root, limit),
    )
    assert "File too large" in done.stdout, done.stderr
    assert read(folder, "org/a.xml") == SMALL
    assert unzip(folder, "org/a.zip") == {"a.xml": SMALL}
    assert left_over(root) == []


@pytest.mark.parametrize("body", [SMALL, LARGE])
def test_a_directory_that_vanishes_is_not_made_again(
    folder: Store, root: Path, body: bytes
) -> None:
    """Write nothing to the disk below a mount point that is gone."""
    keep(folder, "org/a.xml", SMALL)
    with folder.stage() as staged:
        staged.write(body)
        away = root.rename(root.parent / "away")
        with pytest.raises(StoreError, match="gone"):
            folder.keep("org/a.xml", staged, zip_member="a.xml")
    assert not root.exists()
    for act in (
        lambda: folder.size("org/a.xml"),
        lambda: folder.open("org/a.xml"),
        lambda: folder.remove("org/a.xml"),
        lambda: list(folder.sizes()),
        lambda: folder.used(),
    ):
        with pytest.raises(StoreError, match="gone"):
            act()
    away.rename(root)
    assert read(folder, "org/a.xml") == SMALL
    assert unzip(folder, "org/a.zip") == {"a.xml": SMALL}


def test_what_is_read_is_not_replaced_meanwhile(folder: Store) -> None:
    keep(folder, "org/a.xml", LARGE)
    reader = folder.open("org/a.xml")
    first = next(reader)
    keep(folder, "org/a.xml", SMALL)
    folder.remove("org/a.xml")
    assert first + b"".join(reader) == LARGE
    reader.close()


def test_memory_does_not_grow_with_a_body(root: Path) -> None:
    script = """
        size = int(sys.argv[2])
        store = Store(sys.argv[1])
        piece = b"<row>%s</row>" % (b"x" * 65000)
        with store.stage() as staged:
            for _ in range(size):
                staged.write(piece)
            kept = store.keep("org/a.xml", staged, zip_member="a.xml")
        from ckanext.freshness_iati.downloads import Archive, ArchiveMember, build
        build(store, [Archive("bulk.zip", "x")], [ArchiveMember(kept.key, "a.xml", kept.sha256)])
        for _ in store.open("org/a.xml"):
            pass
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    """
    few, many = (run(script, root, pieces) for pieces in (16, 1600))
    assert int(many.stdout) < int(few.stdout) + 4_000, (few.stderr, many.stderr)
