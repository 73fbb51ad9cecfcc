"""The parts of these tests that can run by themselves, as paths below this folder.

Other folders of tests have a module of this name, too, with the same tables.
"""

from __future__ import annotations

import runpy
from functools import cache
from pathlib import Path
from typing import Any

PURE = (
    *("aging", "checking", "copies", "reporting", "sandbox", "web"),
    "mails/test_addresses.py",
    *("harvesting/fdp/test_documents.py", "harvesting/rdf/test_mapping.py"),
    "harvesting/rdf/test_nothing_lost.py",
    *("harvesting/rdf/test_document_text.py", "harvesting/fdp/test_proof.py"),
    *("harvesting/rdf/test_triples.py", "harvesting/packages/test_package_merge.py"),
    *("harvesting/packages/test_schema_fields.py", "harvesting/test_strategy.py"),
    "harvesting/test_listings.py",
    *("harvesting/test_messages.py", "harvesting/test_record_changes.py"),
    *("test_dates.py", "test_import_rules.py", "test_nothing_replaced.py"),
    "test_stack.py",
)
"""Folders and files whose tests need neither CKAN nor its services."""

LONG_PURE = (
    *("harvesting/ckan/test_crawl.py", "harvesting/dcat/test_crawl.py"),
    *("harvesting/dcat/test_lists.py", "harvesting/test_whole_lists.py"),
    "harvesting/fdp/test_crawl.py",
    "harvesting/fdp/test_faults.py",
    "harvesting/rdf/test_any_document.py",
    *("harvesting/rdf/test_hostile.py", "harvesting/packages/test_resource_identity.py"),
    "harvesting/packages/test_package_layout.py",
    "harvesting/dcat/test_data_json.py",
    *("harvesting/test_source_config.py", "harvesting/test_url_spelling.py"),
    "test_regular_expressions.py",
)
"""More of them, which take a minute: ``--quick`` leaves them out."""

IMPURE = (
    "checking/test_result_writer.py",
    "checking/test_run_records.py",
    "checking/test_check_rows.py",
    "reporting/test_harvests.py",
    "reporting/test_links.py",
)
"""The files below `PURE` that need them all the same."""

SAMPLES = (
    "harvesting/test_object_writer.py::test_one_object_for_each_record_that_is_not_unchanged",
    "runs/test_checks.py::test_a_link_without_a_scheme_is_the_one_that_ckan_shows",
    "pages/test_dataset_page.py::test_every_status_is_explained",
)
"""One harvest, one check and one page, on a whole CKAN."""


def is_pure(path: Path) -> bool:
    """Decide whether the tests of a file or a folder need neither CKAN nor its services."""
    folder = next((one for one in (path, *path.parents) if (one / "subsets.py").is_file()), None)
    if folder is None:
        return False
    below, subsets = path.relative_to(folder).as_posix(), _subsets(folder)

    def is_below(places: tuple[str, ...]) -> bool:
        return any(f"{below}/".startswith(f"{place}/") for place in places)

    impure = subsets["IMPURE"]
    holds_impure = any(one.startswith(f"{below}/") for one in impure)
    is_named = is_below((*subsets["PURE"], *subsets["LONG_PURE"]))
    return is_named and not is_below(impure) and not holds_impure


@cache
def _subsets(folder: Path) -> dict[str, Any]:
    return runpy.run_path(str(folder / "subsets.py"))
