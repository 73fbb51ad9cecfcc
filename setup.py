"""What neither pyproject.toml nor setup.cfg can say: extractors, translations, requirements, README's links."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from babel.messages import setuptools_frontend as babel
from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent


def requirements() -> list[str]:
    """Return the lines of requirements.txt that name a distribution."""
    text = (HERE / "requirements.txt").read_text(encoding="utf-8")
    lines = (line.partition(" #")[0].strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def readme() -> str:
    """Return README with absolute links, since a package index shows it without its neighbours.

    In a checkout the links are relative, and work wherever it is. They become links to the tag of the version.
    """
    project = (HERE / "pyproject.toml").read_text(encoding="utf-8")
    address, version = (
        re.findall(rf'^{key} = "(.+)"$', project, re.MULTILINE)[0]
        for key in ("Repository", "version")
    )
    text = (HERE / "README.rst").read_text(encoding="utf-8")
    text = re.sub(r" <(?!\w+:)(\S+)>`_", rf" <{address}/blob/v{version}/\1>`_", text)
    return re.sub(r"image:: (?!\w+:)(\S+)", rf"image:: {address}/raw/v{version}/\1", text)


class BuildWithTranslations(build_py):
    """Compile the translations, of which CKAN reads the compiled form alone, before files are collected."""

    def run(self) -> None:
        self.run_command("compile_catalog")
        super().run()


EXTRACTORS = [
    ("**/tests/**", "ignore", None),
    ("**.py", "python", None),
    ("**.js", "javascript", None),
    ("**/templates/**.html", "ckan.lib.extract:extract_ckan", None),
    ("**/templates/**.txt", "ckan.lib.extract:extract_ckan", None),
]
PACKAGES = {
    "ckanext-freshness": "ckanext/freshness",
    "ckanext-iati_harvester": "ckanext/freshness_iati",
}
"""The packages with texts, by the domain of their translations, which CKAN derives from the plugin's name."""


def for_each_package(command: type[Any]) -> type[Any]:
    """Return one of Babel's commands that does its work for each package; its options name it by braces."""

    def finalize_options(self: Any) -> None:
        """Leave the options as they were given."""

    def run(self: Any) -> None:
        given = dict(vars(self))
        for domain, package in PACKAGES.items():
            vars(self).update(
                {
                    key: value.format(domain=domain, package=package)
                    if isinstance(value, str)
                    else value
                    for key, value in given.items()
                }
            )
            self.distribution.message_extractors = {package: EXTRACTORS}
            command.finalize_options(self)
            command.run(self)

    return type(command.__name__, (command,), {"finalize_options": finalize_options, "run": run})


setup(
    cmdclass={
        "build_py": BuildWithTranslations,
        **{name: for_each_package(command) for name, command in babel.COMMANDS.items()},
    },
    install_requires=requirements(),
    long_description=readme(),
    long_description_content_type="text/x-rst",
)
