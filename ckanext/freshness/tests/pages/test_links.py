"""What the checks of links found, on the pages of a dataset and of its resources."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
import sqlalchemy as sa
from bs4 import BeautifulSoup
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.checking import check_rows, result_writer
from ckanext.freshness.checking.decisions import (
    Attempt,
    CheckResult,
    KnownContent,
    Outcome,
    ResourceToCheck,
)
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.dates import utc
from ckanext.freshness.reporting import labels, links
from ckanext.freshness.reporting.report_tables import LINKS
from ckanext.freshness.reporting.tables import TableRequest
from ckanext.freshness.reporting.visibility import SITE
from ckanext.freshness.tests.pages.conftest import Read
from ckanext.freshness.tests.pages.datasets import keep_copy
from ckanext.freshness.tests.pages.test_dataset_page import words as text
from ckanext.freshness.web.errors import FailureReason

pytestmark = pytest.mark.usefixtures("impatient_checks")

DAY = timedelta(days=1)
NOW = datetime.now(timezone.utc).replace(microsecond=0)
WORKED = (Outcome.SAME_HASH, {"status": 200})
CHANGED = (Outcome.CHANGED, {"status": 200})
GONE = (Outcome.ERROR, {"status": 404, "words": "answered 404 (Not Found)"})
SLOW = (Outcome.ERROR, {"reason": "read timeout", "words": "did not answer within 10 s"})
BLOCKED = (Outcome.CANNOT_TELL, {"status": 403})

Check = tuple[Outcome, dict[str, Any]]
HISTORIES: dict[str, list[Check]] = {
    "Stocks": [*[WORKED] * 31, CHANGED],
    "Prices": [(Outcome.API, {"status": 200})] * 2,
    "Wells": [*[WORKED] * 20, *[GONE] * 10],
    "Bulletin": [*[WORKED] * 3, SLOW],
    "Registry": [WORKED, *[BLOCKED] * 4],
    "<b>Index</b>": [GONE, GONE],
    "Survey": [],
}
"""The checks of each link, one a day, the last one now."""


def make_world() -> dict[str, Any]:
    """A dataset with a link in each state, of whose wells a copy is kept, and three others."""
    editor = factories.UserWithToken()
    factories.Organization(name="relief", users=[{"name": editor["name"], "capacity": "editor"}])
    make("unseen", [{}], owner_org="relief")
    make("empty", [], owner_org="relief")
    make("secret", [{}], owner_org="relief", private=True)
    files, wells = make_files("relief")
    return {"editor": editor, "files": files, "wells": wells}


def make_files(organization: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Create a dataset with a link in each state; return it and the broken link, which has a copy."""
    links = [{"name": name, "format": "CSV"} for name in HISTORIES]
    files = make("files", links, owner_org=organization)
    check_rows.sync(NOW - 60 * DAY, {"dataset"})
    for resource, checks in zip(files["resources"], HISTORIES.values(), strict=True):
        write(resource, checks)
    wells = next(one for one in files["resources"] if one["name"] == "Wells")
    keep_copy(wells["id"], files["id"], utc(NOW - 10 * DAY), zip_key="wells.zip")
    return files, wells


def make(name: str, links: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Create a weekly dataset with resources of different URLs."""
    created = utc(NOW - 40 * DAY).isoformat()
    resources = [
        {"url": f"https://data.example.org/{name}/{number}.csv", "created": created, **link}
        for number, link in enumerate(links)
    ]
    extras = [{"key": "frequency", "value": "7"}, *more.pop("extras", [])]
    return dict(factories.Dataset(name=name, resources=resources, extras=extras, **more))


def write(resource: dict[str, Any], checks: list[Check], **more: Any) -> None:
    """Write the results of daily checks, the last one of now."""
    to_check = ResourceToCheck(resource["id"], resource["package_id"], resource["url"], **more)
    for number, (outcome, told) in enumerate(checks, 1 - len(checks)):
        at = NOW + number * DAY
        attempt = Attempt(at, outcome, **told)
        result = CheckResult(
            to_check,
            "data.example.org",
            KnownContent(),
            attempt,
            changed_at=at if outcome is Outcome.CHANGED else None,
        )
        assert result_writer.write([result], at)
    model.Session.commit()


def page_of(name: str) -> str:
    return f"/dataset/{name}/freshness"


def cards(page: BeautifulSoup) -> dict[str, str]:
    """Return the words about each link by its title, in order."""
    found = {}
    for card in page.select("#freshness-checks li[id]"):
        title = text(card.h3)
        found[title] = text(card).removeprefix(title).strip()
    return found


def day(moment: datetime) -> str:
    """Return a date as the pages write it, whatever its year."""
    short = f"{moment.day} {moment:%b}".replace("Sep", "Sept")
    return short if moment.year == NOW.year else f"{short} {moment.year}"


def test_each_state_has_its_reason(read: Read, world: dict[str, Any]) -> None:
    page = read(page_of("files"))
    shown = cards(page)
    # What fails comes first, then what is in doubt.
    assert list(shown)[:5] == [
        *("Wells (CSV)", "<b>Index</b> (CSV)", "Bulletin (CSV)"),
        *("Prices (CSV)", "Registry (CSV)"),
    ]
    for name, words in {
        "Wells": "Broken link. The file is gone (404 Not Found). It has failed since ",
        "Bulletin": "Link failing. The server took too long to answer. It failed on ",
        "<b>Index</b>": "Link failing. The file is gone (404 Not Found).",
        "Registry": "Couldn't be checked. The server blocks automated checks (403 Forbidden).",
        "Prices": "Link works. This link returns different content on every request",
        "Stocks": "Link works. The file has changed since the previous check.",
        "Survey": "Not checked yet. One of the next nightly runs checks it.",
    }.items():
        assert shown[f"{name} (CSV)"].startswith(words)
    assert {name for name, words in shown.items() if "Last good copy" in words} == {"Wells (CSV)"}
    assert "7 resources, 1 broken link" in text(page)


def test_a_broken_link_is_marked_on_ckans_own_pages(read: Read, world: dict[str, Any]) -> None:
    page = read("/dataset/files")
    items = {text(one.select_one(".heading")): text(one) for one in page.select(".resource-item")}
    marked = [name for name, words in items.items() if "Broken link" in words]
    assert [name.removesuffix("CSV").strip() for name in marked] == ["Wells"]
    since, copied = day(NOW - 9 * DAY), day(NOW - 10 * DAY)
    assert f"Broken link since {since} Last good copy from {copied}" in items[marked[0]]

    path = f"/dataset/files/resource/{world['wells']['id']}"
    note = read(path).select_one("#freshness-broken")
    assert text(note).startswith("This link is broken, but we kept a copy")
    assert f"Download copy from {copied}" in text(note) and "Edit link" not in text(note)
    note = read(path, "editor").select_one("#freshness-broken")
    assert note is not None and "Check again" in text(note)
    # The form where it is mended says what is wrong, too.
    form = read(f"{path}/edit", "editor")
    told = text(form.select_one("form#resource-edit #freshness-broken"))
    assert told.startswith("Broken link The file is gone (404 Not Found).")
    (edit,) = note.select("a:-soup-contains('Edit link')")
    assert str(edit["href"]).endswith("/edit#field-resource-url")
    # The dataset's page then shows this link.
    assert note.select(f"input[name=resource][value='{world['wells']['id']}']")


def test_a_link_shows_only_its_own_checks(read: Read, world: dict[str, Any]) -> None:
    made = make("twins", [{"name": "Checked"}, {"name": "Other"}])
    check_rows.sync(NOW - 60 * DAY, {"dataset"})
    checked, other = made["resources"]
    write(checked, [WORKED] * 5)
    write(other, [GONE] * 5)
    other["url"] = checked["url"]
    call_action(
        "resource_patch",
        {"user": world["editor"]["name"], "ignore_auth": True},
        **{key: other[key] for key in ("id", "url")},
    )
    shown = cards(read(page_of("twins")))
    assert shown["Checked (CSV)"].startswith("Link works.")
    assert shown["Other (CSV)"].startswith("Not checked yet.")


def test_no_secret_is_shown(read: Read, world: dict[str, Any]) -> None:
    """A resource without a name is named by its URL where nothing else names it."""
    dataset = make("keys", [{"url": "https://user:secret@x.example.org/?token=secret"}])
    check_rows.sync(NOW, {"dataset"})
    write(dataset["resources"][0], [GONE])
    page = read(page_of("keys"))
    assert "secret" not in page.decode()
    assert "Unnamed resource" in cards(page)
    shown = call_action("freshness_show", id="keys")
    assert "secret" not in json.dumps(shown)
    assert "***@x.example.org" in shown["pieces"][0]["resource_name"]


def test_what_else_people_should_know_of_a_link_that_works(
    read: Read, world: dict[str, Any]
) -> None:
    (link,) = make("outdated", [{}])["resources"]
    check_rows.sync(NOW, {"dataset"})
    write(link, [(Outcome.SAME_HASH, {"status": 200, "outdated_tls": True})])
    note = "The server supports only outdated encryption."
    lie = "The server changes the file's date even if the file stays the same. We compare its contents instead."
    (card,) = cards(read(page_of("outdated"))).values()
    assert card.startswith(f"Link works. The file is the same as before. {note}")
    assert lie not in card
    lies = "known = known || jsonb_build_object('dates_lie', true)"
    statement = f"UPDATE freshness_check SET {lies} WHERE resource_id = :id"
    model.Session.execute(sa.text(statement), {"id": link["id"]})
    model.Session.commit()
    (card,) = cards(read(page_of("outdated"))).values()
    assert f"{note} {lie}" in card
    write(link, [BLOCKED])
    (card,) = cards(read(page_of("outdated"))).values()
    assert note not in card and lie not in card


NEVER_CHECKED = {
    "archived": ("archived", "https://x.org/1.csv", "excluded", "This dataset is archived."),
    "on request": (
        "is_requestdata_type",
        "https://x.org/1.csv",
        "excluded",
        "only available on request",
    ),
    "made on request": (
        "other",
        "https://ourairports.com/1.csv",
        "excluded",
        "generates this file",
    ),
    "none": ("other", "https://x.org/1.csv", "waiting", "One of the next nightly runs checks it."),
}


@pytest.mark.parametrize("case", NEVER_CHECKED)
def test_lists_and_pages_agree_on_links_that_are_never_checked(
    world: dict[str, Any], case: str
) -> None:
    key, url, state, sentence = NEVER_CHECKED[case]
    name = f"never-{case.replace(' ', '-')}"
    made = make(name, [{"url": url}], extras=[{"key": key, "value": "true"}])
    (of_page,) = links.of_dataset(made["id"])["resources"]
    (of_list,) = LINKS.read(TableRequest(SITE, NOW, dataset=made["id"]))
    assert links.of_resource(of_page["id"]) == of_page
    assert (of_page["state"], of_list["state"]) == (state, state)
    assert sentence in of_page["explanation"]


def test_each_outcome_and_failure_has_its_sentence() -> None:
    assert all(labels.label("outcome", outcome.value).endswith(".") for outcome in Outcome)
    assert {one.value for one in FailureReason} <= labels.REASONS.keys()
