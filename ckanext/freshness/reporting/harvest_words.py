"""Harvests in plain words: why a record failed or would be deleted, and what changed in it.

Each code of a message has a sentence (:class:`~ckanext.freshness.harvesting.messages.MessageCode`). Messages
without a code are shown as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ckan.plugins.toolkit as tk

from ..aging.messages import N_, NN_
from ..harvesting.messages import MessageCode, code_of
from .labels import REASONS, counted


@dataclass(frozen=True, slots=True)
class PlainError:
    """An error of a harvest.

    :ivar text: a sentence for editors
    :ivar details: the whole message, if it says more
    """

    text: str
    details: str | None = None


OWN_URL: dict[str | None, str] = {
    "present": N_("Its web address still answers."),
    "malformed": N_("Its web address answers, but not with this record."),
    "failed": N_("Its web address gives no usable answer at the moment."),
    "forbidden": N_("Its web address refuses access."),
    "gone": N_("Its web address says that it is gone."),
    None: N_("We have not asked whether its web address still answers."),
}
"""What the own URL of a record answered that would be deleted, by the value of a ReadOutcome."""

_SAY_IT_ALREADY = frozenset(
    {MessageCode.GONE, MessageCode.UNLISTED_ANSWERS, MessageCode.LEFT_OUT, MessageCode.WITHDRAWN}
)

_STATUSES = {
    401: N_("The server refuses access ({status})."),
    403: N_("The server refuses access ({status})."),
    404: N_("It is no longer there (the server answers {status})."),
    410: N_("It is no longer there (the server answers {status})."),
    429: N_("The server wants fewer requests ({status})."),
}
_SERVER_FAULT = N_("The server has a fault ({status}).")
_OTHER_STATUS = N_("The server does not return it ({status}).")

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
    """Return an error of a harvest in words. Only its details name the URL of its record or container."""
    words = sentence(message)
    if words is not None:
        return PlainError(words, str(message))
    url, _, rest = message.partition(": ")
    names_url = url.startswith(("http://", "https://")) and rest
    plain, details = (rest, str(message)) if names_url else (str(message), None)
    return PlainError(plain[:1].upper() + plain[1:], details)


def reason(message: str) -> str:
    """Return why a record is on a list; empty if the list's name says it."""
    words = sentence(message)
    return str(message) if words is None else words


def own_url(message: str, answer: str | None) -> str:
    """Return what a record's own URL answered; empty if the reason of its deletion says it.

    :param message: the reason
    :param answer: the value of a :class:`~ckanext.freshness.harvesting.record.ReadOutcome`, or None
    """
    code = code_of(message)
    if code is not None and MessageCode.named(code["code"]) in _SAY_IT_ALREADY:
        return ""
    return str(tk._(OWN_URL.get(answer, OWN_URL[None])))


def sentence(message: str) -> str | None:
    """Return a message in the reader's language; None if it has no code."""
    found = code_of(message)
    if found is None:
        return None
    code, values = MessageCode.named(found["code"]), found["values"]
    words = _words(code, values)
    if isinstance(words, tuple):
        return counted(words, **values)
    return str(tk._(words)).format(**values) if words else ""


def _words(code: MessageCode, values: dict[str, Any]) -> str | tuple[str, str]:
    if code is MessageCode.NO_ANSWER:
        return REASONS[values["failure"]]
    if code is MessageCode.ANSWERED:
        other = _SERVER_FAULT if values["status"] >= 500 else _OTHER_STATUS
        return _STATUSES.get(values["status"], other)
    words: str | tuple[str, str] = code.value
    return words


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


_KINDS = {
    "draft": N_("Drafts, which nobody can read yet"),
    "dcat:Dataset without a URL (blank node)": N_("Datasets without a web address"),
    "dcat:DataService": N_("Data services"),
    "of no known type": N_("Records of no known type"),
}


def kind(name: str) -> str:
    """Return the kind of records that a source lists and that are not harvested, in words."""
    if name in _KINDS:
        return str(tk._(_KINDS[name]))
    return str(tk._("Records of the type {type}").format(type=name))


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
