"""The command ``check``, and the action of this name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import ckan.plugins.toolkit as tk
import pytest
from ckan.cli.cli import ckan
from ckan.lib import jobs
from ckan.tests import factories, helpers

from ckanext.freshness import settings
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.model import CheckRun
from ckanext.freshness.tests.runs.test_checks import START
from ckanext.freshness.tests.servers.file_host import FILES, FileHost
from ckanext.freshness.web.hosts import HostPolicy

pytestmark = pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index", "impatient_checks")

Invoke = Callable[..., Any]


@pytest.fixture
def dataset() -> Iterator[dict[str, Any]]:
    """A daily dataset with two files that exist and one that does not."""
    wanted = [one for one in FILES if one.path in ("/stocks.csv", "/boundaries.csv", "/wells.csv")]
    with FileHost(now=START) as host:
        yield factories.Dataset(
            name="files",
            resources=[{"url": host.url_of(one), "format": "CSV"} for one in wanted],
            extras=[{"key": "frequency", "value": "1"}],
        )


@pytest.fixture
def check(cli: Any) -> Invoke:
    def invoke(*arguments: str) -> Any:
        done = cli.invoke(ckan, ["freshness", "check", *arguments])
        model.Session.remove()
        return done

    return invoke


def test_what_is_printed(dataset: dict[str, Any], check: Invoke) -> None:
    done = check()
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    first = lines.index("Checked 3 resources, 1 with an error")
    found = ["       2  Read, with nothing to compare yet", "       1  Failed"]
    assert lines[first:] == [lines[first], *found]
    (run,) = helpers.call_action("freshness_run_list")
    assert run["checked"] == 3 and run["ended_at"] and not run["error"]
    assert "Checked 3 resources" in check("--host", "127.0.0.1", "--all").output
    told = json_of(check("files", "--json"))
    assert (told["checked"], told["errors"]) == (3, 1)
    assert told["resources"] == {"not modified": 1, "same hash": 1, "error": 1}
    assert told["run"] == helpers.call_action("freshness_run_list")[0]["id"]


def json_of(done: Any) -> Any:
    """Return the JSON in an output, in which click 8.1 includes log lines."""
    return json.loads(done.output[done.output.index("{") :])


def test_a_dataset_that_is_not_there(dataset: dict[str, Any], check: Invoke) -> None:
    for more in ((), ("--dry-run",)):
        done = check("files", "nothing", *more)
        assert done.exit_code == 1
        assert "There is no dataset nothing. Nothing was checked." in done.output
    assert helpers.call_action("freshness_run_list") == []
    factories.Dataset(name="paper")
    done = check("paper")
    assert done.exit_code == 1 and "paper has no link" in done.output


def test_the_policy_learned_makes_as_many_checks_as_are_wanted(
    dataset: dict[str, Any], check: Invoke, ckan_config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default as many as the policy hdx would make: the files are of a daily dataset."""
    assert "3 links would be checked" in check("--dry-run", "--policy", "learned").output
    monkeypatch.setitem(ckan_config, "ckanext.freshness.check.policy", "learned")
    assert "3 links would be checked" in check("--dry-run").output
    monkeypatch.setitem(ckan_config, "ckanext.freshness.check.checks_per_run", 2)
    assert "2 links would be checked" in check("--dry-run").output
    assert json_of(check("--dry-run", "--json", "--policy", "hdx")) == {"checks": 3, "rotation": 0}
    for _ in range(2):
        done = check()
        assert done.exit_code == 0, done.output
    runs = helpers.call_action("freshness_run_list")
    assert [run["checked"] for run in runs] == [1, 2]


@pytest.mark.parametrize("arguments", ["check files", "nightly"])
def test_copies_are_to_be_where_nothing_can_be_kept(
    dataset: dict[str, Any],
    cli: Any,
    ckan_config: Any,
    monkeypatch: pytest.MonkeyPatch,
    arguments: str,
) -> None:
    monkeypatch.setitem(ckan_config, "ckanext.freshness.copies.location", "s4://bucket/x")
    monkeypatch.setitem(ckan_config, "ckanext.freshness.copies.all", "true")
    done = cli.invoke(ckan, ["freshness", *arguments.split()])
    assert (done.exit_code, type(done.exception)) == (1, SystemExit)
    assert "s4://bucket/x" in done.output and "Traceback" not in done.output


@pytest.mark.usefixtures("clean_queues")
def test_an_editor_asks_for_visits(dataset: dict[str, Any]) -> None:
    organization = factories.Organization()
    editor, stranger = factories.User(), factories.User()
    call = helpers.call_action
    call(
        "organization_member_create", id=organization["id"], username=editor["name"], role="editor"
    )
    call("package_owner_org_update", id="files", organization_id=organization["id"])

    def ask(name: str) -> dict[str, Any]:
        context = {"user": name, "ignore_auth": False}
        return call("freshness_check", context, id="files")

    for name in (stranger["name"], ""):
        with pytest.raises(tk.NotAuthorized):
            ask(name)
    assert ask(editor["name"])["queued"]
    assert not ask(editor["name"])["queued"], "it waits"
    jobs.Worker().work(burst=True)
    model.Session.remove()
    (run,) = call("freshness_run_list")
    assert (run["checked"], run["error"]) == (3, None)
    assert ask(editor["name"])["queued"]
    with pytest.raises(tk.ObjectNotFound):
        call("freshness_check", id="nothing")


def test_what_a_silent_host_has_is_put_off_and_stays_due(
    check: Invoke, ckan_config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "HOST_FAILURES", 2)
    # Silent hosts get ten minutes in the last round otherwise.
    policy = partial(HostPolicy, last_round=0.0)
    monkeypatch.setattr(settings, "HostPolicy", policy)
    with FileHost(now=START) as host:
        url = host.url
    made = factories.Dataset(
        name="gone",
        resources=[{"url": f"{url}/{number}", "format": "CSV"} for number in range(10)],
        extras=[{"key": "frequency", "value": "1"}],
    )
    done = check("--json")
    told = json_of(done)
    assert done.exit_code == 0
    # The two, and perhaps one that was on its way.
    assert told["checked"] == told["errors"] == 10 - told["put_off"]
    assert told["put_off"] >= 5
    assert told["resources"] == {"error": told["errors"], "firstrun": told["put_off"]}
    histories = [
        helpers.call_action("freshness_resource_history", id=one["id"]) for one in made["resources"]
    ]
    assert sum(bool(one["attempts"]) for one in histories) == told["checked"]
    assert sum(one["failures"] for one in histories) == told["checked"]
    assert {one["undetermined"] for one in histories} == {None}
    run = model.Session.get(CheckRun, told["run"])
    assert run.hosts["*"]["put_off"] == told["put_off"]
    assert json_of(check("--dry-run", "--json"))["checks"] == told["put_off"]
    # The second run counts anew: one resource or several, as its requests happen to overlap.
    assert re.search(r"\d+ others? (was|were) put off until the next run", check().output)
