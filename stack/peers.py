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

from stack.errors import StackError
from stack.progress import say, tell

OURS = "freshness fdp_harvester iati_harvester"

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

Run = Callable[[Mapping[str, str], list[str | Path]], int]
"""Run pytest on a new site with these settings and arguments, and return the exit code."""

OPTIONS = (
    *("-p", "ckanext.freshness.tests.peers", "-p", "no:randomly", "-p", "no:cacheprovider"),
    *("-c", "/dev/null", "-n0", "-q", "--no-header", "--no-summary", "--tb=no"),
    *("--disable-warnings", "--continue-on-collection-errors"),
)

NOT_RUN = ("failed", "It did not run.")


def main(arguments: Sequence[str], *, run: Run, packages: Path, listed: Path, folder: Path) -> int:
    """Run the suites without and with our plugins, report the differences, and return the exit code.

    :param arguments: names of suites, all by default, followed by arguments of pytest.
    :param packages: the folder of installed packages.
    :param listed: the file that lists the tests that fail with our plugins.
    :param folder: where the endings of the tests are written.
    """
    names = list(itertools.takewhile(lambda one: not one.startswith("-"), arguments))
    unknown = [one for one in names if one not in SUITES]
    if unknown:
        raise StackError(f"There is no suite {unknown[0]!r}. There are: {', '.join(SUITES)}.")
    options = arguments[len(names) :]
    reasons = read_reasons(listed.read_text())
    folder.mkdir(parents=True, exist_ok=True)
    differences = {}
    for name in names or SUITES:
        without, ours = (
            _run_suite(
                name, with_ours=side, run=run, packages=packages, folder=folder, more=options
            )
            for side in (False, True)
        )
        differences[name] = Difference(without, ours, reasons)
    for name, difference in differences.items():
        tell(f"\n{name}: {difference.summary}")
        tell("\n".join(difference.lines(listed.name)))
    return 1 if any(one.unlisted for one in differences.values()) else 0


def _run_suite(
    name: str, *, with_ours: bool, run: Run, packages: Path, folder: Path, more: Sequence[str]
) -> Endings:
    suite = SUITES[name]
    added = f"{OURS} {suite.beside}".strip() if with_ours else ""
    side = "with" if with_ours else "without"
    say(f"\n== The tests of {name}, {side} our plugins")
    file = folder / f"{name}-{side}.json"
    file.unlink(missing_ok=True)
    plugins = {"ckan.plugins": f"{added} {suite.plugins}".strip()}
    code = run(
        plugins | SETTINGS.get(name, {}),
        [
            *OPTIONS,
            f"--rootdir={packages}",
            *(f"--enable={added}", f"--endings={file}", *more),
            *(packages / path for path in suite.paths),
        ],
    )
    if code not in (0, 1, 5) or not file.exists():
        raise StackError(f"The tests of {name} ended with code {code}; see above.")
    endings: Endings = json.loads(file.read_text())
    if not with_ours and endings and not any(ending == "passed" for ending, _ in endings.values()):
        _, (_, message) = next(iter(endings.items()))
        raise StackError(f"No test of {name} passes without our plugins: {message} (all: {file})")
    return endings


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


class Difference:
    """The difference that our plugins make to the tests of a suite."""

    def __init__(self, without: Endings, ours: Endings, reasons: Mapping[str, str]) -> None:
        def passed(test: str, endings: Endings) -> bool:
            return endings.get(test, NOT_RUN)[0] == "passed"

        self._ours = ours
        self._reasons = reasons
        self._counts = [
            sum(passed(test, endings) for test in endings) for endings in (without, ours)
        ]
        self._tests = without.keys() | ours.keys()
        new = sorted(
            test
            for test in self._tests
            if without.get(test, ("passed",))[0] == "passed" and not passed(test, ours)
        )
        self.listed = [test for test in new if test in reasons]
        """New failures with a reason."""
        self.unlisted = [test for test in new if test not in reasons]
        """New failures without one."""
        self.mended = sorted(test for test in reasons if passed(test, ours))
        """Listed tests that pass."""

    @property
    def summary(self) -> str:
        """The counts, in a line."""
        alone, together = self._counts
        return (
            f"{len(self._tests)} tests; {alone} pass without our plugins, {together} with them; "
            f"{len(self.unlisted)} new failures, {len(self.listed)} listed ones"
        )

    def lines(self, name: str) -> list[str]:
        """Return the tests that the reader should know, each with its reason or failure."""
        return [
            *self._section("Listed:", self.listed, self._reasons),
            *self._section(
                f"Pass again. Remove them from {name} if they pass on both CKAN series:",
                self.mended,
                self._reasons,
            ),
            *self._section(
                f"FAIL because of our plugins. Mend it, or add them to {name} with the reason:",
                self.unlisted,
                {test: self._ours.get(test, NOT_RUN)[1] for test in self.unlisted},
            ),
        ]

    def _section(self, title: str, tests: Sequence[str], words: Mapping[str, str]) -> list[str]:
        lines = (line for test in tests for line in (f"    {test}", f"        {words[test]}"))
        return [title, *lines] if tests else []
