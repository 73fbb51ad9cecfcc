"""Writes the parts of the documentation that the code has: options, aging, reports, actions.

``./dev run python docs/generate.py`` writes them anew. What stands between the two comments of a part is
the script's; all else on these pages is written by people.
"""

from __future__ import annotations

import csv
import inspect
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from werkzeug.utils import import_string

from ckanext.freshness.aging import frequency
from ckanext.freshness.aging.status import HDX_ROWS
from ckanext.freshness.checking.answers import STATUSES
from ckanext.freshness.logic import (
    auth,
    dataset_actions,
    harvest_actions,
    report_actions,
)
from ckanext.freshness.reporting import report_tables
from ckanext.freshness.web.errors import FailureReason, Meaning

DOCS = Path(__file__).resolve().parent
DECLARATION = DOCS.parent / "ckanext" / "freshness" / "config_declaration.yaml"


@dataclass(frozen=True, slots=True)
class Part:
    """A generated part of a page."""

    page: str
    name: str
    lines: Callable[[], Iterator[str]]


def options() -> Iterator[str]:
    """Every option of config_declaration.yaml, by its groups."""
    declared = yaml.safe_load(DECLARATION.read_text(encoding="utf-8"))
    for group in declared["groups"]:
        yield from heading(group["annotation"], "-")
        for option in group["options"]:
            yield f"``{option['key']}`` ({default_words(default_of(option))})"
            example = f" Example: ``{option['example']}``." if "example" in option else ""
            yield f"   {description(option)}{example}"
            yield ""


def default_of(option: dict[str, Any]) -> Any:
    """Return an option's default, as CKAN finds it."""
    maker = option.get("default_callable")
    return import_string(maker)() if maker else option.get("default")


def description(option: dict[str, Any]) -> str:
    """An option's description on one line."""
    return " ".join(option["description"].split())


def default_words(default: Any) -> str:
    """A default as it would be written in an ini file."""
    if default is None or default == []:
        return "no default"
    return f"default ``{str(default).lower() if isinstance(default, bool) else default}``"


def thresholds() -> Iterator[str]:
    """The ages at which data of each of HDX's frequencies change their status."""
    rows = [
        (frequency.label(row.frequency), *map(str, (row.due, row.overdue, row.delinquent)))
        for row in HDX_ROWS
    ]
    always = ", ".join(
        frequency.label(days) for days in sorted(frequency.ALWAYS_FRESH, reverse=True)
    )
    head = ("Update frequency", "Due", "Overdue", "Delinquent")
    yield from table(head, [*rows, (always, *["never"] * 3)])


def reports() -> Iterator[str]:
    """The tables of the report, in the order of the dashboard."""
    rows = [(f"``/freshness/{one.name}``", one.meaning) for one in report_tables.TABLES.values()]
    yield from table(("Page", "Content"), rows)


ACTIONS: tuple[tuple[str, Any], ...] = (
    ("Datasets and resources", dataset_actions),
    ("Reports, data changes and runs", report_actions),
    ("Harvest sources", harvest_actions),
)
"""The modules of our actions, each with a title."""
EXAMPLES_OF_ACTIONS = DOCS / "api-examples.json"
"""A request for each action."""


def actions() -> Iterator[str]:
    """Each action: who may call it, its docstring and an example."""
    examples = {
        one["action"]: one for one in json.loads(EXAMPLES_OF_ACTIONS.read_text(encoding="utf-8"))
    }
    for title, module in ACTIONS:
        yield from heading(title, "-")
        for name in sorted(name for name in vars(module) if name.startswith("freshness_")):
            yield from _action(name, getattr(module, name), examples[name])


def _action(name: str, function: Any, example: dict[str, Any]) -> Iterator[str]:
    reads = getattr(function, "side_effect_free", False)
    words = inspect.getdoc(function) or ""
    names = [line.split()[1].rstrip(":") for line in words.splitlines() if line[:7] == ":param "]
    yield f"``{name}({', '.join(names)})``"
    yield f"   {'GET or POST' if reads else 'POST'}. {inspect.getdoc(getattr(auth, name))}"
    yield ""
    yield from (f"   {line}".rstrip() for line in _lines(words))
    if example["request"]:
        yield f"   :example: ``{json.dumps(example['request'])}``"
    yield ""


def _lines(words: str) -> Iterator[str]:
    """Yield the lines of a docstring, with the type of each parameter before its meaning."""
    types = dict(re.findall(r"^:type (\w+): (.+)$", words, re.M))
    for line in words.splitlines():
        if not line.startswith((":type ", ":rtype:", ":raises ObjectNotFound")):
            name = line.split()[1].rstrip(":") if line.startswith(":param ") else ""
            yield line.replace(": ", f": {types[name]}, ", 1) if name in types else line


def heading(title: str, line: str) -> Iterator[str]:
    """A title, underlined."""
    yield from (title, line * len(title), "")


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """A csv-table, with a line for each row."""
    yield from (".. csv-table::", "   :header-rows: 1", "")
    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n").writerows([head, *rows])
    yield from (f"   {line}" for line in lines.getvalue().splitlines())
    yield ""


MEANINGS = {
    Meaning.WORKS: "works",
    Meaning.FAILED: "failed",
    Meaning.CANNOT_TELL: "cannot tell",
    Meaning.OURS: "cannot tell (ours)",
}


def answers() -> Iterator[str]:
    """What statuses and failures say about a link; those of one meaning and reason share a row."""
    yield from heading("Statuses", "-")
    alike: dict[tuple[str, str], list[str]] = {}
    for status, row in sorted(STATUSES.items()):
        alike.setdefault((MEANINGS[row.meaning], row.why), []).append(str(status))
    rows = [(", ".join(statuses), link, why) for (link, why), statuses in alike.items()]
    rows.append(
        (
            "401 and 403 of an object store",
            "failed",
            "nobody gets the file, if the link worked before, or its signature has expired",
        )
    )
    rows.append(
        (
            "503 with ``Retry-After``",
            "cannot tell",
            "the server asks for a pause; failed after 10 days",
        )
    )
    rows.append(("any other from 200 to 299", "works", "the file comes with it"))
    rows.append(("any other", "failed", "people do not get the file either"))
    yield from table(("Status", "The link", "Why"), rows)
    yield from heading("No answer", "-")
    failures = [
        (f"``{reason.value}``", MEANINGS[reason.meaning], reason.why) for reason in FailureReason
    ]
    yield from table(("Reason", "The link", "Why"), failures)


PARTS = (
    Part("configuration.rst", "options", options),
    Part("checking.rst", "answers", answers),
    Part("reports.rst", "tables of the report", reports),
    Part("api.rst", "actions", actions),
    Part("aging.rst", "thresholds", thresholds),
)


def filled(part: Part, page: str) -> str:
    """A page with its generated part as it should be now.

    :raises ValueError: one of the two comments is missing.
    """
    begin, end = f".. generated: {part.name}\n", f".. end of generated: {part.name}\n"
    before, first, rest = page.partition(begin)
    _, last, after = rest.partition(end)
    if not first or not last:
        raise ValueError(f"docs/{part.page} lacks the comments of its part {part.name}")
    return f"{before}{begin}\n" + "\n".join(part.lines()) + f"\n{end}{after}"


def main() -> None:
    for part in PARTS:
        path = DOCS / part.page
        path.write_text(filled(part, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
