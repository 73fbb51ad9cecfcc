"""Services that are away, told by real commands: one line each, no traceback, exit code 1."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
import trustme
from ckan.common import config
from ckan.tests.helpers import changed_config

from ckanext.freshness import doctor
from ckanext.freshness.dates import utc_now
from ckanext.freshness.tests.processes import CkanProcess
from ckanext.freshness.tests.servers.base import Answer, LoopbackServer, Request
from ckanext.freshness.tests.servers.raw import RawServer, saying

Ckan = Callable[..., tuple[int, str]]
AWAY = {
    "PostgreSQL": ("sqlalchemy.url", "postgresql://someone:geheim@127.0.0.1:9/nothing"),
    "Redis": ("ckan.redis.url", "redis://:geheim@127.0.0.1:9/0"),
    "Solr": ("solr_url", "http://someone:geheim@127.0.0.1:9/solr/nothing"),
}
"""The option with a service's address, and one at which nothing answers."""


@pytest.fixture
def ckan(with_plugins: None, tmp_path: Path) -> Ckan:
    """Calls a command while a service is away; returns its exit code and all that it prints."""

    def call(service: str, *arguments: str) -> tuple[int, str]:
        option, url = AWAY[service]
        variable = f"CKAN_{option.removeprefix('ckan.').replace('.', '_').upper()}"
        command = ("-c", config["__file__"], *arguments)
        process = CkanProcess(command, tmp_path, **{variable: url})
        output = "".join(process.communicate(timeout=120))
        assert "Traceback" not in output and "geheim" not in output
        return process.wait(), output

    return call


@pytest.mark.parametrize("service", AWAY)
def test_a_service_that_is_away(ckan: Ckan, service: str) -> None:
    code, output = ckan(service, "freshness", "doctor")
    assert code == 1
    (line,) = (one for one in output.splitlines() if f"{service} does not answer" in one)
    assert "refused" in line and "127.0.0.1" in line
    assert f"correct {AWAY[service][0]}." in output
    assert "queues does not answer" not in output, "Redis is named once"


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
                found = list(doctor.address_and_mails(utc_now()))
            assert len(found) == (words is not None)
            for one in found:
                assert words and words in one.text and "geheim" not in one.text
                assert "ckan.site_url" in one.advice


def test_an_address_that_the_system_trusts(
    with_plugins: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_system, of_site = trustme.CA(), trustme.CA()
    of_system.cert_pem.write_to_path(str(tmp_path / "system.pem"))
    of_site.cert_pem.write_to_path(str(tmp_path / "site.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "system.pem"))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    of_system.issue_cert("127.0.0.1").configure_cert(tls)
    ok = saying(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    with (
        RawServer(ok, tls) as server,
        changed_config("ckan.site_url", server.url),
        changed_config("ckanext.freshness.ca_bundle", str(tmp_path / "site.pem")),
    ):
        assert list(doctor.address_and_mails(utc_now())) == []
