"""Webhooks, told to a real receiver that fails in all ways."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from bs4 import BeautifulSoup
from ckan import model
from ckan.tests import factories, helpers
from standardwebhooks import Webhook as Verifier

from ckanext.freshness.mails import digests, webhooks
from ckanext.freshness.mails.webhook_events import TOPICS
from ckanext.freshness.model import FreshnessTransition, HarvestHold
from ckanext.freshness.tests.mails.conftest import ROOT, Make, fail, later
from ckanext.freshness.tests.mails.test_new_facts import change, job, source
from ckanext.freshness.tests.processes import CkanProcess, until, write_ini
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer, LoopbackServer, Request
from ckanext.freshness.tests.servers.smtp import MailHost

__all__ = ["source"]

HOUR = timedelta(hours=1) / timedelta(days=1)


class Receiver(LoopbackServer):
    """Takes all events, if no fault is set."""

    def answer(self, request: Request) -> Answer:
        return Answer(204)

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events that arrived, whatever was answered."""
        return [json.loads(one.body) for one in self.requests]

    @property
    def ids(self) -> list[str]:
        return [one.headers["webhook-id"] for one in self.requests]


@pytest.fixture
def receiver(make: Make, impatient_checks: None) -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


Register = Callable[..., dict[str, Any]]


@pytest.fixture
def register(receiver: Receiver) -> Register:
    def register(*events: str, path: str = "/", **organization: str) -> dict[str, Any]:
        data = {"url": receiver.url + path, "events": [*(events or TOPICS)], **organization}
        user = model.User.by_email(ROOT).name
        made = helpers.call_action("freshness_webhook_create", {"user": user}, **data)
        return {**made, **organization}

    return register


def tell(days: float = 0) -> None:
    webhooks.tell(lambda: later(days))


def state(made: dict[str, Any]) -> dict[str, Any]:
    model.Session.remove()
    organization = {key: made[key] for key in ("organization",) if key in made}
    found = helpers.call_action("freshness_webhook_list", **organization)
    return dict(next(one for one in found if one["id"] == made["id"]))


def log(made: dict[str, Any]) -> list[dict[str, Any]]:
    return list(state(made)["log"])


def turned(made: dict[str, Any], *statuses: str) -> None:
    """Write changes of a dataset's status, as a refresh does."""
    for before, after in pairwise(statuses):
        at = later().replace(tzinfo=None)
        row = {"package_id": made["id"], "changed_at": at, "cause": "time"}
        model.Session.add(FreshnessTransition(from_status=before, to_status=after, **row))
    model.Session.commit()


def test_each_event_is_told_once_and_signed(
    make: Make, source: dict[str, Any], receiver: Receiver, register: Register
) -> None:
    made = register()
    rain = make("rain", title="Rain <!channel> @all", owner_org=source["owner_org"])
    change(rain, (10, 12))
    turned(rain, "fresh", "due")
    fail(rain["id"], times=3, span=4)
    job(source, 0, fails=True)
    hold = {"source_id": source["id"], "job_id": "job", "held_at": later().replace(tzinfo=None)}
    model.Session.add(HarvestHold(**hold, reason="No record.", held=[{"guid": "a"}]))
    model.Session.commit()
    tell()
    model.Session.execute(
        sa.text(
            "UPDATE freshness_check SET failures = 0, failing_since = NULL, tried_at = :at,"
            " succeeded_at = :at"
        ),
        {"at": later().replace(tzinfo=None)},
    )
    model.Session.commit()
    tell()
    tell(0.1)
    assert [one["event"] for one in receiver.events] == [
        *("data.changed", "status.changed", "link.broken", "source.failed", "deletion.held"),
        "link.works",
    ]
    texts = "\n".join(one["text"] for one in receiver.events)
    for words in ("Rain", "12 rows", "Due", "is broken", "works again", "Harbour has failed since"):
        assert words in texts
    assert "1 deletion waits for approval" in texts and "/dataset/rain" in texts
    # Chats would call everybody.
    assert "Rain &lt;!channel&gt; @\u200ball" in texts and "<" not in texts and "@all" not in texts
    assert not any("type" in one for one in receiver.events)
    assert len(set(receiver.ids)) == 6
    for one in receiver.requests:
        assert one.method == "POST" and one.headers["Content-Type"] == "application/json"
        Verifier(made["secret"]).verify(one.body, dict(one.headers))
    assert {row["answer"] for row in log(made)} == {"204"}


def test_what_lasts_already_is_not_told(make: Make, receiver: Receiver, register: Register) -> None:
    rain = make("rain")
    change(rain, (10, 12))
    turned(rain, "fresh", "due")
    fail(rain["id"], times=3, span=4)
    made = register()
    tell()
    assert not receiver.requests and not log(made)


def test_nothing_is_told_of_private_datasets(
    make: Make, receiver: Receiver, register: Register
) -> None:
    user = factories.User()["name"]
    organization = factories.Organization(users=[{"name": user, "capacity": "admin"}])
    made = [register(), register(organization=organization["id"])]
    secret = make("secret", owner_org=organization["id"], private=True)
    soon = make("soon", owner_org=organization["id"])
    for one in (secret, soon):
        change(one, (10, 12))
        fail(one["id"], times=3, span=4)
    receiver.faults["/"] = faults.Status(500)
    tell()
    assert {one["data"]["dataset"]["name"] for one in receiver.events} == {"soon"}
    # It turns private while its events wait.
    helpers.call_action("package_patch", {"user": user}, id=soon["id"], private=True)
    receiver.reset()
    receiver.faults.clear()
    tell(1)
    assert not receiver.requests
    assert not any(log(one) for one in made)


FAULTS: dict[str, tuple[faults.Fault, str]] = {
    "500": (faults.Status(500), "500"),
    "redirect": (faults.Status(307, headers={"Location": "/elsewhere"}), "redirects more than 0"),
    "silent": (faults.Hang(), "0.3 s"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failure_is_tried_again_with_growing_delays(
    make: Make, receiver: Receiver, register: Register, fault: str
) -> None:
    made = register("data")
    change(make("rain"), (10, 12))
    receiver.faults["/"], words = FAULTS[fault]
    hours = [0.0, 0.1, 0.2, 0.6, 0.8, 1.9]
    with pytest.MonkeyPatch.context() as patch:
        if fault == "silent":
            patch.setattr(webhooks, "SECONDS", 0.3)
        for hour in hours:
            tell(hour * HOUR)
    assert len(receiver.requests) == 4
    (row,) = log(made)
    assert row["attempts"] == 4 and words in row["answer"] and row["delivered_at"] is None
    receiver.faults.clear()
    tell(2)
    tell(3)
    assert len(receiver.requests) == 5 and len(set(receiver.ids)) == 1
    assert log(made)[0]["delivered_at"] and state(made)["failing_since"] is None


def test_addresses_inside_get_no_request(
    make: Make, receiver: Receiver, register: Register, monkeypatch: Any, ckan_config: Any
) -> None:
    made = register("data")
    monkeypatch.setitem(ckan_config, "ckanext.freshness.allowed_networks", [])
    change(make("rain"), (10, 12))
    tell()
    assert not receiver.requests and receiver.connections == 0
    assert "this machine" in log(made)[0]["answer"]
    port = receiver.url.rpartition(":")[2]
    for url in (f"http://a:geheim@127.0.0.1:{port}/geheim", "http://[::1]/", "http://localhost/"):
        by = {"user": model.User.by_email(ROOT).name}
        with pytest.raises(
            helpers.logic.ValidationError, match="is this machine, inside"
        ) as caught:
            helpers.call_action("freshness_webhook_create", by, url=url, events=["data"])
        assert "geheim" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://example.org", "https://example.org"),
        ("https://example.org/services/T0/geheim", "https://example.org/***"),
        ("https://example.org?key=geheim", "https://example.org/***"),
        ("https://someone:geheim@example.org/", "https://example.org/***"),
    ],
)
def test_the_rest_of_an_address_may_be_secret(url: str, shown: str) -> None:
    assert webhooks.masked(url) == shown


def test_an_address_is_shown_to_who_registered_it(receiver: Receiver) -> None:
    owner, other = (factories.User()["name"] for _ in range(2))
    users = [{"name": name, "capacity": "admin"} for name in (owner, other)]
    of = {"organization": factories.Organization(users=users)["id"]}
    url = f"{receiver.url}/services/geheim"
    data = {"url": url, "events": ["data"], **of}
    assert helpers.call_action("freshness_webhook_create", {"user": owner}, **data)["url"] == url
    root, shown = model.User.by_email(ROOT).name, f"{receiver.url}/***"
    for user, expected in ((owner, url), (root, url), (other, shown)):
        (found,) = helpers.call_action("freshness_webhook_list", {"user": user}, **of)
        assert found["url"] == expected


def test_the_events_of_a_dataset_are_told_in_order(
    make: Make, receiver: Receiver, register: Register
) -> None:
    register("data", "status")
    rain, snow = make("rain"), make("snow")
    turned(rain, "fresh", "due", "overdue")
    turned(snow, "fresh", "due")

    def is_first(request: Request) -> bool:
        return b"rain" in request.body and b'"due"' in request.body

    receiver.faults[is_first] = faults.Status(500, times=1)
    tell()
    found = [(one["data"]["dataset"]["name"], one["data"]["status"]) for one in receiver.events]
    # What comes after a failure waits; other datasets go on.
    assert found == [("rain", "due"), ("snow", "due")]
    receiver.reset()
    tell(0.01)
    assert [one["data"]["status"] for one in receiver.events] == ["due", "overdue"]


def test_it_is_switched_off_after_three_days_and_on_by_a_test(
    make: Make, receiver: Receiver, register: Register, host: MailHost
) -> None:
    admin = factories.User(email="admin@example.org")
    users = [{"name": admin["name"], "capacity": "admin"}]
    organization = factories.Organization(users=users)["id"]
    path = "/services/T0/the-token"
    made = register("data", path=path, organization=organization)
    change(make("rain", owner_org=organization), (10, 12))
    receiver.faults[path] = faults.Status(500)
    for hours in range(0, 96, 6):
        tell(hours * HOUR)
    digests.notify_at_once(lambda: later(4))
    digests.notify_at_once(lambda: later(4))
    assert state(made)["disabled_at"]
    (mail,) = host.to("admin@example.org")
    assert len(host.to(ROOT)) == 1, "who registered it"
    for words in (mail.part("plain"), mail.part("html")):
        assert "Webhook at 127.0.0.1" in words and "500" in words
        assert "the-token" not in words and made["secret"] not in words
    count = len(receiver.requests)
    change(make("snow", owner_org=organization), (10, 12))
    tell(5)
    assert len(receiver.requests) == count
    receiver.faults.clear()
    helpers.call_action("freshness_webhook_test", id=made["id"])
    tell(5)
    assert receiver.events[-1]["event"] == "test"
    assert state(made)["disabled_at"] is None


def test_after_a_kill_it_is_told_again_with_the_same_id(
    make: Make, receiver: Receiver, register: Register, tmp_path: Path
) -> None:
    made = register("data")
    change(make("rain"), (10, 12))
    receiver.latency = 60
    ini = write_ini(tmp_path, allowed_networks="127.0.0.0/8")
    process = CkanProcess(("-c", ini, "freshness", "refresh"), tmp_path)
    try:
        until(lambda: receiver.requests, process)
    finally:
        process.kill()
    assert process.returncode == -signal.SIGKILL
    receiver.latency = 0
    tell()
    tell(1)
    assert len(receiver.ids) == 2 and len(set(receiver.ids)) == 1
    assert log(made)[0]["answer"] == "204"


def test_who_may_register(receiver: Receiver, register: Register) -> None:
    editor, admin = (factories.User()["name"] for _ in range(2))
    organization = factories.Organization(
        users=[{"name": editor, "capacity": "editor"}, {"name": admin, "capacity": "admin"}]
    )["id"]

    def call(action: str, by: str, **data: Any) -> Any:
        context = {"user": by, "ignore_auth": False}
        return helpers.call_action(f"freshness_webhook_{action}", context, **data)

    given = {"url": receiver.url, "events": ["data"]}
    site = register("data")
    made = call("create", admin, organization=organization, **given)
    assert [one["id"] for one in call("list", admin, organization=organization)] == [made["id"]]
    for by in (editor, ""):
        with pytest.raises(helpers.logic.NotAuthorized):
            call("create", by, organization=organization, **given)
        with pytest.raises(helpers.logic.NotAuthorized):
            call("list", by, organization=organization)
        with pytest.raises(helpers.logic.NotAuthorized):
            call("delete", by, id=made["id"])
    for action, data in (("create", given), ("list", {}), ("delete", {"id": site["id"]})):
        with pytest.raises(helpers.logic.NotAuthorized):
            call(action, admin, **data)
    wrong: list[dict[str, Any]] = [
        {"url": "ftp://example.org"},
        {"url": []},
        {"events": []},
        {"events": "data"},
    ]
    for one in (*wrong, {"events": ["no-such"]}):
        with pytest.raises(helpers.logic.ValidationError):
            call("create", admin, organization=organization, **{**given, **one})
    # As a browser does that loads the page with the secret again.
    with pytest.raises(helpers.logic.ValidationError, match="registered already"):
        call("create", admin, organization=organization, **given)
    call("delete", admin, id=made["id"])
    assert call("list", admin, organization=organization) == []


def test_the_secret_is_shown_once_and_stored_nowhere(
    app: Any, make: Make, receiver: Receiver, register: Register
) -> None:
    root = factories.SysadminWithToken()
    headers = {"Authorization": root["token"]}
    data = {"url": f"{receiver.url}/", "event": ["data", "status"]}
    for missing, words in (("url", "Enter the address (URL)"), ("event", "Choose what it is told")):
        given = {key: value for key, value in data.items() if key != missing}
        page = app.post("/freshness/webhooks", data={missing: "", **given}, headers=headers).body
        assert words in page and "Missing value" not in page
        boxes = BeautifulSoup(page, "html.parser").select("[name=event][checked]")
        assert [one["value"] for one in boxes] == given.get("event", [])
    answer = app.post("/freshness/webhooks", data=data, headers=headers)
    (made,) = helpers.call_action("freshness_webhook_list")
    secret = webhooks.secret(made["id"])
    assert secret in answer.body and "no-store" in answer.headers["Cache-Control"]
    change(make("rain"), (10, 12))
    tell()
    Verifier(secret).verify(receiver.requests[0].body, dict(receiver.requests[0].headers))
    page = app.get("/freshness/webhooks", headers=headers).body
    assert receiver.url in page and "data.changed" in page and secret not in page
    assert secret not in json.dumps(helpers.call_action("freshness_webhook_list"))
    plain = secret.removeprefix("whsec_")
    for table in ("freshness_webhook", "freshness_webhook_delivery"):
        rows = model.Session.execute(sa.text(f"SELECT CAST(t AS text) FROM {table} t")).scalars()
        assert not any(plain in row for row in rows)
    path = f"/freshness/webhooks/{made['id']}"
    assert "A test is being sent" in app.post(f"{path}/test", headers=headers).body
    tell(1)
    assert receiver.events[-1]["event"] == "test"
    app.post(f"{path}/delete", headers=headers)
    assert helpers.call_action("freshness_webhook_list") == []
    app.post(f"{path}/delete", headers=headers, status=404)
    assert app.get("/freshness/webhooks", follow_redirects=False).status_code == 302
