"""The URLs of a resource's copy and of its ZIP, which are computed and never stored."""

from __future__ import annotations

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ..ckan_adapter import model

CACHED_URL = "cached_url"
CACHED_ZIP_URL = "cached_zip_url"
KEYS = (CACHED_URL, CACHED_ZIP_URL)


def urls(resource_ids: list[str]) -> dict[str, dict[str, str]]:
    """Return the URLs of the resources' copies by resource id; resources without a copy are absent."""
    if not resource_ids:
        return {}
    found = {}
    for row in model.Session.execute(sa.text(_COPIES), {"ids": resource_ids}):
        found[row.resource_id] = {CACHED_URL: url(row.package_id, row.resource_id)}
        if row.zip_key is not None:
            found[row.resource_id][CACHED_ZIP_URL] = zip_url(row.package_id, row.resource_id)
    return found


def url(package_id: str, resource_id: str, site: str | None = None) -> str:
    """Return the URL of a copy.

    :param site: the result of :func:`site_url`, to compute it only once for many copies
    """
    return f"{site or site_url()}/dataset/{package_id}/resource/{resource_id}/copy"


def zip_url(package_id: str, resource_id: str, site: str | None = None) -> str:
    """Return the URL of the ZIP of a copy, with the parameters of :func:`url`."""
    return f"{url(package_id, resource_id, site)}.zip"


def site_url() -> str:
    """Return the beginning of the site's URLs, without a slash at the end."""
    # url_for works only within requests, and adds the visitor's language.
    root = (tk.config.get("ckan.root_path") or "").replace("/{{LANG}}", "").rstrip("/")
    site = str(tk.config.get("ckan.site_url") or "").rstrip("/")
    return f"{site}{root}"


_COPIES = """
SELECT resource_id, package_id, zip_key FROM freshness_copy
WHERE resource_id = ANY(:ids) AND key IS NOT NULL"""
