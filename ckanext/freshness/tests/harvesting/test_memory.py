"""How much memory a gather needs: that of the records under way, however many a source has."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ckanext.freshness.ckan_adapter import harvest_model, model
from ckanext.freshness.tests.harvesting.conftest import add_source
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_bench import bench_catalogue

FEW, MANY = 1_000, 3_000
PER_RECORD = 4 * 1024
"""Bytes that a gather may keep of each record to its end: URLs, hashes and ids of what it saw, and
what a catalog's document takes that lists them all (some 700 were seen). A record has 3 KiB as text,
several times that as objects, and more as a graph."""

GATHER = """
import sys
from ckan.cli import load_config
from ckan.config.middleware import make_app

make_app(load_config(sys.argv[1]))

from ckanext.harvest import model, queue

harvester, job = queue.get_harvester("fdp"), model.HarvestJob.get(sys.argv[2])
with open("/proc/self/clear_refs", "w") as forget:
    forget.write("5")  # the peak of the start, when all of CKAN is compiled
queue.gather_stage(harvester, job)
with open("/proc/self/status") as status:
    print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""


def peak(records: int, ini: str) -> int:
    """The most bytes that a consumer of its own holds while it gathers a source."""
    with FdpServer() as server:
        server.log_requests = False
        bench_catalogue(server, records, 1)
        job_id = add_source(server.source_url, requests_per_second=10_000).start()
        done = subprocess.run(
            [sys.executable, "-c", GATHER, ini, job_id], capture_output=True, text=True
        )
    assert done.returncode == 0, done.stderr
    model.Session.expire_all()
    gathered = model.Session.query(harvest_model.HarvestObject).filter_by(harvest_job_id=job_id)
    assert gathered.count() == records
    return int(done.stdout.split()[-1]) * 1024


@pytest.mark.usefixtures("clean_site")
def test_a_gather_does_not_grow_with_its_source(request: pytest.FixtureRequest) -> None:
    ini = request.config.option.ckan_ini
    assert peak(MANY, ini) - peak(FEW, ini) < (MANY - FEW) * PER_RECORD
