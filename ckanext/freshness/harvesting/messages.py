"""Messages about a harvest: English text for logs and programs, with a code that has a sentence for people.

ckanext-harvest keeps messages as text. There the code and its values follow the text, in a line of JSON. A
message without a code is shown as it is. Pure.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from typing import Any

from ..translation import N_, NN_
from ..web.errors import FetchError


@enum.unique
class MessageCode(enum.Enum):
    """The meaning of a message, with the sentence that people read in their language.

    The sentence contains the message's values; a pair is a singular and a plural. If these values have words of
    their own, :mod:`~ckanext.freshness.reporting.harvests` has them. An empty sentence says that the page
    tells it already.
    """

    # Errors
    ANSWERED = "{status}"
    NO_ANSWER = "{failure}"
    """The value is that of a FailureReason."""
    HOST_GIVEN_UP = NN_(
        "{host} failed {failed} times in a row. {count} more document was not requested.",
        "{host} failed {failed} times in a row. {count} more documents were not requested.",
    )
    EMPTY = N_("The server sent an empty file.")
    NOT_METADATA = N_("The server sent a web page or another file instead of metadata.")
    MALFORMED = N_("Its metadata file has a syntax error.")
    MALFORMED_NEAR_LINE = N_("Its metadata file has a syntax error near line {line}.")
    REMOTE_CONTEXT = N_(
        "Its metadata file cannot be read on its own, because it refers to another file."
    )
    DESCRIBES_ANOTHER = N_("Its metadata file describes another record.")
    NO_DATASET = N_("Its metadata file describes no dataset.")
    NO_CATALOG = N_("Its metadata file describes no catalog.")
    NO_SOURCE = N_("This web address belongs to no FAIR Data Point and no catalog.")
    REFUSED_BY_CKAN = N_("This portal does not accept the dataset: {why}")
    UNEXPECTED = N_("An unexpected error of this portal. Tell its operator.")
    CONFIGURATION = N_("The configuration of the source has a mistake.")
    OF_SOURCE_TYPE = "{words}"
    """A source type of another plugin says it. The value is its sentence, marked for translation."""
    LISTS_NOTHING = N_(
        "The source lists no catalogs and no datasets. Check its web address: it must be that of the server "
        "itself or of one of its catalogs."
    )
    EMPTY_CATALOGS = NN_(
        "The source lists {count} catalog, but no datasets. If it should have some, check that they are "
        "published there.",
        "The source lists {count} catalogs, but no datasets. If it should have some, check that they are "
        "published there.",
    )
    NOTHING_USABLE = NN_(
        "The source lists {count} record, but none that can be harvested. Datasets must be published there, "
        "each with a web address of its own.",
        "The source lists {count} records, but none that can be harvested. Datasets must be published there, "
        "each with a web address of its own.",
    )
    DELETIONS_HELD = NN_(
        "The deletion of one record was put on hold.",
        "The deletion of {count} records was put on hold.",
    )
    STOPPED = N_(
        "The harvest was stopped while it read the source. Nothing was changed; the next one starts anew."
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
        "The job ended early because of an unexpected error of this portal. Nothing was changed. If the "
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

    WAITING = NN_(
        "{count} dataset is no longer in the source. It is deleted if it stays away for long enough.",
        "{count} datasets are no longer in the source. They are deleted if they stay away for long enough.",
    )
    KEPT_ABSENT = NN_(
        "{count} dataset is no longer in the source. This portal keeps such datasets.",
        "{count} datasets are no longer in the source. This portal keeps such datasets.",
    )
    LIST_NOT_READ = NN_(
        "{count} dataset is no longer listed, but stays: {container} may list it and could not be read. If "
        "this does not end, ask the publisher to let that address answer, or to remove it from the list.",
        "{count} datasets are no longer listed, but stay: {container} may list them and could not be read. If "
        "this does not end, ask the publisher to let that address answer, or to remove it from the list.",
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
    CATALOG_REFUSED = N_("The source refuses access to most records of its catalog.")
    REFUSED_IN_TURN = N_(
        "For two days the source has now refused access to it, now said that it is gone, in turn."
    )
    ACCESS_REFUSED = N_(
        "The source refuses access to it. If it still does after a day, it counts as gone."
    )
    STILL_LISTED = N_(
        "The source lists it, but says that it is gone. If it still does after a day, it counts as gone."
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


class HarvestMessage(str):
    """A text with the code and values of its sentence. It can be used wherever a text can."""

    __slots__ = ("code", "values")

    code: MessageCode | None
    values: Mapping[str, Any]

    def __new__(
        cls, text: str, code: MessageCode | None = None, **values: str | int
    ) -> HarvestMessage:
        message = super().__new__(cls, text)
        message.code = code
        message.values = values
        return message


def no_answer(error: FetchError, more: str = "") -> HarvestMessage:
    """Return the message of a request without an answer.

    :param more: words to add to those of the error
    """
    words = error.words + more
    return HarvestMessage(words, MessageCode.NO_ANSWER, failure=error.reason.value)


def about(subject: str, message: str) -> HarvestMessage:
    """Return a message with its subject, such as a URL, before it. It keeps its code."""
    return with_code(f"{subject}: {message}", code_of(message))


def code_of(message: str) -> dict[str, Any] | None:
    """Return the code and the values of a message as plain data; None if it has no code."""
    code = getattr(message, "code", None)
    if code is None:
        return None
    return {"code": code.key, "values": dict(getattr(message, "values", {}))}


def with_code(text: str, plain: Any) -> HarvestMessage:
    """Return a message of a text and of what :func:`code_of` returned.

    The message has no code if the data are something else, or name a code of another version.
    """
    try:
        return HarvestMessage(text, MessageCode.named(plain["code"]), **plain["values"])
    except (AttributeError, KeyError, TypeError):
        return HarvestMessage(text)


def to_column(message: str) -> str:
    """Return a message as ckanext-harvest's tables keep it: the text, and its code in a line of JSON."""
    code = code_of(message)
    return str(message) if code is None else f"{message}\n{json.dumps(code, sort_keys=True)}"


def from_column(column: str) -> HarvestMessage:
    """Return the message that a column keeps. Any other text is a message without a code."""
    text, _, last = column.rpartition("\n")
    try:
        found = with_code(text, json.loads(last))
    except ValueError:
        return HarvestMessage(column)
    return found if found.code else HarvestMessage(column)
