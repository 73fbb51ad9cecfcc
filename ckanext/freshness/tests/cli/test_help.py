"""The help of the commands, and the words that they print."""

from __future__ import annotations

from typing import Any

from ckan.cli.cli import ckan


def test_no_line_of_the_help_is_cut(cli: Any) -> None:
    shown = cli.invoke(ckan, ["freshness", "--help"])
    commands = shown.output.partition("Commands:\n")[2].splitlines()
    assert len(commands) > 5
    assert [line for line in commands if line.endswith("...")] == []
