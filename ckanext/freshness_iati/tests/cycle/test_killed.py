"""Killed cycles: published files name only stored copies, and the next cycle completes the work."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from ckan import model

from ckanext.freshness.copies.store import Location
from ckanext.freshness.model import Copy
from ckanext.freshness.runs import copies
from ckanext.freshness.tests.processes import killed_at
from ckanext.freshness_iati import datasets as rows
from ckanext.freshness_iati import publication

from .cycles import Site
from .test_cycle import datasets, done

pytestmark = pytest.mark.usefixtures("kept_db")


POINTS: dict[str, tuple[Any, str, int]] = {
    "before the first bytes": (Location, "put", 1),
    "between zip and row": (rows, "write", 1),
    "before a copy goes": (copies, "delete_files", 1),
    "before what is named is marked": (publication, "_mark", 1),
    "before the bulk zips": (publication, "build", 1),
}


@pytest.mark.parametrize("point", POINTS)
def test_the_next_cycle_makes_it_good(site: Site, point: str, store_folder: Path) -> None:
    site.update()
    changed, gone, same = datasets(site)
    changed.edition += 1
    site.unregister(gone)
    killed_at(*POINTS[point], site.later(hours=1).update)
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
    assert site.good(changed).hash == hashlib.sha1(changed.contents()).hexdigest()
    assert len(site.files(store_folder)) == 4
    assert set(site.listed()) == {changed.name, same.name}
    assert site.row(gone) is None
