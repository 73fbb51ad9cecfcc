"""The requests of a check by the policy ``hdx``, one after the other: what each of them asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..web.exchange import Answer, Choose, Request, RequestAttempts
from ..web.urls import Target
from . import decisions
from .decisions import ResourceToCheck
from .outcomes import promise_of

if TYPE_CHECKING:
    from ..web.client import Client

_MOST_REFRESHES = 3
_PERHAPS_BY_HEADERS = frozenset({400, 404, 406})
"""Statuses of servers that perhaps have the file for other headers."""

OF_BROWSERS = {
    "Upgrade-Insecure-Requests": "1",
    "Sec-Fetch-Dest": "document",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Site": "none",
    "Sec-Fetch-User": "?1",
}
"""What browsers send with the address of a page or file that somebody has typed. Some servers have nothing for
others."""


class HdxRequests:
    """The requests of a check.

    It does not keep the ``choose`` of its methods, which belongs to the check: whoever has ended is to be freed
    at once.

    :param resource: any of the resources that share the requests
    """

    def __init__(self, client: Client, resource: ResourceToCheck, target: Target | None) -> None:
        self._client = client
        self._resource = resource
        self._target = target
        self._refreshes = 0
        self._accept = promise_of(resource).accept
        self._other_headers: Mapping[str, str] = {}
        """Headers that are sent if the URL is asked for in another manner than at first."""
        self._present: RequestAttempts | None = None

    def begin(self, choose: Choose) -> RequestAttempts:
        """Return the present request; the first has conditions if we have any.

        :param choose: decides what becomes of the body of its answer
        """
        if self._present is None:
            self._present = self._ask(choose, *decisions.conditions(self._resource))
        return self._present

    @property
    def answering(self) -> Target:
        """The URL that has answered the present request."""
        assert self._present is not None
        return self._present.present.target

    @property
    def is_conditional(self) -> bool:
        """Whether the present request has conditions."""
        request = None if self._present is None else self._present.request
        return request is not None and (request.etag, request.last_modified) != (None, None)

    @property
    def is_led_to(self) -> bool:
        """Whether a page has led to the present URL, as it leads browsers."""
        return self._refreshes > 0

    @property
    def is_other(self) -> bool:
        """Whether something else is asked for than at first."""
        return self.is_led_to or bool(self._other_headers)

    @property
    def may_follow_page(self) -> bool:
        """Whether a page may lead to one more URL."""
        return self._refreshes < _MOST_REFRESHES

    def _ask(
        self, choose: Choose, etag: str | None = None, last_modified: str | None = None
    ) -> RequestAttempts:
        request = Request(
            self._resource.url,
            accept=self._accept,
            etag=etag,
            last_modified=last_modified,
            public_headers=self._other_headers,
        )
        return self._client.begin(request, choose, self._target)

    def again(self, choose: Choose, page: Answer | None, *, is_second: bool) -> None:
        """Ask without conditions, and with the cookies of the pages that led here.

        :param choose: decides what becomes of the body of the answer
        :param page: the answer to the request before
        :param is_second: whether it is a second download, which has a limit of time of its own
        """
        before, self._present = self._present, self._ask(choose)
        if before is None:
            return
        if not is_second:
            self._present.follow(before)
        if self.is_led_to and page is not None:
            self._present.take_cookies(before, page)

    def ask_otherwise(self, status: int, *, is_page: bool, is_wall: bool) -> bool:
        """Let the next request ask in another manner, once, if that may bring the file.

        :param is_page: whether a page came in place of data
        :param is_wall: whether the page of a bot wall came
        """
        if self._other_headers:
            return False
        promised, plain_agent = promise_of(self._resource), self._client.settings.plain_agent
        if is_wall and plain_agent is not None:
            self._other_headers = {"User-Agent": plain_agent}
        elif status in _PERHAPS_BY_HEADERS or (is_page and promised.is_linked_data):
            self._accept, self._other_headers = promised.second_accept, OF_BROWSERS
        return bool(self._other_headers)

    def follow_page(self, target: Target) -> None:
        """Let the next request ask for the URL to which a page leads."""
        self._target = target
        self._refreshes += 1


def share_requests(one: ResourceToCheck, other: ResourceToCheck) -> bool:
    """Decide whether two resources can share their requests."""
    return (
        one.url == other.url
        and not (one.keep_copy or other.keep_copy)
        and decisions.conditions(one) == decisions.conditions(other)
        and _accepts(one) == _accepts(other)
    )


def _accepts(resource: ResourceToCheck) -> tuple[str | None, str | None]:
    promised = promise_of(resource)
    return promised.accept, promised.second_accept
