"""Fetches jars by coordinates and checks their hashes: ``fetch_jars.py LIST CACHE TARGET``.

Run by the Python of the tools' environment, which has jgo. jgo is asked for single artifacts only, never
to resolve what they depend on.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from jgo.config import GlobalSettings
from jgo.maven import MavenContext


def main(wanted: Path, cache: Path, target: Path) -> None:
    """Put every jar of the list into ``target``, and no other."""
    settings = GlobalSettings.load()
    maven = MavenContext(repo_cache=cache, remote_repos=settings.repositories or None, timeout=60)
    lines = [line.split() for line in wanted.read_text().splitlines() if line[:1] not in ("", "#")]
    with ThreadPoolExecutor(8) as pool:
        jars = list(pool.map(lambda line: fetch(maven, *line), lines))
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for jar in jars:
        shutil.copy(jar, target)


def fetch(maven: MavenContext, coordinate: str, digest: str) -> Path:
    """Fetch a jar and return its path.

    :raises SystemExit: its hash is not the one in the list
    """
    group, name, *classifier, version = coordinate.split(":")
    artifact = maven.project(group, name).at_version(version).artifact(*classifier)
    for _ in range(2):
        path = artifact.resolve()
        if hashlib.sha256(path.read_bytes()).hexdigest() == digest:
            return Path(path)
        # A download that was cut off lies in the cache under its full name.
        path.unlink()
    sys.exit(f"{coordinate}: what was downloaded does not have the SHA-256 {digest}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
