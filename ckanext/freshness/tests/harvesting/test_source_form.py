"""A harvest source created with the form of the web interface, and its public parts."""

from __future__ import annotations

import json
from typing import Any

import ckan.plugins.toolkit as tk
import pytest
import sqlalchemy as sa
from bs4 import BeautifulSoup
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.tests.harvesting.conftest import add_source
from ckanext.freshness.tests.servers.base import Request
from ckanext.freshness.tests.servers.faults import Redirect, Status
from ckanext.freshness.tests.servers.fdp import FdpServer

pytestmark = pytest.mark.usefixtures("clean_site")

PASSWORD = "correct horse battery"
SECRET = "s3cret-of-the-source"


class Browser:
    """A browser with cookies that submits forms as the pages contain them."""

    def __init__(self, app: Any) -> None:
        self._client = app.test_client()

    def get(self, url: str) -> BeautifulSoup:
        answer = self._client.get(url, follow_redirects=True)
        assert answer.status_code == 200, f"{url}: {answer.status}"
        return BeautifulSoup(answer.data, "html.parser")

    def submit(self, at: str, form: str, /, **fields: str) -> tuple[int, BeautifulSoup]:
        """Fill in the form (a CSS selector) at a URL, and submit it."""
        page = self.get(at).select_one(form)
        assert page is not None, f"{at} has no {form}"
        hidden = page.select("input[type=hidden][name]")
        data = {str(field["name"]): str(field.get("value", "")) for field in hidden}
        return self.post(str(page.get("action") or at), {**data, **fields})

    def post(self, url: str, data: dict[str, str]) -> tuple[int, BeautifulSoup]:
        """Return status and contents of the page that follows."""
        answer = self._client.post(url, data=data, follow_redirects=True)
        return answer.status_code, BeautifulSoup(answer.data, "html.parser")

    def log_in(self, user: dict[str, Any]) -> None:
        self.submit(
            "/user/login", "form:has([name=password])", login=user["name"], password=PASSWORD
        )


@pytest.fixture
def editor() -> dict[str, Any]:
    """An editor of an organisation, such as a publisher has."""
    user = factories.User(password=PASSWORD)
    organization = factories.Organization(users=[{"name": user["name"], "capacity": "editor"}])
    return {**user, "organization": organization["id"]}


@pytest.fixture
def browser(
    editor: dict[str, Any], ckan_config: Any, monkeypatch: pytest.MonkeyPatch, make_app: Any
) -> Browser:
    """The editor's browser, logged in to a site with CSRF protection."""
    monkeypatch.setitem(ckan_config, "WTF_CSRF_ENABLED", True)
    browser = Browser(make_app())
    browser.log_in(editor)
    return browser


def test_the_form_of_a_source(browser: Browser, editor: dict[str, Any]) -> None:
    filled_in = {
        "url": "https://fdp.example.org",
        "title": "Our FAIR Data Point",
        "name": "our-fdp",
        "source_type": "fdp",
        "frequency": "MANUAL",
        "owner_org": editor["organization"],
    }

    bad = '{"max_delete_fraction": 50, "langauge": "en", "default_groups": ["nobodys"]}'
    status, page = browser.submit("/harvest/new", "#source-new", **filled_in, config=bad)
    assert status == 200
    first, second, third = (error.text for error in page.select(".error-explanation li"))
    assert '"max_delete_fraction" must be a number from 0 to 1' in first
    assert second == 'Unknown key "langauge". Did you mean "language"?'
    assert "nobodys" in third
    assert "See the mistakes above." in page.text
    config = page.select_one("[name=config]")
    assert config is not None and config.text.strip() == bad, "what was typed is still there"
    assert call_action("harvest_source_list") == []

    good = '{"max_delete_fraction": 0.3, "rdf_format": "text/turtle"}'
    status, page = browser.submit("/harvest/new", "#source-new", **filled_in, config=good)
    assert (status, page.select(".error-explanation")) == (200, [])
    assert '"rdf_format" belongs to another harvester and has no effect here' in page.text
    source = call_action("harvest_source_show", id="our-fdp")
    assert (source["source_type"], json.loads(source["config"])) == ("fdp", json.loads(good))
    assert source["owner_org"] == editor["organization"]


BAD_URLS = {
    "javascript:alert(1)": "is a javascript: URL; only http and https are requested",
    "https://user:s3cret@fdp.example.org": "contains a user name or password",
}


def test_urls_that_no_source_can_have() -> None:
    good = "https://fdp.example.org"
    made = add_source(good).source
    bad = {"config": '{"langauge": "en"}', "frequency": "SOMETIMES"}
    other = {"name": "other", "source_type": "fdp", "owner_org": made["owner_org"], **bad}
    for url, words in BAD_URLS.items():
        for action, data in (
            ("harvest_source_create", {**other, "url": url}),
            ("harvest_source_update", {**made, **bad, "url": url}),
        ):
            with pytest.raises(tk.ValidationError) as answer:
                call_action(action, **data)
            (message,) = answer.value.error_dict["url"]
            assert words in message
            assert "s3cret" not in message
            assert answer.value.error_dict.keys() == {"url", *bad}
    (shown,) = call_action("harvest_source_list")
    assert call_action("harvest_source_show", id=shown["id"])["url"] == good


def test_an_editor_names_only_secrets_that_the_site_lists(
    browser: Browser, editor: dict[str, Any], fdp: FdpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor of a source also chooses the URL that receives the values."""
    monkeypatch.setitem(tk.config, "ckanext.freshness.harvest.header_secrets", ["env:FDP_TOKEN"])

    def save(name: str) -> BeautifulSoup:
        _, page = browser.submit(
            "/harvest/new",
            "#source-new",
            url=fdp.source_url,
            title="With a token",
            name="with-a-token",
            source_type="fdp",
            frequency="MANUAL",
            owner_org=editor["organization"],
            config=json.dumps({"headers": {"Authorization": {"env": name}}}),
        )
        return page

    refused = "Authorization may not take its value from env:CKAN_SQLALCHEMY_URL"
    assert refused in save("CKAN_SQLALCHEMY_URL").text
    assert call_action("harvest_source_list") == []
    assert "may not take its value" not in save("FDP_TOKEN").text
    assert "FDP_TOKEN" in call_action("harvest_source_show", id="with-a-token")["config"]


def test_secrets_are_used_and_never_shown(
    app: Any, fdp: FdpServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("FDP_TOKEN", f"Bearer {SECRET}")
    catalog = fdp.add_catalog()
    fdp.add_dataset(catalog, title="Open")
    fails = fdp.add_dataset(catalog, title="Fails")
    elsewhere = fdp.add_dataset(catalog, title="Elsewhere")
    refused = Status(401)

    def without_token(request: Request) -> bool:
        return request.host.startswith("127.0.0.1") and (
            request.headers.get("Authorization") != f"Bearer {SECRET}"
        )

    fdp.faults[without_token] = refused
    fdp.faults[fails.path] = Status(400, body=f"you sent {SECRET}".encode())
    other = fdp.url_at("127.0.0.2")
    fdp.faults[elsewhere.path] = Redirect(f"{other}{elsewhere.path}", times=1)
    harvest = add_source(
        fdp.source_url, headers={"Authorization": {"env": "FDP_TOKEN"}}, allowed_hosts=["127.0.0.2"]
    )
    with caplog.at_level("DEBUG"):
        job = harvest.run()
    assert refused.seen == 0, "the server saw a request without the header"
    assert job.stats["added"] == 2
    assert f"{fdp.iri_of(fails)}: The server does not return it (400)" in job.errors
    away = [one for one in fdp.requests if one.host.startswith("127.0.0.2")]
    assert away
    assert not any("Authorization" in one.headers for one in away), "sent to another host"

    monkeypatch.delenv("FDP_TOKEN")
    failed = harvest.run()
    (words,) = failed.errors
    assert words == (
        'The configuration of the source has a mistake: "headers": Authorization takes its value from '
        "the environment variable FDP_TOKEN, which is not set for this process"
    )
    assert failed.stats["deleted"] == 0
    assert len(harvest.datasets()) == 2

    client = app.test_client()
    source_id = harvest.source["id"]
    told = [
        client.get(f"/api/3/action/{path}").get_data(as_text=True)
        for path in (
            f"package_show?id={source_id}",
            "package_search?fq=dataset_type:harvest",
            "package_search",
            f"harvest_source_show?id={source_id}",
            "harvest_source_list",
            f"harvest_job_report?id={job.id}",
            f"harvest_job_list?source_id={source_id}",
        )
    ]
    assert "FDP_TOKEN" in told[0]
    assert not [text for text in told if SECRET in text]
    assert SECRET not in json.dumps([job.errors, failed.errors])
    assert SECRET not in caplog.text
    for table in ("harvest_object", "harvest_object_extra", "freshness_harvest_document"):
        rows = model.Session.execute(sa.text(f"SELECT {table}::text FROM {table}"))
        assert not [row for row in rows if SECRET in row[0]]
