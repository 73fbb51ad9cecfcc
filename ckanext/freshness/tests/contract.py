"""The promises that every change keeps, each with the tests that hold it: ``./dev test --contract``.

A test may move or change its form. A promise changes only with the product's purpose.
"""

from __future__ import annotations

CONTRACT = {
    "Nothing is deleted without a proof that it is gone: an error is never an absence": (
        "harvesting/test_strategy.py",
        "harvesting/fdp/test_proof.py",
        "harvesting/fdp/test_faults.py",
        "harvesting/test_whole_lists.py",
        "harvesting/fdp/test_crawl.py",
    ),
    "The brake holds deletions, a preview shows them, and an editor releases exactly these": (
        "harvesting/test_release.py",
        "harvesting/test_preview.py",
    ),
    "Packages and resources keep their ids, whatever changes at the source or which harvester reads it": (
        "harvesting/test_takeover.py",
        "harvesting/test_record_identity.py",
        "harvesting/packages/test_resource_identity.py",
        "harvesting/test_url_spelling.py",
    ),
    "An unchanged record causes no import, no package write and no index write": (
        "harvesting/test_object_writer.py",
    ),
    "What editors and other extensions wrote into a package stays": (
        "harvesting/packages/test_package_merge.py",
    ),
    "Imports can be repeated, and only the transaction that deletes clears the current object": (
        "harvesting/test_import.py",
        "harvesting/test_killed.py",
        "harvesting/test_meanwhile.py",
    ),
    "Whatever goes wrong in a harvest is told, ends no consumer and costs nothing but itself": (
        "harvesting/test_unforeseen.py",
        "harvesting/test_away.py",
        "harvesting/test_values.py",
        "harvesting/rdf/test_any_document.py",
        "harvesting/rdf/test_document_text.py",
    ),
    "Nothing that a source publishes is lost silently": (
        "harvesting/rdf/test_nothing_lost.py",
        "harvesting/rdf/test_mapping.py",
    ),
    "One table decides what an answer means; a link is broken only after failures spread over time": (
        "checking/test_decisions.py",
        "checking/test_hdx_check.py",
    ),
    "Nothing is stored as seen before it is confirmed, and a killed run continues where it stopped": (
        "checking/test_result_writer.py",
        "runs/test_checks.py",
        "runs/test_checks_lost.py",
        "runs/test_night.py",
    ),
    "No address inside the network is contacted, at any hop": (
        "web/test_address_guard.py",
        "web/test_redirects.py",
        "web/test_dns.py",
        "checking/test_answers_made_up.py",
    ),
    "Untrusted content is opened where it can do no harm": (
        "sandbox/test_processes.py",
        "harvesting/rdf/test_hostile.py",
        "checking/test_hasher.py",
    ),
    "Secrets are stored in no source and shown nowhere": (
        "harvesting/test_source_config.py",
        "web/test_faults.py",
    ),
    "A status is judged in the transaction of the edit, and storing it has no other effect": (
        "status/test_edits.py",
        "status/test_side_effects.py",
    ),
    "Statuses that change because time passes are written, also after a kill": (
        "status/test_refresh.py",
    ),
    "Extras, Solr fields and facets have their names, and searches agree with counts": (
        "status/test_search_fields.py",
    ),
    "HDX's thresholds and process are exact": (
        "aging/test_thresholds.py",
        "aging/test_status.py",
        "status/test_replay.py",
    ),
    "The last good copy stays, and no incomplete copy is ever visible": (
        "copies/test_faults.py",
        "runs/test_resource_copies.py",
    ),
    "Pages, tables, feeds, metrics, CSV and JSON agree, and show nobody what they may not see": (
        "pages/test_dashboard.py",
        "pages/test_worklist.py",
        "pages/test_report.py",
        "pages/test_lists.py",
        "pages/test_badge.py",
        "pages/test_data_changes.py",
    ),
}
