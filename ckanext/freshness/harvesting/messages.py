"""Messages about a harvest: a code and its values, which become a sentence when it is written or shown.

ckanext-harvest keeps messages as text. There the sentence is in English, and the code and its values follow it
in a line of JSON, so that pages say it in the reader's language. A message may also be a plain text. Pure.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..translation import N_, NN_
from ..web.errors import FetchError


@enum.unique
class MessageCode(enum.Enum):
    """The meaning of a message, with its sentence. A pair is a singular and a plural.

    An empty sentence says that the page tells it already.
    """

    # Errors
    ANSWERED = "{status}"
    """The status decides the sentence."""
    NO_ANSWER = "{error}"
    """Pages have a sentence for each value ``failure``, that of a FailureReason."""
    HOST_GIVEN_UP = NN_(
        "{host} failed {failed} times in a row. {count} more document was not requested.",
        "{host} failed {failed} times in a row. {count} more documents were not requested.",
    )
    EMPTY = N_("The server sent an empty file.")
    NOT_METADATA = N_("The server sent a web page or another file instead of metadata.")
    MALFORMED = N_("Its metadata file has a syntax error.")
    TOO_LARGE = N_(
        "Its metadata file (some {size} MiB) takes more memory or time to read than one file may. Ask the "
        "publisher to make it smaller. A catalogue can have several pages."
    )
    REMOTE_CONTEXT = N_(
        "Its metadata file cannot be read on its own, because it refers to another file."
    )
    DESCRIBES_ANOTHER = N_("Its metadata file describes another record.")
    NO_DATASET = N_("Its metadata file describes no dataset.")
    NO_SOURCE = N_("This web address belongs to no FAIR Data Point and no catalog.")
    NO_PORTAL = N_(
        "No CKAN portal answers at this web address. Enter that of its home page, without a language or a page "
        "such as /en or /dataset/name."
    )
    REFUSED_BY_CKAN = N_("This portal does not accept the dataset: {why}")
    UNEXPECTED = N_("An unexpected error of this portal. Tell its operator.")
    CONFIGURATION = N_("The configuration of the source has a mistake.")
    LISTS_NOTHING = N_(
        "The source lists no dataset that can be harvested. Check its web address, and that its datasets are "
        "published there, each with a web address of its own."
    )
    """The details are the numbers of catalogs and of entries that are not harvested."""
    DELETIONS_HELD = NN_(
        "The deletion of one record was put on hold.",
        "The deletion of {count} records was put on hold.",
    )
    STOPPED = N_(
        "The harvest was stopped while it read the source. No dataset was changed; the next one starts anew."
    )
    GIVEN_UP = N_(
        "It was given up, because its import has ended the program three times. Tell this portal's operator."
    )
    TOOK_TOO_LONG = N_(
        "Its import was ended after {minutes} minutes, and the dataset is as it was. The next harvest tries "
        "again. If it fails too, ask the publisher whether the record is as large as it should be."
    )
    ABORTED = N_("The job was aborted. The next one does what it has not done.")
    JOB_FAILED = N_(
        "The job ended early because of an unexpected error of this portal. No dataset was changed. If the "
        "next job fails too, tell its operator."
    )

    # Warnings
    ELSEWHERE = NN_(
        "{count} new dataset is already on this portal, from the source “{source}”. With both sources, it "
        "appears twice. If this source replaces the other one, delete the other one first: its datasets stay "
        "and are taken over.",
        "{count} new datasets are already on this portal, from the source “{source}”. With both sources, they "
        "appear twice. If this source replaces the other one, delete the other one first: its datasets stay "
        "and are taken over.",
    )

    NEW_ORGANIZATIONS = NN_(
        "{count} organization would be made: {titles}.",
        "{count} organizations would be made: {titles}.",
    )

    NO_LONGER_LISTED = NN_(
        "{count} dataset is no longer listed, but stays. The preview of the source says why.",
        "{count} datasets are no longer listed, but stay. The preview of the source says why.",
    )

    # Why a record is deleted or kept
    UNLISTED = N_("The source no longer lists it.")
    ABSENT = N_("The source no longer has it. If it stays away until {date}, it is deleted.")
    KEPT = N_("The source no longer has it. This portal keeps such datasets.")
    UNLISTED_ANSWERS = N_("The source no longer lists it, but its web address still answers.")
    GONE = N_("The source says that it is gone.")
    WITHDRAWN = N_("The source has refused access to it for more than a day.")
    NOT_READ = N_("It could not be read.")
    MAY_BE_LISTED = N_("It is no longer listed, but a catalog that may list it could not be read.")
    MAY_BE_ELSEWHERE = N_(
        "The source no longer lists it, but may have moved it into a catalog on another host. Add this host to "
        '"allowed_hosts", or approve the deletion.'
    )
    CATALOG_REFUSED = N_(
        "The source refuses access to most records of its catalog, or lists them and says that they are gone."
    )
    REFUSED_IN_TURN = N_(
        "For two days the source has now refused access to it, now said that it is gone, in turn."
    )
    ACCESS_REFUSED = N_(
        "The source refuses access to it. If it still does after a day, it counts as gone."
    )
    STILL_LISTED = N_(
        "The source lists it, but says that it is gone. If it still does after a day, it counts as gone."
    )
    LISTS_NOTHING_NOW = N_(
        "Its deletion is approved, but now the source lists no dataset at all. The next harvest decides."
    )
    FOREIGN = N_("It came from another harvester, and whether it is still there cannot be told.")
    CONTAINER_NOT_READ = N_("Its catalog could not be read.")

    INCOMPLETE = N_(
        "It may have been read only in part, because something that it had is missing. It stays as it is. If a "
        "harvest a day later finds the same, it is changed."
    )

    # Why a record is imported
    TAKEN_OVER = N_("Taken over from another harvester.")
    ADOPTED = N_("Takes over a dataset that was harvested before.")
    MOVED = N_("Moved to another catalog; stays the same dataset here.")
    AS_LISTED = ""
    """The name of the record's list says it."""

    @property
    def key(self) -> str:
        """The code in stored messages and for programs."""
        return self.name.lower().replace("_", " ")

    @classmethod
    def named(cls, key: str) -> MessageCode:
        """Return the code with a key.

        :raises KeyError: there is none; another version may have had it.
        """
        return cls[key.upper().replace(" ", "_")]


_ANSWERS = {
    401: N_("The server refuses access ({status})."),
    403: N_("The server refuses access ({status})."),
    404: N_("It is no longer there (the server answers {status})."),
    410: N_("It is no longer there (the server answers {status})."),
    429: N_("The server wants fewer requests ({status})."),
}
_SERVER_FAULT = N_("The server has a fault ({status}).")
_OTHER_ANSWER = N_("The server does not return it ({status}).")


def sentence(
    code: MessageCode,
    values: Mapping[str, Any],
    gettext: Callable[[str], str] = N_,
    ngettext: Callable[[str, str, int], str] = lambda one, many, count: one if count == 1 else many,
) -> str:
    """Return the sentence of a code with its values, by default in English.

    :param gettext: translates a sentence.
    :param ngettext: returns the form for a number, translated.
    :raises KeyError: a value is missing; another version may have had others.
    """
    words: str | tuple[str, str] = code.value
    if code is MessageCode.ANSWERED:
        other = _SERVER_FAULT if values["status"] >= 500 else _OTHER_ANSWER
        words = _ANSWERS.get(values["status"], other)
    if isinstance(words, tuple):
        words = ngettext(*words, values["count"])
    elif words:
        words = gettext(words)
    return words.format(**values)


@dataclass(frozen=True, slots=True)
class HarvestMessage:
    """A message with a code. Its text is in English, for logs and tables.

    :ivar details: what helps engineers only, in English; it follows the sentence
    :ivar subject: what the message is about, such as a URL; it precedes the sentence
    """

    code: MessageCode
    values: Mapping[str, str | int] = field(default_factory=dict)
    details: str = ""
    subject: str = ""

    def __str__(self) -> str:
        words = sentence(self.code, self.values).removesuffix(".")
        return ": ".join(filter(None, (self.subject, words, self.details)))


Message = HarvestMessage | str
"""A message with a code, or a plain text, which is shown as it is."""


def no_answer(error: FetchError, more: str = "") -> HarvestMessage:
    """Return the message of a request without an answer.

    :param more: words to add to those of the error
    """
    values = {"failure": error.reason.value, "error": error.words + more}
    return HarvestMessage(MessageCode.NO_ANSWER, values)


def too_large(length: int) -> HarvestMessage:
    """Return the message of a file with so many bytes that takes too much to read."""
    return HarvestMessage(MessageCode.TOO_LARGE, {"size": max(1, round(length / 2**20))})


def about(subject: str, message: Message) -> Message:
    """Return a message with its subject, such as a URL, before it."""
    if isinstance(message, str):
        return f"{subject}: {message}"
    return replace(message, subject=": ".join(filter(None, (subject, message.subject))))


def code_of(message: Message) -> dict[str, Any] | None:
    """Return the code and the values of a message as plain data; None if it has no code."""
    if isinstance(message, str):
        return None
    return {"code": message.code.key, "values": dict(message.values)}


def as_plain(message: Message) -> dict[str, Any]:
    """Return a message as plain data: ``message``, its text, and ``message_code``, see :func:`code_of`."""
    return {"message": str(message), "message_code": code_of(message)}


def to_column(message: Message) -> str:
    """Return a message as ckanext-harvest's tables keep it: the text, and its code in a line of JSON."""
    code = code_of(message)
    return str(message) if code is None else f"{message}\n{json.dumps(code, sort_keys=True)}"


def from_column(column: str) -> dict[str, Any]:
    """Return the message that a column keeps, see :func:`as_plain`. Any other text has no code."""
    text, _, last = column.rpartition("\n")
    try:
        code = json.loads(last)
    except ValueError:
        code = None
    if not isinstance(code, dict) or code.keys() != {"code", "values"}:
        return {"message": column, "message_code": None}
    return {"message": text, "message_code": code}
