"""Drafts of a FAIR Data Point."""

from __future__ import annotations

import json

from ..rdf.reader import DocumentReader
from ..source_client import UnreadableDocument

_NO_SUCH_ENDPOINT = frozenset({400, 401, 403, 404, 405, 406, 410, 501})
"""Statuses that mean: the server has no endpoint for the state of a record, or none for us."""


async def is_draft(reader: DocumentReader, url: str) -> bool:
    """Return whether a record is a draft that only the source's secret headers make readable.

    The reference implementation shows drafts to users, and tells their state at ``<record>/meta``. Other
    servers answer 404 there.

    :raises UnreadableDocument: the server does not tell.
    """
    if not reader.source_hosts.sends_headers_to(url) or "?" in url or "#" in url:
        return False
    meta = f"{url.rstrip('/')}/meta"
    try:
        answer = await reader.fetch(meta, "application/json")
    except UnreadableDocument as failure:
        if failure.status in _NO_SUCH_ENDPOINT:
            return False
        raise
    try:
        return str(json.loads(answer.body or b"")["state"]["current"]).upper() == "DRAFT"
    except (ValueError, TypeError, LookupError, RecursionError):
        return False
