"""Migrations that were forgotten: every command says which, and the doctor looks at the rest."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from ckan import model
from ckan.cli.cli import ckan

from ckanext.freshness.logic.lost import TablesMissingError, telling_of_loss

pytestmark = pytest.mark.usefixtures("kept_db")

FORGOTTEN = [("harvest",), ("freshness",), ("freshness", "harvest")]


@contextlib.contextmanager
def without_tables(*plugins: str) -> Iterator[None]:
    """A database in which the migrations of some plugins were never done."""
    names = sa.inspect(model.Session.get_bind()).get_table_names()
    away = [name for name in names if name.startswith(tuple(f"{plugin}_" for plugin in plugins))]
    assert away
    try:
        _rename({name: f"elsewhere_{name}" for name in away})
        yield
    finally:
        model.Session.remove()
        _rename({f"elsewhere_{name}": name for name in away})


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
    tables = {one["what"]: one["advice"] for one in told if "missing or old" in one["what"]}
    assert tables == {
        f"The tables of the plugin {plugin} are missing or old": f"ckan db upgrade -p {plugin}"
        for plugin in plugins
    }
    what = [one["what"] for one in told]
    assert ("Not looked at: gathers" in what) == ("harvest" in plugins)
    assert ("Not looked at: nights" in what) == ("freshness" in plugins)
    assert "Not looked at: consumers" not in what


@pytest.mark.parametrize(
    "arguments",
    [
        ("freshness", "refresh", "--all"),
        ("freshness", "refresh"),
        ("freshness", "check"),
        ("freshness", "check", "--dry-run"),
        ("freshness", "report"),
        ("freshness", "nightly"),
        ("freshness", "notify"),
        ("freshness", "notify", "--dry-run"),
        ("freshness", "runs"),
        ("freshness", "prune"),
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


def test_the_night_does_what_needs_no_tables_of_harvests(cli: Any) -> None:
    with without_tables("harvest"):
        done = cli.invoke(ckan, ["freshness", "nightly"])
    assert done.exit_code == 1
    assert "iati update: The tables of harvest are missing or old." in done.output
    assert "db upgrade -p harvest" in done.output and "prune: Forgot" in done.output


def test_of_a_table_that_no_migration_makes_nothing_is_said() -> None:
    for statement in ("SELECT 1 FROM freshness_nothing", "SELECT nothing FROM freshness_run"):
        with pytest.raises(sa.exc.ProgrammingError), telling_of_loss():
            model.Session.execute(sa.text(statement))
        model.Session.rollback()
    with (
        without_tables("freshness", "harvest"),
        pytest.raises(TablesMissingError) as caught,
        telling_of_loss(),
    ):
        model.Session.execute(sa.text("SELECT 1 FROM freshness_run"))
    assert caught.value.plugins == ["harvest", "freshness"]
    assert "db upgrade -p harvest && ckan -c ... db upgrade -p freshness" in str(caught.value)
