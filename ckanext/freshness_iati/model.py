"""The table of the datasets of registries. A migration of the plugin ``iati_harvester`` makes it."""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from sqlalchemy import BigInteger, Boolean, Column, DateTime, Integer, UnicodeText
from sqlalchemy.dialects.postgresql import JSONB


class IatiDataset(tk.BaseModel):
    """A dataset of an IATI registry, with the state of its file."""

    __tablename__ = "freshness_iati"

    resource_id = Column(UnicodeText, primary_key=True, doc="only resource of the dataset")
    package_id = Column(UnicodeText, nullable=False, index=True, doc="dataset in CKAN")
    source_id = Column(
        UnicodeText, nullable=False, index=True, doc="harvest source that registered it"
    )
    organisation_id = Column(
        UnicodeText, nullable=False, doc="the registry's id of the reporting organisation"
    )
    organisation_name = Column(
        UnicodeText, nullable=False, doc="short name of the reporting organisation"
    )
    dataset_id = Column(UnicodeText, nullable=False, doc="the registry's id of the dataset")
    dataset_name = Column(UnicodeText, nullable=False, doc="short name of the dataset")
    last_update_check = Column(DateTime, doc="when a cycle last checked the file")
    hash = Column(UnicodeText, doc="SHA-1 of the last known good file, hexadecimal")
    hash_excluding_generated_timestamp = Column(
        UnicodeText, doc="SHA-1 of that file without its generated-datetime attributes"
    )
    downloaded = Column(DateTime, doc="when the last known good file was downloaded")
    verified_on_server = Column(DateTime, doc="when the server last confirmed that file")
    content_length = Column(BigInteger, doc="Content-Length of the last known good file, in bytes")
    initial_contents = Column(UnicodeText, doc="first 150 characters of the last known good file")
    etag = Column(UnicodeText, doc="ETag of the last known good file")
    last_modified = Column(
        UnicodeText, doc="Last-Modified of the last known good file, as the server wrote it"
    )
    source_url = Column(UnicodeText, doc="URL from which the last known good file was downloaded")
    content_modified = Column(DateTime, doc="when a cycle last found a new hash")
    content_modified_excluding_generated_timestamp = Column(
        DateTime, doc="when a cycle last found a new hash without generated-datetime attributes"
    )
    attempts = Column(
        JSONB,
        nullable=False,
        server_default="[]",
        doc="the last five attempts, and the last HEAD and GET, newest first",
    )
    failures = Column(
        Integer, nullable=False, server_default="0", doc="failed checks since the last success"
    )
    failing_since = Column(DateTime, doc="end of the first of these failed checks")
    postponed_until = Column(
        DateTime,
        doc="a failing URL is not checked again before this moment; empty if it may be checked",
    )
    published = Column(
        Boolean,
        nullable=False,
        server_default="false",
        doc="whether the index files and the bulk ZIPs of its source contain the dataset",
    )


TABLES = (IatiDataset.__table__,)
"""The tables of this version."""
