"""Leaving: a site of two worker processes answers requests while the extension is removed, in any order."""

from __future__ import annotations

import collections
import configparser
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from ckan import model
from ckan.lib import search
from ckan.tests import factories

from ckanext.freshness.tests.datasets import stored
from ckanext.freshness.tests.processes import write_ini

Act = Callable[..., Any]

OURS = ("freshness", "fdp_harvester", "iati_harvester")


class Site:
    """The site of this test in processes of its own; its socket listens as long as the test runs."""

    def __init__(self, folder: Path, token: str) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=100)
        self._token = token
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.ini = write_ini(folder)
        self._write(lambda plugins: plugins)
        self._process: subprocess.Popen[str] | None = None

    def without_plugins(self) -> None:
        self._write(lambda plugins: [name for name in plugins if name not in OURS])

    def _write(self, change: Callable[[list[str]], list[str]]) -> None:
        parser = configparser.RawConfigParser()
        parser.optionxform = str  # type: ignore[assignment,method-assign]
        parser.read(self.ini)
        main = parser["app:main"]
        main["ckan.plugins"] = " ".join(change(main["ckan.plugins"].split()))
        main["ckan.site_url"] = self.url
        main["testing"] = "false"
        with open(self.ini, "w") as file:
            parser.write(file)

    def start(self) -> None:
        self._socket.set_inheritable(True)
        arguments = (sys.executable, "-m", "ckanext.freshness.tests.two_workers", self.ini)
        self._process = subprocess.Popen(
            (*arguments, str(self._socket.fileno())),
            pass_fds=(self._socket.fileno(),),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert any(line == "ready\n" for line in self._process.stdout)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait()
        self._process = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def close(self) -> None:
        self.stop()
        self._socket.close()

    def ask(self, path: str, data: dict[str, Any] | None = None) -> int:
        """Return the status of a request, which may have to wait for a worker."""
        body = None if data is None else json.dumps(data).encode()
        request = urllib.request.Request(self.url + path, body)
        request.add_header("Content-Type", "application/json")
        request.add_header("Authorization", self._token)
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                answer.read()
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    def ckan(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Call a command of CKAN in a process of its own."""
        ckan = Path(sys.executable).parent / "ckan"
        return subprocess.run(
            (str(ckan), "-c", self.ini, *arguments),
            capture_output=True,
            text=True,
            env={key: value for key, value in os.environ.items() if key != "CKAN_INI"},
        )


class Visitors:
    """People and programs that look and edit all the time, each in a thread."""

    def __init__(self, site: Site, dataset: dict[str, Any]) -> None:
        self.statuses: collections.Counter[tuple[str, int]] = collections.Counter()
        self._site = site
        self._is_over = threading.Event()
        name = dataset["name"]
        edit = {"id": name, "notes": ""}
        requests: list[tuple[str, dict[str, Any] | None]] = [
            ("/dataset/", None),
            (f"/dataset/{name}", None),
            ("/api/3/action/package_search?facet.field=[%22freshness%22]", None),
            (f"/api/3/action/package_show?id={name}", None),
            ("/api/3/action/package_patch", edit),
        ]
        self._threads = [
            threading.Thread(target=self._ask, args=request, daemon=True) for request in requests
        ]

    def __enter__(self) -> Visitors:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, path: str, data: dict[str, Any] | None) -> None:
        while not self._is_over.is_set():
            if data is not None:
                data = {**data, "notes": str(uuid4())}
            self.statuses[path, self._site.ask(path, data)] += 1
            # Commands share the processors with the visitors.
            self._is_over.wait(0.2)

    def wait(self) -> None:
        """Wait until each request was made some times more."""
        before = self.statuses.copy()
        while not self._is_over.wait(0.05):
            grown = collections.Counter(path for path, _ in (self.statuses - before).elements())
            if len(grown) == len(self._threads) and min(grown.values()) >= 4:
                return


@pytest.fixture
def dataset(
    with_plugins: None, clean_db: None, clean_index: None, ckan_config: Any
) -> dict[str, Any]:
    extras = [{"key": "frequency", "value": "weekly"}, {"key": "zone", "value": "3"}]
    made: dict[str, Any] = factories.Dataset(extras=extras, resources=[{"url": "http://x.org/1"}])
    return made


@pytest.fixture
def site(dataset: Any, tmp_path: Path) -> Iterator[Site]:
    token = factories.SysadminWithToken()["token"]
    model.Session.remove()
    site = Site(tmp_path, token if isinstance(token, str) else token.decode())
    site.start()
    yield site
    site.close()


def own_tables() -> list[str]:
    model.Session.remove()
    names = sa.inspect(model.Session.get_bind()).get_table_names()
    return [name for name in names if name.startswith("freshness_")]


def test_in_the_right_order(site: Site, dataset: dict[str, Any]) -> None:
    with Visitors(site, dataset) as visitors:
        visitors.wait()
        assert site.ask("/freshness") == 200
        site.without_plugins()
        early = site.ckan("freshness-uninstall", "--drop-tables", "--yes")
        assert (early.returncode, early.stdout.count("NOT DONE")) == (1, 1)
        assert "/freshness still answers" in early.stdout and own_tables()
        site.restart()
        visitors.wait()
        done = site.ckan("freshness-uninstall", "--yes")
        assert done.returncode == 0, done.stderr
        assert "Removed the extras and the values of checks from 1 dataset" in done.stdout
        visitors.wait()
        assert own_tables()
        done = site.ckan("freshness-uninstall", "--drop-tables", "--yes")
        assert done.returncode == 0, done.stderr
        visitors.wait()
    assert {status for _, status in visitors.statuses} == {200}, visitors.statuses
    assert stored(dataset["id"]) == {"frequency": "weekly", "zone": "3"}
    assert own_tables() == []
    assert not [key for key in search.show(dataset["id"]) if "freshness" in key]


def test_in_the_wrong_order(site: Site, dataset: dict[str, Any]) -> None:
    """The tables go first, while all processes run with the plugins."""
    with Visitors(site, dataset) as visitors:
        visitors.wait()
        refused = site.ckan("db", "downgrade", "-p", "freshness")
        assert refused.returncode == 1
        assert re.search(r"Nothing was changed: 1 datasets? still ha", refused.stderr)
        assert "ckan freshness-uninstall" in refused.stderr
        assert stored(dataset["id"])["freshness"] == "fresh"
        done = site.ckan("freshness", "uninstall", "--yes")
        assert done.returncode == 0, done.stderr
        visitors.wait()
        assert "freshness" not in stored(dataset["id"]), "the edits since have not written it"
        done = site.ckan("db", "downgrade", "-p", "freshness")
        assert done.returncode == 0, done.stdout + done.stderr
        assert own_tables() == []
        visitors.wait()
        assert site.ask("/freshness") == 503
        site.without_plugins()
        site.restart()
        visitors.wait()
    assert {status for _, status in visitors.statuses} == {200}, visitors.statuses
    assert stored(dataset["id"]) == {"frequency": "weekly", "zone": "3"}
