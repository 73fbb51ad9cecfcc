"""The broken links that are in use, in SQL."""

from __future__ import annotations

from ..checking.selection import IS_BROKEN

NEWEST_BROKEN = f"""
SELECT c.resource_id, c.package_id, c.failing_since, c.failures FROM freshness_check c
WHERE c.failing_since IS NOT NULL AND CASE WHEN {IS_BROKEN} THEN true END"""
"""SQL: the broken links, whether in use or not. Two partial indexes have all that it reads, in order
of ``failing_since`` and of ``failures``.

PostgreSQL expects few links to meet the condition, and would then read all failing ones with their large rows.
CASE hides the condition from its estimates.
"""


def broken_links(packages: str = "package") -> str:
    """Return SQL for the broken links ``n`` in use, checks ``c``, resources ``r``, packages ``p``.

    :param packages: the table of the packages
    """
    return f"""({NEWEST_BROKEN}) n
JOIN {packages} p ON p.id = n.package_id
JOIN freshness_check c ON c.resource_id = n.resource_id
JOIN resource r ON r.id = n.resource_id AND r.state = 'active' AND CASE WHEN r.url = c.url THEN true END"""


IS_IN_USE = """(
    SELECT r.url = k.url AND r.state = 'active'
    FROM freshness_check k JOIN resource r ON r.id = k.resource_id WHERE k.resource_id = c.resource_id
)"""
"""SQL: whether the link of a row ``c`` is in use, looked up alone. A join could read all resources."""
