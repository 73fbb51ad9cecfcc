"""The random catalogue: the same seed gives the same moves, and the truth about records follows the server."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from ckanext.freshness.tests.campaign.catalogue import DATASETS, Catalogue, make_moves
from ckanext.freshness.tests.campaign.troubles import draw_blows, give_wrong_answers
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind


def story(rounds: int) -> list[object]:
    """Return everything that happens in some rounds."""
    told: list[object] = []
    with FdpServer() as server:
        catalogue = Catalogue(server, random.Random("a seed"))
        for number in range(rounds):
            catalogue.rng = random.Random(number)
            told.append(make_moves(catalogue, set()))
            told.append([one.words for one in give_wrong_answers(catalogue, set())])
            told.append(draw_blows(catalogue, set()))
            told.append([(one.path, one.state) for one in server.datasets])
    return told


def test_a_seed_can_be_repeated() -> None:
    assert story(50) == story(50)


@pytest.fixture
def catalogue() -> Iterator[Catalogue]:
    with FdpServer() as server:
        yield Catalogue(server, random.Random(1))


def test_the_truth_about_a_record(catalogue: Catalogue) -> None:
    server = catalogue.server
    record = server.datasets[0]
    assert catalogue.exists(record)
    assert len(server.datasets) == DATASETS
    (catalog,) = catalogue.listings(record)

    server.withdraw(record)
    assert not catalogue.exists(record)
    assert not catalogue.is_gone(record)
    server.vanish(record)
    assert catalogue.is_gone(record)
    server.publish(record)
    server.unlist(catalog, server.root)
    assert catalogue.answers(record)
    assert not catalogue.exists(record)
    server.list_also(catalog, server.root)
    server.remove(record)
    assert catalogue.is_gone(record)


def test_another_spelling_is_the_same_record(catalogue: Catalogue) -> None:
    record = next(one for one in catalogue.server.datasets if "~" in one.path)
    before = catalogue.server.url_of(record)
    catalogue.server.respell(record, record.path.replace("~", "%7E") + "/")
    assert catalogue.record_of(before) is record
    assert catalogue.record_of(catalogue.server.url_of(record)) is record
    catalogue.server.remove(record)
    assert record not in set(catalogue.server.records(Kind.DATASET))


def test_content_is_what_packages_are_made_of(catalogue: Catalogue) -> None:
    record = next(one for one in catalogue.server.datasets if catalogue.distributions(one))
    before = catalogue.content(record)
    catalogue.server.shuffle = True
    catalogue.server.layout.pages = False
    assert catalogue.content(record) == before
    catalogue.server.change(catalogue.distributions(record)[0], title="Another file")
    assert catalogue.content(record) != before
