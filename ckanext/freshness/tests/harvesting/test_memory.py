"""Memory of a gather: bounded by the records under way, not by the size of the source."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from ckan.tests import factories

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source
from ckanext.harvest import model as harvest_model

FEW, MANY = 500, 3_000
BOUND = 20 << 20
"""Bytes that a gather of MANY may take more than one of FEW: half of the descriptions, of 16 KiB each, of
the 2,500 records more. About 1.6 KiB of each record are kept to the end or read at the begin: URLs, hashes
and ids. Documents under way take some 10 MiB, more or less by chance."""

SERVER = '''
import re, signal, sys
from ckanext.freshness.tests.servers.base import Answer, LoopbackServer

COUNT = int(sys.argv[1])
PREFIXES = """@prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix fdp-o: <https://w3id.org/fdp/fdp-o#> .
"""
TEXT = "All that there is to say. " * 640


class Generated(LoopbackServer):
    """A FAIR Data Point of one catalog, which makes its pages when they are asked for."""

    def answer(self, request):
        if asked := re.fullmatch(r"/c/page/dataset[?]page=([0-9]+)&size=([0-9]+)", request.target):
            return self.page(*map(int, asked.groups()))
        if request.target == "/c":
            listed = ", ".join(f"<{self.url}/d/{number}>" for number in range(COUNT))
            text = f'<{self.url}/c> a dcat:Catalog; dct:title "C"; dcat:dataset {listed} .'
        elif request.target == "/":
            text = f"<{self.url}> a fdp-o:FAIRDataPoint; fdp-o:metadataCatalog <{self.url}/c> ."
        else:
            return Answer(404)
        return Answer(200, (PREFIXES + text).encode(), {"Content-Type": "text/turtle"})

    def page(self, page, size):
        numbers = range(page * size, min(COUNT, (page + 1) * size))
        text = "".join(
            f'<{self.url}/d/{number}> a dcat:Dataset; dct:title "Dataset {number}"; '
            f'dct:description "{number}: {TEXT}"; dct:isPartOf <{self.url}/c> .\\n'
            for number in numbers
        )
        last = -(-COUNT // size) - 1
        links = [f'<{self.url}/c/page/dataset?page={last}&size={size}>; rel="last"']
        if page < last:
            links.append(f'<{self.url}/c/page/dataset?page={page + 1}&size={size}>; rel="next"')
        headers = {"Content-Type": "text/turtle", "Link": ", ".join(links)}
        return Answer(200, (PREFIXES + text).encode(), headers)


with Generated() as server:
    print(server.url, flush=True)
    signal.pause()
'''

GATHER = """
import json, sys
from ckan.cli import load_config
from ckan.config.middleware import make_app

make_app(load_config(sys.argv[1]))

from ckanext.harvest import model, queue
# What a consumer loads with its first job.
import ckanext.freshness.harvesting.fdp.crawl

def memory(what):
    with open("/proc/self/status") as status:
        return int(next(line.split()[1] for line in status if line.startswith(what))) * 1024

harvester, peaks = queue.get_harvester("fdp"), []
before = memory("VmRSS")
for job_id in sys.argv[2:]:
    with open("/proc/self/clear_refs", "w") as forget:
        forget.write("5")  # the peak of what was before
    queue.gather_stage(harvester, model.HarvestJob.get(job_id))
    peaks.append(memory("VmHWM") - before)
print(json.dumps(peaks))
"""


@contextmanager
def server(records: int) -> Iterator[str]:
    """Start a server in a separate process and return its URL."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(records)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        process.wait()


def peaks(ini: str, *harvests: Harvest) -> list[int]:
    """Return the peak of memory, in bytes, of a consumer that gathers the sources one by one."""
    jobs = [harvest.start() for harvest in harvests]
    done = subprocess.run(
        [sys.executable, "-c", GATHER, ini, *jobs], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    peaks: list[int] = json.loads(done.stdout.splitlines()[-1])
    return peaks


def states(harvest: Harvest) -> dict[str, int]:
    """Return how many of a source's objects that are not current are in each state."""
    model.Session.remove()
    table = harvest_model.HarvestObject.__table__
    rows = model.Session.execute(
        sa.select(table.c.state, sa.func.count())
        .where(table.c.harvest_source_id == harvest.source["id"], ~table.c.current)
        .group_by(table.c.state)
    )
    return dict(map(tuple, rows))


def as_if_imported(harvest: Harvest) -> None:
    """Make all objects current. Their packages do not matter to a gather."""
    package_id = factories.Dataset()["id"]
    table = harvest_model.HarvestObject.__table__
    model.Session.execute(
        sa.update(table)
        .where(table.c.harvest_source_id == harvest.source["id"])
        .values(current=True, state="COMPLETE", package_id=package_id)
    )
    job = harvest_model.HarvestJob.__table__
    model.Session.execute(
        sa.update(job).where(job.c.source_id == harvest.source["id"]).values(status="Finished")
    )
    model.Session.commit()


@pytest.mark.usefixtures("clean_site")
def test_a_gather_does_not_grow_with_its_source(request: pytest.FixtureRequest) -> None:
    """Neither the first gather of a source, nor the next one, which knows all records."""
    ini = request.config.option.ckan_ini
    with server(FEW) as few, server(MANY) as many:
        sources = [add_source(url, requests_per_second=10_000) for url in (few, many)]
        first = peaks(ini, *sources)
        pages = MANY // 50
        assert states(sources[1]) == {"WAITING": pages, "PAGE": MANY - pages}
        for source in sources:
            as_if_imported(source)
        again = peaks(ini, *sources)
        assert states(sources[1]) == {"COMPLETE": MANY}
    print(first, again)
    assert first[1] - first[0] < BOUND
    assert again[1] - again[0] < BOUND
