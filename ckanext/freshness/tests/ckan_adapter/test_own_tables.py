"""Forgotten migrations: every command names them, and the doctor checks the rest of the site."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from ckan import model
from ckan.cli.cli import ckan
from ckan.lib import search
from ckan.tests import factories

from ckanext.freshness.ckan_adapter import database

pytestmark = pytest.mark.usefixtures("kept_db")

SKIPPED = "Not checked, because a service or table is missing"
FORGOTTEN = [("harvest",), ("freshness", "harvest")]


@contextlib.contextmanager
def without_tables(*plugins: str) -> Iterator[None]:
    """Hide the tables of some plugins, as if their migrations had never run."""
    names = sa.inspect(model.Session.get_bind()).get_table_names()
    away = [name for name in names if name.startswith(tuple(f"{plugin}_" for plugin in plugins))]
    assert away
    try:
        _rename({name: f"elsewhere_{name}" for name in away})
        database.forget_tables()
        yield
    finally:
        model.Session.remove()
        _rename({f"elsewhere_{name}": name for name in away})
        database.forget_tables()


@contextlib.contextmanager
def with_old_tables() -> Iterator[None]:
    """Have the version of the tables be an older one."""
    version = "UPDATE freshness_alembic_version SET version_num = :version"
    newest = model.Session.execute(
        sa.text("SELECT version_num FROM freshness_alembic_version")
    ).scalar()
    try:
        model.Session.execute(sa.text(version), {"version": "000_older"})
        model.Session.commit()
        database.forget_tables()
        yield
    finally:
        model.Session.remove()
        model.Session.execute(sa.text(version), {"version": newest})
        model.Session.commit()
        database.forget_tables()


def _rename(names: dict[str, str]) -> None:
    for old, new in names.items():
        model.Session.execute(sa.text(f'ALTER TABLE "{old}" RENAME TO "{new}"'))
    model.Session.commit()


@pytest.mark.parametrize("plugins", FORGOTTEN, ids="+".join)
def test_the_doctor(cli: Any, plugins: tuple[str, ...]) -> None:
    with without_tables(*plugins):
        done = cli.invoke(ckan, ["freshness", "doctor", "--json"])
    assert done.exit_code == 1, done.output
    output = done.output
    told = json.loads(output[output.index("{\n") :])["findings"]
    # A nightly run of another test may have failed for the same reason.
    tables = {
        one["what"]: one["advice"]
        for one in told
        if one["what"].startswith("The tables of the plugin")
    }
    assert tables == {
        f"The tables of the plugin {plugin} are missing or old": f"ckan db upgrade -p {plugin}"
        for plugin in plugins
    }
    what = [one["what"] for one in told]
    assert (f"{SKIPPED}: harvest jobs" in what) == ("harvest" in plugins)
    assert (f"{SKIPPED}: nightly run" in what) == ("freshness" in plugins)


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
        "Error: The tables of freshness are missing or old. This makes them: "
        "ckan -c ... db upgrade -p freshness"
    )


WITHOUT = {"missing": lambda: without_tables("freshness"), "old": with_old_tables}
WORDS = "ckan -c ... db upgrade -p freshness"


def new(act: Callable[..., Any], **more: Any) -> dict[str, Any]:
    extras = [{"key": "frequency", "value": "7"}]
    resources = [{"url": "http://x.org/1"}]
    return act("package_create", name=f"d-{uuid4()}", extras=extras, resources=resources, **more)


def status(act: Callable[..., Any], dataset: dict[str, Any]) -> str | None:
    shown = act("package_show", id=dataset["id"])
    extras = {one["key"]: one["value"] for one in shown["extras"]}
    return extras.get("freshness")


@pytest.mark.parametrize("state", WITHOUT)
def test_the_site_works_as_if_the_extension_were_off(
    app: Any,
    act: Callable[..., Any],
    caplog: pytest.LogCaptureFixture,
    state: str,
) -> None:
    owner = factories.Organization()
    before = new(act, owner_org=owner["id"])
    with WITHOUT[state](), caplog.at_level(logging.ERROR):
        made = new(act, owner_org=owner["id"])
        act("package_patch", id=before["id"], title="Edited meanwhile")
        act("resource_create", package_id=made["id"], url="http://x.org/2")
        act("resource_patch", id=before["resources"][0]["id"], url="http://x.org/3")
        act("resource_delete", id=made["resources"][0]["id"])
        act("organization_patch", id=owner["id"], description="Edited")
        search.rebuild(made["id"])
        pages = ("/", "/dataset/", f"/dataset/{made['name']}", f"/organization/{owner['name']}")
        for page in pages:
            app.get(page, status=200)
        app.get("/api/action/package_search", status=200)
        app.get("/api/action/package_show", query_string={"id": before["id"]}, status=200)
        assert status(act, made) is None
        assert act("package_show", id=before["id"])["title"] == "Edited meanwhile"
        assert act("package_show", id=made["id"])["resources"][0]["url"] == "http://x.org/2"
    said = [one.getMessage() for one in caplog.records if WORDS in one.getMessage()]
    assert len(said) == 1
    # The first edit after the upgrade counts, however soon it comes.
    act("package_patch", id=made["id"], title="Edited later")
    assert status(act, made) == "fresh"
    history = act("freshness_show", id=before["id"])["transitions"]
    assert len(history) == 1


def test_own_pages_and_actions_say_what_to_do(app: Any, act: Callable[..., Any]) -> None:
    made = new(act)
    with without_tables("freshness"):
        for page in ("/freshness", "/freshness/data.atom", f"/dataset/{made['name']}/freshness"):
            assert WORDS in app.get(page, status=503).body, page
        asked = {"id": made["id"]}
        answer = app.get("/api/action/freshness_show", query_string=asked, status=409)
        assert WORDS in answer.json["error"]["tables"][0]
    assert app.get(f"/dataset/{made['name']}/freshness", status=200)
