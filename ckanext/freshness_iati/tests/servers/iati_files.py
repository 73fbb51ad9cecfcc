"""A file server for one IATI file."""

from __future__ import annotations

from ckanext.freshness.tests.servers.one_file import OneFile

ACTIVITIES = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<iati-activities version="2.03" generated-datetime="2026-11-01T00:00:00Z">\n'
    "  <iati-activity><title><narrative>Écoles en été</narrative></title></iati-activity>\n"
    "</iati-activities>\n"
).encode()


class IatiFiles(OneFile):
    """Serves one IATI file at every path."""

    usual = ACTIVITIES
    usual_media_type = "application/xml"
