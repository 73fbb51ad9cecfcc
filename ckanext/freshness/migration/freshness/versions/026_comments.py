"""Describe columns of all tables in the words of the glossary.

Revision ID: 026_comments
Revises: 025_own_fields
Create Date: 2026-11-23
"""

from __future__ import annotations

from alembic import op

revision = "026_comments"
down_revision = "025_own_fields"
branch_labels = None
depends_on = None

_COMMENTS = (
    (
        "freshness_check",
        "package_id",
        "its dataset",
        "dataset of the resource",
    ),
    (
        "freshness_check",
        "url",
        "its URL, which all the rest is about",
        "URL of the resource; all other columns are about it",
    ),
    (
        "freshness_check",
        "host",
        "host of that URL, normalised; empty if it names none",
        "host of the URL, normalised; empty if it names none",
    ),
    (
        "freshness_check",
        "changed_at",
        "when a new hash that was confirmed was last found",
        "when the last confirmed new hash was found",
    ),
    (
        "freshness_check",
        "undetermined",
        "why changes cannot be determined: api, blocked; empty if they can",
        "why changes cannot be detected: api, blocked; empty if they can",
    ),
    (
        "freshness_check",
        "shape",
        (
            "of the bytes as last confirmed: name, number of rows and columns of each table; an empty list "
            "if they are uncertain, empty if they were not read"
        ),
        (
            "tables of the last confirmed content: name, number of rows and columns of each; an empty list "
            "if they are uncertain, empty if they were not read"
        ),
    ),
    (
        "freshness_run",
        "ended_at",
        "when it ended; empty while it runs, or if it was killed",
        "when it ended; empty while the run goes on, and if it was killed",
    ),
    (
        "freshness_run",
        "options",
        "how it was called",
        "options of the call",
    ),
    (
        "freshness_run",
        "error",
        "why it ended early; empty if it did not",
        "why the run ended early; empty if it did not",
    ),
    (
        "freshness_copy",
        "package_id",
        "its dataset",
        "dataset of the resource",
    ),
    (
        "freshness_copy",
        "key",
        "of the bytes in the store; empty if they were removed",
        "key of the copy in the store; empty if it was removed",
    ),
    (
        "freshness_copy",
        "zip_key",
        "of their ZIP in the store; empty if there is none",
        "key of the copy's ZIP in the store; empty if there is none",
    ),
    (
        "freshness_copy",
        "size",
        "of the bytes",
        "size of the copy in bytes",
    ),
    (
        "freshness_copy",
        "zip_size",
        "of the ZIP in bytes",
        "size of the ZIP in bytes",
    ),
    (
        "freshness_copy",
        "sha256",
        "of the bytes, hexadecimal",
        "SHA-256 of the copy, hexadecimal",
    ),
    (
        "freshness_copy",
        "filename",
        "under which they are given out",
        "file name for downloads of the copy",
    ),
    (
        "freshness_copy",
        "source_url",
        "where they came from",
        "URL from which the copy was downloaded",
    ),
    (
        "freshness_copy",
        "stored_at",
        "when they were stored",
        "when the copy was stored",
    ),
    (
        "freshness_copy",
        "verified_at",
        "when the source last had them, as far as it says so",
        "when the source last had the same content, as far as it says so",
    ),
    (
        "freshness_copy",
        "expired_at",
        (
            "when they were removed from the store because the source failed for too long; empty while they "
            "are there"
        ),
        (
            "when the copy was removed from the store because the source failed for too long; empty while it "
            "is there"
        ),
    ),
    (
        "freshness_iati",
        "resource_id",
        "its only resource",
        "only resource of the dataset",
    ),
    (
        "freshness_iati",
        "package_id",
        "its dataset in CKAN",
        "dataset in CKAN",
    ),
    (
        "freshness_iati",
        "organisation_id",
        "the registry's id of its reporting organisation",
        "the registry's id of the reporting organisation",
    ),
    (
        "freshness_iati",
        "organisation_name",
        "short name of that one",
        "short name of the reporting organisation",
    ),
    (
        "freshness_iati",
        "dataset_name",
        "its short name",
        "short name of the dataset",
    ),
    (
        "freshness_iati",
        "last_update_check",
        "when a cycle last came to it: step 1",
        "when a cycle last checked the file",
    ),
    (
        "freshness_iati",
        "hash",
        "SHA-1 of the last known good bytes, hexadecimal",
        "SHA-1 of the last known good file, hexadecimal",
    ),
    (
        "freshness_iati",
        "hash_excluding_generated_timestamp",
        "likewise, without any generated-datetime attribute",
        "SHA-1 of that file without its generated-datetime attributes",
    ),
    (
        "freshness_iati",
        "downloaded",
        "when the last known good bytes were downloaded",
        "when the last known good file was downloaded",
    ),
    (
        "freshness_iati",
        "verified_on_server",
        "when the server last confirmed them",
        "when the server last confirmed that file",
    ),
    (
        "freshness_iati",
        "content_length",
        "Content-Length that came with them, in bytes",
        "Content-Length of the last known good file, in bytes",
    ),
    (
        "freshness_iati",
        "initial_contents",
        "their first 150 characters",
        "first 150 characters of the last known good file",
    ),
    (
        "freshness_iati",
        "etag",
        "ETag that came with them",
        "ETag of the last known good file",
    ),
    (
        "freshness_iati",
        "last_modified",
        "Last-Modified that came with them, as the server wrote it",
        "Last-Modified of the last known good file, as the server wrote it",
    ),
    (
        "freshness_iati",
        "source_url",
        "URL that they came from",
        "URL from which the last known good file was downloaded",
    ),
    (
        "freshness_iati",
        "content_modified",
        "when a new hash was last met",
        "when a cycle last found a new hash",
    ),
    (
        "freshness_iati",
        "content_modified_excluding_generated_timestamp",
        "when a new hash without generated-datetime attributes was last met",
        "when a cycle last found a new hash without generated-datetime attributes",
    ),
    (
        "freshness_iati",
        "postponed_until",
        "before this moment a failing URL is not asked again; empty if it may be",
        "a failing URL is not checked again before this moment; empty if it may be checked",
    ),
    (
        "freshness_iati",
        "published",
        "the index files and the bulk ZIPs of its source name it",
        "whether the index files and the bulk ZIPs of its source contain the dataset",
    ),
    (
        "freshness_dataset",
        "status",
        "fresh, due, overdue, delinquent or unavailable; as of the last write",
        "fresh, due, overdue, delinquent or unavailable, when the row was last written",
    ),
    (
        "freshness_dataset",
        "last_modified",
        "newest modification that counts; empty if none is known",
        "date of the newest change that counts; empty if none is known",
    ),
    (
        "freshness_dataset",
        "frequency_days",
        "days; 0 live, -1 never, -2 as needed; empty if none is understood",
        "update frequency in days; 0 live, -1 never, -2 as needed; empty if none is known",
    ),
    (
        "freshness_dataset",
        "frequency_from",
        "dataset, or who is assumed to speak for it: source, organization, site; empty if nobody",
        (
            "where the update frequency comes from: dataset, or a default of its source, its organization or "
            "the site; empty if there is none"
        ),
    ),
    (
        "freshness_dataset",
        "due",
        "when it becomes due; empty where time changes nothing",
        "when the dataset becomes due; empty if its status does not depend on time",
    ),
    (
        "freshness_dataset",
        "overdue",
        "when it becomes overdue",
        "when the dataset becomes overdue",
    ),
    (
        "freshness_dataset",
        "delinquent",
        "when it becomes delinquent",
        "when the dataset becomes delinquent",
    ),
    (
        "freshness_dataset",
        "next_boundary",
        "when status changes by itself; empty if it never does",
        "when the status next changes by itself; empty if it never does",
    ),
    (
        "freshness_dataset",
        "undetermined",
        "why the deciding resource cannot be determined: api, adhoc, blocked",
        "why changes of the deciding resource cannot be detected: api, adhoc, blocked",
    ),
    (
        "freshness_dataset",
        "stated_date",
        "dataset_date as the dataset has it; never counts",
        "value of dataset_date, which is no evidence of a change",
    ),
    (
        "freshness_dataset",
        "stated_since",
        "when that dataset_date was first seen",
        "when this value of dataset_date was first seen",
    ),
    (
        "freshness_dataset",
        "judge_anew",
        "the next refresh judges it, since rules or assumptions changed; nobody gets a mail",
        (
            "whether the next refresh judges the dataset again because rules or defaults changed; this "
            "causes no mail"
        ),
    ),
    (
        "freshness_dataset",
        "field_prefix",
        "what the names of its extras begin with; usually empty",
        "prefix of the names of the dataset's extras; usually empty",
    ),
    (
        "freshness_evidence",
        "claimed_at",
        "the date in the future that happened_at was cut from; empty if it was not",
        "the stated date if it is in the future, so that happened_at counts instead; otherwise empty",
    ),
    (
        "freshness_evidence",
        "author",
        "name of the user whose edit showed it, if known",
        "name of the user whose edit is the evidence, if known",
    ),
    (
        "freshness_evidence",
        "previous_at",
        "of a review: the one before it, which counts again if it is withdrawn",
        "date of the previous review, which counts again if this one is withdrawn",
    ),
    (
        "freshness_resource",
        "package_id",
        "its dataset",
        "dataset of the resource",
    ),
    (
        "freshness_resource",
        "url",
        "its URL",
        "URL of the resource",
    ),
    (
        "freshness_resource",
        "hash",
        "its hash as its dataset has it; empty if none",
        "hash of the resource in CKAN; empty if it has none",
    ),
    (
        "freshness_resource",
        "hash_writer",
        "who wrote that hash: a user's name; empty if nobody knows",
        "name of the user who wrote this hash; empty if unknown",
    ),
    (
        "freshness_resource",
        "first_seen",
        "when it was first seen",
        "when the resource was first seen",
    ),
    (
        "freshness_transition",
        "changed_at",
        "when it changed: a boundary, or the write",
        "when the status changed: at a boundary, or when it was written",
    ),
    (
        "freshness_transition",
        "evidence",
        "the evidence that counted then",
        "evidence that counted at this moment",
    ),
    (
        "freshness_transition",
        "cause",
        "edit, frequency, time, check or recompute: why it changed",
        "why the status changed: edit, frequency, time, check or recompute",
    ),
    (
        "freshness_transition",
        "run_id",
        "the run that wrote it; empty outside runs",
        "run that wrote the row; empty outside runs",
    ),
    (
        "freshness_transition",
        "action",
        "CKAN's action that changed the dataset; empty if no edit did",
        "CKAN's action that changed the dataset; empty if the cause is no edit",
    ),
    (
        "freshness_transition",
        "change",
        "added, replaced, edited or removed: what it did to a resource",
        "effect of the action on a resource: added, replaced, edited or removed",
    ),
    (
        "freshness_transition",
        "resource_id",
        "that resource",
        "resource that the action changed",
    ),
    (
        "freshness_transition",
        "resource_name",
        "its name, or its URL if it had none",
        "name of this resource, or its URL if it had no name",
    ),
    (
        "freshness_transition",
        "author",
        "name of the user whose edit it was, if one was",
        "name of the user who made the edit; empty if the cause is no edit",
    ),
    (
        "freshness_transition",
        "frequency_before",
        "update frequency before, if the status changed because that did",
        "update frequency before the transition, if its change is the cause",
    ),
    (
        "freshness_transition",
        "frequency_after",
        "and after",
        "update frequency after the transition, if its change is the cause",
    ),
    (
        "freshness_unindexed",
        "since",
        "when its extras were written, by a run that had not sent its document yet",
        "when a run wrote the extras, before it sent the document to Solr",
    ),
    (
        "freshness_uninstall",
        "began_at",
        "when ckan freshness-uninstall was first called; no row: never, or undone",
        "when ckan freshness-uninstall was first called; there is no row before, and none after --undo",
    ),
    (
        "freshness_harvest_document",
        "digest",
        "SHA-256 of its bytes and of what its reading depends on",
        "SHA-256 of the document's bytes and of everything else that its outline depends on",
    ),
    (
        "freshness_harvest_document",
        "outline",
        "what it lists and what its members look like",
        "what the document lists, and what its records look like",
    ),
    (
        "freshness_harvest_hold",
        "job_id",
        "job that would have deleted these",
        "job whose deletions are held",
    ),
    (
        "freshness_harvest_hold",
        "held_at",
        "UTC",
        "when the brake stopped the deletions, in UTC",
    ),
    (
        "freshness_harvest_hold",
        "reason",
        "why the brake holds, for people",
        "why the brake stopped the deletions, for people",
    ),
    (
        "freshness_harvest_hold",
        "held",
        "list of {guid, url, package_id, reason}",
        "the held deletions: a list of {guid, url, package_id, reason}",
    ),
    (
        "freshness_harvest_hold",
        "released_at",
        "UTC; empty while nobody has released the list",
        "when the deletions were released, in UTC; empty until then",
    ),
    (
        "freshness_harvest_hold",
        "released_by",
        "name of the user who released it",
        "name of the user who released the deletions",
    ),
    (
        "freshness_mail",
        "about",
        (
            "id of the transition, the resource, dataset or organization; for runs the problem and the run's "
            "id: failed:..."
        ),
        (
            "id of the transition, resource, dataset or organization; for runs the problem and the id of the "
            "run: failed:..."
        ),
    ),
    (
        "freshness_mail",
        "address",
        "e-mail address; empty where nobody is told",
        "e-mail address; empty if there is no recipient",
    ),
    (
        "freshness_mail",
        "outcome",
        (
            "waiting, claimed, sent, refused, unknown, or why nobody is told: fresh again, opted out, "
            "nobody, gone"
        ),
        (
            "waiting, claimed, sent, refused, unknown, or why there is no mail: fresh again, opted out, "
            "nobody (no recipient), gone"
        ),
    ),
    (
        "freshness_mail",
        "tries",
        "how often it was handed to the mail server",
        "number of times the mail was handed to the mail server",
    ),
    (
        "freshness_mail",
        "mail_id",
        "UUID of the last mail in which it stood",
        "UUID of the last mail that contains this piece of news",
    ),
    (
        "freshness_mail",
        "claimed_at",
        "when that mail was about to be sent",
        "when the row was claimed, before its mail was handed to the mail server",
    ),
    (
        "freshness_mail",
        "ended_at",
        "when its outcome was known",
        "when the outcome became known",
    ),
    (
        "freshness_mail",
        "error",
        "why the last try failed; empty if it did not",
        "error of the last attempt; empty if it did not fail",
    ),
    (
        "freshness_mail_person",
        "id",
        "stands in the links of its mails",
        "number in the links of the mails to this address",
    ),
    (
        "freshness_mail_person",
        "address",
        "e-mail address, in small letters",
        "e-mail address, in lower case",
    ),
    (
        "freshness_mail_person",
        "opted_out_at",
        "when its owner switched off all mails; empty if some are wanted",
        "when the owner of the address switched off all mails; empty if some are wanted",
    ),
    (
        "freshness_mail_person",
        "off",
        "kinds of mails that its owner switched off",
        "kinds of mails that the owner of the address switched off",
    ),
    (
        "freshness_mail_person",
        "told_at",
        "the time of the last mail by kind",
        "time of the last mail of each kind",
    ),
    (
        "freshness_mail_start",
        "id",
        "1",
        "always 1",
    ),
    (
        "freshness_mail_start",
        "transition_id",
        "the newest transition that nobody is told of",
        "newest transition that causes no mail; later ones do",
    ),
    (
        "freshness_mail_start",
        "started_at",
        "runs that went wrong before are not told of",
        "runs that failed before this moment cause no mail",
    ),
)
"""Table, column, and its comment before and after."""


def upgrade() -> None:
    for table, column, old, new in _COMMENTS:
        op.alter_column(table, column, comment=new, existing_comment=old)


def downgrade() -> None:
    for table, column, old, new in _COMMENTS:
        op.alter_column(table, column, comment=old, existing_comment=new)
