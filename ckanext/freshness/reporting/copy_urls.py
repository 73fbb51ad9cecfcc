"""A resource's copy as pages and the API show it: its URLs, which are never stored, its date and its size."""

from __future__ import annotations

from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ..ckan_adapter.ckan_core import model
from ..dates import utc_text

CACHED_URL = "cached_url"
CACHED_ZIP_URL = "cached_zip_url"
CACHED_AT = "cached_at"
CACHED_SIZE = "cached_size"
KEYS = (CACHED_URL, CACHED_ZIP_URL, CACHED_AT, CACHED_SIZE)

COLUMNS = "c.zip_key, c.verified_at, c.size AS copy_size"
"""What :func:`shown` reads of a row ``c`` of ``freshness_copy``."""


def of_resources(resource_ids: list[str]) -> dict[str, dict[str, Any]]:
    """Return the copies by resource id; resources without a copy are absent."""
    if not resource_ids:
        return {}
    rows = model.Session.execute(sa.text(_COPIES), {"ids": resource_ids})
    return {row.id: shown(row) for row in rows}


def shown(row: Any) -> dict[str, Any]:
    """Return the values of :data:`KEYS` for a copy.

    :param row: ``id`` and ``package_id`` of the resource, and :data:`COLUMNS`
    """
    return {
        CACHED_URL: url(row.package_id, row.id),
        CACHED_ZIP_URL: None if row.zip_key is None else zip_url(row.package_id, row.id),
        CACHED_AT: utc_text(row.verified_at),
        CACHED_SIZE: row.copy_size,
    }


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


_COPIES = f"""
SELECT c.resource_id AS id, c.package_id, {COLUMNS} FROM freshness_copy c
WHERE c.resource_id = ANY(:ids) AND c.key IS NOT NULL"""
