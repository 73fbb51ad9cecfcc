"""Messages about a harvest: English text for logs and programs, with a code from which pages make a sentence.

ckanext-harvest keeps messages as text. There the code and its values follow the text, in a line of JSON. A
message without a code is shown as it is. Pure.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from typing import Any

from ..web.errors import FetchError


class MessageCode(str, enum.Enum):
    """The meaning of a message. The value is stored; the comment names the message's values."""

    # Errors
    ANSWERED = "answered"  # status
    NO_ANSWER = "no answer"  # failure: the value of a FailureReason
    HOST_GIVEN_UP = "host given up"  # host, failed, count
    EMPTY = "empty"
    NOT_METADATA = "not metadata"
    MALFORMED = "malformed"
    MALFORMED_NEAR_LINE = "malformed near line"  # line
    REMOTE_CONTEXT = "remote context"
    DESCRIBES_ANOTHER = "describes another"
    NO_DATASET = "no dataset"
    NO_CATALOG = "no catalog"
    NO_SOURCE = "no source"
    REFUSED_BY_CKAN = "refused by ckan"  # why
    UNEXPECTED = "unexpected"
    CONFIGURATION = "configuration"
    RETIRED_REGISTRY = "retired registry"
    LISTS_NOTHING = "lists nothing"
    EMPTY_CATALOGS = "empty catalogs"  # count
    NOTHING_USABLE = "nothing usable"  # count
    DELETIONS_HELD = "deletions held"  # count
    INTERRUPTED = "interrupted"
    STOPPED = "stopped"
    GIVEN_UP = "given up"
    ABORTED = "aborted"
    JOB_FAILED = "job failed"  # error: the name of a Python class

    # Warnings
    ELSEWHERE = "elsewhere"  # count, source

    # Why a record is deleted or kept
    UNLISTED = "unlisted"
    UNLISTED_ANSWERS = "unlisted answers"
    GONE = "gone"
    LEFT_OUT = "left out"
    WITHDRAWN = "withdrawn"
    NOT_READ = "not read"
    MAY_BE_LISTED = "may be listed"
    CATALOG_REFUSED = "catalog refused"
    ACCESS_REFUSED = "access refused"
    STILL_LISTED = "still listed"
    FOREIGN = "foreign"
    CONTAINER_NOT_READ = "container not read"

    # Why a record is imported
    TAKEN_OVER = "taken over"
    ADOPTED = "adopted"
    MOVED = "moved"
    AS_LISTED = "as listed"
    """The name of the record's list says it already."""


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
    return {"code": code.value, "values": dict(getattr(message, "values", {}))}


def with_code(text: str, plain: Any) -> HarvestMessage:
    """Return a message of a text and of what :func:`code_of` returned.

    The message has no code if the data are something else, or name a code of another version.
    """
    try:
        return HarvestMessage(text, MessageCode(plain["code"]), **plain["values"])
    except (KeyError, TypeError, ValueError):
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
