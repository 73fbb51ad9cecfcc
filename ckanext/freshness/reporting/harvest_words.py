"""Harvests in plain words: why a record failed or would be deleted, and what changed in it.

Harvest jobs store messages in English, for logs and for people who mend sources. The tables here give those
that editors meet a translated sentence. Messages without a row are shown as they are, without the URL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import ckan.plugins.toolkit as tk

from ..aging.messages import N_, NN_
from .labels import counted


@dataclass(frozen=True, slots=True)
class PlainError:
    """An error of a harvest.

    :ivar text: a sentence for editors
    :ivar details: the whole message, if it says more
    """

    text: str
    details: str | None = None


_ERRORS = (
    (r"answers (?P<status>404|410)\b", N_("It is no longer there (the server answers {status}).")),
    (r"answers (?P<status>401|403)\b", N_("The server refuses access ({status}).")),
    (r"answers (?P<status>429)\b", N_("The server wants fewer requests ({status}).")),
    (r"answers (?P<status>5\d\d)\b", N_("The server has a fault ({status}).")),
    (
        r"is malformed near line (?P<line>\d+)",
        N_("Its metadata file has a syntax error near line {line}."),
    ),
    (r"is malformed", N_("Its metadata file has a syntax error.")),
    (r"the answer is empty", N_("The server sent an empty file.")),
    (r"not RDF \(", N_("The server sent a web page or another file instead of metadata.")),
    (
        r"names? a remote @context",
        N_("Its metadata file cannot be read on its own, because it refers to another file."),
    ),
    (r"its host was given up", N_("Not read, because its server had failed many times in a row.")),
    (r"\((connect|read|total) timeout\)", N_("The server took too long to answer.")),
    (r"TLS certificate", N_("The server's certificate is not valid.")),
    (r"refused the connection", N_("The server refuses connections.")),
    (r"describes .* instead", N_("Its metadata file describes another record.")),
    (r"describes no ", N_("Its metadata file describes no dataset.")),
    (
        r"^CKAN refuses the dataset: (?P<why>.*)",
        N_("This portal does not accept the dataset: {why}"),
    ),
    (r"^An unexpected error of CKAN", N_("An unexpected error of this portal. Tell its operator.")),
    (
        r"^The source's configuration cannot be used",
        N_("The configuration of the source has a mistake."),
    ),
    (r"^1 deletion is held", N_("The deletion of one record was put on hold.")),
    (
        r"^(?P<count>\d+) deletions are held",
        N_("The deletion of {count} records was put on hold."),
    ),
)

REASONS = (
    (r"^no longer listed", N_("The source no longer lists it.")),
    (r"answers that it is gone", N_("The source says that it is gone.")),
    (
        r"^withdrawn: it answers 401 or 403 and",
        N_("The source refuses access to it, and its catalog leaves it out."),
    ),
    (
        r"^withdrawn: it has answered 401",
        N_("The source has refused access to it for more than a day."),
    ),
    (r"^kept: listed, but could not be read", N_("It could not be read.")),
    (
        r"^kept: not listed any more, but",
        N_("It is no longer listed, but a catalog that may list it could not be read."),
    ),
    (
        r"^kept: more than half of its catalog",
        N_("The source refuses access to most records of its catalog."),
    ),
    (
        r"^kept: it answers 401 or 403",
        N_("The source refuses access to it. If it still does after a day, it counts as gone."),
    ),
    (
        r"^kept: another harvester called it",
        N_("It came from another harvester, and whether it is still there cannot be told."),
    ),
    (r"^kept: \S+ could not be read", N_("Its catalog could not be read.")),
    (r"^taken over from another harvester", N_("Taken over from another harvester.")),
    (r"^new here; takes over", N_("Takes over the dataset of a deleted source.")),
    (r"^moved: was", N_("Moved to another catalog; stays the same dataset here.")),
    (r"^listed for the first time", ""),
    (r"^its contents", ""),
)
"""Why a record would be deleted, kept or imported; empty if its list says it already."""

FIELDS = {
    "access_rights": N_("Access rights"),
    "author": N_("Author"),
    "author_email": N_("Author's e-mail address"),
    "accrual_periodicity": N_("Update frequency"),
    "contact": N_("Contact"),
    "creator": N_("Creator"),
    "description": N_("Description"),
    "download_url": N_("Download link"),
    "format": N_("Format"),
    "frequency": N_("Update frequency"),
    "issued": N_("Published"),
    "landing_page": N_("Landing page"),
    "language": N_("Language"),
    "license": N_("License"),
    "license_id": N_("License"),
    "license_url": N_("License"),
    "maintainer": N_("Maintainer"),
    "maintainer_email": N_("Maintainer's e-mail address"),
    "mimetype": N_("File type"),
    "modified": N_("Modified"),
    "name": N_("Name"),
    "notes": N_("Description"),
    "publisher": N_("Publisher"),
    "resources": N_("Files"),
    "rights": N_("Rights"),
    "size": N_("Size"),
    "spatial": N_("Place"),
    "spatial_coverage": N_("Place"),
    "tags": N_("Keywords"),
    "temporal_coverage": N_("Period"),
    "temporal_end": N_("End of the period"),
    "temporal_start": N_("Start of the period"),
    "theme": N_("Theme"),
    "title": N_("Title"),
    "url": N_("Link"),
    "version": N_("Version"),
}


def error(message: str) -> PlainError:
    """Return the error that a message of a harvest tells.

    :param message: may begin with the URL of the record or container
    """
    url, _, rest = message.partition(": ")
    plain = rest if url.startswith(("http://", "https://")) and rest else message
    for pattern, words in _ERRORS:
        found = re.search(pattern, plain)
        if found:
            return PlainError(tk._(words).format(**found.groupdict()), message)
    return PlainError(plain[:1].upper() + plain[1:])


def reason(text: str) -> str:
    """Return in a sentence why a record is on a list, in the reader's language; may be empty."""
    for pattern, words in REASONS:
        if re.search(pattern, text):
            return str(tk._(words)) if words else ""
    return text


def change(found: dict[str, Any]) -> str:
    """Return in words how a field of a record changed.

    :param found: a :class:`~ckanext.freshness.harvesting.record_changes.FieldChange` as plain data
    """
    key = found["field"]
    name = tk._(FIELDS[key]) if key in FIELDS else key.replace("_", " ").capitalize()
    if found["language"]:
        name = f"{name} ({found['language']})"
    if found["resource"]:
        name = tk._("{field} of {resource}").format(field=name, resource=quoted(found["resource"]))
    before, after = found["before"], found["after"]
    parts = []
    if found["added"]:
        parts.append(tk._("{values} added").format(values=_list(found["added"])))
    if found["removed"]:
        parts.append(tk._("{values} removed").format(values=_list(found["removed"])))
    if parts:
        text = "; ".join(parts)
    elif before and after:
        text = tk._("{after} (was {before})").format(after=quoted(after), before=quoted(before))
    elif after:
        text = tk._("{after} (was not given)").format(after=quoted(after))
    elif before:
        text = tk._("removed (was {before})").format(before=quoted(before))
    else:
        text = tk._("details changed")
    return str(tk._("{field}: {change}").format(field=name, change=text))


def job_counts(counts: dict[str, int]) -> list[str]:
    """Return the numbers of a job in words, without zeros."""
    forms = {
        "added": NN_("{count} new", "{count} new"),
        "updated": NN_("{count} changed", "{count} changed"),
        "deleted": NN_("{count} deleted", "{count} deleted"),
        "not modified": NN_("{count} unchanged", "{count} unchanged"),
        "errored": NN_("{count} with an error", "{count} with errors"),
    }
    return [counted(forms[key], counts[key]) for key in forms if counts.get(key)]


def quoted(text: str) -> str:
    """Return a text in the quotation marks of the reader's language."""
    return str(tk._("“{text}”").format(text=text))


def _list(values: list[str]) -> str:
    return ", ".join(quoted(value) for value in values)
