"""Where copies are kept: a directory, or a place that fsspec opens."""

from __future__ import annotations

from pathlib import Path

from .directory import DirectoryStore
from .store import Store


def open_store(location: str, *, quota: int | None = None) -> Store:
    """Open the store at a location.

    :param location: the path of a directory, which is made if it is not there; or a URL of fsspec,
        such as ``s3://bucket/folder``, whose library must be installed (``ckanext-freshness[s3]``).
        Credentials, endpoints and the like are what that library, or fsspec's own configuration
        (``FSSPEC_S3_ENDPOINT_URL``, ``AWS_ACCESS_KEY_ID``), says: none of them in the location.
    :param quota: how many bytes may be kept altogether; None for no limit
    :raises StoreError: it cannot be opened
    """
    if "://" in location:
        # fsspec takes a while to import, and few sites need it.
        from .remote import RemoteStore

        return RemoteStore(location, quota)
    return DirectoryStore(Path(location), quota)
