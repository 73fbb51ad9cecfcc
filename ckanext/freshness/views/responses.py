"""Helpers for requests and responses that several pages share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NoReturn
from urllib.parse import quote, urlsplit

import ckan.plugins.toolkit as tk
from flask import Blueprint, Response, current_app, stream_with_context
from flask.typing import ResponseReturnValue
from flask_wtf.csrf import CSRFError
from werkzeug.exceptions import HTTPException, RequestedRangeNotSatisfiable

from ..ckan_adapter import core, database
from ..ckan_adapter.packages import SEARCH_FAULTS
from ..copies.store import MissingCopy, StoreError
from ..logic import validators
from ..reporting import visibility
from ..reporting.tables import Context, Row, as_csv, as_json
from ..runs import copies as kept_copies
from ..settings import OptionError

log = logging.getLogger(__name__)

Writer = Callable[[Iterable[Row], Sequence[str]], Iterator[str]]

FORMATS: dict[str, tuple[str, Writer]] = {
    "csv": ("text/csv; charset=utf-8; header=present", as_csv),
    "json": ("application/json", as_json),
}
"""The media type and the writer of a file, by the ending of its URL."""


def guarded(pages: Blueprint, *, is_signed: bool = False) -> Blueprint:
    """Return a blueprint that takes forms of logged-in users only, and whose error pages say what to do.

    :param is_signed: its URLs hold a token that stands for a login
    """
    if not is_signed:
        pages.before_request(_require_csrf_token)
    pages.before_request(database.refuse_missing_tables)
    pages.before_request(validators.refuse_unusable)
    pages.register_error_handler(database.TablesMissingError, _without_tables)
    pages.register_error_handler(CSRFError, _refuse_expired)
    for fault in (tk.ValidationError, tk.ObjectNotFound, tk.NotAuthorized, *SEARCH_FAULTS):
        pages.register_error_handler(fault, error_page)
    return pages


def _require_csrf_token() -> ResponseReturnValue | None:
    """Refuse a form of a visitor, and one without the token of the session. API tokens need no other token.

    CKAN 2.11 does not protect the blueprints of plugins. CKAN 2.12 stops protecting a view as soon as
    somebody has visited it without a session.
    """
    if tk.request.method == "POST" and tk.current_user.is_anonymous:
        return _refuse_visitor()
    if current_app.config["WTF_CSRF_ENABLED"] and not tk.g.get("login_via_auth_header"):
        current_app.extensions["csrf"].protect()
    return None


def _refuse_visitor() -> ResponseReturnValue:
    """Lead somebody whose login has ended to a new one, and from there back to the page of the form."""
    words = tk._("Nothing was changed: you are not logged in any more. Log in, then repeat it.")
    if is_htmx():
        return _refused_row(words)
    tk.h.flash_error(words)
    page = urlsplit(tk.request.referrer or "")
    return redirect_to("user.login", next=f"{page.path}?{page.query}" if page.path else None)


def to_login() -> ResponseReturnValue:
    """Lead a visitor to the login, and from there back to the page that this request asks for."""
    here = tk.h.url_for(str(tk.request.endpoint), **(tk.request.view_args or {}))
    query = tk.request.query_string.decode()
    return redirect_to("user.login", next=f"{here}?{query}" if query else here)


def _without_tables(error: database.TablesMissingError) -> ResponseReturnValue:
    """Return an error page (503) that says what to do about missing tables."""
    values = {"code": 503, "name": tk._("Service Unavailable"), "content": str(error)}
    return render("error_document_template.html", values), 503


def _refuse_expired(error: CSRFError) -> ResponseReturnValue:
    """Say what to do about a form without a valid token: one older than an hour, or than the last login."""
    words = tk._("Nothing was changed: this form has expired. Load the page again and repeat it.")
    if is_htmx():
        return _refused_row(words)
    values = {"code": 400, "name": tk._("Bad Request"), "content": words}
    return render("error_document_template.html", values), 400


def error_page(error: Exception) -> ResponseReturnValue:
    """Return the error page for the refusal of an action, or for a failure of Solr."""
    code, text = 403, str(error)
    if isinstance(error, tk.ValidationError):
        code, text = 400, _wrong_address(error)
    elif isinstance(error, tk.ObjectNotFound):
        code = 404
    elif isinstance(error, SEARCH_FAULTS):
        code, text = 503, tk._("The search does not answer. Please try again in a while.")
    try:
        abort(code, text)
    except HTTPException as page:
        # Flask shows no exception of an error handler.
        shown: ResponseReturnValue = current_app.handle_http_exception(page)
        return shown


def _wrong_address(error: tk.ValidationError) -> str:
    """Return which part of the page's address is wrong.

    :param error: the parameters of the address that are refused, with the reasons
    """
    words = tk._("Correct “{name}” in the address of this page: {reason}")
    reasons = ((name, " ".join(_messages(texts))) for name, texts in error.error_dict.items())
    return " ".join(words.format(name=name, reason=reason) for name, reason in reasons)


def _refused_row(words: str) -> str:
    # htmx shows no response with the status of an error.
    values = {"list": tk.request.values.get("list", ""), "text": words, "is_refused": True}
    return render("freshness/task.html", values)


def is_htmx() -> bool:
    """Decide whether htmx sent the request, which shows the response in a part of the page."""
    return "HX-Request" in tk.request.headers


def mark_private() -> None:
    """Keep shared caches from storing the response, which depends on the user.

    CKAN marks all other responses as ``public``, whatever their headers say: it considers sessions, but not
    API tokens.
    """
    tk.request.environ["__no_cache__"] = True


def never_kept(page: str) -> Response:
    """Return a page that is loaded again when somebody goes back to it: what it shows may be done by then."""
    response = Response(page, content_type="text/html; charset=utf-8")
    response.headers["Cache-Control"] = "no-store"
    return response


def keep(response: Response, age: timedelta) -> None:
    """Set how long browsers may cache a response. After that time they ask whether it has changed.

    Shared caches do not store it: CKAN overwrites the age of each response that it marks as ``public``.
    """
    mark_private()
    response.headers["Cache-Control"] = f"private, max-age={age // timedelta(seconds=1)}"
    response.add_etag()
    response.make_conditional(tk.request)


def user_context() -> Context:
    """Return the context of the reader, for actions and tables of the report."""
    user = tk.current_user
    if user.is_anonymous:
        return visibility.NOBODY
    return {"user": user.name, "auth_user_obj": user}


def may(action: str, **data: str) -> bool:
    """Decide whether the reader may call an action."""
    return core.may(action, user_context(), **data)


def call(action: str, missing: str, refused: str | None = None, **data: Any) -> Any:
    """Call an action for the reader; end the request with an error page if that is refused.

    :param missing: what to say if the thing does not exist (404)
    :param refused: what to say if the reader may not do it (403); by default, as on CKAN's own pages, the
        response does not reveal whether the thing exists
    """
    try:
        return tk.get_action(action)({**user_context(), "for_view": True}, data)
    except tk.ObjectNotFound:
        abort(404, missing)
    except tk.NotAuthorized:
        abort(404, missing) if refused is None else abort(403, refused)


def render(template: str, values: dict[str, Any]) -> str:
    """Return a rendered template."""
    return str(tk.render(template, values))


def redirect_to(endpoint: str, **values: str | int | None) -> ResponseReturnValue:
    """Return a redirect to one of our pages."""
    response: ResponseReturnValue = tk.redirect_to(endpoint, **values)
    return response


def abort(code: int, text: str) -> NoReturn:
    """End the request with an error page."""
    tk.abort(code, text)
    raise AssertionError("tk.abort returned")


def error_text(error: tk.ValidationError) -> str:
    """Return the messages of a validation error, without their keys."""
    return " ".join(_messages(error.error_dict))


def _messages(errors: Any) -> Iterator[str]:
    # Errors in resources and extras are lists of dictionaries.
    if isinstance(errors, str):
        yield errors
        return
    for nested in errors.values() if isinstance(errors, dict) else errors:
        yield from _messages(nested)


def page_number(key: str = "page") -> int:
    """Return the number of the page that the request asks for; 1 if it names none.

    :raises tk.ValidationError: it is no whole number from 1 to 100,000
    """
    given = tk.request.args.get(key) or "1"
    if not given.isdecimal() or len(given) > 6 or not 1 <= int(given) <= 100_000:
        words = tk._("must be a number of 1 or more, not {given}")
        raise tk.ValidationError({key: [words.format(given=given[:20])]})
    return int(given)


def last_page(rows: int, size: int) -> int | None:
    """Return the number of the last page of a list; None if that is the first one.

    A list gets shorter while somebody reads it. A page that is gone then leads to the last one.
    """
    number = -(-rows // size)
    return number if number > 1 else None


def file_of(rows: Iterable[Row], fields: Sequence[str], name: str, ending: str) -> Response:
    """Return a table as a file that is sent while its rows are produced.

    :param name: the file's name without its ending
    :param ending: a key of :data:`FORMATS`
    """
    media_type, write = FORMATS[ending]
    pieces = write(rows, fields)
    # If the first piece fails, the response is an error page instead of a file that ends early.
    first = next(pieces, "")

    def whole() -> Iterator[str]:
        if ending == "csv" and "bom" in tk.request.args:
            # Without it, spreadsheets take UTF-8 for another encoding. CKAN's DataStore has the same argument.
            yield "\ufeff"
        yield first
        yield from pieces

    response = Response(stream_with_context(whole()), content_type=media_type)
    mark_private()
    response.headers["Cache-Control"] = "private, no-cache"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.{ending}"'
    return response


# Stored files: copies, and files that are made of them.


def download(
    key: str, size: int, filename: str, mimetype: str, etag: str, modified: datetime
) -> ResponseReturnValue:
    """Return a stored file, a range of it (RFC 9110, section 14), or "not modified", as the request demands.

    The bytes are untrusted: headers keep browsers from showing them as a page of this site and from running
    scripts.

    :param size: of the bytes that have the entity tag
    """
    try:
        reader = kept_copies.store().open(key)
    except MissingCopy:
        abort(404, tk._("The copy was lost; the next run looks for it again"))
    except (StoreError, OptionError) as error:
        refuse_store(error)
    headers = {
        "Accept-Ranges": "bytes",
        "Content-Length": str(reader.size),
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
    response = Response(reader, headers=headers, mimetype=mimetype, direct_passthrough=True)
    response.call_on_close(reader.close)
    # The name in ASCII for all clients, and the true name (RFC 6266).
    names = {
        "filename": filename.encode("ascii", "replace").decode().replace("?", "_"),
        "filename*": f"UTF-8''{quote(filename, safe='')}",
    }
    response.headers.set("Content-Disposition", "attachment", **names)
    response.last_modified = modified
    if reader.size == size:
        # While a copy is replaced, its new bytes are stored before its row, so the row's etag is not theirs.
        response.set_etag(etag)
    try:
        # Conditions come before ranges.
        response.make_conditional(tk.request)
        if response.status_code == 200:
            response.make_conditional(tk.request, accept_ranges=True, complete_length=reader.size)
    except RequestedRangeNotSatisfiable as error:
        reader.close()
        return error.get_response()
    return response


def refuse_store(error: Exception) -> NoReturn:
    """End the request with an error page about the store, whose fault only the log tells."""
    log.error("Cannot read a stored file for a download: %s", error)
    abort(503, tk._("The store of copies is out of reach at the moment"))
