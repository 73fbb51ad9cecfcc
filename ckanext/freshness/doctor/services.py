"""Whether PostgreSQL, Redis and Solr answer."""

from __future__ import annotations

import redis
import sqlalchemy as sa

from ..ckan_adapter import connect_to_redis, harvest_queue_connection, model, solr_answers
from . import Finding, Need, problem


def away() -> tuple[Need, list[Finding]]:
    """The services that do not answer, and what to say of them. Messages hold no passwords."""
    missing = Need.NOTHING
    findings = []
    try:
        model.Session.execute(sa.text("SELECT 1"))
        model.Session.rollback()
    except sa.exc.OperationalError:
        model.Session.rollback()
        missing |= Need.DATABASE
        findings.append(
            problem(
                "PostgreSQL does not answer",
                "Is it running, and is sqlalchemy.url right? Nothing else can be said without it.",
            )
        )
    for what, connect, option in (
        ("Redis does not answer", connect_to_redis, "ckan.redis.url"),
        (
            "The Redis of the harvest queues does not answer",
            harvest_queue_connection,
            "ckan.harvest.mq.hostname, ckan.harvest.mq.port",
        ),
    ):
        try:
            connection = connect()
            if connection is not None:
                connection.ping()
        except redis.exceptions.RedisError:
            missing |= Need.REDIS
            findings.append(problem(what, f"Is it running, and is {option} right?"))
    if not solr_answers():
        missing |= Need.SOLR
        findings.append(
            problem(
                "Solr does not answer",
                "Is it running, and is solr_url right? Harvested datasets are imported again by the "
                "next job once it does.",
            )
        )
    return missing, findings
