"""A file server for one file, which can be switched to what real ones do."""

from __future__ import annotations

from ckanext.freshness.tests.servers.base import Answer, LoopbackServer, Request

ETAG = '"v1"'
MODIFIED = "Tue, 01 Sep 2026 10:00:00 GMT"


class OneFile(LoopbackServer):
    """Serves one file at every path.

    Attributes, all of which may be changed at any time:
        body: the file.
        etag, last_modified: its validators; None for those that are not sent.
        media_type: what it is said to be.
        status: what GET is answered with.
        head_status: what HEAD is answered with.
        headers: further headers of all answers.
    """

    usual = b"a,b\n1,2\n"
    usual_media_type = "text/csv"

    def __init__(self) -> None:
        super().__init__()
        self.restore()

    def restore(self) -> None:
        """As at the beginning: a healthy server with both validators."""
        self.body = self.usual
        self.etag: str | None = ETAG
        self.last_modified: str | None = MODIFIED
        self.media_type = self.usual_media_type
        self.status = 200
        self.head_status = 200
        self.headers: dict[str, str] = {}

    @property
    def methods(self) -> list[str]:
        """What was asked, with an exclamation mark for a GET with a condition."""
        return [request.method + ("!" if _conditions(request) else "") for request in self.requests]

    def answer(self, request: Request) -> Answer:
        """The file, or what it is switched to."""
        headers = {"Content-Type": self.media_type, **self.headers}
        validators = {"ETag": self.etag, "Last-Modified": self.last_modified}
        headers.update({name: value for name, value in validators.items() if value is not None})
        if request.method == "HEAD":
            # aiohttp's server keeps a length that is given, and sends no body.
            headers["Content-Length"] = str(len(self.body))
            return Answer(self.head_status, b"", headers)
        conditions = _conditions(request)
        if conditions and all(validators[name] == sent for name, sent in conditions.items()):
            return Answer(304, b"", headers)
        return Answer(self.status, self.body, headers)


def _conditions(request: Request) -> dict[str, str]:
    """What is known to whoever asks, by the validator's name."""
    names = {"ETag": "If-None-Match", "Last-Modified": "If-Modified-Since"}
    return {name: request.headers[sent] for name, sent in names.items() if sent in request.headers}
