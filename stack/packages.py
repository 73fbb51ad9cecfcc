"""Builds the wheel and the source distribution, and tries each where nothing else of the checkout is."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from stack.commands import clean_environment, foreground, quiet
from stack.environment import uv
from stack.instances import Instance, environment, plugins
from stack.layout import Layout
from stack.messages import StackError, say, step
from stack.processes import spawn, stop
from stack.system import HOST, choose_port

NOT_IN_A_BUILD = shutil.ignore_patterns(
    ".dev", ".git", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", "*.mo"
)
TITLE = "Water points"
CATALOGUE = f"""\
@prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<{{base}}/catalogue.ttl> a dcat:Catalog ; dct:title "Trial" ; dcat:dataset <{{base}}/dataset> .
<{{base}}/dataset> a dcat:Dataset ; dct:title "{TITLE}" ; dct:description "Where people get water" ;
  dct:accrualPeriodicity <http://publications.europa.eu/resource/authority/frequency/WEEKLY> ;
  dct:modified "2026-01-31"^^xsd:date ;
  dcat:distribution <{{base}}/distribution> .
<{{base}}/distribution> a dcat:Distribution ; dct:title "All points" ; dct:format "CSV" ;
  dcat:accessURL <{{base}}/points.csv> .
"""
PAGES = {
    "/freshness": "Datasets by freshness",
    "/freshness/links": "points.csv",
    "/de/freshness": "Datensätze",
    "/dataset/water-points/freshness": "All points",
}
"""Pages, each with a text that it shows if its template, its translation or its data are there."""
PATIENCE = 300.0


def build(layout: Layout) -> tuple[Path, Path]:
    """Build both distributions from a copy of the checkout, check them, and return the wheel and the other."""
    target = layout.dev / "dist"
    shutil.rmtree(target, ignore_errors=True)
    with step("Building the distributions"), tempfile.TemporaryDirectory() as folder:
        # A build writes beside its sources.
        source = shutil.copytree(layout.root, Path(folder, "source"), ignore=NOT_IN_A_BUILD)
        # uv builds the wheel from the source distribution.
        uv(layout, "build", "--out-dir", target, source, what="Building the distributions")
    (wheel,), (archive,) = target.glob("*.whl"), target.glob("*.tar.gz")
    with step("Checking what a package index will show"):
        command = ("tool", "run", "twine", "check", "--strict", wheel, archive)
        uv(layout, *command, what="twine check --strict")
    return wheel, archive


def install(layout: Layout, series: str, wheel: Path, venv: Path) -> Path:
    """Install the wheel alone and then beside CKAN, in a new environment, and return its bin folder."""
    python = ("--python", venv / "bin" / "python")
    ckan = ("-r", layout.root / "stack" / f"ckan-{series}.txt")
    replaced = ("-r", layout.root / "stack" / "wheels.txt")
    overrides = ("--overrides", layout.root / "stack" / "overrides.txt")
    with step(f"Installing {wheel.name} into an empty environment"):
        uv(layout, "venv", "--clear", "--python", sys.executable, venv)
        uv(layout, "pip", "install", *python, wheel)
        uv(layout, "pip", "check", *python, what="pip check of the wheel alone")
        uv(layout, "pip", "install", *python, wheel, *ckan, *replaced, *overrides)
        uv(layout, "pip", "check", *python, what=f"pip check beside CKAN {series}")
    return venv / "bin"


def settings(layout: Layout) -> dict[str, str]:
    """Return the settings of the site that has the wheel."""
    return {
        "ckan.site_url": f"http://{HOST}:{choose_port(None)}",
        "ckan.plugins": plugins(layout.root / "test.ini"),
        "ckan.locales_offered": "en de",
        "ckanext.freshness.allowed_networks": "127.0.0.0/8",
    }


def harvest_check_and_look(site: Instance, ckan_bin: Path) -> None:
    """Harvest a catalogue of one dataset, check its link and read pages, with the processes that README names.

    :raises StackError: a step fails, or a page does not show what it should
    """
    base = site.state["settings"]["ckan.site_url"]
    variables = environment(site, [ckan_bin])
    log = site.home / "logs" / "wheel.log"
    log.unlink(missing_ok=True)

    def ckan(*arguments: str) -> str:
        own_log = log.with_name("wheel-ckan.log")
        advice = "The wheel may lack a file that the checkout has."
        what = f"ckan {' '.join(arguments)}"
        command: list[str | Path] = [ckan_bin / "ckan", *arguments]
        quiet(command, own_log, what=what, advice=advice, environment=variables, folder=site.home)
        return own_log.read_text()

    with step("Harvesting, checking and looking at pages with the wheel"), ExitStack() as stack:
        files = stack.enter_context(_files())
        ckan("user", "add", "admin", "email=admin@example.org", "password=only-for-this-trial")
        ckan("sysadmin", "add", "admin")
        token = ckan("user", "token", "add", "--quiet", "admin", "trial").split()[-1]
        port = base.rpartition(":")[2]
        for arguments in (
            ("run", "--host", HOST, "--port", port, "--disable-reloader"),
            ("freshness", "serve"),
        ):
            command = [ckan_bin / "ckan", *arguments]
            _, child = spawn(command, log, environment=variables, folder=site.home)
            stack.callback(stop, child)

        def call(action: str, **arguments: Any) -> Any:
            text = _read(f"{base}/api/3/action/{action}", token, json.dumps(arguments).encode())
            return json.loads(text)["result"]

        _until(lambda: call("status_show"), f"CKAN does not start ({log})")
        call("organization_create", name="trial")
        made = {"name": "trial-source", "source_type": "dcat_catalog", "title": "Trial"}
        source = call(
            "harvest_source_create", url=f"{files}/catalogue.ttl", owner_org="trial", **made
        )
        call("harvest_job_create", source_id=source["id"], run=True)
        name = {"id": "water-points"}
        _until(lambda: call("freshness_show", **name), f"The dataset is not harvested ({log})")
        call("freshness_check", **name)

        def is_checked() -> bool:
            shown = call("freshness_show", **name)
            (link,) = shown["links"]["resources"]
            found = (shown["title"], shown["frequency"]["days"], link["state"])
            return bool(found == (TITLE, 7, "works"))

        _until(is_checked, f"Its frequency is not read, or its link is not checked ({log})")
        for page, text in PAGES.items():
            if text not in _read(base + page):
                raise StackError(f"{page} does not show “{text}”.")


def test_source(archive: Path, layout: Layout) -> int:
    """Unpack the source distribution elsewhere, run its quick tests there, and return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(archive, folder)
        (root,) = Path(folder).iterdir()
        (root / ".dev").mkdir()
        (root / ".dev" / "cache").symlink_to(layout.cache)
        say(f"Running the quick tests of {archive.name}")
        command: list[str | Path] = [sys.executable, root / "dev", "test", "--quick"]
        # In its own folder, since Python finds the modules of the present one first.
        return foreground(command, clean_environment(), root)


def left_to_do(layout: Layout) -> list[str]:
    """Return what must be written before these distributions may be published."""
    reasons = {
        "pyproject.toml": ("/OWNER/", "the address of the repository, under [project.urls]"),
        "CHANGELOG.rst": ("(unreleased)", "the date of the release"),
    }
    return [
        f"{name} still has “{mark}”: write {words}."
        for name, (mark, words) in reasons.items()
        if mark in (layout.root / name).read_text(encoding="utf-8")
    ]


class _Handler(SimpleHTTPRequestHandler):
    extensions_map = {".ttl": "text/turtle", ".csv": "text/csv"}  # noqa: RUF012

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


@contextmanager
def _files() -> Iterator[str]:
    """Serve a catalogue and its file on the loopback interface, and give the server's address."""
    with tempfile.TemporaryDirectory() as folder:
        server = ThreadingHTTPServer((HOST, 0), partial(_Handler, directory=folder))
        base = f"http://{HOST}:{server.server_port}"
        Path(folder, "catalogue.ttl").write_text(CATALOGUE.format(base=base))
        Path(folder, "points.csv").write_text("name,depth\nMarket,12\nSchool,9\n")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield base
        finally:
            server.shutdown()
            server.server_close()


def _read(url: str, token: str = "", body: bytes | None = None) -> str:
    """Return the text of an answer.

    :raises StackError: the answer is an error; the message has its text
    """
    headers = {"Authorization": token} if token else {}
    if body is not None:
        headers["Content-Type"] = "application/json"
    # No proxy stands before the loopback interface.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(url, body, headers), timeout=60) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        words = error.read().decode(errors="replace")[:1000]
        raise StackError(f"{url} answers {error.code}: {words}") from error


def _until(holds: Callable[[], Any], problem: str) -> None:
    """Wait until a condition holds and asking for it raises no error.

    :raises StackError: it does not hold in time
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        last = ""
        try:
            if holds():
                return
        except (OSError, StackError) as error:
            last = f": {error}"
        if time.monotonic() > deadline:
            raise StackError(f"{problem}{last}")
        time.sleep(0.3)
