"""Badges in HTML. They are made without a template, which takes ten times as long: a page of search results
has twenty.
"""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from markupsafe import Markup, escape

from ..aging.status import Status
from . import labels
from .display import STATUSES


def badge(
    colour: str,
    icon: str,
    text: str,
    href: str | None = None,
    title: str | None = None,
    *,
    quiet: bool = False,
) -> Markup:
    """Return words with an icon, as a link if there is an address.

    :param colour: the value of ``data-state`` in ``freshness.css``
    :param icon: the name of an icon of Font Awesome, without its prefix
    :param title: more about the words
    :param quiet: whether the badge stands within a line of text, without a border
    """
    element, kind = "a" if href else "span", " fr-badge--quiet" if quiet else ""
    link = f' href="{escape(href)}"' if href else ""
    about = f' title="{escape(title)}"' if title else ""
    return Markup(
        f'<{element} class="fr-badge{kind}" data-state="{escape(colour)}"{link}{about}>'
        f'<i class="fa fa-{escape(icon)}" aria-hidden="true"></i>{escape(text)}</{element}>'
    )


def of_status(status: Status, href: str | None = None) -> Markup:
    """Return the badge of a dataset's status, with the meaning of the status as its title."""
    state, meaning = STATUSES[status.value], labels.status_meaning(status)
    return badge(state.colour, state.icon, tk._(state.label), href, meaning)
