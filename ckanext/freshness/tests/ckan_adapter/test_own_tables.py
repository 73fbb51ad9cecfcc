"""Tables that are missing, old or of another version: each part says what to do, and the site works."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import ckan.plugins.toolkit as tk
import pytest
import sqlalchemy as sa
from ckan import model
from ckan.cli.cli import ckan
from ckan.lib import jobs, search
from ckan.tests import factories

from ckanext.freshness.ckan_adapter import database, tables
from ckanext.freshness.harvesting import preview
from ckanext.freshness.runs import check_run
from ckanext.freshness.tests.datasets import ours
from ckanext.freshness.tests.harvesting.conftest import add_source

pytestmark = pytest.mark.usefixtures("kept_db")

SKIPPED = "Not checked, because a service or table is missing"
FORGOTTEN = [("harvest",), ("freshness", "harvest")]


@contextlib.contextmanager
def without_tables(*plugins: str) -> Iterator[None]:
    """Hide the tables of some plugins, as if their migrations had never run."""
    names = set(sa.inspect(model.Session.get_bind()).get_table_names())
    known = {
        name: {table.name for table in each} for name, each in tables.tables_by_plugin().items()
    }
    away = {f"{plugin}_alembic_version" for plugin in plugins}
    for plugin in plugins:
        away |= known.get(plugin) or {name for name in names if name.startswith(f"{plugin}_")}
    assert away <= names
    try:
        _rename({name: f"elsewhere_{name}" for name in away})
        database.forget_tables()
        yield
    finally:
        model.Session.remove()
        _rename({f"elsewhere_{name}": name for name in away})
        database.forget_tables()


@contextlib.contextmanager
def with_other_tables() -> Iterator[None]:
    """Have the tables be those of a version with migrations that this one does not know."""
    update = "UPDATE freshness_alembic_version SET version_num = '{}'"
    model.Session.remove()
    query = sa.text("SELECT version_num FROM freshness_alembic_version")
    version = model.Session.execute(query).scalar_one()
    try:
        _run(update.format("032_page_orders"))
        yield
    finally:
        _run(update.format(version))


def _run(statement: str) -> None:
    model.Session.remove()
    model.Session.execute(sa.text(statement))
    model.Session.commit()
    database.forget_tables()


def _rename(names: dict[str, str]) -> None:
    for old, new in names.items():
        model.Session.execute(sa.text(f'ALTER TABLE "{old}" RENAME TO "{new}"'))
    model.Session.commit()


@pytest.mark.parametrize("plugins", FORGOTTEN, ids="+".join)
def test_the_doctor(cli: Any, plugins: tuple[str, ...]) -> None:
    with without_tables(*plugins):
        done = cli.invoke(ckan, ["freshness", "doctor"])
    assert done.exit_code == 1, done.output
    for plugin in FORGOTTEN[-1]:
        finding = (
            f"PROBLEM: The tables of the plugin {plugin} are missing or old\n"
            f"  -> This makes them: ckan -c ... db upgrade -p {plugin}\n"
        )
        assert (finding in done.output) == (plugin in plugins)
    assert (f"{SKIPPED}: harvest sources" in done.output) == ("harvest" in plugins)
    assert (f"{SKIPPED}: nights" in done.output) == ("freshness" in plugins)


def test_the_doctor_with_other_tables(cli: Any) -> None:
    with with_other_tables():
        done = cli.invoke(ckan, ["freshness", "doctor"])
    assert isinstance(done.exception, SystemExit) and "another version" in done.output, done.output
    assert ANEW in " ".join(done.output.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ("freshness", "refresh"),
        ("freshness", "nightly"),
    ],
    ids=" ".join,
)
def test_commands(
    cli: Any, ckan_config: Any, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    for key, value in {
        "ckanext.freshness.notify.enabled": True,
        "smtp.server": "127.0.0.1:9",
        "smtp.mail_from": "site@example.org",
    }.items():
        monkeypatch.setitem(ckan_config, key, value)
    with without_tables("freshness"):
        done = cli.invoke(ckan, list(arguments))
    assert done.exit_code == 1, done.output
    assert isinstance(done.exception, SystemExit)
    (said,) = [line for line in done.output.splitlines() if line.startswith("Error: ")]
    assert said == (
        "Error: The tables of the plugin freshness are missing or old. This makes them: "
        "ckan -c ... db upgrade -p freshness"
    )


WITHOUT = {
    "missing": lambda: without_tables("freshness"),
    "other": with_other_tables,
}
WORDS = "ckan -c ... db upgrade -p freshness"
ANEW = "ckan -c ... freshness-uninstall --drop-tables && ckan -c ... db upgrade -p freshness"


def new(act: Callable[..., Any], **more: Any) -> dict[str, Any]:
    extras = [{"key": "frequency", "value": "7"}]
    resources = [{"url": "http://x.org/1"}]
    return act("package_create", name=f"d-{uuid4()}", extras=extras, resources=resources, **more)


def status(act: Callable[..., Any], dataset: dict[str, Any]) -> str | None:
    return ours(act("package_show", id=dataset["id"])).get("freshness")


@pytest.mark.parametrize("state", ["missing", "other"])
def test_the_site_works_as_if_the_extension_were_off(
    app: Any,
    act: Callable[..., Any],
    caplog: pytest.LogCaptureFixture,
    state: str,
) -> None:
    owner = factories.Organization()
    editor = {"Authorization": factories.SysadminWithToken()["token"]}
    before = new(act, owner_org=owner["id"])
    with WITHOUT[state](), caplog.at_level(logging.ERROR):
        made = new(act, owner_org=owner["id"])
        act("package_patch", id=before["id"], title="Edited meanwhile")
        act("resource_create", package_id=made["id"], url="http://x.org/2")
        act("resource_patch", id=before["resources"][0]["id"], url="http://x.org/3")
        act("resource_delete", id=before["resources"][0]["id"])
        act("organization_patch", id=owner["id"], description="Edited")
        search.rebuild(made["id"])
        for page in (
            *("/", "/dataset/", f"/dataset/{made['name']}", f"/organization/{owner['name']}"),
            "/harvest",
        ):
            # Without a facet that finds nothing.
            assert "no Freshness that match" not in app.get(page, status=200).body, page
            app.get(page, status=200, headers=editor)
        link = f"/dataset/{made['name']}/resource/{made['resources'][0]['id']}"
        for page in (f"/dataset/edit/{made['name']}", link, f"{link}/edit", "/harvest/new"):
            app.get(page, status=200, headers=editor)
        app.get("/api/action/package_search", status=200)
        for page in ("/freshness", "/freshness/data.atom", f"/dataset/{made['name']}/freshness"):
            assert WORDS in app.get(page, status=503).body, page
        asked = {"id": made["id"]}
        answer = app.get("/api/action/freshness_show", query_string=asked, status=409)
        assert WORDS in answer.json["error"]["tables"][0]
        app.get("/api/action/package_show", query_string={"id": before["id"]}, status=200)
        assert status(act, made) is None
        assert act("package_show", id=before["id"])["title"] == "Edited meanwhile"
        assert act("package_show", id=made["id"])["resources"][1]["url"] == "http://x.org/2"
    said = [one.getMessage() for one in caplog.records if WORDS in one.getMessage()]
    assert len(said) == 1
    # The first edit after the upgrade counts, however soon it comes.
    act("package_patch", id=made["id"], title="Edited later")
    assert status(act, made) == "fresh"
    history = act("freshness_show", id=before["id"])["transitions"]
    assert len(history) == 1


@pytest.mark.parametrize("state", ["missing", "other"])
def test_a_background_worker_says_what_to_do(act: Callable[..., Any], state: str) -> None:
    made = new(act)
    source = add_source(f"http://127.0.0.1:9/{uuid4()}")
    with WITHOUT[state]():
        check = tk.enqueue_job(check_run.check_dataset, [made["id"]])
        view = tk.enqueue_job(preview.run, [source.source["id"]])
        jobs.Worker().work(burst=True)
        assert view.return_value()["error"].endswith(WORDS)
        *_, said = check.latest_result().exc_string.strip().splitlines()
        assert said.startswith(
            "ckanext.freshness.ckan_adapter.database.TablesMissingError: The tables"
        )
        assert WORDS in said


@pytest.mark.parametrize(
    ("change", "is_usable"),
    [
        ("CREATE INDEX a_sites_own ON freshness_dataset (status)", True),
        ("ALTER TABLE freshness_dataset ADD COLUMN a_sites_own text", True),
        ("DROP TABLE freshness_unindexed", False),
        ("UPDATE freshness_alembic_version SET version_num = '032_page_orders'", False),
        ("DELETE FROM freshness_alembic_version", False),
    ],
)
def test_what_is_another_version(change: str, is_usable: bool) -> None:
    try:
        model.Session.execute(sa.text(change))
        other = [] if is_usable else [tables.UnusableTables("freshness", can_be_upgraded=False)]
        assert tables.unusable_tables() == other
    finally:
        model.Session.rollback()
