"""Recipients: only people who may see a dataset, if its sources and organization permit mails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import ckan.plugins as p
import pytest
from ckan import model
from ckan.lib.plugins import DefaultPermissionLabels
from ckan.tests import factories, helpers

from ckanext.freshness.mails import recipients
from ckanext.freshness.tests.harvesting.conftest import install
from ckanext.freshness.tests.mails.conftest import OVERDUE, Make, Notify, age, later
from ckanext.freshness.tests.servers.smtp import MailHost
from ckanext.freshness.tests.usual_site import use_hooks_of
from ckanext.harvest import model as harvest_model

ANN, BOB, ADMIN = "ann@example.org", "bob@example.org", "admin@example.org"


class EmbargoPlugin(p.SingletonPlugin, DefaultPermissionLabels):
    """Another extension's permissions: only one user may see embargoed datasets."""

    p.implements(p.IPermissionLabels)

    def get_dataset_labels(self, dataset_obj: Any) -> list[str]:
        if dataset_obj.name.startswith("embargoed"):
            return ["embargo"]
        return list(super().get_dataset_labels(dataset_obj))

    def get_user_dataset_labels(self, user_obj: Any) -> list[str]:
        labels = super().get_user_dataset_labels(user_obj)
        return [*labels, "embargo"] if getattr(user_obj, "name", "") == "insider" else labels


@pytest.fixture
def embargo(clean_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    install("embargo", EmbargoPlugin, tmp_path, monkeypatch)
    with use_hooks_of("embargo"):
        yield


def organization(admin: dict[str, Any], *more: tuple[dict[str, Any], str], **fields: Any) -> str:
    users = [{"name": admin["name"], "capacity": "admin"}]
    users += [{"name": user["name"], "capacity": capacity} for user, capacity in more]
    return str(factories.Organization(users=users, **fields)["id"])


def keepers(*package_ids: str) -> list[list[str]]:
    known = recipients.datasets(package_ids, later())
    return [list(known[one].keepers) for one in package_ids]


def test_of_private_datasets_only_those_are_told_who_may_see_them(make: Make) -> None:
    admin, member = factories.User(email=ADMIN), factories.User(email="Member@Example.org")
    factories.User(email=BOB)
    gone = factories.User(email="gone@example.org")
    owner = organization(admin, (member, "member"), (gone, "member"))
    helpers.call_action("user_delete", id=gone["id"])
    hidden: dict[str, Any] = {"owner_org": owner, "private": True}
    assert keepers(
        make("a-stranger", maintainer_email=ANN, **hidden)["id"],
        make("a-user-of-others", maintainer_email=BOB, **hidden)["id"],
        make("a-user-that-is-gone", maintainer_email=gone["email"], **hidden)["id"],
        make("a-member", maintainer_email=f"{ANN}, member@example.org", **hidden)["id"],
        make("an-author", maintainer_email=ANN, author_email="member@example.org", **hidden)["id"],
        make("open", maintainer_email=ANN, owner_org=owner)["id"],
    ) == [[ADMIN], [ADMIN], [ADMIN], ["member@example.org"], ["member@example.org"], [ANN]]


def test_a_dataset_has_maintainers_or_an_author_or_the_admins(make: Make) -> None:
    owner = organization(factories.User(email=ADMIN), (factories.User(email=BOB), "editor"))
    nobody = organization(factories.User(email=ANN))
    model.Session.query(model.Member).filter_by(group_id=nobody, table_name="user").delete()
    assert keepers(
        make("maintained", maintainer_email=f"{ANN}, {BOB}", author_email=ADMIN, owner_org=owner)[
            "id"
        ],
        make("authored", maintainer_email="nobody", author_email=ANN, owner_org=owner)["id"],
        make("owned", owner_org=owner)["id"],
        make("nobodys", owner_org=nobody)["id"],
        make("unowned")["id"],
    ) == [[ANN, BOB], [ANN], [ADMIN], [], []]


def test_the_labels_of_another_plugin_hold(make: Make, embargo: None) -> None:
    insider, admin = factories.User(name="insider", email=BOB), factories.User(email=ADMIN)
    owner = organization(admin)
    assert keepers(
        make("embargoed-1", maintainer_email=ANN, owner_org=owner)["id"],
        make("embargoed-2", maintainer_email=f"{ANN}, {BOB}", owner_org=owner)["id"],
        make("open", maintainer_email=ANN, owner_org=owner)["id"],
    ) == [[], [BOB], [ANN]]
    assert insider["name"] == "insider"


def test_no_mail_tells_of_what_became_private(make: Make, notify: Notify, host: MailHost) -> None:
    owner = organization(factories.User(email=ADMIN))
    made = make("rain", maintainer_email=ANN, owner_org=owner, title="Secret rain")
    age(OVERDUE)
    host.refused[ANN] = 450
    notify()
    host.refused.clear()
    model.Package.get(made["id"]).private = True
    model.repo.commit()
    report = notify()
    assert (report.mails, host.mails) == ([], [])


def imported(package_id: str, config: str | None, *, current: bool = True) -> str:
    """Let a dataset be harvested, and return the id of its source."""
    source = harvest_model.HarvestSource(url=f"http://{uuid4()}.org", type="x", config=config)
    source.save()
    job = harvest_model.HarvestJob(source=source)
    job.save()
    harvest_model.HarvestObject(
        guid=str(uuid4()), job=job, source=source, package_id=package_id, current=current
    ).save()
    return str(source.id)


CONFIGS: list[tuple[list[str | None], str]] = [
    ([], ANN),
    (['{"notify_contacts": true}'], ANN),
    (['{"notify_contacts": "true"}'], ADMIN),
    ([None], ADMIN),
    (["no json"], ADMIN),
    (['{"notify_contacts": true}', "{}"], ADMIN),
]
"""The configurations of the sources of a dataset, and who is told."""


def test_contacts_of_harvested_datasets(make: Make) -> None:
    owner = organization(factories.User(email=ADMIN))
    ids = []
    for number, (configs, _) in enumerate(CONFIGS):
        made = make(f"of-{number}", maintainer_email=ANN, author_email=BOB, owner_org=owner)
        for config in configs:
            imported(made["id"], config)
        ids.append(made["id"])
    gone = make("listed-no-more", maintainer_email=ANN)["id"]
    imported(gone, '{"notify_contacts": true}', current=False)
    assert keepers(*ids, gone) == [*([told] for _, told in CONFIGS), []]


def test_an_organization_may_want_none(make: Make) -> None:
    admin = factories.User(email=ADMIN)
    wishes = {None: True, "true": True, "false": False, " No ": False, "off": False}
    for number, (wish, is_wanted) in enumerate(wishes.items()):
        extras = [{"key": "freshness_notify", "value": wish}] if wish else []
        made = make(f"of-{number}", owner_org=organization(admin, extras=extras))
        assert bool(keepers(made["id"])[0]) is is_wanted, wish


def test_mails_ask_nobody_to_edit_a_harvested_dataset(
    make: Make, notify: Notify, host: MailHost
) -> None:
    made = make("harvested", maintainer_email=ANN)
    age(OVERDUE)
    imported(made["id"], '{"notify_contacts": true}')
    notify()
    (mail,) = host.mails
    for part in ("plain", "html"):
        assert "new data must come from its source" in mail.part(part)
        assert "/dataset/edit/" not in mail.part(part)
