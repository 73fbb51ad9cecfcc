"""The validator of the options in ``config_declaration.yaml``.

CKAN calls it at its start, and does not start with a wrong value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import ckan.plugins.toolkit as tk

from .. import option_values as values
from ..aging import frequency
from ..aging.thresholds import Thresholds
from ..checking.fields import FIELDS
from ..checking.selection import POLICIES
from ..mails import recipients
from ..reporting.host_groups import parse_groups
from ..web.address_guard import Guard
from ..web.headers import can_be_sent

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


def _contact(text: str | None) -> None:
    if text and not can_be_sent(text):
        raise ValueError(f"must be one line of text, not {text!r}")


def _addresses(entries: Iterable[str]) -> None:
    for entry in entries:
        if not recipients.addresses(entry):
            raise ValueError(f"must be addresses, not {entry!r}")


KINDS: Mapping[str, Callable[..., Any]] = {
    "number": values.number,
    "whole": values.whole,
    "flag": values.flag,
    "limit": _checked(lambda entries: values.by_purpose(entries, values.above_zero)),
    "whole_limit": _checked(
        lambda entries: values.by_purpose(entries, lambda limit: values.whole(limit, 1))
    ),
    "delays": _checked(values.delays),
    "hosts": _checked(values.hosts),
    "host_limits": _checked(values.host_limits),
    "intervals": _checked(values.intervals),
    "secrets": _checked(values.secrets),
    "fields": _checked(lambda names: values.one_of(names, FIELDS)),
    "policy": _checked(lambda name: values.one_of([name], POLICIES)),
    "prefix": _checked(values.prefix),
    "networks": _checked(_networks),
    "thresholds": _checked(lambda text: Thresholds.parse(text or "")),
    "frequency": _checked(_frequency),
    "contact": _checked(_contact),
    "host_groups": _checked(parse_groups),
    "addresses": _checked(_addresses),
}
"""Functions that read values, by kind. Structured values stay as they are in CKAN's configuration."""
