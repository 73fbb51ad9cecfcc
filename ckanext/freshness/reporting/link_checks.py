"""Results of the last checks of a dataset's URLs, for people, and the last known good copies of their files."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from dateutil.parser import isoparse

from .. import settings
from ..checking import check_rows, formats, selection
from ..checking.decisions import Outcome
from ..checking.selection import Candidate, NextCheck, SelectionReason, SelectionRules
from ..ckan_adapter.core import model
from ..dates import utc, utc_text
from ..model.runs import LAST_CYCLE_CHECK
from ..web.urls import display_url, host_of

MOST = 100
"""Resources to show, since some datasets have thousands."""

_ATTEMPT = ("at", "outcome", "status", "reason", "words", "final_url", "why", "every_days")

_NEVER = (SelectionReason.ARCHIVED, SelectionReason.REQUESTABLE)
"""Reasons of a dataset why its links are not checked."""


def of_dataset(package_id: str, now: datetime, *, every: bool = False) -> dict[str, Any]:
    """Return the results for a dataset's URLs, failing ones first, as ``freshness_show`` shows them.

    :param now: the current time, aware
    :param every: whether to return all resources instead of the first :data:`MOST`
    """
    checks = settings.checks()
    rows = model.Session.execute(
        sa.text(_RESOURCES.format(which="r.package_id = :id")),
        {"id": package_id, "most": None if every else MOST},
    ).all()
    moment = utc(now)
    candidates = {
        row.resource_id: row for row in check_rows.stream(now, checks, package_ids=[package_id])
    }
    copies = copies_of([row.id for row in rows])
    resources = []
    for row in rows:
        candidate = candidates.get(row.id)
        never = _never_checked(row, candidate, moment, checks.rules)
        coming = candidate and selection.next_check(candidate, moment, checks.rules)
        shown = {**_resource(row, checks, never), **_coming(coming)}
        resources.append({**shown, **copies.get(row.id, dict.fromkeys(COPY_KEYS))})
    return {"total": rows[0].total if rows else 0, "resources": resources}


def of_resource(resource_id: str) -> dict[str, Any] | None:
    """Return the result for a resource's URL, without its next check; None if it is no active resource."""
    checks = settings.checks()
    row = model.Session.execute(
        sa.text(_RESOURCES.format(which="r.id = :id")), {"id": resource_id, "most": 1}
    ).first()
    if row is None:
        return None
    copies = copies_of([row.id])
    return {
        **_resource(row, checks, _never_checked(row, None, None, checks.rules)),
        **copies.get(row.id, dict.fromkeys(COPY_KEYS)),
    }


def _coming(coming: NextCheck | None) -> dict[str, Any]:
    return {"next_visit": None if coming is None else utc_text(coming.at)}


def is_broken(row: Any, rule: settings.BrokenRule | settings.Checks) -> bool:
    """Decide by the site's options whether a URL has failed so often and so long that it is broken.

    :param row: a row of ``freshness_check``
    """
    return selection.is_broken(
        row.failures,
        row.failing_since,
        row.failed_at,
        least_failures=rule.broken_after_failures,
        least_span=rule.broken_after,
    )


def mismatch(row: Any, format_: str | None, mimetype: str | None) -> dict[str, str | None]:
    """Return the promised format and the kind of file that came instead; None for both if the file fits.

    After the format was corrected, the result is None until the next check.

    :param row: a row of ``freshness_check``; None if there is none
    :param format_: the resource's present format
    :param mimetype: the resource's present media type
    """
    if row is None or row.promised != formats.promise(format_, mimetype).name:
        return {"promised": None, "found": None}
    return {"promised": row.promised, "found": row.found}


def _resource(row: Any, checks: settings.Checks, never: str | None) -> dict[str, Any]:
    attempts = [
        _cycle_attempt(one) if row.by_cycle else {key: one.get(key) for key in _ATTEMPT}
        for one in row.attempts or []
    ]
    newest = attempts[0] if attempts else dict.fromkeys(_ATTEMPT)
    return {
        "id": row.id,
        "name": row.name or "",
        "url": display_url(row.url or ""),
        "format": row.format or "",
        "not_visited": never,
        "tried_at": utc_text(row.tried_at),
        **{key: newest[key] for key in _ATTEMPT if key != "at"},
        "broken": (broken := row.failures is not None and is_broken(row, checks)),
        "state": state_of(newest["outcome"], row.failures or 0, broken=broken, never=never),
        **mismatch(row, row.format, row.mimetype),
        "failures": row.failures or 0,
        "failing_since": utc_text(row.failing_since),
        "succeeded_at": utc_text(row.succeeded_at),
        "changed_at": utc_text(row.changed_at),
        "undetermined": row.undetermined,
        "attempts": attempts,
        "strip": _strip(attempts) if row.by_cycle else row.strip or "",
    }


def _cycle_attempt(attempt: Mapping[str, Any]) -> dict[str, Any]:
    """Return an attempt of an update cycle in the form of a check."""
    error = attempt["error_details"]
    if error is None:
        outcome = "downloaded" if attempt["method"] == "GET" else "verified"
        reason = words = None
    else:
        outcome, reason, words = "error", error["error_type"], error["detailed_message"]
    at = utc_text(isoparse(attempt["datetime"]))
    values = (at, outcome, attempt["http_status"], reason, words, None, None, None)
    return dict(zip(_ATTEMPT, values, strict=True))


def _strip(attempts: list[dict[str, Any]]) -> str:
    """Return attempts of update cycles, the newest first, as a strip."""
    return "".join("f" if one["outcome"] == "error" else "w" for one in reversed(attempts))


def state_of(outcome: str | None, failures: int, *, broken: bool, never: str | None) -> str:
    """Return the state of a link, a key of :data:`.display.LINKS`.

    :param outcome: of the last check; None if there was none
    :param failures: failed checks since the last success
    :param never: why the link is never checked; None if it is
    """
    if never == SelectionReason.INTERNAL.value:
        return "internal"
    if broken:
        return "broken"
    if failures:
        return "failing"
    if never:
        return "excluded"
    if outcome == Outcome.CANNOT_TELL.value:
        return "unchecked"
    return "waiting" if outcome is None else "works"


def _never_checked(
    row: Any, candidate: Candidate | None, now: datetime | None, rules: SelectionRules
) -> str | None:
    """Return the reason why a resource's URL is never checked; None if it is.

    :param candidate: None if no run has seen the resource: then its URL alone counts
    """
    if candidate is not None and now is not None:
        reason = selection.choose(candidate, now, rules)
        if reason in _NEVER:
            return reason.value
    host = host_of(row.url or "")
    if row.url_type == "upload" or host in rules.internal_hosts:
        return SelectionReason.INTERNAL.value
    return SelectionReason.AD_HOC.value if host in rules.adhoc_hosts else None


_CHECK = """SELECT false, k.tried_at, k.failures, k.failing_since, k.failed_at, k.succeeded_at,
        k.changed_at, k.undetermined, k.attempts, k.strip, k.promised, k.found
    FROM freshness_check k WHERE k.package_id = r.package_id AND k.url = r.url"""

# CKAN gives a resource that was written without its id a new one. Its URL is the same. Looking for its own row
# first keeps the time from growing with the square of the number of resources. Update cycles check some files.
_RESOURCES = f"""
SELECT r.id, r.package_id, r.name, r.url, r.url_type, r.format, r.mimetype, c.*, count(*) OVER () AS total
FROM resource r
LEFT JOIN LATERAL ({LAST_CYCLE_CHECK}
    UNION ALL
    ({_CHECK} AND k.resource_id = r.id)
    UNION ALL
    ({_CHECK} ORDER BY k.resource_id LIMIT 1)
    LIMIT 1
) c ON true
WHERE {{which}} AND r.state = 'active'
ORDER BY coalesce(c.failures, 0) DESC, c.undetermined IS NULL, r.position, r.id
LIMIT :most"""


# Copies: their URLs, which are never stored, their date and their size.

CACHED_URL = "cached_url"
CACHED_ZIP_URL = "cached_zip_url"
CACHED_AT = "cached_at"
CACHED_SIZE = "cached_size"
COPY_KEYS = (CACHED_URL, CACHED_ZIP_URL, CACHED_AT, CACHED_SIZE)

COPY_COLUMNS = "c.zip_key, c.verified_at, c.size AS copy_size"
"""What :func:`copy_shown` reads of a row ``c`` of ``freshness_copy``."""


def copies_of(resource_ids: list[str]) -> dict[str, dict[str, Any]]:
    """Return the copies by resource id; resources without a copy are absent."""
    if not resource_ids:
        return {}
    rows = model.Session.execute(sa.text(_COPIES), {"ids": resource_ids})
    return {row.id: copy_shown(row) for row in rows}


def copy_shown(row: Any) -> dict[str, Any]:
    """Return the values of :data:`COPY_KEYS` for a copy.

    :param row: ``id`` and ``package_id`` of the resource, and :data:`COPY_COLUMNS`
    """
    return {
        CACHED_URL: copy_url(row.package_id, row.id),
        CACHED_ZIP_URL: None if row.zip_key is None else copy_zip_url(row.package_id, row.id),
        CACHED_AT: utc_text(row.verified_at),
        CACHED_SIZE: row.copy_size,
    }


def copy_url(package_id: str, resource_id: str, site: str | None = None) -> str:
    """Return the URL of a copy.

    :param site: the result of :func:`site_url`, to compute it only once for many copies
    """
    return f"{site or site_url()}/dataset/{package_id}/resource/{resource_id}/copy"


def copy_zip_url(package_id: str, resource_id: str, site: str | None = None) -> str:
    """Return the URL of the ZIP of a copy, with the parameters of :func:`copy_url`."""
    return f"{copy_url(package_id, resource_id, site)}.zip"


def site_url() -> str:
    """Return the beginning of the site's URLs, without a slash at the end."""
    # url_for works only within requests, and adds the visitor's language.
    root = (tk.config.get("ckan.root_path") or "").replace("/{{LANG}}", "").rstrip("/")
    site = str(tk.config.get("ckan.site_url") or "").rstrip("/")
    return f"{site}{root}"


_COPIES = f"""
SELECT c.resource_id AS id, c.package_id, {COPY_COLUMNS} FROM freshness_copy c
WHERE c.resource_id = ANY(:ids) AND c.key IS NOT NULL"""
