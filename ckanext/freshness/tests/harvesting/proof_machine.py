"""A state machine that harvests a random source again and again, and asks for a proof of each deletion."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from ckanext.freshness.harvesting.brake import BrakeLimits
from ckanext.freshness.harvesting.record import KnownRecord
from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.harvesting.survey import RecordChange
from ckanext.freshness.tests.harvesting.fdp.crawling import NOW, Job, Site
from ckanext.freshness.tests.harvesting.proofs import Evidence, History, proof

BRAKE = BrakeLimits()


class ProofMachine(RuleBasedStateMachine):
    """A source, and the site that harvests it. A subclass has the source's rules."""

    site: Site

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.ids: dict[str, int] = {}
        """The id of each record's package, by the record's identity."""
        self.history = History()
        self.is_over = True
        """A job has not passed its checks."""

    # What a subclass gives

    def identity(self, url: str | None) -> str:
        """Return what stays of a record's URL when servers respell it."""
        raise NotImplementedError

    def before_job(self) -> None:
        """Forget what the server answered to earlier jobs."""
        raise NotImplementedError

    def evidence(self) -> Evidence:
        """Return what the job could have seen that has just ended."""
        raise NotImplementedError

    def check_result(self, job: Job, evidence: Any) -> None:
        """Check that the site has what the source has; what else it has is held or has no proof."""
        raise NotImplementedError

    def teardown(self) -> None:
        """Run good jobs: everything is as at the source, or held. So is the rest after an approval.

        The first of three may be behind a wall that was there before, or delete what made a wall of others. An
        approval may delete a listed record whose 404 made that of others meaningless: they go in the next job.
        """
        if self.is_over:
            return
        for _ in range(3):
            job, evidence = self.run_job(hours=25)
        self.check_result(job, evidence)
        self.site.release()
        job, evidence = self.run_job(hours=25)
        assert all(self.site.held.values()), "an approved deletion is held again"
        self.check_result(job, evidence)
        self.run_job(hours=1)
        before = dict(self.site.packages)
        job, _ = self.run_job(hours=1)
        changed = {
            url: kind for url, kind in job.kinds.items() if kind is not RecordClass.UNCHANGED
        }
        assert not changed, f"written though nothing changed: {changed}"
        assert self.site.packages == before

    # Jobs

    def run_job(self, *, hours: int = 1) -> tuple[Job, Any]:
        """Run a job, and check that everything it deletes has a proof."""
        self.is_over = True
        self.now += timedelta(hours=hours)
        self.before_job()
        known = dict(self.site.known)
        released = {guid for guid, is_released in self.site.held.items() if is_released}
        job = self.site.gather(self.now)
        evidence = self.evidence()
        deleted = [one for one in job.changes.values() if one.kind is RecordClass.DELETED]
        catalogs = {self.identity(url): self.identity(known[url].catalog_url) for url in known}
        for change in job.changes.values():
            if change.kind is RecordClass.NEW:
                catalogs[self.identity(change.url)] = self.identity(change.catalog_url)
        refused_before = set(self.history.refused)
        self.history.note(evidence, [*map(self.identity, known)], catalogs, self.now)
        for change in deleted:
            found = proof(
                self.identity(change.url),
                evidence,
                catalogs,
                self.history,
                self.now,
                is_released=change.guid in released,
            )
            assert found, f"{change.url} is deleted without proof ({change.reason})"
        self._check_brake(deleted, evidence, known, released)
        self._check_approvals(deleted, known, released, refused_before)
        for change in self.site.to_import(job):
            self.site.import_(change, job)
        self._check_ids(known, deleted)
        self.is_over = False
        return job, evidence

    def _check_brake(
        self,
        deleted: Collection[RecordChange],
        evidence: Evidence,
        known: dict[str, KnownRecord],
        released: Collection[str],
    ) -> None:
        doomed = [one for one in deleted if one.guid not in released]
        left = len(known) - len(deleted) + len(doomed)
        if not doomed:
            return
        words = f"{len(doomed)} of {left} records are deleted without approval"
        assert len(doomed) < left - 1, words
        if len(known) >= BRAKE.min_records:
            assert len(doomed) <= BRAKE.max_delete_fraction * left, words
        answering = [one for one in doomed if evidence.is_there(self.identity(one.url))]
        lists_any = any(evidence.is_listed_at_end(self.identity(url)) for url in known)
        assert len(answering) < 2 or lists_any, (
            f"{words}, although they answer and the source lists no known record"
        )

    def _check_approvals(
        self,
        deleted: Collection[RecordChange],
        known: dict[str, KnownRecord],
        released: Collection[str],
        refused_before: Collection[str],
    ) -> None:
        """Check that what was refused before keeps its approval; a list ends that of others."""
        done = {one.guid for one in deleted}
        for url, one in known.items():
            if one.guid in released and one.guid not in done:
                is_refused = self.identity(url) in self.history.refused.keys() & refused_before
                words = f"the approval to delete {url} is lost, though nothing but refusals came"
                assert not is_refused or self.site.held.get(one.guid), words

    def _check_ids(self, known: dict[str, KnownRecord], deleted: Collection[RecordChange]) -> None:
        assert set(self.site.packages) == set(self.site.known), "a dataset without a record"
        found: dict[str, int] = {}
        for url, package in self.site.packages.items():
            own = self.identity(url)
            assert own not in found, f"{url} is there twice"
            found[own] = package.id
            assert self.ids.setdefault(own, package.id) == package.id, f"{url} has another id"
        lost = {self.identity(url) for url in known} - found.keys()
        lost -= {self.identity(one.url) for one in deleted}
        assert not lost, f"lost without a deletion: {lost}"


def run(machine: type[ProofMachine]) -> None:
    """Run a machine: some examples that are always the same, or a search for a thousand others."""
    profile = settings.get_current_profile_name()
    is_search = profile == "search"
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples={"quick": 10, "search": 1000}.get(profile, 40),
            stateful_step_count=15,
            derandomize=not is_search,
            # To find the shortest steps takes minutes.
            phases=list(Phase) if is_search else [Phase.generate],
            deadline=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
