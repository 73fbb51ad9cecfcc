"""The location of copies: a directory, or a URL that fsspec opens."""

from __future__ import annotations

from pathlib import Path

from .directory import DirectoryStore
from .store import Store


def open_store(location: str, *, quota: int | None = None) -> Store:
    """Open the store at a location.

    :param location: the path of a directory, which is created if it does not exist; or a URL for fsspec,
        such as ``s3://bucket/folder``, whose library must be installed (``ckanext-freshness[s3]``).
        Credentials and endpoints do not belong in the URL: configure them for that library or for fsspec
        (``AWS_ACCESS_KEY_ID``, ``FSSPEC_S3_ENDPOINT_URL``).
    :param quota: the most bytes that all copies together may have; None for no limit
    :raises StoreError: the store cannot be opened
    """
    if "://" in location:
        # Imported here, because fsspec takes long to import and few sites need it.
        from .remote import RemoteStore

        return RemoteStore(location, quota)
    return DirectoryStore(Path(location), quota)
