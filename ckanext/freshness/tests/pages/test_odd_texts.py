"""Titles and names that attack or break a page: markup, control characters, both directions, and no end."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup
from ckan.lib import search
from ckan.tests import factories

from ckanext.freshness.ckan_adapter.core import model
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
    *(
        "/freshness",
        "/freshness/organization/odd",
        "/freshness/organizations",
        "/freshness/datasets",
    ),
    *(
        "/freshness/changes?since=2020-01-01",
        "/freshness/broken",
        "/freshness/due",
        "/freshness/hosts",
    ),
    *("/dataset/wells/freshness", "/dataset/wells", "/dataset/", "/organization/odd"),
)


@pytest.fixture
def odd(app: Any, clean_site: None) -> Callable[[str], dict[str, Any]]:
    """A function that makes a dataset whose texts are all the given one, and returns its editor."""

    def odd(text: str) -> dict[str, Any]:
        editor = dict(factories.UserWithToken(name="editor", fullname=text))
        users = [{"name": "editor", "capacity": "editor"}]
        factories.Organization(name="odd", title=text, description=text, users=users)
        url = "http://example.org/" + text.replace("\x0b", "").replace("\u2028", "")[:80]
        links = [{"name": text, "url": url, "format": text[:40], "description": text}]
        dataset = make("wells", 9, owner_org="odd", title=text, notes=text, resources=links)
        judge()
        visited(dataset)
        changed(dataset)
        search.rebuild(dataset["id"])
        return editor

    return odd


@pytest.mark.parametrize("name", ODD)
def test_pages_with_odd_texts(app: Any, odd: Any, name: str) -> None:
    text = ODD[name]
    editor = odd(text)
    for user in ({}, {"Authorization": editor["token"]}):
        for path in (*PAGES, "/freshness/mine") if user else PAGES:
            answer = app.get(path, headers=user, status=200)
            page = BeautifulSoup(answer.body, "html.parser")
            assert not page.select("img[onerror]"), path
            assert "alert(1)" not in "".join(one.get_text() for one in page.select("script")), path
            # Gettext and Jinja took nothing for a placeholder.
            assert "49%(x)s" not in answer.body, path
            if name == "markup" and path not in ("/freshness/hosts",):
                assert not page.select("[title=x], a[x]"), path
    for path in (
        "/freshness/changes.atom",
        "/freshness/data.atom",
        "/dataset/wells/freshness.atom",
    ):
        ElementTree.fromstring(app.get(path, status=200).body)
    ElementTree.fromstring(app.get("/dataset/wells/freshness.svg", status=200).body)
    json.loads(app.get("/freshness/datasets.json", status=200).body)
    assert model.Package.get("wells").title.strip() == text.strip()
