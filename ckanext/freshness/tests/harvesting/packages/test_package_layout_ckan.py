"""Laid-out packages saved by a real CKAN, with and without a ckanext-scheming schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from ckan.tests.helpers import call_action

from ckanext.freshness.dcat import DATASET_LISTS, DATASET_TEXTS
from ckanext.freshness.harvesting.packages import ckan_actions
from ckanext.freshness.harvesting.packages.catalog_site import CatalogSite
from ckanext.freshness.harvesting.packages.layout import package_dict
from ckanext.freshness.harvesting.packages.licenses import license_index
from ckanext.freshness.harvesting.packages.merge import merge
from ckanext.freshness.harvesting.rdf.source_type import OWNED_KEYS
from ckanext.freshness.harvesting.record import RESOURCE_KEYS, Record
from ckanext.freshness.tests.harvesting.conftest import SCHEMAS, STRICT


@pytest.fixture
def site(schema: str) -> CatalogSite:
    """The site as a harvest sees it, with its schema and its register of licences."""
    return CatalogSite(
        licenses=license_index(call_action("license_list")),
        schema=call_action("scheming_dataset_schema_show", type="dataset")
        if SCHEMAS[schema]
        else None,
    )


def write(
    action: str,
    package: dict[str, Any],
    stated: dict[str, Any],
    names: Sequence[str] = (),
    **instead: str,
) -> list[str]:
    """Write a package as an import does, without the values that CKAN refuses."""
    context = {"user": call_action("get_site_user")["name"], "ignore_auth": True}
    return ckan_actions.write(action, context.copy, package, stated, names, instead=instead)


def shown(package_id: str) -> dict[str, Any]:
    """Return a package from the database, not from Solr."""
    package: dict[str, Any] = call_action("package_show", {"use_cache": False}, id=package_id)
    return package


def create(record: Record, site: CatalogSite, name: str) -> dict[str, Any]:
    package = package_dict(record, site).package
    write("package_create", package, package, [name])
    return shown(name)


def found(name: str) -> dict[str, Any]:
    """Return a package from Solr, which has it only if it accepted the whole document."""
    answer = call_action("package_search", fq=f"name:{name}", include_private=True)
    package: dict[str, Any] = answer["results"][0]
    return package


ODD = ('[{"a": [' * 500, "http://[::1/x", "\u202e\ufffe\ud800 %s {{ x }} <script>")


def everywhere(text: str) -> Record:
    """Return a record that has a text wherever a profile can put one."""
    agents = [
        {"uri": text, "name": text, "email": text, "name_translated": {"": text, "x_y": text}}
    ]
    lists = {key: [text, f"{text} 2"] for key in ("language", "theme", "conforms_to", "sample")}
    described = dict.fromkeys(("contact", "publisher", "creator", "spatial_coverage"), agents)
    translated = {f"{key}_translated": {"": text, "x_y": text} for key in ("title", "notes")}
    keys = {*OWNED_KEYS, *DATASET_TEXTS, *DATASET_LISTS} - {"uri"}
    fields = {**dict.fromkeys(keys, text), **lists, **described, **translated}
    resource = {**dict.fromkeys(RESOURCE_KEYS, text), "access_services": agents}
    return Record(fields, [resource, {"url": text}], [text])


@pytest.mark.parametrize("schema", ["core", "dcat"], indirect=True)
def test_an_odd_text_everywhere_is_saved_and_shown(site: CatalogSite, app: Any) -> None:
    for number, text in enumerate(ODD):
        record, name = everywhere(text), f"odd-{number}"
        package = create(record, site, name)
        assert found(name)["id"] == package["id"]
        again = package_dict(record, site)
        write(
            "package_update",
            merge(package, again, owned=(OWNED_KEYS, RESOURCE_KEYS)),
            again.package,
        )
        assert app.get(f"/dataset/{name}").status_code == 200


@pytest.mark.parametrize("schema", [STRICT], indirect=True)
@pytest.mark.parametrize("own", ["not a name!", "no name either!", "a-name"])
def test_a_value_in_place_of_a_refused_one(schema: str, own: str) -> None:
    """It may be refused, too: a package has values that were legal when they were written."""
    stated = {"title": "T", "version": "v1", "identifier": "not a name!"}
    warnings = write("package_create", dict(stated), stated, ["name"], identifier=own)
    assert len(warnings) == (1 if own == "a-name" else 2)
    assert shown("name").get("identifier") == (own if own == "a-name" else None)
