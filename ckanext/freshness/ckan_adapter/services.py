"""What a site stands on: services that do not answer, also while one of our commands starts, and plugins."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import ckan.plugins.toolkit as tk
import click
import pysolr
import redis
import sqlalchemy as sa
from ckan.lib.redis import connect_to_redis
from ckan.lib.search.common import make_connection

from .harvest import harvest_queue_connection

_TIMEOUT = 10
"""Seconds for a connection to PostgreSQL."""
_ERRORS = (sa.exc.OperationalError, redis.exceptions.RedisError, pysolr.SolrError, OSError)


def away() -> Iterator[tuple[str, str]]:
    """Yield, of each service that does not answer, that fact and what to do."""
    probes: list[tuple[str, str, Callable[[], Any]]] = [
        ("PostgreSQL", "sqlalchemy.url", _reach_postgresql),
        ("Redis", "ckan.redis.url", connect_to_redis().ping),
        ("Solr", "solr_url", _reach_solr),
    ]
    queues = harvest_queue_connection()
    if queues is not None and _place(queues) != _place(connect_to_redis()):
        name = "The Redis of the harvest queues"
        probes.append((name, "ckan.harvest.mq.hostname", queues.ping))
    for name, option, probe in probes:
        try:
            probe()
        except _ERRORS as error:
            yield _told(name, option, error)


def _told(name: str, option: str, error: BaseException) -> tuple[str, str]:
    """Return what is known of a service that does not answer, and what to do.

    :param option: the option with its address
    """
    return f"{name} does not answer: {in_words(error)}", f"Start it, or correct {option}."


def patient_redis_url() -> str:
    """Return ``ckan.redis.url`` with a time-out of a day, unless it has one.

    Connections of redis-py 8 time out after five quiet seconds, which ends idle consumers of ckanext-harvest.
    """
    url: str = tk.config["ckan.redis.url"]
    mark = "&" if "?" in url else "?"
    return url if "socket_timeout=" in url else f"{url}{mark}socket_timeout=86400"


def solr_answers() -> bool:
    """Return whether Solr answers. Unlike CKAN's function, log nothing."""
    try:
        _reach_solr()
    except _ERRORS:
        return False
    return True


def _reach_postgresql() -> None:
    # CKAN's own engine may not exist yet.
    options = {"connect_timeout": _TIMEOUT}
    engine = sa.create_engine(tk.config["sqlalchemy.url"], connect_args=options)
    engine.connect().close()
    engine.dispose()


def _reach_solr() -> None:
    make_connection().search("*:*", rows=0)


def _place(connection: Any) -> tuple[Any, Any]:
    known = connection.connection_pool.connection_kwargs
    return known.get("host"), known.get("port")


def in_words(error: BaseException) -> str:
    """Return the first line of the error of a service, without passwords.

    Those of Solr lack its address or have its password, and hide the cause in long texts.
    """
    where = ""
    if isinstance(error, sa.exc.DBAPIError):
        error = error.orig or error
    elif not isinstance(error, redis.exceptions.RedisError):
        where = f"{urlsplit(tk.config['solr_url']).netloc.rpartition('@')[2]}: "
        error = causes(error)[-1]
    return f"{where}{error}".strip().partition("\n")[0].rstrip(".")


def causes(error: BaseException) -> list[BaseException]:
    """Return an error and those that it hides, the first one last."""
    found = [error]
    while (cause := found[-1].__cause__ or found[-1].__context__) is not None:
        found.append(cause)
    return found


_SHOWN_BY_TEMPLATES = {
    "harvest": "the pages of harvest sources show neither previews nor held deletions",
    "scheming_datasets": "the forms of datasets do not ask for the update frequency",
}
"""What is missing, by plugin, if the plugin stands before ``freshness`` in ckan.plugins."""


def misplaced_plugins() -> Iterator[tuple[str, str]]:
    """Yield, for each plugin that must not stand before ``freshness``, that it does and what to do."""
    enabled = tk.aslist(tk.config["ckan.plugins"])
    before = enabled[: enabled.index("freshness")]
    for name, effect in _SHOWN_BY_TEMPLATES.items():
        if name in before:
            yield (
                f"ckan.plugins has freshness after {name}, so {effect}",
                f"Move freshness before {name} in ckan.plugins, then restart CKAN.",
            )


def look_first(command: str) -> None:
    """While CKAN starts for a command of a group, tell in one line if PostgreSQL is away.

    CKAN would end with a traceback. If Redis or Solr are away, it logs tracebacks and starts; the commands
    say themselves what they cannot do.

    :param command: the group
    :raises click.ClickException: PostgreSQL does not answer
    """
    if click.get_current_context(silent=True) is None or command not in sys.argv[1:]:
        return
    try:
        _reach_postgresql()
    except sa.exc.OperationalError as error:
        fact, advice = _told("PostgreSQL", "sqlalchemy.url", error)
        raise click.ClickException(f"{fact}. {advice}") from error
    for name in ("ckan.lib.redis", "ckan.lib.search.common", "ckan.lib.search"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    logging.getLogger("ckan.config.environment").setLevel(logging.CRITICAL + 1)
