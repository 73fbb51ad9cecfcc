"""What editors do in lists with the row of a dataset or a link: confirm, set the frequency, check, ignore."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import ckan.plugins.toolkit as tk

from .. import settings
from ..aging.frequency import UnknownFrequency, parse
from ..ckan_adapter.core import model
from ..runs import requested
from ..status import frequencies
from ..translation import N_, NN_
from .responses import may, user_context


@dataclass(frozen=True, slots=True)
class Subject:
    """The dataset or the link of a row."""

    package: Any
    resource: Any = None

    @property
    def id(self) -> str:
        """The id of the row: of the resource if it is about a link, otherwise of the dataset."""
        return str((self.resource or self.package).id)

    @property
    def link_id(self) -> str | None:
        """The id of the resource; None if the row is about the dataset."""
        return None if self.resource is None else str(self.resource.id)

    @property
    def title(self) -> str:
        """The dataset's title, after the resource's name if the row is about a link."""
        title = self.package.title or self.package.name
        name = self.resource is not None and self.resource.name
        return f"{name} ({title})"[:80] if name else str(title)[:80]


def subject(id: str) -> Subject:
    """Return the dataset or the link of a row, which the user may change.

    :raises tk.ValidationError: it was deleted, or the user may not change it, or it is no dataset but, for
        example, a harvest source
    """
    resource = model.Resource.get(id)
    package = model.Package.get(id if resource is None else resource.package_id)
    if package is not None and not may("package_update", id=package.id):
        # As on CKAN's own pages, the response does not reveal whether the dataset exists.
        package = None
    is_judged = package is not None and package.type in settings.dataset_types()
    if not is_judged or package.state != model.State.ACTIVE:
        words = tk._("This dataset was deleted, or you may not change it.")
        raise tk.ValidationError({"id": [words]})
    return Subject(package, resource)


@dataclass(frozen=True, slots=True)
class RowAction:
    """Something that is done with a dataset or a link.

    :ivar do: does it with the values of the button and of the form; doing it twice does no harm. It returns
        the date of a confirmation, which can be undone.
    :ivar one: what happened to one row, marked for translation
    :ivar many: the same of several, in both forms
    :ivar then: says what comes of it
    """

    do: Callable[[Subject, Mapping[str, str]], str | None]
    one: str
    many: tuple[str, str]
    then: Callable[[], str] = str


def _action(name: str, **data: Any) -> Any:
    return tk.get_action(name)(dict(user_context()), data)


def _confirm(subject: Subject, given: Mapping[str, str]) -> str:
    shown = _action("freshness_confirm", id=subject.package.id)
    return str(shown["confirmation"]["date"])


def _undo(subject: Subject, given: Mapping[str, str]) -> None:
    # Without its date, a later confirmation would be withdrawn in its place.
    if not given["date"]:
        raise tk.ValidationError({"date": [tk._("Tick the rows first.")]})
    _action("freshness_confirm", id=subject.package.id, withdraw=True, date=given["date"])


def _set_frequency(subject: Subject, given: Mapping[str, str]) -> None:
    if isinstance(parse(given["wanted"], frequencies.vocabularies()), UnknownFrequency):
        raise tk.ValidationError({"frequency": [tk._("Choose an update frequency from the list.")]})
    frequencies.change_frequency(dict(user_context()), subject.package, given["wanted"])


def _check(subject: Subject, given: Mapping[str, str]) -> None:
    # Several ticked links may be of one dataset, whose links are checked together.
    if not requested.is_checking(subject.package.id):
        _action("freshness_check", id=subject.package.id)


LISTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("datasets", "mine.update"), ("confirm", "frequency", "check", "ignore")),
    **dict.fromkeys(("links", "mine.broken"), ("check", "ignore")),
    "mine.frequency": ("frequency", "ignore"),
    "mine.ignored": ("stop",),
}
"""What can be done with the ticked rows of a list: a table of the report, or ``mine.`` and a group of tasks."""


def _ignore(subject: Subject, given: Mapping[str, str]) -> None:
    values = {key: given[key] for key in ("reason", "until", "stop") if given.get(key)}
    _action("freshness_ignore", id=subject.package.id, resource_id=subject.link_id, **values)


ROW_ACTIONS = {
    "confirm": RowAction(
        _confirm,
        N_("You confirmed that {title} is still accurate."),
        NN_("{count} dataset was confirmed.", "{count} datasets were confirmed."),
    ),
    "undo": RowAction(
        _undo,
        N_("Undone: {title} is as before."),
        NN_("Undone: {count} row is as before.", "Undone: {count} rows are as before."),
    ),
    "frequency": RowAction(
        _set_frequency,
        N_("The update frequency of {title} is now: {frequency}."),
        NN_("{count} update frequency was set.", "{count} update frequencies were set."),
    ),
    "check": RowAction(
        _check,
        N_("The link check of {title} is queued."),
        NN_(
            "The link check of {count} row is queued.",
            "The link checks of {count} rows are queued.",
        ),
        requested.when_checked,
    ),
    "ignore": RowAction(
        _ignore,
        N_("{title} is ignored."),
        NN_("{count} row is ignored.", "{count} rows are ignored."),
    ),
    "stop": RowAction(
        lambda subject, given: _ignore(subject, {"stop": "1"}),
        N_("{title} is no longer ignored."),
        NN_("{count} row is no longer ignored.", "{count} rows are no longer ignored."),
    ),
}
