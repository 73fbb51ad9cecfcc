"""``./dev test peers``: the tests of CKAN, ckanext-harvest and ckanext-dcat, without and with our plugins.

The tests are those of the installed packages. A test that passes without our plugins and not with them is new;
``stack/peers.txt`` lists the ones that must be so, with the reason.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stack.messages import StackError, say

Endings = Mapping[str, Sequence[str]]
"""How each test ended, by its id: passed, skipped or failed, and the first line of the failure."""


@dataclass(frozen=True, slots=True)
class Suite:
    """Tests of one distribution.

    :ivar paths: files or folders below the folder of installed packages.
    :ivar plugins: the plugins that its tests expect.
    :ivar beside: plugins that ours need beside them.
    """

    paths: tuple[str, ...]
    plugins: str
    beside: str = ""


SUITES = {
    "ckan": Suite(
        ("ckan/tests/logic/action", "ckan/tests/lib/search", "ckan/tests/controllers"),
        "stats",
        "harvest",
    ),
    "harvest": Suite(
        ("ckanext/harvest/tests",),
        "harvest ckan_harvester test_harvester test_harvester2 test_action_harvester",
    ),
    "dcat": Suite(("ckanext/dcat/tests",), "dcat", "harvest"),
}

SETTINGS = {
    "ckan": {
        "ckan.files.storage.default.type": "ckan:fs",
        "ckan.files.storage.default.path": "%(here)s/storage/peers/files",
        "ckan.files.storage.default.initialize": "true",
        "ckan.template_head_end": '<link rel="stylesheet" href="TEST_TEMPLATE_HEAD_END.css" type="text/css">',
        "ckan.template_footer_end": '<div role="region"><strong>TEST TEMPLATE_FOOTER_END TEST</strong></div>',
    },
    "harvest": {"ckan.harvest.timeout": "5"},
    "dcat": {"ckanext.dcat.enable_content_negotiation": "true", "ckan.locales_offered": "en ca es"},
}
"""Settings of the suites' own test.ini files, which packages do not contain, and on which tests rely."""

Run = Callable[[Mapping[str, str], Sequence[str | Path]], int]
"""Run pytest on a new site with these settings and arguments, and return the exit code."""

OPTIONS = (
    *("-p", "ckanext.freshness.tests.peers", "-p", "no:randomly", "-p", "no:cacheprovider"),
    *("-c", "/dev/null", "-n0", "-q", "--no-header", "--no-summary", "--tb=no"),
    *("--disable-warnings", "--continue-on-collection-errors"),
)

NOT_RUN = ("failed", "It did not run.")


def main(
    arguments: Sequence[str], *, run: Run, plugins: str, packages: Path, listed: Path, folder: Path
) -> int:
    """Run the suites without and with our plugins, report the differences, and return the exit code.

    :param arguments: names of suites, all by default, followed by arguments of pytest.
    :param plugins: ours, as ``ckan.plugins`` has them.
    :param packages: the folder of installed packages.
    :param listed: the file that lists the tests that fail with our plugins.
    :param folder: where the endings of the tests are written.
    """
    names = list(itertools.takewhile(lambda one: not one.startswith("-"), arguments))
    if unknown := [one for one in names if one not in SUITES]:
        raise StackError(f"There is no suite {unknown[0]!r}. There are: {', '.join(SUITES)}.")
    options = arguments[len(names) :]
    reasons = read_reasons(listed.read_text())
    folder.mkdir(parents=True, exist_ok=True)
    reports = []
    for name in names or SUITES:
        without, ours = (
            _endings(name, added, run, packages, folder / f"{name}-{side}.json", options)
            for side, added in (("without", ""), ("with", plugins))
        )
        reports.append((name, *report(without, ours, reasons)))
    for name, lines, _is_good in reports:
        print(f"\n{name}:", *lines, sep="\n    ")
    return 0 if all(is_good for *_, is_good in reports) else 1


def _endings(
    name: str, plugins: str, run: Run, packages: Path, file: Path, options: Sequence[str]
) -> Endings:
    suite = SUITES[name]
    added = f"{plugins} {suite.beside}".strip() if plugins else ""
    say(f"\n== The tests of {name}, {'with' if plugins else 'without'} our plugins")
    file.unlink(missing_ok=True)
    settings = {"ckan.plugins": f"{added} {suite.plugins}".strip(), **SETTINGS[name]}
    # The packages may be below this checkout, whose conftest.py is about our own tests.
    where = (f"--rootdir={packages}", f"--confcutdir={packages}")
    arguments = [*OPTIONS, *where, f"--enable={added}", f"--endings={file}"]
    code = run(settings, [*arguments, *options, *(packages / path for path in suite.paths)])
    if code not in (0, 1, 5) or not file.exists():
        raise StackError(f"The tests of {name} ended with code {code}; see above.")
    endings: Endings = json.loads(file.read_text())
    if not plugins and endings and not any(map(_passed, endings.values())):
        _, message = next(iter(endings.values()))
        raise StackError(f"No test of {name} passes without our plugins: {message} (all: {file})")
    return endings


def _passed(ending: Sequence[str]) -> bool:
    return ending[0] == "passed"


def read_reasons(text: str) -> dict[str, str]:
    """Return the reason for each listed test: a line at the margin, for the indented lines below it."""
    reasons = {}
    reason = ""
    for line in text.splitlines():
        if line.startswith(" "):
            reasons[line.strip()] = reason
        elif not line.startswith("#"):
            reason = line
    return reasons


def report(without: Endings, ours: Endings, reasons: Mapping[str, str]) -> tuple[list[str], bool]:
    """Return lines about the tests that pass without our plugins only, and whether all are listed."""
    failures = {
        test: ours.get(test, NOT_RUN)[1]
        for test in sorted(without.keys() | ours.keys())
        if _passed(without.get(test, ("passed",))) and not _passed(ours.get(test, NOT_RUN))
    }
    listed = [f"listed: {test}: {reasons[test]}" for test in failures if test in reasons]
    new = [f"NEW: {test}: {words}" for test, words in failures.items() if test not in reasons]
    mended = [
        f"passes again, remove it if it does on both CKAN series: {test}"
        for test in reasons
        if _passed(ours.get(test, NOT_RUN))
    ]
    summary = (
        f"{len(without.keys() | ours.keys())} tests; {sum(map(_passed, without.values()))} pass without our "
        f"plugins, {sum(map(_passed, ours.values()))} with them; {len(new)} new failures, {len(listed)} listed"
    )
    return [summary, *listed, *mended, *new], not new
