"""The results of checks on a dataset's pages, in a browser."""

from __future__ import annotations

from typing import Any

import pytest

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.tests.browser.conftest import settle
from ckanext.freshness.tests.harvesting.harvested_site import work
from ckanext.freshness.tests.pages import test_links
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.file_host import FileHost
from ckanext.freshness.tests.web.support import FileServer


def make_world() -> dict[str, Any]:
    """Make another world than the tests of the pages have, which begin at an earlier moment."""
    return test_links.make_world()


pytestmark = pytest.mark.usefixtures("impatient_checks")


@pytest.mark.usefixtures("clean_queues")
def test_the_page_loads_itself_anew_when_the_check_has_ended(
    page: Any, world: dict[str, Any]
) -> None:
    page.context.set_extra_http_headers({"Authorization": world["editor"]["token"]})
    # CKAN itself is at 127.0.0.1, whose links are never checked.
    with FileHost(now=test_links.NOW, address="127.0.0.2") as host:
        test_links.make("asked", [{"url": f"{host.url}/stocks.csv"}], owner_org="relief")
        page.goto("/dataset/asked/freshness")
        settle(page)
        page.get_by_role("button", name="Check links now").click()
        page.get_by_text("A link check is requested.").wait_for()
        page.wait_for_load_state()
        assert page.get_by_text("Link works.").count() == 0
        work()
        model.Session.remove()
        page.get_by_text("Link works.").wait_for()
    page.get_by_role("button", name="Check links now").wait_for()


def test_an_address_is_tested_in_the_form_and_a_redirect_fills_the_field(
    page: Any, world: dict[str, Any]
) -> None:
    page.context.set_extra_http_headers({"Authorization": world["editor"]["token"]})
    with FileServer(address="127.0.0.2") as server:
        server.faults["/old.csv"] = faults.Redirect(to="/new.csv", code=301)
        made = test_links.make(
            "tested", [{"url": f"{server.url}/old.csv", "format": "CSV"}], owner_org="relief"
        )
        page.goto(f"/dataset/tested/resource/{made['resources'][0]['id']}/edit")
        # Without scripts, the buttons would send the form.
        settle(page)
        page.get_by_role("button", name="Test this link").click()
        page.get_by_text("The link works.").wait_for()
        settle(page)
        assert "Test this link" in page.evaluate("document.activeElement.innerText")
        page.get_by_role("button", name="Use this address").click()
        has_value = "url => document.querySelector('#resource-edit [name=url]').value === url"
        page.wait_for_function(has_value, arg=f"{server.url}/new.csv")
        settle(page)
        page.locator("#resource-edit [name=url]").fill("http://old.invalid/")
        page.get_by_role("button", name="Test this link").click()
        page.get_by_text("There is no server of this name.").wait_for()
