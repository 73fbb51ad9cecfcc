"""A random catalogue: what its authors and servers do to it, each by a name and two numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import unquote

from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Request
from ckanext.freshness.tests.servers.faults import Fault, FaultKey, Reset
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind, Record, State
from ckanext.freshness.tests.servers.fdp_render import Layout


class Catalogue:
    """A source of some catalogs and datasets, on a server that earlier catalogues may have had.

    :ivar source_url: the root, or the first catalog
    """

    def __init__(self, server: FdpServer, layout: Layout, *, catalogs: int, is_root: bool) -> None:
        self.server = server
        server.layout = layout
        server.faults.clear()
        self._made = 0
        first, *_ = [server.add_catalog(f"c{number}") for number in range(catalogs)]
        self.source_url = server.url if is_root else server.url_of(first)
        self._unjunked: dict[Record, list[Record | str]] = {}
        self._lasting: dict[Record, tuple[FaultKey, Fault]] = {}
        """Faults of datasets that no list has."""

    # Choosing

    def _containers(self) -> list[Record]:
        return [*self.server.catalogs, *self.server.records(Kind.BIOBANK)]

    def _is_there(self, dataset: Record) -> bool:
        """Whether a dataset is listed and can be read."""
        return dataset.state is State.PUBLISHED and any(
            dataset in one.listing(Kind.DATASET) for one in self._containers()
        )

    def _dataset(self, number: int, *, is_there: bool = True) -> Record | None:
        """One of the datasets that are there, or of those that are not."""
        found = [one for one in self.server.datasets if self._is_there(one) is is_there]
        return found[number % len(found)] if found else None

    def _catalog(self, number: int) -> Record:
        catalogs = self.server.catalogs
        return catalogs[number % len(catalogs)]

    def _container(self, number: int) -> Record:
        """A catalog or a biobank."""
        found = self._containers()
        return found[number % len(found)]

    def _unlist(self, record: Record) -> None:
        for parent in (self.server.root, *self._containers()):
            self.server.unlist(record, parent)

    # What authors do

    def publish(self, catalog: int, count: int) -> None:
        """Add some datasets to a container."""
        for _ in range(count % 4 + 1):
            self._made += 1
            container = self._container(catalog)
            title = f"Dataset {self._made}"
            self.server.add_dataset(container, f"d~{self._made}", title=title, distributions=0)

    def draft(self, catalog: int, _: int) -> None:
        self._made += 1
        self.server.add_dataset(
            self._container(catalog), f"d~{self._made}", draft=True, distributions=0
        )

    def edit(self, dataset: int, _: int) -> None:
        if record := self._dataset(dataset):
            self._made += 1
            self.server.change(record, title=f"Edition {self._made}")

    def delete(self, dataset: int, count: int) -> None:
        """Delete some datasets: they are in no list, and answer 404 or 410."""
        for _ in range(3 if count > 8 else 1):
            if record := self._dataset(dataset):
                self._unlist(record)
                self.server.vanish(record, 410 if count % 2 else 404)

    def unlist(self, dataset: int, count: int) -> None:
        """Take some datasets out of all lists; they still answer."""
        for _ in range(3 if count > 8 else 1):
            if record := self._dataset(dataset):
                self._unlist(record)

    def hide(self, dataset: int, status: int) -> None:
        """Take a dataset out of all lists, and let it answer 401 or 403."""
        if record := self._dataset(dataset):
            self._unlist(record)
            self.server.withdraw(record, 401 if status % 2 else 403)

    def mislead(self, dataset: int, how: int) -> None:
        """Take a dataset out of all lists, and let its URL answer with what tells nothing."""
        if record := self._dataset(dataset):
            self._unlist(record)
            names = ("HTML", "to the root", "elsewhere", "503", "another record", "empty")
            key = self.key(record.path)
            self._lasting[record] = key, FAULTS[names[how % len(names)]](self, record.path)
            self.server.faults.update(self._lasting.values())

    def _end_fault(self, record: Record | str) -> None:
        if isinstance(record, Record) and (lasting := self._lasting.pop(record, None)):
            self.server.faults.pop(lasting[0], None)

    def bring_back(self, dataset: int, catalog: int) -> None:
        """Publish a dataset, and list it if no container does."""
        if record := self._dataset(dataset, is_there=False):
            self._end_fault(record)
            self.server.publish(record)
            if not self._is_there(record):
                self.server.list_also(record, self._container(catalog))

    def withdraw(self, dataset: int, status: int) -> None:
        """Make a draft of a dataset again: it is listed and answers 401 or 403."""
        if record := self._dataset(dataset):
            self.server.withdraw(record, 401 if status % 2 else 403)

    def vanish(self, dataset: int, status: int) -> None:
        """Lose a dataset that is still listed."""
        if record := self._dataset(dataset):
            self.server.vanish(record, 410 if status % 2 else 404)

    def list_also(self, dataset: int, catalog: int) -> None:
        if record := self._dataset(dataset):
            others = [one for one in self._containers() if record not in one.listing(Kind.DATASET)]
            if others:
                self.server.list_also(record, others[catalog % len(others)])

    def move(self, dataset: int, catalog: int) -> None:
        """Let a dataset name another catalog; the listing follows or not."""
        if record := self._dataset(dataset):
            others = [one for one in self.server.catalogs if one is not record.part_of]
            if others:
                to = others[catalog % len(others)]
                follows = catalog >= 6 and record not in to.listing(Kind.DATASET)
                self.server.move(record, to, listing_follows=follows)

    def rename(self, dataset: int, _: int) -> None:
        """Give a dataset another URL, under which it is another record."""
        if record := self._dataset(dataset):
            self._made += 1
            self.server.respell(record, f"/dataset/d~{self._made}")

    def respell(self, dataset: int, how: int) -> None:
        """Write the URL of a dataset in another way."""
        if record := self._dataset(dataset):
            plain = unquote(record.path).rstrip("/")
            ways = (
                plain,
                plain.replace("~", "%7E"),
                plain.replace("~", "%7e"),
                plain.replace("/d~", "/%64~"),
                f"{plain}/",
            )
            self.server.respell(record, ways[how % len(ways)])

    def add_catalog(self, _: int, __: int) -> None:
        self._made += 1
        self.server.add_catalog(f"more{self._made}")

    def drop_catalog(self, catalog: int, _: int) -> None:
        """Take a catalog out of the root; it still answers."""
        self.server.unlist(self._catalog(catalog), self.server.root)

    def restore_catalog(self, catalog: int, _: int) -> None:
        record = self._catalog(catalog)
        self.server.publish(record)
        if record not in self.server.root.listing(Kind.CATALOG):
            self.server.list_also(record, self.server.root)

    def refuse_catalog(self, catalog: int, status: int) -> None:
        """Let a listed container answer 403, 404 or 410."""
        record = self._container(catalog)
        states = (State.DRAFT, State.MISSING, State.GONE)
        record.state = states[status % len(states)]

    def publish_container(self, catalog: int, _: int) -> None:
        self.server.publish(self._container(catalog))

    def insert_biobank(self, catalog: int, count: int) -> None:
        """Put a biobank between a catalog and some of its datasets."""
        record = self._catalog(catalog)
        self._made += 1
        biobank = self.server.add_biobank(record, f"b{self._made}")
        for child in list(record.listing(Kind.DATASET))[: count + 1]:
            if isinstance(child, Record):
                self.server.unlist(child, record)
                self.server.list_also(child, biobank)
                child.part_of = biobank

    def name_graph(self, container: int, _: int) -> None:
        """Serve a container as JSON-LD with a named graph, or no longer."""
        containers = [self.server.root, *self.server.catalogs]
        record = containers[container % len(containers)]
        record.named_graph = not record.named_graph

    def list_junk(self, catalog: int, how: int) -> None:
        """Let a container list nothing but URLs that cannot be read, or list again what it has."""
        record = self._container(catalog)
        base = (f"{self.server.url}/lost", "http://127.0.0.77:9/dataset")[how % 2]
        listed = list(record.listing(Kind.DATASET))
        if kept := self._unjunked.pop(record, None):
            record.children[Kind.DATASET] = kept
            for child in kept:
                self._end_fault(child)
        elif listed:
            self._unjunked[record] = listed
            junk: list[Record | str] = [f"{base}/{number}" for number in range(len(listed))]
            record.children[Kind.DATASET] = junk
        self.server.version += 1

    # What goes wrong

    def containers(self) -> list[str]:
        """The targets of all containers."""
        return [record.path or "/" for record in (self.server.root, *self._containers())]

    def key(self, target: str) -> FaultKey:
        """What a fault of exactly this target is set for."""

        def matches(request: Request) -> bool:
            return request.target == target

        return matches

    def break_container(self, name: str, place: int) -> None:
        """Let a fault strike the answers of a container."""
        places = self.containers()
        target = places[place % len(places)]
        self.server.faults[self.key(target)] = FAULTS[name](self, target)

    def break_record(self, name: str, dataset: int) -> None:
        """Let a fault strike a dataset, whether or not it is there."""
        if record := self._dataset(dataset, is_there=dataset % 2 == 0):
            self.server.faults[self.key(record.path)] = FAULTS[name](self, record.path)

    def raise_wall(self, catalog: int) -> None:
        """Let all datasets of a container answer 403, but not the container itself."""
        for child in self._container(catalog).listing(Kind.DATASET):
            if isinstance(child, Record):
                self.server.faults[self.key(child.path)] = faults.Status(403)

    def repair(self) -> None:
        """End all faults of the server, except those of datasets that no list has."""
        self.server.faults.clear()
        self.server.faults.update(self._lasting.values())


Change = Callable[[Catalogue, int, int], None]

CHANGES: Mapping[str, Change] = {
    name: getattr(Catalogue, name.replace(" ", "_"))
    for name in (
        *("publish", "draft", "edit", "delete", "unlist", "bring back", "withdraw", "vanish"),
        *("list also", "move", "rename", "respell", "add catalog", "drop catalog"),
        *("restore catalog", "refuse catalog", "publish container", "insert biobank"),
        *("name graph", "list junk", "hide", "mislead"),
    )
}


def _bare(catalogue: Catalogue, target: str) -> Fault:
    """A document that describes the container, and lists nothing."""
    server = catalogue.server
    record = server.find(target) or server.root
    kind = "https://w3id.org/fdp/fdp-o#FAIRDataPoint"
    if record.kind is not Kind.ROOT:
        kind = "http://www.w3.org/ns/dcat#Catalog"
    title = '<http://purl.org/dc/terms/title> "Bare"'
    return faults.Body(f"<{server.iri_of(record)}> a <{kind}>; {title} .".encode())


FAULTS: Mapping[str, Callable[[Catalogue, str], Fault]] = {
    **{
        str(status): lambda _, __, status=status: faults.Status(status)  # type: ignore[misc]
        for status in (401, 403, 404, 410, 500, 503)
    },
    "once 404": lambda _, __: faults.Status(404, times=1),
    "hangs": lambda _, __: faults.Hang(),
    "cut off": lambda _, __: faults.Cut(0.45),
    "truncated": lambda _, __: faults.Truncate(),
    "reset": lambda _, __: faults.Reset(moment=Reset.Moment.BODY),
    "empty": lambda _, __: faults.empty(),
    "HTML": lambda _, __: faults.html("text/turtle"),
    "other RDF": lambda _, __: faults.Body(b"<http://a> <http://b> <http://c> ."),
    "elsewhere": lambda _, __: faults.Redirect("http://127.0.0.77:9/login"),
    "to the root": lambda catalogue, _: faults.Redirect(catalogue.server.url or "/"),
    "another record": lambda catalogue, _: faults.Another(
        target=(catalogue._dataset(0) or catalogue.server.root).path
    ),
    "bare": _bare,
}
