"""The parts of these tests that can run by themselves, as paths below this folder."""

from __future__ import annotations

PURE = (
    *("files", "policy", "registry/test_records.py"),
    "test_import_rules.py",
)
LONG_PURE = ("registry/test_registries.py",)
IMPURE = ()
SAMPLES = ("cycle/test_cycle.py::test_the_first_cycle_brings_all",)
