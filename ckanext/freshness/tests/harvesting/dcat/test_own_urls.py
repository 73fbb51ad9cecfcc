"""Datasets that a list leaves out, and whose own URLs answer in all kinds of ways, one job after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ckanext.freshness.tests.harvesting.dcat.crawling import CatalogueSite
from ckanext.freshness.tests.harvesting.dcat.test_lists import DELETED, Documents, dataset, datasets
from ckanext.freshness.tests.harvesting.fdp.crawling import DAY, NOW
from ckanext.freshness.tests.servers.base import Answer

HERE = range(1, 20)
LEFT_OUT = 20


@pytest.fixture
def server() -> Iterator[Documents]:
    """Twenty datasets, of which each has a document of its own."""
    with Documents() as running:
        for number in (*HERE, LEFT_OUT):
            running.publish(f"/d/{number}", dataset_itself(number))
        running.pages(datasets(*HERE, LEFT_OUT), total=20)
        yield running


@pytest.fixture
def site(server: Documents) -> CatalogueSite:
    """A site that has harvested them, before the list left one out."""
    site = CatalogueSite(None, url=f"{server.url}/c")
    site.job()
    server.pages(datasets(*HERE), total=19)
    return site


def dataset_itself(number: int) -> str:
    return f'<BASE/d/{number}> a dcat:Dataset ; dct:title "Dataset {number}" .'


def test_few_identifiers_that_lead_nowhere(server: Documents) -> None:
    """Most controls answer, and prove nothing for those few."""
    zs = [f"z{number}" for number in range(3)]
    server.pages(datasets(*HERE) + "".join(map(dataset, zs)), total=22)
    site = CatalogueSite(None, url=f"{server.url}/c")
    site.job()
    server.pages(datasets(*HERE) + "".join(map(dataset, zs[:-1])), total=21)
    assert site.job().of(DELETED) == set()
    # Two whole lists that leave it out prove that.
    assert site.job(NOW + DAY).of(DELETED) == {f"{server.url}/d/z2"}


@pytest.mark.parametrize("status", [403, 404])
def test_a_list_that_is_never_proved_leaves_it_to_editors(
    server: Documents, site: CatalogueSite, status: int
) -> None:
    """The URL may always have answered so."""
    server.pages(datasets(*HERE), total=20)
    server.files[f"/d/{LEFT_OUT}"] = Answer(status)
    job = site.job()
    assert (job.of(DELETED), job.brake) == (set(), None)
    job = site.job(NOW + DAY)
    assert job.of(DELETED) == set() and job.brake is not None
    site.release()
    assert site.job(NOW + DAY).of(DELETED) == {f"{server.url}/d/{LEFT_OUT}"}


def test_a_firewall_before_all_datasets(server: Documents, site: CatalogueSite) -> None:
    for number in (*HERE, LEFT_OUT):
        server.files[f"/d/{number}"] = Answer(403)
    job = site.job()
    assert (job.of(DELETED), job.brake) == (set(), None)
    job = site.job(NOW + DAY)
    assert job.of(DELETED) == set() and job.brake is not None
    assert site.job(NOW + 9 * DAY).of(DELETED) == set()
    site.release()
    assert site.job(NOW + 10 * DAY).of(DELETED) == {f"{server.url}/d/{LEFT_OUT}"}


def gone(server: Documents, site: CatalogueSite) -> None:
    server.files[f"/d/{LEFT_OUT}"] = Answer(404)


def withdrawn(server: Documents, site: CatalogueSite) -> None:
    server.files[f"/d/{LEFT_OUT}"] = Answer(403)


@pytest.mark.parametrize(("act", "jobs"), [(gone, 1), (withdrawn, 2)])
def test_a_held_dataset_leaves_the_hold_when_its_url_says_that_it_is_gone(
    server: Documents,
    site: CatalogueSite,
    act: Callable[[Documents, CatalogueSite], None],
    jobs: int,
) -> None:
    assert site.job().brake is not None
    server.files[f"/d/{LEFT_OUT}"] = Answer(500)
    assert site.job(NOW + DAY).brake is not None
    act(server, site)
    found = [site.job(NOW + (2 + day) * DAY) for day in range(jobs)]
    assert [len(job.of(DELETED)) for job in found] == [0] * (jobs - 1) + [1]
    assert not site.held


def test_a_held_dataset_that_is_listed_again(server: Documents, site: CatalogueSite) -> None:
    assert site.job().brake is not None
    server.pages(datasets(*HERE, LEFT_OUT), total=20)
    assert site.job(NOW + DAY).brake is None
    # Its hold is over, and with it the proof that its URL answers.
    server.pages(datasets(*HERE), total=19)
    server.files[f"/d/{LEFT_OUT}"] = Answer(404)
    assert site.job(NOW + 2 * DAY).of(DELETED) == set()
