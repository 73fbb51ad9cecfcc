"""What CKAN and ckanext-harvest offer outside ``ckan.plugins.toolkit``, and every difference between versions.

No other module imports ``ckan.model``, ``ckan.lib`` or ``ckanext.harvest``.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import rq
import sqlalchemy as sa
from alembic.script import ScriptDirectory
from ckan import model
from ckan.lib import search
from ckan.lib.jobs import add_queue_name_prefix, get_all_queues, job_from_id
from ckan.lib.munge import munge_title_to_name
from ckan.lib.plugins import DefaultDatasetForm, DefaultTranslation, lookup_package_plugin
from ckan.lib.redis import connect_to_redis
from ckan.lib.search import SearchIndexError, SearchQueryError
from ckan.lib.search import index as search_index
from ckan.lib.search import is_available as solr_answers
from ckan.lib.search import query as search_query

from ckanext.harvest import model as harvest_model
from ckanext.harvest import queue
from ckanext.harvest.interfaces import IHarvester
from ckanext.harvest.logic.validators import _normalize_url
from ckanext.harvest.queue import get_harvester

log = logging.getLogger(__name__)

IS_2_12 = tk.check_ckan_version(min_version="2.12.0b0")

__all__ = [
    "IS_2_12",
    "ORGANIZATION_EXTRA",
    "PACKAGE_EXTRAS",
    "DefaultDatasetForm",
    "DefaultTranslation",
    "SearchIndexError",
    "SearchQueryError",
    "background_worker_names",
    "background_workers",
    "connect_to_redis",
    "declared_fields",
    "disconnect",
    "get_harvester",
    "give_back_done_messages",
    "harvest_model",
    "harvest_queue_connection",
    "harvest_routing_keys",
    "harvesting_user",
    "has_newest_migration",
    "hold_packages",
    "index_package",
    "job_from_id",
    "let_consumers_wait",
    "let_odd_dates_be_indexed",
    "lock_packages",
    "model",
    "munge_title_to_name",
    "normalized_source_url",
    "package_extra",
    "package_extras",
    "packages_with_extras",
    "packages_with_true_extra",
    "publish_jobs",
    "publish_objects",
    "rebuild",
    "registered_source_types",
    "reindex_source",
    "search_index",
    "search_query",
    "solr_answers",
    "solr_commit",
    "unindex_package",
    "unqueued_jobs",
    "version_is_among",
    "waiting_background_jobs",
    "without_solr_commits",
    "write_extras",
    "write_extras_in_session",
]


def version_is_among(series: Sequence[str]) -> bool:
    """Whether the installed CKAN is of one of these series, such as ``2.12``."""
    return ".".join(tk.ckan.__version__.split(".")[:2]) in series


def harvesting_user() -> Any:
    """The user who harvests: ``ckanext.harvest.user_name``, a sysadmin called ``harvest``, or the site's.

    The same order as ckanext-harvest's own harvesters have.

    :raises tk.ObjectNotFound: the configured user does not exist.
    """
    configured = tk.config.get("ckanext.harvest.user_name")
    user = model.User.get(configured or "harvest")
    if configured and user is None:
        raise tk.ObjectNotFound(f"ckanext.harvest.user_name names no user: {configured}")
    if user is not None and (configured or user.sysadmin):
        return user
    site_user = tk.get_action("get_site_user")({"ignore_auth": True, "defer_commit": True}, {})
    return model.User.get(site_user["name"])


@contextlib.contextmanager
def without_solr_commits() -> Iterator[None]:
    """Package writes inside do not commit Solr one by one; the caller commits (:func:`solr_commit`).

    ``context["defer_commit"]`` would also keep the database from committing.
    """
    before = tk.config.get("ckan.search.solr_commit")
    tk.config["ckan.search.solr_commit"] = False
    try:
        yield
    finally:
        tk.config["ckan.search.solr_commit"] = before


def solr_commit() -> None:
    """Make everything that was sent to Solr visible.

    :raises ckan.lib.search.SearchIndexError: Solr does not answer.
    """
    search.commit()


def rebuild(package_ids: Sequence[str]) -> None:
    """Index packages again from the database, without a Solr commit.

    :raises ckan.lib.search.SearchIndexError: Solr does not answer.
    """
    search.rebuild(package_ids=list(package_ids), defer_commit=True)


def lock_packages(package_ids: Iterable[str]) -> None:
    """Let nobody else write these packages until this transaction ends.

    Everybody takes the packages' rows first, in the order of their ids, and this extension's rows
    after: so that two writers at once wait for each other, and never each for the other.
    """
    # Not FOR UPDATE: resources that are inserted meanwhile only need the package's key.
    statement = "SELECT id FROM package WHERE id = ANY(:ids) ORDER BY id FOR NO KEY UPDATE"
    model.Session.execute(sa.text(statement), {"ids": list(package_ids)}).all()


def hold_packages(package_ids: Sequence[str]) -> list[Any]:
    """Packages, loaded at once: sessions know them for as long as somebody keeps what is returned.

    CKAN asks twice for each package that it indexes, and else each time the database.
    """
    package = model.Package
    return list(model.Session.query(package).filter(package.id.in_(package_ids)))


def index_package(package_id: str) -> None:
    """Index one package again from the database, without a Solr commit.

    As :func:`rebuild`, which also ends the transaction and logs a line for each package.

    :raises tk.ObjectNotFound: there is no such package.
    :raises ckan.lib.search.SearchIndexError: Solr does not answer, or refuses the document.
    """
    if IS_2_12:
        if version_is_among(("2.12",)) and _has_default_form(package_id):
            _index_validated_once(package_id)
            return
        from ckan.logic import index_update_package

        index_update_package({"ignore_auth": True}, package_id, defer_commit=True)
        return
    context = {"model": model, "ignore_auth": True, "validate": False, "use_cache": False}
    package = tk.get_action("package_show")(context, {"id": package_id})
    search.index_for(model.Package).update_dict(package, defer_commit=True)


def _has_default_form(package_id: str) -> bool:
    package = model.Package.get(package_id)
    kind = (package and package.type) or "dataset"
    return type(lookup_package_plugin(kind)) is DefaultDatasetForm


def _index_validated_once(package_id: str) -> None:
    """As CKAN 2.12's ``index_update_package`` for packages whose two schemas are both the default one.

    CKAN means to validate those once. But it compares the schemas, whose validators are made anew at
    each call, and so validates twice.
    """
    from ckan.logic import apply_after_dataset_show_plugins, index_update_package_dicts
    from ckan.logic.schema import default_show_package_schema

    context = {"ignore_auth": True, "use_cache": False, "validate": False}
    package = tk.get_action("package_show")(context, {"id": package_id})
    schema = default_show_package_schema()
    default, _errors = tk.navl_validate(package, schema, context)
    custom = _apart(default, schema)
    apply_after_dataset_show_plugins(context, custom)
    index_update_package_dicts((default, custom), defer_commit=True)


def _apart(validated: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """What another validation would return: anew where the schema goes into it, and the rest shared."""

    def anew(value: Any, inner: Any) -> Any:
        if not isinstance(value, list) or not (value == [] or isinstance(inner, dict)):
            return value
        return [_apart(one, inner) for one in value]

    return {key: anew(value, schema.get(key)) for key, value in validated.items()}


def unindex_package(package_id: str) -> None:
    """Take the document of a package that is gone out of Solr, without a Solr commit.

    :raises ckan.lib.search.SearchIndexError: Solr does not answer.
    """
    with without_solr_commits():
        search.clear(package_id)


def disconnect() -> None:
    """Close this process's connections to the database, before it forks."""
    model.Session.remove()
    model.meta.engine.dispose()


def reindex_source(source_id: str, *, defer_commit: bool) -> None:
    """Index a harvest source with its newest status, as any other package (CKAN 2.12 only).

    ckanext-harvest 1.6.3 on CKAN 2.12 indexes an unvalidated dict, after which the source's type and
    configuration are only found among its extras.
    """
    from ckan.logic import index_update_package

    index_update_package({"ignore_auth": True}, source_id, defer_commit=defer_commit)


def normalized_source_url(url: str) -> str | None:
    """A URL as ckanext-harvest compares those of sources; None if it is no URL at all."""
    try:
        return _normalize_url(url)
    except ValueError:
        return None


def package_extra(package_ids: Sequence[str], key: str) -> dict[str, str]:
    """The values of one extra of some packages, by package id; those without it are left out."""
    if not package_ids:
        return {}
    if IS_2_12:
        package = model.Package.__table__
        value = package.c.extras.op("->>")(key)
        query = sa.select(package.c.id, value).where(
            package.c.id.in_(package_ids), value.is_not(None)
        )
    else:
        extra = model.PackageExtra.__table__
        query = sa.select(extra.c.package_id, extra.c.value).where(
            extra.c.package_id.in_(package_ids), extra.c.key == key, extra.c.state == "active"
        )
    return {package_id: value for package_id, value in model.Session.execute(query)}


PACKAGE_EXTRAS = (
    "p.extras"
    if IS_2_12
    else "(SELECT jsonb_object_agg(key, value) FROM package_extra"
    " WHERE package_id = p.id AND state = 'active' AND key IS NOT NULL)"
)
"""SQL: all extras of the package ``p``, as an object of JSON; null if it has none."""

ORGANIZATION_EXTRA = (
    '(SELECT extras ->> :key FROM "group" WHERE id = p.owner_org)'
    if IS_2_12
    else "(SELECT max(value) FROM group_extra"
    " WHERE group_id = p.owner_org AND key = :key AND state = 'active')"
)
"""SQL: the extra ``:key`` of the organization of the package ``p``."""


def package_extras(package: Any) -> dict[str, str]:
    """All extras of a package, as the session has them."""
    return dict(package.extras or {})


def write_extras_in_session(
    package: Any, stored: Mapping[str, str], wanted: Mapping[str, str], keys: Sequence[str]
) -> None:
    """Give a package, which an action is writing right now, its extras under some keys.

    Nothing is committed, and the action's own write to Solr has them.

    :param stored: all extras of the package as the database has them in this transaction.
    :param wanted: the extras under `keys`; those left out go.
    """
    if IS_2_12:
        kept = {key: value for key, value in stored.items() if key not in keys}
        package.extras = {**kept, **wanted}
        # The session may have the same values from before another transaction changed them.
        sa.orm.attributes.flag_modified(package, "extras")
        return
    # Without this, rows that the action has just written under these keys are lost silently.
    model.Session.expire(package, ["_extras"])
    for key in keys:
        if key in wanted:
            package.extras[key] = wanted[key]
        elif key in package.extras:
            del package.extras[key]


def write_extras(values: Mapping[str, Mapping[str, str]], keys: Sequence[str]) -> None:
    """Give packages their extras under some keys by SQL: no hooks, no index, no commit.

    :param values: the extras by package id; those of `keys` that are left out go.
    """
    rows = json.dumps([{"id": one, "extras": dict(extras)} for one, extras in values.items()])
    for statement in _WRITE_EXTRAS:
        model.Session.execute(sa.text(statement), {"rows": rows, "keys": list(keys)})


_ROWS = "jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (id text, extras jsonb)"
_WRITE_EXTRAS = (
    (
        f"""
        UPDATE package p SET extras = (coalesce(p.extras, '{{}}') - CAST(:keys AS text[])) || r.extras
        FROM {_ROWS}
        WHERE p.id = r.id
        """,
    )
    if IS_2_12
    else (
        f"""
        DELETE FROM package_extra e USING {_ROWS}
        WHERE e.package_id = r.id AND e.key = ANY(:keys)
        AND (e.state IS DISTINCT FROM 'active' OR r.extras ->> e.key IS DISTINCT FROM e.value)
        """,
        f"""
        INSERT INTO package_extra (id, package_id, key, value, state)
        SELECT md5(r.id || x.key)::uuid::text, r.id, x.key, x.value, 'active'
        FROM {_ROWS} CROSS JOIN jsonb_each_text(r.extras) x
        WHERE x.key = ANY(:keys) AND EXISTS (SELECT 1 FROM package p WHERE p.id = r.id)
        AND NOT EXISTS (
            SELECT 1 FROM package_extra e WHERE e.package_id = r.id AND e.key = x.key
        )
        """,
    )
)


def packages_with_extras(keys: Sequence[str]) -> list[tuple[str, str]]:
    """Ids and types of the packages that have an extra under one of some keys, in order of ids."""
    has_one = (
        "p.extras ?| CAST(:keys AS text[])"
        if IS_2_12
        else "EXISTS (SELECT 1 FROM package_extra e WHERE e.package_id = p.id AND e.key = ANY(:keys))"
    )
    rows = model.Session.execute(
        sa.text(f"SELECT p.id, p.type FROM package p WHERE {has_one} ORDER BY p.id"),
        {"keys": list(keys)},
    )
    return [(package_id, package_type) for package_id, package_type in rows]


def packages_with_true_extra(keys: str) -> str:
    """SQL: the ids of packages, as ``package_id``, that have a true value under one of some extras.

    :param keys: the name of the parameter that has them.
    """
    true = "IN ('true', 'yes', 'on', 't', 'y', '1')"
    if IS_2_12:
        return f"""
        SELECT id AS package_id FROM package WHERE extras ?| CAST(:{keys} AS text[]) AND EXISTS (
            SELECT 1 FROM jsonb_each_text(extras) x
            WHERE x.key = ANY(:{keys}) AND lower(btrim(x.value)) {true}
        )"""
    return f"""
    SELECT DISTINCT package_id FROM package_extra
    WHERE key = ANY(:{keys}) AND state = 'active' AND lower(btrim(value)) {true}"""


def declared_fields(package_type: str) -> frozenset[str]:
    """The fields that a site's schema declares for packages of a type: its plugin's, and scheming's."""
    fields = set(lookup_package_plugin(package_type).update_package_schema())
    if p.plugin_loaded("scheming_datasets"):
        try:
            show = tk.get_action("scheming_dataset_schema_show")
            schema = show({"ignore_auth": True}, {"type": package_type})
        except tk.ObjectNotFound:
            return frozenset(fields)
        fields |= {field["field_name"] for field in schema["dataset_fields"]}
    return frozenset(fields)


def let_consumers_wait() -> None:
    """Let ckanext-harvest's consumers wait for work as long as it takes.

    redis-py 8, which CKAN 2.12 pins, gives every connection a time-out of five seconds unless told
    otherwise. ckanext-harvest 1.6.3 does not tell it, and waits for messages with a BLPOP without end:
    on CKAN 2.12 its consumers die in the first quiet moment.
    """
    connect = queue.get_connection_redis
    if getattr(connect, "waits", False):
        return

    def patient() -> Any:
        connection = connect()
        connection.connection_pool.connection_kwargs["socket_timeout"] = None
        return connection

    patient.waits = True  # type: ignore[attr-defined]
    queue.get_connection_redis = patient


_MAX_DATE = 100


def let_odd_dates_be_indexed() -> None:
    """Let datasets be saved whatever stands in an extra called ``*_date``.

    CKAN leaves out of the index what is no date. But dates with an impossible zone
    (``2026-01-01T00:00:00+25:00``) and endless digits end in another error than the one that CKAN
    expects of a text that is no date, and with it the whole edit; a million digits take a minute.
    """
    read = search_index.parse
    if hasattr(read, "careful"):
        return

    def careful(value: Any) -> Any:
        if len(str(value)) > _MAX_DATE:
            raise search_index.DateParserError("too long for a date")
        try:
            moment = read(value)
            moment.isoformat()
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise search_index.DateParserError(str(error)) from error
        return moment

    careful.careful = True  # type: ignore[attr-defined]
    search_index.parse = careful


def publish_objects(object_ids: Sequence[str]) -> None:
    """Put harvest objects on ckanext-harvest's fetch queue."""
    publisher = queue.get_fetch_publisher()
    for object_id in object_ids:
        publisher.send({"harvest_object_id": object_id})
    publisher.close()


def publish_jobs(job_ids: Sequence[str]) -> None:
    """Put harvest jobs on ckanext-harvest's gather queue."""
    publisher = queue.get_gather_publisher()
    for job_id in job_ids:
        publisher.send({"harvest_job_id": job_id})
    publisher.close()


def unqueued_jobs(job_ids: Iterable[str]) -> list[str]:
    """Those of some harvest jobs that neither wait in Redis nor are in a consumer's hands.

    None where the queues are in RabbitMQ, which cannot be asked.
    """
    ids = list(job_ids)
    connection = harvest_queue_connection() if ids else None
    if connection is None:
        return []
    key = queue.get_gather_routing_key()
    # In this order: a message that a consumer takes in between is then seen in its hands.
    waiting = {json.loads(one)["harvest_job_id"] for one in connection.lrange(key, 0, -1)}
    return [one for one in ids if one not in waiting and not connection.exists(f"{key}:{one}")]


def give_back_done_messages() -> None:
    """Take messages out of consumers' hands whose objects are done: Redis was away when they said so.

    ckanext-harvest would send them again, and then call such an object failed because its job is over.
    """
    connection = harvest_queue_connection()
    if connection is None:
        return
    prefix = queue.get_fetch_routing_key() + ":"
    keys = {key.removeprefix(prefix): key for key in connection.scan_iter(f"{prefix}*")}
    objects = harvest_model.HarvestObject.__table__
    done = model.Session.execute(
        sa.select(objects.c.id).where(
            objects.c.id.in_(keys),
            objects.c.state.in_(("COMPLETE", "ERROR")),
            objects.c.report_status.is_not(None),
        )
    ).scalars()
    for object_id in done:
        connection.delete(keys[object_id])


def harvest_queue_connection() -> Any | None:
    """A connection to the Redis of ckanext-harvest's queues; None where they are in RabbitMQ."""
    if tk.config.get("ckan.harvest.mq.type", queue.MQ_TYPE) != "redis":
        return None
    return queue.get_connection_redis()


def harvest_routing_keys() -> dict[str, str]:
    """The keys of ckanext-harvest's queues in Redis, by stage."""
    return {"gather": queue.get_gather_routing_key(), "fetch": queue.get_fetch_routing_key()}


def registered_source_types() -> list[str]:
    """The types of sources that the enabled plugins harvest."""
    return [harvester.info()["name"] for harvester in p.PluginImplementations(IHarvester)]


def has_newest_migration(plugin: str) -> bool:
    """Whether a plugin's tables are as its newest migration leaves them."""
    source = inspect.getsourcefile(type(p.get_plugin(plugin)))
    assert source is not None
    newest = ScriptDirectory(str(Path(source).parent / "migration" / plugin)).get_current_head()
    table = f"{plugin}_alembic_version"
    if not sa.inspect(model.Session.get_bind()).has_table(table):
        return newest is None
    version = sa.table(table, sa.column("version_num"))
    return newest in model.Session.execute(sa.select(version.c.version_num)).scalars().all()


def background_workers() -> Counter[str]:
    """How many workers serve each queue of this site's background jobs."""
    prefix = add_queue_name_prefix("")
    return Counter(
        name.removeprefix(prefix)
        for worker in _workers()
        for name in worker.queue_names()
        if name.startswith(prefix)
    )


def waiting_background_jobs() -> dict[str, int]:
    """How many background jobs wait in each queue of this site."""
    prefix = add_queue_name_prefix("")
    return {one.name.removeprefix(prefix): one.count for one in get_all_queues()}


def background_worker_names() -> set[str]:
    """What the workers of background jobs call themselves in Redis, of all sites."""
    return {worker.name for worker in _workers()}


def _workers() -> list[Any]:
    return list(rq.Worker.all(connection=connect_to_redis()))
