"""``ckan freshness-uninstall``: it removes what this extension wrote, and nothing else."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
import sqlalchemy as sa
from ckan import model
from ckan.cli.cli import ckan
from ckan.lib import search
from ckan.tests.helpers import changed_config

from ckanext.freshness.ckan_adapter.packages import write_extras
from ckanext.freshness.ckan_adapter.tables import existing_tables
from ckanext.freshness.tests.ckan_adapter.test_own_tables import with_other_tables, without_tables
from ckanext.freshness.tests.datasets import Act, new, one_extra, stored
from ckanext.freshness.tests.pages.datasets import break_link
from ckanext.freshness.tests.status.measuring import activities
from ckanext.freshness.tests.status.test_refresh import solr_away
from ckanext.freshness.uninstall import command

pytestmark = pytest.mark.usefixtures("kept_db")

WROTE = {
    "last_modified": "2026-01-02T03:04:05",
    "size": 12,
    "mimetype": "text/csv",
    "hash": "sha256:1",
}


def run(cli: Any, *arguments: str, plugins: str = "activity", **more: Any) -> Any:
    """Call the command with plugins in the ini file. This process has not been restarted: it has ours."""
    # The command ``ckan`` would load the plugins of the ini file.
    with changed_config("ckan.plugins", plugins):
        return cli.invoke(command, list(arguments), **more)


def checked(dataset: dict[str, Any], wrote: dict[str, Any], **fields: Any) -> str:
    """Have a check fill in fields of a dataset's link; return the resource's id."""
    resource_id: str = dataset["resources"][0]["id"]
    resource = model.Session.get(model.Resource, resource_id)
    for name, value in {**WROTE, **fields}.items():
        is_date = name == "last_modified" and value
        setattr(resource, name, datetime.fromisoformat(value) if is_date else value)
    return break_link(dataset, wrote=wrote)


def fields(resource_id: str) -> dict[str, Any]:
    model.Session.remove()
    row = model.Session.execute(
        sa.text("SELECT last_modified, size, mimetype, hash FROM resource WHERE id = :id"),
        {"id": resource_id},
    ).one()
    when = row.last_modified
    return {**row._mapping, "last_modified": when and when.isoformat()}


@pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index")
def test_extras_go(act: Act, cli: Any) -> None:
    made = new(act, **one_extra("frequency", "weekly"))
    had = stored(made["id"])
    before = model.Package.get(made["id"]).metadata_modified
    activity = activities(made["id"])
    done = run(cli, input="n\n")
    assert (done.exit_code, stored(made["id"])) == (1, had)
    done = run(cli, "--yes")
    assert done.exit_code == 0, done.output
    assert stored(made["id"]) == {"frequency": "weekly"}
    assert model.Package.get(made["id"]).metadata_modified == before
    assert activities(made["id"]) == activity
    document = search.show(made["id"])
    assert document["extras_frequency"] == "weekly"
    assert not [key for key in document if "freshness" in key]

    act("package_patch", id=made["id"], notes="An edit in a process that still has the plugin")
    assert "freshness" in stored(made["id"])
    again = run(cli, "--yes")
    assert (again.exit_code, stored(made["id"])) == (0, {"frequency": "weekly"}), again.output

    done = cli.invoke(ckan, ["freshness", "refresh", "--all"])
    assert done.exit_code == 0, done.output
    assert stored(made["id"]) == had, "the tables have kept everything"


@pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index")
def test_solr_is_away(act: Act, cli: Any) -> None:
    made = new(act, **one_extra("frequency", "weekly"))
    had = stored(made["id"])
    with solr_away():
        done = run(cli, "--yes")
    assert done.exit_code == 1 and stored(made["id"]) == had
    assert re.match(r"Error: Solr does not answer \(127.0.0.1:\d+: ", done.output), done.output
    assert done.output.count("\n") == 1 and isinstance(done.exception, SystemExit)
    assert run(cli, "--yes").exit_code == 0
    assert stored(made["id"]) == {"frequency": "weekly"}


@pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index")
def test_the_tables_go_last(act: Act, cli: Any, migrate_db_for: Callable[[str], None]) -> None:
    made = new(act)
    try:
        done = run(cli, "--drop-tables", input="y\nn\n")
        assert done.exit_code == 1 and existing_tables()
        done = run(cli, "--drop-tables", "--yes")
        assert (done.exit_code, existing_tables()) == (0, []), done.output
        assert "freshness" not in stored(made["id"])
        assert run(cli, "--drop-tables", "--yes").exit_code == 0
    finally:
        model.Session.remove()
        migrate_db_for("freshness")
        migrate_db_for("iati_harvester")


@pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index")
def test_tables_of_another_version_are_made_anew(act: Act, cli: Any) -> None:
    made = new(act, **one_extra("frequency", "weekly"))
    had = stored(made["id"])
    enabled = {"plugins": "harvest freshness"}
    with contextlib.ExitStack() as stack:
        stack.callback(cli.invoke, ckan, ["db", "upgrade", "-p", "freshness"])
        with contextlib.suppress(sa.exc.ProgrammingError), with_other_tables():
            done = run(cli, "--drop-tables", input="n\n", **enabled)
            assert done.exit_code == 1 and existing_tables(["freshness"])
            done = run(cli, "--drop-tables", "--yes", **enabled)
            assert (done.exit_code, existing_tables(["freshness"])) == (0, []), done.output
            assert existing_tables(), "those of other plugins stay"
    assert stored(made["id"]) == had
    done = cli.invoke(ckan, ["freshness", "refresh"])
    assert done.exit_code == 0, done.output
    assert act("freshness_show", id=made["id"])["status"] == had["freshness"]


@pytest.mark.parametrize(
    ("wrote", "has", "left"),
    [
        pytest.param(WROTE, {}, {}, id="all of checks"),
        pytest.param(
            {"size": 12, "old_hash": "sha256:1"},
            {},
            {"last_modified": WROTE["last_modified"], "mimetype": "text/csv"},
            id="some of the publisher",
        ),
        pytest.param(
            WROTE,
            {"size": 99, "hash": "md5 of the publisher"},
            {"size": 99, "hash": "md5 of the publisher"},
            id="changed since",
        ),
    ],
)
def test_fields_that_checks_filled_in(
    act: Act, cli: Any, wrote: dict[str, Any], has: dict[str, Any], left: dict[str, Any]
) -> None:
    resource_id = checked(new(act), wrote, **has)
    assert run(cli, "--yes").exit_code == 0
    nothing = {"last_modified": None, "size": None, "mimetype": None, "hash": ""}
    assert fields(resource_id) == {**nothing, **left}


LEFT_BEHIND = {
    "freshness": "due",
    "freshness_last_modified": "2026-01-02T03:04:05Z",
    "freshness_evidence": "upload",
    "freshness_due": "2026-01-09T03:04:05Z",
    "freshness_frequency": "7",
}


@pytest.mark.parametrize(
    "extras",
    [
        LEFT_BEHIND,
        {"freshness": "ripe"},
        {"freshness": "fresh"},
        {"freshness_due": "2026-01-09T03:04:05Z"},
    ],
    ids=str,
)
@pytest.mark.parametrize("tables", [True, False])
def test_an_earlier_installation_and_the_sites_own_fields(
    act: Act, cli: Any, extras: dict[str, str], tables: bool
) -> None:
    made = new(act, **one_extra("frequency", "weekly"))
    own = [key for key in stored(made["id"]) if key != "frequency"]
    model.Session.execute(
        sa.text("DELETE FROM freshness_dataset WHERE package_id = :id"), {"id": made["id"]}
    )
    write_extras({made["id"]: extras}, [*own, *extras])
    model.Session.commit()
    if tables:
        done = run(cli, "--yes")
    else:
        with without_tables("freshness"):
            done = run(cli, "--yes")
    assert done.exit_code == 0, done.output
    assert stored(made["id"]) == {
        "frequency": "weekly",
        **({} if extras == LEFT_BEHIND else extras),
    }
