"""A server that sends everybody elsewhere, as persistent-URL services do."""

from __future__ import annotations

from ckanext.freshness.tests.servers.base import Answer, LoopbackServer, Request


class RedirectServer(LoopbackServer):
    """Redirects each target to the same one below `to`; 404 while that is not set.

    with RedirectServer() as purl, FdpServer(persistent_url=purl.url) as server:
        purl.to = server.url
    """

    to: str = ""
    status: int = 302

    def answer(self, request: Request) -> Answer:
        """A redirect that keeps path and query."""
        if not self.to:
            return Answer(404)
        return Answer(self.status, b"", {"Location": f"{self.to}{request.target}"})
