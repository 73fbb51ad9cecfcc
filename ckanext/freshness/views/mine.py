"""The pages of a user: the worklist of an editor with the actions in its rows, and the choice of mails."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import ckan.plugins.toolkit as tk
from flask import Blueprint
from flask.typing import ResponseReturnValue

from .. import settings
from ..aging.frequency import Frequency, parse
from ..aging.messages import N_
from ..ckan_adapter.core import exempt_from_csrf, model
from ..ckan_adapter.mailer import remember_app
from ..dates import utc_now
from ..mails import recipients
from ..mails.kinds import KINDS, offered
from ..mails.recipients import EVERY_KIND, Person
from ..reporting import changes, labels
from ..reporting import worklist as tasks
from ..status import frequencies
from .responses import (
    FORMATS,
    abort,
    error_text,
    file_of,
    is_htmx,
    last_page,
    page_number,
    redirect_to,
    refuse_address,
    render,
    require_csrf_token,
    user_context,
)

worklist = Blueprint("freshness_worklist", __name__)
worklist.before_request(require_csrf_token)

_FIELDS = (
    *("group", "name", "title", "status", "due", "last_modified", "confirmed_at", "frequency_days"),
    *("resource_id", "resource", "failing_since", "failures", "words"),
    *("declared_days", "suggested_days", "days", "factor", "changes", "basis"),
)
_ENDINGS = ",".join(FORMATS)
_BACK = ("organization", "group", "page")
"""Arguments of the page that forms send back."""
_UNDO = ("withdraw", "frequency", "expected", "again")
"""Fields of the forms that undo something."""

_POLLS = 40
"""Requests for the result of a check, one every three seconds."""

_DONE = {
    "confirm": N_("You confirmed that {title} is still accurate."),
    "unconfirm": N_("The confirmation of {title} was undone."),
    "frequency": N_("The update frequency of {title} is now: {frequency}."),
    "same": N_("{title} has this update frequency already."),
    "keep": N_("{title} keeps its update frequency."),
    "unkeep": N_("Another update frequency is suggested for {title} again."),
    "restore": N_("The update frequency of {title} is as before."),
    "check": N_(
        "The link check of {title} is queued. Results usually appear here within a minute."
    ),
    "mended": N_("This link of {title} is no longer broken."),
}


@dataclass(frozen=True, slots=True)
class CompletedTask:
    """A task that has just been worked on.

    :ivar what: a key of the texts that say what happened
    :ivar package: the dataset
    :ivar undo: the fields of the form that undoes it; empty if nothing does
    """

    what: str
    package: Any
    undo: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """What happened, in a sentence."""
        title = (self.package.title or self.package.name)[:80]
        stated = self.undo.get("expected", "")
        reading = parse(stated, frequencies.vocabularies())
        label = stated
        if isinstance(reading, Frequency):
            label = labels.frequency_label(reading.days)
        return str(tk._(_DONE[self.what])).format(title=title, frequency=label)


@worklist.errorhandler(tk.ValidationError)
def refuse(error: tk.ValidationError) -> ResponseReturnValue:
    """Show why an action was refused, in place of its row or above the list."""
    if is_htmx():
        # htmx shows no response with the status of an error.
        return render("freshness/snippets/task_refused.html", {"text": error_text(error)})
    tk.h.flash_error(error_text(error))
    return redirect_to("freshness_worklist.read", **_back())


@worklist.route("/freshness/mine")
def read() -> ResponseReturnValue:
    """Show what the user has to do now."""
    if tk.current_user.is_anonymous:
        here = tk.h.url_for("freshness_worklist.read", **_back())
        return redirect_to("user.login", next=here)
    group, size, number = _group(), tasks.FIRST, 1
    if group:
        size, number = tasks.LONG, _page_number()
    shown = tasks.worklist(_scope(), group=group, offset=(number - 1) * size, limit=size)
    if group and number > 1 and not shown.tasks.get(group):
        # The tasks of this page are done.
        last = last_page(shown.counts[group], size)
        return redirect_to("freshness_worklist.read", **{**_back(), "page": last})
    return render(
        "freshness/mine.html",
        {
            "shown": shown,
            "group": group,
            "page": number,
            "size": size,
            "has_next": group is not None
            and len(shown.tasks.get(group, ())) == size
            and (group in shown.more or shown.counts[group] > number * size),
            "back": _back(),
            "organizations": tasks.organizations(_context()),
            "done": _done_before(),
        },
    )


@worklist.route(f"/freshness/mine.<any({_ENDINGS}):ending>")
def file(ending: str) -> ResponseReturnValue:
    """Return all tasks as a file."""
    shown = tasks.worklist(_scope(), group=_group(), limit=None)
    rows = ({"group": name, **row} for name, found in shown.tasks.items() for row in found)
    return file_of(rows, _FIELDS, "freshness-mine", ending)


@worklist.route("/freshness/mine/confirm/<id>", methods=["POST"])
def confirm(id: str) -> ResponseReturnValue:
    """Confirm the data of a dataset, or withdraw the confirmation of the date that the form gives."""
    package = _package(id)
    date = tk.request.form.get("withdraw")
    shown = tk.get_action("freshness_confirm")(
        _context(), {"id": package.id, "withdraw": bool(date), "date": date or None}
    )
    if date:
        return _answer(CompletedTask("unconfirm", package), "update")
    return _answer(CompletedTask("confirm", package, {"withdraw": shown["confirmation"]["date"]}))


@worklist.route("/freshness/mine/frequency/<id>", methods=["POST"])
def frequency(id: str) -> ResponseReturnValue:
    """Set the update frequency of a dataset, or restore the previous one if it has not been changed since."""
    package = _package(id)
    wanted = tk.request.form.get("frequency", "").strip()
    expected = tk.request.form.get("expected")
    declared = tk.request.form.get("declared")
    # Undoing restores what the dataset stated before, whatever that was.
    if expected is None and not isinstance(parse(wanted, frequencies.vocabularies()), Frequency):
        raise tk.ValidationError({"frequency": [tk._("Choose an update frequency from the list.")]})
    before = frequencies.change_frequency(
        _context(), package, wanted, expected=expected, expected_days=declared
    )
    if expected is not None:
        return _answer(CompletedTask("restore", package), "update", "misfit", "frequency")
    if before is None:
        if declared is None:
            return _answer(CompletedTask("same", package))
        # The second click of a double click: the first one has changed what the form declares.
        before = declared
    return _answer(CompletedTask("frequency", package, {"frequency": before, "expected": wanted}))


@worklist.route("/freshness/mine/keep/<id>", methods=["POST"])
def keep(id: str) -> ResponseReturnValue:
    """Keep the update frequency of a dataset although another one fits better, or decide anew."""
    package = _package(id)
    again = "again" in tk.request.form
    changes.keep_frequency(package.id, None if again else utc_now())
    if again:
        return _answer(CompletedTask("unkeep", package), "misfit")
    return _answer(CompletedTask("keep", package, {"again": "1"}))


@worklist.route("/freshness/mine/check/<id>", methods=["POST"])
def check(id: str) -> ResponseReturnValue:
    """Have the links of a dataset checked."""
    package = _package(id)
    tk.get_action("freshness_check")(_context(), {"id": package.id})
    row = tasks.task(_scope(), "broken", tk.request.form.get("resource", ""))
    if row is None or not is_htmx():
        return _answer(CompletedTask("check", package))
    return _task("broken", row, polls=1)


@worklist.route("/freshness/mine/link/<id>")
def link(id: str) -> ResponseReturnValue:
    """Return the row of a link that is being checked, or what became of it."""
    resource = model.Resource.get(id)
    package = _package(resource.package_id if resource is not None else id)
    row = tasks.task(_scope(), "broken", id)
    if row is None:
        return _part(CompletedTask("mended", package))
    polls = page_number("polls")
    waits = row["tried_at"] == tk.request.args.get("since")
    return _task("broken", row, polls=polls + 1 if waits and polls < _POLLS else 0, waits=waits)


def _scope() -> tasks.Scope:
    try:
        return tasks.scope(_context(), tk.request.values.get("organization") or None)
    except tk.NotAuthorized as error:
        abort(403, str(error))


def _context() -> dict[str, Any]:
    user = tk.current_user
    if user.is_anonymous:
        if is_htmx():
            words = tk._("You are not logged in any more. Log in, then try again.")
            raise tk.ValidationError({"user": [words]})
        abort(403, tk._("Log in to see your datasets."))
    return dict(user_context())


def _group() -> str | None:
    group = tk.request.args.get("group")
    return group if group in tasks.GROUPS else None


def _page_number() -> int:
    try:
        return page_number()
    except tk.ValidationError as error:
        # `refuse` would redirect to the same address.
        refuse_address(error)


def _back() -> dict[str, str]:
    values = tk.request.values
    return {key: values[key] for key in _BACK if values.get(key)}


def _package(id: str) -> Any:
    """Return a dataset that the user may change.

    :raises tk.ValidationError: it was deleted, or the user may not change it, or it is no dataset but, for
        example, a harvest source
    """
    package = model.Package.get(id)
    try:
        tk.check_access("package_update", _context(), {"id": id})
    except (tk.NotAuthorized, tk.ObjectNotFound):
        # As on CKAN's own pages, the response does not reveal whether the dataset exists.
        package = None
    is_judged = package is not None and package.type in settings.dataset_types()
    if not is_judged or package.state != model.State.ACTIVE:
        words = tk._("This dataset was deleted, or you may not change it.")
        raise tk.ValidationError({"id": [words]})
    return package


def _done_before() -> CompletedTask | None:
    """Return what the request before has done, as the redirect says."""
    args = tk.request.args
    if args.get("done") not in _DONE:
        return None
    try:
        package = _package(args.get("id", ""))
    except tk.ValidationError:
        return None
    return CompletedTask(args["done"], package, {key: args[key] for key in _UNDO if key in args})


def _answer(done: CompletedTask, *groups: str) -> ResponseReturnValue:
    """Return to the list, or answer htmx with a part of it.

    :param groups: in which the dataset may be again after something was undone
    """
    if not is_htmx():
        name = done.package.name
        return redirect_to(
            "freshness_worklist.read", done=done.what, id=name, **done.undo, **_back()
        )
    for group in groups:
        row = tasks.task(_scope(), group, done.package.id)
        if row is not None:
            return _task(group, row, focus=True)
    return _part(done)


def _part(done: CompletedTask) -> ResponseReturnValue:
    return render("freshness/snippets/task_done.html", {"done": done, "back": _back()})


def _task(group: str, row: Any, **more: Any) -> ResponseReturnValue:
    values = {"row": row, "back": _back(), **more}
    return render(f"freshness/snippets/task_{group}.html", values)


# Mails

mails = Blueprint("freshness_mails", __name__)
mails.before_request(require_csrf_token)

mail_link = Blueprint("freshness_mail_link", __name__)
# Mail programs unsubscribe with one request (RFC 8058), without a session. The token authorizes it.
mail_link.record(lambda state: exempt_from_csrf(mail_link))
mail_link.record(lambda state: remember_app(state.app))


@mails.route("/freshness/mails", methods=["GET"], endpoint="read")
def read_mails() -> ResponseReturnValue:
    """Show the choice of the user, after a login if that is missing."""
    if tk.current_user.is_anonymous:
        return redirect_to("user.login", next=tk.h.url_for("freshness_mails.read"))
    return _mails_page(_user())


@mails.route("/freshness/mails", methods=["POST"], endpoint="write")
def write_mails() -> ResponseReturnValue:
    """Store the choice of the user."""
    person = _user()
    recipients.write(person.address, _chosen_off(person))
    tk.h.flash_success(tk._("Your choice is saved."))
    return redirect_to("freshness_mails.read")


@mail_link.route("/freshness/mails/<token>", methods=["GET"])
def read_link(token: str) -> ResponseReturnValue:
    """Show the choice of a mail's recipient. Change nothing, because programs follow links, too."""
    return _mails_page(_holder(token))


@mail_link.route("/freshness/mails/<token>", methods=["POST"])
def write_link(token: str) -> ResponseReturnValue:
    """Store the choice of a mail's recipient, without a login."""
    person = _holder(token)
    recipients.write(person.address, _chosen_off(person))
    return _mails_page(_holder(token), is_saved=True)


def _chosen_off(person: Person) -> list[str]:
    """Return the kinds to switch off: those without a check mark in our form, all by one click elsewhere."""
    form = tk.request.form
    if form.get("mails") != "chosen":
        return [EVERY_KIND]
    kinds, wanted = offered(person.address), form.getlist("kind")
    # Somebody who becomes a sysadmin later gets no mails that were off as well.
    chosen = {kind: kind in wanted for kind in kinds}
    return [kind for kind in KINDS if not chosen.get(kind, person.wants(kind))]


def _user() -> Person:
    try:
        address = tk.get_action("freshness_opt_out_show")({}, {})["address"]
    except tk.NotAuthorized:
        abort(403, tk._("Log in to say whether you want mails"))
    except tk.ValidationError as error:
        abort(400, error_text(error))
    return recipients.people([address])[address]


def _holder(token: str) -> Person:
    person = recipients.holder(token)
    if person is not None:
        return person
    abort(404, tk._("This link is not whole: copy all of it from the mail"))


def _mails_page(person: Person, *, is_saved: bool = False) -> str:
    kinds = offered(person.address)
    shown = {
        "address": person.address,
        "kinds": [
            {"value": kind, "name": KINDS[kind].name, "is_on": person.wants(kind)} for kind in kinds
        ],
        "gets_none": not any(person.wants(kind) for kind in kinds),
        "is_saved": is_saved,
        "are_mails_on": settings.flag("notify.enabled"),
    }
    return render("freshness/mails/page.html", shown)
