"""Services that are away, told by real commands: one line each, no traceback, exit code 1."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ckan.common import config
from ckan.tests.helpers import changed_config

from ckanext.freshness import doctor
from ckanext.freshness.dates import utc_now
from ckanext.freshness.tests.servers.base import Answer, LoopbackServer, Request

CKAN = Path(sys.executable).with_name("ckan")
AWAY = {
    "PostgreSQL": ("sqlalchemy.url", "postgresql://someone:geheim@127.0.0.1:9/nothing"),
    "Redis": ("ckan.redis.url", "redis://:geheim@127.0.0.1:9/0"),
    "Solr": ("solr_url", "http://someone:geheim@127.0.0.1:9/solr/nothing"),
}
"""The option with a service's address, and one at which nothing answers."""


def ckan(service: str, *arguments: str) -> tuple[int, str]:
    """Call a command while a service is away; return its exit code and all that it prints."""
    option, url = AWAY[service]
    variable = f"CKAN_{option.removeprefix('ckan.').replace('.', '_').upper()}"
    done = subprocess.run(
        [CKAN, "-c", config["__file__"], *arguments],
        env={**os.environ, variable: url},
        capture_output=True,
        text=True,
        timeout=120,
    )
    output = done.stdout + done.stderr
    assert "Traceback" not in output and "geheim" not in output
    return done.returncode, output


@pytest.mark.parametrize("service", AWAY)
def test_a_service_that_is_away(with_plugins: None, service: str) -> None:
    code, output = ckan(service, "freshness", "doctor")
    assert code == 1
    (line,) = (one for one in output.splitlines() if f"{service} does not answer" in one)
    assert "refused" in line and "127.0.0.1" in line
    assert f"correct {AWAY[service][0]}." in output
    assert "queues does not answer" not in output, "Redis is named once"


def test_other_commands_say_it_in_one_line(with_plugins: None) -> None:
    code, output = ckan("PostgreSQL", "freshness", "prune")
    assert code == 1
    # Without CKAN's log.
    (line,) = (one for one in output.splitlines() if not one.startswith("20"))
    assert line.startswith("Error: PostgreSQL does not answer")


class Site(LoopbackServer):
    def answer(self, request: Request) -> Answer:
        return Answer(200 if request.path == "/data/freshness" else 404)


def test_an_address_of_the_site_at_which_it_is_not(with_plugins: None) -> None:
    with Site() as site:
        for url, words in (
            (f"{site.url}/data", None),
            (site.url, "HTTP status 404"),
            ("http://someone:geheim@127.0.0.1:9", "refused"),
        ):
            with changed_config("ckan.site_url", url):
                found = list(doctor.site.address(utc_now()))
            assert len(found) == (words is not None)
            for one in found:
                assert words and words in one.text and "geheim" not in one.text
                assert "ckan.site_url" in one.advice
