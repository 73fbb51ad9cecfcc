"""Checks of the store of last known good copies."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from datetime import datetime

import ckan.plugins as p

from ..ckan_adapter.database import has_newest_migration
from ..copies.store import StoreError
from ..runs.copies import copy_rows, options, resource_copies
from ..settings import OptionError
from . import SiteFinding, counted, problem

SAMPLE = 20
"""Copies to look up. An unmounted place has none of them, and each one costs a request to a remote store."""

_ROOM = "Free disk space there, or keep fewer copies: the options ckanext.freshness.copies.* select them."
_RIGHTS = "Let CKAN's user write to ckanext.freshness.copies.location, or choose another place in that option."
_MOUNT = (
    "If it is a disk or a share, mount it again. Otherwise choose another place in "
    "ckanext.freshness.copies.location."
)
_NAME = (
    "Correct ckanext.freshness.copies.location: the path of a directory, or a URL of fsspec whose library "
    "is installed (pip install 'ckanext-freshness[s3]' for s3://)."
)
_OTHERWISE = (
    "Correct the reported cause, or choose another place in ckanext.freshness.copies.location."
)
_ADVICE = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _ROOM),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _RIGHTS),
    **dict.fromkeys((errno.EEXIST, errno.ENOTDIR, errno.EISDIR), _RIGHTS),
    **dict.fromkeys((errno.ENOENT, errno.ENODEV, errno.ESTALE, errno.EIO, errno.ENOTCONN), _MOUNT),
    errno.ENAMETOOLONG: _NAME,
}
"""Advice by the number of the system's error."""


def store(now: datetime) -> Iterator[SiteFinding]:
    """Report a store that cannot be written, if the site keeps any copies."""
    has_harvest = p.plugin_loaded("harvest") and has_newest_migration("harvest")
    if not options.choice().wanted and not (has_harvest and resource_copies.is_wanted()):
        return
    try:
        options.store().try_out()
    except (OptionError, StoreError) as error:
        yield _refusal(error)


def missing(now: datetime) -> Iterator[SiteFinding]:
    """Report which of the newest copies are not at the place that their rows name."""
    newest = copy_rows.newest(SAMPLE)
    if not newest:
        return
    try:
        place = options.store()
        gone = [key for key in newest if place.size(key) is None]
    except (OptionError, StoreError) as error:
        yield _refusal(error)
        return
    # A run may have moved some of them meanwhile.
    count = len(copy_rows.owners(gone))
    if count:
        yield problem(
            f"{count} of the {counted(len(newest), 'newest copy', 'newest copies')} missing from "
            f"{place.location}",
            "Check that the disk or share is mounted, and that ckanext.freshness.copies.location still names "
            "the same place. Copies that reappear need nothing more. Lost copies are downloaded again by the "
            "next checks, those of IATI by ckan iati update, as soon as their sources provide the files; "
            "until then, only a backup has them.",
        )


def _refusal(error: OptionError | StoreError) -> SiteFinding:
    return problem(f"No copies can be kept: {error}", _advice(error))


def _advice(error: BaseException) -> str:
    if isinstance(error, OptionError):
        return "Correct it in the site's ini file."
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in _ADVICE:
            return _ADVICE[cause.errno]
        if isinstance(cause, (ImportError, ValueError)):
            # fsspec raises these for a protocol that is unknown or whose library is missing.
            return _NAME
        cause = cause.__cause__
    return _OTHERWISE
