"""The select for the update frequency in dataset forms, and the result of saving them."""

from __future__ import annotations

from typing import Any

import pytest
from bs4 import BeautifulSoup
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.aging.frequency import CHOICES
from ckanext.freshness.aging.status import Status
from ckanext.freshness.tests.pages.datasets import make_dataset
from ckanext.freshness.tests.pages.reports import add_source, text_of

NAME = "freshness_update_frequency"


class Form:
    """A form as a browser sends it: every field with its shown value, unless the test fills it in."""

    def __init__(self, app: Any, path: str, user: dict[str, Any]) -> None:
        self._app = app
        self._path = path
        self._headers = {"Authorization": user["token"]}
        self.load(app.get(path, headers=self._headers).body)

    def load(self, body: str) -> None:
        """Read the fields of a page."""
        page = BeautifulSoup(body, "html.parser")
        (self.form,) = page.select("form#dataset-edit")
        self.fields: dict[str, str] = {}
        for one in self.form.select("input[name], textarea[name], select[name]"):
            chosen = one.select("option[selected]") or one.select("option")
            if one.get("type") != "checkbox":
                self.fields[str(one["name"])] = str((chosen or [one])[0].get("value", ""))
        for one in self.form.select("textarea"):
            self.fields[str(one["name"])] = one.get_text().lstrip("\n")

    @property
    def options(self) -> dict[str, str]:
        options = self.form.select(f"select[name={NAME}] option")
        return {str(one["value"]): one.get_text(strip=True) for one in options}

    @property
    def custom(self) -> dict[str, str]:
        """Return the custom fields that it shows."""
        return {
            self.fields[name]: self.fields[name.replace("__key", "__value")]
            for name in self.fields
            if name.endswith("__key") and self.fields[name]
        }

    def send(self, **fields: str) -> None:
        data = {**self.fields, "save": "", **fields}
        answer = self._app.post(
            self._path, data=data, headers=self._headers, follow_redirects=False
        )
        if answer.status_code == 200:
            self.load(answer.body)


@pytest.fixture
def edit(app: Any, sysadmin: dict[str, Any]) -> Any:
    return lambda name: Form(app, f"/dataset/edit/{name}", sysadmin)


def extras(name: str) -> dict[str, str]:
    """Return the extras of other origin than this extension."""
    shown = call_action("package_show", id=name)["extras"]
    return {one["key"]: one["value"] for one in shown if not one["key"].startswith("freshness")}


def status(name: str) -> str:
    shown = call_action("package_show", id=name)["extras"]
    return str({extra["key"]: extra["value"] for extra in shown}["freshness"])


def test_a_new_dataset_gets_a_frequency(app: Any, sysadmin: dict[str, Any]) -> None:
    form = Form(app, "/dataset/new", sysadmin)
    assert list(form.options) == ["", *map(str, CHOICES)]
    assert (form.options["7"], form.options["-2"]) == ("Every week", "As needed")
    assert "How often this data should be updated." in form.form.get_text()
    form.send(
        **{
            "name": "data",
            "title": "Data",
            NAME: "7",
            "extras__0__key": "a",
            "extras__0__value": "b",
        }
    )
    assert extras("data") == {"a": "b", "data_update_frequency": "7"}


def test_an_edit_changes_nothing_else(edit: Any) -> None:
    make_dataset(Status.DUE, "data", extras=[{"key": "color", "value": "red"}])
    form = edit("data")
    assert form.fields[NAME] == "7"
    assert form.custom == {"color": "red"}
    form.send(title="Another title")
    assert call_action("package_show", id="data")["title"] == "Another title"
    assert extras("data") == {"color": "red", "data_update_frequency": "7"}
    assert status("data") == "due"
    edit("data").send(**{NAME: "365"})
    assert extras("data") == {"color": "red", "data_update_frequency": "365"}
    assert status("data") == "fresh"
    edit("data").send(**{NAME: ""})
    assert extras("data") == {"color": "red"}
    assert status("data") == "unavailable"


UNUSUAL = {
    "http://publications.europa.eu/resource/authority/frequency/DECENNIAL": "Every 10 years",
    "  monthly ": "Every month",
    "every now and then": "every now and then",
    "300": "Every ten months",
}
"""Frequencies that are written otherwise than the choices, and how they are shown."""


def test_what_is_not_among_the_choices_stays(edit: Any) -> None:
    for number, (written, words) in enumerate(UNUSUAL.items()):
        name = f"data-{number}"
        factories.Dataset(name=name, extras=[{"key": "frequency", "value": written}])
        form = edit(name)
        assert form.fields[NAME] == written.strip()
        assert form.options[written.strip()] == words
        assert list(form.options.values()).count(words) == 1
        form.send()
        assert extras(name) == {"frequency": written.strip()}
    edit("data-0").send(**{NAME: "60"})
    assert extras("data-0") == {"frequency": "60"}


def test_the_form_of_a_harvested_dataset(edit: Any, sysadmin: dict[str, Any]) -> None:
    """It warns, and keeps all extras."""
    values = {"guid": "catalog=a;dataset=b", "color": "red", "frequency": "7"}
    given = [{"key": key, "value": value} for key, value in values.items()]
    factories.Dataset(name="mine", extras=given)
    theirs = factories.Dataset(name="theirs", extras=given)
    owner = factories.Organization()["id"]
    add_source("source", sysadmin["name"], owner, datasets=[theirs])
    assert not edit("mine").form.select("#freshness-overwritten")
    assert edit("mine").custom == {"guid": values["guid"], "color": "red"}
    form = edit("theirs")
    (note,) = form.form.select("#freshness-overwritten")
    assert "Harvested from About source ." in text_of(note)
    form.send(title="Another title")
    assert values.items() <= extras("theirs").items()


def test_the_settings_of_an_organization(app: Any) -> None:
    admin = factories.SysadminWithToken()
    headers = {"Authorization": admin["token"]}
    extras = [{"key": "freshness_notify", "value": "no"}, {"key": "theme", "value": "water"}]
    organization = factories.Organization(extras=extras)
    at = f"/organization/edit/{organization['name']}"
    page = BeautifulSoup(app.get(at, headers=headers).body, "html.parser")
    (notified,) = page.select("#field-freshness_notify option[selected]")
    assert notified["value"] == "false"
    assert not page.select("#field-default_frequency option[selected][value]:not([value=''])")
    keys = [str(one["value"]) for one in page.select("input[name^=extras__][name$=__key]")]
    assert sorted(filter(None, keys)) == ["default_frequency", "freshness_notify", "theme"]
    fields = {
        str(one["name"]): str(one.get("value", ""))
        for one in page.select("form input[name]:not([type=checkbox])")
    }
    sent = {
        **{name: value for name, value in fields.items() if name.startswith("extras__")},
        **{"extras__1000__value": "30", "extras__1001__value": "true"},
        **{"name": organization["name"], "title": "Water", "save": ""},
    }
    app.post(at, data=sent, headers=headers)
    saved = call_action("organization_show", id=organization["id"])
    assert {one["key"]: one["value"] for one in saved["extras"]} == {
        "default_frequency": "30",
        "freshness_notify": "true",
        "theme": "water",
    }
