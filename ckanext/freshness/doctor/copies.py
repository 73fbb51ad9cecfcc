"""Copies: whether they can be kept, and whether the newest are where their rows say."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from datetime import datetime

import ckan.plugins as p

from ..ckan_adapter import has_newest_migration
from ..copies.store import StoreError
from ..runs.copies import options, resource_copies, shelf
from ..settings import OptionError
from . import Finding, counted, problem

LOOKED_FOR = 20
"""Copies: a place that is not mounted has none of them, and a remote one is asked for each."""

_ROOM = "Make room there, or keep fewer copies: the options ckanext.freshness.copies.* say of what."
_RIGHTS = (
    "Make it so that CKAN's user can write to ckanext.freshness.copies.location, or name another place "
    "there."
)
_MOUNT = (
    "Mount it again, if it is a disk or a share; or name another place in "
    "ckanext.freshness.copies.location."
)
_NAME = (
    "Correct ckanext.freshness.copies.location: the path of a directory, or a URL of fsspec whose library "
    "is installed (pip install 'ckanext-freshness[s3]' for s3://)."
)
_OTHERWISE = "Mend what it says, or name another place in ckanext.freshness.copies.location."
_ADVICE = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _ROOM),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _RIGHTS),
    **dict.fromkeys((errno.EEXIST, errno.ENOTDIR, errno.EISDIR), _RIGHTS),
    **dict.fromkeys((errno.ENOENT, errno.ENODEV, errno.ESTALE, errno.EIO, errno.ENOTCONN), _MOUNT),
    errno.ENAMETOOLONG: _NAME,
}
"""What to do, by the number of the system's error."""


def store(now: datetime) -> Iterator[Finding]:
    """Whether the store takes copies, where any are to be kept."""
    harvests = p.plugin_loaded("harvest") and has_newest_migration("harvest")
    if not options.choice().wanted and not (harvests and resource_copies.is_wanted()):
        return
    try:
        options.store().try_out()
    except (OptionError, StoreError) as error:
        yield _refusal(error)


def missing(now: datetime) -> Iterator[Finding]:
    """Whether the newest copies are where their rows say that they are."""
    newest = shelf.newest(LOOKED_FOR)
    if not newest:
        return
    try:
        place = options.store()
        gone = [key for key in newest if place.size(key) is None]
    except (OptionError, StoreError) as error:
        yield _refusal(error)
        return
    # A run may have brought some elsewhere meanwhile.
    count = len(shelf.owners(gone))
    if count:
        yield problem(
            f"Of the {counted(len(newest), 'newest copy', 'newest copies')} {count} "
            f"{'is' if count == 1 else 'are'} not in {place.location}",
            "If it is a disk or a share: is it mounted, and is ckanext.freshness.copies.location the place of "
            "before? What is there again is found at once. Copies that are lost are fetched again by the "
            "next visits, IATI's by ckan iati update, while their sources have the files; those whose source "
            "fails stay lost until it answers again, unless they come from a backup.",
        )


def _refusal(error: OptionError | StoreError) -> Finding:
    return problem(f"No copies can be kept: {error}", _advice(error))


def _advice(error: BaseException) -> str:
    if isinstance(error, OptionError):
        return "Correct it in the site's ini file"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in _ADVICE:
            return _ADVICE[cause.errno]
        if isinstance(cause, (ImportError, ValueError)):
            # As fsspec has it of a protocol that it does not know, or has no library for.
            return _NAME
        cause = cause.__cause__
    return _OTHERWISE
