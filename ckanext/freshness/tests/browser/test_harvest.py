"""The pages of a harvest source for its editors, in a browser."""

from __future__ import annotations

from typing import Any

import pytest

from ckanext.freshness.tests.browser.test_report import findings
from ckanext.freshness.tests.harvesting.conftest import Harvest, clean_queues, clean_site, fdp
from ckanext.freshness.tests.harvesting.test_pages import (
    Browser,
    editor,
    harvest,
    held,
    path,
    source,
    work,
)

__all__ = ["clean_queues", "clean_site", "editor", "fdp", "harvest", "held", "source"]


@pytest.mark.usefixtures("clean_site", "clean_redis", "with_test_worker")
def test_axe_finds_nothing_serious(
    app: Any, editor: dict[str, Any], held: Harvest, request: pytest.FixtureRequest
) -> None:
    Browser(app, editor).post(path(held, "preview"))
    work()
    # Start the browser only now, because nothing can harvest beside Playwright's loop.
    page = request.getfixturevalue("page")
    page.context.set_extra_http_headers({"Authorization": editor["token"]})
    for name, heading in (("preview", "Would be held"), ("held", "Held deletions")):
        for width in (1200, 320):
            page.set_viewport_size({"width": width, "height": 700})
            assert page.goto(path(held, name)).status == 200
            assert page.get_by_role("heading", name=heading).count() == 1
            assert findings(page) == [], (name, width)
