"""Killed cycles: published files name only stored copies, and the next cycle completes the work."""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ckan import model
from fsspec.implementations.local import LocalFileSystem

from ckanext.freshness.checking import run_records
from ckanext.freshness.ckan_adapter.database import is_held
from ckanext.freshness.iati import datasets as rows
from ckanext.freshness.iati import publication
from ckanext.freshness.model import Copy
from ckanext.freshness.runs import copies
from ckanext.freshness.tests.processes import disconnect, until

from .cycles import Site
from .test_cycle import datasets, done

pytestmark = pytest.mark.usefixtures("kept_db")


def die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def at_call(owner: Any, name: str, number: int) -> Callable[[], None]:
    """Return a function that kills this process at the n-th call of a function of ours."""

    def patch() -> None:
        original, left = getattr(owner, name), [number]

        def counted(*arguments: Any, **named: Any) -> Any:
            left[0] -= 1
            if not left[0]:
                die()
            return original(*arguments, **named)

        setattr(owner, name, counted)

    return patch


def killed_in(site: Site, patch: Callable[[], None]) -> None:
    """Run a cycle in a child process that kills itself."""
    disconnect()
    process = os.fork()
    if not process:
        try:
            patch()
            site.update()
        finally:
            os._exit(7)
    ended = os.waitpid(process, 0)[1]
    assert os.WIFSIGNALED(ended) and os.WTERMSIG(ended) == signal.SIGKILL, ended
    # PostgreSQL keeps the lock until it notices that the process is gone.
    until(lambda: not is_held(run_records.cycle_lock(site.source_id)))


POINTS = {
    "before the first bytes": at_call(LocalFileSystem, "mv", 1),
    "between zip and row": at_call(rows, "write", 1),
    "before a copy goes": at_call(copies, "delete_files", 1),
    "before what is named is marked": at_call(publication, "_mark", 1),
    "before the bulk zips": at_call(publication, "build", 1),
}


@pytest.mark.parametrize("patch", POINTS.values(), ids=POINTS)
def test_the_next_cycle_makes_it_good(
    site: Site, patch: Callable[[], None], store_folder: Path
) -> None:
    site.update()
    changed, gone, same = datasets(site)
    changed.edition += 1
    site.server.registry.remove(gone)
    killed_in(site.later(hours=1), patch)
    model.Session.remove()
    for copy in model.Session.query(Copy).filter(Copy.key.isnot(None)):
        if copy.package_id == site.row(same).package_id:
            assert hashlib.sha256(site.read(copy.key)).hexdigest() == copy.sha256
    for listed in site.listed().values():
        assert listed["last_known_good_dataset"]["hash"]
    done(site.later(hours=1).update())
    assert [site.bytes_of(one) for one in (changed, same)] == [
        changed.contents(),
        same.contents(),
    ]
    assert site.row(changed).hash == hashlib.sha1(changed.contents()).hexdigest()
    assert len(site.files(store_folder)) == 4
    assert set(site.listed()) == {changed.name, same.name}
    assert site.row(gone) is None
