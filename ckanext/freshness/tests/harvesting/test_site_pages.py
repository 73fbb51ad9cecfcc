"""The pages of a site after harvests, for visitors and for editors: ckanext-harvest's, CKAN's and ours."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup
from ckan.tests import factories

from ckanext.freshness.tests.harvesting.conftest import add_source
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.turtle import agent, contact

pytestmark = pytest.mark.usefixtures("clean_site")

PUBLIC = (
    "/harvest/",
    "/harvest/{source}",
    "/harvest/about/{source}",
    "/dataset/",
    "/dataset/{dataset}",
    "/dataset/{dataset}/resource/{resource}",
    "/dataset/harvest_object/{package_id}",
    "/harvest/object/{object}",
    "/dataset/activity/{dataset}",
    "/catalog/",
    "/catalog/{catalog}",
    "/organization/{organization}",
)
EDITORS = (
    "/harvest/admin/{source}",
    "/harvest/edit/{source}",
    "/harvest/{source}/job",
    "/harvest/{source}/job/last",
    "/harvest/{source}/job/{job}",
    "/harvest/{source}/held",
    "/harvest/{source}/preview",
    "/harvest/new",
    "/dataset/edit/{dataset}",
    "/dataset/{dataset}/resource/{resource}/edit",
    "/catalog/edit/{catalog}",
)


def test_every_page_answers(app: Any, fdp: FdpServer) -> None:
    catalog = fdp.add_catalog(title="A catalog")
    dataset = fdp.add_dataset(
        catalog,
        title="Title with <b>markup</b>",
        description="Notes & <script>alert(1)</script>",
        contact=contact("Help desk", "help@example.org"),
        publisher=agent("Institute", "info@example.org"),
    )
    fdp.layout.pages = False
    harvest = add_source(fdp.source_url, harvest_catalogs=True)
    objects = harvest.objects(harvest.run())
    broken = fdp.add_dataset(catalog, title="Broken")
    fdp.break_turtle(broken)
    fdp.change(dataset, keyword=["changed"])
    job = harvest.run()
    assert len(job.errors) == 1
    package = harvest.dataset(dataset, fdp)
    (catalog_package,) = harvest.datasets(fq_list=["+dataset_type:catalog"]).values()
    names = {
        "source": harvest.source["name"],
        "dataset": package["name"],
        "package_id": package["id"],
        "resource": package["resources"][0]["id"],
        "object": objects[fdp.iri_of(dataset)].id,
        "catalog": catalog_package["name"],
        "organization": package["organization"]["name"],
        "job": job.id,
    }

    admin = {"Authorization": factories.SysadminWithToken()["token"]}
    for page in (*PUBLIC, *EDITORS):
        url = page.format(**names)
        visitors = 200 if page in PUBLIC else 403
        for headers, status in (({}, visitors), (admin, 200)):
            answer = app.get(url, headers=headers, follow_redirects=False)
            if status == 403 and answer.status_code == 302:
                assert "/user/login" in answer.headers["Location"], url
            else:
                assert answer.status_code == status, f"{url}: {answer.status}"
            if answer.mimetype != "application/json":
                assert "<script>alert(1)" not in answer.body, url

    page = app.get("/harvest/{source}/job/{job}".format(**names), headers=admin).body
    report = " ".join(BeautifulSoup(page, "html.parser").get_text(" ").split())
    assert fdp.iri_of(broken) in report
    assert "malformed" in report
    assert "1 changed" in report, report
