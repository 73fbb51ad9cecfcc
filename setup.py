"""What neither pyproject.toml nor setup.cfg can say: Babel's extractors, translations and requirements."""

from __future__ import annotations

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

REQUIREMENTS = Path(__file__).parent / "requirements.txt"


def requirements() -> list[str]:
    """The lines of requirements.txt that name a distribution."""
    lines = (line.partition(" #")[0].strip() for line in REQUIREMENTS.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


class BuildWithTranslations(build_py):
    """Compile the translations, of which CKAN reads the compiled form alone, before files are collected."""

    def run(self) -> None:
        self.run_command("compile_catalog")
        super().run()


setup(
    cmdclass={"build_py": BuildWithTranslations},
    install_requires=requirements(),
    message_extractors={
        "ckanext": [
            ("**/tests/**", "ignore", None),
            ("**.py", "python", None),
            ("**.js", "javascript", None),
            ("**/templates/**.html", "ckan.lib.extract:extract_ckan", None),
            ("**/templates/**.txt", "ckan.lib.extract:extract_ckan", None),
        ],
    },
)
