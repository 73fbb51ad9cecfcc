"""The demo's CKAN seen from inside: actions without a command."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ckan import model
from ckan.cli import load_config
from ckan.config.middleware import make_app
from ckan.plugins import toolkit as tk
from ckanext.harvest.model import HarvestJob, HarvestObject

from ckanext.freshness.ckan_adapter.database import missing_tables
from demo.datasets import DemoDataset
from stack.messages import StackError

ADMIN, EDITOR, ORG_ADMIN = "admin", "editor", "org-admin"
PEOPLE = {ADMIN: "Ada Admin", EDITOR: "Erin Editor", ORG_ADMIN: "Omar Okello"}
ORGANIZATION = "demo"
FINAL_STATES = ("COMPLETE", "ERROR")
"""States of harvest objects that no consumer has to process any more."""
COUNTS = ("added", "updated", "not modified", "deleted", "errored")
"""Names of ckanext-harvest's counts, in the order of the summary."""


class Site:
    """Actions on the site, by the site user."""

    def __init__(self, ini: str, log: Path) -> None:
        """
        :param log: the file for what CKAN logs in this process.
        :raises StackError: the tables are those of another version
        """
        config = load_config(ini)
        for handler in logging.getLogger().handlers:
            if isinstance(handler, logging.StreamHandler):
                handler.setStream(log.open("w"))
        self._app = make_app(config)
        if missing_tables():
            raise StackError(
                "The demo's data were made by another version of ckanext-freshness. Remove what ./dev has made "
                "with ./dev clean, and start the demo again."
            )
        self._user = self._call("get_site_user")["name"]

    def ensure_people(self, password: str) -> None:
        """Make the sysadmin, an editor and an admin of organizations, or give them the password."""
        for name, fullname in PEOPLE.items():
            user = model.User.get(name)
            if user is None:
                email = f"{name}@example.org"
                self._call(
                    "user_create", name=name, fullname=fullname, email=email, password=password
                )
                user = model.User.get(name)
            user.password = password
            user.sysadmin = name == ADMIN
        model.repo.commit_and_remove()

    def ensure_organization(self, name: str, title: str, members: Mapping[str, str]) -> None:
        """Make an organization.

        :param members: users' names with their roles
        """
        if model.Group.get(name) is None:
            self._call("organization_create", name=name, title=title)
        for username, role in members.items():
            self._call("organization_member_create", id=name, username=username, role=role)
        model.Session.remove()

    def ensure_datasets(self, datasets: Iterable[DemoDataset], base: str) -> None:
        """Make datasets, or bring those of an earlier demo up to the day.

        :param base: the address of their files
        """
        now = datetime.now(timezone.utc).replace(tzinfo=None)
        for one in datasets:
            there = model.Package.get(one.name)
            package = one.as_package(now, base)
            if there is None:
                self._call("package_create", EDITOR, **package)
            else:
                self._call("package_update", EDITOR, id=there.id, **package)
        model.Session.remove()

    def confirm(self, name: str) -> None:
        """Have the editor confirm a dataset."""
        with self._app._wsgi_app.test_request_context():
            tk.get_action("freshness_confirm")({"user": EDITOR}, {"id": name})
        model.Session.remove()

    def statuses(self) -> dict[str, int]:
        """Return the number of datasets with each status, as the facet counts them."""
        found = self._call("package_search", rows=0, **{"facet.field": ["freshness"]})
        return {
            item["name"]: item["count"] for item in found["search_facets"]["freshness"]["items"]
        }

    def ensure_source(
        self,
        name: str,
        url: str,
        source_type: str,
        title: str,
        organization: str,
        config: Mapping[str, object] | None = None,
    ) -> str:
        """Make a harvest source unless there is one with the name, and return its id.

        :raises StackError: it has another URL, since the port of an earlier demo is taken
        """
        there = model.Package.get(name)
        if there is not None and there.url == url:
            return str(there.id)
        if there is not None:
            raise StackError(
                f"Port {urlsplit(there.url).port} of an earlier demo is taken. End what uses it."
            )
        values = {"name": name, "url": url, "source_type": source_type, "title": title}
        values |= {"owner_org": organization, "config": json.dumps(config or {})}
        with self._app._wsgi_app.test_request_context():
            # Of a registry, the source's validator asks for the user of the request.
            tk.login_user(model.User.get(ADMIN))
            made = tk.get_action("harvest_source_create")({"user": ADMIN}, values)
        model.Session.remove()
        return str(made["id"])

    def start_job(self, source_id: str) -> str:
        """Create a job for a source, and return its id."""
        job_id = self._call("harvest_job_create", source_id=source_id, run=True)["id"]
        model.Session.remove()
        return str(job_id)

    def end_jobs(self) -> None:
        """Mark completed jobs as finished, as ``ckan harvester run`` does."""
        self._call("harvest_jobs_run")
        model.Session.remove()

    def open_jobs(self) -> list[str]:
        """Return the ids of unfinished jobs."""
        jobs = model.Session.query(HarvestJob.id).filter(
            HarvestJob.status.not_in(["Finished", "Aborted"])
        )
        found = [job_id for (job_id,) in jobs]
        model.Session.remove()
        return found

    def is_imported(self, job_id: str) -> bool:
        """Return whether each record of a job is done."""
        model.Session.remove()
        job = model.Session.get(HarvestJob, job_id)
        objects = model.Session.query(HarvestObject).filter_by(harvest_job_id=job_id)
        is_open = objects.filter(HarvestObject.state.not_in(FINAL_STATES)).count()
        return job.gather_finished is not None and not is_open

    def counts(self, job_id: str) -> dict[str, int]:
        """Return the numbers of a job's records, as ckanext-harvest counts them."""
        stats = self._call("harvest_job_show", id=job_id)["stats"]
        return {name: stats.get(name, 0) for name in COUNTS}

    def _call(self, action: str, user: str = "", /, **parameters: object) -> Any:
        context = {"ignore_auth": True, "user": user or getattr(self, "_user", "")}
        with self._app._wsgi_app.test_request_context():
            return tk.get_action(action)(context, parameters)
