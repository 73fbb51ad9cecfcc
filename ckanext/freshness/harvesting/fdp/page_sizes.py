"""The size of the next page of a page endpoint, chosen by the time that the pages before took. Pure.

Some servers look at all children for each page: a page of 500 records takes little longer than one of 50.
So pages grow while they take long and the time of a record falls. Other servers answer quickly, and keep
small pages.
"""

from __future__ import annotations

import math
import re
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

LONG = 0.5
"""Seconds from which a page takes long."""
LARGEST = 800

_NUMBER = re.compile("[0-9]{1,7}")


class PageSizes:
    """The pages of one list so far.

    :ivar per_record: seconds for each record of the last page
    """

    def __init__(self) -> None:
        self.per_record = 0.0
        self._smaller = math.inf
        """Seconds for each record of the last page of another size."""
        self._size = 0
        self._largest = LARGEST
        self._pages = 0

    @property
    def is_slow(self) -> bool:
        """The first page took so long for each record that single documents may be faster."""
        return self._pages == 1 and self.per_record > LONG / 10

    def after(self, url: str, next_url: str | None, seconds: float) -> str | None:
        """Return the URL of the next page: the server's, or one with larger pages.

        The new page begins where the last one ended. A server that names other pages than ``page`` and ``size``
        say is followed as it is.

        :param url: of the page that was read, in ``seconds``.
        """
        here, there = _numbers(url), _numbers(next_url or "")
        self._pages += 1
        if here is None:
            return next_url
        page, size = here
        if size != self._size:
            self._smaller, self._size = self.per_record or math.inf, size
        self.per_record = seconds / size
        if next_url is None or there != (page + 1, size):
            return next_url
        read, larger = (page + 1) * size, 2 * size
        is_falling = self.per_record < 0.8 * self._smaller
        if seconds < LONG or not is_falling or larger > self._largest or read % larger:
            return next_url
        return _with_numbers(next_url, read // larger, larger)

    def instead_of(self, url: str) -> str | None:
        """Return the URL of a page of half the size, in place of one that took too long or was too large.

        It begins at the same record, and no later page is larger. None if the page is small already.
        """
        here = _numbers(url)
        if here is None or here[1] < 20 or here[1] % 2:
            return None
        page, size = here
        self._largest = size // 2
        return _with_numbers(url, page * 2, self._largest)


def _numbers(url: str) -> tuple[int, int] | None:
    """Return the number of a page, from 0, and its size; None if its URL does not say both."""
    query = parse_qs(urlsplit(url).query)
    page, size = query.get("page", [""])[-1], query.get("size", [""])[-1]
    if not _NUMBER.fullmatch(page) or not _NUMBER.fullmatch(size) or int(size) == 0:
        return None
    return int(page), int(size)


def _with_numbers(url: str, page: int, size: int) -> str:
    parts = urlsplit(url)
    query = parse_qs(parts.query) | {"page": [str(page)], "size": [str(size)]}
    return urlunsplit(parts._replace(query=urlencode(query, doseq=True)))
