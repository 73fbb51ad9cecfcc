"""What "read whole" means: when the list of a container proves that a record is not in it. Pure.

A record that a list leaves out is absent only if the list was read whole. That has to be proved:

- The document describes the container, and has a list, even if nothing is in it: an LDP container without
  members, or a total of 0. A document without a list is no empty list (:data:`LOST_LIST`).
- The document was received to its end, which its server has to state (:data:`NO_END`).
- All its pages were read, however the source links them, none of them repeats others, and each total that
  the source states agrees with what was read (:class:`PagedList`).
- At least one record that it lists could be read, is current, or is a draft: its server refuses it with 401 or
  403 (:func:`lists_nothing_readable`).
- Each record that it lists has a URL that can be requested: any other entry may be the record
  (:func:`without_urls`).

Pages shift while they are read: a source that sorts by the last edit moves a dataset from an unread page to a
read one, and it is on none. If a current record is missing from a list of several pages, the pages are read
once more, so that an absence is seen twice. CKAN's lists in the order of their ids prove it in one reading,
because each page begins with the last record of the page before.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence


class NotWhole(Exception):
    """A list that was not read whole; the text says why, for people."""


class PagedList:
    """The pages of one list, in the order in which they are read."""

    def __init__(self, *, overlapping: bool = False) -> None:
        """
        :param overlapping: each page begins with the last record of the page before.
        """
        self._overlapping = overlapping
        self._urls: set[str] = set()
        self._digests: set[str] = set()
        self._found: set[str] = set()
        self._further: set[str] = set()
        self._last = ""
        self._totals: set[int] = set()
        self._others = 0
        self._ends: set[str] = set()

    def __len__(self) -> int:
        """Return the number of pages."""
        return len(self._urls)

    def add(
        self,
        url: str,
        members: Sequence[str] | None,
        *,
        further: Sequence[str] = (),
        digest: str = "",
        total: int | None = None,
        others: int = 0,
        ends: Sequence[str] = (),
    ) -> None:
        """Add a page.

        :param members: the identities of the records on the page, in its order; None if they are not known.
        :param further: identities of members of other kinds, such as catalogs; a total may include them.
        :param digest: a hash of the page's bytes.
        :param total: the number of records in the whole list, if the page states it.
        :param others: the number of members that have no identity; a total may include them.
        :param ends: URLs of other pages that the page names as the last one.
        :raises NotWhole: the page repeats earlier ones, or does not follow the page before.
        """
        doubt = self._doubt(url, members, {*(members or ()), *further}, digest, others)
        self._urls.add(url)
        self._digests.add(digest)
        self._found.update(members or ())
        self._further.update(further)
        self._ends.update(ends)
        self._last = members[-1] if members else self._last
        self._others += others
        if total is not None:
            self._totals.add(total)
        if doubt is None and len(self._totals) > 1:
            doubt = "the number of its records changes while it is read"
        if doubt is not None:
            raise NotWhole(doubt)

    def _doubt(
        self, url: str, members: Sequence[str] | None, found: set[str], digest: str, others: int
    ) -> str | None:
        """Return why a page after the first one proves that the list is not read whole; None if it does not."""
        if not self._urls:
            return None
        if digest and digest in self._digests:
            return f"its page {url} repeats an earlier page"
        if self._overlapping and (not members or members[0] != self._last):
            return "its pages do not meet"
        if self._overlapping or members is None:
            return None
        if not found and not others:
            return f"its page {url} lists nothing"
        if found and found <= self._found | self._further:
            return f"its page {url} lists only records of earlier pages"
        return None

    def end(self) -> None:
        """Check the statements of all pages after the last one.

        :raises NotWhole: the source states another number of records than its pages have, or another last page.
        """
        if unread := sorted(self._ends - self._urls):
            raise NotWhole(f"its last page {unread[0]} was not among those that its pages lead to")
        read = len(self._found)
        counts = {read, read + len(self._further - self._found)}
        for total in self._totals:
            if total not in counts | {count + self._others for count in counts}:
                raise NotWhole(f"it says that it has {total} records, and its pages list {read}")


LOST_LIST = "it has no list of records any more, although an earlier job read one: nothing is deleted for that"
"""Why a document proves nothing that describes its container and lists nothing, not even an empty list."""


NO_END = "its server does not say where the document ends, so that a part of it would look like the whole"
"""Why a document proves nothing that is neither of a stated length nor sent in chunks."""


def lists_nothing_readable(listed: Collection[str], there: Collection[str]) -> bool:
    """Return whether a list proves nothing, because it names only records that nobody knows.

    A server that names itself wrongly after an upgrade lists as many records as before, none of which answers.

    :param there: records of the source that this job has read, that are current, or that are drafts.
    """
    return bool(listed) and not any(url in there for url in listed)


def nothing_readable(count: int, described: int = 0) -> str:
    """Return, for people, why a list of unknown and unreadable records proves nothing.

    :param described: how many of the records the document with the list describes itself.
    """
    if described:
        return (
            f"none of the {count} records that it lists answers at its own URL. It describes {described} of "
            "them itself, but records are read from documents of their own: ask the publisher to let their "
            "URLs answer"
        )
    return (
        f"none of the {count} records that it lists could be read, and none of them is known here: nothing is "
        "deleted for that"
    )


def without_urls(count: int) -> str:
    """Return, for people, why a list proves nothing that names records without a usable URL."""
    entries = "1 record" if count == 1 else f"{count} records"
    return (
        f"it lists {entries} without a URL that can be requested, and records that were listed before are "
        "missing: nothing is deleted for that"
    )
