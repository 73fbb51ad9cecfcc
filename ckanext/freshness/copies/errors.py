"""The errors of a store of copies, with messages for the site's operators."""

from __future__ import annotations

import errno

_WORDS = {
    errno.ENOSPC: "the disk is full; make room, or keep fewer copies",
    errno.EDQUOT: "the disk quota of this user is used up",
    errno.EFBIG: "the file is larger than this process may write",
    errno.EROFS: "it is mounted read-only",
    errno.EACCES: "this user may not do that there",
    errno.EPERM: "this user may not do that there",
    errno.ENOENT: "it is gone; is the disk mounted?",
    errno.ENOTDIR: "a file stands where a folder should be",
    errno.EISDIR: "a folder stands where the file should be",
    errno.EIO: "the disk answers with an error",
    errno.EMFILE: "this process has too many files open",
    errno.ENAMETOOLONG: "its file system does not take names that long",
}


class StoreError(Exception):
    """A copy could not be kept, read, moved or removed. Earlier copies are unchanged.

    The message names the copy and the cause, and holds no credentials.
    """


class MissingCopy(StoreError):
    """A key without a copy in the store."""


def words(error: OSError) -> str:
    """Return the cause of a file system error as a phrase for people."""
    if error.errno in _WORDS:
        return _WORDS[error.errno]
    return error.strerror or type(error).__name__
