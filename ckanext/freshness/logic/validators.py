"""Validators: of options, of actions' arguments, and how often a user may call an action.

CKAN checks the options in ``config_declaration.yaml`` at its start, and does not start with a wrong value.
PostgreSQL never sees an argument that it cannot hold. Only actions that contact other servers and occupy a
worker are limited.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta, timezone
from functools import wraps
from typing import Any, TypeVar

import ckan.plugins.toolkit as tk
import redis

from .. import settings as values
from ..aging import frequency
from ..aging.status import Thresholds
from ..checking.fields import FIELDS
from ..checking.selection import POLICIES
from ..ckan_adapter.core import connect_to_redis, may
from ..mails import recipients
from ..web.address_guard import Guard
from . import auth

__all__ = ["freshness_option"]


def freshness_option(kind: str, *bounds: str) -> Callable[[Any], Any]:
    """Return a validator for one kind of value.

    :param kind: a key of ``KINDS``
    :param bounds: the lowest and the highest number, for kinds of numbers
    """
    read = KINDS[kind]

    def validate(value: Any) -> Any:
        try:
            return read(value, *map(float, bounds))
        except ValueError as error:
            raise tk.Invalid(str(error)) from error

    return validate


def _checked(read: Callable[[Any], object]) -> Callable[[Any], Any]:
    """Return a function that calls ``read`` for its errors, and returns the value unchanged."""

    def check(value: Any) -> Any:
        read(value)
        return value

    return check


def _networks(entries: Iterable[str]) -> None:
    try:
        Guard(entries)
    except ValueError as error:
        raise ValueError(
            f"must be addresses and networks, such as 10.20.0.0/16 192.0.2.7: {error}"
        ) from error


def _frequency(text: str | None) -> None:
    understood = frequency.parse(text or None)
    if text and isinstance(understood, frequency.UnknownFrequency):
        raise ValueError(understood.words)


def _addresses(entries: Iterable[str]) -> None:
    for entry in entries:
        if not recipients.addresses(entry):
            raise ValueError(f"must be addresses, not {entry!r}")


KINDS: Mapping[str, Callable[..., Any]] = {
    "number": values.number,
    "whole": values.whole,
    "flag": values.truth,
    "above_zero": values.above_zero,
    "hosts": _checked(values.hosts),
    "host_limits": _checked(values.host_limits),
    "intervals": _checked(values.intervals),
    "secrets": _checked(values.secrets),
    "fields": _checked(lambda names: values.one_of(names, FIELDS)),
    "policy": _checked(lambda name: values.one_of([name], POLICIES)),
    "networks": _checked(_networks),
    "thresholds": _checked(lambda text: Thresholds.parse(text or "")),
    "frequency": _checked(_frequency),
    "addresses": _checked(_addresses),
    "contact": values.contact,
}
"""Functions that read values, by kind. Structured values stay as they are in CKAN's configuration."""


Result = TypeVar("Result")

# Arguments of actions.

_MAX_NUMBER = 1_000_000_000
"""A number that Solr and the database accept as limit and offset."""


def _text(value: Any) -> str:
    if not isinstance(value, str) or not _is_storable(value):
        raise ValueError(tk._("Must be a text without NUL characters"))
    return value


def _flag(value: Any) -> bool:
    try:
        return bool(tk.asbool(value))
    except ValueError:
        raise ValueError(tk._("Must be true or false")) from None


def _whole_number(value: Any) -> int:
    if not re.fullmatch(r"[0-9]{1,10}", str(value)) or int(value) > _MAX_NUMBER:
        raise ValueError(tk._("Must be a whole number of 0 or more"))
    return int(value)


def _column(value: Any) -> list[str | None]:
    try:
        match json.loads(value) if isinstance(value, str) else value:
            case []:
                return []
            case [str() | None as sheet, str() as name] if _is_storable(f"{sheet}{name}"):
                return [sheet, name]
    except ValueError:
        pass
    raise ValueError(
        tk._('Write the sheet and the name of a column as [null, "date"], or [] for none')
    )


TEXTS = (
    *("cursor", "date", "id", "list_id", "organization", "q", "since"),
    *("sort", "state", "status", "table"),
)
_ARGUMENTS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(TEXTS, _text),
    **dict.fromkeys(("limit", "offset"), _whole_number),
    **dict.fromkeys(("stop", "withdraw"), _flag),
    "column": _column,
}
"""The arguments of this extension's actions, with functions that convert them."""


def checked(
    action: Callable[[dict[str, Any], dict[str, Any]], Result],
) -> Callable[[dict[str, Any], dict[str, Any]], Result]:
    """Decorate an action: it gets converted arguments, without empty ones, if the user may call it.

    Its docstring, which CKAN's action ``help_show`` returns, also says who that is.

    :raises tk.ValidationError: an argument is wrong
    :raises tk.NotAuthorized: the auth function of the action's name refuses
    """

    @wraps(action)
    def called(context: dict[str, Any], data_dict: dict[str, Any]) -> Result:
        arguments, wrong = {}, {}
        for key, value in data_dict.items():
            read = _ARGUMENTS.get(key, _text if isinstance(value, str) else None)
            try:
                if read is None or value not in (None, ""):
                    arguments[key] = value if read is None else read(value)
            except ValueError as error:
                wrong[key] = [str(error)]
        if wrong:
            raise tk.ValidationError(wrong)
        tk.check_access(action.__name__, context, arguments)
        return action(context, arguments)

    who = getattr(auth, action.__name__).__doc__
    called.__doc__ = f"{action.__doc__}\n{_HELP}\n\n    Who may call it: {who}\n    "
    return called


_HELP = """
    Moments are strings in UTC such as ``2026-01-31T10:20:30Z``. Values that do not apply are null."""
"""What is true of the results of all actions."""


def refuse_unusable() -> None:
    """Answer 400 to a request for a page with a NUL in its path, its query or its form."""
    request = tk.request
    given: Iterable[Mapping[str, Any]] = (request.view_args or {}, request.values)
    if not all(_is_storable(str(value)) for values in given for value in values.values()):
        tk.abort(400, tk._("Must be a text without NUL characters"))


def _is_storable(text: str) -> bool:
    # JSON can contain halves of surrogate pairs, which have no encoding.
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


# Limits.

PER_HOUR = 60
"""The number of calls of all costly actions together, per user and clock hour."""


def count_costly(context: Mapping[str, Any], now: datetime) -> None:
    """Count a costly action of a user; sysadmins and the site's own commands are exempt.

    :raises tk.ValidationError: the user has reached the limit in this hour
    """
    if may("sysadmin", context):
        return
    hour = now.astimezone(timezone.utc).replace(minute=0, second=0, microsecond=0)
    key = f"ckan:{tk.config['ckan.site_id']}:freshness:costly:{context['user']}:{hour:%Y%m%d%H}"
    try:
        with connect_to_redis().pipeline() as pipe:
            pipe.incr(key)
            pipe.expire(key, timedelta(hours=2))
            count = pipe.execute()[0]
    except redis.exceptions.RedisError:
        # The action itself will report that Redis does not answer.
        return
    if count > PER_HOUR:
        words = tk._(
            "You have asked for {most} checks and previews in this hour. Try again after {time} UTC."
        )
        again = f"{hour + timedelta(hours=1):%H:%M}"
        raise tk.ValidationError({"limit": [words.format(most=PER_HOUR, time=again)]})
