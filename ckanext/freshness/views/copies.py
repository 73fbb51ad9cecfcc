"""Downloads of copies: for those who may see their resource, and of what is published of all together."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

import ckan.plugins.toolkit as tk
from flask import Blueprint, Response
from flask.typing import ResponseReturnValue
from werkzeug.http import http_date, is_resource_modified, quote_etag

from ..copies.store import MissingCopy, Store, StoreError
from ..dates import aware
from ..iati.cycle import publication
from ..runs.copies import options, shelf
from ..settings import OptionError
from .protection import for_nobody_else

log = logging.getLogger(__name__)

copies = Blueprint("freshness_copies", __name__)
iati = Blueprint("freshness_iati", __name__)


@dataclass(frozen=True, slots=True)
class DownloadFile:
    """What is to be given out.

    :ivar etag: of the bytes, without quotes; None while they are being replaced
    """

    key: str
    size: int
    filename: str
    mimetype: str
    etag: str | None
    modified: datetime


@copies.route("/dataset/<id>/resource/<resource_id>/copy", methods=["GET"])
def copy(id: str, resource_id: str) -> ResponseReturnValue:
    """The last known good bytes of a resource."""
    row = _row(id, resource_id)
    mimetype = row.mimetype or "application/octet-stream"
    return _give(row.key, row.size, row.filename, mimetype, row.sha256, aware(row.stored_at))


@copies.route("/dataset/<id>/resource/<resource_id>/copy.zip", methods=["GET"])
def copy_zip(id: str, resource_id: str) -> ResponseReturnValue:
    """Likewise, in a ZIP of their own."""
    row = _row(id, resource_id)
    if row.zip_key is None:
        tk.abort(404, tk._("There is no ZIP of this copy"))
    name = shelf.zip_name(row.filename)
    etag = f"{row.sha256}-zip"
    return _give(row.zip_key, row.zip_size, name, "application/zip", etag, aware(row.stored_at))


@iati.route("/iati/<filename>", methods=["GET"])
def of_only_source(filename: str) -> ResponseReturnValue:
    """An index file or a bulk ZIP, where one IATI source publishes."""
    return _published(None, filename)


@iati.route("/iati/<source>/<filename>", methods=["GET"])
def of_source(source: str, filename: str) -> ResponseReturnValue:
    """An index file or a bulk ZIP of an IATI source (id or name)."""
    return _published(source, filename)


def _row(package: str, resource_id: str) -> Any:
    """The copy of a resource, for somebody who may see the resource; else the request ends here."""
    try:
        resource = tk.get_action("resource_show")({}, {"id": resource_id})
        shown = tk.get_action("package_show")({}, {"id": package})
    except (tk.ObjectNotFound, tk.NotAuthorized):
        # As CKAN's own pages: whether there is such a resource is nobody else's business.
        tk.abort(404, tk._("Resource not found"))
    if resource["package_id"] != shown["id"]:
        tk.abort(404, tk._("Resource not found"))
    row = shelf.of_resource(resource["id"])
    if row is None:
        tk.abort(404, tk._("No copy of this resource is kept"))
    if tk.current_user.is_authenticated:
        for_nobody_else()
    return row


def _published(source: str | None, filename: str) -> ResponseReturnValue:
    try:
        found = publication.find(source, filename)
    except (StoreError, OptionError) as error:
        return _out_of_reach(error)
    if found is None:
        return tk.abort(404, tk._("There is no such file"))
    if not found.is_public:
        # Something was made private or deleted since: nobody gets it until the files are made anew.
        words = tk._("The files are about to be made anew: a dataset is not public any more")
        return tk.abort(503, words)
    return _give(found.key, found.size, filename, found.mimetype, found.etag, found.modified)


def _give(
    key: str, size: int, filename: str, mimetype: str, etag: str | None, modified: datetime
) -> ResponseReturnValue:
    try:
        store = options.store()
        there = store.size(key)
        if there is None:
            raise MissingCopy(key)
        # While a copy is replaced, its bytes are there before its row: what they are is not known yet.
        known = there == size
        return give_out(
            store, DownloadFile(key, there, filename, mimetype, etag if known else None, modified)
        )
    except MissingCopy:
        return tk.abort(404, tk._("The copy was lost; the next run looks for it again"))
    except (StoreError, OptionError) as error:
        return _out_of_reach(error)


def _out_of_reach(error: Exception) -> ResponseReturnValue:
    log.error("A copy could not be given out: %s", error)
    return tk.abort(503, tk._("The store of copies is out of reach at the moment"))


def give_out(store: Store, file: DownloadFile) -> Response:
    """An answer to the request at hand: whole, a range (RFC 9110, section 14), or "not modified".

    Of several ranges at once nothing is taken: the whole is given, as the RFC allows. The bytes are
    strangers': no browser may show them as a page of this site, or run what is in them.

    :raises StoreError: the store cannot be read, or has the file no more
    """
    request = tk.request
    headers = {
        "Accept-Ranges": "bytes",
        "Last-Modified": http_date(file.modified),
        "Content-Disposition": disposition(file.filename),
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
    if file.etag is not None:
        headers["ETag"] = quote_etag(file.etag)
    if not is_resource_modified(
        request.environ, headers.get("ETag"), None, file.modified, ignore_if_range=True
    ):
        status = 412 if request.if_match else 304
        return Response(status=status, headers=headers, mimetype=file.mimetype)
    start, end, status = 0, file.size, 200
    asked = request.range
    if asked is not None and asked.units == "bytes" and len(asked.ranges) == 1 and _still(file):
        wanted = asked.range_for_length(file.size)
        if wanted is None:
            headers["Content-Range"] = f"bytes */{file.size}"
            return Response(status=416, headers=headers, mimetype="text/plain")
        start, end = wanted
        status, headers["Content-Range"] = 206, f"bytes {start}-{end - 1}/{file.size}"
    reader = store.open(file.key, start, end)
    if reader.size != file.size:
        # It was replaced just now.
        reader.close()
        reader = store.open(file.key)
        start, end, status = 0, reader.size, 200
        for name in ("ETag", "Content-Range"):
            headers.pop(name, None)
    headers["Content-Length"] = str(end - start)
    answer = Response(
        reader, status=status, headers=headers, mimetype=file.mimetype, direct_passthrough=True
    )
    answer.call_on_close(reader.close)
    return answer


def _still(file: DownloadFile) -> bool:
    """Whether what the caller has begun to download is what there is now (If-Range)."""
    condition = tk.request.if_range
    if condition.etag is not None:
        return file.etag is not None and condition.etag == file.etag
    if condition.date is not None:
        return bool(condition.date == file.modified.replace(microsecond=0))
    return True


def disposition(filename: str) -> str:
    """RFC 6266: a name that all can read, and the true one."""
    plain = filename.encode("ascii", "replace").decode().replace("?", "_")
    plain = "".join("_" if one in '"\\' or ord(one) < 32 else one for one in plain)
    words = f'attachment; filename="{plain}"'
    return words if plain == filename else f"{words}; filename*=UTF-8''{quote(filename, safe='')}"
