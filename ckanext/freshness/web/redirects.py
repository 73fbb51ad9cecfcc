"""The redirects of one attempt: where they lead, and the cookies that they set."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from .errors import FailureReason, Fault, FetchError
from .headers import parse_http_date
from .urls import Target, join_url

if TYPE_CHECKING:
    from aiohttp import CookieJar

_EXPIRES = re.compile(r";\s*expires\s*=\s*([^;]*)", re.IGNORECASE)
_NO_NAME = "__without_name"
"""The name in the jar of cookies that have none."""
_MOST_VISITS = 3
"""Requests of one URL with the same cookies within a chain of redirects."""


class Redirects:
    """The redirects of one attempt, and the cookies that were set meanwhile.

    :ivar moved_to: where the first redirects led, as far as they are for good; None if the first is not
    """

    def __init__(self) -> None:
        self.moved_to: str | None = None
        self._hops: list[tuple[str, str]] = []
        self._cookies: CookieJar | None = None

    def __len__(self) -> int:
        return len(self._hops)

    def cookies_for(self, target: Target) -> str:
        """Return the ``Cookie`` header for ``target``."""
        if self._cookies is None:
            return ""
        from yarl import URL

        found = self._cookies.filter_cookies(URL(target.url, encoded=True))
        # As they came (RFC 6265, section 5.4): the jar takes quotes away.
        given = {(morsel.key, morsel.value): morsel.coded_value for morsel in self._cookies}
        return "; ".join(
            f"{name}={given[name, it.value]}".removeprefix(f"{_NO_NAME}=")
            for name, it in found.items()
        )

    def take_cookies(self, url: str, cookies: Sequence[str]) -> None:
        """Keep the values of the ``Set-Cookie`` headers of an answer."""
        if cookies:
            # Web workers import this module, and send nothing.
            from aiohttp import CookieJar
            from yarl import URL

            # Hosts that are addresses may set cookies, too.
            self._cookies = self._cookies or CookieJar(unsafe=True, quote_cookie=False)
            given = [_named(_expired(cookie)) for cookie in cookies]
            self._cookies.update_cookies_from_headers(given, URL(url, encoded=True))

    def take_over(self, before: Redirects) -> None:
        """Send the cookies that an earlier request has got."""
        self._cookies = before._cookies

    def follow(
        self, target: Target, location: str, cookies: Sequence[str], *, for_good: bool
    ) -> Target:
        """Return where a redirect of ``target`` leads.

        :param location: the value of the ``Location`` header
        :param cookies: the values of the ``Set-Cookie`` headers. Some servers redirect to the same URL until
            the cookie comes back. Cookies are forgotten at the end of the attempt.
        :param for_good: whether the server says that the file has moved for good
        :raises Fault: the location is invalid, or has been requested too often
        """
        try:
            found = join_url(target, location)
        except FetchError as error:
            raise Fault(error.reason, f"redirects to {error.url}, which {error.words}") from error
        if for_good and (not self._hops or self.moved_to == target.url):
            self.moved_to = found.url
        self._hops.append((target.url, self.cookies_for(target)))
        self.take_cookies(target.url, cookies)
        # Some servers redirect to the same URL once or twice, until a machine behind them is ready.
        if self._hops.count((found.url, self.cookies_for(found))) >= _MOST_VISITS:
            raise Fault(FailureReason.REDIRECT_LOOP, "redirects in a circle")
        return found


def _named(cookie: str) -> str:
    """Return a ``Set-Cookie`` header with a name: browsers keep a value alone, aiohttp's jar does not."""
    pair = cookie.partition(";")[0].strip()
    return f"{_NO_NAME}={cookie}" if pair and "=" not in pair else cookie


def _expired(cookie: str) -> str:
    """Return a ``Set-Cookie`` header that deletes its cookie by ``Max-Age``, too, if it does by ``Expires``.

    aiohttp's jar keeps cookies that expire at the epoch, and reads few forms of dates.
    """
    pair, semicolon, rest = cookie.partition(";")
    expires = _EXPIRES.search(semicolon + rest)
    date = None if expires is None else parse_http_date(expires[1].strip(' "'))
    if date is None or date > datetime.now(timezone.utc):
        return cookie
    # Before the others, so that a Max-Age of the server's own counts.
    return f"{pair}; Max-Age=0;{rest}"
