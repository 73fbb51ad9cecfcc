"""Checks whether PostgreSQL, Redis and Solr answer."""

from __future__ import annotations

import redis
import sqlalchemy as sa

from ..ckan_adapter.ckan_core import connect_to_redis, model, solr_answers
from ..ckan_adapter.harvest import harvest_queue_connection
from . import Need, SiteFinding, problem


def unavailable() -> tuple[Need, list[SiteFinding]]:
    """Return the services that do not answer, and a finding for each. No message contains a password."""
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
                "Start it, or correct sqlalchemy.url. The checks that need the database are skipped.",
            )
        )
    for text, connect, option in (
        ("Redis does not answer", connect_to_redis, "ckan.redis.url"),
        (
            "The Redis of the harvest queues does not answer",
            harvest_queue_connection,
            "ckan.harvest.mq.hostname and ckan.harvest.mq.port",
        ),
    ):
        try:
            connection = connect()
            if connection is not None:
                connection.ping()
        except redis.exceptions.RedisError:
            missing |= Need.REDIS
            findings.append(problem(text, f"Start it, or correct {option}."))
    if not solr_answers():
        missing |= Need.SOLR
        findings.append(
            problem(
                "Solr does not answer",
                "Start it, or correct solr_url. Afterwards, the next harvest job imports the records that "
                "failed meanwhile.",
            )
        )
    return missing, findings
