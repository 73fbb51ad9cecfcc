"""What is known of the links of resources: results of checks, in words, and last known good copies.

:func:`of_dataset` has what the page of a dataset shows; :func:`show` has the few facts that CKAN's own actions
    show about each resource under the key :data:`KEY`. Both are read on each call and never stored. Search
    results have no facts: to read them would take half as long again as the whole search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from .. import settings
from ..checking import check_rows, formats, selection
from ..checking.checkers import checked_elsewhere
from ..checking.decisions import UNOPENED, Outcome, outcomes_that
from ..checking.selection import LeftOut, SelectionRules, left_out
from ..ckan_adapter import database
from ..ckan_adapter.core import model
from ..dates import utc_text
from ..model.runs import FAILURES, IS_HERE
from ..translation import NN_
from ..web.urls import display_link, host_of
from . import labels
from .labels import counted, label

COPY_KEYS = ("cached_url", "cached_zip_url", "cached_at", "cached_size")
MOST = 100
"""Resources to show, since some datasets have thousands."""

FIELDS = (
    *("id", "name", "url", "format", "state", "explanation", "tried_at", "outcome", "status"),
    *("words", "final_url", "promised", "found", "failures", "failing_since", "failed_at"),
    *("succeeded_at", "changed_at", *COPY_KEYS),
)
"""Keys of a link, as :func:`of_dataset` returns it."""

_NEVER = (LeftOut.ARCHIVED, LeftOut.REQUESTABLE)
"""Reasons of a dataset why its links are not checked."""


def of_dataset(package_id: str, now: datetime, *, every: bool = False) -> dict[str, Any]:
    """Return the results for a dataset's URLs, failing ones first, as ``freshness_show`` shows them.

    :param now: the current time, aware
    :param every: whether to return all resources instead of the first :data:`MOST`
    """
    checks = settings.checks()
    rows = _rows(_OF_DATASETS, [package_id], None if every else MOST)
    candidates = {
        row.resource_id: row for row in check_rows.stream(now, checks, package_ids=[package_id])
    }
    resources = []
    for row in rows:
        candidate = candidates.get(row.id)
        never = _never_checked(row, checks.rules)
        if candidate is not None and (reason := left_out(candidate, checks.rules)) in _NEVER:
            never = reason.value
        resources.append(_link(row, never))
    return {"total": rows[0].total if rows else 0, "resources": resources}


def of_resource(resource_id: str) -> dict[str, Any] | None:
    """Return the result for a resource's URL; None if it is no active resource."""
    rules = settings.checks().rules
    for row in _rows(_OF_RESOURCES, [resource_id]):
        return _link(row, _never_checked(row, rules))
    return None


def is_broken(row: Any) -> bool:
    """Decide whether a URL has failed so often and so long that it is broken.

    :param row: a row of ``freshness_check``
    """
    return selection.is_broken(row.failures, row.failing_since, row.failed_at)


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


def _link(row: Any, never: str | None) -> dict[str, Any]:
    attempts = row.attempts or []
    newest = attempts[0] if attempts else {}
    outcome, failures = newest.get("outcome"), row.failures or 0
    state = state_of(outcome, failures, is_broken=is_broken(row), never=never)
    return {
        "id": row.id,
        "name": row.name or "",
        "url": display_link(row.url or ""),
        "format": row.format or "",
        "state": state,
        "explanation": " ".join(
            (
                explanation(state, attempts, failures, row.failing_since, never),
                *(_notes(newest, row) if state == "works" else ()),
            )
        ),
        "tried_at": utc_text(row.tried_at),
        **{key: newest.get(key) for key in ("outcome", "status", "words", "final_url")},
        **mismatch(row, row.format, row.mimetype),
        "failures": failures,
        "failing_since": utc_text(row.failing_since),
        "failed_at": utc_text(row.failed_at),
        "succeeded_at": utc_text(row.succeeded_at),
        "changed_at": utc_text(row.changed_at),
        **_copy(row),
    }


def state_of(outcome: str | None, failures: int, *, is_broken: bool, never: str | None) -> str:
    """Return the state of a link, a key of :data:`.labels.LINKS`.

    :param outcome: of the last check; None if there was none
    :param failures: failed checks since the last success
    :param never: why the link is never checked; None if it is
    """
    if never == LeftOut.INTERNAL.value:
        return "internal"
    if is_broken:
        return "broken"
    if failures:
        return "failing"
    if never:
        return "excluded"
    if outcome is None:
        return "waiting"
    # An error that does not count is one of ours.
    return "unchecked" if outcome in UNCHECKED else "works"


UNCHECKED = outcomes_that(lambda traits: not traits.found)


def _never_checked(row: Any, rules: SelectionRules) -> str | None:
    """Return the reason why no run ever checks this URL, whatever its dataset; None if there is none."""
    if row.is_here:
        return LeftOut.INTERNAL.value
    is_ad_hoc = host_of(row.url or "") in rules.adhoc_hosts
    return LeftOut.AD_HOC.value if is_ad_hoc else None


# PostgreSQL plans a lateral join without a limit as a plain join.
_LINKS = f"""
SELECT {{columns}}
FROM resource r
LEFT JOIN LATERAL ({{elsewhere}}
    SELECT k.tried_at, {FAILURES.format(row="k")}, k.failed_at, k.succeeded_at,
        greatest(k.changed_at, k.change_seen_at), k.undetermined, k.attempts, k.promised, k.found,
        k.known -> 'dates_lie'
    FROM freshness_check k WHERE k.resource_id = r.id AND k.url = r.url
    {{limit}}
) c (tried_at, failures, failing_since, failed_at, succeeded_at, changed_at, undetermined, attempts, promised,
    found, dates_lie) ON true
LEFT JOIN freshness_copy o ON o.resource_id = r.id AND o.key IS NOT NULL
WHERE {{which}} AND r.state = 'active'"""
_ALL = f"""r.id, r.package_id, r.name, r.url, {IS_HERE} AS is_here, r.format, r.mimetype, c.*,
    o.key, o.zip_key, o.verified_at, o.size AS copy_size, count(*) OVER () AS total"""
_ORDER = """
ORDER BY coalesce(c.failures, 0) DESC, c.undetermined IS NULL, r.position, r.id
LIMIT :most"""
_OF_FACTS = """r.id, r.package_id, c.tried_at, c.failures, c.failing_since, c.failed_at,
    c.attempts -> 0 ->> 'outcome' AS outcome, o.key, o.zip_key, o.verified_at, o.size AS copy_size"""

_ELSEWHERE = """(SELECT o.tried_at, o.failures, o.failing_since, o.failed_at, o.succeeded_at, o.changed_at,
        CAST(NULL AS text), o.attempts, CAST(NULL AS text), CAST(NULL AS text), CAST(NULL AS jsonb)
    FROM ({links}) o WHERE o.resource_id = r.id AND o.tried_at IS NOT NULL)
    UNION ALL"""
_OF_DATASETS = "r.package_id = ANY(:ids)"
_OF_RESOURCES = "r.id = ANY(:ids)"


def _rows(which: str, ids: Sequence[str | None], most: int | None = None) -> list[Any]:
    """Return the active resources of some datasets, or with some ids, with their checks and copies."""
    values = {"ids": list(ids), "most": most}
    return list(model.Session.execute(database.statement(_links(_ALL, which) + _ORDER), values))


def _links(columns: str, which: str) -> str:
    links = checked_elsewhere()
    elsewhere = "" if links is None else _ELSEWHERE.format(links=links)
    limit = "LIMIT 1" if links else ""
    return _LINKS.format(columns=columns, elsewhere=elsewhere, which=which, limit=limit)


# Copies: their URLs, which are never stored, their date and their size.


def _copy(row: Any) -> dict[str, Any]:
    """Return the values of :data:`COPY_KEYS`; None for each if there is no copy."""
    if row.key is None:
        return dict.fromkeys(COPY_KEYS)
    url = copy_url(row.package_id, row.id)
    zip_url = None if row.zip_key is None else f"{url}.zip"
    values = (url, zip_url, utc_text(row.verified_at), row.copy_size)
    return dict(zip(COPY_KEYS, values, strict=True))


def copy_url(package_id: str, resource_id: str, site: str | None = None) -> str:
    """Return the URL of a copy.

    :param site: the result of :func:`..settings.site_url`, to compute it only once for many copies
    """
    return f"{site or settings.site_url()}/dataset/{package_id}/resource/{resource_id}/copy"


# Why a link has its state.


def explanation(
    state: str,
    attempts: Sequence[Mapping[str, Any]],
    failures: int,
    failing_since: Any,
    never: str | None = None,
) -> str:
    """Return why a link has its state, in one or two sentences.

    :param attempts: the last checks, the newest first
    :param failing_since: when it began to fail
    :param never: why it is never checked; None if it is
    """
    if failures:
        since = labels.in_words(failing_since, "day")
        forms = _BROKEN if state == "broken" else _FAILING
        problem = labels.link_problem(last_failure(attempts))
        return f"{problem} {counted(forms, failures, since=since)}"
    if never:
        return label("not checked", never)
    if not attempts:
        return str(tk._("One of the next nightly runs checks it."))
    if state == "unchecked" or attempts[0].get("reason") == UNOPENED:
        return labels.link_problem(attempts[0])
    return label("outcome", attempts[0]["outcome"])


def _notes(check: Mapping[str, Any], row: Any) -> Iterator[str]:
    """Yield what else people should know of a link that works."""
    if check.get("outdated_tls"):
        yield str(tk._("The server supports only outdated encryption."))
    if row.dates_lie:
        yield str(
            tk._(
                "The server changes the file's date even if the file stays the same. We compare its "
                "contents instead."
            )
        )


def last_failure(attempts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the last check that failed. Checks after it may have been blocked.

    :param attempts: the last checks, the newest first
    """
    failed = [one for one in attempts if one.get("outcome") == Outcome.ERROR.value]
    return next(iter(failed or attempts), {})


_BROKEN = NN_(
    "It has failed since {since}, {count} check.",
    "It has failed since {since}, {count} checks in a row.",
)
_FAILING = NN_(
    "It failed on {since}. We check it again before we call it broken.",
    "It has failed since {since}, {count} checks in a row. We check it again before we call it "
    "broken.",
)


# The facts that CKAN's actions show.

KEY = "freshness_check"

_is_writing: ContextVar[bool] = ContextVar("freshness_is_writing", default=False)


@contextmanager
def hidden() -> Iterator[None]:
    """Show no facts within this block.

    CKAN 2.12 compares the package it writes with the result of ``package_show``. The facts would look like
    a change.
    """
    token = _is_writing.set(True)
    try:
        yield
    finally:
        _is_writing.reset(token)


def show(package: Mapping[str, Any], context: Mapping[str, Any]) -> None:
    """Add the facts about each resource's URL to a package.

    Packages for the index and for activities get no facts, since these are true only at the moment.

    :param context: the context of ``package_show``
    """
    resources = {
        resource["id"]: resource
        for resource in package.get("resources") or ()
        if isinstance(resource, dict) and "id" in resource
    }
    for resource in resources.values():
        resource.pop(KEY, None)
    if resources and not _is_writing.get() and _is_for_reading(context):
        _add_facts(package["id"], resources)


@database.skip_without_tables
def _add_facts(package_id: str, resources: Mapping[str, dict[str, Any]]) -> None:
    for row in _facts([package_id]):
        if row.id in resources:
            resources[row.id][KEY] = {
                "checked_at": utc_text(row.tried_at),
                "outcome": row.outcome,
                "broken_since": utc_text(row.failing_since) if is_broken(row) else None,
                **_copy(row),
            }


def with_broken_link(package_ids: Iterable[str]) -> set[str]:
    """Return the ids of the datasets that have a broken link."""
    if database.missing_tables():
        return set()
    # Few datasets have a link that fails, and the facts of all others take five times as long.
    failing = model.Session.execute(_failing(), {"ids": list(package_ids)})
    ids = {row.package_id for row in failing}
    return {row.package_id for row in _facts(list(ids)) if is_broken(row)} if ids else set()


def _facts(package_ids: Sequence[str]) -> Iterable[Any]:
    known = "(c.tried_at IS NOT NULL OR o.key IS NOT NULL)"
    statement = database.statement(_links(_OF_FACTS, f"{_OF_DATASETS} AND {known}"))
    found: Iterable[Any] = model.Session.execute(statement, {"ids": package_ids})
    return found


def _failing() -> sa.TextClause:
    """Return SQL of the datasets with a link that fails."""
    elsewhere = checked_elsewhere()
    others = f"""UNION ALL SELECT r.package_id FROM ({elsewhere}) o JOIN resource r ON r.id = o.resource_id
        WHERE r.package_id = ANY(:ids) AND o.failures > 0"""
    return database.statement(f"""
SELECT package_id FROM freshness_check WHERE package_id = ANY(:ids) AND failing_since IS NOT NULL
{others if elsewhere else ""}""")


def _is_for_reading(context: Mapping[str, Any]) -> bool:
    # Index updates switch validation off. The activity plugin sets for_view to False.
    return context.get("validate", True) and context.get("for_view") is not False


def without(data_dict: Mapping[str, Any]) -> dict[str, Any]:
    """Return a package without the facts, which callers send back with the package that they have read."""
    resources = data_dict.get("resources")
    if not isinstance(resources, list):
        return dict(data_dict)
    return {**data_dict, "resources": list(_without(resources))}


def _without(resources: Iterable[Any]) -> Iterator[Any]:
    for resource in resources:
        if isinstance(resource, dict) and KEY in resource:
            yield {key: value for key, value in resource.items() if key != KEY}
        else:
            yield resource


def write(
    original: Callable[..., Any], context: dict[str, Any], data_dict: Mapping[str, Any]
) -> Any:
    """Call an action that writes a package, without the facts in any of its arguments."""
    if context.get("original_package"):
        context["original_package"] = without(context["original_package"])
    with hidden():
        return original(context, without(data_dict))
