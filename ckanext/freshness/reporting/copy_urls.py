"""The two URLs of a resource's copy, which are computed each time and stored nowhere."""

from __future__ import annotations

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ..ckan_adapter import model

CACHED_URL = "cached_url"
CACHED_ZIP_URL = "cached_zip_url"
KEYS = (CACHED_URL, CACHED_ZIP_URL)


def urls(resource_ids: list[str]) -> dict[str, dict[str, str]]:
    """Where the copies of resources are, by the resource's id: of those that have one."""
    found = {}
    for resource_id, package_id, has_zip in _copies(resource_ids):
        found[resource_id] = {CACHED_URL: url(package_id, resource_id)}
        if has_zip:
            found[resource_id][CACHED_ZIP_URL] = zip_url(package_id, resource_id)
    return found


def url(package_id: str, resource_id: str, site: str | None = None) -> str:
    """Where a copy is downloaded.

    :param site: what :func:`site_url` says, where many are asked for
    """
    return f"{site or site_url()}/dataset/{package_id}/resource/{resource_id}/copy"


def zip_url(package_id: str, resource_id: str, site: str | None = None) -> str:
    """Where the ZIP of a copy is downloaded; likewise."""
    return f"{url(package_id, resource_id, site)}.zip"


def site_url() -> str:
    """With what the URLs of the site begin."""
    # Not url_for, which knows no site outside of requests, and speaks the visitor's language.
    root = (tk.config.get("ckan.root_path") or "").replace("/{{LANG}}", "").rstrip("/")
    site = str(tk.config.get("ckan.site_url") or "").rstrip("/")
    return f"{site}{root}"


def _copies(resource_ids: list[str]) -> list[tuple[str, str, bool]]:
    if not resource_ids:
        return []
    rows = model.Session.execute(sa.text(_COPIES), {"ids": resource_ids})
    return [(row.resource_id, row.package_id, row.zip_key is not None) for row in rows]


_COPIES = """
SELECT resource_id, package_id, zip_key FROM freshness_copy
WHERE resource_id = ANY(:ids) AND key IS NOT NULL"""
