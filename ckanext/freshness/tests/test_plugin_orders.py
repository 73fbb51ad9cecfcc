"""Orders of our plugins with those of ckanext-harvest and ckanext-scheming, each loaded for real."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from itertools import permutations
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import pytest
from ckan.exceptions import CkanConfigurationException
from ckan.plugins import core

from ckanext.freshness import doctor
from ckanext.freshness.ckan_adapter.core import declared_fields
from ckanext.freshness.ckan_adapter.harvest import registered_source_types
from ckanext.freshness.tests.usual_site import no_new_configuration

Load = Callable[..., None]

NOW = datetime(2026, 11, 1, tzinfo=timezone.utc)
OURS = ("freshness", "fdp_harvester", "iati_harvester")


def is_right(order: tuple[str, ...]) -> bool:
    """Decide whether ``freshness`` stands before both of the others."""
    place = order.index("freshness")
    return place < order.index("harvest") and place < order.index("scheming_datasets")


ORDERS = list(permutations([*OURS, "harvest", "scheming_datasets"]))
RIGHT = [order for order in ORDERS if is_right(order)]
WRONG = [order for order in ORDERS if not is_right(order)]


@pytest.fixture
def load(ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """A function that loads plugins as CKAN does when it starts, in place of those before."""
    schemas = "ckanext.scheming:ckan_dataset.yaml"
    monkeypatch.setitem(ckan_config, "scheming.dataset_schemas", schemas)
    monkeypatch.setitem(ckan_config, "scheming.presets", "ckanext.scheming:presets.json")

    def unload() -> None:
        with no_new_configuration():
            core.unload_all()

    def call(*order: str) -> None:
        unload()
        monkeypatch.setitem(ckan_config, "ckan.plugins", list(order))
        core.load_all()

    unload()
    yield call
    core.unload_all()


def works() -> bool:
    """Decide whether schema, harvesters, actions and helpers of all five plugins are there."""
    return (
        {"fdp", "iati_registry"} <= set(registered_source_types())
        and "notes" in declared_fields("dataset")
        and callable(tk.get_action("freshness_show"))
        and callable(tk.get_action("harvest_source_list"))
        and "freshness_label" in tk.h
    )


@pytest.mark.parametrize("order", [*RIGHT[::10], *WRONG[::40]], ids=" ".join)
def test_an_order(load: Load, order: tuple[str, ...]) -> None:
    """A wrong order loads, too: a site that has one starts, and its doctor says what to move.

    Loading takes a third of a second, so not all 120 are loaded.
    """
    load(*order)
    assert works()
    found = [one for one in doctor.plugins_and_tables(NOW) if "ckan.plugins" in one.text]
    assert (found == []) == is_right(order)
    assert all(one.advice.startswith("Move freshness before ") for one in found)


@pytest.mark.parametrize(
    ("order", "missing"),
    [
        (("fdp_harvester", "freshness"), "harvest"),
        (("iati_harvester", "harvest"), "freshness"),
        (("harvest", "fdp_harvester", "scheming_datasets"), "freshness"),
    ],
)
def test_a_plugin_that_is_missing(load: Load, order: tuple[str, ...], missing: str) -> None:
    with pytest.raises(CkanConfigurationException, match=f"needs the plugin {missing}: add it to"):
        load(*order)
    assert not p.plugin_loaded(missing)
