"""Downloads of a resource's copy, and of the files that IATI sources publish."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn
from urllib.parse import quote

import ckan.plugins.toolkit as tk
from flask import Blueprint, Response
from flask.typing import ResponseReturnValue
from werkzeug.http import http_date, is_resource_modified, quote_etag

from ..copies.store import MissingCopy, Store, StoreError
from ..dates import aware
from ..iati.cycle import publication
from ..runs import copies as kept_copies
from ..settings import OptionError
from .responses import abort, mark_private

log = logging.getLogger(__name__)

copies = Blueprint("freshness_copies", __name__)
iati = Blueprint("freshness_iati", __name__)


@dataclass(frozen=True, slots=True)
class DownloadFile:
    """A stored file to download.

    :ivar etag: the entity tag of its bytes, without quotes; None while they are being replaced
    """

    key: str
    size: int
    filename: str
    mimetype: str
    etag: str | None
    modified: datetime


@copies.route("/dataset/<id>/resource/<resource_id>/copy", methods=["GET"])
def copy(id: str, resource_id: str) -> ResponseReturnValue:
    """Download the last known good copy of a resource."""
    row = _row(id, resource_id)
    mimetype = row.mimetype or "application/octet-stream"
    return _download(row.key, row.size, row.filename, mimetype, row.sha256, aware(row.stored_at))


@copies.route("/dataset/<id>/resource/<resource_id>/copy.zip", methods=["GET"])
def copy_zip(id: str, resource_id: str) -> ResponseReturnValue:
    """Download the ZIP of a resource's copy."""
    row = _row(id, resource_id)
    if row.zip_key is None:
        abort(404, tk._("There is no ZIP of this copy"))
    name = kept_copies.zip_name(row.filename)
    etag = f"{row.sha256}-zip"
    return _download(row.zip_key, row.zip_size, name, "application/zip", etag, aware(row.stored_at))


@iati.route("/iati/<filename>", methods=["GET"])
def of_only_source(filename: str) -> ResponseReturnValue:
    """Download an index file or a bulk ZIP, if only one IATI source publishes."""
    return _published(None, filename)


@iati.route("/iati/<source>/<filename>", methods=["GET"])
def of_source(source: str, filename: str) -> ResponseReturnValue:
    """Download an index file or a bulk ZIP of an IATI source (id or name)."""
    return _published(source, filename)


def _row(package: str, resource_id: str) -> Any:
    """Return the row of a resource's copy, or end the request with 404 if the user may not see the resource."""
    try:
        resource = tk.get_action("resource_show")({}, {"id": resource_id})
        shown = tk.get_action("package_show")({}, {"id": package})
    except (tk.ObjectNotFound, tk.NotAuthorized):
        # As on CKAN's own pages, the response does not reveal whether the resource exists.
        abort(404, tk._("Resource not found"))
    if resource["package_id"] != shown["id"]:
        abort(404, tk._("Resource not found"))
    row = kept_copies.of_resource(resource["id"])
    if row is None:
        abort(404, tk._("No copy of this resource is kept"))
    if tk.current_user.is_authenticated:
        mark_private()
    return row


def _published(source: str | None, filename: str) -> ResponseReturnValue:
    try:
        found = publication.find(source, filename)
    except (StoreError, OptionError) as error:
        _refuse(error)
    if found is None:
        abort(404, tk._("There is no such file"))
    if not found.is_public:
        # The files still contain data of a dataset that is private or deleted now.
        words = tk._("The files are about to be made anew: a dataset is not public any more")
        abort(503, words)
    return _download(found.key, found.size, filename, found.mimetype, found.etag, found.modified)


def _download(
    key: str, size: int, filename: str, mimetype: str, etag: str | None, modified: datetime
) -> ResponseReturnValue:
    try:
        store = kept_copies.store()
        stored_size = store.size(key)
        if stored_size is None:
            raise MissingCopy(key)
        # While a copy is replaced, its new bytes are stored before its row, so the row's etag is not theirs.
        known_etag = etag if stored_size == size else None
        file = DownloadFile(key, stored_size, filename, mimetype, known_etag, modified)
        return file_response(store, file)
    except MissingCopy:
        abort(404, tk._("The copy was lost; the next run looks for it again"))
    except (StoreError, OptionError) as error:
        _refuse(error)


def _refuse(error: Exception) -> NoReturn:
    log.error("Cannot read a stored file for a download: %s", error)
    abort(503, tk._("The store of copies is out of reach at the moment"))


def file_response(store: Store, file: DownloadFile) -> Response:
    """Return the file, a range of it (RFC 9110, section 14), or "not modified", as the request demands.

    If the request names several ranges, the response is the whole file, as the RFC allows. The bytes are
    untrusted: headers keep browsers from showing them as a page of this site and from running scripts.

    :raises StoreError: the store cannot be read, or does not have the file any more
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
    range_ = request.range
    if (
        range_ is not None
        and range_.units == "bytes"
        and len(range_.ranges) == 1
        and _is_same(file)
    ):
        wanted = range_.range_for_length(file.size)
        if wanted is None:
            headers["Content-Range"] = f"bytes */{file.size}"
            return Response(status=416, headers=headers, mimetype="text/plain")
        start, end = wanted
        status, headers["Content-Range"] = 206, f"bytes {start}-{end - 1}/{file.size}"
    reader = store.open(file.key, start, end)
    if reader.size != file.size:
        # The file was replaced a moment ago.
        reader.close()
        reader = store.open(file.key)
        start, end, status = 0, reader.size, 200
        for name in ("ETag", "Content-Range"):
            headers.pop(name, None)
    headers["Content-Length"] = str(end - start)
    response = Response(
        reader, status=status, headers=headers, mimetype=file.mimetype, direct_passthrough=True
    )
    response.call_on_close(reader.close)
    return response


def _is_same(file: DownloadFile) -> bool:
    """Decide whether the file is still the one that the client began to download (If-Range)."""
    condition = tk.request.if_range
    if condition.etag is not None:
        return file.etag is not None and condition.etag == file.etag
    if condition.date is not None:
        return bool(condition.date == file.modified.replace(microsecond=0))
    return True


def disposition(filename: str) -> str:
    """Return Content-Disposition (RFC 6266): the name in ASCII for all clients, and the true name."""
    plain = filename.encode("ascii", "replace").decode().replace("?", "_")
    plain = "".join("_" if char in '"\\' or ord(char) < 32 else char for char in plain)
    words = f'attachment; filename="{plain}"'
    return words if plain == filename else f"{words}; filename*=UTF-8''{quote(filename, safe='')}"
