"""The imports that the modules of this package may have."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckanext.freshness.tests.test_import_rules import (
    IMPURE_MODULES,
    TOOLKIT,
    clock_reads,
    imports,
)

PACKAGE = Path(__file__).parent.parent

PURE = ("attempts", "downloads", "iati_file", "rules")
"""Neither database nor network nor CKAN, and no clock: ``now`` is an argument."""
WITHOUT_CKAN = (*PURE, "iati_check")


@pytest.mark.parametrize("name", sorted(path.stem for path in PACKAGE.glob("*.py")))
def test_every_module_keeps_the_rules(name: str) -> None:
    source = (PACKAGE / f"{name}.py").read_text(encoding="utf-8")
    # The path gives relative imports a name in the other package, which no rule is about.
    uses = list(imports(f"{name}.py", source))
    assert not [str(use) for use in uses if use.of("ckan") and not use.of(*TOOLKIT)]
    assert not [str(use) for use in uses if use.of("ckanext.harvest")]
    if name in WITHOUT_CKAN:
        assert not [str(use) for use in uses if use.of("ckan")]
    if name in PURE:
        assert not [str(use) for use in uses if use.of(*IMPURE_MODULES)]
        assert not [str(use) for use in clock_reads(name, source)]
