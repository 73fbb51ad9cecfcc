"""A scenario of seven nightly runs, replayed whole and compared with golden tables.

``replay/scenario.txt`` says what is catalogued, what a server answers, and what people edit meanwhile;
``replay/day-10.txt`` and the others say what is known after each run, and what the run prints. Their lines
follow from the rules of HDX's method (docs/checking.rst and docs/aging.rst), and people are to read them
against these rules, not to copy what a program found. Where a run differs, what it found is left in a file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from ckan.tests import factories, helpers

from ckanext.freshness.checking.decisions import KnownContent
from ckanext.freshness.checking.selection import is_broken
from ckanext.freshness.checking.stored_values import read
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.ckan_adapter.packages import package_extras
from ckanext.freshness.runs import check_run
from ckanext.freshness.status.refresh import refresh
from ckanext.freshness.tests.clock import freeze_time
from ckanext.freshness.tests.status import replay_scenario
from ckanext.freshness.tests.status.replay_scenario import (
    FOLDER,
    Dataset,
    Edit,
    Scenario,
    Stage,
    body,
    day,
    moment,
)


@pytest.fixture
def scenario() -> Scenario:
    return replay_scenario.read()


@pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index", "impatient_checks")
def test_runs_and_what_is_known_after_each(scenario: Scenario, tmp_path: Path) -> None:
    played = Played(scenario)
    before = -1000.0
    with Stage(scenario) as stage:
        for number in scenario.days:
            for dataset in scenario.datasets:
                if before < dataset.made <= number:
                    played.make(dataset, stage)
            for edit in scenario.edits:
                if before < edit.day <= number:
                    played.edit(edit)
            before = number
            stage.today, stage.asked = number, {}
            now = moment(number)
            run, _ = check_run.check(check_run.CheckScope(), partial(_same, now))
            refresh(now)
            (tmp_path / _golden(number)).write_text(played.known(number, stage, run.id))
    for golden in map(_golden, scenario.days):
        found = tmp_path / golden
        assert found.read_text() == (FOLDER / golden).read_text(), f"{golden} differs from {found}"


def _golden(number: int) -> str:
    return f"day-{number}.txt"


def _same(now: datetime) -> datetime:
    return now


class Played:
    """The catalogue of a scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._user = factories.Sysadmin()["name"]
        self._names = {_digest(body(one)): one for one in ("A", "B", "C")}

    def make(self, dataset: Dataset, stage: Stage) -> None:
        made = moment(dataset.made)
        with freeze_time(made):
            created = made.replace(tzinfo=None).isoformat()
            self._call(
                "package_create",
                name=dataset.name,
                extras=[{"key": key, "value": value} for key, value in dataset.extras.items()],
                resources=[
                    {
                        "name": file,
                        "url": dataset.url(file, stage.url),
                        "format": "CSV",
                        "created": created,
                        "url_type": dataset.url_type,
                    }
                    for file in dataset.files
                ],
            )

    def edit(self, edit: Edit) -> None:
        when = moment(edit.day).replace(tzinfo=None).isoformat()
        shown = self._call("package_show", id=edit.dataset)
        if edit.what.startswith("last_modified"):
            seen = moment(float(edit.what.rpartition(":")[2])).replace(tzinfo=None).isoformat()
            change: dict[str, Any] = {"last_modified": seen}
        elif edit.what == "another URL":
            change = {"url": shown["resources"][0]["url"] + "?edition=2"}
        else:
            value = f"HDX Scraper: Test ({when})" if edit.what == "updated_by_script" else when
            extras = [one for one in shown["extras"] if not one["key"].startswith("freshness")]
            with freeze_time(moment(edit.day)):
                extras.append({"key": edit.what, "value": value})
                self._call("package_patch", id=shown["id"], extras=extras)
            return
        with freeze_time(moment(edit.day)):
            self._call("resource_patch", id=shown["resources"][0]["id"], **change)

    def _call(self, action: str, **data: Any) -> Any:
        answer = helpers.call_action(action, {"user": self._user, "ignore_auth": True}, **data)
        model.Session.remove()
        return answer

    def known(self, number: int, stage: Stage, run_id: str) -> str:
        """All that is compared, as text."""
        for file, count in stage.downloads.items():
            for one in range(count + 1):
                self._names[_digest(body(f"download {one}"))] = f"{file}{one}"
        model.Session.remove()
        run = helpers.call_action("freshness_run_show", id=run_id)
        parts = [
            f"After the run of day {number}. For what is asked and answered see scenario.txt.",
            "\n".join(_table(_FILES, self._files(number, stage))),
            "\n".join(_table(_DATASETS, self._datasets())),
            run["text"],
        ]
        return "\n\n\n".join(parts) + "\n"

    def _files(self, number: int, stage: Stage) -> Iterator[Sequence[str]]:
        rows = {row.name: row for row in model.Session.execute(sa.text(_KNOWN)).all()}
        for file in (file for dataset in self._scenario.datasets for file in dataset.files):
            row = rows.get(file)
            if row is None:
                continue
            tried, facts = day(row.tried_at) == str(number), read(KnownContent, row.known)
            broken = is_broken(row.failures, row.failing_since, row.tried_at)
            yield (
                file,
                " ".join(stage.asked.get(file, ["-"])).replace("200 200", "200 twice"),
                row.attempts[0]["outcome"] if tried else "-",
                self._named(row.hash),
                " ".join(map(self._named, facts.earlier)) or "-",
                *(day(one) for one in (row.hashed_at, row.checked_at, row.succeeded_at)),
                day(row.changed_at),
                str(row.failures),
                " ".join(
                    word
                    for word, is_so in (
                        (row.undetermined, row.undetermined),
                        ("unconfirmed", facts.unconfirmed),
                        ("outdated", facts.outdated),
                        ("broken", broken),
                    )
                    if is_so
                )
                or "-",
                day(row.own_date),
            )

    def _named(self, digest: str | None) -> str:
        return "-" if digest is None else self._names[digest]

    def _datasets(self) -> Iterator[Sequence[str]]:
        for dataset in self._scenario.datasets:
            package = model.Package.get(dataset.name)
            if package is None:
                continue
            extras = package_extras(package)
            assert set(one for one in extras if one.startswith("freshness")) <= set(_EXTRAS)
            yield (dataset.name, *(_value(extras.get(key)) for key in _EXTRAS))


_FILES = (
    *("file", "answers", "found", "hash", "earlier", "hashed", "checked", "there", "changed"),
    *("failures", "notes", "dated"),
)
_KNOWN = """
SELECT r.name, r.last_modified AS own_date, c.* FROM freshness_check c
JOIN resource r ON r.id = c.resource_id WHERE r.state = 'active'"""
_EXTRAS = (
    *("freshness", "freshness_frequency", "freshness_last_modified", "freshness_evidence"),
    *("freshness_due", "freshness_overdue", "freshness_delinquent", "freshness_undetermined"),
    "freshness_broken_since",
)
_DATASETS = (
    *("dataset", "freshness", "freq", "modified", "evidence", "due", "overdue", "delinquent"),
    *("undetermined", "broken since"),
)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    lines = [heads, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(
            cell.ljust(width) for cell, width in zip(line, widths, strict=True)
        ).rstrip()


def _value(extra: str | None) -> str:
    """An extra's value, with days for moments."""
    if extra is None:
        return "-"
    is_moment = extra.endswith("Z") and extra[:4].isdigit()
    return day(datetime.fromisoformat(extra[:-1])) if is_moment else extra


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
