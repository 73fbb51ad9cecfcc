"""Pages about freshness that other subpackages add to the tabs, and that other pages link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExtraPage:
    """A page that everybody may open.

    :ivar label: its name, marked for translation
    :ivar about: what it shows, marked for translation
    :ivar icon: the name of an icon of Font Awesome, without its prefix
    :ivar run_kind: the kind of runs that it is about
    :ivar source_type: the type of harvest sources that it is about
    :ivar is_on: decides whether the site has the page
    """

    endpoint: str
    label: str
    about: str
    icon: str
    run_kind: str
    source_type: str
    is_on: Callable[[], bool]


PAGES: list[ExtraPage] = []
"""Subpackages above add theirs."""


def pages(**about: str) -> list[ExtraPage]:
    """Return the pages of the site, or those whose ``run_kind`` or ``source_type`` is the given one."""
    return [
        page
        for page in PAGES
        if page.is_on() and all(getattr(page, key) == value for key, value in about.items())
    ]
