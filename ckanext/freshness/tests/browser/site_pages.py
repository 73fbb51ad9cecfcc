"""The pages about freshness, for pictures of all and for the tests that look at all, and a browser for them."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass

READERS = ("anonymous", "editor", "admin", "sysadmin")
"""``admin`` administers the organizations of dataset and source; ``editor`` edits only the dataset."""


@dataclass(frozen=True, slots=True)
class SitePage:
    """A page.

    :ivar path: with the placeholders ``organization``, ``dataset``, ``gone`` (a dataset without a working
        link), ``resource``, ``harvested``, ``source``, ``hold``, ``iati_source``, ``job`` and ``job_source``
    :ivar readers: who may open it, of :data:`READERS`
    """

    name: str
    path: str
    readers: tuple[str, ...] = READERS


_EDITORS = ("editor", "admin", "sysadmin")
_ADMINS = ("admin", "sysadmin")
_SYSADMINS = ("sysadmin",)

SITE_PAGES = (
    SitePage("dashboard", "/freshness"),
    SitePage("statuses", "/freshness/statuses"),
    SitePage("organization", "/freshness/organization/{organization}"),
    SitePage("worklist", "/freshness/mine", _EDITORS),
    SitePage("mails", "/freshness/mails", _EDITORS),
    SitePage("datasets", "/freshness/datasets"),
    SitePage("needs-update", "/freshness/datasets?status=needs_update"),
    SitePage("due-soon", "/freshness/datasets?status=due_soon"),
    SitePage("changes", "/freshness/changes"),
    SitePage("data", "/freshness/data"),
    SitePage("links", "/freshness/links"),
    SitePage("broken-links", "/freshness/links?state=broken"),
    SitePage("broken-servers", "/freshness/links/servers"),
    SitePage("organizations", "/freshness/organizations"),
    SitePage("sources", "/freshness/sources"),
    SitePage("history", "/freshness/history"),
    SitePage("runs", "/freshness/runs", _SYSADMINS),
    SitePage("iati", "/iati"),
    SitePage("dataset", "/dataset/{dataset}/freshness"),
    SitePage("no-working-link", "/dataset/{gone}/freshness"),
    SitePage("dataset-page", "/dataset/{dataset}"),
    SitePage("resource-page", "/dataset/{dataset}/resource/{resource}"),
    SitePage("harvested", "/dataset/{harvested}"),
    SitePage("dataset-form", "/dataset/edit/{dataset}", _EDITORS),
    SitePage("resource-form", "/dataset/{dataset}/resource/{resource}/edit", _EDITORS),
    SitePage("search", "/dataset/?organization={organization}"),
    SitePage("harvest", "/harvest/"),
    SitePage("source-form", "/harvest/new", _EDITORS),
    SitePage("source", "/harvest/{source}"),
    SitePage("source-admin", "/harvest/admin/{source}", _ADMINS),
    SitePage("source-jobs", "/harvest/{source}/job", _ADMINS),
    SitePage("source-held", "/harvest/{source}/held", _ADMINS),
    SitePage("source-delete", "/harvest/{source}/held/delete?list_id={hold}", _ADMINS),
    SitePage("source-clear", "/harvest/{source}/clear", _ADMINS),
    SitePage("source-preview", "/harvest/{source}/preview", _ADMINS),
    SitePage("source-job", "/harvest/{job_source}/job/{job}", _ADMINS),
    SitePage("source-iati", "/harvest/{iati_source}"),
)


_PROGRAMS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


def chromium_program() -> str | None:
    """Return this machine's Chromium, or the program that FRESHNESS_TEST_BROWSER names; None without one."""
    found = os.environ.get("FRESHNESS_TEST_BROWSER")
    return found or next(filter(None, map(shutil.which, _PROGRAMS)), None)
