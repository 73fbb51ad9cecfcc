"""What "read whole" means: when the list of a container proves that a record is not in it. Pure.

A record that a list leaves out is absent only if the list was read whole. That has to be proved:

- The document describes the container, and has a list, even if nothing is in it: an LDP container without
  members, or a total of 0. If it has lost its list, editors decide: some catalogues have no other way to be
  empty.
- The document was received to its end, which its server has to state.
- All its pages were read, however the source links them, none of them repeats others, and each total that
  the source states agrees with what was read. Without a total, no record is on two pages, because that is what
  shifted pages look like (:class:`PagedList`).
- It says something of pages if it did, or has another length than the first of several pages had before.
- Its last page is shorter than those before it, or it states a total or which page is the last one.
- At least one record that it lists could be read, is current, or is a draft: its server refuses it with 401 or
  403.
- Each record that it lists has a URL that can be requested: any other entry may be the record.

:func:`why_unproved` decides all this from plain facts.

Pages shift while they are read: a source that sorts by the last edit moves a dataset from an unread page to a
read one, and it is on none. If a current record is missing from a list of several pages, the pages are read
once more, so that an absence is seen twice. So is a DCAT catalogue of one document, which may be half
written. CKAN's lists in the order of their ids prove it in one reading, because each page begins with the last
record of the page before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a list, as far as it tells whether all pages make a whole list."""

    url: str = ""
    members: Sequence[str] = ()
    """The identities of the records on the page, in its order."""
    further: Sequence[str] = ()
    """Identities of members of other kinds, such as catalogs; a total may include them."""
    digest: str = ""
    """A hash of the page's bytes."""
    totals: Sequence[int] = ()
    """The numbers of records in the whole list that the page states."""
    others: int = 0
    """The number of members that have no identity; a total may include them."""
    ends: Sequence[str] = ()
    """URLs of other pages that the page names as the last one."""
    nameless: int = 0
    """The number of listed records without an identity. Each becomes one of ``members`` by its place when it is
    known which page it is on."""
    length: int = 0
    """By how many members the page counts as long or short."""
    is_list: bool = True
    """It has a list, which may be empty."""
    has_end: bool = True
    """The server said where its document ends."""
    is_bare: bool = False
    """It says nothing of pages, not even that it is the first and the last."""
    has_last: bool = False
    """It states the number of records, or which page is the last one, even if that is itself."""

    @property
    def is_empty(self) -> bool:
        """Whether it lists nothing at all."""
        return not self.members and not self.further and not self.others


class PagedList:
    """The pages of one list, in the order in which they are read.

    :ivar misfit: the first reason, for people, why they do not make a whole list; "" if there is none
    """

    def __init__(self, *, overlapping: bool = False) -> None:
        """
        :param overlapping: each page begins with the last record of the page before.
        """
        self.misfit = ""
        self._overlapping = overlapping
        self._pages: list[Page] = []
        self._digests: set[str] = set()
        self._found: set[str] = set()
        self._repeated: set[str] = set()
        self._further: set[str] = set()

    @property
    def pages(self) -> Sequence[Page]:
        """Return the pages so far."""
        return self._pages

    def note(self, misfit: str) -> None:
        """Note why the pages do not make a whole list, unless another reason is known."""
        self.misfit = self.misfit or misfit

    def add(self, page: Page) -> bool:
        """Add a page, and return whether it fits those before: it neither repeats them, nor leaves a gap."""
        members, further = page.members, page.further
        is_old = self._found.issuperset(members) and (
            bool(members) or all(one in self._found or one in self._further for one in further)
        )
        last = next((one.members[-1] for one in reversed(self._pages) if one.members), "")
        rows = (
            (
                page.digest and page.digest in self._digests,
                f"its page {page.url} repeats an earlier page",
            ),
            (
                self._overlapping and (not members or members[0] != last),
                "its pages do not meet",
            ),
            # Overlapping pages are proved by where they meet.
            (self._overlapping, ""),
            (page.is_empty, f"its page {page.url} lists nothing"),
            (
                all(one.is_empty for one in self._pages),
                "its first page lists nothing, although it has further pages",
            ),
            # Each page may name all records, and describe some.
            (
                is_old and (members or further),
                f"its page {page.url} lists only records of earlier pages",
            ),
        )
        misfit = next((words for holds, words in rows if holds and self._pages), "")
        self.note(misfit)
        self._pages.append(page)
        self._digests.add(page.digest)
        self._repeated.update(self._found.intersection(members))
        self._found.update(members)
        self._further.update(further)
        return not misfit

    def end(self) -> None:
        """Check the statements of all pages after the last one.

        The source may state another number of records than its pages have, several numbers, or another last
        page; or it states no number, and its pages have shifted.
        """
        totals = {total for page in self._pages for total in page.totals}
        ends = {end for page in self._pages for end in page.ends}
        others = sum(page.others for page in self._pages)
        if len(totals) > 1:
            numbers = " and ".join(map(str, sorted(totals)))
            self.note(f"the number of its records changes: it states {numbers}")
        if unread := sorted(ends - {page.url for page in self._pages}):
            self.note(f"its last page {unread[0]} was not among those that its pages lead to")
        if self._repeated and not totals and not self._overlapping:
            words = f"{min(self._repeated)} is on two of its pages"
            self.note(f"{words}, so that another record may be on none")
        read = len(self._found)
        counts = {read, read + len(self._further - self._found)}
        for total in totals:
            if total not in counts | {count + others for count in counts}:
                self.note(f"it says that it has {total} records, and its pages list {read}")


@dataclass(slots=True)
class ListFacts:
    """The facts about the list of one container on which its proof depends."""

    misfit: str = ""
    """Why its pages do not make a whole list, for people; "" if they do."""
    has_end: bool = True
    """Its server said where the document ends, by its length or by chunks."""
    has_list: bool = True
    """A page has a list, which may be empty."""
    is_lost: bool = False
    """The document has no list, not even an empty one, although an earlier job read one: editors decide."""
    page_size: int | None = None
    """If it has several pages: how many records the first one lists."""
    bare_size: int | None = None
    """The number of records that it lists, if it has neither a link to a page nor a total."""
    is_cut: bool = False
    """It has no link to a page and no total, but as many records as the first of several pages had before."""
    is_full: bool = False
    """Its last page is as long as those before it, and nothing else says that it is the last one."""
    instead: str = ""
    """The catalogs now and before, for people, if its URL has led to another one since an earlier job."""
    unusable: int = 0
    """How many of its entries have no URL that can be requested."""
    listed: int = 0
    """How many records it lists."""
    there: int = 0
    """How many of these this job has read, are current, or are drafts."""


def why_unproved(facts: ListFacts, *, is_missing: bool) -> str | None:
    """Return, for people, why a list does not prove that a record is absent from it; None if it does.

    :param is_missing: a current record is in no list. If there is none, only faults of the source are told.
    """
    entries = "1 record" if facts.unusable == 1 else f"{facts.unusable} records"
    nothing_there = facts.listed and not facts.there
    rows = (
        (facts.misfit, f"its list was not read whole: {facts.misfit}"),
        (
            # A server that names itself wrongly after an upgrade lists as many records as before.
            nothing_there and is_missing,
            f"none of the {facts.listed} records that it lists could be read, and none of them is known here: "
            "nothing is deleted for that",
        ),
        (
            facts.is_cut and is_missing,
            f"it lists {facts.bare_size} records and names no further pages, although an earlier job read "
            "some: nothing is deleted for that. Ask the publisher whether the link to the next page is lost",
        ),
        (
            facts.is_full and is_missing,
            "its last page is as full as those before it, and nothing says that it is the last one: nothing is "
            "deleted for that. Ask the publisher to state the number of records",
        ),
        (
            not facts.has_end and is_missing,
            "its server does not say where the document ends, so that a part of it would look like the whole",
        ),
        (
            facts.instead and is_missing,
            f"it describes {facts.instead}, and records that were listed before are missing: nothing is "
            "deleted for that",
        ),
        (
            facts.unusable and is_missing,
            f"it lists {entries} without a URL that can be requested, and records that were listed before are "
            "missing: nothing is deleted for that",
        ),
    )
    return next((words for holds, words in rows if holds), None)
