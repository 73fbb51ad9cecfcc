"""What is known of the links of resources: results of checks, in words, and last known good copies.

:func:`of_dataset` has what the page of a dataset shows; :func:`show` has the few facts that CKAN's own actions
    show about each resource under the key :data:`KEY`. Both are read on each call and never stored. Search
    results have no facts: to read them would take half as long again as the whole search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import ckan.plugins.toolkit as tk

from .. import settings
from ..checking import formats
from ..checking.check_rows import REQUESTABLE_KEYS
from ..checking.checkers import checked_elsewhere
from ..checking.decisions import UNOPENED, Outcome, outcomes_that
from ..checking.selection import IS_BROKEN, LeftOut
from ..ckan_adapter import database
from ..ckan_adapter.core import model
from ..ckan_adapter.packages import EXTRA, IS_TRUE
from ..dates import utc_text
from ..model.runs import FAILURES, IS_HERE
from ..translation import NN_
from ..web.urls import display_link
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

# The first run gives links their rows, with the host.
HOST = "coalesce(c.host, lower(substring(r.url FROM '^\\w+\\://(?:[^/@]*@)?([^/\\:?#]+)')), '')"
"""SQL: the host of a link."""


def _any_is_true(keys: Sequence[str]) -> str:
    return " OR ".join(IS_TRUE.format(EXTRA.format(key=f"'{key}'")) for key in keys)


_NEVER = f"""CASE
    WHEN {IS_HERE} THEN '{LeftOut.INTERNAL.value}'
    WHEN {_any_is_true(settings.ARCHIVED_KEYS)} THEN '{LeftOut.ARCHIVED.value}'
    WHEN {_any_is_true(REQUESTABLE_KEYS)} THEN '{LeftOut.REQUESTABLE.value}'
    WHEN {HOST} = ANY(:adhoc) THEN '{LeftOut.AD_HOC.value}' END"""
"""SQL: why no run ever checks a link, as :func:`..checking.selection.left_out` says it; NULL if runs do."""
STATE = f"""CASE
    WHEN {IS_HERE} THEN 'internal'
    WHEN {{is_elsewhere}} THEN 'elsewhere'
    WHEN {IS_BROKEN} THEN 'broken'
    WHEN c.failed_at IS NOT NULL AND c.failures > 0 THEN 'failing'
    WHEN {_NEVER} IS NOT NULL THEN 'excluded'
    WHEN c.tried_at IS NULL THEN 'waiting'
    WHEN c.attempts -> 0 ->> 'outcome' = ANY(:unclear) THEN 'unchecked'
    ELSE 'works' END"""
"""SQL: the state of a link, a key of :data:`.labels.LINKS`, of the resource ``r`` of the package ``p`` with the
check ``c``."""


def state_values() -> dict[str, Any]:
    """Return the values of the placeholders in :data:`STATE`."""
    return {
        "adhoc": sorted(settings.adhoc_hosts()),
        # An error that does not count is one of ours.
        "unclear": sorted(outcomes_that(lambda traits: not traits.found)),
    }


def of_dataset(package_id: str, *, every: bool = False) -> dict[str, Any]:
    """Return the results for a dataset's URLs, failing ones first, as ``freshness_show`` shows them.

    :param every: whether to return all resources instead of the first :data:`MOST`
    """
    rows = _rows("r.package_id = ANY(:ids)", [package_id], None if every else MOST)
    return {"total": rows[0].total if rows else 0, "resources": [_link(row) for row in rows]}


def of_resource(resource_id: str) -> dict[str, Any] | None:
    """Return the result for a resource's URL; None if it is no active resource."""
    return next(map(_link, _rows("r.id = ANY(:ids)", [resource_id])), None)


def _link(row: Any) -> dict[str, Any]:
    attempts = row.attempts or []
    newest = attempts[0] if attempts else {}
    failures = row.failures or 0
    # After the format was corrected, nothing is known until the next check.
    is_as_checked = row.promised == formats.promise(row.format, row.mimetype).name
    return {
        "id": row.id,
        "name": row.name or "",
        "url": display_link(row.url or ""),
        "format": row.format or "",
        "state": row.state,
        "explanation": " ".join(
            (
                explanation(row.state, attempts, failures, row.failing_since, row.never),
                *(_notes(newest, row) if row.state == "works" else ()),
            )
        ),
        "tried_at": utc_text(row.tried_at),
        **{key: newest.get(key) for key in ("outcome", "status", "words", "final_url")},
        "promised": row.promised if is_as_checked else None,
        "found": row.found if is_as_checked else None,
        "failures": failures,
        "failing_since": utc_text(row.failing_since),
        "failed_at": utc_text(row.failed_at),
        "succeeded_at": utc_text(row.succeeded_at),
        "changed_at": utc_text(row.changed_at),
        **_copy(row),
    }


# PostgreSQL plans a lateral join without a limit as a plain join.
_LINKS = f"""
SELECT {{columns}}
FROM resource r JOIN package p ON p.id = r.package_id
LEFT JOIN LATERAL ({{elsewhere}}
    SELECT k.host, k.tried_at, {FAILURES.format(row="k")}, k.failed_at, k.succeeded_at,
        greatest(k.changed_at, k.change_seen_at), k.undetermined, k.attempts, k.promised, k.found,
        k.known -> 'dates_lie'
    FROM freshness_check k WHERE k.resource_id = r.id AND k.url = r.url
    {{limit}}
) c (host, tried_at, failures, failing_since, failed_at, succeeded_at, changed_at, undetermined, attempts,
    promised, found, dates_lie) ON true
LEFT JOIN freshness_copy o ON o.resource_id = r.id AND o.key IS NOT NULL
WHERE {{which}} AND r.state = 'active'"""
_ALL = f"""r.id, r.package_id, r.name, r.url, {IS_HERE} AS is_here, r.format, r.mimetype, c.*,
    o.key, o.zip_key, o.verified_at, o.size AS copy_size, count(*) OVER () AS total,
    {_NEVER} AS never, {STATE.format(is_elsewhere="false")} AS state"""
_ORDER = """
ORDER BY coalesce(c.failures, 0) DESC, c.undetermined IS NULL, r.position, r.id
LIMIT :most"""
_OF_FACTS = f"""r.id, r.package_id, c.tried_at, CASE WHEN {IS_BROKEN} THEN c.failing_since END AS broken_since,
    c.attempts -> 0 ->> 'outcome' AS outcome, o.key, o.zip_key, o.verified_at, o.size AS copy_size"""

_ELSEWHERE = """(SELECT CAST(NULL AS text), o.tried_at, o.failures, o.failing_since, o.failed_at,
        o.succeeded_at, o.changed_at, CAST(NULL AS text), o.attempts, CAST(NULL AS text), CAST(NULL AS text),
        CAST(NULL AS jsonb)
    FROM ({links}) o WHERE o.resource_id = r.id AND o.tried_at IS NOT NULL)
    UNION ALL"""


def _rows(which: str, ids: Sequence[str | None], most: int | None = None) -> list[Any]:
    """Return the active resources of some datasets, or with some ids, with their checks and copies."""
    values = {**state_values(), "ids": list(ids), "most": most}
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
    known = "r.package_id = :id AND (c.tried_at IS NOT NULL OR o.key IS NOT NULL)"
    statement = database.statement(_links(_OF_FACTS, known))
    for row in model.Session.execute(statement, {"id": package_id}):
        if row.id in resources:
            resources[row.id][KEY] = {
                "checked_at": utc_text(row.tried_at),
                "outcome": row.outcome,
                "broken_since": utc_text(row.broken_since),
                **_copy(row),
            }


def with_broken_link(package_ids: Iterable[str]) -> set[str]:
    """Return the ids of the datasets that have a broken link."""
    if database.missing_tables():
        return set()
    is_broken, joined = IS_BROKEN, ""
    if elsewhere := checked_elsewhere():
        is_broken = f"CASE WHEN e.resource_id IS NULL THEN {IS_BROKEN} ELSE e.is_broken END"
        joined = f"""LEFT JOIN LATERAL (
    SELECT c.resource_id, {IS_BROKEN} AS is_broken FROM ({elsewhere}) c
    WHERE c.resource_id = r.id AND c.tried_at IS NOT NULL
) e ON true"""
    # Without the packages of the checks, PostgreSQL reads the broken links of the whole site.
    statement = database.statement(f"""
SELECT r.package_id FROM resource r
LEFT JOIN freshness_check c ON c.package_id = ANY(:ids) AND c.resource_id = r.id AND c.url = r.url {joined}
WHERE r.package_id = ANY(:ids) AND r.state = 'active' AND {is_broken}""")
    return set(model.Session.execute(statement, {"ids": list(package_ids)}).scalars())


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
