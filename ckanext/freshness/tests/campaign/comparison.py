"""The comparison of a campaign's round: what CKAN and Solr have, and what the catalogue says is right."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field

from ckanext.freshness.ckan_adapter.packages import PACKAGE_EXTRAS
from ckanext.freshness.tests.campaign.catalogue import Catalogue
from ckanext.freshness.tests.campaign.site import Job, Site
from ckanext.freshness.tests.servers.fdp_model import Record, State

SOLR_PATIENCE = 5.0
"""Seconds until Solr shows everything; after a start it reads its log of updates, and ignores commits."""


@dataclass(frozen=True, slots=True)
class Package:
    """A harvested dataset in the database.

    :ivar resources: ids of resources by the path of their distribution
    :ivar fields: the other fields of the dataset
    """

    id: str
    name: str
    title: str
    state: str
    modified: str
    maintainer: str | None
    resources: Mapping[str, str]
    fields: Mapping[str, str]

    @property
    def is_active(self) -> bool:
        return self.state == "active"


@dataclass(slots=True)
class Memory:
    """What the campaign remembers of a dataset.

    :ivar maintainer: what an editor has written
    :ivar content: what the package was made of when it was last as expected; None if it was not
    :ivar gone: how many jobs in a row, without any trouble, could see that the dataset is gone
    """

    package_id: str
    name: str
    resources: dict[str, str] = field(default_factory=dict)
    maintainer: str | None = None
    content: Hashable = None
    gone: int = 0


class Comparison:
    """Compares the site with the catalogue after each job."""

    def __init__(self, site: Site, catalogue: Catalogue) -> None:
        self._site = site
        self._catalogue = catalogue
        self._memory: dict[Record, Memory] = {}
        self._before: dict[Record, Package] = {}
        self._released: set[str] = set()
        self._edited: set[Record] = set()

    def edit(self) -> bool:
        """Let an editor change a field that the source does not own."""
        fit = [record for record, one in self._before.items() if one.is_active]
        if not fit:
            return False
        record = self._catalogue.rng.choice(fit)
        memory = self._memory[record]
        memory.maintainer = f"Editor {self._catalogue.rng.randrange(1000)}"
        self._site.call("package_patch", id=memory.package_id, maintainer=memory.maintainer)
        self._edited.add(record)
        return True

    def release(self) -> bool:
        """Approve the held deletions, if there are any."""
        hold = self._site.held()
        if hold is None:
            return False
        self._site.release()
        self._released = {one["package_id"] for one in hold["held"]}
        return True

    def look(self) -> None:
        """Remember how the packages are before a job."""
        self._before = {record: one for record, (one, *_) in self._packages().items()}
        self._edited = set()

    def after(self, job: Job) -> Iterator[str]:
        """Compare after a job, and yield each difference in words."""
        if job.waits_for:
            yield f"the job has not ended: {job.waits_for}"
            return
        is_calm = not job.blows
        packages = self._packages()
        held = self._held()
        for record, found in packages.items():
            active = [one for one in found if one.is_active]
            if len(active) > 1:
                names = " and ".join(one.name for one in active)
                yield f"{record.path} has two active packages: {names}"
            package = (active or found)[0]
            before = self._before.get(record)
            yield from self._kept(record, package)
            yield from self._deleted(record, before, package)
            yield from self._written(record, before, package)
            if is_calm:
                yield from self._as_the_source_has_it(record, package)
                for difference in self._gone(record, package, held):
                    yield f"{difference}; the job's errors: {job.errors}"
        if is_calm:
            for record in self._catalogue.server.datasets:
                if self._catalogue.exists(record) and record not in packages:
                    yield f"{record.path} is missing; the job's errors: {job.errors}"
            yield from self._failed(job)
        yield from self._all_deleted(packages)
        if is_calm or not any("Solr" in one.name or "aborted" in one.name for one in job.blows):
            yield from self._indexed(packages)
        self._before = {record: found[0] for record, found in packages.items()}
        self._released = set()
        self._edited = set()

    @property
    def active(self) -> int:
        """How many datasets the site has."""
        return sum(one.is_active for one in self._before.values())

    # Rules

    def _kept(self, record: Record, package: Package) -> Iterator[str]:
        """Ids, names and editors' changes stay, whatever happens."""
        memory = self._memory.setdefault(record, Memory(package.id, package.name))
        if package.id != memory.package_id:
            yield f"{record.path} has another package: {package.id}, it was {memory.package_id}"
        if package.name != memory.name:
            yield f"{record.path} has another name: {package.name}, it was {memory.name}"
        if package.maintainer != memory.maintainer:
            yield f"{record.path} lost its editor's change: {package.maintainer}"
        for path, resource_id in package.resources.items():
            known = memory.resources.setdefault(path, resource_id)
            if known != resource_id:
                yield f"{path} has another resource id: {resource_id}, it was {known}"

    def _deleted(self, record: Record, before: Package | None, package: Package) -> Iterator[str]:
        """Nothing is deleted without a proof."""
        if before is None or not before.is_active or package.is_active:
            return
        catalogue = self._catalogue
        if catalogue.is_gone(record) or not catalogue.listings(record):
            return
        if record.state is State.PUBLISHED:
            yield f"{record.path} was deleted: it answers and is listed"
        else:
            yield f"{record.path} was deleted: it is listed, and has answered 403 for less than a day"

    def _as_the_source_has_it(self, record: Record, package: Package) -> Iterator[str]:
        """After a job without trouble, everything is as the source has it."""
        memory, catalogue = self._memory[record], self._catalogue
        memory.content = None
        if not catalogue.exists(record):
            return
        if not package.is_active:
            yield f"{record.path} is in the source, but its package is deleted"
            return
        title = record.label
        if package.title != title:
            yield f"{record.path} is called {package.title}, and {title} in the source"
        files = {one.path for one in catalogue.distributions(record)}
        parents = [record.part_of] if record.part_of in catalogue.catalogs else None
        catalog = min(map(catalogue.server.iri_of, parents or catalogue.listings(record)))
        if not package.fields["guid"].startswith(f"catalog={catalog};"):
            yield f"{record.path} is in {catalog}, but its guid is {package.fields['guid']}"
        if files != package.resources.keys():
            yield (
                f"{record.path} has the resources {sorted(package.resources)}, and the distributions "
                f"{sorted(files)} in the source"
            )
        memory.content = catalogue.content(record)

    def _failed(self, job: Job) -> Iterator[str]:
        """A job without trouble has no error, except refused records, catalogs without any, and holds."""
        catalogue = self._catalogue
        refusing = [one.path for one in catalogue.server.datasets if not catalogue.answers(one)]
        refusing += [one.path for one in catalogue.catalogs if not catalogue.readable(one)]
        for error in job.errors:
            is_about_one = any(f"{path}:" in error or f"{path} " in error for path in refusing)
            if not is_about_one and " held: " not in error:
                yield f"a job without trouble has the error {error}"

    def _gone(self, record: Record, package: Package, held: set[str]) -> Iterator[str]:
        """What is gone in two jobs without trouble is deleted or held."""
        memory, catalogue = self._memory[record], self._catalogue
        is_provable = catalogue.is_gone(record) or (
            record.state is State.PUBLISHED
            and not catalogue.listings(record)
            # Catalogs of which nothing can be read may list it.
            and all(map(catalogue.readable, catalogue.catalogs))
        )
        memory.gone = memory.gone + 1 if is_provable else 0
        if memory.gone >= 2 and package.is_active and package.id not in held:
            yield (
                f"{record.path} is gone since {memory.gone} jobs ({record.state.name}, listed in "
                f"{[one.path for one in catalogue.listings(record)]}), but neither deleted nor held"
            )

    def _written(self, record: Record, before: Package | None, package: Package) -> Iterator[str]:
        """Nothing unchanged is written."""
        memory = self._memory[record]
        if before is None or not (before.is_active and package.is_active):
            return
        if record in self._edited:
            return
        same = memory.content is not None and memory.content == self._catalogue.content(record)
        if same and self._catalogue.exists(record) and package.modified != before.modified:
            old, new = (
                {*one.fields.items(), *one.resources.items(), one.title}
                for one in (before, package)
            )
            yield (
                f"{record.path} was written at {package.modified} without a change; before, it was "
                f"written at {before.modified}. It lost {old - new or 'nothing'}, and got "
                f"{new - old or 'nothing'}"
            )

    def _all_deleted(self, packages: Mapping[Record, list[Package]]) -> Iterator[str]:
        """All, or all but one, are never deleted without an approval."""
        before = {one.id for one in self._before.values() if one.is_active}
        after = {one.id for found in packages.values() for one in found if one.is_active}
        lost = before - after - self._released
        if len(before) > 1 and len(lost) >= len(before) - 1:
            yield f"{len(lost)} of {len(before)} datasets were deleted at once"

    def _indexed(self, packages: Mapping[Record, list[Package]]) -> Iterator[str]:
        """Solr has the same as the database."""
        if self._in_time(packages):
            self._site.refresh()
            yield from (f"{one}, also after a refresh" for one in self._in_time(packages))

    def _in_time(self, packages: Mapping[Record, list[Package]]) -> list[str]:
        """Return the differences that stay when Solr has had time to show what was sent to it."""
        end = time.monotonic() + SOLR_PATIENCE
        while differences := list(self._index_differences(packages)):
            if time.monotonic() > end:
                break
            time.sleep(0.2)
            self._site.commit()
        return differences

    def _index_differences(self, packages: Mapping[Record, list[Package]]) -> Iterator[str]:
        documents = self._site.documents()
        active = {one.id: one for found in packages.values() for one in found if one.is_active}
        for package_id in documents.keys() - active.keys():
            yield f"Solr has {documents[package_id]['name']}, which is not active"
        for package_id, package in active.items():
            document = documents.get(package_id)
            if document is None:
                yield f"Solr lacks {package.name}"
                continue
            resources = {one["id"] for one in document["resources"]}
            there = (document["title"], document["metadata_modified"][:26], resources)
            here = (package.title, package.modified, set(package.resources.values()))
            if there != here:
                yield f"Solr has {package.name} as {there}, and the database as {here}"

    # What the site has

    def _held(self) -> set[str]:
        hold = self._site.held()
        return {one["package_id"] for one in hold["held"]} if hold else set()

    def _packages(self) -> dict[Record, list[Package]]:
        resources: dict[str, dict[str, str]] = {}
        for row in self._site.rows(_RESOURCES):
            path = self._catalogue.record_of(row.uri).path
            resources.setdefault(row.package_id, {})[path] = row.id
        found: dict[Record, list[Package]] = {}
        for row in self._site.rows(_PACKAGES):
            package = Package(
                row.id,
                row.name,
                row.title,
                row.state,
                row.modified.isoformat(timespec="microseconds"),
                row.maintainer,
                resources.get(row.id, {}),
                row.extras,
            )
            found.setdefault(self._catalogue.record_of(row.extras["uri"]), []).append(package)
        return found


_PACKAGES = f"""
SELECT p.id, p.name, p.title, p.state, p.metadata_modified AS modified, p.maintainer,
    {PACKAGE_EXTRAS} AS extras
FROM package p WHERE p.type = 'dataset' ORDER BY p.state, p.metadata_created"""
_RESOURCES = """
SELECT id, package_id, extras::json ->> 'uri' AS uri FROM resource WHERE state = 'active'"""
