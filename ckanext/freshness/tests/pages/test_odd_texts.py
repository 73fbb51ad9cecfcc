"""Titles and names that attack or break a page: markup, control characters, both directions, and no end."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

from bs4 import BeautifulSoup
from ckan.lib import search
from ckan.tests import factories

from ckanext.freshness.tests.pages.conftest import Get
from ckanext.freshness.tests.pages.reports import NOW as REPORTED
from ckanext.freshness.tests.pages.reports import changed, judge, make, visited

NOW = REPORTED
MARKUP = """<script>alert(1)</script><img src=x onerror=alert(1)>"'}}{{ 7*7 }}%(x)s{x}"""
ODD = {
    "markup": MARKUP,
    "controls": "a\x0bb\x1f\ufffe\u2028c\x7f",
    "directions": "\u202e\u05d0\u05d1\u05d2 \u0627\u0644\u0645\u0627\u0621 \u2066abc",
    "long": "👩‍👩‍👧‍👦🚰" * 40,
}
PAGES = (
    *("/freshness", "/freshness/organizations", "/freshness/datasets", "/freshness/links"),
    *("/freshness/changes?since=2020-01-01", "/dataset/"),
    *(
        f"{page}{name}{end}"
        for name in ODD
        for page, end in (
            ("/freshness/organization/of-", ""),
            ("/organization/of-", ""),
            ("/dataset/", ""),
            ("/dataset/", "/freshness"),
        )
    ),
)


def make_world() -> dict[str, Any]:
    """Make an organization with a dataset for each text, and an editor of all, whose name is markup."""
    editor = dict(factories.UserWithToken(name="editor", fullname=MARKUP))
    users = [{"name": "editor", "capacity": "editor"}]
    for name, text in ODD.items():
        owner = f"of-{name}"
        factories.Organization(name=owner, title=text, description=text, users=users)
        url = "http://example.org/" + text.replace("\x0b", "").replace("\u2028", "")[:80]
        links = [{"name": text, "url": url, "format": text[:40], "description": text}]
        dataset = make(name, 9, owner_org=owner, title=text, notes=text, resources=links)
        visited(dataset)
        changed(dataset)
    judge()
    search.rebuild(force=True)
    return {"editor": editor}


def test_pages_with_odd_texts(get: Get, world: dict[str, Any]) -> None:
    for path in (*PAGES, "/freshness/mine"):
        answer = get(path, "editor")
        page = BeautifulSoup(answer.body, "html.parser")
        assert not page.select("img[onerror]"), path
        assert "alert(1)" not in "".join(one.get_text() for one in page.select("script")), path
        # Gettext and Jinja took nothing for a placeholder.
        assert "49%(x)s" not in answer.body, path
        assert not page.select("[title=x], a[x]"), path
    ends = ("/data.atom", ".svg")
    of_datasets = (f"/dataset/{name}/freshness{end}" for name in ODD for end in ends)
    for path in ("/freshness/data.atom", *of_datasets):
        ElementTree.fromstring(get(path).body)
    titles = {row["name"]: row["title"] for row in json.loads(get("/freshness/datasets.json").body)}
    assert {name: title.strip() for name, title in titles.items()} == {
        name: text.strip() for name, text in ODD.items()
    }
