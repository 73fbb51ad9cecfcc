"""A site in which ckanext-harvest is not installed: run as a script by test_without_harvest.py.

It prints what the site answers as JSON, by page and by command.
"""

from __future__ import annotations

import json
import sys
from importlib.abc import MetaPathFinder
from types import SimpleNamespace
from typing import Any


class NotInstalled(MetaPathFinder):
    """A finder that lets no import find ckanext-harvest."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        if fullname.startswith("ckanext.harvest"):
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def main(ini: str, pages: list[str], commands: list[list[str]]) -> dict[str, Any]:
    """Start CKAN and return the status of each page, and exit code and output of each command."""
    sys.meta_path.insert(0, NotInstalled())
    import ckan.cli.cli as cli
    from ckan.cli import load_config
    from ckan.config.middleware import make_app
    from click.testing import CliRunner
    from werkzeug.test import Client

    config = load_config(ini)
    app = make_app(config)
    # All of the site: CKAN 2.11 sets the language of a request outside of Flask.
    client = Client(app)
    answers: dict[str, Any] = {page: client.get(page).status_code for page in pages}
    cli.CtxObject = lambda path=None: SimpleNamespace(config=config, app=app)
    for command in commands:
        done = CliRunner().invoke(cli.ckan, ["--config", ini, *command])
        answers[" ".join(command)] = [done.exit_code, done.output]
    return answers


if __name__ == "__main__":
    answers = main(sys.argv[1], *json.loads(sys.argv[2]))
    print(json.dumps(answers))
