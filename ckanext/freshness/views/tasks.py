"""The worklist, and requests of editors who work in a list, with one row or all ticked rows.

Each list is one form. Its buttons say what is done, and with which row; without a row, it is done with all
ticked ones. htmx swaps the row. Otherwise the list is shown again as it was, below a line that says what
happened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl

import ckan.plugins.toolkit as tk
from flask import Blueprint, Response
from flask.typing import ResponseReturnValue

from ..aging.frequency import parse
from ..ckan_adapter.core import model
from ..dates import utc_now
from ..reporting import labels, links, report_tables
from ..reporting import worklist as tasks
from ..reporting.tables import DatasetTable, TableRequest
from ..runs import requested
from ..status import frequencies
from .responses import (
    error_text,
    guarded,
    is_htmx,
    last_page,
    never_kept,
    page_number,
    redirect_to,
    render,
    to_login,
    user_context,
)
from .row_actions import LISTS, ROW_ACTIONS, RowAction, Subject, subject

task_pages = guarded(Blueprint("freshness_task", __name__))

MOST = 50
"""Rows to work on at once: those of a page."""
_POLLS = 40
"""Requests for the result of a check, one every three seconds."""

_PAGES = {"mine": "freshness_worklist.read", "dataset": "freshness_dataset.read"}
"""The pages with lists that are no tables of the report."""
_KEPT = ("organization", "since", "status", "state", "q", "sort", "page", "group", "id")
"""Arguments of a page that its forms bring back."""


@dataclass(frozen=True, slots=True)
class Place:
    """The list in which somebody works.

    :ivar name: ``mine.`` and a group of the worklist, the name of a table, or of another page
    :ivar args: the arguments of its page
    """

    name: str
    args: Mapping[str, str]

    @property
    def table(self) -> DatasetTable | None:
        """The table of the report; None if the list is none."""
        table = report_tables.TABLES.get(self.name)
        return table if isinstance(table, DatasetTable) else None

    def again(self, anchor: str | None = None) -> ResponseReturnValue:
        """Return to the list as it was. Its address is built anew, so that it cannot lead to another site."""
        values = {**self.args, "_anchor": anchor} if anchor else self.args
        if self.table is not None:
            return redirect_to("freshness.table", name=self.name, **values)
        page = self.name.partition(".")[0]
        if page not in _PAGES or (page == "dataset" and "id" not in values):
            page = "mine"
        return redirect_to(_PAGES[page], **values)

    def row(self, about: Subject, result: str | None = None) -> str | None:
        """Return the row of a dataset or a link; None if the list has it no longer.

        :param result: what a check of it has found
        """
        group, context, now = self.name.removeprefix("mine."), user_context(), utc_now()
        table = self.table
        if table is not None:
            asked = report_tables.request_for(context, table, self.args, now)
        elif group in tasks.GROUPS:
            table = tasks.GROUPS[group]
            within = tasks.scope(context, self.args.get("organization"))
            asked = TableRequest(context, now, within=within)
        else:
            return None
        rows = tasks.with_sources(table.read(replace(asked, dataset=about.package.id)))
        found = next((row for row in rows if row[table.key] == about.id), None)
        if found is None:
            return None
        shown = {"table": table, "group": None if self.table else group}
        return self.rendered(row=found, result=result, **shown)

    def rendered(self, **values: Any) -> str:
        """Return a row, or a line with a ``text`` in its place."""
        return render("freshness/task.html", {"list": self.name, "back": self.args, **values})


def _place() -> Place:
    values = tk.request.values
    given = dict(parse_qsl(values.get("back", "")))
    return Place(values.get("list", "mine"), {key: given[key] for key in _KEPT if given.get(key)})


@task_pages.errorhandler(tk.ValidationError)
def refuse(error: tk.ValidationError) -> ResponseReturnValue:
    """Show why a request was refused, in place of its row or above the list."""
    if is_htmx():
        # htmx shows no response with the status of an error.
        return _place().rendered(text=error_text(error), is_refused=True)
    tk.h.flash_error(error_text(error))
    return _place().again()


@task_pages.after_request
def count_again(response: Response) -> Response:
    """Have the tasks of the user counted again for the next page."""
    if tk.current_user.is_authenticated:
        tasks.remember(user_context(), None)
    return response


@task_pages.route("/freshness/tasks", methods=["POST"])
def act() -> ResponseReturnValue:
    """Do with one row or with all ticked ones what the pressed button says."""
    form, place = tk.request.form, _place()
    name, wanted, id = (*form.get("do", "").split(":", 2), "", "")[:3]
    given = {key: form.get(key, "") for key in ("wanted", "reason", "until")}
    given["wanted"] = wanted or given["wanted"]
    every = form.get("rows", "").split()
    ids = [id] if id else form.getlist("id") or every * ("all" in form)
    action = ROW_ACTIONS.get(name)
    if action is None or not ids:
        raise tk.ValidationError({"id": [tk._("Tick the rows first.")]})
    done, refused = _with_each(ids, action, given)
    about = done[0][0] if id and done else None
    if about is not None and is_htmx():
        if name == "check":
            return _checking(place, about, 1)
        if name == "undo" and (row := place.row(about)):
            return _with_news(row)
    text = _said(action, done, refused, given["wanted"])
    undo = [f"{one.id}{_OF_DATE}{date}" for one, date in done if date]
    return _answer(place, about, text=text, undo=undo, is_refused=bool(refused))


_OF_DATE = "@"
"""Between the id of a row and the date of the confirmation that is to be undone."""
_Done = list[tuple[Subject, str | None]]
_Refused = dict[str, list[str]]
"""Titles of rows by the reason why nothing was done with them."""


def _with_each(
    ids: list[str], action: RowAction, given: Mapping[str, str]
) -> tuple[_Done, _Refused]:
    """Do something with each row; return what succeeded, and what did not and why."""
    done: _Done = []
    refused: _Refused = {}
    for row in list(dict.fromkeys(ids))[:MOST]:
        title = None
        id, _, date = row.partition(_OF_DATE)
        try:
            about = subject(id)
            title = about.title
            done.append((about, action.do(about, {**given, "date": date})))
        except (tk.ValidationError, tk.NotAuthorized) as error:
            model.Session.rollback()
            reason = error_text(error) if isinstance(error, tk.ValidationError) else str(error)
            refused.setdefault(reason, []).append(title or "")
    return done, refused


def _said(action: RowAction, done: _Done, refused: _Refused, wanted: str) -> str:
    """Return the one row that was done or the number of rows, then the refused rows with their reasons."""
    said = []
    if len(done) == 1:
        reading = parse(wanted, frequencies.vocabularies())
        label = labels.frequency_label(reading) if isinstance(reading, int) else wanted
        said.append(str(tk._(action.one)).format(title=done[0][0].title, frequency=label))
    elif done:
        said.append(labels.counted(action.many, len(done)))
    if done:
        said.append(action.then())
    for reason, titles in refused.items():
        named = ", ".join(filter(None, titles))
        about = f"{len(titles)} ({named})" if named else str(len(titles))
        said.append(
            tk._("Nothing was changed in {rows}: {reason}").format(rows=about, reason=reason)
        )
    return " ".join(filter(None, said))


def _answer(place: Place, about: Subject | None, **values: Any) -> ResponseReturnValue:
    """Say what happened in place of the row, or above the list.

    :param about: the row, near which the list is then shown; None if it was not one row
    :param values: of the template
    """
    if is_htmx():
        return _with_news(place.rendered(about=about and about.title, **values))
    shown = {**values, "list": place.name, "back": place.args}
    flash = tk.h.flash_error if values["is_refused"] else tk.h.flash_success
    flash(render("freshness/snippets/task_flash.html", shown), allow_html=True)
    return place.again(_next_row(about.id) if about else None)


def _with_news(part: str) -> Response:
    """Return a part of a page, and have the page renew its counts."""
    return Response(part, headers={"HX-Trigger": "freshness"})


def _next_row(id: str) -> str | None:
    """Return the anchor of the row after one of the form, or before it at the end of the list."""
    rows = tk.request.form.get("rows", "").split()
    if id not in rows:
        return None
    number = rows.index(id)
    near = [*rows[number + 1 : number + 2], *rows[max(number - 1, 0) : number], id]
    return f"row-{near[0]}"


@task_pages.route("/freshness/tasks/row")
def row() -> ResponseReturnValue:
    """Return what a check of a link has found, or have the browser ask again."""
    return _checking(_place(), subject(tk.request.args.get("id", "")), page_number("polls") + 1)


def _checking(place: Place, about: Subject, polls: int) -> ResponseReturnValue:
    if requested.is_checking(about.package.id):
        waits = requested.no_worker()
        if polls <= _POLLS and not waits:
            words = tk._("Checking the link {title} …")
            return place.rendered(text=words.format(title=about.title), polls=polls, id=about.id)
        state = result = f"{tk._('The check has not run yet.')} {waits or tk._('Come back later.')}"
    else:
        link = links.of_resource(about.id)
        state = tk._(labels.LINKS[link["state"]].label) if link else ""
        result = tk._("Checked just now: {result}").format(result=state)
    said = place.row(about, result) or place.rendered(text=f"{about.title}: {state}.", id=about.id)
    return _with_news(said)


worklist = guarded(Blueprint("freshness_worklist", __name__))

_BACK = ("organization", "group", "page")
"""Arguments of the page that forms send back."""


@worklist.route("/freshness/mine")
def read() -> ResponseReturnValue:
    """Show what the user has to do now."""
    if tk.current_user.is_anonymous:
        return to_login()
    values, context = tk.request.values, user_context()
    back = {key: values[key] for key in _BACK if values.get(key)}
    group = back.get("group") if back.get("group") in tasks.GROUPS else None
    size, number = (tasks.LONG, page_number()) if group else (tasks.FIRST, 1)
    scope = tasks.scope(context, back.get("organization"))
    shown = tasks.worklist(context, scope, group=group, offset=(number - 1) * size, limit=size)
    if group and not shown.tasks.get(group):
        # The tasks of this page are done, or those of the whole group.
        count = shown.counts[group] if number > 1 else 0
        left = {"page": last_page(count, size)} if count else {"page": None, "group": None}
        return redirect_to("freshness_worklist.read", **{**back, **left})
    if "organization" not in back:
        tasks.remember(context, shown.total)
    page = render(
        "freshness/mine.html",
        {
            "shown": shown,
            "group": group,
            "page": number,
            "size": size,
            "has_next": group is not None
            and len(shown.tasks.get(group, ())) == size
            and (group in shown.more or shown.counts[group] > number * size),
            "back": back,
            "verbs": LISTS,
            "organizations": tasks.organizations(context),
            "own": tasks.OWN,
        },
    )
    return never_kept(page)
