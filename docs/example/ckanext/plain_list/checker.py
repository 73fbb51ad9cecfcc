"""The checker: it checks the links of one format by its own policy, and says what it found."""

import sqlalchemy as sa
from ckan import model

from ckanext.freshness import settings
from ckanext.freshness.dates import utc, utc_now
from ckanext.freshness.translation import N_
from ckanext.freshness.web.event_loop import run
from ckanext.freshness.web.hosts import Hosts

from .model import PlainLink
from .source_type import FORMAT

# A link belongs to this plugin before its first check, too: then there is no row of it.
CHECKED_LINKS = f"""
SELECT r.id AS resource_id, k.checked_at AS tried_at, CASE WHEN NOT k.is_there THEN 1 ELSE 0 END AS failures,
    CASE WHEN NOT k.is_there THEN k.checked_at END AS failing_since,
    CASE WHEN NOT k.is_there THEN k.checked_at END AS failed_at,
    CASE WHEN k.is_there THEN k.checked_at END AS succeeded_at, CAST(NULL AS timestamp) AS changed_at,
    CASE WHEN k.is_there THEN jsonb '[{{"outcome": "not modified"}}]'
        ELSE jsonb '[{{"outcome": "error", "reason": "not_there"}}]' END AS attempts
FROM resource r LEFT JOIN plain_list_link k ON k.resource_id = r.id
WHERE r.format = '{FORMAT}' AND r.state = 'active'"""

PROBLEMS = {"not_there": N_("The file is not there.")}

_LINKS = f"""
SELECT id, url FROM resource WHERE format = '{FORMAT}' AND state = 'active'
    AND (CAST(:package AS text) IS NULL OR package_id = :package)"""


def check(package_id=None):
    """Check the links of a dataset, or all of them, and return their number."""
    # Imported only by checks: web workers need no client of HTTP.
    from ckanext.freshness.web.client import Client

    from .policy import which_are_there

    links = dict(model.Session.execute(sa.text(_LINKS), {"package": package_id}).all())
    checks = settings.checks()
    web, hosts = settings.web(checks.limits), Hosts(checks.policy, checks.policies)

    async def ask():
        async with Client(web, hosts) as client:
            return await which_are_there(client, set(links.values()))

    found, now = run(ask), utc(utc_now())
    for resource_id, url in links.items():
        row = PlainLink(resource_id=resource_id, checked_at=now, is_there=found[url])
        model.Session.merge(row)
    model.Session.commit()
    return len(links)


def gone():
    """Return the number of links that were not there."""
    return model.Session.query(PlainLink).filter_by(is_there=False).count()
