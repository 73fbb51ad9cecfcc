"""The promises of ``ckanext.freshness.tests.contract`` that these tests hold."""

from __future__ import annotations

CONTRACT = {
    "IATI's rules, cycle, index files and ZIPs are exact, and only stored copies are published": (
        "policy/test_rules.py",
        "cycle/test_cycle.py",
        "cycle/test_killed.py",
        "files/test_index.py",
        "cycle/test_publication.py",
        "files/test_archive.py",
    ),
}
